//! Marks a spindle as failed; replaces a spindle or the log by another device.

use std::path::{Path, PathBuf};

use super::assembled::{AssembledArray, OpenOptions};
use super::device_label::{blank_spindle, new_identity, write_log};
use super::error::MembershipError;
use super::location::{ArrayLocation, record_paths};
use super::open::{FoundArray, FoundDevices, find, find_devices};
use super::probe::DeviceKey;
use super::problem::{DeviceProblem, DeviceProblemKind};
use super::supplied;
use crate::device::{BLOCK_BYTES, DeviceFile, Space};
use crate::format::{DeviceRole, Label, LogLayout, Member, MemberState};

/// Marks a spindle of an array that is not in use as failed: its contents are not read again. Returns the new label.
///
/// # Errors
/// If there is no such spindle, it is already marked, redundancy does not cover it, or the array cannot be opened;
/// then nothing is written.
pub fn mark_failed(place: &ArrayLocation, position: u16) -> Result<Label, MembershipError> {
    let options = OpenOptions { degraded: true, read_only: false };
    let FoundArray { mut array, mut stale } = find(place, options)?;
    array.check_redundancy_without(position)?;
    // The reason to mark it may be that it cannot be written.
    stale.retain(|one| *one != DeviceRole::Spindle(position));
    if array.label.members[usize::from(position)].state == MemberState::Failed {
        return Err(MembershipError::FailedAlready { position });
    }
    array.check_remaining_log()?;
    array.complete(&stale)?;
    array.change_members(|members| {
        members[usize::from(position)].state = MemberState::Failed;
    })?;
    Ok(array.label)
}

/// A device that replaces a spindle or the log.
#[derive(Debug, Clone)]
pub enum ReplacementDevice {
    /// A new file of the required size.
    NewFile {
        /// Its path; nothing may be there.
        path: PathBuf,
        /// How space is allocated for it.
        space: Space,
    },
    /// An existing file or block device.
    Existing {
        /// Path of the file or block device.
        path: PathBuf,
        /// Whether to overwrite its contents.
        force: bool,
    },
}

