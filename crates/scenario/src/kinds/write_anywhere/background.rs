//! What a write-anywhere array does beside its hosts.

use strewn_array::write_anywhere::BackgroundScan;

use crate::fields::{Around, Fields, Limit, Scales, Section, Table, count, time};
use crate::quantity::Nanoseconds;

/// Most map blocks in a second. At a rate that no drive can follow, all reads of a scan may wait at one of them, whose
/// scheduler then finds something nearer than a host's command for as long as the scan goes on.
const MOST_PER_SECOND: u64 = 10_000;

impl Table for BackgroundScan {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            count("blocks_per_second", "Map blocks of 4 KiB that it looks at in a second.")
                .at_most(MOST_PER_SECOND)
                .required("100"),
            &mut self.blocks_per_second,
        );
        f.value(
            time("begins", "When it begins, in time of the run.")
                .chosen("\"0 s\"")
                .scales(Scales::Whole, "beginning of the background scan of {}"),
            &mut self.begins_ns,
        );
        f.value(
            time("ends", "When it ends; with the run unless given.")
                .positive()
                .scales(Scales::Whole, "end of the background scan of {}"),
            &mut Limit(&mut self.ends_ns),
        );
        f.value(
            count(
                "reads_in_flight",
                "Most reads that it has out. It skips its turns while they are.",
            )
            .at_most(64)
            .chosen("8")
            .unless_default(),
            &mut self.reads_in_flight,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        if s.are_right(&["begins", "ends"]) && self.ends_ns <= self.begins_ns {
            s.problem(
                "ends",
                format!("the scan begins at {} and ends no later", Nanoseconds(self.begins_ns)),
                "give a later time, or leave the key out for a scan that never ends",
            );
        }
    }
}
