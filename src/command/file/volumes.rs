//! Logical volumes of LVM, of this machine or from a saved listing.

use std::io::{BufRead, Read};

use strewn::file::{
    FileError, System, VolumeListing, is_volume_listing, listed_device, read_whole,
};

use super::subject::Subject;

/// The volumes of this machine at these paths.
pub(super) fn of_machine(paths: &[String]) -> Result<Vec<Subject>, FileError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let (listing, system) = (VolumeListing::of_machine()?, System::default());
    let mut subjects = Vec::new();
    for path in paths {
        let parts = listing.volume(path, &|device| system.device_at(device))?;
        subjects.extend(parts.into_iter().map(Subject::of_volume));
    }
    Ok(subjects)
}

/// Whether a list is one of LVM; nothing of it is taken.
pub(super) fn begins_listing(reader: &mut dyn BufRead) -> bool {
    reader.fill_buf().is_ok_and(|begin| is_volume_listing(&String::from_utf8_lossy(begin)))
}

/// All volumes of a saved listing.
pub(super) fn of_list(reader: impl Read, shown: &str) -> Result<Vec<Subject>, FileError> {
    let bytes = read_whole(reader).map_err(|error| FileError::io(shown, error))?;
    let listing = VolumeListing::parse(shown, &String::from_utf8_lossy(&bytes))?;
    let mut subjects = Vec::new();
    let mut last = None;
    for path in listing.paths() {
        match listing.volume(&path, &listed_device) {
            Ok(parts) => subjects.extend(parts.into_iter().map(Subject::of_volume)),
            // A thin volume says nothing, and its pool is listed beside it.
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if subjects.is_empty() => Err(error),
        _ => Ok(subjects),
    }
}
