//! What a controller must provide to run live, beyond what a simulation needs.

use std::ops::Range;

use strewn_array::in_place::{InPlace, LunLayout};
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_array::{Array, Driver, LunId, OperationId};
use strewn_raid::SpindleIndex;

use crate::data::Data;

/// The controller of an array of either kind.
#[derive(Clone, Copy)]
pub enum Controller<'a> {
    /// A write-anywhere (copy-on-write) array, which has volumes.
    WriteAnywhere(&'a WriteAnywhere<Data>),
    /// An array that updates in place.
    InPlace(&'a InPlace<Data>),
}

/// A controller that a [`LiveArrayEngine`](super::LiveArrayEngine) can run.
pub trait LiveArray: Array<Data> {
    /// Starts to write all acknowledged data to the spindles, unless that is in progress.
    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>);

    /// Returns whether all acknowledged data is on the spindles.
    fn is_clean(&self) -> bool;

    /// Whether blocks can be unmapped.
    const SUPPORTS_UNMAP: bool;

    /// Whether its spindle writes overwrite blocks that the host can read after a power loss. If so, no part of a
    /// write may reach the spindles before the write's log record is durable: otherwise the LUN could hold a part of
    /// the write.
    const OVERWRITES_IN_PLACE: bool;

    /// Returns the layout, if blocks are checked against the parity of their stripe. In other arrays the pointer to a
    /// block has its checksum.
    fn stripe_checked_layout(&self) -> Option<&LunLayout>;

    /// Unmaps blocks of 4 KiB of `lun`: as [`WriteAnywhere::unmap`]. Never called if
    /// [`SUPPORTS_UNMAP`](Self::SUPPORTS_UNMAP) is false.
    fn unmap(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        lun: LunId,
        blocks: Range<u32>,
        driver: &mut impl Driver<Data>,
    );

    /// Returns whether a block of `lun` is allocated.
    fn is_allocated(&self, lun: LunId, block: u64) -> bool;

    /// Starts the rebuild of a lost spindle that a blank one has replaced.
    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>);

    /// Returns the array as a controller of its kind.
    fn controller(&self) -> Controller<'_>;

    /// Returns the array, if it has volumes.
    fn volumes_mut(&mut self) -> Option<&mut WriteAnywhere<Data>>;
}

impl LiveArray for WriteAnywhere<Data> {
    const SUPPORTS_UNMAP: bool = true;
    // A block is not read before a superblock leads to it.
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
        lun: LunId,
        blocks: Range<u32>,
        driver: &mut impl Driver<Data>,
    ) {
        WriteAnywhere::unmap(self, now_ns, operation, lun, blocks, driver);
    }

    fn is_allocated(&self, lun: LunId, block: u64) -> bool {
        WriteAnywhere::is_allocated(self, lun, block as u32)
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        WriteAnywhere::replaced(self, now_ns, spindle, driver);
    }

    fn controller(&self) -> Controller<'_> {
        Controller::WriteAnywhere(self)
    }

    fn volumes_mut(&mut self) -> Option<&mut WriteAnywhere<Data>> {
        Some(self)
    }
}

impl LiveArray for InPlace<Data> {
    const SUPPORTS_UNMAP: bool = false;
    const OVERWRITES_IN_PLACE: bool = true;

    fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<Data>) {
        self.begin_log_drain(now_ns, driver);
    }

    fn is_clean(&self) -> bool {
        InPlace::is_clean(self)
    }

    fn stripe_checked_layout(&self) -> Option<&LunLayout> {
        Some(&self.config().single_group().layout)
    }

    fn unmap(
        &mut self,
        _now_ns: u64,
        operation: OperationId,
        _lun: LunId,
        _blocks: Range<u32>,
        _driver: &mut impl Driver<Data>,
    ) {
        unreachable!("{operation:?}: blocks of an array in place cannot be given back")
    }

    /// Returns true: every block is allocated from the start.
    fn is_allocated(&self, _lun: LunId, _block: u64) -> bool {
        true
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        InPlace::replaced(self, now_ns, spindle, driver);
    }

    fn controller(&self) -> Controller<'_> {
        Controller::InPlace(self)
    }

    fn volumes_mut(&mut self) -> Option<&mut WriteAnywhere<Data>> {
        None
    }
}
