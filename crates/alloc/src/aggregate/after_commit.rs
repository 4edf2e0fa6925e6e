//! What the open consistency point changes in the maps, and what its commit will: for a store that saves them before.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use strewn_raid::{ROW_STRIPES, SpindleIndex, Vbn};

use super::{Aggregate, Taken};
use crate::delayed_frees::REGION_BLOCKS;
use crate::free_map::MapPosition;
use crate::group_index::GroupIndex;

impl<T: Copy> Aggregate<T> {
    /// The words of the maps in which the open consistency point has allocated blocks. Those of the tetris being filled
    /// are given for all spindles.
    pub(crate) fn words_taken(&self) -> impl Iterator<Item = (GroupIndex, u64)> + '_ {
        let word =
            |group: GroupIndex, spindle, row| self.groups[group.index()].map.word(spindle, row);
        let taken = self.taken.iter();
        let taken = taken
            .map(move |Taken { group, spindle, row, .. }| (*group, word(*group, *spindle, *row)));
        let open = self.open.iter().flat_map(move |open| {
            let (group, row) = (open.tetris.group, open.tetris.first_stripe / ROW_STRIPES);
            let spindles = self.groups[group.index()].map.group().data_spindles();
            (0..spindles).map(move |spindle| (group, word(group, SpindleIndex(spindle), row)))
        });
        taken.chain(open)
    }

    /// The open consistency point will allocate about `blocks` more.
    pub(crate) fn expect_more(&mut self, blocks: u64) {
        self.expected_blocks = self.allocated_blocks + blocks;
    }

    /// The bit of `vbn`, which exists, in the map of its group.
    pub(crate) fn bit_of(&self, vbn: Vbn) -> MapPosition {
        self.map_position(self.place_of(vbn))
    }

    /// The blocks freed since the last commit, except for the first `skip`.
    pub(crate) fn freed_since(&self, skip: usize) -> impl Iterator<Item = Vbn> + '_ {
        self.freed[skip..].iter().map(|place| self.vbn_at(*place))
    }

    /// Whether frees are delayed, so that a commit may free others than those freed since the last.
    pub(crate) fn delays_frees(&self) -> bool {
        self.delayed.is_some()
    }

    /// The blocks that the commit makes free, if it comes now. O(blocks freed), and with delayed frees O(regions).
    pub(crate) fn freed_by_commit(&self) -> Vec<Vbn> {
        let Some(delayed) = &self.delayed else { return self.freed_since(0).collect() };
        let mut by_region: HashMap<u32, Vec<Vbn>> = HashMap::new();
        for vbn in self.freed_since(0) {
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