impl ReplacementDevice {
    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::NewFile { path, .. } | Self::Existing { path, .. } => path,
        }
    }

    /// Opens or creates the device, with at least `blocks` blocks of 4 KiB. It must not be one of `others`. The
    /// contents of an existing device are not changed.
    fn take<'a>(
        &self,
        blocks: u64,
        others: impl Iterator<Item = &'a DeviceFile>,
    ) -> Result<ClaimedDevice, MembershipError> {
        match self {
            Self::NewFile { path, space } => {
                let device = DeviceFile::create(path, blocks * BLOCK_BYTES as u64, *space)?;
                Ok(ClaimedDevice { device, made: NewFileGuard::of(path.clone()) })
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

/// A device about to join an array.
struct ClaimedDevice {
    device: DeviceFile,
    made: NewFileGuard,
}

/// A newly created file, if any. It is removed again unless it is kept.
pub(super) struct NewFileGuard(Option<PathBuf>);

impl NewFileGuard {
    pub(super) fn of(path: PathBuf) -> Self {
        Self(Some(path))
    }

    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for NewFileGuard {
    fn drop(&mut self) {
        // The error that led here is the one to report.
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens an array whose spindle at `position` is to be replaced, like [`open`](super::open); that spindle may be
/// missing. Other missing spindles are marked as failed only if the array may start `degraded`.
///
/// # Errors
/// If there is no such spindle, it is whole, redundancy does not cover it, or other spindles are missing; then
/// nothing is written.
pub fn open_to_replace(
    place: &ArrayLocation,
    position: u16,
    degraded: bool,
) -> Result<AssembledArray, MembershipError> {
    let FoundArray { mut array, stale } =
        find(place, OpenOptions { degraded: true, read_only: false })?;
    array.check_redundancy_without(position)?;
    if !array.lost().contains(&position) {
        return Err(MembershipError::Whole { position });
    }
    if !degraded {
        array.check_others_present(position)?;
    }
    array.check_remaining_log()?;
    array.begin(&stale)?;
    Ok(array)
}

/// Replaces the spindle at `position` by a new, blank device, which becomes a member that is being rebuilt; the
/// labels are raised on all devices, and the directory of the array's `place` names them. The former device is closed,
/// and not written. The caller rebuilds the spindle.
///
/// # Errors
/// If there is no such spindle, redundancy does not cover it, or the device is unfit; then nothing is written.
pub fn prepare_replacement(
    place: &ArrayLocation,
    array: &mut AssembledArray,
    position: u16,
    by: &ReplacementDevice,
) -> Result<(), MembershipError> {
    array.check_redundancy_without(position)?;
    let blocks = array.configuration.device_blocks_of(position);
    let ClaimedDevice { device, made } = by.take(blocks, array.open_devices())?;
    if matches!(by, ReplacementDevice::Existing { .. }) {
        let group = array.configuration.group_of(position);
        blank_spindle(&device, group.blocks_per_spindle)?;
    }
    let identity = new_identity()?;
    let at = usize::from(position);
    array.spindles[at] = Some(device);
    // Before the labels say that it is a member: one that nothing names would be lost.
    record_paths(place, array)?;
    made.keep();
    array.change_members(|members| {
        members[at] = Member { identity, state: MemberState::Rebuilding };
    })?;
    Ok(())
}

/// A device fit to become an array's log, or one of the two devices of a mirrored log. The array is not changed yet.
pub struct NewLog {
    role: DeviceRole,
    path: PathBuf,
    made: NewFileGuard,
    layout: LogLayout,
    degraded: bool,
    /// Whether the array was shut down, so that everything in the log is on the spindles.
    pub is_clean: bool,
}

/// Returns the role of the log's device to replace: the one that was named, or of a mirrored log the one that is failed
/// or missing.
///
/// # Errors
/// If none was named and both are present, unless lost writes are accepted: then both may lack records, and the first
/// is as good as the second. If one of a log on a single device was named. If one device is a copy of the other: then
/// the log is whole, and nothing need be given up.
pub fn log_to_replace(
    place: &ArrayLocation,
    named: Option<DeviceRole>,
    degraded: bool,
    accept_lost_writes: bool,
) -> Result<DeviceRole, MembershipError> {
    let found = find_devices(place, OpenOptions { degraded, read_only: true }, false)?;
    let of_log =
        |problem: &&DeviceProblem| problem.role.is_some_and(|role| role.spindle().is_none());
    for DeviceProblem { path, kind, .. } in found.problems.iter().filter(of_log) {
        if let (Some(path), DeviceProblemKind::Duplicate { of }) = (path, kind) {
            return Err(MembershipError::CopyOfLog { first: path.clone(), second: of.clone() });
        }
    }
    let lost = found.label.log_roles().find(|role| found.logs[role.index()].is_none());
    match named {
        Some(role) if found.label.is_log_mirrored() => Ok(role),
        Some(_) => Err(MembershipError::NotMirrored),
        None if found.label.is_log_mirrored() => {
            let either = accept_lost_writes.then_some(DeviceRole::MirroredLog(0));
            lost.or(either).ok_or(MembershipError::WhichLog)
        }
        None => Ok(DeviceRole::Log),
    }
}

impl NewLog {
    /// Prepares the device `by` to take a `role` of [`log_to_replace`] in an array that is not in use. Nothing is
    /// written to the array, nor to an existing device. Spindles may be missing if `degraded`.
    ///
    /// # Errors
    /// If the device is unfit, or the spindles cannot be opened.
    pub fn prepare(
        place: &ArrayLocation,
        role: DeviceRole,
        by: &ReplacementDevice,
        degraded: bool,
    ) -> Result<Self, MembershipError> {
        let options = OpenOptions { degraded, read_only: true };
        let found = find_devices(place, options, false)?;
        let layout = found.configuration.log_layout();
        let others = found.spindles.iter().chain(&found.logs).flatten();
        let ClaimedDevice { device, made } = by.take(layout.device_blocks(), others)?;
        if matches!(by, ReplacementDevice::NewFile { .. }) {
            // Allocate all of the space before anything is given up.
            write_log(&device, layout.device_blocks())?;
        }
        let is_clean = found.superblock.is_some_and(|superblock| superblock.clean);
        // It is not kept open: a new file may have the name of the missing log.
        Ok(Self { role, path: device.path().to_owned(), made, layout, degraded, is_clean })
    }

    /// Makes the device the array's log, or one of its two devices: blank, with the labels raised on all devices, and
    /// named in the array's directory. The former device is not written. Returns whether writes may be lost, which is
    /// the case unless the array was shut down. If so, the next start must be
    /// [`start_with_lost_writes`](crate::starting::start_with_lost_writes): superblocks may name records of the former
    /// log.
    ///
    /// # Errors
    /// If writes may be lost and that is not accepted, or the spindles cannot be opened; then nothing is written.
    pub fn install(
        self,
        place: &ArrayLocation,
        accept_lost_writes: bool,
    ) -> Result<bool, MembershipError> {
        let options = OpenOptions { degraded: self.degraded, read_only: false };
        let FoundDevices { label, configuration, spindles, mut logs, superblock, problems, stale } =
            find_devices(place, options, false)?;
        let is_clean = superblock.as_ref().is_some_and(|superblock| superblock.clean);
        if !is_clean && !accept_lost_writes {
            let consistency_point = superblock.map_or(0, |superblock| superblock.consistency_point);
            return Err(MembershipError::LogNeeded { consistency_point });
        }
        let identity = new_identity()?;
        let log = DeviceFile::open(&self.path)?;
        // Zero all of it: old records of this array would pass for new ones.
        write_log(&log, self.layout.device_blocks())?;
        self.made.keep();
        let replaced = self.role.index();
        logs[replaced] = Some(log);
        let mut array =
            AssembledArray { label, configuration, spindles, logs, superblock, problems };
        // A device that lacks the last change must not come to lack two.
        let stale: Vec<_> = stale.into_iter().filter(|role| *role != self.role).collect();
        array.complete(&stale)?;
        record_paths(place, &array)?;
        array.label.logs[replaced] = Member { identity, state: MemberState::Present };
        array.change_members(|_| ())?;
        Ok(!is_clean)
    }
}

/// Fails if `path` is a device that the array has open; opening it again would only report it as in use, by this very
/// process.
pub(super) fn check_not_a_member<'a>(
    devices: impl Iterator<Item = &'a DeviceFile>,
    path: &Path,
) -> Result<(), MembershipError> {
    let Some(key) = DeviceKey::at(path) else { return Ok(()) };
    let mut devices = devices.filter_map(|device| device.file().metadata().ok());
    match devices.any(|status| DeviceKey::of(&status) == key) {
        true => Err(MembershipError::IsMember { path: path.to_owned() }),
        false => Ok(()),
    }
}
