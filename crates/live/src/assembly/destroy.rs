//! Destroys an array: wipes labels, removes files.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::device_label::wipe_spindle;
use super::diagnosis::Diagnosis;
use super::error::{AssemblyError, MembershipError};
use super::location::{ArrayFile, ArrayLocation};
use super::names::{ARRAY_FILE, array_files_in, is_array_file_name};
use super::probe::{DeviceKey, ProbeResult, open_device, probe_all};
use crate::control::CONTROL_SOCKET;
use crate::device::{DeviceFile, OpenDevice};
use crate::format::Identity;

/// What happened to an array's devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DestroyReport {
    /// Files that were removed.
    pub removed: Vec<PathBuf>,
    /// Devices that remain, but no longer belong to an array.
    pub wiped: Vec<PathBuf>,
    /// Devices left alone: they belong to something else, or cannot be opened.
    pub left: Vec<PathBuf>,
}

/// Destroys the array in a directory: wipes the labels and superblocks of its devices, and removes the files that
/// [`create`](super::create) or a replacement created, `array.toml`, and the directory if nothing else is in it.
/// Devices of something else are left alone. The remains of an interrupted creation are removed too.
///
/// # Errors
/// If another process has a device open, or a device cannot be written.
pub fn destroy(directory: &Path) -> Result<DestroyReport, MembershipError> {
    let place = ArrayLocation::Directory(directory.to_owned());
    let mut named = place.named()?;
    let file = ArrayFile::read(directory)?;
    let listed = if file.is_some() { named.paths() } else { Vec::new() };
    if file.is_some() {
        // Replaced spindles and logs are not listed.
        named.devices.extend(unlisted(directory, &listed)?.into_iter().map(|path| (path, None)));
    }
    let how = OpenDevice::new();
    let result = probe_all(&named, |path| open_device(how, path), DeviceFile::file)?;
    let ProbeResult { probed, devices, problems } = result;
    // Other devices put into the directory must not outvote the array's own.
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
    let mut remaining = named.paths();
    for (probed, device) in probed.iter().zip(&devices) {
        let is_labelled = matches!(&probed.label, Ok(label) if Some(label.array) == array);
        // A file that was created and never labelled. Without a list, a file of this name may belong to anybody.
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
    // The devices are ours, so a control socket's process is dead.
    let control = directory.join(CONTROL_SOCKET);
    if fs::symlink_metadata(&control).is_ok_and(|found| found.file_type().is_socket()) {
        remove(&control)?;
    }
    // The directory stays if anything else is in it.
    let _ = fs::remove_dir(directory);
    Ok(destroyed)
}

/// Returns the files in the directory that are named like the array's, except those in `listed`.
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
