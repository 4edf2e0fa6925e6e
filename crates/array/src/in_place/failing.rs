//! Failed spindles, and the devices that replace them.

use std::collections::{BTreeSet, VecDeque};

use crate::slots::Slots;
use strewn_alloc::GroupIndex;
use strewn_base::SECTOR_BYTES;
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::driver::{Driver, SpindleCommand};
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;

use super::InPlace;
use super::blocks::BlockSet;
use super::degraded::{Degraded, LostSpindle};
use super::group::DiskGroup;
use super::segments::Segments;
use super::tag::{Kind, TagFields};

impl<P: Payload> InPlace<P> {
    /// A spindle has failed; its segments are rebuilt onto reserve if there is some left.
    pub(super) fn on_spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        let (id, in_group) = self.first_spindles.in_group(spindle);
        let group = &mut self.groups[id];
        assert!(in_group.0 < group.layout.spindles(), "{spindle} is not the array's");
        group.degraded_or_new();
        let Some(degraded) = &mut group.degraded else { return Ok(()) };
        for earlier in &mut degraded.lost {
            earlier.segments.lose_those_on(in_group);
            let failure = &mut self.failures[earlier.failure];
            let is_whole = failure.rebuilt_ns.is_some() && earlier.segments.are_whole();
            failure.note_rebuilt(earlier.segments.rebuilt(), is_whole, now_ns);
        }
        let index = self.failures.len();
        let mut failure = FailedSpindle::new(spindle, now_ns);
        if group.record_loss(in_group, index, &mut failure) {
            self.failures.push(failure);
        }
        let Some(degraded) = &mut group.degraded else { return Ok(()) };
        let had_set_aside = !degraded.set_aside.is_empty();
        degraded.set_aside.clear();
        for step in degraded.steps.iter_mut() {
            step.give_up();
        }
        group.drop_given_up();
        match self.loss(id, now_ns) {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(id, driver);
                if had_set_aside {
                    // Data that were set aside may have a place now, and nothing else may be in flight to start them.
                    self.destage(driver);
                }
                Ok(())
            }
        }
    }

    /// A new device has replaced a failed spindle and receives its commands from now on. The spindle's segments are
    /// rebuilt onto it, or moved back from reserve. Does nothing for a spindle that has not failed or is fully rebuilt.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<P>) {
        let (id, spindle) = self.first_spindles.in_group(spindle);
        let group = &mut self.groups[id];
        let Some(degraded) = &mut group.degraded else { return };
        let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == spindle) else {
            return;
        };
        lost.is_replaced = true;
        lost.segments.next = 0;
        self.failures[lost.failure].rebuild_began_ns.get_or_insert(now_ns);
        for step in degraded.steps.iter_mut() {
            if step.spindle == spindle {
                step.give_up();
            }
        }
        group.drop_given_up();
        self.advance_rebuild(id, driver);
    }

    /// The data loss, if failures of a disk group exceed its parity.
    fn loss(&self, id: GroupIndex, now_ns: u64) -> Option<DataLost> {
        let DiskGroup { layout, degraded, end_sector, .. } = &self.groups[id];
        let degraded = degraded.as_ref()?;
        let stripe_sectors = u64::from(layout.shape().data_blocks()) * layout.unit_sectors();
        let stripes_in_all = end_sector.div_ceil(stripe_sectors);
        let (mut stripes, mut lun_sectors) = (0, 0);
        for stripe in 0..stripes_in_all {
            let gone = layout.shape().gone(degraded.lost_of(layout, stripe));
            stripes += u64::from(!gone.is_empty());
            for member in gone.iter() {
                let start = stripe * stripe_sectors + u64::from(member.0) * layout.unit_sectors();
                let end = (start + layout.unit_sectors()).min(*end_sector);
                lun_sectors += end.saturating_sub(start);
            }
        }
        let missing = degraded.lost.iter().filter(|lost| !lost.segments.are_whole());
        (stripes > 0).then(|| DataLost {
            at_ns: now_ns,
            spindles: missing.map(|lost| self.first_spindles.in_array(id, lost.spindle)).collect(),
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
        let tag = TagFields::of(command.tag);
        match tag.kind {
            Kind::HostRead => {
                // It may have been sent to reserve; the recovery needs the place by the layout.
                let group = &self.groups[tag.group];
                let place = group.layout.locate(group.wanted_by(tag));
                let command = SpindleCommand {
                    spindle: place.spindle,
                    first_sector: place.sector_on_spindle,
                    payload: P::default(),
                    ..*command
                };
                self.recover(tag.group, &command, driver);
            }
            Kind::Destage => {
                if self.on_destage_command_done(tag, None, driver) {
                    self.destage_ended(tag.group, driver);
                }
            }
            Kind::Recovery => self.on_recovery_command_done(tag, None, driver),
            Kind::ReadAhead => self.on_read_ahead_done(tag, None, &BlockSet::EMPTY, driver),
            // The step was given up when the spindle failed.
            Kind::Step => self.on_rebuild_command_done(now_ns, tag, None, driver),
        }
    }
}

impl<P: Payload> DiskGroup<P> {
    /// Creates the degraded state with the first lost or bad block.
    pub(super) fn degraded_or_new(&mut self) {
        let layout = &self.layout;
        self.degraded.get_or_insert_with(|| {
            let spares = layout.spares(self.end_sector);
            Box::new(Degraded {
                lost: Vec::new(),
                has_failed: false,
                recoveries: Slots::new(),
                waiting: VecDeque::new(),
                steps: Slots::new(),
                reserve: if spares.is_some() { self.rebuild.spares } else { 0 },
                spares,
                set_aside: BTreeSet::new(),
            })
        });
    }

    /// The first LUN sector that a host read's command reads.
    pub(super) fn wanted_by(&self, tag: TagFields) -> u64 {
        self.reads[tag.slot].host.first_sector + u64::from(tag.detail)
    }

    /// Records that a spindle has failed, or the device that replaced it; `failure` will be that of number `index`.
    /// Returns false if it had failed already.
    fn record_loss(
        &mut self,
        spindle: SpindleIndex,
        index: usize,
        failure: &mut FailedSpindle,
    ) -> bool {
        let Some(degraded) = &mut self.degraded else { return false };
        let position = degraded.lost.iter().position(|lost| lost.spindle == spindle);
        if position.is_some_and(|position| !degraded.lost[position].is_replaced) {
            return false;
        }
        degraded.has_failed = true;
        let had_reserve = position.is_some_and(|position| degraded.lost[position].on_reserve);
        let on_reserve = had_reserve || degraded.reserve > 0;
        degraded.reserve -= u16::from(on_reserve && !had_reserve);
        failure.rebuild_began_ns = on_reserve.then_some(failure.at_ns);
        if let Some(position) = position {
            let lost = &mut degraded.lost[position];
            (lost.on_reserve, lost.is_replaced, lost.failure) = (on_reserve, false, index);
            lost.segments.next = 0;
            let is_whole = lost.segments.are_whole();
            failure.note_rebuilt(lost.segments.rebuilt(), is_whole, failure.at_ns);
            return true;
        }
        let used = self.layout.segments_used(self.end_sector);
        let segments = Segments::lost(&self.layout, spindle, used);
        if on_reserve && segments.are_whole() {
            // The group has no LUN.
            failure.note_rebuilt(segments.rebuilt(), true, failure.at_ns);
        }
        let is_replaced = false;
        degraded.lost.push(LostSpindle {
            spindle,
            segments,
            on_reserve,
            is_replaced,
            failure: index,
        });
        true
    }

    /// Drops a spindle that is fully rebuilt in place, and frees its reserve. While other spindles use reserve, its
    /// room stays assigned, in case it fails again.
    pub(super) fn drop_rebuilt_spindle(&mut self, spindle: SpindleIndex) {
        let Some(degraded) = &mut self.degraded else { return };
        let at_home = |lost: &LostSpindle| lost.spindle == spindle && lost.segments.are_at_home();
        let Some(position) = degraded.lost.iter().position(at_home) else { return };
        let lost = degraded.lost.remove(position);
        degraded.reserve += u16::from(lost.on_reserve);
        if degraded.lost.is_empty() {
            degraded.spares = self.layout.spares(self.end_sector);
        }
    }
}
