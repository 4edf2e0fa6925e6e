//! The slices of a segment: each is read from the other members, summed by exclusive or, and written.

use strewn_alloc::GroupIndex;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::{MemberSet, SpindleIndex, StripeMember, StripedLayout};

use crate::driver::Driver;
use crate::payload::{BlockContents, Payload};

use super::super::context::Context;
use super::super::space::blocks::{self, BlockSet, blocks_touched, bytes_of};
use super::super::space::{LunLayout, Run};
use super::super::tag::{Kind, TagFields};
use super::Redundancy;
use super::steps::{Stage, Step};

impl<P: Payload> Redundancy<P> {
    /// Reads what the next slice of a segment is computed from.
    pub(super) fn read_slice(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &cx.space.groups[id];
        let Some(losses) = &group.losses else { return };
        let layout = &group.layout;
        let step = &mut self.groups[id].steps[slot];
        let stripe = step.segment.stripes.start + step.done_sectors / layout.unit_sectors();
        let (spindle, sector) = step.slice_at(layout.segment_sectors());
        let Some((_, member)) = layout.stripe_on(spindle, sector) else { return };
        let on_reserve = losses.place(spindle, sector);
        let is_copied = on_reserve.is_some() && step.bytes.copied.is_none();
        let places = if let (Some(place), true) = (on_reserve, is_copied) {
            vec![place]
        } else {
            let lost = losses.lost_of(layout, stripe).with(member);
            // The stripes of a slice have their members on the same spindles, consecutively, in changing roles.
            match layout.shape().plan_read(MemberSet::single(member), lost) {
                Ok(plan) => group.places_of(stripe, plan.read, 0),
                // The copy on reserve is bad, and another spindle is lost.
                Err(_) => Vec::new(),
            }
        };
        cx.counters.rebuild_reads += places.len() as u64;
        if places.is_empty() {
            step.bytes.gone = BlockSet::all(blocks_touched(0, layout.slice_sectors() as u32));
            self.on_slice_read(id, slot, cx);
        } else {
            self.send_slice((id, slot), Stage::Reading, &places, cx);
        }
    }

    fn send_slice(
        &mut self,
        (group, slot): (GroupIndex, usize),
        stage: Stage,
        places: &[(SpindleIndex, u64)],
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let layout = &cx.space.groups[group].layout;
        let sectors = layout.slice_sectors() as u32;
        let step = &mut self.groups[group].steps[slot];
        step.stage = stage;
        step.awaited = places.len() as u32;
        let direction = if stage == Stage::Reading { Direction::Read } else { Direction::Write };
        for &(spindle, first_sector) in places {
            let payload = if P::CARRIES_DATA && stage == Stage::Writing {
                let (payload, left_out) = written_slice(step, &cx.space.groups[group].layout);
                cx.space.bad_blocks.left_out += left_out;
                payload
            } else {
                P::default()
            };
            let fields = TagFields { kind: Kind::Step, group, slot, detail: 0 };
            cx.send(fields, direction, Run { spindle, first_sector, sectors }, payload);
        }
    }

    /// Everything that a slice is computed from has been read. Blocks that are bad on reserve are computed from the
    /// rest of the stripe.
    pub(super) fn on_slice_read(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &cx.space.groups[id];
        let Some(losses) = &group.losses else { return };
        let step = &mut self.groups[id].steps[slot];
        if P::CARRIES_DATA {
            let (spindle, sector) = step.slice_at(group.layout.segment_sectors());
            let was_copied = losses.rebuilt_place(spindle, sector).is_some();
            let bytes = &mut step.bytes;
            if was_copied && bytes.copied.is_none() && !bytes.gone.is_empty() {
                let copy = std::mem::take(&mut bytes.sum);
                bytes.copied = Some((copy, std::mem::take(&mut bytes.gone)));
                return self.read_slice(id, slot, cx);
            }
            bytes.join_copy(group.layout.slice_sectors() as u32);
        }
        let target = step.segment.target;
        let place = (target.spindle, target.sector + step.done_sectors);
        cx.counters.rebuild_writes += 1;
        self.send_slice((id, slot), Stage::Writing, &[place], cx);
    }
}

/// The payload of a slice, and how many of its blocks it leaves out.
fn written_slice<P: Payload>(step: &mut Step, layout: &LunLayout) -> (P, u64) {
    let sectors = layout.slice_sectors() as u32;
    let (spindle, first) = step.slice_at(layout.segment_sectors());
    let gone = std::mem::take(&mut step.bytes.gone);
    let mut bytes = std::mem::take(&mut step.bytes.sum);
    bytes.resize(bytes_of(&(0..sectors)).len(), 0);
    let mut payload = P::from_bytes(bytes);
    blocks::describe(&mut payload, first, sectors, |block| {
        match layout.lun_sector_of(spindle, first + block as u64 * BLOCK_SECTORS) {
            // Whatever reserve or a new device holds there must not pass for the block that is gone.
            _ if gone.contains(block) => BlockContents::Gone,
            Some(StripeMember::Data { lun_sector }) => {
                BlockContents::lun(lun_sector / BLOCK_SECTORS)
            }
            Some(StripeMember::Parity { .. }) => BlockContents::Parity,
            None => BlockContents::Nothing,
        }
    });
    (payload, gone.len() as u64)
}
