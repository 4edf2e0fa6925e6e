//! Another device in the place of a spindle.

use std::path::PathBuf;

use crate::device::{BLOCK_BYTES, DeviceFile, Space};
use crate::format::{Member, MemberState};

use super::seen::DeviceKey;
use super::{Assembled, ChangeError, blank, given, random};

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
            check_not_of(array, path)?;
            let mut devices = given::open_all(std::slice::from_ref(path), *force)?;
            // One path, one device.
            let Some(device) = devices.pop() else {
                return Err(ChangeError::Count { given: 0, needed: 1 });
            };
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

/// A device that the array has open would only be called in use, by ourselves.
fn check_not_of(array: &Assembled, path: &std::path::Path) -> Result<(), ChangeError> {
    let Some(key) = DeviceKey::at(path) else { return Ok(()) };
    let devices = array.spindles.iter().flatten().chain([&array.log]);
    let same = devices
        .filter_map(|device| Some((device, device.file().metadata().ok()?)))
        .find(|(_, status)| DeviceKey::of(status) == key);
    match same {
        Some((device, _)) => Err(ChangeError::SameDevice {
            first: device.path().to_owned(),
            second: path.to_owned(),
        }),
        None => Ok(()),
    }
}
