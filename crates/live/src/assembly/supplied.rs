//! Devices that the user supplies for an array.

use std::path::{Path, PathBuf};

use super::error::{AssemblyError, MembershipError};
use super::probe::DeviceKey;
use crate::device::{DeviceFile, probe};

/// The first eight bytes of a label.
const LABEL_MAGIC: &[u8] = b"STREWNLB";

/// Opens devices that will be overwritten. No two may be the same device, and without `force` all must be empty.
pub(super) fn open_all(paths: &[PathBuf], force: bool) -> Result<Vec<DeviceFile>, MembershipError> {
    let mut keys: Vec<(DeviceKey, &Path)> = Vec::new();
    for path in paths {
        let Some(key) = DeviceKey::at(path) else { continue };
        if let Some((_, first)) = keys.iter().find(|(other, _)| *other == key) {
            let (first, second) = ((*first).to_owned(), path.clone());
            return Err(MembershipError::SameDevice { first, second });
        }
        keys.push((key, path));
    }
    let mut devices = Vec::new();
    for path in paths {
        devices.push(DeviceFile::open(path)?);
    }
    if !force {
        devices.iter().try_for_each(check_empty)?;
    }
    Ok(devices)
}

/// Opens one device that will be overwritten, like [`open_all`].
pub(super) fn open_one(path: &Path, force: bool) -> Result<DeviceFile, MembershipError> {
    let device = DeviceFile::open(path)?;
    if !force {
        check_empty(&device)?;
    }
    Ok(device)
}

/// Checks that a device is empty, as far as [`probe`] can tell.
fn check_empty(device: &DeviceFile) -> Result<(), MembershipError> {
    let findings = probe(device, LABEL_MAGIC)
        .map_err(AssemblyError::io(device.path(), "cannot see what it holds"))?;
    match findings.into_iter().next() {
        Some(finding) => {
            Err(MembershipError::HoldsData { path: device.path().to_owned(), finding })
        }
        None => Ok(()),
    }
}

/// Checks that a device has room for `blocks` blocks of 4 KiB.
pub(super) fn check_size(device: &DeviceFile, blocks: u64) -> Result<(), MembershipError> {
    let needed_bytes = blocks.saturating_mul(crate::device::BLOCK_BYTES as u64);
    let size_bytes = device.size_bytes();
    if size_bytes < needed_bytes {
        let path = device.path().to_owned();
        return Err(MembershipError::TooSmall { path, size_bytes, needed_bytes });
    }
    Ok(())
}
