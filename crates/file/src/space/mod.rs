//! From a file system's addresses to devices.

pub mod btrfs;
mod mounts;
mod of_mount;
mod parity;
mod pool;
mod pool_layout;
mod stripes;
mod system;
mod vdev;

use crate::Address;

pub use mounts::{FileSystemKind, Mount, mount_of_path, parse_mountinfo};
pub(crate) use of_mount::{btrfs_error, device_error, retried};
pub use parity::ParityLayout;
pub use pool_layout::{PoolLayout, VdevLayout};
pub use stripes::StripeMap;
pub use system::System;
pub(crate) use vdev::MAX_ASHIFT;
pub use vdev::{VdevKind, VdevShape};

/// A device under a file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    /// Its name, such as `sda` or `loop0`.
    pub name: String,
    /// Its capacity in bytes, if known.
    pub bytes: Option<u64>,
    /// Whether it is a drive with spindles, as the kernel has it of the drives at the bottom of the stack; `None` where
    /// nobody says, or they are not all the same.
    pub rotational: Option<bool>,
    /// What it is made of, nearest first: `loop0`, the file behind it, the device that file is on.
    pub stack: Vec<String>,
    /// The kernel's queue in front of it, if known.
    pub queue: Option<DeviceQueue>,
}

/// The kernel's queue in front of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceQueue {
    /// No command is larger: `max_sectors_kb`.
    pub max_command_bytes: u64,
    /// Whether a scheduler merges commands that touch, in whatever order they come. Without one, a command grows only
    /// by what comes directly after it.
    pub has_scheduler: bool,
}

/// A device, and where on it addresses begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedDevice {
    /// The device: for a partition, its disk.
    pub device: Device,
    /// The byte of the device that address 0 means: for a partition, where it begins on its disk.
    pub first_byte: u64,
}

impl From<Device> for LocatedDevice {
    fn from(device: Device) -> Self {
        Self { device, first_byte: 0 }
    }
}

/// A run of bytes on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// Index into [`AddressSpace::devices`].
    pub device: u16,
    /// The first byte on the device.
    pub byte: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// The devices under a file system, and which bytes of them its addresses mean.
#[derive(Debug, Clone)]
pub struct AddressSpace {
    devices: Vec<Device>,
    /// The byte of each device that the file system's byte 0 of it is.
    first_bytes: Vec<u64>,
    mapping: Mapping,
}

#[derive(Debug, Clone)]
enum Mapping {
    /// Volume `n` is device `n`.
    Direct,
    /// Volume `n` is an imaginary device `n` of all its addresses, for this reason.
    Untranslated(String),
    /// Volume 0 is mapped by a chunk tree.
    Chunks(btrfs::ChunkMap),
    /// Volume `n` is vdev `n`.
    Vdevs(Vec<vdev::VdevMap>),
    /// Volume `n` is in stripes.
    Stripes(Vec<StripeMap>),
}

impl AddressSpace {
    fn new(devices: impl IntoIterator<Item = LocatedDevice>, mapping: Mapping) -> Self {
        let (devices, first_bytes) =
            devices.into_iter().map(|located| (located.device, located.first_byte)).unzip();
        Self { devices, first_bytes, mapping }
    }

    /// Each volume is one device, byte by byte.
    #[must_use]
    pub fn direct(devices: Vec<Device>) -> Self {
        Self::located(devices.into_iter().map(LocatedDevice::from).collect())
    }

    /// Each volume is one device, or a part of one such as a partition.
    #[must_use]
    pub fn located(devices: Vec<LocatedDevice>) -> Self {
        Self::new(devices, Mapping::Direct)
    }

    /// Addresses stay as they are, on one imaginary device called `name`, because of `reason`.
    #[must_use]
    pub fn untranslated(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::untranslated_volumes([name.into()], reason.into())
    }

    /// Addresses stay as they are, on an imaginary device for each volume, because of `reason`.
    fn untranslated_volumes(names: impl IntoIterator<Item = String>, reason: String) -> Self {
        let devices = names.into_iter().map(|name| Device { name, ..Device::default() }.into());
        Self::new(devices, Mapping::Untranslated(reason))
    }

    /// The addresses of btrfs, mapped by `chunks`. Devices are in the order in which [`ChunkMap`](btrfs::ChunkMap)
    /// counts them.
    #[must_use]
    pub fn chunks(devices: Vec<LocatedDevice>, chunks: btrfs::ChunkMap) -> Self {
        Self::new(devices, Mapping::Chunks(chunks))
    }

    /// The addresses of a ZFS pool with these top-level vdevs, in the order of their numbers from 0 on. The devices of
    /// each are in the order of zdb; a device whose pool is on a partition has that as a part of its disk.
    #[must_use]
    pub fn pool(vdevs: Vec<(VdevShape, Vec<LocatedDevice>)>) -> Self {
        let mut devices = Vec::new();
        let mut maps = Vec::with_capacity(vdevs.len());
        for (shape, of_vdev) in vdevs {
            maps.push(shape.map(u16::try_from(devices.len()).unwrap_or(u16::MAX)));
            devices.extend(of_vdev);
        }
        Self::new(devices, Mapping::Vdevs(maps))
    }

    /// Each volume is in stripes over the devices.
    #[must_use]
    pub fn striped(devices: Vec<LocatedDevice>, volumes: Vec<StripeMap>) -> Self {
        Self::new(devices, Mapping::Stripes(volumes))
    }

