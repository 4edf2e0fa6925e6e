//! Devices: files and block devices, and simulated ones that fail.

mod buffer;

pub use buffer::{BLOCK_BYTES, Buffer};

/// A device of an array, by its number: the spindles from 0 on, the NVRAM log behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceIndex(pub u16);

/// What whoever asks calls an [`Io`]; given back with what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoId(pub u64);

/// Something to be done by a device. Those that are under way together are done in any order.
#[derive(Debug)]
pub struct Io {
    /// Its name.
    pub id: IoId,
    /// Who is to do it.
    pub device: DeviceIndex,
    /// What is to be done.
    pub request: Request,
}

/// What a device can do. Offsets and lengths are in bytes, and multiples of [`BLOCK_BYTES`].
#[derive(Debug)]
pub enum Request {
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
pub struct Done {
    /// Its name.
    pub id: IoId,
    /// Who did it.
    pub device: DeviceIndex,
    /// The buffer that came with it; empty for a flush. What a failed read's holds is of no meaning.
    pub buffer: Buffer,
    /// Whether it was done.
    pub result: Result<(), IoError>,
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
    /// The device is gone, or no longer answers.
    #[error("the device is gone: {0}")]
    Gone(String),
}
