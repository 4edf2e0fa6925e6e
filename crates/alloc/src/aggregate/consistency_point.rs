//! The life of a consistency point: begin, free, finish, commit or abandon.

use strewn_raid::{BlockLocation, ROW_STRIPES, Vbn};

use super::{Aggregate, AggregateLocation, CheckpointOpen, NotInUse, Taken};
use crate::delayed_frees::REGION_BLOCKS;
use crate::free_map::{BATCH, FreeMap, MapPosition};
use crate::tetris::Tetris;

impl<T: Copy> Aggregate<T> {
    /// Begins a consistency point that will allocate about `expected_blocks`. Its last tetrises are only as deep as the
    /// remaining blocks allow, so that their stripes are full. Blocks freed since the last commit belong to it.
    ///
    /// # Errors
    /// If one is open.
    pub fn begin(&mut self, expected_blocks: u64) -> Result<(), CheckpointOpen> {
        self.nothing_open()?;
        self.expected_blocks = expected_blocks;
        self.allocated_blocks = 0;
        Ok(())
    }

    /// Frees a block with the commit, or later if frees are delayed. A block freed twice in one consistency point is
    /// freed once.
    ///
    /// # Errors
    /// [`NotInUse`] if it is not in use.
    #[inline]
    pub fn free_at_commit(&mut self, vbn: Vbn) -> Result<(), NotInUse> {
        let place = self.locate(vbn).filter(|place| self.is_used(*place)).ok_or(NotInUse(vbn))?;
        self.freed.push(self.map_position(place));
        Ok(())
    }

    /// Frees all of `blocks` as [`free_at_commit`](Self::free_at_commit) does, but faster if there are many.
    ///
    /// # Errors
    /// [`NotInUse`] with the first that is not in use. Then none is freed.
    pub fn free_all_at_commit(&mut self, blocks: &[Vbn]) -> Result<(), NotInUse> {
        let before = self.freed.len();
        let found = blocks.chunks(BATCH).try_for_each(|batch| self.note_frees(batch));
        if found.is_err() {
            self.freed.truncate(before);
        }
        found
    }

    fn note_frees(&mut self, batch: &[Vbn]) -> Result<(), NotInUse> {
        let before = self.freed.len();
        let first_unused = |aggregate: &Self| {
            let used = |vbn| aggregate.locate(vbn).is_some_and(|place| aggregate.is_used(place));
            batch.iter().find(|vbn| !used(**vbn)).map_or(Ok(()), |vbn| Err(NotInUse(*vbn)))
        };
        let total = self.total_blocks();
        if batch.iter().any(|vbn| vbn.0 >= total) {
            return first_unused(self);
        }
        let mut freed = std::mem::take(&mut self.freed);
        freed.extend(batch.iter().map(|vbn| self.map_position(self.locate_existing(*vbn))));
        self.freed = freed;
        let mut groups = self.freed[before..].chunk_by(|one, next| one.group() == next.group());
        if groups.all(|places| self.groups[places[0].group().index()].map.all_used(places)) {
            return Ok(());
        }
        // Some belong to the tetris being filled, which the map does not know yet, or are not in use.
        first_unused(self)
    }

    #[inline]
    fn map_position(&self, place: AggregateLocation) -> MapPosition {
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

    /// Ends allocation for the open consistency point: tetrises being filled are completed as they are.
    pub fn finish(&mut self) {
        self.close_tetris();
        for (_, open) in std::mem::take(&mut self.scattered) {
            self.closed.push_back(open.close());
        }
        for group in &mut self.groups {
            // Holes left by the last chunk stay free until their area is chosen again.
            group.cursor.available = 0;
            group.cursor.spindle = group.map.group().data_spindles();
        }
    }

    /// Commits the consistency point, whose tetrises must be durable: the blocks it freed become free, except for
    /// delayed frees. Returns how many blocks became free.
    pub fn commit(&mut self) -> u64 {
        self.finish();
        self.closed.clear();
        self.taken.clear();
        self.consistency_points += 1;
        let mut freed = std::mem::take(&mut self.freed);
        let mut released = 0;
        match self.delayed.take() {
            None => {
                released = self.release_all(&freed);
                freed.clear();
            }
            Some(mut delayed) => {
                for place in freed.drain(..) {
                    let vbn = self.vbn_at(place);
                    delayed.hold_back((vbn.0 / REGION_BLOCKS) as u32, vbn);
                }
                while let Some((_, blocks)) = delayed.reclaim(self.options.delayed_frees) {
                    let places = blocks.iter().filter_map(|vbn| self.locate(*vbn));
                    freed.extend(places.map(|place| self.map_position(place)));
                    released += self.release_all(&freed);
                    freed.clear();
                }
                self.delayed = Some(delayed);
            }
        }
        // The next consistency point reuses the memory.
        self.freed = freed;
        self.assert_counts_agree();
        released
    }

    /// Abandons the open consistency point: the blocks it allocated are free again, and the blocks it freed are still
    /// in use.
    pub fn abandon(&mut self) {
        self.finish();
        self.closed.clear();
        self.freed.clear();
        for Taken { group, spindle, row, mask } in std::mem::take(&mut self.taken) {
            let released = self.groups[group.index()].map.release_mask(spindle, row, mask);
            assert!(
                released == mask.count_ones(),
                "{group:?}, {spindle}, row {row}: taken, but free"
            );
        }
        self.assert_counts_agree();
    }

    /// Asserts what every consistency point must leave behind: no tetris open, and counts that agree with the maps.
    fn assert_counts_agree(&self) {
        assert!(self.open.is_none() && self.open_blocks == 0, "a tetris is open after the commit");
        self.free_maps().for_each(FreeMap::assert_counts_agree);
    }

    /// Makes blocks free. Returns how many were in use.
    fn release_all(&mut self, places: &[MapPosition]) -> u64 {
        let groups = places.chunk_by(|one, next| one.group() == next.group());
        groups.map(|places| self.groups[places[0].group().index()].map.release_all(places)).sum()
    }
}
