//! Snapshots and writes that were refused.

use crate::data::array::{ArrayResults, LayoutKind};
use crate::data::finding::{Finding, Severity};
use crate::data::number::grouped;
use crate::data::results::Results;
use crate::data::segment::Segment;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    results
        .arrays
        .iter()
        .flat_map(|array| snapshots(array).into_iter().chain(writes(array)))
        .collect()
}

fn snapshots(array: &ArrayResults) -> Option<Finding> {
    let count = |what: fn(&crate::data::snapshots::Snapshots) -> u64| -> u64 {
        array.segments.iter().filter_map(|segment| segment.snapshots.as_ref()).map(what).sum()
    };
    let (refused, taken) = (count(|one| one.refused), count(|one| one.taken));
    if refused == 0 {
        return None;
    }
    let what = match taken {
        0 => format!(
            "all {refused} snapshots were refused, so its figures are those of an array without snapshots"
        ),
        taken => format!(
            "{refused} of {} snapshots were refused, so its figures are those of an array with fewer",
            refused + taken
        ),
    };
    let is_pool = array.layout == LayoutKind::POOL;
    let remedy = match (taken == 0, is_pool) {
        (true, false) => "or thin volumes",
        (false, false) => "thin volumes, or fewer snapshots kept",
        (true, true) => "or sparse = true",
        (false, true) => "sparse = true, or fewer snapshots kept",
    };
    let text = format!(
        "{}: {what}. With each of them, what volumes reserve could not be overwritten in full: it takes more room, \
         {remedy}.",
        array.name
    );
    let finding = Finding::of(&array.name, "snapshots_refused", Severity::Warning, text);
    Some(finding.with([("refused", refused as f64), ("taken", taken as f64)]))
}

fn writes(array: &ArrayResults) -> Option<Finding> {
    let refused = |segment: &Segment| segment.refused.unwrap_or(0);
    let all: u64 = array.segments.iter().map(refused).sum();
    let first = array.segments.iter().find(|segment| refused(segment) > 0)?.index;
    let text = format!(
        "{}: {} operations were refused, from segment {first} on: the array had no room for what was written, or had lost \
         what was read. A refused operation costs next to nothing, so IOPS and response times from there on are not those \
         of the workload.",
        array.name,
        grouped(all as f64, false)
    );
    let finding = Finding::of(&array.name, "operations_refused", Severity::Warning, text);
    Some(finding.in_segment(first).with([("refused", all as f64)]))
}
