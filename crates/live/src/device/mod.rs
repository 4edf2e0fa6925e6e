//! Devices: files and block devices, and simulated devices that fail.

mod buffer;
mod measured;
#[cfg(unix)]
pub mod probe;
#[cfg(unix)]
pub mod real;

pub mod simulated;
mod waker;

use std::time::Duration;

pub use buffer::{BLOCK_BYTES, Buffer};
pub use measured::{DeviceMeasures, Measured};
#[cfg(unix)]
pub use probe::{Finding, probe};
#[cfg(unix)]
pub(crate) use real::is_whole_blocks;
pub use real::{
    DeviceFile, IoBackend, OpenDevice, OpenDeviceError, RealDevices, Space, open_devices,
    remedy_of_system,
};
pub use simulated::{SimulatedDevices, SimulatedDisk};
pub use waker::Waker;

/// Devices that execute I/Os in any order while the caller continues.
///
/// One thread submits and waits. Every [`Io`] submitted completes as exactly one [`IoCompletion`], with its buffer.
pub trait Devices {
    /// The replacement of a failed device.
    type Replacement;

    /// Returns the number of devices, including closed ones.
    fn count(&self) -> u16;

    /// Returns the size of a device in bytes: whole blocks.
    ///
    /// # Panics
    ///
    /// If there is no such device, as every method that takes a device.
    fn size_bytes(&self, device: DeviceIndex) -> u64;

    /// Returns nanoseconds since the devices were opened, real or simulated.
    fn now_ns(&self) -> u64;

    /// Queues an I/O, without blocking for long. An I/O for a closed device completes as [`IoError::Gone`].
    ///
    /// # Panics
    ///
    /// If the I/O is empty, or is not whole blocks within the device: a bug of the caller.
    fn submit(&mut self, io: Io);

    /// Starts the queued I/Os, waits up to `timeout` (without limit if `None`) for completions or a wake-up, and
    /// appends the completions to `done`. It may return none.
    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>);

    /// Returns a waker that makes a `wait` in progress return, or else the next one.
    fn waker(&self) -> Waker;

    /// Closes a device: its I/Os complete, done or as [`IoError::Gone`], and its file is closed after the last of
    /// them.
    fn close(&mut self, device: DeviceIndex);

    /// Replaces a device, which is closed first.
    fn replace(&mut self, device: DeviceIndex, by: Self::Replacement);
}

/// A device of an array by number: the spindles from 0, then those of the NVRAM log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceIndex(pub u16);

/// The caller's identifier of an [`Io`], returned on completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoId(pub u64);

/// An I/O for a device. I/Os in flight together complete in any order.
#[derive(Debug, Clone)]
pub struct Io {
    /// Identifies the I/O in its completion.
    pub id: IoId,
    /// Device that it is for.
    pub device: DeviceIndex,
    /// What the device is to do.
    pub request: IoRequest,
}

/// The operation of an I/O. Offsets and lengths are in bytes, and multiples of [`BLOCK_BYTES`].
#[derive(Debug, Clone)]
pub enum IoRequest {
    /// Reads until `into` is full.
    Read {
        /// Where to read.
        offset: u64,
        /// The buffer to read into.
        into: Buffer,
    },
    /// Writes all of `from`. Unless it is durable, a completed write may still be lost in a power loss.
    Write {
        /// Where to write.
        offset: u64,
        /// What to write.
        from: Buffer,
        /// Whether the write must survive a power loss once complete. This covers no other write.
        durable: bool,
    },
    /// Makes every write that completed before the flush was submitted survive a power loss.
    Flush,
}

/// The completion of an [`Io`].
#[derive(Debug)]
pub struct IoCompletion {
    /// Identifier of the I/O that completed.
    pub id: IoId,
    /// Device that it was for.
    pub device: DeviceIndex,
    /// The I/O's buffer; empty for a flush. Undefined after a failed read.
    pub buffer: Buffer,
    /// Whether the I/O succeeded.
    pub result: Result<(), IoError>,
}

impl Io {
    /// Returns its offset and length in bytes, or `None` for a flush.
    #[must_use]
    pub fn extent(&self) -> Option<(u64, u64)> {
        match &self.request {
            IoRequest::Read { offset, into: buffer }
            | IoRequest::Write { offset, from: buffer, .. } => {
                Some((*offset, buffer.bytes().len() as u64))
            }
            IoRequest::Flush => None,
        }
    }

    /// Returns its completion if it could not even start.
    fn refused(self, error: IoError) -> IoCompletion {
        IoCompletion {
            id: self.id,
            device: self.device,
            buffer: self.request.into_buffer(),
            result: Err(error),
        }
    }

    /// Asserts whole blocks within the device: half a block, or a block beyond the end, would damage the data of
    /// others.
    fn assert_within(&self, size_bytes: u64) {
        let Some((offset, bytes)) = self.extent() else { return };
        assert!(
            offset.is_multiple_of(BLOCK_BYTES as u64)
                && bytes > 0
                && offset.checked_add(bytes).is_some_and(|end| end <= size_bytes),
            "{:?}: {bytes} bytes at {offset} of a device of {size_bytes} bytes",
            self.device,
        );
    }
}

impl IoRequest {
    fn into_buffer(self) -> Buffer {
        match self {
            Self::Read { into: buffer, .. } | Self::Write { from: buffer, .. } => buffer,
            Self::Flush => Buffer::default(),
        }
    }
}

/// Why an I/O failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// These blocks are unreadable; the rest of the device is not.
    #[error("these blocks cannot be read")]
    Unreadable,
    /// There is no space left: a sparse file on a full file system.
    #[error("no space is left under the device")]
    NoSpace,
    /// The device is gone, does not answer, or is unreliable: it failed a write, or a flush, after which it is
    /// unknown which completed writes are lost. The caller must close it.
    #[error("the device is gone: {0}")]
    Gone(String),
}
