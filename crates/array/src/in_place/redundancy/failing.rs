//! Failed spindles, and the devices that replace them.

use strewn_alloc::GroupIndex;
use strewn_base::SECTOR_BYTES;
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::driver::Driver;
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;

use super::super::context::{Context, Next};
use super::super::space::{DiskGroup, Space};
use super::Redundancy;

impl<P: Payload> Redundancy<P> {
    /// A spindle has failed; its segments are rebuilt onto reserve if there is some left.
    pub(crate) fn on_spindle_failed(
        &mut self,
        spindle: SpindleIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Result<(), DataLost> {
        let (id, in_group) = cx.space.first_spindles.in_group(spindle);
        let group = &mut cx.space.groups[id];
        assert!(in_group.0 < group.layout.spindles(), "{spindle} is not the array's");
        group.losses_or_new();
        self.note_loss(group, in_group, FailedSpindle::new(spindle, cx.now_ns));
        let losses = group.losses_or_new();
        let had_set_aside = !losses.set_aside.is_empty();
        losses.set_aside.clear();
        for step in self.groups[id].steps.iter_mut() {
            step.give_up();
        }
        self.groups[id].drop_given_up(losses);
        if let Some(loss) = loss(cx.space, id, cx.now_ns) {
            return Err(loss);
        }
        self.advance_rebuild(id, cx);
        if had_set_aside {
            // Data that were set aside may have a place now, and nothing else may be in flight to start them.
            cx.then(Next::Destage);
        }
        Ok(())
    }

    /// Records that a spindle has failed, and what was rebuilt onto it is lost.
    fn note_loss(
        &mut self,
        group: &mut DiskGroup,
        spindle: SpindleIndex,
        mut failure: FailedSpindle,
    ) {
        let used = group.layout.segments_used(group.end_sector);
        let DiskGroup { layout, losses: Some(losses), .. } = group else { return };
        for earlier in &mut losses.lost {
            earlier.segments.lose_those_on(spindle);
            let noted = &mut self.failures[earlier.failure];
            let is_whole = noted.rebuilt_ns.is_some() && earlier.segments.are_whole();
            noted.note_rebuilt(earlier.segments.rebuilt(), is_whole, failure.at_ns);
        }
        let had_failed = losses.lost.iter().any(|lost| lost.spindle == spindle);
        let Some(lost) = losses.lose(layout, spindle, self.failures.len(), used) else { return };
        failure.rebuild_began_ns = lost.on_reserve.then_some(failure.at_ns);
        // A spindle that fails for the first time is whole only if the group has no LUN.
        if had_failed || lost.on_reserve {
            let is_whole = lost.segments.are_whole();
            failure.note_rebuilt(lost.segments.rebuilt(), is_whole, failure.at_ns);
        }
        self.failures.push(failure);
    }

    /// A new device has replaced a failed spindle and receives its commands from now on. The spindle's segments are
    /// rebuilt onto it, or moved back from reserve. Does nothing for a spindle that has not failed or is fully rebuilt.
    pub(crate) fn on_replaced(
        &mut self,
        spindle: SpindleIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let (id, spindle) = cx.space.first_spindles.in_group(spindle);
        let Some(losses) = &mut cx.space.groups[id].losses else { return };
        let Some(lost) = losses.lost.iter_mut().find(|lost| lost.spindle == spindle) else {
            return;
        };
        lost.is_replaced = true;
        lost.segments.next = 0;
        self.failures[lost.failure].rebuild_began_ns.get_or_insert(cx.now_ns);
        for step in self.groups[id].steps.iter_mut() {
            if step.segment.spindle == spindle {
                step.give_up();
            }
        }
        self.groups[id].drop_given_up(losses);
        self.advance_rebuild(id, cx);
    }
}

/// The data loss, if failures of a disk group exceed its parity.
fn loss(space: &Space, id: GroupIndex, now_ns: u64) -> Option<DataLost> {
    let DiskGroup { layout, losses, end_sector, .. } = &space.groups[id];
    let losses = losses.as_ref()?;
    let stripes_in_all = end_sector.div_ceil(layout.stripe_sectors());
    let (mut stripes, mut lun_sectors) = (0, 0);
    for stripe in 0..stripes_in_all {
        let gone = layout.shape().gone(losses.lost_of(layout, stripe));
        stripes += u64::from(!gone.is_empty());
        for member in gone.iter() {
            let unit = layout.sectors_of_unit(stripe, member);
            lun_sectors += unit.end.min(*end_sector).saturating_sub(unit.start);
        }
    }
    let missing = losses.lost.iter().filter(|lost| !lost.segments.are_whole());
    (stripes > 0).then(|| DataLost {
        at_ns: now_ns,
        spindles: missing.map(|lost| space.first_spindles.in_array(id, lost.spindle)).collect(),
        stripes,
        stripes_in_all,
        lun_bytes: lun_sectors * SECTOR_BYTES,
    })
}
