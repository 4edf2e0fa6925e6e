//! The rebuild of lost segments: onto the distributed reserve, or onto what has taken their spindle's place.
//!
//! An array without spare drives keeps room for rebuilds spread over all of them: [`SpareSegments`] says where a lost
//! segment goes. Rebuilt is what the LUN takes up: the rest of a disk group holds nothing, not even parity. What there is
//! no room for stays lost, and is computed whenever it is read.
//!
//! [`SpareSegments`]: strewn_raid::SpareSegments
//!
//! A set number of segments is under way at once, each a quarter of a MiB at a time. Their RStores are not destaged to
//! until they are whole again. A part is what the parts of the other members add up to, whichever of them has parity:
//! the roles change from stripe to stripe, the sum does not. What is on reserve when the spindle is replaced is copied.

use strewn_raid::{SpindleIndex, StripeUnit, StripedLayout};

use crate::driver::{Driver, Tag};
use crate::payload::Payload;

use super::blocks::{self, BlockSet};
use super::degraded::LostSpindle;
use super::steps::{SliceBytes, Stage, Step};
use super::{InPlace, LunLayout};

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
            self.read_slice(slot, driver);
        }
    }

    /// The next lost segment that there is room for, with the room taken.
    fn next_step(&mut self) -> Option<Step> {
        loop {
            let degraded = self.degraded.as_mut()?;
            let has_next = |lost: &&mut LostSpindle| {
                (lost.on_reserve || lost.is_replaced) && lost.segments.next < lost.segments.len()
            };
            let lost = degraded.lost.iter_mut().find(has_next)?;
            let (spindle, segment) = (lost.spindle, lost.segments.next as u64);
            lost.segments.next += 1;
            let is_wanted = if lost.is_replaced {
                !lost.segments.is_at_home(segment as usize)
            } else {
                lost.segments.is_lost(segment as usize)
            };
            let is_replaced = lost.is_replaced;
            let under_way = degraded.steps.iter().any(|(_, step)| step.is_of(spindle, segment));
            if !is_wanted || under_way {
                continue;
            }
            let layout = &self.config.layout;
            let segment_sectors = layout.segment_sectors();
            let Some((stripe, _)) = layout.stripe_on(spindle, segment * segment_sectors) else {
                continue;
            };
            // Segment and RStore have their first chunk in the same stripe.
            let end_stripe = stripe + segment_sectors / layout.unit_sectors();
            let sector = segment * segment_sectors;
            let home = StripeUnit { spindle, sector };
            let target = if is_replaced {
                Some(home)
            } else if let (LunLayout::Vraid(layout), Some(spares)) = (layout, &mut degraded.spares)
            {
                let failed: Vec<SpindleIndex> =
                    degraded.lost.iter().map(|lost| lost.spindle).collect();
                let is_lost = |spindle: SpindleIndex| failed.contains(&spindle);
                // A step that was given up has its room already, unless that was lost since.
                let before = spares.now_at(layout, home);
                if is_lost(before.spindle) {
                    // The spares know not of what has gone home to a spindle that was replaced.
                    let units = layout.stripe(stripe);
                    let held = units.units().filter_map(|(_, unit)| {
                        let lost = degraded.lost.iter().find(|lost| lost.spindle == unit.spindle);
                        lost.map_or(Some(unit.spindle), |lost| {
                            lost.segments.place(unit.sector).map(|(spindle, _)| spindle)
                        })
                    });
                    let held: Vec<SpindleIndex> = held.collect();
                    let may_not = |spindle| is_lost(spindle) || held.contains(&spindle);
                    spares.replace(layout, spindle, segment, may_not)
                } else {
                    Some(before)
                }
            } else {
                None
            };
            let Some(target) = target else {
                // What waits for this segment waits in vain.
                degraded.set_aside.clear();
                continue;
            };
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
                bytes: SliceBytes::default(),
            });
        }
    }

    /// A command of a step has completed, with what a read brought but for the blocks that are gone; or it failed, and
    /// then the step is given up.
    pub(super) fn on_rebuild_command_done(
        &mut self,
        now_ns: u64,
        tag: Tag,
        outcome: Option<(&P, &BlockSet)>,
        driver: &mut impl Driver<P>,
    ) {
        let slot = (tag.0 >> 32) as usize;
        let part = self.slice_sectors();
        let segment_sectors = self.config.layout.segment_sectors();
        let Some(degraded) = &mut self.degraded else { return };
        let step = &mut degraded.steps[slot];
        step.awaited -= 1;
        if P::CARRIES_DATA
            && let Some((payload, gone)) = outcome
            && step.stage == Stage::Reading
        {
            blocks::add(&mut step.bytes.sum, payload.bytes());
            step.bytes.gone.add(gone);
        }
        if step.awaited > 0 {
            return;
        }
        if step.given_up {
            self.drop_given_up();
            self.stripes_are_free(driver);
            return;
        }
        if step.stage == Stage::Reading {
            self.slice_is_read(slot, driver);
            return;
        }
        let StripeUnit { spindle, sector: first_sector } = step.target;
        step.done_sectors += part;
        if step.done_sectors < segment_sectors {
            self.read_slice(slot, driver);
            return;
        }
        let step = degraded.steps.remove(slot);
        let stripes = step.stripes();
        degraded.set_aside.retain(|stripe| !stripes.contains(stripe));
        if let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == step.spindle) {
            lost.segments.put(step.segment as usize, spindle, first_sector);
            let (share, is_whole) = (lost.segments.rebuilt(), lost.segments.are_whole());
            degraded.failures[lost.failure].note_rebuilt(share, is_whole, now_ns);
            degraded.is_home(&self.config.layout, self.config.lun_sectors, step.spindle);
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
