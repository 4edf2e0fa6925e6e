//! Finds, opens and locks an array's devices.

use std::path::Path;

use super::assembled::{AssembledArray, OpenOptions};
use super::diagnosis::{Diagnosis, newest_label, newest_superblock};
use super::error::AssemblyError;
use super::location::ArrayLocation;
use super::probe::{ProbeResult, open_device, probe_all};
use super::problem::DeviceProblem;
use crate::Configuration;
use crate::device::{DeviceFile, OpenDevice};
use crate::format::{DeviceRole, Label, Superblock};

/// Opens and locks the devices of the array at `location`, and finds out their roles and problems.
///
/// Devices that the array does not start with are closed, and not written. Unless the array is opened read-only,
/// missing devices are marked as failed in the labels of the others before this returns, and are not trusted when they
/// return. One device of a mirrored log may be missing if the other has everything. An interrupted change of membership
/// is completed. Labels are raised twice even if nothing has changed, so that a device which was away, or an old copy
/// of one, lacks more than the one change that may have been interrupted.
///
/// # Errors
/// If another process has a device; if there is no array; or, with everything that is wrong, device by device, if the
/// array is degraded and that is not allowed, or too much is missing.
pub fn open(place: &ArrayLocation, options: OpenOptions) -> Result<AssembledArray, AssemblyError> {
    let FoundArray { mut array, stale } = find(place, options)?;
    if !options.read_only {
        array.check_remaining_log()?;
        array.begin(&stale)?;
    }
    Ok(array)
}

/// An array that can start.
pub(super) struct FoundArray {
    pub(super) array: AssembledArray,
    /// Devices that it starts with and whose labels must be rewritten.
    pub(super) stale: Vec<DeviceRole>,
}

/// The devices of an array, whether or not it can start with them.
pub(super) struct FoundDevices {
    pub(super) label: Label,
    pub(super) configuration: Configuration,
    /// The spindles by position, if reliable or being rebuilt.
    pub(super) spindles: Vec<Option<DeviceFile>>,
    /// The devices of the log, if they are reliable.
    pub(super) logs: Vec<Option<DeviceFile>>,
    pub(super) superblock: Option<Superblock>,
    pub(super) problems: Vec<DeviceProblem>,
    /// As [`FoundArray::stale`].
    pub(super) stale: Vec<DeviceRole>,
}

/// Opens and locks the devices of an array that can start.
///
/// # Errors
/// As [`open`](super::open).
pub(super) fn find(
    place: &ArrayLocation,
    options: OpenOptions,
) -> Result<FoundArray, AssemblyError> {
    let FoundDevices { label, configuration, spindles, logs, superblock, problems, stale } =
        find_devices(place, options, true)?;
    let array = AssembledArray { label, configuration, spindles, logs, superblock, problems };
    Ok(FoundArray { array, stale })
}

/// Opens and locks the devices of an array. All of its log may be missing unless `needs_log`.
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
    let mut diagnosis = Diagnosis::of(&probed, problems)
        .map_err(|problems| AssemblyError::NoArray { place: place.display(), problems })?;
    let label = newest_label(&probed, &diagnosis, place)?;
    diagnosis.leave_out_stale(&probed, &label);
    let configuration = Configuration::from_toml(&label.configuration).map_err(|source| {
        AssemblyError::Configuration { path: probed[diagnosis.newest].path.clone(), source }
    })?;
    let lost = diagnosis.lost(&label);
    let too_many_lost = !configuration.survives(&lost);
    let has_log = diagnosis.logs.iter().any(Option::is_some);
    if too_many_lost || (needs_log && !has_log) {
        return Err(AssemblyError::Unusable { too_many_lost, problems: diagnosis.problems });
    }
    // A spindle that is being rebuilt counts as present: the array continues with it, and becomes whole by itself.
    if diagnosis.spindles.contains(&None) && !options.degraded {
        let usable = diagnosis.spindles.len() - lost.len();
        return Err(AssemblyError::Degraded { usable, problems: diagnosis.problems });
    }
    let superblock = newest_superblock(&probed, &diagnosis.spindles, &label);
    let mut devices: Vec<Option<DeviceFile>> = devices.into_iter().map(Some).collect();
    let mut take = |at: Option<usize>| at.and_then(|at| devices[at].take());
    let spindles = diagnosis.spindles.iter().map(|at| take(*at)).collect();
    let logs = diagnosis.logs.iter().map(|at| take(*at)).collect();
    let Diagnosis { stale, problems, .. } = diagnosis;
    Ok(FoundDevices { label, configuration, spindles, logs, superblock, problems, stale })
}
