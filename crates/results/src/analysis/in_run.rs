//! An array in one of several runs, and whether two of them were set differently.

use crate::data::array::ArrayResults;
use crate::data::results::Results;

/// An array, and the results that it belongs to.
pub(super) type InRun<'a> = (&'a Results, &'a ArrayResults);

/// The ends of the names of settings that are listed only beside another one that is on, and their defaults. Absent,
/// they have these values.
const DEFAULTS: [(&str, &str); 4] = [
    ("write_anywhere.relocation_reads_in_flight", "8"),
    ("write_anywhere.reallocation_scan.per_second", "20 MiB"),
    ("write_anywhere.reallocation_scan.stretch_blocks", "512"),
    ("write_anywhere.reallocation_scan.threshold", "4"),
];

/// Returns whether two runs were set differently. A setting that one lacks is off there, or at its default.
pub(super) fn is_set_differently(name: &str, one: Option<&str>, other: Option<&str>) -> bool {
    let is_as_if_absent = |value: &str| {
        value == "false"
            || DEFAULTS.iter().any(|(end, default)| name.ends_with(end) && value == *default)
    };
    match (one, other) {
        (Some(value), None) | (None, Some(value)) => !is_as_if_absent(value),
        (one, other) => one != other,
    }
}
