//! The rebuild of lost segments, onto distributed reserve or onto a replacement of their spindle.
//!
//! An array without spare drives reserves room on all of its drives: [`SpareSegments`] assigns a place to each lost
//! segment. Only segments that the LUN uses are rebuilt; the rest of a disk group holds nothing, not even parity. A
//! segment without room stays lost, and is computed whenever it is read.
//!
//! [`SpareSegments`]: strewn_raid::SpareSegments
//!
//! A fixed number of segments is in flight, each in slices of 256 KiB. Their RStores are not destaged to until they are
//! whole. A slice is the exclusive or of the other members' slices, whichever of them holds parity: roles change from
//! stripe to stripe, the sum does not. When a spindle is replaced, its segments on reserve are copied.

use strewn_alloc::GroupIndex;
use strewn_raid::{SpindleIndex, StripeUnit, StripedLayout};

use crate::driver::Driver;
use crate::payload::Payload;

use super::blocks::{self, BlockSet};
use super::degraded::{Degraded, LostSpindle};
use super::group::DiskGroup;
use super::steps::{SliceBytes, Stage, Step};
use super::tag::TagFields;
use super::{InPlace, LunLayout};

impl<P: Payload> InPlace<P> {
    /// Begins as many steps as may begin.
    pub(super) fn advance_rebuild(&mut self, id: GroupIndex, driver: &mut impl Driver<P>) {
        loop {
            let group = &mut self.groups[id];
            let Some(degraded) = &group.degraded else { return };
            if degraded.steps.iter().any(|(_, step)| step.given_up) {
                return;
            }
            let ready = degraded.steps.iter().find(|(_, step)| {
                step.stage == Stage::Waiting && !group.is_destaged(step.stripes())
            });
            let slot = if let Some((slot, _)) = ready {
                slot
            } else {
                if degraded.steps.len() >= group.rebuild.steps_in_flight.max(1) as usize {
                    return;
                }
                let Some(step) = group.next_step() else { return };
                let must_wait = group.is_destaged(step.stripes());
                let Some(degraded) = &mut group.degraded else { return };
                let slot = degraded.steps.insert(step);
                if must_wait {
                    continue;
                }
                slot
            };
            self.read_slice(id, slot, driver);
        }
    }

    /// A command of a step has completed, a read with all but the blocks that are gone; or it failed, and the step was
    /// given up.
    pub(super) fn on_rebuild_command_done(
        &mut self,
        now_ns: u64,
        tag: TagFields,
        outcome: Option<(&P, &BlockSet)>,
        driver: &mut impl Driver<P>,
    ) {
        let TagFields { group: id, slot, .. } = tag;
        let group = &mut self.groups[id];
        let slice_sectors = group.slice_sectors();
        let segment_sectors = group.layout.segment_sectors();
        let Some(degraded) = &mut group.degraded else { return };
        let step = &mut degraded.steps[slot];
        assert!(step.awaited > 0, "a command has completed that its step did not wait for");
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
            group.drop_given_up();
            self.on_stripes_free(id, driver);
            return;
        }
        if step.stage == Stage::Reading {
            self.on_slice_read(id, slot, driver);
            return;
        }
        let StripeUnit { spindle, sector: first_sector } = step.target;
        step.done_sectors += slice_sectors;
        if step.done_sectors < segment_sectors {
            self.read_slice(id, slot, driver);
            return;
        }
        let step = degraded.steps.remove(slot);
        let stripes = step.stripes();
        degraded.set_aside.retain(|stripe| !stripes.contains(stripe));
        if let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == step.spindle) {
            lost.segments.put(step.segment as usize, spindle, first_sector);
            let (share, is_whole) = (lost.segments.rebuilt(), lost.segments.are_whole());
            self.failures[lost.failure].note_rebuilt(share, is_whole, now_ns);
            group.drop_rebuilt_spindle(step.spindle);
        }
        self.on_stripes_free(id, driver);
    }
}

impl<P: Payload> DiskGroup<P> {
    /// The next lost segment with room to rebuild it. Takes the room.
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
            let layout = &self.layout;
            let segment_sectors = layout.segment_sectors();
            let Some((stripe, _)) = layout.stripe_on(spindle, segment * segment_sectors) else {
                continue;
            };
            // Segment and RStore have their first chunk in the same stripe.
            let end_stripe = stripe + segment_sectors / layout.unit_sectors();
            let target = degraded.target_of(layout, stripe, (spindle, segment), is_replaced);
            let Some(target) = target else {
                // Nothing will rebuild this segment, so nothing may wait for it.
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

    /// Drops the steps that were given up and have no command in flight. Their segments are next again.
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

impl<P> Degraded<P> {
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
        // A step that was given up has its room already, unless that was lost since.
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
}
