//! The rebuild of lost segments onto the distributed reserve.
//!
//! An array without spare drives keeps room for rebuilds spread over all of them: [`SpareSegments`] says where a lost
//! segment goes. Rebuilt is what the LUN takes up: the rest of a disk group holds nothing, not even parity. What there is
//! no room for stays lost, and is computed whenever it is read.
//!
//! [`SpareSegments`]: strewn_raid::SpareSegments
//!
//! A set number of segments is under way at once, each a quarter of a MiB at a time. Their RStores are not destaged to
//! until they are whole again.

use std::ops::Range;

use strewn_raid::{MemberSet, SpindleIndex, StripeUnit, StripedLayout, VraidLayout};

use crate::driver::{Direction, Driver, SpindleCommand, Tag};
use crate::payload::Payload;

use super::{DESTAGE, InPlace, REDUNDANCY};

/// Sectors that are read and written at a time, if a chunk is not larger.
const PART_SECTORS: u64 = 512;

/// Where the segments of a lost spindle are.
pub(super) struct Segments {
    shift: u32,
    places: Vec<Place>,
    rebuilt: usize,
    /// Segments below are rebuilt, or there is no room for them.
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Lost,
    /// On this spindle, from this sector on.
    At(SpindleIndex, u64),
}

impl Segments {
    /// So many segments of a layout, all of them lost.
    pub(super) fn lost(layout: &VraidLayout, segments: u64) -> Self {
        let shift = layout.config().segment_sectors().trailing_zeros();
        Self { shift, places: vec![Place::Lost; segments as usize], rebuilt: 0, next: 0 }
    }

    pub(super) fn place(&self, sector: u64) -> Option<(SpindleIndex, u64)> {
        match self.places.get((sector >> self.shift) as usize)? {
            Place::Lost => None,
            Place::At(spindle, first) => Some((*spindle, first + sector % (1 << self.shift))),
        }
    }

    /// What was put on another spindle is lost with that one.
    pub(super) fn lose_those_on(&mut self, spindle: SpindleIndex) {
        for place in &mut self.places {
            if matches!(place, Place::At(other, _) if *other == spindle) {
                *place = Place::Lost;
                self.rebuilt -= 1;
                self.next = 0;
            }
        }
    }

    pub(super) fn are_whole(&self) -> bool {
        self.rebuilt == self.places.len()
    }

    /// Share that is rebuilt.
    pub(super) fn rebuilt(&self) -> f64 {
        if self.places.is_empty() { 1.0 } else { self.rebuilt as f64 / self.places.len() as f64 }
    }
}

/// A segment being rebuilt.
pub(super) struct Step {
    spindle: SpindleIndex,
    segment: u64,
    first_stripe: u64,
    end_stripe: u64,
    /// Where it goes.
    target: StripeUnit,
    /// Sectors of the segment that are done.
    done_sectors: u64,
    stage: Stage,
    awaited: u32,
    given_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A destage is at work on its RStore.
    Waiting,
    Reading,
    Writing,
}

impl Step {
    /// The stripes of its RStore.
    pub(super) fn stripes(&self) -> Range<u64> {
        self.first_stripe..self.end_stripe
    }

    /// Another spindle is lost: the step comes to its end, and its segment is begun anew.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }
}

impl<P: Payload> InPlace<P> {
    /// Begins the steps that may begin.
    pub(super) fn advance_rebuild(&mut self, driver: &mut impl Driver<P>) {
        loop {
            let Some(degraded) = &self.degraded else { return };
            if degraded.steps.iter().any(|(_, step)| step.given_up) {
                return;
            }
            let ready = degraded.steps.iter().find(|(_, step)| {
                step.stage == Stage::Waiting && !self.is_destaged(step.stripes())
            });
            let slot = if let Some((slot, _)) = ready {
                slot
            } else {
                if degraded.steps.len() >= self.rebuild.steps_in_flight.max(1) as usize {
                    return;
                }
                let Some(step) = self.next_step() else { return };
                let must_wait = self.is_destaged(step.stripes());
                let Some(degraded) = &mut self.degraded else { return };
                let slot = degraded.steps.insert(step);
                if must_wait {
                    continue;
                }
                slot
            };
            self.read_part(slot, driver);
        }
    }

