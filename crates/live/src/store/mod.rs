//! The spindles of an array as blocks that are checked: each has a CRC-32C, its address and what it holds beside it.
//!
//! A [`Store`] does no I/O. It is asked for reads, writes and flushes by token, says through [`Store::take_ios`] what
//! devices are to do, is told through [`Store::done`] what became of it, and gives through [`Store::take_finished`] what
//! is finished. The addresses are those of spindle commands: sectors of 512 bytes, of a spindle without its checksum
//! blocks.

mod api;

pub use api::{BadBlock, BlockState, Failure, Finished, ReadOutcome, Token};

use strewn_array::Holds;
use strewn_raid::SpindleIndex;

use crate::device::{Done, Io};
use crate::format::{ArrayTag, Superblock};

/// The spindles of an array; device `n` is spindle `n`.
#[derive(Debug)]
pub struct Store {
    tag: ArrayTag,
}

impl Store {
    /// The store of the array `tag` over `spindles` spindles, all present, which keeps at most `cache_bytes` of checksum
    /// blocks in memory beyond those in use.
    #[must_use]
    pub fn new(tag: ArrayTag, spindles: u16, cache_bytes: usize) -> Self {
        let _ = (spindles, cache_bytes);
        Self { tag }
    }

    /// Reads `sectors` sectors (of 512 bytes) of a spindle from `first_sector` on. Finished as [`Finished::Read`].
    pub fn read(&mut self, token: Token, spindle: SpindleIndex, first_sector: u64, sectors: u32) {
        let _ = (token, spindle, first_sector, sectors, self.tag);
    }

    /// Writes `bytes`, 512 for each sector, to a spindle from `first_sector` on. `holds` says of each block of 4 KiB
    /// that is touched what it holds, and `checkpoint` is kept beside it. A block of which a part is written is read
    /// first. Finished as [`Finished::Write`].
    ///
    /// No other write that touches one of the blocks may be under way. Reads may: they see each block as it was or as
    /// it will be.
    pub fn write(
        &mut self,
        token: Token,
        spindle: SpindleIndex,
        first_sector: u64,
        bytes: &[u8],
        holds: &[Holds],
        checkpoint: u64,
    ) {
        let _ = (token, spindle, first_sector, bytes, holds, checkpoint);
    }

    /// Makes safe, on all spindles that are present, what was finished before. Finished as [`Finished::Flush`].
    pub fn flush(&mut self, token: Token) {
        let _ = token;
    }

    /// Flushes all spindles that are present, then writes `superblock` to all of them. Finished as
    /// [`Finished::Superblock`]. No other superblock may be under way.
    pub fn write_superblock(&mut self, token: Token, superblock: &Superblock) {
        let _ = (token, superblock);
    }

    /// A spindle is taken as lost: everything under way on it fails, and whatever it is asked. Nothing is reported.
    pub fn forget_spindle(&mut self, spindle: SpindleIndex) {
        let _ = spindle;
    }

    /// A replacement has taken a spindle's place. It must be blank: its checksum blocks zeros, or of another array.
    pub fn take_spindle(&mut self, spindle: SpindleIndex) {
        let _ = spindle;
    }

    /// Whether a spindle is present.
    #[must_use]
    pub fn is_present(&self, spindle: SpindleIndex) -> bool {
        let _ = spindle;
        true
    }

    /// What the devices are to do now, put behind what is in `ios`. Writes that were asked for since the last call share
    /// the writes of their checksum blocks.
    pub fn take_ios(&mut self, ios: &mut Vec<Io>) {
        let _ = ios;
    }

    /// What became of something that a device was to do.
    pub fn done(&mut self, done: Done) {
        let _ = done;
    }

    /// What is finished, put behind what is in `finished`.
    pub fn take_finished(&mut self, finished: &mut Vec<Finished>) {
        let _ = finished;
    }
}
