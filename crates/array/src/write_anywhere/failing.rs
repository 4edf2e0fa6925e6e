//! Failed spindles, the spares that replace them, and data loss.

use strewn_alloc::GroupIndex;
use strewn_raid::SpindleIndex;

use crate::driver::{Driver, SpindleCommand};
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;

use super::WriteAnywhere;
use super::degraded::{Degraded, DegradedGroup, LostSpindle};
use super::tag::{Owner, TagFields};

impl<P: Payload> WriteAnywhere<P> {
    /// A spindle has failed; a spare replaces it if there is one.
    pub(super) fn on_spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        let in_array = spindle;
        let (group, spindle) = self.first_spindles.in_group(spindle);
        assert!(spindle.0 < self.group(group).spindles(), "{in_array} is not the array's");
        let mut degraded = self.degraded.take().unwrap_or_else(|| self.no_longer_whole());
        let of_group = &mut degraded.groups[group.index()];
        of_group.bad.retain(|(_, other)| *other != spindle);
        // A spare fails like any other spindle.
        of_group.lost.retain(|lost| lost.spindle != spindle);
        let mut failure = FailedSpindle::new(in_array, now_ns);
        let on_spare = degraded.spares > 0;
        if on_spare {
            degraded.spares -= 1;
            failure.rebuild_began_ns = Some(now_ns);
            driver.take_spare(in_array);
        }
        let of_group = &mut degraded.groups[group.index()];
        of_group.lost.push(LostSpindle {
            spindle,
            whole_below: 0,
            on_spare,
            failure: degraded.failures.len(),
        });
        degraded.failures.push(failure);
        of_group.steps.give_up();
        let loss = self.loss(now_ns, group, of_group);
        self.degraded = Some(degraded);
        match loss {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(group, driver);
                Ok(())
            }
        }
    }

    /// The state that an array keeps from its first failure on.
    pub(super) fn no_longer_whole(&self) -> Box<Degraded<P>> {
        let in_flight = (0..self.config.groups.len() as u16).map(GroupIndex).map(|group| {
            let rows = self
                .consistency_point
                .as_ref()
                .map(|consistency_point| consistency_point.rows_in_flight(group));
            rows.unwrap_or_default()
        });
        Box::new(Degraded::new(&self.rebuild, in_flight))
    }

    /// The data loss, if failures exceed the parity of their group.
    fn loss(
        &self,
        now_ns: u64,
        index: GroupIndex,
        degraded: &DegradedGroup<P>,
    ) -> Option<DataLost> {
        let group = self.group(index);
        let parity = usize::from(group.parity().spindles());
        let mut marks: Vec<u64> = degraded.lost.iter().map(|lost| lost.whole_below).collect();
        marks.sort_unstable();
        // From that stripe on, one block more is missing than there is parity.
        let gone_from = *marks.get(parity)?;
        let is_gone = |key: &u32| {
            self.map.get(*key).is_some_and(|vbn| {
                let place = self.run_at(vbn);
                place.group == index
                    && place.dbn >= gone_from
                    && degraded.lost_at(place.dbn).contains(place.spindle)
            })
        };
        let blocks = self.keys.data().filter(is_gone).count() as u64;
        Some(DataLost {
            at_ns: now_ns,
            spindles: degraded
                .lost
                .iter()
                .map(|lost| self.first_spindles.in_array(index, lost.spindle))
                .collect(),
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
            Owner::HostOperation
            | Owner::ConsistencyPointRead
            | Owner::ReadAhead
            | Owner::Relocation => {
                self.recover(command.tag, self.run_of(command), driver);
            }
            Owner::Tetris => self.on_tetris_command_done(now_ns, fields, None, driver),
            Owner::Recovery => self.on_recovery_command_done(now_ns, fields, None, driver),
            // The step was given up when the spindle failed.
            Owner::Rebuild => self.on_rebuild_command_done(now_ns, fields, None, driver),
            Owner::Repair => self.on_repair_done(now_ns, fields, driver),
            Owner::AggregatedRead => self.read_runs_apart(fields, driver),
            Owner::Aside => self.on_scan_read_done(),
        }
    }
}
