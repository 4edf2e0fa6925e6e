//! Adds a parity group to a write-anywhere array that is not in use.
//!
//! The order makes the addition happen as a whole. First the new devices get labels with the sequence that the array's
//! have: if the power fails now, those of the array still count. Then `array.toml` names the new devices, so that they
//! are found. Then all devices get the next label, which lists them, and the array has the group from the first of
//! these on. The next start gives it to the allocator; until the superblock after that, the array's blocks are read as
//! those of an array without the group.

use std::path::{Path, PathBuf};

use super::assembled::{AssembledArray, OpenOptions};
use super::create::{SpindleDevices, wasted};
use super::device_label::{self, blank_spindle, new_identity};
use super::error::{AssemblyError, MembershipError};
use super::location::{ArrayLocation, record_paths};
use super::names::{file_of, unused_path};
use super::open::{FoundArray, find};
use super::replace::{NewFileGuard, check_not_a_member};
use super::supplied;
use crate::configuration::{AddedGroup, ArrayLayout, ConfigurationError, LayoutName};
use crate::device::{BLOCK_BYTES, DeviceFile, Space};
use crate::format::{
    DeviceRole, FEATURE_INITIALIZATION_MAP, FEATURE_PARITY_GROUPS, Member, MemberGroup,
    MemberState, data_blocks,
};

/// The parity group to add.
#[derive(Debug, Clone, Default)]
pub struct AddGroupOptions {
    /// `raid-dp` or `raid-4`; `None` for that of the array's first group.
    pub layout: Option<LayoutName>,
    /// Spindles without parity; `None` for those of the array's first group, or what the devices provide.
    pub data_spindles: Option<u16>,
    /// Size of new files in bytes; `None` for that of the array's first group. If devices are supplied, the smallest
    /// one counts instead.
    pub spindle_bytes: Option<u64>,
    /// The devices of its spindles, parity last.
    pub spindles: SpindleDevices,
    /// Whether new files are sparse.
    pub space: Space,
    /// Whether to overwrite the contents of the devices.
    pub force: bool,
    /// Whether the array may be degraded.
    pub degraded: bool,
}

/// An array that has a new parity group, opened.
#[derive(Debug)]
pub struct GrownArray {
    /// The array. Its next start gives the group to the allocator.
    pub array: AssembledArray,
    /// Spindles larger than the smallest of the group, with the bytes of each that are unused.
    pub wasted: Vec<(PathBuf, u64)>,
}

