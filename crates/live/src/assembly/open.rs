//! An array's devices, opened to be started.

use super::find::{FoundArray, find};
use super::{ArrayLocation, AssembledArray, AssemblyError, OpenOptions};

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
