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

/// Returns the remedy for an error of this process, of the machine or of a whole file system: one that says nothing
/// about the device or the socket at which it was met. `None` for all others.
#[must_use]
pub fn remedy_of_system(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::MFILE => {
            "let the process have more open files, for example 1024: `ulimit -n 1024`; an array needs one for each of its \
             devices, and a server one for each client"
        }
        Errno::NFILE => {
            "end programs that have many files open: the whole machine may have no more (fs.file-max)"
        }
        Errno::ROFS => {
            "make the file system writable: `mount -o remount,rw`; until then, `strewn array status`, `check` and \
             `snapshot copy` work"
        }
        Errno::FBIG => "make it smaller: the file system has no files of this size",
        Errno::NOMEM | Errno::NOBUFS => "end other programs: the machine has no memory left",
        Errno::ACCESS | Errno::PERM => "get access to it",
        _ => return None,
    })
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
        assert!(remedy_of_system(&Errno::MFILE.into()).is_some_and(|help| help.contains("ulimit")));
        assert_eq!(remedy_of_system(&Errno::IO.into()), None);
        // A failed flush loses completed writes.
        assert!(matches!(of(&IoRequest::Flush, Errno::NOSPC), IoError::Gone(_)));
    }
}
