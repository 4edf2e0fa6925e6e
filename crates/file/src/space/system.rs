//! The operating system's own account of mounts and block devices, in `/proc` and `/sys`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::{FileSystemKind, Mount, mount_of_path, parse_device_number, parse_mountinfo};
use super::{Device, DeviceQueue, LocatedDevice};
use crate::error::FileError;

/// The most layers of a stack: a loop device on a loop device on …, each on a file.
const DEEPEST_STACK: usize = 16;

/// Bytes of the sectors in which the kernel counts, whatever the device has (Documentation/ABI/stable/sysfs-block).
const SYSFS_SECTOR_BYTES: u64 = 512;

/// The trees `/proc`, `/sys` and `/dev` of the system, below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    root: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        Self::below("/")
    }
}

impl System {
    /// The trees below `root`: `/`, except in tests.
    #[must_use]
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &Path) -> Option<String> {
        fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
    }

    /// All mounts.
    ///
    /// # Errors
    /// If `/proc/self/mountinfo` cannot be read, or is not as proc(5) has it.
    pub fn mounts(&self) -> Result<Vec<Mount>, FileError> {
        let path = self.path("proc/self/mountinfo");
        let bytes = fs::read(&path)
            .map_err(|error| FileError::io(format!("reading {}", path.display()), error))?;
        parse_mountinfo(&String::from_utf8_lossy(&bytes))
    }

    /// The mount that the file or directory `path` is in.
    ///
    /// # Errors
    /// If the path does not exist or may not be looked up, or the mounts cannot be read.
    pub fn mount_of(&self, path: &Path) -> Result<Mount, FileError> {
        let path = path
            .canonicalize()
            .map_err(|error| FileError::io(format!("finding {}", path.display()), error))?;
        let mounts = self.mounts()?;
        let by_id = self.mount_id(&path).and_then(|id| mounts.iter().find(|mount| mount.id == id));
        let found = by_id.or_else(|| mount_of_path(&mounts, &path.to_string_lossy()));
        found.cloned().ok_or_else(|| {
            FileError::input(
                format!("{}: no mount is listed for it", path.display()),
                "mount /proc, or run outside of the chroot",
            )
        })
    }

    /// The number of the mount, from Linux 5.8 on.
    #[cfg(target_os = "linux")]
    fn mount_id(&self, path: &Path) -> Option<u64> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        (self.root == Path::new("/") && found.stx_mask & StatxFlags::MNT_ID.bits() != 0)
            .then_some(found.stx_mnt_id)
    }

    #[cfg(not(target_os = "linux"))]
    fn mount_id(&self, _path: &Path) -> Option<u64> {
        None
    }

    /// The block device with this major and minor number, and where on it addresses begin: a partition is told as a
    /// part of its disk.
    ///
    /// # Errors
    /// If sysfs has no such device.
    pub fn device(&self, number: (u32, u32)) -> Result<LocatedDevice, FileError> {
        let mut directory = self.device_directory(number)?;
        let mut first_byte = 0;
        let mut stack = Vec::new();
        if directory.join("partition").exists() {
            let start = self.number(&directory.join("start")).unwrap_or(0);
            first_byte = start.saturating_mul(SYSFS_SECTOR_BYTES);
            stack.push(name_of(&directory));
            // A partition's directory is in that of its disk.
            if let Some(disk) = directory.parent() {
                directory = disk.to_path_buf();
            }
        }
        let mut descent = Descent { stack, ..Descent::default() };
        self.descend(&directory, DEEPEST_STACK, &mut descent);
        let sectors = self.number(&directory.join("size"));
        let device = Device {
            name: name_of(&directory),
            bytes: sectors.map(|sectors| sectors.saturating_mul(SYSFS_SECTOR_BYTES)),
            rotational: descent.rotational(),
            stack: descent.stack,
            queue: self.queue(&directory),
        };
        Ok(LocatedDevice { device, first_byte })
    }

    fn queue(&self, device: &Path) -> Option<DeviceQueue> {
        let max_command_bytes = self.number(&device.join("queue/max_sectors_kb"))? * 1024;
        // `none [mq-deadline] kyber`: the one in use is in brackets.
        let schedulers = self.text(&device.join("queue/scheduler"))?;
        Some(DeviceQueue { max_command_bytes, has_scheduler: !schedulers.contains("[none]") })
    }

    fn device_directory(&self, (major, minor): (u32, u32)) -> Result<PathBuf, FileError> {
        let link = self.path(&format!("sys/dev/block/{major}:{minor}"));
        link.canonicalize().map_err(|error| {
            FileError::io(format!("finding block device {}", link.display()), error)
        })
    }

    /// The path in `/dev` of the block device with this number.
    pub(crate) fn device_path(&self, number: (u32, u32)) -> Result<PathBuf, FileError> {
        Ok(self.path("dev").join(name_of(&self.device_directory(number)?)))
    }

    fn number(&self, path: &Path) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Follows what a device is made of, for at most `layers` layers, down to devices that are made of nothing.
    fn descend(&self, directory: &Path, layers: usize, descent: &mut Descent) {
        descent.seen.insert(directory.to_path_buf());
        descent.stack.push(self.described(directory));
        if layers == 0 {
            descent.unknown = true;
        } else if let Some(file) = self.text(&directory.join("loop/backing_file")) {
            let numbers = self.devices_of_file(&file);
            descent.stack.push(file);
            descent.unknown |= numbers.is_empty();
            self.descend_to(&numbers, layers - 1, descent);
        } else if let slaves @ [_, ..] = self.slaves(directory).as_slice() {
            let number = |slave: &PathBuf| parse_device_number(&self.text(&slave.join("dev"))?);
            let numbers: Vec<_> = slaves.iter().filter_map(number).collect();
            descent.unknown |= numbers.len() < slaves.len();
            self.descend_to(&numbers, layers - 1, descent);
        } else {
            match self.text(&directory.join("queue/rotational")).as_deref() {
                Some("0") => descent.fixed = true,
                Some("1") => descent.rotating = true,
                _ => descent.unknown = true,
            }
        }
    }

    /// A file of `bytes` that serves as a device, and what it lies on.
    pub(super) fn file_device(&self, path: &str, bytes: u64) -> Device {
        let numbers = self.devices_of_file(path);
        let mut descent = Descent { stack: vec![path.to_owned()], ..Descent::default() };
        descent.unknown = numbers.is_empty();
        self.descend_to(&numbers, DEEPEST_STACK, &mut descent);
        let (name, rotational) = (path.to_owned(), descent.rotational());
        Device { name, bytes: Some(bytes), rotational, stack: descent.stack, queue: None }
    }

    fn slaves(&self, directory: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(directory.join("slaves")) else { return Vec::new() };
        let mut slaves: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        slaves.sort_unstable();
        slaves
    }

    fn descend_to(&self, numbers: &[(u32, u32)], layers: usize, descent: &mut Descent) {
        for &number in numbers {
            let Ok(mut directory) = self.device_directory(number) else {
                descent.unknown = true;
                continue;
            };
            if directory.join("partition").exists() {
                descent.stack.push(name_of(&directory));
                directory.pop();
            }
            // Two partitions of one disk, or a circle: it has been asked already.
            if !descent.seen.contains(&directory) {
                self.descend(&directory, layers, descent);
            }
        }
    }

    /// The name of a device, with what its driver calls it.
    fn described(&self, directory: &Path) -> String {
        let name = name_of(directory);
        let label = self
            .text(&directory.join("dm/name"))
            .or_else(|| self.text(&directory.join("md/level")));
        match label {
            Some(label) if !label.is_empty() => format!("{name} ({label})"),
            _ => name,
        }
    }

    /// The numbers of the devices that the file behind a loop device is on.
    fn devices_of_file(&self, file: &str) -> Vec<(u32, u32)> {
        let mounts = self.mounts().unwrap_or_default();
        match mount_of_path(&mounts, file) {
            Some(mount) if !mount.kind.is_network() => self.device_numbers(mount),
            _ => Vec::new(),
        }
    }

    /// The numbers of the block devices of a mount; none if it has none, or if they are not known.
    pub(super) fn device_numbers(&self, mount: &Mount) -> Vec<(u32, u32)> {
        if mount.kind == FileSystemKind::Btrfs {
            let devices = self.btrfs_devices(mount);
            return devices.into_iter().map(|(_, number)| number).collect();
        }
        // Major number 0 is for file systems without a block device.
        if mount.device_number.0 == 0 { Vec::new() } else { vec![mount.device_number] }
    }

    /// Names and numbers of the devices of a mounted btrfs: those listed in `/sys/fs/btrfs/UUID/devices` with the one
    /// that is mounted.
    pub(super) fn btrfs_devices(&self, mount: &Mount) -> Vec<(String, (u32, u32))> {
        let source = self.path(&mount.source);
        let source = source.canonicalize().unwrap_or(source);
        let Some(wanted) = source.file_name().map(|name| name.to_string_lossy().into_owned())
        else {
            return Vec::new();
        };
        let Ok(pools) = fs::read_dir(self.path("sys/fs/btrfs")) else { return Vec::new() };
        for pool in pools.flatten() {
            let Ok(entries) = fs::read_dir(pool.path().join("devices")) else { continue };
            let mut devices: Vec<(String, (u32, u32))> = entries
                .flatten()
                .filter_map(|entry| {
                    let number = parse_device_number(&self.text(&entry.path().join("dev"))?)?;
                    Some((entry.file_name().to_string_lossy().into_owned(), number))
                })
                .collect();
            if devices.iter().any(|(name, _)| *name == wanted) {
                devices.sort_unstable();
                return devices;
            }
        }
        Vec::new()
    }

    /// The mount in which the files of an overlay lie, if all its layers are in one.
    pub(crate) fn mount_under_overlay(&self, overlay: &Mount) -> Option<Mount> {
        let mounts = self.mounts().ok()?;
        let upper = overlay.option("upperdir").into_iter();
        let lower = overlay.option("lowerdir").into_iter().flat_map(|layers| layers.split(':'));
        let mut found: Option<&Mount> = None;
        for layer in upper.chain(lower).filter(|layer| !layer.is_empty()) {
            let mount = mount_of_path(&mounts, layer)
                .filter(|mount| mount.kind != FileSystemKind::Overlay && layer.starts_with('/'))?;
            if found.is_some_and(|found| found.device_number != mount.device_number) {
                return None;
            }
            found = Some(mount);
        }
        found.cloned()
    }
}

/// The way down a stack of devices.
#[derive(Debug, Default)]
struct Descent {
    stack: Vec<String>,
    seen: BTreeSet<PathBuf>,
    /// What the devices at the bottom say of themselves: with spindles, without, or nothing.
    rotating: bool,
    fixed: bool,
    unknown: bool,
}

impl Descent {
    fn rotational(&self) -> Option<bool> {
        match (self.rotating, self.fixed, self.unknown) {
            (true, false, false) => Some(true),
            (false, true, false) => Some(false),
            _ => None,
        }
    }
}

/// The name of the device with this directory in sysfs, where `!` is written for `/`.
fn name_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default();
    name.to_string_lossy().replace('!', "/")
}

#[cfg(all(test, unix))]
#[path = "system_tests.rs"]
mod tests;
