//! Relocation in a write-anywhere array: read reallocation, reallocation scans, and the cleaning of free space.

use std::ops::RangeInclusive;

use strewn_array::write_anywhere::{ReallocationScan, RelocationConfig};

use crate::fields::{
    Around, Fields, Scales, Section, Table, count, flag, number, size, table, time,
};
use crate::kinds::check_begins;
use crate::quantity::Nanoseconds;
use crate::setting_value::SettingValue;

/// The least time from one scan to the next, in nanoseconds.
const LEAST_EVERY_NS: u64 = 1_000_000_000;

/// Fewest and most blocks of a stretch.
const STRETCH_BLOCKS: RangeInclusive<u64> = 16..=512;

/// Its settings are among those of `[array.write_anywhere]`.
impl Table for RelocationConfig {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            flag(
                "read_reallocation",
                "Whether blocks that a host reads in order are relocated if they lie scattered.",
            )
            .default("false", "published: off by default since ONTAP 7.3.1")
            .unless_default(),
            &mut self.after_reads,
        );
        f.value(
            count(
                "relocation_reads_in_flight",
                "Most reads in flight for relocation, of all spindles together.",
            )
            .default("8", "chosen: fewer than half of the spindles")
            .unless_default(),
            &mut self.reads_in_flight,
        );
        f.table(
            table(
                "reallocation_scan",
                "A scan that goes through all LUNs and relocates what lies scattered. None without the table.",
            ),
            &mut self.scan,
        );
        let mut cleaning = self.cleaned_blocks.map(|blocks| Cleaning { blocks });
        f.table(
            table(
                "cleaning",
                "Cleaning of free space at consistency points. None without the table.",
            ),
            &mut cleaning,
        );
        self.cleaned_blocks = cleaning.map(|Cleaning { blocks }| blocks);
    }
}

/// `[array.write_anywhere.cleaning]`.
#[derive(Default)]
struct Cleaning {
    blocks: u32,
}

impl Table for Cleaning {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            count("blocks_per_checkpoint", "Most blocks that it moves for each consistency point.")
                .required("8192")
                .scales(Scales::Root, "blocks cleaned per checkpoint of {}"),
            &mut self.blocks,
        );
    }
}

impl Table for ReallocationScan {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            time("begins", "When it begins, from the start of the run.")
                .required("\"2 h\"")
                .moment("reallocation scan of {} begins"),
            &mut self.begins_ns,
        );
        f.value(
            time(
                "every",
                "Time from one scan's beginning to the next. Without it, there is one scan.",
            )
            .positive()
            .refusing(refuse_interval)
            .scales(Scales::Whole, "reallocation scan of {} every"),
            &mut self.every_ns,
        );
        f.value(
            size("per_second", "Most data that it relocates in a second.")
                .positive()
                .chosen("\"20 MiB\""),
            &mut self.bytes_per_s,
        );
        f.value(
            count("stretch_blocks", "Blocks that are judged and relocated together.")
                .within(STRETCH_BLOCKS)
                .chosen("512"),
            &mut self.stretch_blocks,
        );
        f.value(
            number(
                "threshold",
                "Pieces of a stretch, as a multiple of those that new blocks form, above which it is relocated. 1 and \
                 less relocate all that is not as good as new.",
            )
            .default("4.0", "published: the `na_reallocate` manual page, on a scale from 3 to 10"),
            &mut self.threshold,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        check_begins(s, self.begins_ns, around);
    }
}

fn refuse_interval(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(every_ns) = value else { return None };
    (*every_ns < LEAST_EVERY_NS).then(|| {
        (
            format!("a scan every {}", Nanoseconds(*every_ns)),
            format!("give at least {}", Nanoseconds(LEAST_EVERY_NS)),
        )
    })
}
