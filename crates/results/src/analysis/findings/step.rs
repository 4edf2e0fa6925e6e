//! Steps within a run, and what began there.

use crate::data::array::{ArrayResults, LayoutKind};
use crate::data::finding::{Finding, Severity};
use crate::data::number::{fixed, signed};
use crate::data::results::Results;
use crate::data::segment::Segment;

/// IOPS that change by less from one segment to the next are no step, percent.
const LEAST_PERCENT: f64 = 3.0;
/// A step is larger than the changes beside it by this factor: a slope has none.
const BEYOND_SLOPE: f64 = 3.0;
/// A step is larger than the usual change by this factor: of hundreds of segments that scatter, some differ by more
/// than their neighbours do.
const BEYOND_SCATTER: f64 = 6.0;
/// Further steps are many, and one sentence says so.
const MOST: usize = 3;

/// Counts something in a segment.
type Count = fn(&Segment) -> u64;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    // Where hosts do different things, IOPS differ.
    let is_steady = results.workload.is_none();
    let arrays = results.arrays.iter().filter(|array| is_steady && array.phases.is_empty());
    arrays.flat_map(|array| of_array(results, array)).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Vec<Finding> {
    let segments = array.rated_segments();
    let changes: Vec<f64> = segments
        .windows(2)
        .map(|pair| match pair {
            [before, after] if before.iops > 0.0 => 100.0 * (after.iops / before.iops - 1.0),
            _ => 0.0,
        })
        .collect();
    let mut sizes: Vec<f64> = changes.iter().map(|change| change.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    let is_step = |at: usize| {
        let size = changes[at].abs();
        let before = at.checked_sub(1).map(|before| changes[before].abs());
        let beside: Vec<f64> =
            before.into_iter().chain(changes.get(at + 1).map(|change| change.abs())).collect();
        let largest = beside.iter().copied().fold(0.0, f64::max);
        size > LEAST_PERCENT
            && size > BEYOND_SCATTER * usual
            && !beside.is_empty()
            && size > BEYOND_SLOPE * largest
    };
    let steps = (0..changes.len()).filter(|at| is_step(*at)).take(MOST);
    let finding = |at: usize| {
        let (before, after) = (&segments[at], &segments[at + 1]);
        let text = format!(
            "{}: IOPS change by {} % from segment {} to {}, {}.",
            array.name,
            signed(changes[at], 1),
            before.index,
            after.index,
            began(results, array, before, after)
        );
        Finding::of(&array.name, "step", Severity::Note, text)
            .in_segment(after.index)
            .with([("change_percent", changes[at])])
    };
    steps.map(finding).collect()
}

/// Returns what is different in a segment from the one before.
fn began(results: &Results, array: &ArrayResults, before: &Segment, after: &Segment) -> String {
    let starts_at = |segment: &Segment| {
        let earlier = array.segments.iter().take_while(|one| one.index < segment.index);
        earlier.map(|one| one.seconds).sum::<f64>()
    };
    let (begin, end) = (starts_at(before), starts_at(after) + after.seconds);
    let mut what = Vec::new();
    let failed = array.failures.iter().filter(|one| (begin..end).contains(&one.at_seconds));
    what.extend(failed.map(|one| format!("spindle {} fails", one.spindle)));
    let is_here = |at_seconds: Option<f64>| at_seconds.is_some_and(|at| (begin..end).contains(&at));
    let rebuilding = array.failures.iter().filter(|one| is_here(one.rebuild_began_at_seconds));
    what.extend(rebuilding.map(|one| format!("the rebuild of spindle {} begins", one.spindle)));
    let rebuilt = array.failures.iter().filter(|one| is_here(one.rebuilt_at_seconds));
    what.extend(rebuilt.map(|one| format!("the rebuild of spindle {} ends", one.spindle)));
    let added = array.parity_groups.iter().filter(|group| {
        group.added_at_seconds > 0.0 && (begin..end).contains(&group.added_at_seconds)
    });
    what.extend(added.map(|group| match group.class {
        None => "a parity group is added".to_owned(),
        Some(_) => "a vdev is added".to_owned(),
    }));
    let begun = |segment: &Segment| {
        segment.relocation.and_then(|relocation| relocation.scan).map_or(0, |scan| scan.begun)
    };
    // As with failures, in either of the two.
    let earlier = array.segments.iter().take_while(|one| one.index < before.index).last();
    if begun(after) > earlier.map_or(0, begun) {
        what.push(format!("{} begins", scan_words(results, array)));
    }
    // For the first time in the run.
    let begins = |count: Count| {
        let mut earlier = array.segments.iter().take_while(|one| one.index < after.index);
        count(after) > 0 && earlier.all(|one| count(one) == 0)
    };
    let firsts: [(Count, &str); 5] = [
        (
            |one| one.snapshots.as_ref().map_or(0, |snapshots| snapshots.taken),
            "the first snapshots are taken",
        ),
        (
            |one| one.snapshots.as_ref().map_or(0, |snapshots| snapshots.freed_blocks),
            "blocks of deleted snapshots are freed for the first time",
        ),
        (|one| one.refused.unwrap_or(0), "operations are refused for the first time"),
        (
            |one| one.housekeeping.as_ref().map_or(0, |one| one.freed_blocks),
            "delayed frees are reclaimed for the first time",
        ),
        (
            |one| one.cache.stalled_writes,
            match array.layout == LayoutKind::POOL {
                true => "writes wait for room below the dirty limit for the first time",
                false => "writes wait for room in the log or the write cache for the first time",
            },
        ),
    ];
    let firsts = firsts.into_iter().filter(|(count, _)| begins(*count));
    what.extend(firsts.map(|(_, words)| words.to_owned()));
    let full = |segment: &Segment| {
        segment.consistency_points.as_ref().and_then(|points| points.full_stripe_percent)
    };
    if let (Some(was), Some(is)) = (full(before), full(after))
        && was - is > 5.0
    {
        what.push(format!("stripes written whole fall from {was:.0} to {is:.0} %"));
    }
    let commands = [before, after].map(Segment::commands_per_host_op);
    if (commands[1] / commands[0] - 1.0).abs() > 0.03 {
        what.push(format!(
            "commands an operation go from {} to {}",
            fixed(commands[0], 2),
            fixed(commands[1], 2)
        ));
    }
    match what.is_empty() {
        true => "and nothing that is recorded began there".to_owned(),
        false => format!("where {}", what.join(", ")),
    }
}

/// Returns what goes through an array's LUNs in the background.
fn scan_words(results: &Results, array: &ArrayResults) -> &'static str {
    let has = |table: &str| {
        let prefix = format!("array.{}.zfs.{table}.", array.name);
        results.settings.keys().any(|name| name.starts_with(&prefix))
    };
    match (has("rewrite"), has("send")) {
        (true, _) => "a rewrite of the volumes",
        (_, true) => "a send of the volumes",
        _ => "a reallocation scan",
    }
}