    /// The devices.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The chunks of a btrfs, if it is one.
    #[must_use]
    pub fn chunk_map(&self) -> Option<&btrfs::ChunkMap> {
        match &self.mapping {
            Mapping::Chunks(chunks) => Some(chunks),
            _ => None,
        }
    }

    /// Why addresses are not those of a device, if they are not.
    #[must_use]
    pub fn untranslated_reason(&self) -> Option<&str> {
        match &self.mapping {
            Mapping::Untranslated(reason) => Some(reason),
            _ => None,
        }
    }

    /// Appends to `pieces` what is read from devices for `bytes` from `at` on, in the order of the bytes: from one
    /// copy, and without parity. Returns the number of bytes that no device has.
    ///
    /// Of several copies it is the first whose device is there. The kernel does not choose like that: btrfs takes a
    /// copy by the number of the process that reads, ZFS the one with the shortest queue.
    ///
    /// Adjacent pieces of one device are one. Striped bytes come in pieces of a stripe, 64 KiB on btrfs, which the
    /// device may well read together with the stripe behind: see [`Piece::join`].
    ///
    /// On ZFS, `bytes` from `at` are one block, because a RAID-Z block is laid out by itself.
    pub fn read(&self, at: Address, bytes: u64, pieces: &mut Vec<Piece>) -> u64 {
        let from = pieces.len();
        let mapped = match &self.mapping {
            _ if bytes == 0 => 0,
            Mapping::Direct | Mapping::Untranslated(_) => {
                if usize::from(at.volume) < self.devices.len() {
                    pieces.push(Piece { device: at.volume, byte: at.byte, bytes });
                    bytes
                } else {
                    0
                }
            }
            Mapping::Chunks(chunks) if at.volume == 0 => chunks.read(at.byte, bytes, pieces),
            Mapping::Chunks(_) => 0,
            Mapping::Vdevs(vdevs) => match vdevs.get(usize::from(at.volume)) {
                Some(vdev) => vdev.read(at.byte, bytes, pieces),
                None => 0,
            },
            Mapping::Stripes(volumes) => match volumes.get(usize::from(at.volume)) {
                Some(volume) => volume.read(at.byte, bytes, pieces),
                None => 0,
            },
        };
        for piece in &mut pieces[from..] {
            let first = self.first_bytes.get(usize::from(piece.device)).copied().unwrap_or(0);
            piece.byte = piece.byte.saturating_add(first);
        }
        bytes - mapped.min(bytes)
    }
}

impl Piece {
    /// Sorts pieces by device and byte, and makes one of those that touch or overlap: the commands of a device that
    /// sorts.
    pub fn join(pieces: &mut Vec<Self>) {
        pieces.sort_unstable();
        pieces.dedup_by(|next, before| {
            let end = before.byte.saturating_add(before.bytes);
            let joined = next.device == before.device && next.byte <= end;
            if joined {
                let end = end.max(next.byte.saturating_add(next.bytes));
                before.bytes = end - before.byte;
            }
            joined
        });
    }

    /// Appends this piece to `pieces`, of which those before `from` are another's.
    fn append_to(self, pieces: &mut Vec<Self>, from: usize) {
        match pieces[from..].last_mut() {
            Some(last)
                if last.device == self.device
                    && last.byte.checked_add(last.bytes) == Some(self.byte) =>
            {
                last.bytes = last.bytes.saturating_add(self.bytes);
            }
            _ => pieces.push(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str) -> Device {
        Device {
            name: name.to_owned(),
            bytes: None,
            rotational: None,
            stack: Vec::new(),
            queue: None,
        }
    }

    #[test]
    fn a_partition_begins_within_its_disk() {
        let space = AddressSpace::located(vec![LocatedDevice {
            device: device("sda"),
            first_byte: 1 << 20,
        }]);
        let mut pieces = Vec::new();
        assert_eq!(space.read(Address::new(4096), 8192, &mut pieces), 0);
        assert_eq!(pieces, [Piece { device: 0, byte: (1 << 20) + 4096, bytes: 8192 }]);
        assert_eq!(space.read(Address { volume: 1, byte: 0 }, 512, &mut pieces), 512);
        assert_eq!(pieces.len(), 1);
    }

    #[test]
    fn untranslated_addresses_stay_and_say_why() {
        let space = AddressSpace::untranslated("btrfs", "no permission");
        let mut pieces = Vec::new();
        assert_eq!(space.read(Address::new(1 << 40), 4096, &mut pieces), 0);
        assert_eq!(pieces, [Piece { device: 0, byte: 1 << 40, bytes: 4096 }]);
        assert_eq!(space.untranslated_reason(), Some("no permission"));
        assert_eq!(AddressSpace::direct(vec![device("a")]).untranslated_reason(), None);
    }

    #[test]
    fn pieces_that_touch_are_joined() {
        let piece = |device, byte, bytes| Piece { device, byte, bytes };
        let mut pieces = vec![piece(0, 64, 64), piece(1, 0, 64), piece(0, 0, 64), piece(0, 200, 8)];
        Piece::join(&mut pieces);
        assert_eq!(pieces, [piece(0, 0, 128), piece(0, 200, 8), piece(1, 0, 64)]);
    }
}
