//! Lost chunks: where they are now, and which stripes may change meanwhile.
//!
//! A lost chunk is computed from the rest of its stripe, which must not change while it is read. A destage therefore
//! skips the stripes of recoveries and of a rebuild's steps, and those wait for a destage in flight. An array that has
//! lost nothing and met no bad block does none of this. All of it is a disk group's own: what one has lost holds up no
//! other.
//!
//! Exclusive or costs no processor time here. Commands and sectors do.

use std::collections::{BTreeSet, VecDeque};

use crate::slots::Slots;
use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::{Member, MemberSet, SpareSegments, SpindleIndex, StripePlan, StripedLayout};

use crate::driver::{Driver, SpindleCommand};
use crate::payload::Payload;

use super::group::DiskGroup;
use super::recovery::Recovery;
use super::segments::Segments;
use super::steps::Step;
use super::{InPlace, LunLayout};

/// State of a disk group that has lost a spindle or met a bad block. Its spindles are numbered within it.
#[derive(SavedValue)]
pub(super) struct Degraded<P> {
    /// Spindles that failed and are not fully rebuilt in place.
    pub(super) lost: Vec<LostSpindle>,
    /// Whether a spindle has ever failed.
    pub(super) has_failed: bool,
    pub(super) recoveries: Slots<Recovery<P>>,
    /// Recoveries that wait for a destage, in order.
    pub(super) waiting: VecDeque<usize>,
    pub(super) steps: Slots<Step>,
    /// Reserve for lost segments, if the layout has any.
    pub(super) spares: Option<SpareSegments>,
    /// Further failures that the reserve can absorb.
    pub(super) reserve: u16,
    /// Stripes with data that have no place until a chunk is rebuilt.
    pub(super) set_aside: BTreeSet<u64>,
}

/// A spindle that failed, and where its segments are now.
#[derive(SavedValue)]
pub(super) struct LostSpindle {
    pub(super) spindle: SpindleIndex,
    pub(super) segments: Segments,
    pub(super) on_reserve: bool,
    /// A new device has replaced it, and receives its segments.
    pub(super) is_replaced: bool,
    /// Index of its failure, among all of the array.
    pub(super) failure: usize,
}

impl<P> Degraded<P> {
    /// Where a sector of the layout is now; `None` if it is lost.
    pub(super) fn place(&self, spindle: SpindleIndex, sector: u64) -> Option<(SpindleIndex, u64)> {
        match self.lost.iter().find(|lost| lost.spindle == spindle) {
            None => Some((spindle, sector)),
            Some(lost) => lost.segments.place(sector),
        }
    }

    /// The members of a stripe that are lost.
    pub(super) fn lost_of(&self, layout: &LunLayout, stripe: u64) -> MemberSet {
        let units = layout.stripe(stripe);
        let lost =
            units.units().filter(|(_, unit)| self.place(unit.spindle, unit.sector).is_none());
        lost.map(|(member, _)| member).collect()
    }

    /// Whether `stripe` is being read to compute a lost chunk.
    pub(super) fn is_read(&self, stripe: u64) -> bool {
        self.steps.iter().any(|(_, step)| step.stripes().contains(&stripe))
            || self
                .recoveries
                .iter()
                .any(|(_, recovery)| recovery.awaited > 0 && recovery.stripe == stripe)
    }

    /// Whether a lost chunk will be rebuilt, on reserve or on a new device.
    pub(super) fn will_be_rebuilt(&self, layout: &LunLayout, stripe: u64, member: Member) -> bool {
        let unit = layout.stripe(stripe).unit(member);
        let segment = unit.sector / layout.segment_sectors();
        let under_way = self.steps.iter().any(|(_, step)| step.is_of(unit.spindle, segment));
        let lost = self.lost.iter().find(|lost| lost.spindle == unit.spindle);
        let has_room = |lost: &LostSpindle| lost.on_reserve || lost.is_replaced;
        under_way || lost.is_some_and(|lost| has_room(lost) && segment >= lost.segments.next as u64)
    }

    /// Whether there were only bad blocks, and all are dealt with.
    fn is_over(&self) -> bool {
        !self.has_failed && self.recoveries.is_empty()
    }

    /// The end of the stripes that a step locks, if `stripe` is one of them.
    pub(super) fn end_of_step(&self, stripe: u64) -> Option<u64> {
        let mut stripes = self.steps.iter().map(|(_, step)| step.stripes());
        stripes.find(|stripes| stripes.contains(&stripe)).map(|stripes| stripes.end)
    }
}

impl<P: Payload> InPlace<P> {
    /// Sends a read within one chunk, or recovers it if the chunk is lost.
    #[inline(always)]
    pub(super) fn send_read(
        &mut self,
        group: GroupIndex,
        mut command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        if let Some(degraded) = &self.groups[group].degraded {
            match degraded.place(command.spindle, command.first_sector) {
                Some((spindle, sector)) => {
                    (command.spindle, command.first_sector) = (spindle, sector);
                }
                None => return self.recover(group, &command, driver),
            }
        }
        self.send(group, command, driver);
    }

    /// Resumes what waited for a stripe: recoveries, then the rebuild, then destages.
    pub(super) fn on_stripes_free(&mut self, group: GroupIndex, driver: &mut impl Driver<P>) {
        if let Some(degraded) = &mut self.groups[group].degraded {
            for slot in std::mem::take(&mut degraded.waiting) {
                self.begin_recovery(group, slot, driver);
            }
            self.advance_rebuild(group, driver);
            self.destage(driver);
        }
        // Bad blocks that are repaired leave nothing behind.
        let degraded = &mut self.groups[group].degraded;
        if degraded.as_ref().is_some_and(|degraded| degraded.is_over()) {
            *degraded = None;
        }
    }
}

impl<P: Payload> DiskGroup<P> {
    /// Where members of a stripe are now, `offset` sectors into their units.
    pub(super) fn places_of(
        &self,
        stripe: u64,
        members: MemberSet,
        offset: u64,
    ) -> Vec<(SpindleIndex, u64)> {
        let units = self.layout.stripe(stripe);
        let placed = members.iter().filter_map(|member| {
            let unit = units.unit(member);
            self.place_now(unit.spindle, unit.sector + offset)
        });
        placed.collect()
    }

    /// Where a sector that the layout puts on `spindle` is now; `None` if it is lost.
    pub(super) fn place_now(
        &self,
        spindle: SpindleIndex,
        sector: u64,
    ) -> Option<(SpindleIndex, u64)> {
        match &self.degraded {
            Some(degraded) => degraded.place(spindle, sector),
            None => Some((spindle, sector)),
        }
    }

    /// Plans an update of one member's data in a stripe with lost members.
    pub(super) fn plan_of_update(&self, stripe: u64, member: Member) -> StripePlan {
        let lost = self.lost_of(stripe);
        let plan = self.layout.shape().plan_update(MemberSet::single(member), lost);
        // Failures that exceed parity have ended the run.
        plan.unwrap_or_else(|loss| unreachable!("{loss}"))
    }
}
