//! An array's devices, opened.

use crate::Configuration;
use crate::device::{DeviceFile, OpenDevice, OpenError};
use crate::format::{Label, Superblock};

use super::diagnosis::Diagnosis;
use super::seen::{Seen, Sight, look_at};
use super::{Assembled, AssemblyError, OpenOptions, Place, ProblemKind, device_label};

/// Opens the devices of the array in `place`, locks them, and finds out which is which and what is wrong. A device that
/// the array does not start with is let go, and not written; where labels of the others differ because a change of
/// membership was cut off, they are made the same, unless the array is only read.
///
/// # Errors
/// If another process has a device; if there is no array, if it is not whole and not to be started so, or if too much is
/// missing: with all that is wrong, device by device.
pub fn open(place: &Place, options: OpenOptions) -> Result<Assembled, AssemblyError> {
    let named = place.named()?;
    let how = OpenDevice::new().writable(!options.read_only);
    let open = |path: &std::path::Path| match how.open(path) {
        Ok(device) => Ok(Ok(device)),
        Err(error @ OpenError::InUse { .. }) => Err(error),
        Err(OpenError::System { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Err(ProblemKind::Missing))
        }
        Err(OpenError::System { action, source, .. }) => {
            Ok(Err(ProblemKind::Unreadable(format!("cannot {action} it: {source}"))))
        }
        Err(OpenError::NotStorage { .. }) => {
            Ok(Err(ProblemKind::Unreadable("it is neither a file nor a block device".to_owned())))
        }
        Err(OpenError::NotBlocks { size_bytes, .. }) => Ok(Err(ProblemKind::Unreadable(format!(
            "it has {size_bytes} B, not whole blocks of 4 KiB"
        )))),
    };
    let Sight { seen, devices, problems } = look_at(&named, open, DeviceFile::file)?;
    let diagnosis = Diagnosis::of(&seen, problems)
        .map_err(|problems| AssemblyError::NoArray { place: place.shown(), problems })?;
    let label = newest_label(&seen, &diagnosis, place)?;
    let configuration = Configuration::from_toml(&label.configuration).map_err(|source| {
        AssemblyError::Configuration { path: seen[diagnosis.newest].path.clone(), source }
    })?;
    let lost = diagnosis.lost(&label);
    let Some(log) = diagnosis.log.filter(|_| lost <= usize::from(configuration.redundancy()))
    else {
        return Err(AssemblyError::Unusable { problems: diagnosis.problems });
    };
    if lost > 0 && !options.degraded {
        let usable = diagnosis.spindles.len() - lost;
        return Err(AssemblyError::Degraded { usable, problems: diagnosis.problems });
    }
    if !options.read_only {
        for at in diagnosis.stale {
            device_label::write(&devices[at], &label_of(&label, &seen[at]))?;
        }
    }
    let superblock = newest_superblock(&seen, &diagnosis.spindles, &label);
    let mut devices: Vec<Option<DeviceFile>> = devices.into_iter().map(Some).collect();
    let spindles =
        diagnosis.spindles.iter().map(|at| at.and_then(|at| devices[at].take())).collect();
    let Some(log) = devices[log].take() else {
        return Err(AssemblyError::Unusable { problems: diagnosis.problems });
    };
    Ok(Assembled { label, configuration, spindles, log, superblock, problems: diagnosis.problems })
}

/// The newest label.
pub(super) fn newest_label(
    seen: &[Seen],
    diagnosis: &Diagnosis,
    place: &Place,
) -> Result<Label, AssemblyError> {
    let label = seen.get(diagnosis.newest).and_then(|seen| seen.label.as_ref().ok());
    let none = || AssemblyError::NoArray { place: place.shown(), problems: Vec::new() };
    label.cloned().ok_or_else(none)
}

/// The newest superblock of the array on these spindles.
pub(super) fn newest_superblock(
    seen: &[Seen],
    spindles: &[Option<usize>],
    label: &Label,
) -> Option<Superblock> {
    let all = spindles.iter().flatten().flat_map(|at| seen[*at].superblocks.iter().copied());
    all.filter(|superblock| superblock.array == label.array)
        .max_by_key(|superblock| superblock.checkpoint)
}

/// What `newest` says, as the label of the device that was `seen`.
fn label_of(newest: &Label, seen: &Seen) -> Label {
    match &seen.label {
        Ok(own) => Label {
            own: own.own,
            position: own.position,
            kind: own.kind,
            device_blocks: own.device_blocks,
            ..newest.clone()
        },
        Err(_) => newest.clone(),
    }
}
