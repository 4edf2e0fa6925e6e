//! Placing a consistency point's blocks: data in file order, then all metadata that changes with them.

use std::ops::Range;

use strewn_alloc::SummaryBitmap;
use strewn_raid::Vbn;
use strewn_volume::Region;

use crate::counters::Counters;
use crate::driver::Driver;
use crate::payload::Payload;

use super::super::context::{Context, Requested};
use super::super::memory::prefetch::BLOCKS_AHEAD;
use super::super::space::keys::CONTAINER_BLOCKS_PER_REGION;
use super::super::space::snapshots::LeftPlace;
use super::super::space::{NoRoom, Placed, Space};
use super::ConsistencyPoint;

/// What places a consistency point's blocks, and what changes by it.
struct Placing<'s> {
    space: &'s mut Space,
    /// The metadata that is to be placed too.
    changed: MetadataSet,
    /// Whether areas are being emptied, and so are withheld.
    empties_areas: bool,
}

impl<P: Payload> ConsistencyPoint<P> {
    /// Places the data in file order, then all metadata that changes with them, which changes more metadata. Each block
    /// is placed once; later changes to it are written with it all the same.
    #[inline(always)]
    pub(super) fn place_all(
        &mut self,
        requested: Requested,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Result<(), NoRoom> {
        let keys = cx.space.keys.indirect().start..cx.space.keys.end();
        let mut to = Placing {
            changed: MetadataSet::new(keys.clone()),
            empties_areas: requested.empties_areas,
            space: &mut *cx.space,
        };
        // A random workload adds a quarter of metadata. A poor guess costs a shallow tetris.
        to.space.aggregate.begin(self.data.len() as u64 * 5 / 4)?;
        for index in 0..self.data.len() {
            let key = self.data[index];
            prefetch_place_ahead(to.space, &self.data, index);
            to.changed.insert(to.space.keys.indirect_of(key));
            self.place(key, &mut to)?;
        }
        for index in 0..self.unmapped.len() {
            let key = self.unmapped[index];
            to.changed.insert(to.space.keys.indirect_of(key));
            self.unplace(key, &mut to);
        }
        self.free_more(requested, &mut to, cx.counters);
        let mut placed = MetadataSet::new(keys);
        while let Some(key) = to.changed.take_first() {
            if let Some(next) = to.changed.first_from(key) {
                cx.memory.prefetch_metadata(to.space, next);
            }
            if !placed.insert(key) {
                continue;
            }
            if let Some(parent) = to.space.keys.parent_of(key) {
                to.changed.insert(parent);
            }
            let before = self.place(key, &mut to)?;
            self.metadata.push(key);
            if !cx.memory.cache.touch(key) {
                let evicted = cx.memory.cache.insert(key);
                cx.memory.forget(evicted, cx.counters);
                self.to_read.extend(before.map(|before| (key, before)));
            }
            // Until it is written, it exists only in memory.
            cx.memory.cache.hold(key);
        }
        let aggregate = &mut to.space.aggregate;
        aggregate.finish();
        self.tetrises.extend(std::iter::from_fn(|| aggregate.next_tetris()));
        Ok(())
    }

    /// Frees what no write of a host frees: blocks of deleted snapshots, delayed frees, what has been abandoned. Adds
    /// the metadata that is to be written although no block below it moves.
    fn free_more(&mut self, requested: Requested, to: &mut Placing<'_>, counters: &mut Counters) {
        let (free, unheld) = to.space.continue_deletions(self.data.len() as u64);
        counters.snapshot_blocks_freed += unheld;
        for vbn in free {
            self.free(vbn, to);
        }
        let delayed = to.space.delayed_frees_allowed();
        while let Some((region, blocks)) = to.space.volumes.reclaim(delayed) {
            self.free_region(region, blocks, to);
        }
        for region in requested.regions {
            let blocks = to.space.volumes.reclaim_region(region);
            if !blocks.is_empty() {
                counters.paced_regions += 1;
                self.free_region(region, blocks, to);
            }
        }
        counters.cleaning_blocks += requested.metadata.len() as u64;
        let pending = &mut to.space.pending;
        pending.has_changed = false;
        for key in requested.metadata.into_iter().chain(pending.stale.drain(..)) {
            to.changed.insert(key);
        }
        for vbn in std::mem::take(&mut to.space.pending.abandoned) {
            self.free(vbn, to);
        }
        for volume in to.space.snapshots_being_taken() {
            to.changed.insert(to.space.keys.inode_of(*volume));
        }
    }

    /// Frees `blocks`, whose numbers lie in `region`.
    fn free_region(&mut self, region: Region, blocks: Vec<Vbn>, to: &mut Placing<'_>) {
        let first = to.space.keys.container_of(region, 0);
        for key in first..first + CONTAINER_BLOCKS_PER_REGION {
            to.changed.insert(key);
        }
        for vbn in blocks {
            self.free(vbn, to);
        }
    }

    /// Places one block and collects the metadata that changes. Returns where the block was before.
    #[inline(always)]
    fn place(&mut self, key: u32, to: &mut Placing<'_>) -> Result<Option<Vbn>, NoRoom> {
        if P::CARRIES_DATA {
            to.space.remember_location(key);
        }
        let Placed { vbn, before, number } = to.space.place(key)?;
        let (keys, changed) = (&to.space.keys, &mut to.changed);
        changed.insert_as_before(0, keys.aggregate_bitmap_of(vbn));
        match number {
            Some(number) => {
                changed.insert_as_before(1, keys.volume_bitmap_of(number.region));
                changed.insert_as_before(2, keys.container_of(number.region, number.position));
                let before = before.map(|before| (number.before, before));
                self.leave(key, before, to);
            }
            None => match before {
                Some(before) => self.free(before, to),
                None => to.space.record_first_placement(key),
            },
        }
        Ok(before)
    }

    /// Removes the place of an unmapped block of the file, and collects the metadata that changes.
    fn unplace(&mut self, key: u32, to: &mut Placing<'_>) {
        if P::CARRIES_DATA {
            to.space.remember_location(key);
        }
        if let Some(before) = to.space.map.remove(key) {
            let region = to.space.regions[key as usize];
            self.leave(key, Some((region, before)), to);
        }
    }

    /// Block `key` of the volume has left its old place, if it had one. The free of that place is delayed, unless
    /// snapshots hold it.
    #[inline(always)]
    fn leave(&mut self, key: u32, before: Option<(Region, Vbn)>, to: &mut Placing<'_>) {
        if to.space.snapshots.is_some() {
            return self.leave_to_snapshots(key, before, to);
        }
        let Some((region, before)) = before else { return };
        to.changed.insert(to.space.keys.volume_bitmap_of(region));
        if to.empties_areas && to.space.aggregate.is_withheld(before) {
            return self.free_at_once(region, before, to);
        }
        to.space.volumes.hold_back(region, before);
    }

    /// Frees a block of an area that is being emptied: a delay would keep the area from getting empty. The map that has
    /// its number is not known, since the array does not keep numbers within a region; one of the region's is written.
    #[inline(never)]
    fn free_at_once(&mut self, region: Region, before: Vbn, to: &mut Placing<'_>) {
        let within = (before.0 % u64::from(CONTAINER_BLOCKS_PER_REGION)) as u32;
        to.changed.insert(to.space.keys.container_of(region, 0) + within);
        to.space.volumes.release(region);
        self.free(before, to);
    }

    /// The same in an array that has, or had, snapshots.
    #[inline(never)]
    fn leave_to_snapshots(
        &mut self,
        key: u32,
        before: Option<(Region, Vbn)>,
        to: &mut Placing<'_>,
    ) {
        let left = to.space.record_replacement(key, before);
        let Some((region, before)) = before else { return };
        to.changed.insert(to.space.keys.volume_bitmap_of(region));
        match left {
            LeftPlace::Free if to.empties_areas && to.space.aggregate.is_withheld(before) => {
                self.free_at_once(region, before, to);
            }
            LeftPlace::Free => to.space.volumes.hold_back(region, before),
            LeftPlace::Held if !to.space.is_durable() => {}
            // Its number is free, its place is not.
            LeftPlace::Held | LeftPlace::Borrowed => to.space.volumes.release(region),
        }
    }

    /// Frees a block of the aggregate with the commit.
    fn free(&mut self, vbn: Vbn, to: &mut Placing<'_>) {
        to.changed.insert(to.space.keys.aggregate_bitmap_of(vbn));
        to.space.aggregate.free_at_commit(vbn).expect("a block that the map named is in use");
        self.frees_to_charge += 1;
        if P::CARRIES_DATA {
            self.freed.push(vbn);
        }
    }
}

/// For the block `BLOCKS_AHEAD` after `data[index]`, its place; for a nearer one, its region's delayed frees.
#[inline]
fn prefetch_place_ahead(space: &Space, data: &[u32], index: usize) {
    if let Some(&key) = data.get(index + BLOCKS_AHEAD) {
        space.map.prefetch(key);
        strewn_base::memory::prefetch(&space.regions, key as usize);
        if let Some(snapshots) = &space.snapshots {
            snapshots.prefetch(key);
        }
    }
    if let Some(&key) = data.get(index + BLOCKS_AHEAD / 2) {
        space.volumes.prefetch_held_back(space.regions[key as usize]);
    }
}

/// A set of metadata keys, walked in ascending order.
struct MetadataSet {
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
