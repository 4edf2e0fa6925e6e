//! Maps the kernel's errors to device errors.

use std::io;

use rustix::io::Errno;

use super::super::{IoError, IoRequest};

/// Returns why a request failed.
///
/// A device that is gone may fail each read with EIO too. A single read cannot tell that from a bad block; a caller
/// of many reads can.
pub(super) fn error_of(request: &IoRequest, error: &io::Error) -> IoError {
    let errno = Errno::from_io_error(error);
    match request {
        // EILSEQ and EBADMSG report checksum mismatches, ENODATA an unreadable medium.
        IoRequest::Read { .. }
            if matches!(errno, Some(Errno::IO | Errno::ILSEQ | Errno::NODATA | Errno::BADMSG)) =>
        {
            IoError::Unreadable
        }
        IoRequest::Write { .. }
            if matches!(errno, Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) =>
        {
            IoError::NoSpace
        }
        // A drive that cannot write a block has no spare blocks left. After a failed flush, the kernel considers the
        // lost writes written: nothing that this device reports later can be trusted.
        IoRequest::Read { .. } => IoError::Gone(format!("read: {error}")),
        IoRequest::Write { .. } => IoError::Gone(format!("write: {error}")),
        IoRequest::Flush => IoError::Gone(format!("flush: {error}")),
    }
}

/// Returns the error for blocks beyond the end: the file or device has shrunk.
pub(super) fn ended() -> IoError {
    IoError::Gone("it has become shorter".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Buffer;

    #[test]
    fn errors_mean_what_they_mean_for_a_device() {
        let read = IoRequest::Read { offset: 0, into: Buffer::default() };
        let write = IoRequest::Write { offset: 0, from: Buffer::default(), durable: false };
        let of = |request, errno: Errno| error_of(request, &errno.into());
        assert_eq!(of(&read, Errno::IO), IoError::Unreadable);
        assert_eq!(of(&read, Errno::NODATA), IoError::Unreadable);
        assert_eq!(of(&write, Errno::NOSPC), IoError::NoSpace);
        assert!(matches!(of(&write, Errno::IO), IoError::Gone(why) if why.starts_with("write: ")));
        assert!(matches!(of(&read, Errno::NXIO), IoError::Gone(_)));
        // A failed flush loses completed writes.
        assert!(matches!(of(&IoRequest::Flush, Errno::NOSPC), IoError::Gone(_)));
    }
}
