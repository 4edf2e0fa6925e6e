//! What a live array can do beyond what a simulated one can.

use std::ops::Range;

use strewn_array::in_place::{InPlace, LunLayout};
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::{Array, Driver, OperationId};
use strewn_raid::SpindleIndex;

use crate::data::Data;

/// Why an array does not hold its LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSnapshot {
    /// It writes over what it would have to hold.
    InPlace,
    /// There would not be room any more to write all of the LUN once again.
    NoRoom {
        /// Blocks that are lacking.
        lacking_blocks: u64,
    },
}

/// An array that an [`LiveArrayEngine`](super::LiveArrayEngine) can run.
pub trait LiveArray: Array<Data> {
    /// Has all that was acknowledged written to the spindles, if that is not under way already.
    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>);

    /// Whether all that was acknowledged is on the spindles.
    fn is_clean(&self) -> bool;

    /// Whether blocks can be given back.
    const SUPPORTS_UNMAP: bool;

    /// Whether it wants writes of whole blocks of 4 KiB: because it would write to its spindles what it is given, and what
    /// these store has checksums by the block.
    const WHOLE_BLOCK_WRITES: bool;

    /// Whether what it has its spindles write over is what the host reads after a loss of power. Then nothing of a write may
    /// reach them before its record in the log is durable: it would be there in part.
    const OVERWRITES_IN_PLACE: bool;

    /// The layout by which the parity of a stripe says what the blocks beside it must be, if that is how it is known.
    /// Otherwise what leads to a block says it.
    fn stripe_checked_layout(&self) -> Option<&LunLayout>;

    /// The host gives blocks of 4 KiB back: as [`WriteAnywhere::unmap`]. Never asked of an array that cannot.
    fn unmap(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        blocks: Range<u32>,
        driver: &mut impl Driver<Data>,
    );

    /// Whether a block of the LUN has a place of its own.
    fn is_allocated(&self, block: u64) -> bool;

    /// Has snapshot `snapshot`, the highest number so far and one more, hold the LUN as it is on the spindles, where nothing is
    /// under way; the LUN's inode.
    ///
    /// # Errors
    /// If there is no room for it.
    fn take_snapshot(&mut self, snapshot: u32) -> Result<Option<Pointer>, NoSnapshot>;

    /// Has snapshot `snapshot` hold nothing any more, and those above it have the numbers one lower; how many blocks are in use
    /// until the next consistency point that only it held.
    fn delete_snapshot(&mut self, snapshot: u32) -> u64;

    /// A blank spindle has taken the place of one that is lost: what that held is to be written to it.
    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>);
}

impl LiveArray for WriteAnywhere<Data> {
    const SUPPORTS_UNMAP: bool = true;
    // It reads what a write leaves of a block by itself.
    const WHOLE_BLOCK_WRITES: bool = false;
    // What no superblock leads to nobody reads.
    const OVERWRITES_IN_PLACE: bool = false;

    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>) {
        WriteAnywhere::bring_to_spindles(self, now_ns, driver);
    }

    fn is_clean(&self) -> bool {
        WriteAnywhere::is_clean(self)
    }

    fn stripe_checked_layout(&self) -> Option<&LunLayout> {
        None
    }

    fn unmap(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        blocks: Range<u32>,
        driver: &mut impl Driver<Data>,
    ) {
        WriteAnywhere::unmap(self, now_ns, operation, blocks, driver);
    }

    fn is_allocated(&self, block: u64) -> bool {
        WriteAnywhere::is_allocated(self, block as u32)
    }

    fn take_snapshot(&mut self, snapshot: u32) -> Result<Option<Pointer>, NoSnapshot> {
        let taken = WriteAnywhere::take_snapshot(self, snapshot);
        taken.map_err(|lacking_blocks| NoSnapshot::NoRoom { lacking_blocks })
    }

    fn delete_snapshot(&mut self, snapshot: u32) -> u64 {
        WriteAnywhere::delete_snapshot(self, snapshot)
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        WriteAnywhere::replaced(self, now_ns, spindle, driver);
    }
}

impl LiveArray for InPlace<Data> {
    const SUPPORTS_UNMAP: bool = false;
    const WHOLE_BLOCK_WRITES: bool = true;
    const OVERWRITES_IN_PLACE: bool = true;

    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>) {
        self.begin_checkpoint(now_ns, driver);
    }

    fn is_clean(&self) -> bool {
        InPlace::is_clean(self)
    }

    fn stripe_checked_layout(&self) -> Option<&LunLayout> {
        Some(self.lun_layout())
    }

    fn unmap(
        &mut self,
        _now_ns: u64,
        operation: OperationId,
        _blocks: Range<u32>,
        _driver: &mut impl Driver<Data>,
    ) {
        unreachable!("{operation:?}: blocks of an array in place cannot be given back")
    }

    /// Every block has its place from the start.
    fn is_allocated(&self, _block: u64) -> bool {
        true
    }

    fn take_snapshot(&mut self, _snapshot: u32) -> Result<Option<Pointer>, NoSnapshot> {
        Err(NoSnapshot::InPlace)
    }

    fn delete_snapshot(&mut self, _snapshot: u32) -> u64 {
        0
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        InPlace::replaced(self, now_ns, spindle, driver);
    }
}
