//! One operation in the ring.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, squeue};
use rustix::io::{Errno, ReadWriteFlags};

use super::super::{Io, IoError, IoRequest};
use super::DeviceFile;
use super::errno::{ended, error_of};

/// Most bytes in one kernel request; the kernel accepts no more than 2 GiB less a page.
const MOST_BYTES: usize = 1 << 30;

/// How often an operation is retried for which the kernel lacked resources.
const TRIES: u32 = 1000;

/// An operation, with everything that the kernel needs until it completes: the buffer and the open file.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) io: Io,
    file: Arc<DeviceFile>,
    done_bytes: usize,
    tries: u32,
}

/// The outcome of a completion.
pub(super) enum Outcome {
    /// The operation succeeded or failed.
    Over(Result<(), IoError>),
    /// A part of it must still be submitted.
    Again,
}

impl Slot {
    pub(super) fn new(io: Io, file: Arc<DeviceFile>) -> Self {
        Self { io, file, done_bytes: 0, tries: 0 }
    }

    /// Returns the entry for the operation, or for the part that is left.
    pub(super) fn entry(&mut self) -> squeue::Entry {
        let fd = Fd(self.file.file().as_raw_fd());
        if self.is_flush() {
            return opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build();
        }
        let done = self.done_bytes;
        match &mut self.io.request {
            IoRequest::Read { offset, into } => {
                let rest = &mut into.bytes_mut()[done..];
                let bytes = rest.len().min(MOST_BYTES) as u32;
                let read = opcode::Read::new(fd, rest.as_mut_ptr(), bytes);
                read.offset(*offset + done as u64).build()
            }
            IoRequest::Write { offset, from, durable } => {
                let rest = &from.bytes()[done..];
                let bytes = rest.len().min(MOST_BYTES) as u32;
                let at_once = *durable && self.file.writes_through();
                let flags = if at_once { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
                let write = opcode::Write::new(fd, rest.as_ptr(), bytes);
                let write = write.rw_flags(flags.bits().cast_signed());
                write.offset(*offset + done as u64).build()
            }
            IoRequest::Flush => unreachable!("seen to above"),
        }
    }

    /// Returns whether only a flush of the device is left to do.
    pub(super) fn is_flush(&self) -> bool {
        match &self.io.request {
            IoRequest::Read { .. } => false,
            IoRequest::Write { from, durable, .. } => {
                *durable && self.done_bytes == from.bytes().len()
            }
            IoRequest::Flush => true,
        }
    }

    /// Flushes the device synchronously.
    pub(super) fn flush(&mut self) -> Outcome {
        let result = rustix::fs::fdatasync(self.file.file());
        self.came_back(result.map_or_else(|error| -error.raw_os_error(), |()| 0))
    }

    /// Handles the result of the last entry: bytes done, or a negative error.
    pub(super) fn came_back(&mut self, result: i32) -> Outcome {
        let (whole, at_end) = match &self.io.request {
            IoRequest::Read { into, .. } => (into.bytes().len(), ended()),
            IoRequest::Write { from, .. } => {
                (from.bytes().len(), IoError::Gone("it writes nothing".to_owned()))
            }
            IoRequest::Flush => (0, ended()),
        };
        let Ok(bytes) = usize::try_from(result) else {
            let error = io::Error::from_raw_os_error(-result);
            self.tries += 1;
            return match Errno::from_io_error(&error) {
                Some(Errno::AGAIN | Errno::INTR) if self.tries < TRIES => Outcome::Again,
                _ => Outcome::Over(Err(error_of(&self.io.request, &error))),
            };
        };
        let was_whole = self.done_bytes >= whole;
        self.done_bytes += bytes;
        if self.done_bytes >= whole {
            // If the drive must be flushed for a durable write, a separate flush is faster: asked for with the write,
            // the kernel does it later and with more delay.
            let durable = matches!(self.io.request, IoRequest::Write { durable: true, .. });
            let is_safe = !durable || was_whole || self.file.writes_through();
            if is_safe { Outcome::Over(Ok(())) } else { Outcome::Again }
        } else if bytes == 0 {
            Outcome::Over(Err(at_end))
        } else {
            Outcome::Again
        }
    }
}
