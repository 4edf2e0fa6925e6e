//! An array's devices, found and opened, and nothing written yet.

use std::io::ErrorKind;
use std::path::Path;

use crate::Configuration;
use crate::device::{DeviceFile, OpenDevice, OpenError};
use crate::format::{Label, MemberState, Superblock};

use super::diagnosis::Diagnosis;
use super::seen::{ProbeResult, ProbedDevice, probe_all};
use super::{
    ArrayLocation, AssembledArray, AssemblyError, DeviceProblem, DeviceProblemKind, OpenOptions,
};

/// An array that could be started.
pub(super) struct FoundArray {
    pub(super) array: AssembledArray,
    /// Devices that it would start with and whose labels are to be written anew: spindles by position, the log as none.
    pub(super) stale: Vec<Option<u16>>,
}

/// The devices of an array, whether it could be started with them or not.
pub(super) struct FoundDevices {
    pub(super) label: Label,
    pub(super) configuration: Configuration,
    /// By position, those that can be relied upon or are being rebuilt.
    pub(super) spindles: Vec<Option<DeviceFile>>,
    /// The log, if it can be relied upon.
    pub(super) log: Option<DeviceFile>,
    pub(super) superblock: Option<Superblock>,
    pub(super) problems: Vec<DeviceProblem>,
    /// As [`FoundArray::stale`].
    pub(super) stale: Vec<Option<u16>>,
}

/// Opens the devices of the array in `place`, locks them, and finds out which is which and what is wrong.
///
/// # Errors
/// As [`open`](super::open).
pub(super) fn find(
    place: &ArrayLocation,
    options: OpenOptions,
) -> Result<FoundArray, AssemblyError> {
    let FoundDevices { label, configuration, spindles, log, superblock, problems, stale } =
        find_devices(place, options, true)?;
    let Some(log) = log else {
        return Err(AssemblyError::Unusable { too_many_lost: false, problems });
    };
    let array = AssembledArray { label, configuration, spindles, log, superblock, problems };
    Ok(FoundArray { array, stale })
}

/// The same, of an array whose log may be missing if it is not needed.
///
/// # Errors
/// As [`open`](super::open).
pub(super) fn find_devices(
    place: &ArrayLocation,
    options: OpenOptions,
    needs_log: bool,
) -> Result<FoundDevices, AssemblyError> {
    let named = place.named()?;
    let how = OpenDevice::new().writable(!options.read_only);
    let open = |path: &Path| open_device(how, path);
    let ProbeResult { probed, devices, problems } = probe_all(&named, open, DeviceFile::file)?;
    let diagnosis = Diagnosis::of(&probed, problems)
        .map_err(|problems| AssemblyError::NoArray { place: place.display(), problems })?;
    let label = newest_label(&probed, &diagnosis, place)?;
    let configuration = Configuration::from_toml(&label.configuration).map_err(|source| {
        AssemblyError::Configuration { path: probed[diagnosis.newest].path.clone(), source }
    })?;
    let lost = diagnosis.lost(&label);
    let too_many_lost = lost > usize::from(configuration.redundancy());
    if too_many_lost || (needs_log && diagnosis.log.is_none()) {
        return Err(AssemblyError::Unusable { too_many_lost, problems: diagnosis.problems });
    }
    // One that is being rebuilt is there: the array goes on with it, and is whole without anybody's doing.
    if diagnosis.spindles.contains(&None) && !options.degraded {
        let usable = diagnosis.spindles.len() - lost;
        return Err(AssemblyError::Degraded { usable, problems: diagnosis.problems });
    }
    let superblock = newest_superblock(&probed, &diagnosis.spindles, &label);
    let mut devices: Vec<Option<DeviceFile>> = devices.into_iter().map(Some).collect();
    let mut take = |at: Option<usize>| at.and_then(|at| devices[at].take());
    let spindles = diagnosis.spindles.iter().map(|at| take(*at)).collect();
    let log = take(diagnosis.log);
    let Diagnosis { stale, problems, .. } = diagnosis;
    Ok(FoundDevices { label, configuration, spindles, log, superblock, problems, stale })
}

/// Opens a device; what is wrong with it alone is a problem.
///
/// # Errors
/// If another process has it, or if it is there for others than us: to go on without it would be a loss for nothing.
pub(super) fn open_device(
    how: OpenDevice,
    path: &Path,
) -> Result<Result<DeviceFile, DeviceProblemKind>, OpenError> {
    let error = match how.open(path) {
        Ok(device) => return Ok(Ok(device)),
        Err(error) => error,
    };
    Ok(Err(match error {
        OpenError::InUse { .. } => return Err(error),
        OpenError::System { ref source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            return Err(error);
        }
        OpenError::System { source, .. } if source.kind() == ErrorKind::NotFound => {
            DeviceProblemKind::Missing
        }
        OpenError::System { action, source, .. } => {
            DeviceProblemKind::Unreadable(format!("cannot {action} it: {source}"))
        }
        OpenError::NotStorage { .. } => DeviceProblemKind::not_storage(),
        OpenError::NotBlocks { size_bytes, .. } => DeviceProblemKind::not_blocks(size_bytes),
    }))
}

/// The newest label.
pub(super) fn newest_label(
    probed: &[ProbedDevice],
    diagnosis: &Diagnosis,
    place: &ArrayLocation,
) -> Result<Label, AssemblyError> {
    let label = probed.get(diagnosis.newest).and_then(|probed| probed.label.as_ref().ok());
    let none = || AssemblyError::NoArray { place: place.display(), problems: Vec::new() };
    label.cloned().ok_or_else(none)
}

/// The newest superblock of the array on those of these spindles that are no longer being rebuilt.
pub(super) fn newest_superblock(
    probed: &[ProbedDevice],
    spindles: &[Option<usize>],
    label: &Label,
) -> Option<Superblock> {
    let members = spindles.iter().zip(&label.members);
    let present = members.filter(|(_, member)| member.state == MemberState::Present);
    let all = present.filter_map(|(at, _)| *at).flat_map(|at| probed[at].superblocks.iter());
    all.filter(|superblock| superblock.array == label.array)
        .max_by_key(|superblock| superblock.checkpoint)
        .cloned()
}
