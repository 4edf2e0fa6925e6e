//! Destages of stripes: what is dirty in a stripe goes out together, if that takes fewer commands than extent by
//! extent.
//!
//! * If all data of a stripe are dirty, data and new parity are written, and nothing is read: see
//!   [`full_stripes`](super::full_stripes).
//! * If a dirty run is as long as two chunks, or at least half of its data are dirty, all dirty data of the stripe go
//!   out with one update of their parity, by read-modify-write or by reconstruct-write: see
//!   [`partial_stripes`](super::partial_stripes).
//!
//! The elevator asks for more than an extent only where the extent reaches the end of its chunk, so small random writes
//! pay for none of this.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::StripedLayout;

use crate::driver::Driver;
use crate::payload::Payload;

use super::super::context::Context;
use super::super::memory::GroupMemory;
use super::super::space::{DiskGroup, LunLayout};
use super::full_stripes::{FullStripes, is_full};
use super::partial_stripes::PartialStripe;
use super::{Destage, Destaging, GroupDestaging};

/// What a destage of stripes has that one of an extent does not have.
#[derive(SavedValue)]
pub(super) struct StripeDestage<P> {
    /// The dirty sectors that it took, in order.
    pub(super) taken: Vec<Range<u64>>,
    /// The commands of extents that it counts as.
    pub(super) load: usize,
    pub(super) partial: Option<PartialStripe<P>>,
}

/// What the elevator takes in place of an extent.
pub(super) enum Stripes<P> {
    Full(FullStripes),
    Partial(PartialStripe<P>),
}

impl<P: Payload> Destaging<P> {
    /// Begins a destage of stripes. Returns false if it has to wait for others to end.
    pub(super) fn begin_stripes(
        &mut self,
        id: GroupIndex,
        stripes: Stripes<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> bool {
        let group = &mut self.groups[id];
        let space = &mut cx.space.groups[id];
        let load = stripes.load(&space.layout);
        // One larger than all that may be in flight goes alone.
        if group.load + load > group.most_commands && !group.destages.is_empty() {
            return false;
        }
        let taken = stripes.sectors_to_take(&space.layout);
        for sectors in &taken {
            cx.memory.groups[id].cache.begin_destage(sectors.clone());
        }
        let numbers = stripes.numbers();
        space.lock_for_destage(numbers.clone());
        group.load += load;
        let log_drain = self.log_drain.as_mut();
        let of_log_drain = log_drain.is_some_and(|log_drain| log_drain.take(id, &taken));
        cx.counters.destages += 1;
        let begin =
            |partial| Destage::of_stripes(StripeDestage { taken, load, partial }, of_log_drain);
        match stripes {
            Stripes::Full(full) => {
                let slot = group.destages.insert(begin(None));
                if space.layout.has_parity() {
                    cx.counters.full_stripe_destages += numbers.end - numbers.start;
                }
                self.send_full_stripes(id, slot, full, cx);
            }
            Stripes::Partial(partial) => {
                cx.counters.reconstruct_destages += u64::from(partial.is_reconstruct_write());
                let slot = group.destages.insert(begin(Some(partial)));
                self.send_partial_reads(id, slot, cx);
            }
        }
        true
    }
}

impl<P: Payload> GroupDestaging<P> {
    /// What an extent from `first` on is better destaged with, if there is anything. No destage of its stripe is in
    /// flight, and nothing else keeps the stripe.
    #[cold]
    #[inline(never)]
    pub(super) fn stripes_from(
        &self,
        first: u64,
        group: &DiskGroup,
        memory: &GroupMemory<P>,
    ) -> Option<Stripes<P>> {
        let (stripe, _) = group.stripe_of(first);
        if is_full(stripe, group, &memory.cache) {
            return self.full_stripes_from(stripe, group, memory).map(Stripes::Full);
        }
        PartialStripe::from(first, group, memory).map(Stripes::Partial)
    }
}

impl<P: Payload> Stripes<P> {
    fn numbers(&self) -> Range<u64> {
        match self {
            Self::Full(full) => full.stripes(),
            Self::Partial(one) => one.stripe..one.stripe + 1,
        }
    }

    fn load(&self, layout: &LunLayout) -> usize {
        match self {
            Self::Full(full) => full.load(layout.unit_sectors()),
            Self::Partial(one) => one.load(),
        }
    }

    /// The dirty sectors, in order.
    fn sectors_to_take(&self, layout: &LunLayout) -> Vec<Range<u64>> {
        match self {
            Self::Full(full) => {
                let stripes = full.stripes();
                let first = layout.sectors_of_stripe(stripes.start);
                let last = layout.sectors_of_stripe(stripes.end - 1);
                std::iter::once(first.start..last.end).collect()
            }
            Self::Partial(one) => one.dirty_sectors(layout),
        }
    }
}
