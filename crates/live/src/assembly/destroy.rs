//! An array given up: labels wiped, files removed.

use std::fs;
use std::path::{Path, PathBuf};

use super::device_label::wipe_spindle;
use super::diagnosis::Diagnosis;
use super::error::{AssemblyError, ChangeError};
use super::location::{ArrayFile, ArrayLocation};
use super::names::{ARRAY_FILE, array_files_in, is_array_file_name};
use super::probe::{DeviceKey, ProbeResult, open_device, probe_all};
use crate::device::{DeviceFile, OpenDevice};
use crate::format::Identity;

/// What was done with an array's devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DestroyReport {
    /// Files that are gone.
    pub removed: Vec<PathBuf>,
    /// Devices that are no longer of an array, and are there.
    pub wiped: Vec<PathBuf>,
    /// Devices that were left as they are: they are not of the array, or cannot be opened.
    pub left: Vec<PathBuf>,
}

/// Gives up the array in a directory: wipes the labels and superblocks of its devices, and removes the files that
/// [`create`](super::create) made or that took the place of those, `array.toml`, and the directory if nothing else is in it.
/// Devices that are not of the array are left. What is left of an array that was cut off as it was made goes as well.
///
/// # Errors
/// If another process has a device, or one cannot be written.
pub fn destroy(directory: &Path) -> Result<DestroyReport, ChangeError> {
    let place = ArrayLocation::Directory(directory.to_owned());
    let mut named = place.named().map_err(AssemblyError::from)?;
    let file = ArrayFile::read(directory).map_err(AssemblyError::from)?;
    let listed = if file.is_some() { named.paths.clone() } else { Vec::new() };
    if file.is_some() {
        // Files of spindles and logs that others took the place of are in no list.
        named.paths.extend(unlisted(directory, &listed)?);
    }
    let how = OpenDevice::new();
    let result = probe_all(&named, |path| open_device(how, path), DeviceFile::file)?;
    let ProbeResult { probed, devices, problems } = result;
    // Devices that were put beside the array's are not to outvote them.
    let listed_array = file.as_ref().and_then(|file| file.array.parse::<Identity>().ok());
    let listed_array = listed_array.filter(|array| {
        probed.iter().any(|probed| probed.label.as_ref().is_ok_and(|label| label.array == *array))
    });
    let array = match Diagnosis::of(&probed, problems) {
        _ if listed_array.is_some() => listed_array,
        Ok(diagnosis) => probed[diagnosis.newest].label.as_ref().ok().map(|label| label.array),
        Err(problems) if file.is_none() => {
            return Err(AssemblyError::NoArray { place: place.display(), problems }.into());
        }
        Err(_) => None,
    };
    let mut destroyed = DestroyReport::default();
    let mut remaining = named.paths.clone();
    for (probed, device) in probed.iter().zip(&devices) {
        let is_labelled = matches!(&probed.label, Ok(label) if Some(label.array) == array);
        // Files that were made and never labelled; a file of that name alone may be anybody's.
        let is_unlabelled = probed.label.is_err() && listed.contains(&probed.path);
        let is_made = device.path().parent() == Some(directory)
            && device.path().file_name().is_some_and(|name| is_array_file_name(Path::new(name)));
        if is_labelled {
            wipe_spindle(device)?;
        }
        if is_made && !device.is_block_device() && (is_labelled || is_unlabelled) {
            remove(device.path())?;
            destroyed.removed.push(device.path().to_owned());
        } else if is_labelled {
            destroyed.wiped.push(device.path().to_owned());
        } else {
            continue;
        }
        remaining.retain(|path| path != device.path());
    }
    destroyed.left = remaining.into_iter().filter(|path| path.exists()).collect();
    if file.is_some() {
        remove(&directory.join(ARRAY_FILE))?;
    }
    // With anything else in it the directory stays.
    let _ = fs::remove_dir(directory);
    Ok(destroyed)
}

/// Files in the directory that were made for the array, or are named so, beside those that are `listed`.
fn unlisted(directory: &Path, listed: &[PathBuf]) -> Result<Vec<PathBuf>, AssemblyError> {
    let keys: Vec<_> = listed.iter().filter_map(|path| DeviceKey::at(path)).collect();
    let mut made =
        array_files_in(directory).map_err(AssemblyError::io(directory, "cannot read it"))?;
    made.retain(|path| DeviceKey::at(path).is_some_and(|key| !keys.contains(&key)));
    Ok(made)
}

fn remove(path: &Path) -> Result<(), AssemblyError> {
    fs::remove_file(path).map_err(AssemblyError::io(path, "cannot remove it"))
}
