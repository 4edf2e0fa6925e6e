//! What may be asked of an array, or done to it while nothing is in progress: restoring it, other volumes, snapshots,
//! views, its catalog. Live arrays need more of it than simulated ones.

use std::ops::Range;

use strewn_alloc::{Aggregate, BlockMap};
use strewn_raid::{ParityGroup, SpindleIndex};
use strewn_volume::{SnapshotId, VolumeId};

use crate::driver::{Driver, OperationId};
use crate::error::ArrayConfigError;
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::snapshot::SnapshotRefusal;

use super::context::Context;
use super::metadata::Pointer;
use super::space::Space;
use super::{
    BlockKeys, CatalogBlocks, History, Reconfiguration, ReconfigurationError, RestoreError, View,
    WriteAnywhere, WriteAnywhereConfig,
};

impl<P: Payload> WriteAnywhere<P> {
    /// An array whose blocks have never been written. They read as zeros, and have no place until a consistency point
    /// allocates one.
    ///
    /// # Errors
    /// If a size is zero, or the whole file would not fit.
    pub fn empty(config: WriteAnywhereConfig) -> Result<Self, ArrayConfigError> {
        Ok(Self::of(Space::empty(config, P::CARRIES_DATA)?))
    }

    /// Restores an array from the pointers that its root leads to, by key; from its catalog, empty without one; and
    /// from the histories of the volumes, if they have snapshots. Blocks without a pointer have no place. The cache is
    /// empty, no frees are delayed, and the volumes' numbers are assigned again in file order.
    ///
    /// # Errors
    /// If the configuration is invalid, or two blocks have the same place.
    pub fn restored(
        config: WriteAnywhereConfig,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        catalog: CatalogBlocks,
        histories: &[Option<History>],
    ) -> Result<Self, RestoreError> {
        Ok(Self::of(Space::restored(config, P::CARRIES_DATA, blocks, catalog, histories)?))
    }

    /// Restores an array that has been given parity groups since its root was written. `blocks` go by the keys that the
    /// array had then, `before`. The next consistency point writes what leads to the bitmap of the new groups, and
    /// that.
    ///
    /// # Errors
    /// As [`restored`](Self::restored).
    pub fn restored_with_added_groups(
        config: WriteAnywhereConfig,
        before: &BlockKeys,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        catalog: CatalogBlocks,
        histories: &[Option<History>],
    ) -> Result<Self, RestoreError> {
        let bytes = P::CARRIES_DATA;
        let space =
            Space::restored_with_added_groups(config, bytes, before, blocks, catalog, histories)?;
        Ok(Self::of(space))
    }

    /// Gives the array other volumes and LUNs. Blocks of LUNs that are gone, or of the end of LUNs that are shorter
    /// now, become free with the next consistency point, unless snapshots hold them. That consistency point also writes
    /// all that the change means; until then, the spindles have the array as it was. The cache is empty afterwards, and
    /// views are closed. Volumes' snapshots stay.
    ///
    /// # Errors
    /// If that cannot be. The array is as it was.
    ///
    /// # Panics
    /// If the array is not [clean](Self::is_clean), or an operation is in progress.
    pub fn reconfigure(&mut self, to: &Reconfiguration) -> Result<(), ReconfigurationError> {
        assert!(self.is_clean() && self.host.is_idle(), "an array changes while at rest");
        let mut new = Self::of(self.space.reconfigured(to)?);
        // Only what is known by key is begun again.
        new.set_read_ahead(self.host.read_ahead_bytes());
        new.host.take_settings(&mut self.host);
        std::mem::swap(&mut new.memory.reads, &mut self.memory.reads);
        std::mem::swap(&mut new.redundancy, &mut self.redundancy);
        std::mem::swap(&mut new.background, &mut self.background);
        new.background.end_relocation();
        new.consistency_points.due_ns = self.consistency_points.due_ns;
        new.counters = self.counters;
        *self = new;
        Ok(())
    }

    /// Blocks that the array lacks for the reservations of the volumes `to`; 0 if it can keep it. It is clean.
    ///
    /// # Errors
    /// If the configuration is invalid.
    pub fn lacking_for(&self, to: &Reconfiguration) -> Result<u64, RestoreError> {
        self.space.lacking_for(to)
    }

    /// Blocks that one more thick volume could reserve, the metadata of that volume aside. The array is clean.
    #[must_use]
    pub fn blocks_to_reserve(&self) -> u64 {
        self.space.blocks_to_reserve()
    }

    /// Free blocks that thick volumes, and the metadata of all, may claim; 0 as long as nothing has to be counted.
    #[must_use]
    pub fn claimed_blocks(&self) -> u64 {
        self.space.claimed_blocks()
    }

    /// Has a file system's reserve of so many percent of all blocks, 0 to 100. Without one, volumes may fill whatever
    /// overwriting does not need.
    pub fn set_reserve(&mut self, percent: f64) {
        self.space.set_reserve(percent);
    }

