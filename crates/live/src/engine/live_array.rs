//! What a live array can do beyond what a simulated one can.

use std::ops::Range;

use strewn_array::in_place::InPlace;
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_array::{Array, Driver, OperationId};
use strewn_raid::SpindleIndex;

use crate::data::Data;

/// An array that an [`Engine`](super::Engine) can run.
pub trait LiveArray: Array<Data> {
    /// Has all that was acknowledged written to the spindles, if that is not under way already.
    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>);

    /// Whether all that was acknowledged is on the spindles.
    fn is_clean(&self) -> bool;

    /// Whether blocks can be given back.
    const GIVES_BACK: bool;

    /// Whether it wants writes of whole blocks of 4 KiB: because it would write to its spindles what it is given, and what
    /// these store has checksums by the block.
    const WHOLE_BLOCKS: bool;

    /// Whether what it has its spindles write over is what the host reads after a loss of power. Then nothing of a write may
    /// reach them before its record in the log is durable: it would be there in part.
    const WRITES_OVER: bool;

    /// The host gives blocks of 4 KiB back: as [`WriteAnywhere::give_back`]. Never asked of an array that cannot.
    fn give_back(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        blocks: Range<u32>,
        driver: &mut impl Driver<Data>,
    );

    /// Whether a block of the LUN has a place of its own.
    fn is_allocated(&self, block: u64) -> bool;

    /// A blank spindle has taken the place of one that is lost: what that held is to be written to it.
    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>);
}

impl LiveArray for WriteAnywhere<Data> {
    const GIVES_BACK: bool = true;
    // It reads what a write leaves of a block by itself.
    const WHOLE_BLOCKS: bool = false;
    // What no superblock leads to nobody reads.
    const WRITES_OVER: bool = false;

    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>) {
        WriteAnywhere::bring_to_spindles(self, now_ns, driver);
    }

    fn is_clean(&self) -> bool {
        WriteAnywhere::is_clean(self)
    }

    fn give_back(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        blocks: Range<u32>,
        driver: &mut impl Driver<Data>,
    ) {
        WriteAnywhere::give_back(self, now_ns, operation, blocks, driver);
    }

    fn is_allocated(&self, block: u64) -> bool {
        WriteAnywhere::is_allocated(self, block as u32)
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        WriteAnywhere::replaced(self, now_ns, spindle, driver);
    }
}

impl LiveArray for InPlace<Data> {
    const GIVES_BACK: bool = false;
    const WHOLE_BLOCKS: bool = true;
    const WRITES_OVER: bool = true;

    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>) {
        self.begin_checkpoint(now_ns, driver);
    }

    fn is_clean(&self) -> bool {
        InPlace::is_clean(self)
    }

    fn give_back(
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

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        InPlace::replaced(self, now_ns, spindle, driver);
    }
}
