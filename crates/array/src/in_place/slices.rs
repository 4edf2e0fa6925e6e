//! The slices of a segment: each is read from the other members, summed by exclusive or, and written.

use strewn_alloc::GroupIndex;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::{MemberSet, SpindleIndex, StripeMember, StripedLayout};

use crate::driver::{Driver, SpindleCommand};
use crate::payload::{BlockContents, Payload};

use super::InPlace;
use super::blocks::{self, BlockSet, blocks_touched, bytes_of};
use super::group::DiskGroup;
use super::steps::Stage;
use super::tag::{Kind, TagFields};

/// Sectors of a slice, unless a chunk is larger.
const SLICE_SECTORS: u64 = 512;

impl<P: Payload> InPlace<P> {
    /// Reads what the next slice of a segment is computed from.
    pub(super) fn read_slice(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let group = &self.groups[id];
        let Some(degraded) = &group.degraded else { return };
        let layout = &group.layout;
        let step = &degraded.steps[slot];
        let stripe = step.first_stripe + step.done_sectors / layout.unit_sectors();
        let sector = step.segment * layout.segment_sectors() + step.done_sectors;
        let Some((_, member)) = layout.stripe_on(step.spindle, sector) else { return };
        let on_reserve = degraded.place(step.spindle, sector);
        let is_copied = on_reserve.is_some() && step.bytes.copied.is_none();
        let places = if let (Some(place), true) = (on_reserve, is_copied) {
            vec![place]
        } else {
            let lost = degraded.lost_of(layout, stripe).with(member);
            // The stripes of a slice have their members on the same spindles, consecutively, in changing roles.
            match layout.shape().plan_read(MemberSet::single(member), lost) {
                Ok(plan) => group.places_of(stripe, plan.read, 0),
                // The copy on reserve is bad, and another spindle is lost.
                Err(_) => Vec::new(),
            }
        };
        self.counters.rebuild_reads += places.len() as u64;
        if places.is_empty() {
            self.nothing_to_read_for(id, slot, driver);
        } else {
            self.send_slice((id, slot), Stage::Reading, &places, driver);
        }
    }

    fn nothing_to_read_for(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let group = &mut self.groups[id];
        let sectors = group.slice_sectors() as u32;
        let Some(degraded) = &mut group.degraded else { return };
        let bytes = &mut degraded.steps[slot].bytes;
        bytes.gone = BlockSet::all(blocks_touched(0, sectors));
        self.on_slice_read(id, slot, driver);
    }

    fn send_slice(
        &mut self,
        (id, slot): (GroupIndex, usize),
        stage: Stage,
        places: &[(SpindleIndex, u64)],
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        let sectors = group.slice_sectors() as u32;
        let Some(degraded) = &mut group.degraded else { return };
        let step = &mut degraded.steps[slot];
        step.stage = stage;
        step.awaited = places.len() as u32;
        let direction = if stage == Stage::Reading { Direction::Read } else { Direction::Write };
        for &(spindle, first_sector) in places {
            let tag = TagFields { kind: Kind::Step, group: id, slot, detail: 0 }.pack();
            let payload = match stage {
                Stage::Writing if P::CARRIES_DATA => {
                    let (payload, left_out) = self.groups[id].written_slice(slot);
                    self.bad_blocks.left_out += left_out;
                    payload
                }
                _ => P::default(),
            };
            let command = SpindleCommand {
                tag,
                spindle,
                direction,
                first_sector,
                sectors,
                payload,
                all_or_none: false,
            };
            self.send(id, command, driver);
        }
    }

    /// Everything that a slice is computed from has been read. Blocks that are bad on reserve are computed from the
    /// rest of the stripe.
    pub(super) fn on_slice_read(
        &mut self,
        id: GroupIndex,
        slot: usize,
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        let sectors = group.slice_sectors() as u32;
        let Some(degraded) = &mut group.degraded else { return };
        let step = &mut degraded.steps[slot];
        if P::CARRIES_DATA {
            let bytes = &mut step.bytes;
            let sector = (step.segment * group.layout.segment_sectors()) + step.done_sectors;
            let was_copied = degraded
                .lost
                .iter()
                .find(|lost| lost.spindle == step.spindle)
                .is_some_and(|lost| lost.segments.place(sector).is_some());
            if was_copied && bytes.copied.is_none() && !bytes.gone.is_empty() {
                let copy = std::mem::take(&mut bytes.sum);
                bytes.copied = Some((copy, std::mem::take(&mut bytes.gone)));
                self.read_slice(id, slot, driver);
                return;
            }
            bytes.join_copy(sectors);
        }
        let place = (step.target.spindle, step.target.sector + step.done_sectors);
        self.counters.rebuild_writes += 1;
        self.send_slice((id, slot), Stage::Writing, &[place], driver);
    }
}

impl<P: Payload> DiskGroup<P> {
    pub(super) fn slice_sectors(&self) -> u64 {
        let layout = &self.layout;
        SLICE_SECTORS.max(layout.unit_sectors()).min(layout.segment_sectors())
    }

    /// The payload of a slice, and how many of its blocks it leaves out.
    fn written_slice(&mut self, slot: usize) -> (P, u64) {
        let sectors = self.slice_sectors() as u32;
        let Some(degraded) = &mut self.degraded else { return Default::default() };
        let layout = &self.layout;
        let step = &mut degraded.steps[slot];
        let (spindle, gone) = (step.spindle, std::mem::take(&mut step.bytes.gone));
        let first = step.segment * layout.segment_sectors() + step.done_sectors;
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
}
