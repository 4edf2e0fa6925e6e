//! What the open consistency point changes in the maps, and what its commit will: for a store that writes the maps to
//! blocks of the aggregate itself, in the same consistency point.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use strewn_raid::{ROW_STRIPES, SpindleIndex, Vbn};

use super::Aggregate;
use crate::delayed_frees::REGION_BLOCKS;
use crate::free_map::MapPosition;
use crate::group_index::GroupIndex;

impl<T: Copy> Aggregate<T> {
    /// The words of the free maps ([`FreeMap::words`](crate::FreeMap::words)) in which the open consistency point has
    /// allocated blocks, each with its group. A word may come more than once, and all those of the tetris being filled
    /// come.
    pub fn allocated_words(&self) -> impl Iterator<Item = (GroupIndex, u64)> + '_ {
        let taken = self.taken.iter().map(|taken| (taken.place.group(), taken.place.word()));
        let open = self.open.iter().flat_map(|open| {
            let (group, row) = (open.tetris.group, open.tetris.first_stripe / ROW_STRIPES);
            let map = &self.groups[group.index()].map;
            let spindles = map.group().data_spindles();
            (0..spindles).map(move |spindle| (group, map.word(SpindleIndex(spindle), row)))
        });
        taken.chain(open)
    }

    /// Corrects the expectation of [`begin`](Self::begin): the open consistency point will allocate about `blocks`
    /// more.
    pub fn expect_more(&mut self, blocks: u64) {
        self.expected_blocks = self.allocated_blocks + blocks;
    }

    /// The bit of `vbn` in the free map of its group.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn map_position(&self, vbn: Vbn) -> MapPosition {
        self.position_at(self.place_of(vbn))
    }

    /// The blocks freed since the last commit, in the order in which they were freed, except for the first `skip`.
    ///
    /// # Panics
    /// If `skip` is more than have been freed.
    pub fn freed_since_commit(&self, skip: usize) -> impl Iterator<Item = Vbn> + '_ {
        self.freed[skip..].iter().map(|place| self.vbn_at(*place))
    }

    /// The blocks that become free if the consistency point is committed now: those freed since the last commit, or
    /// with delayed frees the regions that the commit reclaims. O(blocks freed), and with delayed frees O(regions).
    #[must_use]
    pub fn freed_by_commit(&self) -> Vec<Vbn> {
        let Some(delayed) = &self.delayed else { return self.freed_since_commit(0).collect() };
        let mut by_region: HashMap<u32, Vec<Vbn>> = HashMap::new();
        for vbn in self.freed_since_commit(0) {
            by_region.entry((vbn.0 / REGION_BLOCKS) as u32).or_default().push(vbn);
        }
        let bound = self.options.delayed_frees;
        let mut blocks = delayed.blocks() + self.freed.len() as u64;
        if blocks <= bound {
            return Vec::new();
        }
        // As `DelayedFrees::reclaim` does.
        let size = |region: u32| {
            let added = by_region.get(&region).map_or(0, Vec::len);
            (delayed.blocks_of(region) as usize + added, Reverse(region))
        };
        let mut fullest: BinaryHeap<_> = (0..delayed.regions()).map(size).collect();
        let mut freed = Vec::new();
        while blocks > bound
            && let Some((count, Reverse(region))) = fullest.pop()
        {
            blocks -= count as u64;
            freed.extend(delayed.in_region(region));
            freed.extend(by_region.remove(&region).unwrap_or_default());
        }
        freed
    }
}
