//! Destages of stripes: what is dirty in a stripe goes out together, if that takes fewer commands than extent by
//! extent.
//!
//! * If all data of a stripe are dirty, data and new parity are written, and nothing is read: see
//!   [`super::full_stripes`].
//! * If a dirty run is as long as two chunks, or at least half of its data are dirty, all dirty data of the stripe go
//!   out with one update of their parity, by read-modify-write or by reconstruct-write: see [`super::partial_stripes`].
//!
//! The elevator asks for more than an extent only where the extent reaches the end of its chunk, so small random writes
//! pay for none of this.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::{MemberSet, StripedLayout};

use crate::driver::Driver;
use crate::payload::Payload;

use super::InPlace;
use super::destage::Destage;
use super::full_stripes::FullStripes;
use super::group::DiskGroup;
use super::partial_stripes::PartialStripe;

/// Sectors that a drive transfers in about the time that it takes to position.
const SECTORS_OF_A_COMMAND: u64 = 512;

/// What a destage of stripes has that one of an extent does not have.
#[derive(SavedValue)]
pub(super) struct StripeDestage<P> {
    /// The dirty sectors that it took, in order.
    taken: Vec<Range<u64>>,
    /// The commands of extents that it counts as.
    load: usize,
    pub(super) partial: Option<PartialStripe<P>>,
}

/// What the elevator takes in place of an extent.
pub(super) enum Stripes<P> {
    Full(FullStripes),
    Partial(PartialStripe<P>),
}

/// Commands that an extent has in flight at a time.
pub(super) const COMMANDS_OF_EXTENT: usize = 2;

/// The commands of extents that commands count as which are in flight together. A command that is longer than those of
/// extents counts as the short ones that a drive would do in its time; otherwise a backlog of long commands would hold
/// up reads longer than one of short commands. Whole extents are counted.
pub(super) fn load_of(commands: usize, sectors: u64) -> usize {
    (commands + (sectors / SECTORS_OF_A_COMMAND) as usize).next_multiple_of(COMMANDS_OF_EXTENT)
}

impl<P: Payload> InPlace<P> {
    /// Begins a destage of stripes. Returns false if it has to wait for others to end.
    pub(super) fn begin_stripes(
        &mut self,
        id: GroupIndex,
        stripes: Stripes<P>,
        driver: &mut impl Driver<P>,
    ) -> bool {
        let group = &mut self.groups[id];
        let load = stripes.load(group);
        // One larger than all that may be in flight goes alone.
        if group.destage_load + load > group.most_commands && !group.destages.is_empty() {
            return false;
        }
        let taken = stripes.sectors_to_take(group);
        for sectors in &taken {
            group.cache.begin_destage(sectors.clone());
        }
        let numbers = stripes.numbers();
        for stripe in numbers.clone() {
            let is_new = group.destaged_stripes.insert(stripe);
            assert!(is_new, "two destages are about to change the parity of one stripe");
        }
        group.destage_load += load;
        let log_drain = self.log_drain.as_mut();
        let of_log_drain = log_drain.is_some_and(|log_drain| log_drain.take(id, &taken));
        self.counters.destages += 1;
        let begin =
            |partial| Destage::of_stripes(StripeDestage { taken, load, partial }, of_log_drain);
        match stripes {
            Stripes::Full(full) => {
                let slot = group.destages.insert(begin(None));
                if group.layout.has_parity() {
                    self.counters.full_stripe_destages += numbers.end - numbers.start;
                }
                self.send_full_stripes(id, slot, full, driver);
            }
            Stripes::Partial(partial) => {
                self.counters.reconstruct_destages += u64::from(partial.is_reconstruct_write());
                let slot = group.destages.insert(begin(Some(partial)));
                self.send_partial_reads(id, slot, driver);
            }
        }
        true
    }
}

