//! The life of a consistency point: begin, free, finish, commit or abandon.

use strewn_raid::{BlockLocation, ROW_STRIPES, Vbn};

use super::allocate::next_spindle;
use super::{
    Aggregate, AggregateLocation, ConsistencyPointError, FreeError, Group, Taken, group_of,
};
use crate::delayed_frees::{DelayedFrees, REGION_BLOCKS};
use crate::free_map::{AHEAD, FreeMap, MapPosition};
use crate::group_index::GroupIndex;
use crate::options::{AllocationShape, Chunks};
use crate::tetris::Tetris;

impl<T: Copy> Aggregate<T> {
    /// Begins a consistency point that will allocate about `expected_blocks`. Its last tetrises are only as deep as the
    /// remaining blocks allow, so that their stripes are full. Blocks freed since the last commit belong to it.
    ///
    /// # Errors
    /// If one is open.
    pub fn begin(&mut self, expected_blocks: u64) -> Result<(), ConsistencyPointError> {
        self.nothing_open()?;
        self.is_open = true;
        self.freed_before = self.freed.len();
        self.expected_blocks = expected_blocks;
        self.allocated_blocks = 0;
        let AllocationShape { tetris_stripes, chunk_blocks, .. } = self.options.shape;
        if self.options.chunks == Chunks::Aligned {
            for group in &mut self.groups {
                let tetris_blocks = tetris_stripes * u64::from(group.map.group().data_spindles());
                for cursor in group.cursors().filter(|_| expected_blocks >= tetris_blocks) {
                    cursor.next_stripe = cursor.next_stripe.next_multiple_of(chunk_blocks);
                }
            }
        }
        Ok(())
    }

    /// Frees a block with the commit, or later if frees are delayed. Between consistency points too: then it becomes
    /// free with the next commit, even if a consistency point is abandoned before that.
    ///
    /// # Errors
    /// [`FreeError`] if the block is not in use, or has been freed already.
    #[inline]
    pub fn free_at_commit(&mut self, vbn: Vbn) -> Result<(), FreeError> {
        let place = self.locate(vbn).filter(|place| self.is_used(*place));
        let place = self.position_at(place.ok_or(FreeError::NotInUse(vbn))?);
        if !self.pending.insert(vbn) {
            return Err(FreeError::AlreadyFreed(vbn));
        }
        self.freed.push(place);
        Ok(())
    }

    /// Frees all of `blocks` as [`free_at_commit`](Self::free_at_commit) does, but faster if there are many.
    ///
    /// # Errors
    /// [`FreeError`] with the first that cannot be freed. Then none is freed.
    pub fn free_all_at_commit(&mut self, blocks: &[Vbn]) -> Result<(), FreeError> {
        let before = self.freed.len();
        if self.note_frees(blocks) {
            return Ok(());
        }
        // Some belong to the tetris being filled, which the map does not know yet, or cannot be freed.
        self.forget_frees(before);
        let found = blocks.iter().try_for_each(|vbn| self.free_at_commit(*vbn));
        if found.is_err() {
            self.forget_frees(before);
        }
        found
    }

    /// Frees the first of `blocks`, until one does not exist, is not in use in the map or is freed already. Returns
    /// whether all are freed.
    fn note_frees(&mut self, blocks: &[Vbn]) -> bool {
        let total = self.total_blocks();
        if blocks.iter().any(|vbn| vbn.0 >= total) {
            return false;
        }
        let Self { groups, freed, pending, .. } = self;
        freed.reserve(blocks.len());
        let mut announced = blocks.chunks(AHEAD);
        let mut noted = freed.len();
        for batch in blocks.chunks(AHEAD) {
            // What the next batch takes is on its way while this one is noted.
            while freed.len() < noted + 2 * AHEAD
                && let Some(next) = announced.next()
            {
                announce_places(groups, next, freed);
                pending.prefetch_all(next);
            }
            let places = &freed[noted..][..batch.len()];
            let all_used = match &groups[..] {
                [Group { map, .. }] => map.all_used(places),
                groups => {
                    let map = |place: &MapPosition| &groups[place.group().index()].map;
                    places.iter().all(|place| map(place).all_used(std::slice::from_ref(place)))
                }
            };
            let count = if all_used { pending.insert_all(batch) } else { 0 };
            noted += count;
            if count < batch.len() {
                freed.truncate(noted);
                return false;
            }
        }
        true
    }