    /// Whether the operations to come are those of a log: they have been admitted before, so that what is reserved for
    /// others is not held against them.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.space.is_replaying = replaying;
    }

    /// Replaces the catalog: with the next consistency point, the new one is on the spindles. It has at most
    /// [`CATALOG_BLOCKS`](crate::CATALOG_BLOCKS) blocks.
    ///
    /// # Panics
    /// If it has more, or blocks of another size.
    pub fn set_catalog(&mut self, blocks: CatalogBlocks) {
        self.space.set_catalog(blocks);
    }

    /// Compares a stored block of the aggregate's bitmap with what is in use; `None` if it could not be read. If they
    /// differ, the next consistency point rewrites it. After a restore, the stored bitmap may mark free blocks as in
    /// use.
    pub fn bitmap_is(&mut self, key: u32, bytes: Option<&[u8]>) {
        self.space.compare_bitmap(key, bytes);
    }

    /// Takes a snapshot of `volume` as it is on the spindles, and returns its number. Nothing may be dirty, and no
    /// consistency point in progress. O(1), the first of all O(blocks of the volumes).
    ///
    /// # Errors
    /// If what the volumes reserve could then no longer be overwritten in full, or if the volume's snapshots can be
    /// counted no further.
    ///
    /// # Panics
    /// If the array is not clean.
    pub fn take_snapshot(&mut self, volume: VolumeId) -> Result<SnapshotId, SnapshotRefusal> {
        assert!(self.is_clean(), "a snapshot is taken of what is on the spindles");
        self.space.take_snapshot(volume)
    }

    /// Deletes a snapshot of `volume`. Consistency points free the blocks that only it held, step by step. False if
    /// there is no such snapshot.
    pub fn delete_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        self.space.delete_snapshot(volume, snapshot)
    }

    /// Blocks that only snapshots of `volume` hold.
    #[must_use]
    pub fn held_blocks(&self, volume: VolumeId) -> u64 {
        self.space.held_blocks(volume)
    }

    /// Blocks that become free if `snapshot` is deleted; `None` if there is no such snapshot.
    #[must_use]
    pub fn held_by_alone(&self, volume: VolumeId, snapshot: SnapshotId) -> Option<u64> {
        self.space.held_by_alone(volume, snapshot)
    }

    /// Opens a LUN as it is in a snapshot of its volume, for reading. Returns the number under which reads find it,
    /// behind those of the LUNs.
    ///
    /// # Panics
    /// If the payload carries no data.
    pub fn open_view(&mut self, view: View) -> LunId {
        assert!(P::CARRIES_DATA, "there is nothing to read");
        LunId(self.space.keys.luns() + self.host.open_view(view) as u16)
    }

    /// Closes all views. No read of one may be in progress.
    pub fn close_views(&mut self) {
        self.host.close_views();
    }

    /// The view with this number; `None` for a LUN.
    pub(super) fn view(&self, number: LunId) -> Option<View> {
        self.host.view(usize::from(number.0.checked_sub(self.space.keys.luns())?))
    }

    /// Unmaps blocks of `lun`: they read as zeros from now on, and the next consistency point frees their places. An
    /// unmap costs what its record does, which has no data.
    ///
    /// # Panics
    /// If the format is not the durable one.
    pub fn unmap(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        lun: LunId,
        blocks: Range<u32>,
        driver: &mut impl Driver<P>,
    ) {
        assert!(self.space.is_durable(), "only the durable format unmaps blocks");
        self.host.unmap(operation, lun, blocks, context!(self, now_ns, driver));
        self.settle(now_ns, driver);
    }

    /// A blank device has replaced a failed spindle: rebuilds onto it.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<P>) {
        self.redundancy.on_replaced(spindle, context!(self, now_ns, driver));
        self.settle(now_ns, driver);
    }

    /// Begins a consistency point, unless one is in progress or nothing is dirty. A shutdown calls it so that nothing
    /// is left to replay from the log.
    pub fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.begin_consistency_point(now_ns, driver);
        self.settle(now_ns, driver);
    }

    /// Whether everything acknowledged is on the spindles.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.consistency_points.is_in_progress()
            && self.memory.is_clean()
            && !self.space.pending.has_changed
            && self.background.is_idle()
    }

    /// The array's configuration.
    #[must_use]
    pub fn config(&self) -> &WriteAnywhereConfig {
        &self.space.config
    }

    /// All parity groups that the aggregate will ever have, in the order of their spindles.
    #[must_use]
    pub fn parity_groups(&self) -> &[ParityGroup] {
        &self.space.config.groups
    }

    /// The allocator and its free maps: those of the groups that have been added.
    #[must_use]
    pub fn aggregate(&self) -> &Aggregate<u32> {
        &self.space.aggregate
    }

    /// Where the blocks lie.
    #[must_use]
    pub fn block_map(&self) -> &BlockMap {
        &self.space.map
    }

    /// The numbering of the array's blocks.
    #[must_use]
    pub fn keys(&self) -> &BlockKeys {
        &self.space.keys
    }

    /// Where block `key` lies, and its checksum, 0 if unknown; `None` if it has no place.
    #[must_use]
    pub fn pointer(&self, key: u32) -> Option<Pointer> {
        self.space.pointer(key)
    }

    /// Blocks of `lun` that have a place.
    #[must_use]
    pub fn allocated_blocks(&self, lun: LunId) -> u64 {
        let keys = self.space.keys.blocks_of(lun);
        keys.filter(|key| self.space.map.get(*key).is_some()).count() as u64
    }

    /// One more than the last block of `lun` that has a place; 0 if none has.
    #[must_use]
    pub fn allocated_end(&self, lun: LunId) -> u32 {
        let keys = self.space.keys.blocks_of(lun);
        let last = keys.clone().rev().find(|key| self.space.map.get(*key).is_some());
        last.map_or(0, |last| last - keys.start + 1)
    }

    /// Whether block `block` of `lun`, or of a view, has a place, or will have one at the next consistency point.
    #[must_use]
    pub fn is_allocated(&self, lun: LunId, block: u32) -> bool {
        if let Some(view) = self.view(lun) {
            return self.space.block_in_view(view, block).is_some();
        }
        let key = self.space.keys.blocks_of(lun).start + block;
        let dirty = &self.memory.dirty;
        !dirty.is_unmapped(key) && (self.space.map.get(key).is_some() || dirty.contains(key))
    }
}
