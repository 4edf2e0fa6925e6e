//! Blocks that a policy keeps apart by the hints of their writers: a cursor for each stream.
//!
//! Whatever blocks with a hint change of the cursors is swapped in before and out after. So blocks without a hint, and
//! all blocks of a policy that has one stream, take the same path as ever.

use strewn_raid::{SpindleIndex, SpindleSet, Vbn};

use super::{Aggregate, AllocateError, Cursor, Group};
use crate::lifetime::{SpindleChoice, StreamIndex, WriteLifetime};

/// All spindles that a group can have.
pub(super) const EVERY_SPINDLE: SpindleSet = SpindleSet(u64::MAX);

impl<T: Copy> Aggregate<T> {
    /// Allocates the next free block as [`allocate`](Self::allocate) does, among those of blocks with the same
    /// `lifetime` if the policy tells them apart ([`Policy::stream`](crate::Policy::stream)).
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_with(
        &mut self,
        what: T,
        lifetime: WriteLifetime,
    ) -> Result<Vbn, AllocateError> {
        self.with_lifetime(lifetime, |aggregate| aggregate.allocate(what))
    }

    /// Allocates a block for each of `contents` as [`allocate_all`](Self::allocate_all) does, among those of blocks
    /// with the same `lifetime` if the policy tells them apart ([`Policy::stream`](crate::Policy::stream)).
    ///
    /// # Errors
    /// As [`allocate_all`](Self::allocate_all).
    pub fn allocate_all_with(
        &mut self,
        contents: &[T],
        lifetime: WriteLifetime,
        placed: impl FnMut(T, Vbn),
    ) -> Result<(), AllocateError> {
        self.with_lifetime(lifetime, |aggregate| aggregate.allocate_all(contents, placed))
    }

    /// Allocates a block as [`allocate_behind`](Self::allocate_behind) does, among those of blocks with the same
    /// `lifetime` if the policy tells them apart and none is free behind `neighbour`.
    ///
    /// # Errors
    /// As [`allocate_behind`](Self::allocate_behind).
    pub fn allocate_behind_with(
        &mut self,
        what: T,
        neighbour: Option<Vbn>,
        lifetime: WriteLifetime,
    ) -> Result<Vbn, AllocateError> {
        self.with_lifetime(lifetime, |aggregate| aggregate.allocate_behind(what, neighbour))
    }

    /// Whether every tetris stays open until the consistency point is finished.
    #[inline]
    pub(super) fn is_scattered(&self) -> bool {
        self.keeps_near || self.has_streams()
    }

    /// Whether a policy tells streams apart.
    #[inline]
    fn has_streams(&self) -> bool {
        self.representatives != [WriteLifetime::NotSet; WriteLifetime::ALL.len()]
    }

    fn with_lifetime<R>(
        &mut self,
        lifetime: WriteLifetime,
        allocate: impl FnOnce(&mut Self) -> R,
    ) -> R {
        // Hints that mean the same to all groups also have their turn together.
        let lifetime = self.representatives[lifetime as usize];
        if lifetime == WriteLifetime::NotSet {
            return allocate(self);
        }
        self.exchange(lifetime);
        self.lifetime = lifetime;
        let result = allocate(self);
        self.lifetime = WriteLifetime::NotSet;
        self.exchange(lifetime);
        result
    }

    /// Exchanges the cursors of blocks without a hint for those of blocks with `lifetime`, or back.
    fn exchange(&mut self, lifetime: WriteLifetime) {
        std::mem::swap(&mut self.turn, &mut self.turns[lifetime as usize]);
        self.groups.iter_mut().for_each(|group| group.exchange(lifetime));
    }
}

impl Cursor {
    /// The cursor of a stream that has had no block. The first chunk goes to the spindle after `spindle`.
    pub(super) fn before(spindle: u16) -> Self {
        Self {
            area_end: 0,
            next_stripe: 0,
            row: 0,
            window: 0,
            window_blocks: 0,
            spindle,
            spindles_left: 0,
            available: 0,
        }
    }
}

impl Group {
    /// The cursors of all streams.
    pub(super) fn cursors(&mut self) -> impl Iterator<Item = &mut Cursor> {
        self.parked.iter_mut().map(|(cursor, _)| cursor).chain([&mut self.cursor])
    }

    fn exchange(&mut self, lifetime: WriteLifetime) {
        let stream = self.policy.stream(lifetime);
        if stream == self.policy.stream(WriteLifetime::NotSet) {
            return;
        }
        if self.parked.len() <= stream.index() {
            let last = self.map.group().data_spindles() - 1;
            self.parked.resize(stream.index() + 1, (Cursor::before(last), EVERY_SPINDLE));
        }
        let (cursor, spindles) = &mut self.parked[stream.index()];
        std::mem::swap(&mut self.cursor, cursor);
        std::mem::swap(&mut self.spindles, spindles);
    }

    /// No cursor offers blocks that were just taken.
    pub(super) fn forget_available(&mut self, spindle: SpindleIndex, row: u64, mask: u64) {
        for cursor in self.cursors() {
            if cursor.row == row && cursor.spindle == spindle.0 {
                cursor.available &= !mask;
            }
        }
    }

    /// An area with a free block, the policy's choice if it has one.
    pub(super) fn choose_area(&mut self, lifetime: WriteLifetime) -> Option<u32> {
        let Self { map, policy, parked, .. } = self;
        let stream = policy.stream(lifetime);
        let filled = parked.iter().filter_map(|(cursor, _)| cursor.area_end.checked_sub(1));
        let filled = filled.map(|stripe| map.area_of(stripe));
        let others: Vec<u32> = filled.filter(|area| !map.areas().is_withheld(*area)).collect();
        let areas = map.areas_mut();
        others.iter().for_each(|area| areas.withhold(*area));
        let chosen = policy.next_area_of(stream, areas);
        let chosen = chosen.filter(|area| *area < areas.count() && areas.free_blocks_in(*area) > 0);
        let chosen = chosen.or_else(|| areas.emptiest().map(|(area, _)| area)).or_else(|| {
            // What is withheld is better than nothing.
            areas.withheld().iter().copied().find(|area| areas.free_blocks_in(*area) > 0)
        });
        others.iter().for_each(|area| areas.release(*area));
        chosen
    }

    /// Asks the policy on which spindles `area` is filled, if it chooses them.
    pub(super) fn choose_spindles(&mut self, lifetime: WriteLifetime, area: u32) {
        if !self.policy.chooses_spindles() {
            return;
        }
        let free_blocks = self.map.free_blocks_by_spindle(area);
        let stream: StreamIndex = self.policy.stream(lifetime);
        let choice = SpindleChoice { stream, area, free_blocks: &free_blocks };
        let chosen = self.policy.spindles(&choice);
        let is_usable = !chosen.intersection(choice.with_free()).is_empty();
        self.spindles = if is_usable { chosen } else { EVERY_SPINDLE };
    }
}
