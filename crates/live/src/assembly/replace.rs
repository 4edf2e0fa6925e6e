//! Another device in the place of a spindle.

use std::path::PathBuf;

use crate::device::{BLOCK_BYTES, DeviceFile, Space};
use crate::format::{Member, MemberState};

use super::find::{FoundDevices, find_devices};
use super::seen::DeviceKey;
use super::{Assembled, ChangeError, OpenOptions, Place, blank, given, random};

/// A device that is to take the place of a spindle.
#[derive(Debug, Clone)]
pub enum NewDevice {
    /// A file that is made, as large as the others need to be.
    Made {
        /// Where; nothing may be there.
        path: PathBuf,
        /// What space it gets.
        space: Space,
    },
    /// A file or block device that is there.
    Given {
        /// It.
        path: PathBuf,
        /// Whether to write over what it holds.
        force: bool,
    },
}

/// Puts a new device, blank, into the place of the spindle at `position`: a member in state rebuilding, labels raised on
/// all. The device that was there is let go, and not written. To rebuild it is the caller's; when that is done its state
/// becomes present by [`Assembled::change_members`]. If a directory names the devices, [`name_device`](super::name_device)
/// is the caller's too.
///
/// # Errors
/// If there is no such spindle, redundancy would not make it good, or the device does not suit; nothing is written then.
pub fn prepare_replacement(
    array: &mut Assembled,
    position: u16,
    by: &NewDevice,
) -> Result<(), ChangeError> {
    array.spare(position)?;
    let blocks = array.configuration.spindle_device_blocks();
    let device = match by {
        NewDevice::Made { path, space } => {
            DeviceFile::create(path, blocks * BLOCK_BYTES as u64, *space)?
        }
        NewDevice::Given { path, force } => {
            check_not_of(array.spindles.iter().flatten().chain([&array.log]), path)?;
            let device = given::open_one(path, *force)?;
            given::check_size(&device, blocks)?;
            blank::blank_spindle(&device, &array.configuration)?;
            device
        }
    };
    let identity = random::identity()?;
    let at = usize::from(position);
    array.spindles[at] = Some(device);
    array.change_members(|members| {
        members[at] = Member { identity, state: MemberState::Rebuilding };
    })?;
    Ok(())
}

/// Puts a new device, blank, into the place of the log of an array that nobody has open, labels raised on all. The log that was
/// there is not written. Gives whether writes may be lost by it: where the newest consistency point is not the one that the array
/// was shut down with. If a directory names the devices, [`name_device`](super::name_device) is the caller's too.
///
/// # Errors
/// If writes may be lost and that is not accepted, the device does not suit, or the spindles cannot be opened; nothing is
/// written then.
pub fn replace_log(
    place: &Place,
    by: &NewDevice,
    accept_lost_writes: bool,
) -> Result<bool, ChangeError> {
    let options = OpenOptions { degraded: true, read_only: false };
    let FoundDevices { mut label, configuration, spindles, log, superblock, problems, .. } =
        find_devices(place, options, false)?;
    let is_clean = superblock.as_ref().is_some_and(|superblock| superblock.clean);
    if !is_clean && !accept_lost_writes {
        let checkpoint = superblock.map_or(0, |superblock| superblock.checkpoint);
        return Err(ChangeError::LogNeeded { checkpoint });
    }
    let layout = configuration.log_layout();
    let device = match by {
        NewDevice::Made { path, space } => {
            let bytes = layout.device_blocks() * BLOCK_BYTES as u64;
            let device = DeviceFile::create(path, bytes, *space)?;
            blank::write_log(&device)?;
            device
        }
        NewDevice::Given { path, force } => {
            check_not_of(spindles.iter().flatten().chain(&log), path)?;
            let device = given::open_one(path, *force)?;
            given::check_size(&device, layout.device_blocks())?;
            blank::blank_log(&device, layout)?;
            device
        }
    };
    label.log = Some(random::identity()?);
    let mut array = Assembled { label, configuration, spindles, log: device, superblock, problems };
    array.change_members(|_| ())?;
    Ok(!is_clean)
}

/// A device that the array has open would only be called in use, by ourselves.
fn check_not_of<'a>(
    devices: impl Iterator<Item = &'a DeviceFile>,
    path: &std::path::Path,
) -> Result<(), ChangeError> {
    let Some(key) = DeviceKey::at(path) else { return Ok(()) };
    let mut devices = devices.filter_map(|device| Some((device, device.file().metadata().ok()?)));
    match devices.find(|(_, status)| DeviceKey::of(status) == key) {
        Some((device, _)) => Err(ChangeError::SameDevice {
            first: device.path().to_owned(),
            second: path.to_owned(),
        }),
        None => Ok(()),
    }
}
