//! The parity groups of an aggregate: which spindles are whose, and how a group is added during a run.
//!
//! An array's spindles are numbered group after group. Within the array, a spindle is named by its group and its number
//! in that group, as the plans of `strewn-raid` name it; commands and failures have the number in the array.

use std::ops::Range;

use strewn_alloc::{AggregateLocation, GroupIndex};
use strewn_raid::{BlockLocation, Dbn, ParityGroup, SpindleIndex, Vbn};

use crate::driver::GroupMeasures;

use super::Space;

/// A parity group with its place in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedGroup {
    /// Its shape: spindles and parity.
    pub group: ParityGroup,
    /// The number in the array of its first spindle.
    pub first_spindle: u16,
    /// The VBN of its first block.
    pub first_vbn: u64,
}

impl PlacedGroup {
    /// `groups` one after another, as an array has them.
    #[must_use]
    pub fn all(groups: &[ParityGroup]) -> Vec<Self> {
        let (mut first_spindle, mut first_vbn) = (0, 0);
        let place = |group: &ParityGroup| {
            let placed = Self { group: *group, first_spindle, first_vbn };
            first_spindle += group.spindles();
            first_vbn += group.total_blocks();
            placed
        };
        groups.iter().map(place).collect()
    }

    /// The one of `groups` that has the block at `vbn`.
    #[must_use]
    pub fn with_block(groups: &[Self], vbn: Vbn) -> Option<&Self> {
        groups.iter().find(|one| (one.first_vbn..one.end_vbn()).contains(&vbn.0))
    }

    /// One more than the VBN of its last block.
    #[must_use]
    pub fn end_vbn(&self) -> u64 {
        self.first_vbn + self.group.total_blocks()
    }

    /// The numbers in the array of its spindles.
    #[must_use]
    pub fn spindles(&self) -> Range<u16> {
        self.first_spindle..self.first_spindle + self.group.spindles()
    }

    /// Where a block of the group lies: the spindle's number in the array, and the block on it.
    #[must_use]
    pub fn locate(&self, vbn: Vbn) -> BlockLocation {
        let BlockLocation { spindle, dbn } = self.group.locate(Vbn(vbn.0 - self.first_vbn));
        BlockLocation { spindle: SpindleIndex(self.first_spindle + spindle.0), dbn }
    }

    /// The VBN of a block of a spindle, which has its number in the array; `None` if the spindle holds parity.
    #[must_use]
    pub fn vbn(&self, spindle: SpindleIndex, dbn: Dbn) -> Option<Vbn> {
        let spindle = SpindleIndex(spindle.0 - self.first_spindle);
        (spindle.0 < self.group.data_spindles())
            .then(|| Vbn(self.first_vbn + self.group.vbn(spindle, dbn).0))
    }
}

impl Space {
    /// The parity group `group`, whether or not it has been added yet.
    #[inline(always)]
    pub(crate) fn group(&self, group: GroupIndex) -> &ParityGroup {
        &self.config.groups[group.index()]
    }

    /// The VBN at `dbn` of a spindle of `group`; `None` if the spindle holds parity.
    pub(crate) fn vbn_at(&self, group: GroupIndex, spindle: SpindleIndex, dbn: u64) -> Option<Vbn> {
        let location = BlockLocation { spindle, dbn: Dbn(dbn) };
        (spindle.0 < self.group(group).data_spindles())
            .then(|| self.aggregate.vbn(AggregateLocation { group, location }))
    }

    /// Blocks of the aggregate's bitmap that describe parity groups that are yet to be added, and nothing else.
    pub(crate) fn later_bitmap_blocks(&self) -> u32 {
        let present = self.keys.aggregate_bitmap_below(self.aggregate.total_blocks());
        self.keys.aggregate_bitmap().end - present.end
    }

    /// Metadata blocks that a consistency point may rewrite: all but those.
    pub(crate) fn metadata_blocks(&self) -> u64 {
        u64::from(self.keys.metadata_blocks() - self.later_bitmap_blocks())
    }

    /// Adds the next parity group, if there is one. Its blocks are free, and can be written from now on.
    pub(crate) fn take_next_group(&mut self) -> bool {
        let Some(group) = self.config.groups.get(self.aggregate.groups()) else { return false };
        self.aggregate
            .add_group(*group)
            .expect("all groups have been checked when the array began");
        self.count_added_group();
        self.note_room();
        true
    }

    /// Each group as it is now, for an aggregate that has or will have several.
    pub(crate) fn measure_groups(&self) -> Vec<GroupMeasures> {
        let free_blocks =
            |index| self.aggregate.free_maps().nth(index).map(|map| map.free_blocks());
        let groups = self.config.groups.iter().enumerate();
        let measured = groups.map(|(index, group)| {
            let first = self.first_spindles.in_array(GroupIndex(index as u16), SpindleIndex(0)).0;
            GroupMeasures {
                spindles: first..first + group.spindles(),
                blocks: group.total_blocks(),
                free_blocks: free_blocks(index),
            }
        });
        measured.filter(|_| self.config.groups.len() > 1).collect()
    }
}
