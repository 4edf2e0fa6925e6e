//! What a controller must provide to run live, beyond what a simulation needs.

use std::ops::Range;

use strewn_alloc::{SnapshotId, VolumeId};
use strewn_array::in_place::{InPlace, LunLayout};
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::{Array, Driver, LunId, OperationId};
use strewn_raid::SpindleIndex;

use crate::data::Data;

/// Why an array cannot take a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSnapshot {
    /// The array overwrites blocks in place.
    InPlace,
    /// There is too little room to overwrite the whole LUN once more.
    NoRoom {
        /// Blocks of 4 KiB that are missing.
        lacking_blocks: u64,
    },
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

    /// Unmaps blocks of 4 KiB of `lun`: as [`WriteAnywhere::unmap`]. Never called if [`SUPPORTS_UNMAP`](Self::SUPPORTS_UNMAP)
    /// is false.
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

    /// Takes a snapshot of `volume` as it is on the spindles. Returns its number and the volume's inode. Nothing may be in
    /// flight.
    ///
    /// # Errors
    /// If there is no room for the snapshot.
    fn take_snapshot(
        &mut self,
        volume: VolumeId,
    ) -> Result<(SnapshotId, Option<Pointer>), NoSnapshot>;

    /// Deletes a snapshot, and returns how many blocks only it held. Consistency points free these step by step.
    fn delete_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> u64;

    /// Starts the rebuild of a lost spindle that a blank one has replaced.
    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>);
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

    fn take_snapshot(
        &mut self,
        volume: VolumeId,
    ) -> Result<(SnapshotId, Option<Pointer>), NoSnapshot> {
        let taken = WriteAnywhere::take_snapshot(self, volume);
        taken.map_err(|lacking_blocks| NoSnapshot::NoRoom { lacking_blocks })
    }

    fn delete_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> u64 {
        WriteAnywhere::delete_snapshot(self, volume, snapshot)
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        WriteAnywhere::replaced(self, now_ns, spindle, driver);
    }
}

impl LiveArray for InPlace<Data> {
    const SUPPORTS_UNMAP: bool = false;
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

    fn take_snapshot(
        &mut self,
        _volume: VolumeId,
    ) -> Result<(SnapshotId, Option<Pointer>), NoSnapshot> {
        Err(NoSnapshot::InPlace)
    }

    fn delete_snapshot(&mut self, _volume: VolumeId, _snapshot: SnapshotId) -> u64 {
        0
    }

    fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<Data>) {
        InPlace::replaced(self, now_ns, spindle, driver);
    }
}
