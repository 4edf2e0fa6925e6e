//! Snapshots of a write-anywhere array, taken on schedule.

use crate::fields::{Around, Field, Fields, Section, Table, Text, count, table, time};
use crate::quantity::Nanoseconds;
use crate::setting_value::SettingValue;

/// When snapshots of an array's volume are taken, and how many are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotSchedule {
    /// Time between two snapshots, and from the start of the run to the first, in nanoseconds.
    pub every_ns: u64,
    /// Snapshots kept, 1 to 255: the oldest is deleted before one more is taken.
    pub keep: u8,
}

impl SnapshotSchedule {
    /// Most snapshots that it takes in a run: a simulated block records 16 bits of when it was written.
    pub(crate) const MOST_TAKEN: u64 = 65_534;
    /// The table of a schedule.
    pub(crate) fn field(help: &'static str) -> Field {
        table("snapshots", help).each("Snapshots taken on schedule.").shared("snapshots")
    }
}

impl Table for SnapshotSchedule {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            time(
                "every",
                "Time between two snapshots, and from the start of the run to the first.",
            )
            .positive()
            .required("\"1 h\"")
            .moment("snapshots of {} every")
            .page(7, "Snapshot every"),
            &mut self.every_ns,
        );
        f.value(
            count("keep", "Snapshots kept: the oldest is deleted before one more is taken.")
                .within(1..=255)
                .required("6")
                .refusing(refuse_number)
                .page(8, "Snapshots kept")
                .in_unit("snapshots"),
            &mut self.keep,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        if let Some(length_ns) = around.length_ns
            && s.is_right("every")
        {
            check_interval(s, self.every_ns, length_ns);
        }
    }
}

fn refuse_number(value: &SettingValue) -> Option<(String, String)> {
    let (message, help) = match *value {
        SettingValue::Count(0) => ("is zero", "give 1 to 255, or leave `snapshots` out"),
        SettingValue::Count(256..) => ("is more than an array keeps", "give 1 to 255"),
        _ => return None,
    };
    Some((message.to_owned(), help.to_owned()))
}

fn check_interval(section: &Section<'_>, every_ns: u64, length_ns: u64) {
    let length = Nanoseconds(length_ns);
    if every_ns >= length_ns {
        section.problem(
            "every",
            format!("is {}, and the run ends at {length}", Nanoseconds(every_ns)),
            format!("give less than {length}, or more segments, or leave `snapshots` out"),
        );
    } else if length_ns / every_ns > SnapshotSchedule::MOST_TAKEN {
        section.problem(
            "every",
            format!("{} snapshots in {length} are too many", length_ns / every_ns),
            format!(
                "an array takes at most {} in a run: give a longer time, or fewer segments",
                SnapshotSchedule::MOST_TAKEN
            ),
        );
    }
}