impl<P: Payload> DiskGroup<P> {
    /// What an extent from `first` on is better destaged with, if there is anything. No destage of its stripe is in
    /// flight, and nothing else keeps the stripe.
    #[cold]
    #[inline(never)]
    pub(super) fn stripes_from(&self, first: u64) -> Option<Stripes<P>> {
        let (stripe, _) = self.layout.stripe_of(first);
        if self.is_full(stripe) {
            return self.full_stripes_from(stripe).map(Stripes::Full);
        }
        self.partial_stripe_from(first).map(Stripes::Partial)
    }

    /// Whether all data of a stripe are dirty.
    pub(super) fn is_full(&self, stripe: u64) -> bool {
        let sectors = self.layout.sectors_of_stripe(stripe);
        sectors.end <= self.end_sector
            && self.cache.dirty_run_end(sectors.start, sectors.end) == sectors.end
    }

    /// Whether a stripe is being read to compute lost chunks, or has data set aside.
    pub(super) fn is_kept(&self, stripe: u64) -> bool {
        self.degraded.as_ref().is_some_and(|degraded| {
            degraded.end_of_step(stripe).is_some()
                || degraded.is_read(stripe)
                || degraded.set_aside.contains(&stripe)
        })
    }

    /// The members of a stripe that are lost.
    pub(super) fn lost_of(&self, stripe: u64) -> MemberSet {
        let degraded = self.degraded.as_ref();
        degraded.map_or(MemberSet::EMPTY, |degraded| degraded.lost_of(&self.layout, stripe))
    }

    /// Takes out a destage that has ended, or given up. Its sectors are still in flight.
    #[inline(always)]
    pub(super) fn remove_destage(&mut self, slot: usize) -> Destage<P> {
        let destage = self.destages.remove(slot);
        let load = destage.stripes.as_ref().map_or(COMMANDS_OF_EXTENT, |stripes| stripes.load);
        self.destage_load -= load;
        match &destage.stripes {
            None => {
                _ = self.destaged_stripes.remove(self.layout.stripe_of(destage.sectors.start).0)
            }
            Some(_) => {
                for stripe in self.stripes_of(&destage) {
                    self.destaged_stripes.remove(stripe);
                }
            }
        }
        destage
    }

    /// The stripes that a destage writes to.
    pub(super) fn stripes_of(&self, destage: &Destage<P>) -> Range<u64> {
        let (first, _) = self.layout.stripe_of(destage.sectors.start);
        let (last, _) = self.layout.stripe_of(destage.sectors.end - 1);
        first..last + 1
    }
}

impl<P: Payload> Stripes<P> {
    fn numbers(&self) -> Range<u64> {
        match self {
            Self::Full(full) => full.stripes(),
            Self::Partial(one) => one.stripe..one.stripe + 1,
        }
    }

    fn load(&self, group: &DiskGroup<P>) -> usize {
        match self {
            Self::Full(full) => full.load(group.layout.unit_sectors()),
            Self::Partial(one) => one.load(),
        }
    }

    /// The dirty sectors, in order.
    fn sectors_to_take(&self, group: &DiskGroup<P>) -> Vec<Range<u64>> {
        match self {
            Self::Full(full) => {
                let stripes = full.stripes();
                let first = group.layout.sectors_of_stripe(stripes.start);
                let last = group.layout.sectors_of_stripe(stripes.end - 1);
                std::iter::once(first.start..last.end).collect()
            }
            Self::Partial(one) => one.dirty_sectors(&group.layout),
        }
    }
}

impl<P> Destage<P> {
    /// A destage that takes what `stripes` took.
    fn of_stripes(stripes: StripeDestage<P>, of_log_drain: bool) -> Self
    where
        P: Payload,
    {
        let start = stripes.taken.first().map_or(0, |sectors| sectors.start);
        let end = stripes.taken.last().map_or(0, |sectors| sectors.end);
        Self {
            of_log_drain,
            stripes: Some(Box::new(stripes)),
            ..Self::of_extent(start..end, None, P::default())
        }
    }

    /// The dirty sectors that it took.
    pub(super) fn taken(&self) -> &[Range<u64>] {
        match &self.stripes {
            None => std::slice::from_ref(&self.sectors),
            Some(stripes) => &stripes.taken,
        }
    }
}