    /// Takes back all but the first `keep` frees since the last commit.
    fn forget_frees(&mut self, keep: usize) {
        for place in self.freed.split_off(keep) {
            self.pending.remove(self.vbn_at(place));
        }
    }

    /// Delays the frees of `blocks` again, after a mount: those that [`delayed_frees`](Self::delayed_frees) listed when
    /// the maps were saved. If the options delay no frees, they become free with the next commit.
    ///
    /// # Errors
    /// [`FreeError`] with the first that is not in use, or is freed already. Then none is freed.
    pub fn resume_delayed_frees(&mut self, blocks: &[Vbn]) -> Result<(), FreeError> {
        let before = self.freed.len();
        self.free_all_at_commit(blocks)?;
        let resumed = self.freed.split_off(before);
        match self.delayed.take() {
            Some(mut delayed) => {
                resumed.into_iter().for_each(|place| self.hold_back(&mut delayed, place));
                self.delayed = Some(delayed);
            }
            None => {
                // No part of a consistency point that is open.
                self.freed_before += resumed.len();
                self.freed.splice(0..0, resumed);
            }
        }
        Ok(())
    }

    /// The blocks that are freed and not yet free: those freed since the last commit, and the delayed frees.
    pub fn pending_frees(&self) -> impl Iterator<Item = Vbn> + '_ {
        self.freed.iter().map(|place| self.vbn_at(*place)).chain(self.delayed_frees())
    }

    fn hold_back(&self, delayed: &mut DelayedFrees, place: MapPosition) {
        let vbn = self.vbn_at(place);
        delayed.hold_back((vbn.0 / REGION_BLOCKS) as u32, vbn);
    }

    #[inline]
    pub(super) fn position_at(&self, place: AggregateLocation) -> MapPosition {
        let BlockLocation { spindle, dbn } = place.location;
        let map = &self.groups[place.group.index()].map;
        MapPosition::new(place.group, map.word(spindle, dbn.0 / ROW_STRIPES), dbn.0 % ROW_STRIPES)
    }

    pub(super) fn vbn_at(&self, place: MapPosition) -> Vbn {
        let location = self.groups[place.group().index()].map.location(place);
        self.vbn(AggregateLocation { group: place.group(), location })
    }

    /// The next complete tetris, in the order in which they were filled.
    pub fn next_tetris(&mut self) -> Option<Tetris<T>> {
        self.closed.pop_front()
    }

    /// Completes the tetrises being filled as they are, so that [`next_tetris`](Self::next_tetris) returns the rest of
    /// the write plan.
    pub fn finish(&mut self) {
        self.close_tetris();
        for (_, open) in std::mem::take(&mut self.scattered) {
            self.closed.push_back(open.close());
        }
        for group in &mut self.groups {
            let spindles = group.map.group().data_spindles().into();
            for cursor in group.cursors() {
                // Holes left by the last chunk stay free until their area is chosen again.
                cursor.available = 0;
                if cursor.spindles_left == 0 && cursor.window != 0 {
                    // All spindles have had their turn. Consistency points of equal size would all begin with the same
                    // one.
                    cursor.spindle = next_spindle(cursor.spindle, spindles);
                }
                cursor.spindles_left = 0;
                cursor.window = 0;
            }
        }
    }

    /// Drops what is left of the write plan, for a caller that allocates and writes nothing, such as a simulation that
    /// lays out its blocks.
    pub fn discard_plan(&mut self) {
        self.finish();
        self.closed.clear();
    }

    /// Commits the consistency point, whose tetrises must be durable: the blocks it freed become free, except for
    /// delayed frees. Returns how many blocks became free.
    ///
    /// # Errors
    /// [`ConsistencyPointError`] with nothing changed, if no consistency point is open or part of its write plan was
    /// not taken.
    ///
    /// # Panics
    /// If the aggregate was mounted with scores that are not those of its maps, and an area would have more free blocks
    /// than blocks.
    pub fn commit(&mut self) -> Result<u64, ConsistencyPointError> {
        if !self.is_open {
            return Err(ConsistencyPointError::NotOpen);
        }
        let tetrises = self.closed.len() + self.scattered.len() + usize::from(self.open.is_some());
        if tetrises > 0 {
            return Err(ConsistencyPointError::PlanLeft { tetrises });
        }
        self.finish();
        self.is_open = false;
        self.freed_before = 0;
        self.taken.clear();
        self.consistency_points += 1;
        let mut freed = std::mem::take(&mut self.freed);
        let mut released = 0;
        match self.delayed.take() {
            None => {
                released = freed.len() as u64;
                self.release_all(&freed);
                freed.clear();
                self.pending.clear();
            }
            Some(mut delayed) => {
                freed.drain(..).for_each(|place| self.hold_back(&mut delayed, place));
                while let Some((_, blocks)) = delayed.reclaim(self.options.delayed_frees) {
                    let places = blocks.iter().filter_map(|vbn| self.locate(*vbn));
                    freed.extend(places.map(|place| self.position_at(place)));
                    released += freed.len() as u64;
                    self.release_all(&freed);
                    freed.clear();
                    blocks.into_iter().for_each(|vbn| self.pending.remove(vbn));
                }
                self.delayed = Some(delayed);
            }
        }
        // The next consistency point reuses the memory.
        self.freed = freed;
        self.assert_counts_agree();
        Ok(released)
    }

    /// Abandons the open consistency point: the blocks it allocated are free again, and the blocks it freed are still
    /// in use. Blocks freed before it began stay freed, and become free with the next commit.
    ///
    /// # Errors
    /// If none is open.
    pub fn abandon(&mut self) -> Result<(), ConsistencyPointError> {
        if !self.is_open {
            return Err(ConsistencyPointError::NotOpen);
        }
        self.discard_plan();
        self.is_open = false;
        self.forget_frees(self.freed_before);
        for Taken { place, mask } in std::mem::take(&mut self.taken) {
            let released = self.groups[place.group().index()].map.release_mask(place.word(), mask);
            assert!(released == mask.count_ones(), "{place:?}: taken, but free");
        }
        self.assert_counts_agree();
        Ok(())
    }

    /// Asserts what every consistency point must leave behind: no tetris open, and counts that agree with the maps.
    fn assert_counts_agree(&self) {
        assert!(self.open.is_none() && self.open_blocks == 0, "a tetris is open after the commit");
        self.free_maps().for_each(FreeMap::assert_counts_agree);
    }

    /// Makes blocks free.
    fn release_all(&mut self, places: &[MapPosition]) {
        for of_group in places.chunk_by(|one, next| one.group() == next.group()) {
            self.groups[of_group[0].group().index()].map.release_all(of_group);
        }
    }
}

/// Adds the positions of `blocks` to `places`, and announces an access to each.
fn announce_places(groups: &[Group], blocks: &[Vbn], places: &mut Vec<MapPosition>) {
    let announced = |map: &FreeMap, group, vbn| {
        let place = map.position(group, vbn);
        map.prefetch(place);
        place
    };
    match groups {
        [Group { map, .. }] => {
            places.extend(blocks.iter().map(|vbn| announced(map, GroupIndex(0), *vbn)));
        }
        _ => places.extend(blocks.iter().map(|vbn| {
            let index = group_of(groups, *vbn);
            let Group { map, first_vbn, .. } = &groups[index.index()];
            announced(map, index, Vbn(vbn.0 - first_vbn))
        })),
    }
}
