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

use crate::driver::Driver;
use crate::payload::Payload;

use super::super::context::{Context, Next};
use super::super::space::DiskGroup;
use super::super::space::blocks::{self, BlockSet};
use super::super::tag::TagFields;
use super::steps::{Stage, Step};
use super::{GroupRedundancy, Redundancy};

impl<P: Payload> Redundancy<P> {
    /// Begins as many steps as may begin.
    pub(crate) fn advance_rebuild(
        &mut self,
        id: GroupIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        while let Some(slot) = self.groups[id].next_to_read(&mut cx.space.groups[id]) {
            self.read_slice(id, slot, cx);
        }
    }

    /// A command of a step has completed, a read with all but the blocks that are gone; or it failed, and the step was
    /// given up.
    pub(crate) fn on_rebuild_command_done(
        &mut self,
        tag: TagFields,
        outcome: Option<(&P, &BlockSet)>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let TagFields { group: id, slot, .. } = tag;
        let group = &mut cx.space.groups[id];
        let DiskGroup { layout, end_sector, losses: Some(losses), .. } = group else { return };
        let slice_sectors = layout.slice_sectors();
        let step = &mut self.groups[id].steps[slot];
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
            self.groups[id].drop_given_up(losses);
            return cx.then(Next::StripesFree(id));
        }
        if step.stage == Stage::Reading {
            return self.on_slice_read(id, slot, cx);
        }
        step.done_sectors += slice_sectors;
        if step.done_sectors < layout.segment_sectors() {
            return self.read_slice(id, slot, cx);
        }
        let Step { segment, .. } = self.groups[id].steps.remove(slot);
        if let Some(lost) = losses.on_rebuilt(&segment) {
            let (share, is_whole) = (lost.segments.rebuilt(), lost.segments.are_whole());
            self.failures[lost.failure].note_rebuilt(share, is_whole, cx.now_ns);
            losses.drop_rebuilt_spindle(segment.spindle, || layout.spares(*end_sector));
        }
        cx.then(Next::StripesFree(id));
    }
}

impl<P> GroupRedundancy<P> {
    /// A step that may begin, which is added if none is waiting; `None` if none may.
    fn next_to_read(&mut self, group: &mut DiskGroup) -> Option<usize> {
        group.losses.as_ref()?;
        if self.steps.iter().any(|(_, step)| step.given_up) {
            return None;
        }
        let may_begin = |(_, step): &(usize, &Step)| {
            step.stage == Stage::Waiting && !group.is_destaged(step.segment.stripes.clone())
        };
        if let Some((slot, _)) = self.steps.iter().find(may_begin) {
            return Some(slot);
        }
        while self.steps.len() < group.rebuild.steps_in_flight.max(1) as usize {
            let segment = group.losses.as_mut()?.begin_next(&group.layout)?;
            let must_wait = group.is_destaged(segment.stripes.clone());
            let slot = self.steps.insert(Step::new(segment));
            if !must_wait {
                return Some(slot);
            }
        }
        None
    }
}
