//! The address space of a mount.

use std::io;
use std::path::{Path, PathBuf};

use super::btrfs::{Btrfs, DirectDevice};
use super::{AddressSpace, FileSystemKind, LocatedDevice, Mount, System};
use crate::error::FileError;

/// How often a btrfs is read again that changes meanwhile.
const MOST_ATTEMPTS: u32 = 5;

impl System {
    /// The devices under `mount`, and what its addresses mean. Where addresses cannot be translated to devices they
    /// stay as they are, and [`AddressSpace::untranslated_reason`] says why and what to do.
    ///
    /// Of an overlay it is the file system of its layers, if they are all in one. Of XFS it is the data device: files
    /// of a real-time device are not told apart.
    #[must_use]
    pub fn address_space(&self, mount: &Mount) -> AddressSpace {
        let kept = |reason: String| AddressSpace::untranslated(mount.kind.name(), reason);
        match &mount.kind {
            kind if kind.is_network() => {
                kept(format!("{}: the server places blocks; run strewn there", kind.name()))
            }
            FileSystemKind::Overlay => match self.mount_under_overlay(mount) {
                Some(below) => self.address_space(&below),
                None => kept(
                    "the layers of the overlay are not in one mount seen here; give the \
                              path of the file in its layer"
                        .to_owned(),
                ),
            },
            FileSystemKind::Zfs => kept("ZFS tells no addresses to FIEMAP; use zdb".to_owned()),
            FileSystemKind::Bcachefs => {
                kept("FIEMAP does not say which device of a bcachefs an address is on".to_owned())
            }
            FileSystemKind::Btrfs => self
                .btrfs_space(mount)
                .unwrap_or_else(|error| kept(format!("addresses are btrfs's own: {error}"))),
            // Major number 0 is for file systems without a block device.
            kind if mount.device_number.0 == 0 => {
                kept(format!("{} names no block device", kind.name()))
            }
            _ => match self.device(mount.device_number) {
                Ok(device) => AddressSpace::located(vec![device]),
                Err(error) => kept(format!("no block device is known: {error}")),
            },
        }
    }

    fn btrfs_space(&self, mount: &Mount) -> Result<AddressSpace, FileError> {
        let btrfs = self.open_btrfs(mount)?;
        // Those that were opened, in the same order.
        let devices = self.btrfs_devices(mount).into_iter();
        let devices: Vec<LocatedDevice> =
            devices.map(|(_, number)| self.device(number)).collect::<Result<_, _>>()?;
        Ok(AddressSpace::chunks(devices, btrfs.into_chunks()))
    }

    /// The btrfs at `mount`, with the devices of [`btrfs_devices`](Self::btrfs_devices).
    pub(crate) fn open_btrfs(&self, mount: &Mount) -> Result<Btrfs<DirectDevice>, FileError> {
        let devices = self.btrfs_devices(mount);
        if devices.is_empty() {
            return Err(FileError::input(
                format!("{}: its devices are not listed in /sys/fs/btrfs", mount.mount_point),
                "mount /sys and /dev here",
            ));
        }
        let paths: Vec<PathBuf> =
            devices.iter().map(|(name, _)| self.path("dev").join(name.replace('!', "/"))).collect();
        retried(|| {
            let mut opened = Vec::new();
            for path in &paths {
                opened.push(
                    DirectDevice::open(path)
                        .map_err(|error| device_error(path, "the chunk tree", error))?,
                );
            }
            Btrfs::open(opened).map_err(|what| btrfs_error(mount, &what))
        })
    }
}

/// Trees that change while they are read look damaged; the next superblock has the new ones.
pub(crate) fn retried<T>(
    mut attempt: impl FnMut() -> Result<T, FileError>,
) -> Result<T, FileError> {
    let mut result = attempt();
    for _ in 1..MOST_ATTEMPTS {
        if !matches!(result, Err(FileError::Input { .. })) {
            break;
        }
        result = attempt();
    }
    result
}

/// That the trees of a btrfs cannot be read.
pub(crate) fn btrfs_error(mount: &Mount, what: &str) -> FileError {
    FileError::input(
        format!("{}: {what}", mount.mount_point),
        "if it is being written to, try again; otherwise check it with `btrfs check`",
    )
}

/// That a block device cannot be opened to read `what`, with what to do about it.
pub(crate) fn device_error(path: &Path, what: &str, error: io::Error) -> FileError {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => " (run as root, outside of containers)",
        io::ErrorKind::NotFound => " (run where /dev has it)",
        _ => "",
    };
    FileError::io(format!("opening {} to read {what}{remedy}", path.display()), error)
}
