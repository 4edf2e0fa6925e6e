//! Lost chunks: reads of the rest of their stripes, and which stripes may change meanwhile.
//!
//! A lost chunk is computed from the rest of its stripe, which must not change while it is read: a destage leaves
//! alone the stripes of recoveries and of a rebuild's steps, and they wait for a destage that is at work. An array that
//! has lost nothing knows of none of this.
//!
//! Exclusive or costs the processor nothing here: it is charged for commands and sectors. Nor do lost sectors get bytes:
//! parity payloads are empty, and with them what is computed from them.

use std::collections::VecDeque;

use slab::Slab;
use strewn_raid::{
    Member, MemberSet, SECTOR_BYTES, SpareSegments, SpindleIndex, StripePlan, StripedLayout,
    VraidLayout,
};

use crate::driver::{Direction, Driver, SpindleCommand, Tag};
use crate::failure::{DataLost, Failure};
use crate::payload::Payload;

use super::rebuild::{Segments, Step};
use super::{DESTAGE, InPlace, REDUNDANCY};

/// What an array that has lost a spindle keeps.
pub(super) struct Degraded<P> {
    /// Spindles that failed, whether what they held is there again or not.
    pub(super) lost: Vec<LostSpindle>,
    pub(super) failures: Vec<Failure>,
    recoveries: Slab<Recovery<P>>,
    /// Recoveries that wait for a destage, in order.
    waiting: VecDeque<usize>,
    pub(super) steps: Slab<Step>,
    /// Room for what is lost.
    pub(super) spares: SpareSegments,
    /// Failures that there is reserve for.
    reserve: u16,
}

/// A spindle that failed, and where what it held is now.
pub(super) struct LostSpindle {
    pub(super) spindle: SpindleIndex,
    pub(super) segments: Segments,
    pub(super) on_reserve: bool,
    /// Its place among the failures.
    pub(super) failure: usize,
}

/// A read of sectors that are lost.
struct Recovery<P> {
    /// The read, by the name and place under which it was asked for.
    tag: Tag,
    spindle: SpindleIndex,
    first_sector: u64,
    sectors: u32,
    stripe: u64,
    member: Member,
    /// Commands on their way; none while it waits.
    awaited: u32,
    /// A spindle was lost under it: what is read so far does not do.
    again: bool,
    answer: P,
}

impl<P> Degraded<P> {
    /// Where a sector of the layout is now; nothing if it is lost.
    pub(super) fn place(&self, spindle: SpindleIndex, sector: u64) -> Option<(SpindleIndex, u64)> {
        match self.lost.iter().find(|lost| lost.spindle == spindle) {
            None => Some((spindle, sector)),
            Some(lost) => lost.segments.place(sector),
        }
    }

    /// The members of a stripe that are lost.
    pub(super) fn lost_of(&self, layout: &VraidLayout, stripe: u64) -> MemberSet {
        let units = layout.stripe(stripe);
        let lost =
            units.units().filter(|(_, unit)| self.place(unit.spindle, unit.sector).is_none());
        lost.map(|(member, _)| member).collect()
    }

    /// Whether the contents of `stripe` are being read for what it has lost.
    pub(super) fn is_read(&self, stripe: u64) -> bool {
        self.steps.iter().any(|(_, step)| step.stripes().contains(&stripe))
            || self
                .recoveries
                .iter()
                .any(|(_, recovery)| recovery.awaited > 0 && recovery.stripe == stripe)
    }

    /// The first stripe behind those that a step keeps for itself, if `stripe` is one of them.
    pub(super) fn end_of_step(&self, stripe: u64) -> Option<u64> {
        let mut stripes = self.steps.iter().map(|(_, step)| step.stripes());
        stripes.find(|stripes| stripes.contains(&stripe)).map(|stripes| stripes.end)
    }
}

impl<P: Payload> InPlace<P> {
    /// The stripe of a sector of the LUN, and the member that it is on.
    pub(super) fn stripe_of(&self, lun_sector: u64) -> (u64, Member) {
        let layout = &self.config.layout;
        let chunk = lun_sector / layout.unit_sectors();
        let data = u64::from(layout.shape().data_blocks());
        (chunk / data, Member((chunk % data) as u8))
    }

    /// Whether a destage is at work on one of `stripes`.
    pub(super) fn is_destaged(&self, stripes: std::ops::Range<u64>) -> bool {
        self.destages.iter().any(|(_, destage)| {
            let (stripe, _) = self.stripe_of(destage.sectors.start);
            stripes.contains(&stripe)
        })
    }

