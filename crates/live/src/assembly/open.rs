//! An array's devices, found, opened and locked.

use std::path::Path;

use super::assembled::{AssembledArray, OpenOptions};
use super::diagnosis::{Diagnosis, newest_label, newest_superblock};
use super::error::AssemblyError;
use super::location::ArrayLocation;
use super::probe::{ProbeResult, open_device, probe_all};
use super::problem::DeviceProblem;
use crate::Configuration;
use crate::device::{DeviceFile, OpenDevice};
use crate::format::{Label, Superblock};

/// Opens the devices of the array in `place`, locks them, and finds out which is which and what is wrong.
///
/// A device that the array does not start with is let go, and not written. Unless the array is only read, the labels of the
/// others say when this returns who is lost: whoever is started without is marked as failed, and is not taken for whole
/// when it comes back; and where a change of membership was cut off, it is completed. Labels are raised twice, whether anything
/// has changed or not: a device that was away since, or a copy from before, is known by a label that lacks more than the
/// one change that may have been cut off.
///
/// # Errors
/// If another process has a device; if there is no array, if it is not whole and not to be started so, or if too much is
/// missing: with all that is wrong, device by device.
pub fn open(place: &ArrayLocation, options: OpenOptions) -> Result<AssembledArray, AssemblyError> {
    let FoundArray { mut array, stale } = find(place, options)?;
    if !options.read_only {
        array.begin(&stale)?;
    }
    Ok(array)
}

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
