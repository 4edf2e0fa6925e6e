//! Placing a consistency point's blocks: data in file order, then all metadata that changes with them.

use std::ops::Range;

use strewn_alloc::SummaryBitmap;
use strewn_raid::Vbn;
use strewn_volume::Region;

use crate::payload::Payload;

use super::block_keys::CONTAINER_BLOCKS_PER_REGION;
use super::consistency_point::ConsistencyPoint;
use super::snapshots::LeftPlace;
use super::{NoRoom, Placed, WriteAnywhere};

impl<P: Payload> WriteAnywhere<P> {
    /// Places the data in file order, then all metadata that changes with them, which changes more metadata. Each block
    /// is placed once; later changes to it are written with it all the same.
    #[inline(always)]
    pub(super) fn place_all(
        &mut self,
        consistency_point: &mut ConsistencyPoint<P>,
    ) -> Result<(), NoRoom> {
        let metadata = self.keys.indirect().start..self.keys.end();
        let mut changed = MetadataSet::new(metadata.clone());
        // A random workload adds a quarter of metadata. A poor guess costs a shallow tetris.
        self.aggregate.begin(consistency_point.data.len() as u64 * 5 / 4)?;
        for index in 0..consistency_point.data.len() {
            let key = consistency_point.data[index];
            self.prefetch_place_ahead(&consistency_point.data, index);
            changed.insert(self.keys.indirect_of(key));
            self.place_in(key, consistency_point, &mut changed)?;
        }
        for index in 0..consistency_point.unmapped.len() {
            let key = consistency_point.unmapped[index];
            changed.insert(self.keys.indirect_of(key));
            self.unplace(key, consistency_point, &mut changed);
        }
        for vbn in self.continue_deletions(consistency_point) {
            changed.insert(self.keys.aggregate_bitmap_of(vbn));
            self.stop_using(vbn, consistency_point);
        }
        let delayed = self.delayed_frees_allowed();
        while let Some((region, blocks)) = self.volumes.reclaim(delayed) {
            self.free_region(region, blocks, consistency_point, &mut changed);
        }
        if self.background.is_some() {
            self.reclaim_at_pace(consistency_point, &mut changed);
        }
        for key in self.metadata_to_clean() {
            changed.insert(key);
        }
        if let Some(stored) = &mut self.stored {
            stored.has_changed = false;
            for key in stored.stale.drain(..) {
                changed.insert(key);
            }
            for vbn in std::mem::take(&mut stored.abandoned) {
                changed.insert(self.keys.aggregate_bitmap_of(vbn));
                self.stop_using(vbn, consistency_point);
            }
        }
        for volume in &consistency_point.snapshots_of {
            changed.insert(self.keys.inode_of(*volume));
        }
        let mut placed = MetadataSet::new(metadata);
        while let Some(key) = changed.take_first() {
            if let Some(next) = changed.first_from(key) {
                self.prefetch_metadata(next);
            }
            if !placed.insert(key) {
                continue;
            }
            if let Some(parent) = self.keys.parent_of(key) {
                changed.insert(parent);
            }
            let before = self.place_in(key, consistency_point, &mut changed)?;
            consistency_point.metadata.push(key);
            if !self.cache.touch(key) {
                let evicted = self.cache.insert(key);
                self.forget(evicted);
                consistency_point.to_read.extend(before.map(|before| (key, before)));
            }
            // Until it is written, it exists only in memory.
            self.cache.hold(key);
        }
        self.aggregate.finish();
        consistency_point.tetrises.extend(std::iter::from_fn(|| self.aggregate.next_tetris()));
        Ok(())
    }

    /// Frees `blocks`, whose numbers lie in `region`.
    pub(super) fn free_region(
        &mut self,
        region: Region,
        blocks: Vec<Vbn>,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) {
        let first = self.keys.container_of(region, 0);
        for key in first..first + CONTAINER_BLOCKS_PER_REGION {
            changed.insert(key);
        }
        for vbn in blocks {
            changed.insert(self.keys.aggregate_bitmap_of(vbn));
            self.stop_using(vbn, consistency_point);
        }
    }

    /// Places one block and collects the metadata that changes. Returns where the block was before.
    #[inline(always)]
    fn place_in(
        &mut self,
        key: u32,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) -> Result<Option<Vbn>, NoRoom> {
        self.remember(key, &mut consistency_point.old_locations);
        let Placed { vbn, before, number } = self.place(key)?;
        changed.insert_as_before(0, self.keys.aggregate_bitmap_of(vbn));
        match number {
            Some(number) => {
                changed.insert_as_before(1, self.keys.volume_bitmap_of(number.region));
                changed.insert_as_before(2, self.keys.container_of(number.region, number.position));
                let before = before.map(|before| (number.before, before));
                self.leave(key, before, consistency_point, changed);
            }
            None => {
                if let Some(before) = before {
                    changed.insert(self.keys.aggregate_bitmap_of(before));
                    self.stop_using(before, consistency_point);
                } else {
                    self.record_first_placement(key);
                }
            }
        }
        Ok(before)
    }

