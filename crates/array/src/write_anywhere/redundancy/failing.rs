//! Failed spindles, the spares that replace them, and data loss.

use strewn_alloc::GroupIndex;
use strewn_raid::SpindleIndex;

use crate::driver::Driver;
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;

use super::super::context::Context;
use super::super::space::Space;
use super::super::space::losses::LostSpindle;
use super::Redundancy;

impl<P: Payload> Redundancy<P> {
    /// A spindle has failed; a spare replaces it if there is one. The space keeps losses by now.
    pub(crate) fn on_spindle_failed(
        &mut self,
        in_array: SpindleIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Result<(), DataLost> {
        let (group, spindle) = cx.space.first_spindles.in_group(in_array);
        assert!(spindle.0 < cx.space.group(group).spindles(), "{in_array} is not the array's");
        let mut failure = FailedSpindle::new(in_array, cx.now_ns);
        let on_spare = self.spares > 0;
        if on_spare {
            self.spares -= 1;
            failure.rebuild_began_ns = Some(cx.now_ns);
            cx.driver.take_spare(in_array);
        }
        if let Some(losses) = cx.space.losses_of_mut(group) {
            let failure = self.failures.len();
            losses.lose(LostSpindle { spindle, whole_below: 0, on_spare, failure });
        }
        self.failures.push(failure);
        self.give_up_steps(group, cx.space);
        match loss(cx.space, cx.now_ns, group) {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(group, cx);
                Ok(())
            }
        }
    }

    /// A blank device has replaced a failed spindle: rebuilds onto it.
    pub(crate) fn on_replaced(
        &mut self,
        in_array: SpindleIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let (group, spindle) = cx.space.first_spindles.in_group(in_array);
        let Some(losses) = cx.space.losses_of_mut(group) else { return };
        if let Some(lost) = losses.lost.iter_mut().find(|lost| lost.spindle == spindle) {
            lost.on_spare = true;
            self.failures[lost.failure].rebuild_began_ns = Some(cx.now_ns);
            // Steps in flight do not write to it: they start over.
            self.give_up_steps(group, cx.space);
        }
        self.advance_rebuild(group, cx);
    }
}

/// The data loss, if failures exceed the parity of their group.
fn loss(space: &Space, now_ns: u64, index: GroupIndex) -> Option<DataLost> {
    let (group, losses) = (space.group(index), space.losses_of(index)?);
    let parity = usize::from(group.parity().spindles());
    let mut marks: Vec<u64> = losses.lost.iter().map(|lost| lost.whole_below).collect();
    marks.sort_unstable();
    // From that stripe on, one block more is missing than there is parity.
    let gone_from = *marks.get(parity)?;
    let is_gone = |key: &u32| {
        space.map.get(*key).is_some_and(|vbn| {
            let place = space.run_at(vbn);
            place.group == index
                && place.dbn >= gone_from
                && losses.lost_at(place.dbn).contains(place.spindle)
        })
    };
    let blocks = space.keys.data().filter(is_gone).count() as u64;
    Some(DataLost {
        at_ns: now_ns,
        spindles: losses
            .lost
            .iter()
            .map(|lost| space.first_spindles.in_array(index, lost.spindle))
            .collect(),
        stripes: group.stripes() - gone_from,
        stripes_in_all: group.stripes(),
        lun_bytes: blocks * strewn_base::BLOCK_BYTES,
    })
}
