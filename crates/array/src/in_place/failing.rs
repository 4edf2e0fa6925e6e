//! Failed spindles, and the devices that replace them.

use std::collections::{BTreeSet, VecDeque};

use slab::Slab;
use strewn_base::SECTOR_BYTES;
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::driver::{Driver, SpindleCommand, Tag};
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;

use super::degraded::{Degraded, LostSpindle};
use super::segments::Segments;
use super::{DESTAGE, InPlace, LunLayout, REDUNDANCY};

impl<P: Payload> InPlace<P> {
    /// A spindle has failed; its segments are rebuilt onto reserve if there is some left.
    pub(super) fn on_spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        assert!(spindle.0 < self.config.layout.spindles(), "{spindle} is not the array's");
        self.degraded_or_new();
        let Some(degraded) = &mut self.degraded else { return Ok(()) };
        for earlier in &mut degraded.lost {
            earlier.segments.lose_those_on(spindle);
            let failure = &mut degraded.failures[earlier.failure];
            let is_whole = failure.rebuilt_ns.is_some() && earlier.segments.are_whole();
            failure.note_rebuilt(earlier.segments.rebuilt(), is_whole, now_ns);
        }
        degraded.add_failure(&self.config.layout, self.end_sector, now_ns, spindle);
        let had_set_aside = !degraded.set_aside.is_empty();
        degraded.set_aside.clear();
        for (_, step) in &mut degraded.steps {
            step.give_up();
        }
        self.drop_given_up();
        match self.loss(now_ns) {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(driver);
                if had_set_aside {
                    // Data that were set aside may have a place now, and nothing else may be in flight to start them.
                    self.destage(driver);
                }
                Ok(())
            }
        }
    }

    /// Creates the degraded state with the first lost or bad block.
    pub(super) fn degraded_or_new(&mut self) {
        let layout = &self.config.layout;
        self.degraded.get_or_insert_with(|| {
            let spares = layout.spares(self.end_sector);
            Box::new(Degraded {
                lost: Vec::new(),
                failures: Vec::new(),
                recoveries: Slab::new(),
                waiting: VecDeque::new(),
                steps: Slab::new(),
                reserve: if spares.is_some() { self.rebuild.spares } else { 0 },
                spares,
                set_aside: BTreeSet::new(),
            })
        });
    }

    /// A new device has replaced a failed spindle and receives its commands from now on. The spindle's segments are
    /// rebuilt onto it, or moved back from reserve. Does nothing for a spindle that has not failed or is fully rebuilt.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == spindle) else {
            return;
        };
        lost.is_replaced = true;
        lost.segments.next = 0;
        degraded.failures[lost.failure].rebuild_began_ns.get_or_insert(now_ns);
        for (_, step) in &mut degraded.steps {
            if step.spindle == spindle {
                step.give_up();
            }
        }
        self.drop_given_up();
        self.advance_rebuild(driver);
    }

    /// The data loss, if failures exceed parity.
    fn loss(&self, now_ns: u64) -> Option<DataLost> {
        let degraded = self.degraded.as_ref()?;
        let layout = &self.config.layout;
        let stripe_sectors = u64::from(layout.shape().data_blocks()) * layout.unit_sectors();
        let stripes_in_all = self.config.stripes();
        let (mut stripes, mut lun_sectors) = (0, 0);
        for stripe in 0..stripes_in_all {
            let gone = layout.shape().gone(degraded.lost_of(layout, stripe));
            stripes += u64::from(!gone.is_empty());
            for member in gone.iter() {
                let start = stripe * stripe_sectors + u64::from(member.0) * layout.unit_sectors();
                let end = (start + layout.unit_sectors()).min(self.end_sector);
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

    /// A command failed with its spindle: what waits for it gets its sectors elsewhere.
    pub(super) fn on_command_failed(
        &mut self,
        now_ns: u64,
        command: &SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let tag = command.tag;
        match (tag.0 & REDUNDANCY != 0, tag.0 & DESTAGE != 0) {
            (false, false) => {
                // It may have been sent to reserve; the recovery needs the place by the layout.
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
                if self.on_destage_command_done(tag, None, driver) {
                    self.destage_ended(driver);
                }
            }
            (true, false) => self.on_recovery_command_done(tag, None, driver),
            // The step was given up when the spindle failed.
            (true, true) => self.on_rebuild_command_done(now_ns, tag, None, driver),
        }
    }

    /// The first LUN sector that a host read's command reads.
    pub(super) fn wanted_by(&self, tag: Tag) -> u64 {
        let read = &self.reads[(tag.0 >> 32) as usize];
        read.host.first_sector + u64::from((tag.0 as u32) >> 1)
    }
}

impl<P> Degraded<P> {
    /// A spindle has failed, or the device that replaced it.
    fn add_failure(
        &mut self,
        layout: &LunLayout,
        lun_sectors: u64,
        now_ns: u64,
        spindle: SpindleIndex,
    ) {
        let position = self.lost.iter().position(|lost| lost.spindle == spindle);
        if position.is_some_and(|position| !self.lost[position].is_replaced) {
            return;
        }
        let had_reserve = position.is_some_and(|position| self.lost[position].on_reserve);
        let on_reserve = had_reserve || self.reserve > 0;
        self.reserve -= u16::from(on_reserve && !had_reserve);
        let mut failure = FailedSpindle::new(spindle, now_ns);
        failure.rebuild_began_ns = on_reserve.then_some(now_ns);
        let index = self.failures.len();
        if let Some(position) = position {
            let lost = &mut self.lost[position];
            (lost.on_reserve, lost.is_replaced, lost.failure) = (on_reserve, false, index);
            lost.segments.next = 0;
            failure.note_rebuilt(lost.segments.rebuilt(), lost.segments.are_whole(), now_ns);
        } else {
            let segments = Segments::lost(layout, spindle, layout.segments_used(lun_sectors));
            let is_replaced = false;
            self.lost.push(LostSpindle {
                spindle,
                segments,
                on_reserve,
                is_replaced,
                failure: index,
            });
        }
        self.failures.push(failure);
    }

    /// Drops a spindle that is fully rebuilt in place, and frees its reserve. While other spindles use reserve, its
    /// room stays assigned, in case it fails again.
    pub(super) fn is_home(&mut self, layout: &LunLayout, lun_sectors: u64, spindle: SpindleIndex) {
        let at_home = |lost: &LostSpindle| lost.spindle == spindle && lost.segments.are_at_home();
        let Some(position) = self.lost.iter().position(at_home) else { return };
        let lost = self.lost.remove(position);
        self.reserve += u16::from(lost.on_reserve);
        if self.lost.is_empty() {
            self.spares = layout.spares(lun_sectors);
        }
    }
}
