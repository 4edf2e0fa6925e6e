//! Extents from the kernel, by the FIEMAP ioctl.

use std::fs::File;
use std::io::ErrorKind;

use fiemap::{Fiemap, FiemapExtent, FiemapExtentFlags, FiemapFlags};
use rustix::io::Errno;

use crate::error::FileError;
use crate::extent::{Address, Extent, Place};

/// The extents of an open file, in its order. Memory for eight at a time, however many there are.
///
/// With `sync`, the kernel first writes out what it has in memory, so that every byte has its place.
///
/// # Errors
/// Each item may be an error of the operating system.
pub fn fiemap_extents(
    file: &File,
    sync: bool,
) -> impl Iterator<Item = Result<Extent, FileError>> + '_ {
    let flags = if sync { FiemapFlags::SYNC } else { FiemapFlags::empty() };
    // An extent of no bytes would make the next request the same again, for ever.
    let mut behind = 0;
    Fiemap::with_flags(file, flags)
        .take_while(move |found| {
            let Ok(found) = found else { return true };
            let goes_on = found.fe_length > 0 && found.fe_logical >= behind;
            behind = found.fe_logical;
            goes_on
        })
        .map(|found| {
            found.map(|found| extent(&found)).map_err(|error| FileError::io("FIEMAP", error))
        })
}

/// Whether an error says that there is no FIEMAP on this file system.
pub(crate) fn is_unsupported(error: &FileError) -> bool {
    let FileError::Io { source, .. } = error else { return false };
    let codes = [Errno::OPNOTSUPP, Errno::NOTTY, Errno::INVAL, Errno::NOSYS];
    source.kind() == ErrorKind::Unsupported
        || source
            .raw_os_error()
            .is_some_and(|code| codes.iter().any(|one| one.raw_os_error() == code))
}

/// What the flags mean: `Documentation/filesystems/fiemap.rst` of Linux.
fn extent(found: &FiemapExtent) -> Extent {
    let has = |flag| found.fe_flags.contains(flag);
    let at = Address::new(found.fe_physical);
    // Encryption keeps a block's place and length; only compression does not.
    let encrypted = has(FiemapExtentFlags::DATA_ENCRYPTED);
    let place = if has(FiemapExtentFlags::DATA_INLINE) || has(FiemapExtentFlags::DATA_TAIL) {
        Place::Inline
    } else if has(FiemapExtentFlags::UNKNOWN) || has(FiemapExtentFlags::DELALLOC) {
        Place::Unknown
    } else if has(FiemapExtentFlags::UNWRITTEN) {
        Place::Unwritten(at)
    } else if has(FiemapExtentFlags::ENCODED) && !encrypted {
        Place::Encoded { at, stored_bytes: None }
    } else {
        Place::At(at)
    };
    Extent {
        offset: found.fe_logical,
        bytes: found.fe_length,
        place,
        shared: has(FiemapExtentFlags::SHARED),
    }
}
