//! Creates an array on new files or supplied devices.

use std::path::PathBuf;

use super::device_label::{self, blank_log, blank_spindle, new_identity, write_log};
use super::directory::Directory;
use super::error::{AssemblyError, MembershipError};
use super::location::{ArrayFile, LogPaths, as_named};
use super::names::file_of;
use super::supplied;
use crate::Configuration;
use crate::configuration::ArraySpec;
use crate::device::{BLOCK_BYTES, DeviceFile, Space};
use crate::format::{
    DeviceKind, DeviceRole, FEATURE_INITIALIZATION_MAP, FEATURE_MIRRORED_LOG, FORMAT, Identity,
    Label, MIRRORED_LOGS, Member, MemberState,
};

/// What to create an array from.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// The directory for its files and `array.toml`. It is created if it does not exist.
    pub directory: PathBuf,
    /// The array to create. [`ArraySpec::spindle_bytes`] is the size of new files; if devices are supplied, the
    /// smallest one counts instead.
    pub spec: ArraySpec,
    /// The devices of its spindles.
    pub spindles: SpindleDevices,
    /// The devices of its log.
    pub log: LogDevices,
    /// Whether new files are sparse. The log is always written in full.
    pub space: Space,
    /// Whether to overwrite the contents of the directory and the devices.
    pub force: bool,
}

impl CreateOptions {
    /// The array in new, sparse files of a new or empty directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, spec: ArraySpec) -> Self {
        Self {
            directory: directory.into(),
            spec,
            spindles: SpindleDevices::default(),
            log: LogDevices::default(),
            space: Space::default(),
            force: false,
        }
    }
}

/// The devices of an array's spindles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SpindleDevices {
    /// New files in the directory.
    #[default]
    NewFiles,
    /// These files or block devices, by position.
    Existing(Vec<PathBuf>),
}

/// The devices of an array's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LogDevices {
    /// A new file in the directory.
    #[default]
    NewFile,
    /// Two new files in the directory: the log is mirrored.
    MirroredNewFiles,
    /// This file or block device.
    Existing(PathBuf),
    /// These files or block devices: the log is mirrored.
    MirroredExisting([PathBuf; MIRRORED_LOGS]),
}

impl LogDevices {
    /// Returns the devices that are supplied.
    fn supplied(&self) -> &[PathBuf] {
        match self {
            Self::NewFile | Self::MirroredNewFiles => &[],
            Self::Existing(path) => std::slice::from_ref(path),
            Self::MirroredExisting(paths) => paths,
        }
    }

    /// Returns the roles of new files.
    fn new_files(&self) -> Vec<DeviceRole> {
        match self {
            Self::NewFile => vec![DeviceRole::Log],
            // There are two.
            Self::MirroredNewFiles => {
                (0..MIRRORED_LOGS as u16).map(DeviceRole::MirroredLog).collect()
            }
            Self::Existing(_) | Self::MirroredExisting(_) => Vec::new(),
        }
    }
}

/// What was created, for messages and scripts.
#[derive(Debug, Clone)]
pub struct CreatedArray {
    /// Identity that all its labels have.
    pub array: Identity,
    /// Configuration as created, with everything that was left open decided.
    pub configuration: Configuration,
    /// The devices of its spindles, by position.
    pub spindles: Vec<PathBuf>,
    /// The devices of its log: two if it is mirrored.
    pub logs: Vec<PathBuf>,
    /// Spindles larger than the smallest, with the bytes of each that are unused.
    pub wasted: Vec<(PathBuf, u64)>,
}

