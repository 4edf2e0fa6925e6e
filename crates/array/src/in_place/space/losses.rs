//! Lost chunks: where they are now, and which stripes may not change meanwhile.
//!
//! A lost chunk is computed from the rest of its stripe, which must not change while it is read. A destage therefore
//! skips the stripes of recoveries and of segments being rebuilt, and those wait for a destage in flight. An array that
//! has lost nothing and met no bad block does none of this. All of it is a disk group's own: what one has lost holds up
//! no other.
//!
//! Exclusive or costs no processor time here. Commands and sectors do.

use std::collections::BTreeSet;
use std::ops::Range;

use strewn_base::state::SavedValue;
use strewn_raid::{Member, MemberSet, SpareSegments, SpindleIndex, StripeUnit, StripedLayout};

use crate::read_locks::ReadLocks;

use super::layout::LunLayout;
use super::segments::Segments;

/// What a disk group has lost, since a spindle of it failed or a block was bad. Its spindles are numbered within it.
#[derive(SavedValue)]
pub(crate) struct Losses {
    /// Spindles that failed and are not fully rebuilt in place.
    pub(crate) lost: Vec<LostSpindle>,
    /// Whether a spindle has ever failed.
    pub(crate) has_failed: bool,
    /// Reserve for lost segments, if the layout has any.
    spares: Option<SpareSegments>,
    /// Further failures that the reserve can absorb.
    reserve: u16,
    /// Stripes with data that have no place until a chunk is rebuilt.
    pub(crate) set_aside: BTreeSet<u64>,
    /// Segments being rebuilt: their stripes are locked.
    under_way: Vec<Rebuilding>,
    /// The stripes that recoveries are reading, each as often as it is read.
    read_stripes: ReadLocks,
}

/// A spindle that failed, and where its segments are now.
#[derive(SavedValue)]
pub(crate) struct LostSpindle {
    pub(crate) spindle: SpindleIndex,
    pub(crate) segments: Segments,
    pub(crate) on_reserve: bool,
    /// A new device has replaced it, and receives its segments.
    pub(crate) is_replaced: bool,
    /// Index of its failure, among all of the array.
    pub(crate) failure: usize,
}

/// A segment being rebuilt.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct Rebuilding {
    pub(crate) spindle: SpindleIndex,
    pub(crate) segment: u64,
    /// The stripes of its RStore.
    pub(crate) stripes: Range<u64>,
    /// Where it goes.
    pub(crate) target: StripeUnit,
}

impl Losses {
    /// Nothing lost. `reserve` is the number of failures that the spares absorb.
    pub(crate) fn new(spares: Option<SpareSegments>, reserve: u16) -> Self {
        Self {
            lost: Vec::new(),
            has_failed: false,
            reserve: if spares.is_some() { reserve } else { 0 },
            spares,
            set_aside: BTreeSet::new(),
            under_way: Vec::new(),
            read_stripes: ReadLocks::default(),
        }
    }

    /// Where a sector of the layout is now; `None` if it is lost.
    pub(crate) fn place(&self, spindle: SpindleIndex, sector: u64) -> Option<(SpindleIndex, u64)> {
        match self.lost.iter().find(|lost| lost.spindle == spindle) {
            None => Some((spindle, sector)),
            Some(lost) => lost.segments.place(sector),
        }
    }

    /// Where a sector of a lost spindle has been rebuilt, if it has.
    pub(crate) fn rebuilt_place(
        &self,
        spindle: SpindleIndex,
        sector: u64,
    ) -> Option<(SpindleIndex, u64)> {
        self.lost.iter().find(|lost| lost.spindle == spindle)?.segments.place(sector)
    }

    /// The members of a stripe that are lost.
    pub(crate) fn lost_of(&self, layout: &LunLayout, stripe: u64) -> MemberSet {
        let units = layout.stripe(stripe);
        let lost =
            units.units().filter(|(_, unit)| self.place(unit.spindle, unit.sector).is_none());
        lost.map(|(member, _)| member).collect()
    }