/// Opens the array at `place` and adds a parity group to it. Everything is checked before anything is written.
///
/// # Errors
/// If the array cannot be opened, updates in place, or is too large with the group; or the devices are unfit. Then the
/// array is as it was, and files that were created are removed again.
pub fn open_to_add_group(
    place: &ArrayLocation,
    options: &AddGroupOptions,
) -> Result<GrownArray, MembershipError> {
    let FoundArray { mut array, stale } =
        find(place, OpenOptions { degraded: options.degraded, read_only: false })?;
    let ArrayLayout::WriteAnywhere(layout) = &array.configuration.layout else {
        return Err(MembershipError::InPlaceGroup);
    };
    let layout_name = options.layout.unwrap_or_else(|| array.configuration.layout_name());
    let Some(parity) = layout_name.parity() else {
        return Err(MembershipError::GroupLayout(layout_name));
    };
    let mut devices = open_supplied(options, &array)?;
    let given = u16::try_from(devices.len()).unwrap_or(u16::MAX);
    let data_spindles = match (options.data_spindles, &options.spindles) {
        (Some(data_spindles), _) => data_spindles,
        (None, SpindleDevices::Existing(_)) => given.saturating_sub(parity.spindles()),
        (None, SpindleDevices::NewFiles) => layout.data_spindles,
    };
    let needed = data_spindles.saturating_add(parity.spindles());
    if matches!(options.spindles, SpindleDevices::Existing(_)) && given != needed {
        return Err(MembershipError::Count { given: devices.len(), needed });
    }
    let smallest = devices.iter().map(DeviceFile::size_bytes).min();
    let of_first = array.configuration.group_of(0).device_bytes();
    let spindle_bytes = smallest.or(options.spindle_bytes).unwrap_or(of_first);
    let blocks_per_spindle = data_blocks(spindle_bytes / BLOCK_BYTES as u64);
    let mut configuration = array.configuration.clone();
    if let ArrayLayout::WriteAnywhere(layout) = &mut configuration.layout {
        layout.added_groups.push(AddedGroup { parity, data_spindles, blocks_per_spindle });
    }
    configuration.check().map_err(|error| match error {
        // The check counts whole rows; the user knows the device's size.
        ConfigurationError::SpindlesTooSmall { layout, .. } => {
            ConfigurationError::SpindlesTooSmall { layout, spindle_bytes }
        }
        error => error,
    })?;
    let text = configuration.to_toml()?;
    array.check_remaining_log()?;

    // If this returns early, files that were made are removed.
    let first = array.spindles.len() as u16;
    let mut made = Vec::new();
    if let (SpindleDevices::NewFiles, ArrayLocation::Directory(directory)) =
        (&options.spindles, place)
    {
        for position in first..first + needed {
            let role = DeviceRole::Spindle(position);
            remove_leftover(&array, &directory.join(file_of(role)))?;
            let path = unused_path(directory, role);
            let bytes = spindle_bytes / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
            devices.push(DeviceFile::create(&path, bytes, options.space)?);
            made.push(NewFileGuard::of(path));
        }
    }
    array.begin(&stale)?;
    if matches!(options.spindles, SpindleDevices::Existing(_)) {
        devices.iter().try_for_each(|device| blank_spindle(device, blocks_per_spindle))?;
    }
    let wasted = wasted(&devices, configuration.device_blocks_of(first));
    let mut label = array.label.clone();
    let new_member =
        |_: &DeviceFile| Ok(Member { identity: new_identity()?, state: MemberState::Present });
    let members: Result<Vec<Member>, MembershipError> = devices.iter().map(new_member).collect();
    label.members.extend(members?);
    label.configuration = text;
    label.incompatible_features |= FEATURE_PARITY_GROUPS;
    let groups = configuration.groups();
    label.groups = groups
        .iter()
        .map(|group| MemberGroup {
            spindles: group.spindles.len() as u16,
            device_blocks: group.device_blocks(),
        })
        .collect();
    for (position, device) in (first..).zip(&devices) {
        let own = label.members[usize::from(position)].identity;
        let label = label.of_spindle(position, own);
        if let Some(superblock) = &array.superblock {
            device_label::write_superblock(device, superblock)?;
        }
        if label.incompatible_features & FEATURE_INITIALIZATION_MAP != 0 {
            device_label::write_first_map(device, &label)?;
        }
        device_label::write(device, &label)?;
    }
    array.spindles.extend(devices.into_iter().map(Some));
    record_paths(place, &array)?;
    made.into_iter().for_each(NewFileGuard::keep);
    array.label = label;
    array.configuration = configuration;
    array.change_members(|_| ())?;
    Ok(GrownArray { array, wasted })
}

/// Removes the file at `path` if an addition that was interrupted has left it: it has a label of this array, and is no
/// member.
fn remove_leftover(array: &AssembledArray, path: &Path) -> Result<(), MembershipError> {
    let Ok(device) = DeviceFile::open(path) else { return Ok(()) };
    let label = device_label::read(device.file(), device.size_bytes(), &[]).label;
    let is_leftover = label.is_ok_and(|label| {
        label.array == array.label.array
            && usize::from(label.position) >= array.spindles.len()
            && array.label.members.iter().all(|member| member.identity != label.own)
    });
    if is_leftover && !device.is_block_device() {
        std::fs::remove_file(path).map_err(AssemblyError::io(path, "cannot remove it"))?;
    }
    Ok(())
}

/// Opens the devices that are supplied.
fn open_supplied(
    options: &AddGroupOptions,
    array: &AssembledArray,
) -> Result<Vec<DeviceFile>, MembershipError> {
    match &options.spindles {
        SpindleDevices::NewFiles => Ok(Vec::new()),
        SpindleDevices::Existing(paths) => {
            for path in paths {
                check_not_a_member(array.open_devices(), path)?;
            }
            supplied::open_all(paths, options.force)
        }
    }
}
