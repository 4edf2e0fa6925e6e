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

use std::ops::Range;

use strewn_raid::{MemberSet, SpindleIndex, StripeMember, StripeUnit, StripedLayout};

use crate::driver::{Direction, Driver, SpindleCommand, Tag};
use crate::payload::{Holds, Payload};

use super::blocks::{self, BlockSet, blocks_touched, bytes_of, sectors_of_block};
use super::degraded::LostSpindle;
use super::{BLOCK_SECTORS, DESTAGE, InPlace, REDUNDANCY};

/// Sectors that are read and written at a time, if a chunk is not larger.
const PART_SECTORS: u64 = 512;

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
    bytes: PartBytes,
}

/// What has been read of a part; all of it empty without bytes.
#[derive(Default)]
struct PartBytes {
    sum: Vec<u8>,
    gone: BlockSet,
    /// The part as it was on reserve, if some blocks of it were bad there: those.
    copied: Option<(Vec<u8>, BlockSet)>,
}

impl PartBytes {
    /// A part that was computed because blocks of its copy were bad: the others are as they were copied.
    fn join_copy(&mut self, sectors: u32) {
        let Some((copy, bad)) = self.copied.take() else { return };
        if self.sum.is_empty() {
            self.sum.clone_from(&copy);
        }
        for block in 0..blocks_touched(0, sectors) {
            if !bad.contains(block) {
                let bytes = bytes_of(&sectors_of_block(0, sectors, block));
                self.sum[bytes.clone()].copy_from_slice(&copy[bytes]);
                self.gone.remove(block);
            }
        }
    }
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

    pub(super) fn spindle(&self) -> SpindleIndex {
        self.spindle
    }

    pub(super) fn is_of(&self, spindle: SpindleIndex, segment: u64) -> bool {
        (self.spindle, self.segment) == (spindle, segment)
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
            let segment_sectors = layout.config().segment_sectors();
            let Some((stripe, _)) = layout.stripe_on(spindle, segment * segment_sectors) else {
                continue;
            };
            // Segment and RStore have their first chunk in the same stripe.
            let end_stripe = stripe + segment_sectors / layout.unit_sectors();
            let sector = segment * segment_sectors;
            let home = StripeUnit { spindle, sector };
            let target = if is_replaced {
                Some(home)
            } else {
                let failed: Vec<SpindleIndex> =
                    degraded.lost.iter().map(|lost| lost.spindle).collect();
                let is_lost = |spindle: SpindleIndex| failed.contains(&spindle);
                // A step that was given up has its room already, unless that was lost since.
                let before = degraded.spares.now_at(layout, home);
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
                    degraded.spares.replace(layout, spindle, segment, may_not)
                } else {
                    Some(before)
                }
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
                bytes: PartBytes::default(),
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
        let on_reserve = degraded.place(step.spindle, sector);
        let is_copied = on_reserve.is_some() && step.bytes.copied.is_none();
        let places = if let (Some(place), true) = (on_reserve, is_copied) {
            vec![place]
        } else {
            let lost = degraded.lost_of(layout, stripe).with(member);
            // The stripes of a part have their members on the same spindles, one behind the other, in other roles.
            match layout.shape().plan_read(MemberSet::single(member), lost) {
                Ok(plan) => self.places_of(stripe, plan.read, 0),
                // Bad where it is on reserve, and another spindle is lost.
                Err(_) => Vec::new(),
            }
        };
        self.counters.rebuild_reads += places.len() as u64;
        if places.is_empty() {
            self.nothing_to_read_for(slot, driver);
        } else {
            self.send_part(slot, Stage::Reading, &places, driver);
        }
    }

    fn nothing_to_read_for(&mut self, slot: usize, driver: &mut impl Driver<P>) {
        let sectors = self.part_sectors() as u32;
        let Some(degraded) = &mut self.degraded else { return };
        let bytes = &mut degraded.steps[slot].bytes;
        bytes.gone = BlockSet::all(blocks_touched(0, sectors));
        self.part_is_read(slot, driver);
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
            let payload = match stage {
                Stage::Writing if P::CARRIES_DATA => self.written_part(slot),
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
            self.send(driver, command);
        }
    }

