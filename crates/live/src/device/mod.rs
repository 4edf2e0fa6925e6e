//! Devices: files and block devices, and simulated ones that fail.

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
pub use real::{DeviceFile, IoBackend, OpenDevice, OpenError, RealDevices, Space, open_devices};
pub use simulated::{SimulatedDevices, SimulatedDisk};
pub use waker::Waker;

/// Devices that do what they are asked, in any order, while the caller goes on.
///
/// One thread asks and waits. Every [`Io`] submitted comes back as exactly one [`IoCompletion`], with its buffer.
pub trait Devices {
    /// What can take the place of a device that failed.
    type Replacement;

    /// How many devices there are, closed ones included.
    fn count(&self) -> u16;

    /// How many bytes a device holds: whole blocks.
    ///
    /// # Panics
    ///
    /// If there is no such device, as everything here that names one.
    fn size_bytes(&self, device: DeviceIndex) -> u64;

    /// Nanoseconds since the devices were opened: real ones, or those of a simulation.
    fn now_ns(&self) -> u64;

    /// Queues `io`; never blocks for long. An `Io` for a closed device comes back as [`IoError::Gone`].
    ///
    /// # Panics
    ///
    /// If `io` is not of whole blocks within the device, or empty: a fault of the caller's, not of a device's.
    fn submit(&mut self, io: Io);

    /// Sends what is queued, waits at most `timeout` (`None`: until something happens) for completions or a
    /// wake-up, and adds all that is done to `done`. It may come back with nothing.
    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>);

    /// What makes a `wait` in progress return, or the next one if there is none.
    fn waker(&self) -> Waker;

    /// Gives a device up: what it was asked for comes back, done or as [`IoError::Gone`], and its file is let
    /// go once the last of it has.
    fn close(&mut self, device: DeviceIndex);

    /// Puts another in the place of a device, which is closed first.
    fn replace(&mut self, device: DeviceIndex, by: Self::Replacement);
}

/// A device of an array, by its number: the spindles from 0 on, the NVRAM log behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceIndex(pub u16);

/// What whoever asks calls an [`Io`]; given back with what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoId(pub u64);

/// Something to be done by a device. Those that are under way together are done in any order.
#[derive(Debug, Clone)]
pub struct Io {
    /// Its name.
    pub id: IoId,
    /// Who is to do it.
    pub device: DeviceIndex,
    /// What is to be done.
    pub request: IoRequest,
}

/// What a device can do. Offsets and lengths are in bytes, and multiples of [`BLOCK_BYTES`].
#[derive(Debug, Clone)]
pub enum IoRequest {
    /// Reads as much as `into` holds.
    Read {
        /// From where on.
        offset: u64,
        /// What the bytes are read into.
        into: Buffer,
    },
    /// Writes all of `from`. Done, it may still be lost with the power, unless it is durable.
    Write {
        /// Where to.
        offset: u64,
        /// What to write.
        from: Buffer,
        /// Whether it is to be safe from a loss of power when it is done. Says nothing of other writes.
        durable: bool,
    },
    /// Makes every write safe that was done before this was asked for.
    Flush,
}

/// What became of an [`Io`].
#[derive(Debug)]
pub struct IoCompletion {
    /// Its name.
    pub id: IoId,
    /// Who did it.
    pub device: DeviceIndex,
    /// The buffer that came with it; empty for a flush. What a failed read's holds is of no meaning.
    pub buffer: Buffer,
    /// Whether it was done.
    pub result: Result<(), IoError>,
}

impl Io {
    /// Where it lies and how long it is, in bytes; nothing for a flush.
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

    /// It as it comes back when it could not even begin.
    fn refused(self, error: IoError) -> IoCompletion {
        IoCompletion {
            id: self.id,
            device: self.device,
            buffer: self.request.into_buffer(),
            result: Err(error),
        }
    }

    /// Whoever asks for half a block or beyond the end would damage what is not its own.
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

/// Why an [`Io`] was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// What lies there cannot be read; the rest of the device can.
    #[error("these blocks cannot be read")]
    Unreadable,
    /// The device has no room: a sparse file on a full file system.
    #[error("no space is left under the device")]
    NoSpace,
    /// The device is gone, no longer answers, or cannot be relied upon: it failed a write, or a flush, after which
    /// nobody knows which writes that were done are lost. Whoever is told closes it.
    #[error("the device is gone: {0}")]
    Gone(String),
}