/// Creates an array. Everything is checked before anything is written. Then the devices are blanked and labelled:
/// spindles first, and the log last, which makes it an array. The array is durable when this returns.
///
/// # Errors
/// See [`MembershipError`]. Files that were created are removed again. If the creation is interrupted, its remains do
/// not open as an array.
pub fn create(options: &CreateOptions) -> Result<CreatedArray, MembershipError> {
    let directory = Directory::check(&options.directory, options.force)?;
    let (given_spindles, mut logs) = open_given(options)?;
    let mut spec = options.spec.clone();
    if let Some(smallest) = given_spindles.iter().map(DeviceFile::size_bytes).min() {
        spec.spindle_bytes = smallest;
    }
    let configuration = spec.plan()?;
    let log_blocks = configuration.log_layout().device_blocks();
    for log in &logs {
        supplied::check_size(log, log_blocks)?;
    }
    // If this returns early, everything from here on is undone.
    let mut directory = directory.prepare()?;
    for device in &given_spindles {
        blank_spindle(device, configuration.blocks_per_spindle)?;
    }
    for log in &logs {
        blank_log(log, configuration.log_layout())?;
    }
    let wasted = wasted(&given_spindles, configuration.device_blocks_of(0));
    let mut spindles = given_spindles;
    if options.spindles == SpindleDevices::NewFiles {
        let bytes = spec.spindle_bytes / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        for position in 0..configuration.spindles() {
            let name = file_of(DeviceRole::Spindle(position));
            spindles.push(directory.make(&name, bytes, options.space)?);
        }
    }
    for role in options.log.new_files() {
        let bytes = log_blocks * BLOCK_BYTES as u64;
        let log = directory.make(&file_of(role), bytes, options.space)?;
        write_log(&log, log_blocks)?;
        logs.push(log);
    }
    let array = write_labels(&configuration, &spindles, &logs, |array| {
        let named = |device: &DeviceFile| as_named(&options.directory, device.path());
        directory.write(&ArrayFile {
            array: array.to_string(),
            spindles: spindles.iter().map(named).collect(),
            log: LogPaths::of(logs.iter().map(named).collect()),
        })
    })?;
    directory.keep();
    let path = |device: &DeviceFile| device.path().to_owned();
    Ok(CreatedArray {
        array,
        configuration,
        spindles: spindles.iter().map(path).collect(),
        logs: logs.iter().map(path).collect(),
        wasted,
    })
}

/// Opens the supplied spindles and devices of the log.
fn open_given(
    options: &CreateOptions,
) -> Result<(Vec<DeviceFile>, Vec<DeviceFile>), MembershipError> {
    let mut paths = match &options.spindles {
        SpindleDevices::NewFiles => Vec::new(),
        SpindleDevices::Existing(paths) => {
            let needed = options.spec.spindles();
            if paths.len() != usize::from(needed) {
                return Err(MembershipError::Count { given: paths.len(), needed });
            }
            paths.clone()
        }
    };
    let spindles = paths.len();
    paths.extend_from_slice(options.log.supplied());
    let mut devices = supplied::open_all(&paths, options.force)?;
    let logs = devices.split_off(spindles);
    Ok((devices, logs))
}

/// Returns the unused bytes after the last of `device_blocks` in use, by device.
pub(super) fn wasted(spindles: &[DeviceFile], device_blocks: u64) -> Vec<(PathBuf, u64)> {
    let smallest = spindles.iter().map(DeviceFile::size_bytes).min().unwrap_or(0);
    let used = device_blocks * BLOCK_BYTES as u64;
    let larger = spindles.iter().filter(|device| device.size_bytes() > smallest);
    larger.map(|device| (device.path().to_owned(), device.size_bytes() - used)).collect()
}

/// Calls `name` with the array's new identity, then writes all labels.
fn write_labels(
    configuration: &Configuration,
    spindles: &[DeviceFile],
    logs: &[DeviceFile],
    name: impl FnOnce(Identity) -> Result<(), AssemblyError>,
) -> Result<Identity, MembershipError> {
    let array = new_identity()?;
    let new_member = || Ok(Member { identity: new_identity()?, state: MemberState::Present });
    let of_spindles = spindles.iter().map(|_| new_member());
    let members = of_spindles.collect::<Result<Vec<_>, AssemblyError>>()?;
    let of_logs = logs.iter().map(|_| new_member());
    let of_logs = of_logs.collect::<Result<Vec<_>, AssemblyError>>()?;
    let mirror = if logs.len() == MIRRORED_LOGS { FEATURE_MIRRORED_LOG } else { 0 };
    let layout = configuration.log_layout();
    let mut label = Label {
        version: FORMAT,
        incompatible_features: FEATURE_INITIALIZATION_MAP | mirror,
        compatible_features: 0,
        array,
        own: array,
        position: 0,
        kind: DeviceKind::Spindle,
        sequence: 1,
        device_blocks: configuration.device_blocks_of(0),
        log_half_blocks: layout.half_blocks,
        redo_half_blocks: layout.redo_half_blocks,
        members,
        groups: Vec::new(),
        logs: of_logs,
        configuration: configuration.to_toml()?,
    };
    name(array)?;
    for (position, device) in (0..).zip(spindles) {
        label.position = position;
        label.own = label.members[usize::from(position)].identity;
        device_label::write_first_superblock(device, &label)?;
        device_label::write_first_map(device, &label)?;
        device_label::write(device, &label)?;
    }
    for (position, device) in (0..).zip(logs) {
        device_label::write(device, &label.of_log(position))?;
    }
    Ok(array)
}