    /// What is written of a segment.
    fn written_part(&mut self, slot: usize) -> P {
        let sectors = self.part_sectors() as u32;
        let Some(degraded) = &mut self.degraded else { return P::default() };
        let layout = &self.config.layout;
        let step = &mut degraded.steps[slot];
        let (spindle, gone) = (step.spindle, std::mem::take(&mut step.bytes.gone));
        let first = step.segment * layout.config().segment_sectors() + step.done_sectors;
        let mut payload = P::from_bytes(std::mem::take(&mut step.bytes.sum));
        self.bad_blocks.left_out += gone.len() as u64;
        blocks::describe(&mut payload, first, sectors, |block| {
            match layout.lun_sector_of(spindle, first + block as u64 * BLOCK_SECTORS) {
                // Reserve and a new device hold something else: it must not be taken for what is gone.
                _ if gone.contains(block) => Holds::Gone,
                Some(StripeMember::Data { lun_sector }) => Holds::Lun(lun_sector / BLOCK_SECTORS),
                Some(StripeMember::Parity { .. }) => Holds::Parity,
                None => Holds::Nothing,
            }
        });
        payload
    }

    /// A command of a step has completed, with what a read brought but for the blocks that are gone; or it failed, and
    /// then the step is given up.
    pub(super) fn rebuild_progress(
        &mut self,
        now_ns: u64,
        tag: Tag,
        came: Option<(&P, &BlockSet)>,
        driver: &mut impl Driver<P>,
    ) {
        let slot = (tag.0 >> 32) as usize;
        let part = self.part_sectors();
        let segment_sectors = self.config.layout.config().segment_sectors();
        let Some(degraded) = &mut self.degraded else { return };
        let step = &mut degraded.steps[slot];
        step.awaited -= 1;
        if P::CARRIES_DATA
            && let Some((payload, gone)) = came
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
            self.part_is_read(slot, driver);
            return;
        }
        let StripeUnit { spindle, sector: first_sector } = step.target;
        step.done_sectors += part;
        if step.done_sectors < segment_sectors {
            self.read_part(slot, driver);
            return;
        }
        let step = degraded.steps.remove(slot);
        let stripes = step.stripes();
        degraded.set_aside.retain(|stripe| !stripes.contains(stripe));
        if let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == step.spindle) {
            lost.segments.put(step.segment as usize, spindle, first_sector);
            let failure = &mut degraded.failures[lost.failure];
            failure.rebuilt = lost.segments.rebuilt();
            if lost.segments.are_whole() {
                failure.rebuilt_ns.get_or_insert(now_ns);
            }
            degraded.is_home(step.spindle);
        }
        self.stripes_are_free(driver);
    }

    /// All that a part is computed from has been read. What is bad on reserve is computed from the rest of the stripe.
    fn part_is_read(&mut self, slot: usize, driver: &mut impl Driver<P>) {
        let sectors = self.part_sectors() as u32;
        let Some(degraded) = &mut self.degraded else { return };
        let step = &mut degraded.steps[slot];
        if P::CARRIES_DATA {
            let bytes = &mut step.bytes;
            let sector =
                (step.segment * self.config.layout.config().segment_sectors()) + step.done_sectors;
            let was_copied = degraded
                .lost
                .iter()
                .find(|lost| lost.spindle == step.spindle)
                .is_some_and(|lost| lost.segments.place(sector).is_some());
            if was_copied && bytes.copied.is_none() && !bytes.gone.is_empty() {
                let copy = std::mem::take(&mut bytes.sum);
                bytes.copied = Some((copy, std::mem::take(&mut bytes.gone)));
                self.read_part(slot, driver);
                return;
            }
            bytes.join_copy(sectors);
        }
        let place = (step.target.spindle, step.target.sector + step.done_sectors);
        self.counters.rebuild_writes += 1;
        self.send_part(slot, Stage::Writing, &[place], driver);
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
