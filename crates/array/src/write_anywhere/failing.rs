//! Failed spindles, the spares that replace them, and data loss.

use strewn_raid::SpindleIndex;

use crate::driver::{Driver, SpindleCommand};
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;

use super::degraded::{Degraded, LostSpindle};
use super::tag::{Owner, TagFields};
use super::{Run, WriteAnywhere};

impl<P: Payload> WriteAnywhere<P> {
    /// A spindle has failed; a spare replaces it if there is one.
    pub(super) fn on_spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        assert!(spindle.0 < self.group().spindles(), "{spindle} is not the array's");
        let mut degraded = self.degraded.take().unwrap_or_else(|| self.no_longer_whole());
        degraded.bad.retain(|(_, other)| *other != spindle);
        // A spare fails like any other spindle.
        degraded.lost.retain(|lost| lost.spindle != spindle);
        let mut failure = FailedSpindle::new(spindle, now_ns);
        let on_spare = degraded.spares > 0;
        if on_spare {
            degraded.spares -= 1;
            failure.rebuild_began_ns = Some(now_ns);
            driver.take_spare(spindle);
        }
        degraded.lost.push(LostSpindle {
            spindle,
            whole_below: 0,
            on_spare,
            failure: degraded.failures.len(),
        });
        degraded.failures.push(failure);
        degraded.steps.give_up();
        let loss = self.loss(now_ns, &degraded);
        self.degraded = Some(degraded);
        match loss {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(driver);
                Ok(())
            }
        }
    }

    /// The state that an array keeps from its first failure on.
    pub(super) fn no_longer_whole(&self) -> Box<Degraded<P>> {
        let in_flight = self.checkpoint.as_ref().map(|checkpoint| checkpoint.rows_in_flight());
        Box::new(Degraded::new(&self.rebuild, in_flight.unwrap_or_default()))
    }

    /// The data loss, if failures exceed parity.
    fn loss(&self, now_ns: u64, degraded: &Degraded<P>) -> Option<DataLost> {
        let group = self.group();
        let parity = usize::from(group.parity().spindles());
        let mut marks: Vec<u64> = degraded.lost.iter().map(|lost| lost.whole_below).collect();
        marks.sort_unstable();
        // From that stripe on, one block more is missing than there is parity.
        let gone_from = *marks.get(parity)?;
        let is_gone = |key: &u32| {
            self.map.get(*key).is_some_and(|vbn| {
                let place = group.locate(vbn);
                place.dbn.0 >= gone_from && degraded.lost_at(place.dbn.0).contains(place.spindle)
            })
        };
        let blocks = self.keys.data().filter(is_gone).count() as u64;
        Some(DataLost {
            at_ns: now_ns,
            spindles: degraded.lost.iter().map(|lost| lost.spindle).collect(),
            stripes: group.stripes() - gone_from,
            stripes_in_all: group.stripes(),
            lun_bytes: blocks * strewn_base::BLOCK_BYTES,
        })
    }

    /// A command failed with its spindle: what waits for it gets its blocks elsewhere.
    pub(super) fn on_command_failed(
        &mut self,
        now_ns: u64,
        command: &SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let fields = TagFields::unpack(command.tag);
        match fields.owner {
            Owner::HostOperation | Owner::CheckpointRead => {
                self.recover(command.tag, Run::of(command), driver);
            }
            Owner::Tetris => self.on_tetris_command_done(now_ns, fields, None, driver),
            Owner::Recovery => self.on_recovery_command_done(now_ns, fields, None, driver),
            // The step was given up when the spindle failed.
            Owner::Rebuild => self.on_rebuild_command_done(now_ns, fields, None, driver),
            Owner::Repair => self.on_repair_done(now_ns, fields, driver),
        }
    }
}