    /// Whether a destage must leave out `stripe`: it is being read to compute lost chunks, or has data set aside.
    pub(crate) fn is_kept(&self, stripe: u64) -> bool {
        self.end_of_rebuilding(stripe).is_some()
            || self.read_stripes.is_locked(stripe)
            || self.set_aside.contains(&stripe)
    }

    /// The end of the stripes that the rebuild of a segment locks, if `stripe` is one of them.
    pub(crate) fn end_of_rebuilding(&self, stripe: u64) -> Option<u64> {
        let under_way = self.under_way.iter().find(|segment| segment.stripes.contains(&stripe));
        under_way.map(|segment| segment.stripes.end)
    }

    /// No destage may begin in `stripe` until it is unlocked as often as it was locked.
    pub(crate) fn lock_for_reading(&mut self, stripe: u64) {
        self.read_stripes.lock(stripe);
    }

    pub(crate) fn unlock(&mut self, stripe: u64) {
        self.read_stripes.unlock(stripe);
    }

    fn is_under_way(&self, spindle: SpindleIndex, segment: u64) -> bool {
        self.under_way.iter().any(|one| (one.spindle, one.segment) == (spindle, segment))
    }

    /// Whether a lost chunk will be rebuilt, on reserve or on a new device.
    pub(crate) fn will_be_rebuilt(&self, layout: &LunLayout, stripe: u64, member: Member) -> bool {
        let unit = layout.stripe(stripe).unit(member);
        let segment = unit.sector / layout.segment_sectors();
        let lost = self.lost.iter().find(|lost| lost.spindle == unit.spindle);
        let is_next = |lost: &LostSpindle| lost.has_room() && segment >= lost.segments.next as u64;
        self.is_under_way(unit.spindle, segment) || lost.is_some_and(is_next)
    }

    /// Records that a spindle has failed, or the device that replaced it, as the failure of number `failure`. `used` is
    /// the number of its segments that the LUNs use. Returns what is known of it; `None` if it had failed already.
    pub(crate) fn lose(
        &mut self,
        layout: &LunLayout,
        spindle: SpindleIndex,
        failure: usize,
        used: u64,
    ) -> Option<&LostSpindle> {
        let position = self.lost.iter().position(|lost| lost.spindle == spindle);
        if position.is_some_and(|position| !self.lost[position].is_replaced) {
            return None;
        }
        self.has_failed = true;
        let had_reserve = position.is_some_and(|position| self.lost[position].on_reserve);
        let on_reserve = had_reserve || self.reserve > 0;
        self.reserve -= u16::from(on_reserve && !had_reserve);
        let at = position.unwrap_or_else(|| {
            let segments = Segments::lost(layout, spindle, used);
            let (on_reserve, is_replaced) = (false, false);
            self.lost.push(LostSpindle { spindle, segments, on_reserve, is_replaced, failure });
            self.lost.len() - 1
        });
        let lost = &mut self.lost[at];
        (lost.on_reserve, lost.is_replaced, lost.failure) = (on_reserve, false, failure);
        lost.segments.next = 0;
        Some(lost)
    }

    /// The next lost segment with room to rebuild it. Takes the room, and locks its stripes.
    pub(crate) fn begin_next(&mut self, layout: &LunLayout) -> Option<Rebuilding> {
        loop {
            let has_next = |lost: &&mut LostSpindle| {
                lost.has_room() && lost.segments.next < lost.segments.len()
            };
            let lost = self.lost.iter_mut().find(has_next)?;
            let (spindle, segment) = (lost.spindle, lost.segments.next as u64);
            lost.segments.next += 1;
            let is_wanted = if lost.is_replaced {
                !lost.segments.is_at_home(segment as usize)
            } else {
                lost.segments.is_lost(segment as usize)
            };
            let is_replaced = lost.is_replaced;
            if !is_wanted || self.is_under_way(spindle, segment) {
                continue;
            }
            let segment_sectors = layout.segment_sectors();
            let Some((stripe, _)) = layout.stripe_on(spindle, segment * segment_sectors) else {
                continue;
            };
            let target = self.target_of(layout, stripe, (spindle, segment), is_replaced);
            let Some(target) = target else {
                // Nothing will rebuild this segment, so nothing may wait for it.
                self.set_aside.clear();
                continue;
            };
            // Segment and RStore have their first chunk in the same stripe.
            let stripes = stripe..stripe + segment_sectors / layout.unit_sectors();
            let rebuilding = Rebuilding { spindle, segment, stripes, target };
            self.under_way.push(rebuilding.clone());
            return Some(rebuilding);
        }
    }