    /// The next lost segment that there is room for, with the room taken.
    fn next_step(&mut self) -> Option<Step> {
        loop {
            let degraded = self.degraded.as_mut()?;
            let has_next = |lost: &&mut super::degraded::LostSpindle| {
                lost.on_reserve && lost.segments.next < lost.segments.places.len()
            };
            let lost = degraded.lost.iter_mut().find(has_next)?;
            let (spindle, segment) = (lost.spindle, lost.segments.next as u64);
            lost.segments.next += 1;
            let is_lost = lost.segments.places[segment as usize] == Place::Lost;
            let under_way = degraded
                .steps
                .iter()
                .any(|(_, step)| step.spindle == spindle && step.segment == segment);
            if !is_lost || under_way {
                continue;
            }
            let layout = &self.config.layout;
            let segment_sectors = layout.config().segment_sectors();
            let Some((stripe, _)) = layout.stripe_on(spindle, segment * segment_sectors) else {
                continue;
            };
            // Segment and RStore have their first chunk in the same stripe.
            let end_stripe = stripe + segment_sectors / layout.unit_sectors();
            let failed: Vec<SpindleIndex> = degraded.lost.iter().map(|lost| lost.spindle).collect();
            let is_lost = |spindle: SpindleIndex| failed.contains(&spindle);
            // A step that was given up has its room already, unless that was lost since.
            let sector = segment * segment_sectors;
            let before = degraded.spares.now_at(layout, StripeUnit { spindle, sector });
            let target = if is_lost(before.spindle) {
                degraded.spares.replace(layout, spindle, segment, is_lost)
            } else {
                Some(before)
            };
            let Some(target) = target else { continue };
            return Some(Step {
                spindle,
                segment,
                first_stripe: stripe,
                end_stripe,
                target,
                done_sectors: 0,
                stage: Stage::Waiting,
                awaited: 0,
                given_up: false,
            });
        }
    }

    /// Reads what the next part of a segment is computed from.
    fn read_part(&mut self, slot: usize, driver: &mut impl Driver<P>) {
        let Some(degraded) = &self.degraded else { return };
        let layout = &self.config.layout;
        let step = &degraded.steps[slot];
        let stripe = step.first_stripe + step.done_sectors / layout.unit_sectors();
        let sector = step.segment * layout.config().segment_sectors() + step.done_sectors;
        let Some((_, member)) = layout.stripe_on(step.spindle, sector) else { return };
        let lost = degraded.lost_of(layout, stripe);
        let plan = layout.shape().plan_rebuild(MemberSet::single(member), lost);
        // A loss that parity does not make good has ended the run. The stripes of a part have their members on the same
        // spindles, one behind the other, in other roles.
        let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
        let places = self.places_of(stripe, plan.read, 0);
        self.counters.rebuild_reads += places.len() as u64;
        self.send_part(slot, Stage::Reading, &places, driver);
    }

    fn part_sectors(&self) -> u64 {
        let layout = &self.config.layout;
        PART_SECTORS.max(layout.unit_sectors()).min(layout.config().segment_sectors())
    }

    fn send_part(
        &mut self,
        slot: usize,
        stage: Stage,
        places: &[(SpindleIndex, u64)],
        driver: &mut impl Driver<P>,
    ) {
        let sectors = self.part_sectors() as u32;
        let Some(degraded) = &mut self.degraded else { return };
        let step = &mut degraded.steps[slot];
        step.stage = stage;
        step.awaited = places.len() as u32;
        let direction = if stage == Stage::Reading { Direction::Read } else { Direction::Write };
        for &(spindle, first_sector) in places {
            let tag = Tag((slot as u64) << 32 | REDUNDANCY | DESTAGE);
            let payload = P::default();
            let command = SpindleCommand {
                tag,
                spindle,
                direction,
                first_sector,
                sectors,
                payload,
                all_or_none: false,
            };
            self.send(driver, command);
        }
    }

    /// A command of a step has completed; or it failed, and then the step is given up.
    pub(super) fn rebuild_progress(&mut self, now_ns: u64, tag: Tag, driver: &mut impl Driver<P>) {
        let slot = (tag.0 >> 32) as usize;
        let part = self.part_sectors();
        let segment_sectors = self.config.layout.config().segment_sectors();
        let Some(degraded) = &mut self.degraded else { return };
        let step = &mut degraded.steps[slot];
        step.awaited -= 1;
        if step.awaited > 0 {
            return;
        }
        if step.given_up {
            self.drop_given_up();
            self.stripes_are_free(driver);
            return;
        }
        let StripeUnit { spindle, sector: first_sector } = step.target;
        if step.stage == Stage::Reading {
            let place = (spindle, first_sector + step.done_sectors);
            self.counters.rebuild_writes += 1;
            self.send_part(slot, Stage::Writing, &[place], driver);
            return;
        }
        step.done_sectors += part;
        if step.done_sectors < segment_sectors {
            self.read_part(slot, driver);
            return;
        }
        let step = degraded.steps.remove(slot);
        if let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == step.spindle) {
            lost.segments.places[step.segment as usize] = Place::At(spindle, first_sector);
            lost.segments.rebuilt += 1;
            let failure = &mut degraded.failures[lost.failure];
            failure.rebuilt = lost.segments.rebuilt();
            failure.rebuilt_ns = lost.segments.are_whole().then_some(now_ns);
        }
        self.stripes_are_free(driver);
    }

    /// Steps that were given up go when no command of them is out; their segments are next again.
    pub(super) fn drop_given_up(&mut self) {
        let Some(degraded) = &mut self.degraded else { return };
        let lost = &mut degraded.lost;
        degraded.steps.retain(|_, step| {
            let gone = step.given_up && step.awaited == 0;
            if gone && let Some(lost) = lost.iter_mut().find(|lost| lost.spindle == step.spindle) {
                lost.segments.next = lost.segments.next.min(step.segment as usize);
            }
            !gone
        });
    }
}
