//! Probes the named devices: opens them, and reads their labels and superblocks.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::device_label;
use super::location::{ArrayFile, NamedDevices};
use super::names::ARRAY_FILE;
use super::problem::{DeviceProblem, DeviceProblemKind};
use crate::device::{BLOCK_BYTES, DeviceFile, OpenDevice, OpenDeviceError, remedy_of_system};
use crate::format::{DeviceRole, Identity, Label, Superblock};

/// What was read from a device before anything is written: label, superblocks, initialization map.
pub(super) struct ProbedDevice {
    pub(super) path: PathBuf,
    /// The role that its name implies, if any.
    pub(super) named: Option<DeviceRole>,
    pub(super) size_bytes: u64,
    pub(super) label: Result<Label, DeviceProblemKind>,
    pub(super) copies_differ: bool,
    pub(super) superblocks: Vec<Superblock>,
    /// The array of its initialization map, if it has a valid one.
    pub(super) map_of: Option<Identity>,
}

/// The outcome for all named devices: those that were probed, with their handles, and the problems of the others.
pub(super) struct ProbeResult<D> {
    pub(super) probed: Vec<ProbedDevice>,
    pub(super) devices: Vec<D>,
    pub(super) problems: Vec<DeviceProblem>,
}

/// Identifies a device whatever its name: the number of a block device, or the inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceKey(u64, u64);

impl DeviceKey {
    pub(super) fn of(status: &Metadata) -> Self {
        if status.file_type().is_block_device() {
            Self(u64::MAX, status.rdev())
        } else {
            Self(status.dev(), status.ino())
        }
    }

    /// Returns the key of the device at `path`, following symbolic links, or `None` if nothing is there.
    pub(super) fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|status| Self::of(&status))
    }
}

/// Opens all named devices with `open`, which reports the problems of a single device, and reads their labels.
///
/// # Errors
/// If `open` fails altogether.
pub(super) fn probe_all<D, E>(
    named: &NamedDevices,
    mut open: impl FnMut(&Path) -> Result<Result<D, DeviceProblemKind>, E>,
    file: impl Fn(&D) -> &File,
) -> Result<ProbeResult<D>, E> {
    let mut result = ProbeResult { probed: Vec::new(), devices: Vec::new(), problems: Vec::new() };
    let mut keys: Vec<(DeviceKey, &Path)> = Vec::new();
    for (path, role) in &named.devices {
        let role = *role;
        let mut problem = |kind| {
            result.problems.push(DeviceProblem { path: Some(path.clone()), role, kind });
        };
        if let Some(key) = DeviceKey::at(path) {
            if let Some((_, of)) = keys.iter().find(|(other, _)| *other == key) {
                problem(DeviceProblemKind::SameDevice { of: (*of).to_owned() });
                continue;
            }
            keys.push((key, path));
        }
        let device = match open(path)? {
            Ok(device) => device,
            Err(kind) => {
                problem(kind);
                continue;
            }
        };
        let size_bytes = match file(&device).seek(SeekFrom::End(0)) {
            Ok(size_bytes) => size_bytes,
            Err(error) => {
                problem(DeviceProblemKind::Unreadable(format!(
                    "its size cannot be found: {error}"
                )));
                continue;
            }
        };
        let read = device_label::read(file(&device), size_bytes, &[]);
        result.probed.push(ProbedDevice {
            path: path.clone(),
            named: role,
            size_bytes,
            label: read.label,
            copies_differ: read.copies_differ,
            superblocks: device_label::superblocks(file(&device)),
            map_of: device_label::array_of_map(file(&device)),
        });
        result.devices.push(device);
    }
    result.find_second_copies(file);
    Ok(result)
}

/// Returns whether `path` is a device of an array: by its label, or because it is its directory's `array.toml` or is
/// named in that.
#[must_use]
pub fn is_of_an_array(path: &Path) -> bool {
    let labelled = || {
        let mut file = File::open(path).ok()?;
        let size_bytes = file.seek(SeekFrom::End(0)).ok()?;
        let label = device_label::read(&file, size_bytes, &[]).label;
        Some(!matches!(label, Err(DeviceProblemKind::NoLabel | DeviceProblemKind::Unreadable(_))))
    };
    let listed = || {
        let directory = path.parent()?;
        let key = DeviceKey::at(path)?;
        let ArrayFile { spindles, log, .. } = ArrayFile::read(directory).ok()??;
        let file = Path::new(ARRAY_FILE);
        let mut paths = spindles.iter().chain(log.paths()).map(PathBuf::as_path).chain([file]);
        Some(paths.any(|path| DeviceKey::at(&directory.join(path)) == Some(key)))
    };
    // Opening a pipe would wait for its writer.
    let is_storage = std::fs::metadata(path)
        .is_ok_and(|status| status.file_type().is_file() || status.file_type().is_block_device());
    is_storage && (labelled().unwrap_or(false) || listed().unwrap_or(false))
}

impl<D> ProbeResult<D> {
    /// Finds second copies of labels whose first copy is damaged. A device may have more blocks than are in use, so
    /// only the first copy of its label locates the second. But all spindles of an array with one group have one size,
    /// other labels list the sizes of groups, and every label knows the log's.
    fn find_second_copies(&mut self, file: impl Fn(&D) -> &File) {
        let mut ends: Vec<u64> = Vec::new();
        for label in self.probed.iter().filter_map(|probed| probed.label.as_ref().ok()) {
            ends.extend([label.device_blocks, label.log_layout().device_blocks()]);
            ends.extend(label.groups.iter().map(|group| group.device_blocks));
        }
        ends.sort_unstable();
        ends.dedup();
        for (probed, device) in self.probed.iter_mut().zip(&self.devices) {
            if probed.label.is_err() {
                let read = device_label::read(file(device), probed.size_bytes, &ends);
                (probed.label, probed.copies_differ) = (read.label, read.copies_differ);
            }
        }
    }
}

impl ProbedDevice {
    /// Returns the size that its label states, in bytes, if the device is smaller.
    pub(super) fn missing_bytes(&self) -> Option<u64> {
        let label = self.label.as_ref().ok()?;
        let needed = label.device_blocks.saturating_mul(BLOCK_BYTES as u64);
        (needed > self.size_bytes).then_some(needed)
    }
}

/// Opens a device; a problem of this device alone is returned as such.
///
/// # Errors
/// If another process has it, or if the error says nothing about the device, such as that permission is denied, the
/// file system is read-only or this process has no descriptor left: starting without the device would give up
/// redundancy for nothing.
pub(super) fn open_device(
    how: OpenDevice,
    path: &Path,
) -> Result<Result<DeviceFile, DeviceProblemKind>, OpenDeviceError> {
    let error = match how.open(path) {
        Ok(device) => return Ok(Ok(device)),
        Err(error) => error,
    };
    Ok(Err(match error {
        OpenDeviceError::InUse { .. } => return Err(error),
        OpenDeviceError::System { ref source, .. } if remedy_of_system(source).is_some() => {
            return Err(error);
        }
        OpenDeviceError::System { source, .. } if source.kind() == ErrorKind::NotFound => {
            DeviceProblemKind::Missing
        }
        OpenDeviceError::System { action, source, .. } => {
            DeviceProblemKind::Unreadable(format!("cannot {action} it: {source}"))
        }
        OpenDeviceError::NotStorage { .. } => DeviceProblemKind::not_storage(),
        OpenDeviceError::NotBlocks { size_bytes, .. } => DeviceProblemKind::not_blocks(size_bytes),
    }))
}