    /// Where a lost segment whose RStore begins with `stripe` is rebuilt: at home if its spindle has been replaced,
    /// otherwise on reserve. `None` if there is no room.
    fn target_of(
        &mut self,
        layout: &LunLayout,
        stripe: u64,
        (spindle, segment): (SpindleIndex, u64),
        is_replaced: bool,
    ) -> Option<StripeUnit> {
        let home = StripeUnit { spindle, sector: segment * layout.segment_sectors() };
        if is_replaced {
            return Some(home);
        }
        let (LunLayout::Vraid(vraid), Some(spares)) = (layout, &mut self.spares) else {
            return None;
        };
        let lost = &self.lost;
        let has_failed = |spindle: SpindleIndex| lost.iter().any(|lost| lost.spindle == spindle);
        // A segment that was given up has its room already, unless that was lost since.
        let before = spares.now_at(vraid, home);
        if !has_failed(before.spindle) {
            return Some(before);
        }
        // The spares do not know what has moved home to a spindle that was replaced.
        let units = layout.stripe(stripe);
        let in_use: Vec<SpindleIndex> = units
            .units()
            .filter_map(|(_, unit)| match lost.iter().find(|lost| lost.spindle == unit.spindle) {
                None => Some(unit.spindle),
                Some(lost) => lost.segments.place(unit.sector).map(|(spindle, _)| spindle),
            })
            .collect();
        let may_not = |spindle| has_failed(spindle) || in_use.contains(&spindle);
        spares.replace(vraid, spindle, segment, may_not)
    }

    fn end_rebuilding(&mut self, segment: &Rebuilding) {
        let is_it =
            |one: &Rebuilding| (one.spindle, one.segment) == (segment.spindle, segment.segment);
        self.under_way.retain(|one| !is_it(one));
    }

    /// The rebuild of a segment has been given up: the segment is next again.
    pub(crate) fn give_up_rebuilding(&mut self, segment: &Rebuilding) {
        self.end_rebuilding(segment);
        if let Some(lost) = self.lost.iter_mut().find(|lost| lost.spindle == segment.spindle) {
            lost.segments.next = lost.segments.next.min(segment.segment as usize);
        }
    }

    /// A segment has been rebuilt. Returns what is known of its spindle.
    pub(crate) fn on_rebuilt(&mut self, segment: &Rebuilding) -> Option<&LostSpindle> {
        self.end_rebuilding(segment);
        self.set_aside.retain(|stripe| !segment.stripes.contains(stripe));
        let lost = self.lost.iter_mut().find(|lost| lost.spindle == segment.spindle)?;
        let StripeUnit { spindle, sector } = segment.target;
        lost.segments.put(segment.segment as usize, spindle, sector);
        Some(lost)
    }

    /// Drops a spindle that is fully rebuilt in place, and frees its reserve. While other spindles use reserve, its
    /// room stays assigned, in case it fails again.
    pub(crate) fn drop_rebuilt_spindle(
        &mut self,
        spindle: SpindleIndex,
        spares: impl FnOnce() -> Option<SpareSegments>,
    ) {
        let at_home = |lost: &LostSpindle| lost.spindle == spindle && lost.segments.are_at_home();
        let Some(position) = self.lost.iter().position(at_home) else { return };
        let lost = self.lost.remove(position);
        self.reserve += u16::from(lost.on_reserve);
        if self.lost.is_empty() {
            self.spares = spares();
        }
    }
}

impl LostSpindle {
    /// Whether its segments can be rebuilt, on reserve or on a new device.
    fn has_room(&self) -> bool {
        self.on_reserve || self.is_replaced
    }
}