    /// Sends a read of sectors of one chunk, or what it takes if they are lost.
    #[inline]
    pub(super) fn send_read(
        &mut self,
        mut command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        if let Some(degraded) = &self.degraded {
            match degraded.place(command.spindle, command.first_sector) {
                Some((spindle, sector)) => {
                    (command.spindle, command.first_sector) = (spindle, sector);
                }
                None => return self.recover(&command, driver),
            }
        }
        self.send(driver, command);
    }

    /// `command` names sectors by their place in the layout.
    #[cold]
    fn recover(&mut self, command: &SpindleCommand<P>, driver: &mut impl Driver<P>) {
        let &SpindleCommand { tag, spindle, first_sector, sectors, .. } = command;
        let Some(degraded) = &mut self.degraded else { return };
        let Some((stripe, member)) = self.config.layout.stripe_on(spindle, first_sector) else {
            unreachable!("{spindle} has no sector {first_sector}")
        };
        let (awaited, again, answer) = (0, false, P::default());
        let slot = degraded.recoveries.insert(Recovery {
            tag,
            spindle,
            first_sector,
            sectors,
            stripe,
            member,
            awaited,
            again,
            answer,
        });
        self.counters.degraded_reads += 1;
        self.begin_recovery(slot, driver);
    }

    fn begin_recovery(&mut self, slot: usize, driver: &mut impl Driver<P>) {
        let Some(degraded) = &self.degraded else { return };
        let recovery = &degraded.recoveries[slot];
        let (stripe, member, sectors) = (recovery.stripe, recovery.member, recovery.sectors);
        let direct = degraded.place(recovery.spindle, recovery.first_sector);
        let offset = recovery.first_sector % self.config.layout.unit_sectors();
        // What has become whole while it waited is read from where it is now.
        let reads = if let Some(place) = direct {
            vec![place]
        } else if self.is_destaged(stripe..stripe + 1) {
            Vec::new()
        } else {
            let lost = degraded.lost_of(&self.config.layout, stripe);
            let shape = self.config.layout.shape();
            let plan = shape.plan_read(MemberSet::single(member), lost);
            // A loss that parity does not make good has ended the run.
            let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
            self.places_of(stripe, plan.read, offset)
        };
        let Some(degraded) = &mut self.degraded else { return };
        if reads.is_empty() {
            degraded.waiting.push_back(slot);
            return;
        }
        degraded.recoveries[slot].awaited = reads.len() as u32;
        self.counters.recovery_reads += reads.len() as u64;
        let of_answer = u64::from(direct.is_some()) << 1;
        for (spindle, first_sector) in reads {
            let tag = Tag((slot as u64) << 32 | REDUNDANCY | of_answer);
            let payload = P::default();
            let direction = Direction::Read;
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

    /// Where members of a stripe are now, `offset` sectors into their units.
    pub(super) fn places_of(
        &self,
        stripe: u64,
        members: MemberSet,
        offset: u64,
    ) -> Vec<(SpindleIndex, u64)> {
        let units = self.config.layout.stripe(stripe);
        let placed = members.iter().filter_map(|member| {
            let unit = units.unit(member);
            let sector = unit.sector + offset;
            match &self.degraded {
                Some(degraded) => degraded.place(unit.spindle, sector),
                None => Some((unit.spindle, sector)),
            }
        });
        placed.collect()
    }

    /// What a change of one member's data takes, some of the stripe being lost.
    pub(super) fn plan_of_update(&self, stripe: u64, member: Member) -> StripePlan {
        let layout = &self.config.layout;
        let lost = self.degraded.as_ref();
        let lost = lost.map_or(MemberSet::EMPTY, |degraded| degraded.lost_of(layout, stripe));
        let plan = layout.shape().plan_update(MemberSet::single(member), lost);
        // A loss that parity does not make good has ended the run.
        plan.unwrap_or_else(|loss| unreachable!("{loss}"))
    }

    /// A command of a recovery has completed, or failed.
    pub(super) fn recovery_progress(
        &mut self,
        tag: Tag,
        came: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        let slot = (tag.0 >> 32) as usize;
        let Some(degraded) = &mut self.degraded else { return };
        let recovery = &mut degraded.recoveries[slot];
        recovery.awaited -= 1;
        match came {
            Some(payload) if tag.0 & 2 != 0 => recovery.answer.splice(0, payload),
            Some(_) => {}
            None => recovery.again = true,
        }
        if recovery.awaited > 0 {
            return;
        }
        if std::mem::take(&mut recovery.again) {
            self.begin_recovery(slot, driver);
        } else {
            let Recovery { tag, answer, .. } = degraded.recoveries.remove(slot);
            self.read_progress(tag, &answer, driver);
            self.stripes_are_free(driver);
        }
    }

    /// Lets go on what waited for a stripe: recoveries, then the rebuild, then destages.
    pub(super) fn stripes_are_free(&mut self, driver: &mut impl Driver<P>) {
        if let Some(degraded) = &mut self.degraded {
            for slot in std::mem::take(&mut degraded.waiting) {
                self.begin_recovery(slot, driver);
            }
            self.advance_rebuild(driver);
            self.destage(driver);
        }
    }

    /// A spindle is lost, and what it held goes onto the reserve if there is some left.
    pub(super) fn lose(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        let layout = &self.config.layout;
        assert!(spindle.0 < layout.spindles(), "{spindle} is not the array's");
        let mut degraded = self.degraded.take().unwrap_or_else(|| {
            let spares = SpareSegments::new(layout, self.config.lun_sectors);
            Box::new(Degraded {
                lost: Vec::new(),
                failures: Vec::new(),
                recoveries: Slab::new(),
                waiting: VecDeque::new(),
                steps: Slab::new(),
                spares,
                reserve: self.rebuild.spares,
            })
        });
        for earlier in &mut degraded.lost {
            earlier.segments.lose_those_on(spindle);
            let failure = &mut degraded.failures[earlier.failure];
            failure.rebuilt = earlier.segments.rebuilt();
            failure.rebuilt_ns = failure.rebuilt_ns.filter(|_| earlier.segments.are_whole());
        }
        if degraded.lost.iter().all(|lost| lost.spindle != spindle) {
            let mut failure = Failure::new(spindle, now_ns);
            let on_reserve = degraded.reserve > 0;
            if on_reserve {
                degraded.reserve -= 1;
                failure.rebuild_began_ns = Some(now_ns);
            }
            let segments = Segments::lost(layout, degraded.spares.segments_used());
            let failure_index = degraded.failures.len();
            degraded.failures.push(failure);
            degraded.lost.push(LostSpindle {
                spindle,
                segments,
                on_reserve,
                failure: failure_index,
            });
        }
        for (_, step) in &mut degraded.steps {
            step.give_up();
        }
        self.degraded = Some(degraded);
        self.drop_given_up();
        match self.loss(now_ns) {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(driver);
                Ok(())
            }
        }
    }

    /// What is gone, if anything is.
    fn loss(&self, now_ns: u64) -> Option<DataLost> {
        let degraded = self.degraded.as_ref()?;
        let layout = &self.config.layout;
        let stripe_sectors = u64::from(layout.shape().data_blocks()) * layout.unit_sectors();
        let stripes_in_all = self.config.lun_sectors.div_ceil(stripe_sectors);
        let (mut stripes, mut lun_sectors) = (0, 0);
        for stripe in 0..stripes_in_all {
            let gone = layout.shape().gone(degraded.lost_of(layout, stripe));
            stripes += u64::from(!gone.is_empty());
            for member in gone.iter() {
                let start = stripe * stripe_sectors + u64::from(member.0) * layout.unit_sectors();
                let end = (start + layout.unit_sectors()).min(self.config.lun_sectors);
                lun_sectors += end.saturating_sub(start);
            }
        }
        let missing = degraded.lost.iter().filter(|lost| !lost.segments.are_whole());
        (stripes > 0).then(|| DataLost {
            at_ns: now_ns,
            spindles: missing.map(|lost| lost.spindle).collect(),
            stripes,
            stripes_in_all,
            lun_bytes: lun_sectors * SECTOR_BYTES,
        })
    }

    /// A command that a lost spindle has not done: what waits for it gets what it needs from elsewhere.
    pub(super) fn failed(
        &mut self,
        now_ns: u64,
        command: &SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let tag = command.tag;
        match (tag.0 & REDUNDANCY != 0, tag.0 & DESTAGE != 0) {
            (false, false) => {
                // It may have been sent to where a rebuild had put what the layout has elsewhere.
                let place = self.config.layout.locate(self.wanted_by(tag));
                let command = SpindleCommand {
                    spindle: place.spindle,
                    first_sector: place.sector_on_spindle,
                    payload: P::default(),
                    ..*command
                };
                self.recover(&command, driver);
            }
            (false, true) => {
                if self.destage_progress(tag, false, driver) {
                    self.destage_ended(driver);
                }
            }
            (true, false) => self.recovery_progress(tag, None, driver),
            // The step was given up when the spindle was lost.
            (true, true) => self.rebuild_progress(now_ns, tag, driver),
        }
    }

    /// The first sector of the LUN that a host read's command is for.
    fn wanted_by(&self, tag: Tag) -> u64 {
        let read = &self.reads[(tag.0 >> 32) as usize];
        read.host.first_sector + u64::from((tag.0 as u32) >> 1)
    }
}
