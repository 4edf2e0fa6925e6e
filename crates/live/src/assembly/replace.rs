//! A spindle marked as failed; another device in the place of a spindle, or of the log.

use std::path::{Path, PathBuf};

use super::assembled::{AssembledArray, OpenOptions};
use super::device_label::{blank_spindle, new_identity, write_log};
use super::error::ChangeError;
use super::location::ArrayLocation;
use super::open::{FoundArray, FoundDevices, find, find_devices};
use super::probe::DeviceKey;
use super::supplied;
use crate::device::{BLOCK_BYTES, DeviceFile, Space};
use crate::format::{Label, LogLayout, Member, MemberState};

/// Marks a spindle of an array that nobody has open as failed: what it has is not read again. Gives the new label.
///
/// # Errors
/// If there is no such spindle, it is marked already, redundancy would not make it good, or the array cannot be opened;
/// then nothing is written.
pub fn mark_failed(place: &ArrayLocation, position: u16) -> Result<Label, ChangeError> {
    let options = OpenOptions { degraded: true, read_only: false };
    let FoundArray { mut array, mut stale } = find(place, options)?;
    array.check_redundancy_without(position)?;
    // It may be for this that it fails: that it does not take its label.
    stale.retain(|one| *one != Some(position));
    if array.label.members[usize::from(position)].state == MemberState::Failed {
        return Err(ChangeError::FailedAlready { position });
    }
    array.complete(&stale)?;
    array.change_members(|members| {
        members[usize::from(position)].state = MemberState::Failed;
    })?;
    Ok(array.label)
}

/// A device that is to take the place of a spindle, or of the log.
#[derive(Debug, Clone)]
pub enum ReplacementDevice {
    /// A file that is made, as large as the others need to be.
    NewFile {
        /// Where; nothing may be there.
        path: PathBuf,
        /// What space it gets.
        space: Space,
    },
    /// A file or block device that is there.
    Existing {
        /// It.
        path: PathBuf,
        /// Whether to write over what it holds.
        force: bool,
    },
}

impl ReplacementDevice {
    /// Where it is, or will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::NewFile { path, .. } | Self::Existing { path, .. } => path,
        }
    }

    /// Has it, of `blocks` blocks of 4 KiB at least, and not one of `others`. Of what a given one holds nothing is written over.
    fn take<'a>(
        &self,
        blocks: u64,
        others: impl Iterator<Item = &'a DeviceFile>,
    ) -> Result<ClaimedDevice, ChangeError> {
        match self {
            Self::NewFile { path, space } => {
                let device = DeviceFile::create(path, blocks * BLOCK_BYTES as u64, *space)?;
                Ok(ClaimedDevice { device, made: NewFileGuard(Some(path.clone())) })
            }
            Self::Existing { path, force } => {
                check_not_a_member(others, path)?;
                let device = supplied::open_one(path, *force)?;
                supplied::check_size(&device, blocks)?;
                Ok(ClaimedDevice { device, made: NewFileGuard(None) })
            }
        }
    }
}

/// A device that is to have a place in an array.
struct ClaimedDevice {
    device: DeviceFile,
    made: NewFileGuard,
}

/// A file that was made for it, if it was. It goes again, unless it is kept.
struct NewFileGuard(Option<PathBuf>);