    /// Removes the place of an unmapped block of the file, and collects the metadata that changes.
    fn unplace(
        &mut self,
        key: u32,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) {
        self.remember(key, &mut consistency_point.old_locations);
        if let Some(before) = self.map.remove(key) {
            self.leave(key, Some((self.regions[key as usize], before)), consistency_point, changed);
        }
    }

    /// Block `key` of the volume has left its old place, if it had one. The free of that place is delayed, unless
    /// snapshots hold it.
    #[inline(always)]
    fn leave(
        &mut self,
        key: u32,
        before: Option<(Region, Vbn)>,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) {
        if self.snapshots.is_some() {
            return self.leave_to_snapshots(key, before, consistency_point, changed);
        }
        let Some((region, before)) = before else { return };
        changed.insert(self.keys.volume_bitmap_of(region));
        if self.relocation.is_some() && self.is_being_emptied(before) {
            return self.free_at_once(region, before, consistency_point, changed);
        }
        self.volumes.hold_back(region, before);
    }

    /// Frees a block of an area that is being emptied: a delay would keep the area from getting empty. The map that has
    /// its number is not known, since the array does not keep numbers within a region; one of the region's is written.
    fn free_at_once(
        &mut self,
        region: Region,
        before: Vbn,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) {
        let within = (before.0 % u64::from(CONTAINER_BLOCKS_PER_REGION)) as u32;
        changed.insert(self.keys.container_of(region, 0) + within);
        changed.insert(self.keys.aggregate_bitmap_of(before));
        self.volumes.release(region);
        self.stop_using(before, consistency_point);
    }

    /// The same in an array that has, or had, snapshots.
    #[inline(never)]
    fn leave_to_snapshots(
        &mut self,
        key: u32,
        before: Option<(Region, Vbn)>,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) {
        let left = self.record_replacement(key, before);
        let Some((region, before)) = before else { return };
        changed.insert(self.keys.volume_bitmap_of(region));
        match left {
            LeftPlace::Free if self.relocation.is_some() && self.is_being_emptied(before) => {
                self.free_at_once(region, before, consistency_point, changed);
            }
            LeftPlace::Free => self.volumes.hold_back(region, before),
            LeftPlace::Held if !self.config.format.is_durable() => {}
            // Its number is free, its place is not.
            LeftPlace::Held | LeftPlace::Borrowed => self.volumes.release(region),
        }
    }

    fn stop_using(&mut self, vbn: Vbn, consistency_point: &mut ConsistencyPoint<P>) {
        self.aggregate.free_at_commit(vbn).expect("a block that the map named is in use");
        consistency_point.frees_to_charge += 1;
        if P::CARRIES_DATA {
            consistency_point.freed.push(vbn);
        }
    }
}

/// A set of metadata keys, walked in ascending order.
pub(super) struct MetadataSet {
    first_key: u32,
    keys: SummaryBitmap,
    /// The key inserted last by each of three call sites, which often repeat it.
    last: [u32; 3],
}

impl MetadataSet {
    fn new(keys: Range<u32>) -> Self {
        let set = SummaryBitmap::new(keys.len() as u64);
        Self { first_key: keys.start, keys: set, last: [u32::MAX; 3] }
    }

    /// Inserts `key`, unless call site `from` inserted it last, as in three of five cases. A key taken out since is not
    /// inserted again, which makes no difference: it has been placed.
    #[inline(always)]
    fn insert_as_before(&mut self, from: usize, key: u32) {
        if self.last[from] != key {
            self.last[from] = key;
            self.insert(key);
        }
    }

    /// Whether `key` was new.
    #[inline(always)]
    fn insert(&mut self, key: u32) -> bool {
        self.keys.insert((key - self.first_key).into())
    }

    #[inline(always)]
    fn take_first(&mut self) -> Option<u32> {
        let first = self.keys.next_member(0)?;
        self.keys.remove(first);
        Some(first as u32 + self.first_key)
    }

    #[inline(always)]
    fn first_from(&self, key: u32) -> Option<u32> {
        let first = self.keys.next_member((key - self.first_key).into())?;
        Some(first as u32 + self.first_key)
    }
}
