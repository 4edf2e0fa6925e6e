//! Snapshots of a write-anywhere array, taken on schedule.

use crate::quantity::Nanoseconds;
use crate::section::Section;
use crate::value;

/// When snapshots of an array's volume are taken, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotSchedule {
    /// Time between two snapshots, and from the start of the run to the first, in nanoseconds.
    pub every_ns: u64,
    /// Snapshots kept, 1 to 255: the oldest is deleted before one more is taken.
    pub keep: u8,
}

impl SnapshotSchedule {
    /// Most snapshots that it takes in a run: a simulated block records 16 bits of when it was written.
    pub(crate) const MOST_TAKEN: u64 = 65_534;
    /// The key of the table.
    pub(crate) const KEY: &str = "snapshots";
    /// The keys in it.
    pub(crate) const KEYS: [&str; 2] = ["every", "keep"];

    /// Reads `[array.write_anywhere.snapshots]`. `length_ns` is the length of the run, if it is known.
    pub(crate) fn read(mut section: Section<'_>, length_ns: Option<u64>) -> Option<Self> {
        let s = &mut section;
        let [every_key, keep_key] = Self::KEYS;
        let every_ns = s.required(every_key, "\"1 h\"", value::positive_nanoseconds);
        let keep = s.required(keep_key, "6", value::kept_snapshots);
        if let (Some(every_ns), Some(length_ns)) = (every_ns, length_ns) {
            check_interval(s, every_ns, length_ns);
        }
        section.finish();
        Some(Self { every_ns: every_ns?, keep: keep? })
    }

    /// Refuses the table in an array that updates in place.
    pub(crate) fn refuse(section: &mut Section<'_>) {
        if section.gives(Self::KEY) {
            section.get(Self::KEY);
            section.problem(
                Self::KEY,
                "an array that updates in place takes no snapshots here",
                "give them to an array with [array.write_anywhere]: a snapshot of a layout in place copies blocks before \
                 they are overwritten, which is not simulated",
            );
        }
    }
}

fn check_interval(section: &Section<'_>, every_ns: u64, length_ns: u64) {
    let [every_key, _] = SnapshotSchedule::KEYS;
    let length = Nanoseconds(length_ns);
    if every_ns >= length_ns {
        section.problem(
            every_key,
            format!("is {}, and the run ends at {length}", Nanoseconds(every_ns)),
            format!("give less than {length}, or more segments, or leave `snapshots` out"),
        );
    } else if length_ns / every_ns > SnapshotSchedule::MOST_TAKEN {
        section.problem(
            every_key,
            format!("{} snapshots in {length} are too many", length_ns / every_ns),
            format!(
                "an array takes at most {} in a run: give a longer time, or fewer segments",
                SnapshotSchedule::MOST_TAKEN
            ),
        );
    }
}
