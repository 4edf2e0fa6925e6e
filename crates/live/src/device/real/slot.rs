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

/// The most that the kernel is asked to read or write at once; it takes no more than 2 GiB less a page.
const MOST_BYTES: usize = 1 << 30;

/// How often an operation is asked for again that the kernel had no means for.
const TRIES: u32 = 1000;

/// An operation, with all that the kernel needs of it until it is done: the buffer and the open file.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) io: Io,
    file: Arc<DeviceFile>,
    done_bytes: usize,
    tries: u32,
}

/// What a completion makes of an operation.
pub(super) enum Outcome {
    /// It is done, or will never be.
    Over(Result<(), IoError>),
    /// There is more of it to ask for.
    Again,
}

impl Slot {
    pub(super) fn new(io: Io, file: Arc<DeviceFile>) -> Self {
        Self { io, file, done_bytes: 0, tries: 0 }
    }

    /// What the kernel is asked for: all of it, or what is left.
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

    /// Whether all that is left of it is to flush the device.
    pub(super) fn is_flush(&self) -> bool {
        match &self.io.request {
            IoRequest::Read { .. } => false,
            IoRequest::Write { from, durable, .. } => {
                *durable && self.done_bytes == from.bytes().len()
            }
            IoRequest::Flush => true,
        }
    }

    /// Flushes the device, and waits for it.
    pub(super) fn flush(&mut self) -> Outcome {
        let result = rustix::fs::fdatasync(self.file.file());
        self.came_back(result.map_or_else(|error| -error.raw_os_error(), |()| 0))
    }

    /// What the kernel says of the last entry: bytes done, or an error below zero.
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
            // Where the drive has to be flushed for it, the kernel does that later and with more delay if it is asked for
            // with the write.
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