impl NewFileGuard {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for NewFileGuard {
    fn drop(&mut self) {
        // The error that led here is the one to be told of.
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens an array whose spindle at `position` is to be replaced, as [`open`](super::open) does: it need not be there. Spindles
/// beside it that are missing are marked as failed only if the array is to start `degraded`.
///
/// # Errors
/// If there is no such spindle, it is whole, redundancy would not make it good, or others are missing; nothing is written then.
pub fn open_to_replace(
    place: &ArrayLocation,
    position: u16,
    degraded: bool,
) -> Result<AssembledArray, ChangeError> {
    let FoundArray { mut array, stale } =
        find(place, OpenOptions { degraded: true, read_only: false })?;
    array.check_redundancy_without(position)?;
    if !array.lost().contains(&position) {
        return Err(ChangeError::Whole { position });
    }
    if !degraded {
        array.check_others_present(position)?;
    }
    array.begin(&stale)?;
    Ok(array)
}

/// Puts a new device, blank, into the place of the spindle at `position`: a member in state rebuilding, labels raised on
/// all. The device that was there is let go, and not written. To rebuild it is the caller's; when that is done its state
/// becomes present by [`AssembledArray::change_members`]. If a directory names the devices, [`record_device_path`](super::record_device_path)
/// is the caller's too.
///
/// # Errors
/// If there is no such spindle, redundancy would not make it good, or the device does not suit; nothing is written then.
pub fn prepare_replacement(
    array: &mut AssembledArray,
    position: u16,
    by: &ReplacementDevice,
) -> Result<(), ChangeError> {
    array.check_redundancy_without(position)?;
    let blocks = array.configuration.spindle_device_blocks();
    let others = array.spindles.iter().flatten().chain([&array.log]);
    let ClaimedDevice { device, made } = by.take(blocks, others)?;
    if matches!(by, ReplacementDevice::Existing { .. }) {
        blank_spindle(&device, &array.configuration)?;
    }
    let identity = new_identity()?;
    let at = usize::from(position);
    array.spindles[at] = Some(device);
    made.keep();
    array.change_members(|members| {
        members[at] = Member { identity, state: MemberState::Rebuilding };
    })?;
    Ok(())
}

/// A device that is to be an array's log, found fit before anything is done to the array.
pub struct NewLog {
    path: PathBuf,
    made: NewFileGuard,
    layout: LogLayout,
    degraded: bool,
    /// Whether the array was shut down: what the log has is on the spindles.
    pub is_clean: bool,
}

impl NewLog {
    /// Has the device `by` for the log of an array that nobody has open. Nothing of the array is written, nor of a device that is
    /// given. Spindles may be missing if `degraded`.
    ///
    /// # Errors
    /// If the device does not suit, or the spindles cannot be opened.
    pub fn prepare(
        place: &ArrayLocation,
        by: &ReplacementDevice,
        degraded: bool,
    ) -> Result<Self, ChangeError> {
        let options = OpenOptions { degraded, read_only: true };
        let found = find_devices(place, options, false)?;
        let layout = found.configuration.log_layout();
        let others = found.spindles.iter().flatten().chain(&found.log);
        let ClaimedDevice { device, made } = by.take(layout.device_blocks(), others)?;
        if matches!(by, ReplacementDevice::NewFile { .. }) {
            // Before anything is given up there is room for all of it.
            write_log(&device, layout.device_blocks())?;
        }
        let is_clean = found.superblock.is_some_and(|superblock| superblock.clean);
        // It is not kept open: where it was made it may have the name of the log that is missing.
        Ok(Self { path: device.path().to_owned(), made, layout, degraded, is_clean })
    }

    /// Puts it into the place of the log of the array, blank, labels raised on all. The log that was there is not written. Gives
    /// whether writes may be lost by it: where the newest consistency point is not the one that the array was shut down with.
    /// If a directory names the devices, [`record_device_path`](super::record_device_path) is the caller's too.
    ///
    /// # Errors
    /// If writes may be lost and that is not accepted, or the spindles cannot be opened; nothing is written then.
    pub fn install(
        self,
        place: &ArrayLocation,
        accept_lost_writes: bool,
    ) -> Result<bool, ChangeError> {
        let options = OpenOptions { degraded: self.degraded, read_only: false };
        let FoundDevices { label, configuration, spindles, superblock, problems, stale, .. } =
            find_devices(place, options, false)?;
        let is_clean = superblock.as_ref().is_some_and(|superblock| superblock.clean);
        if !is_clean && !accept_lost_writes {
            let checkpoint = superblock.map_or(0, |superblock| superblock.checkpoint);
            return Err(ChangeError::LogNeeded { checkpoint });
        }
        let identity = new_identity()?;
        let log = DeviceFile::open(&self.path)?;
        // All of it: records of this array would be taken for new ones.
        write_log(&log, self.layout.device_blocks())?;
        self.made.keep();
        let mut array =
            AssembledArray { label, configuration, spindles, log, superblock, problems };
        // Who lacks the last change must not lack two.
        let stale: Vec<_> = stale.into_iter().filter(Option::is_some).collect();
        array.complete(&stale)?;
        array.label.log = Some(identity);
        array.change_members(|_| ())?;
        Ok(!is_clean)
    }
}

/// A device that the array has open would only be called in use, by ourselves.
fn check_not_a_member<'a>(
    devices: impl Iterator<Item = &'a DeviceFile>,
    path: &Path,
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
