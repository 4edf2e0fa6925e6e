//! The run in a line and in a sentence.

use crate::data::number::{fixed, signed};
use crate::data::results::{ArrayResults, LayoutKind, Results};
use crate::data::segment::Segment;
use crate::rendering::axis::grouped;

/// Identifies the run.
pub(super) fn run_line(results: &Results) -> String {
    let Results { scenario, seed, strewn, host_ops, .. } = results;
    let operations = grouped(*host_ops as f64, false);
    format!("Strewn {strewn}: {scenario}, seed {seed}, {operations} host operations")
}

/// Summarizes the run in a sentence: the write-anywhere array beside the in-place one, or each array on its own.
pub(super) fn headline(results: &Results) -> String {
    let is = |kind: LayoutKind| {
        move |array: &&ArrayResults| array.layout == kind && !array.segments.is_empty()
    };
    let anywhere = results.arrays.iter().find(is(LayoutKind::WriteAnywhere));
    let in_place = results.arrays.iter().find(is(LayoutKind::InPlace));
    if let (Some(of), Some(over)) = (anywhere, in_place)
        && let Some((first, last)) = ends(of)
        && let (Some(over_first), Some(over_last)) =
            (over.segment(first.index), over.segment(last.index))
        && over_first.iops > 0.0
        && over_last.iops > 0.0
    {
        let (before, after) =
            (100.0 * first.iops / over_first.iops, 100.0 * last.iops / over_last.iops);
        let (of, over) = (&of.name, &over.name);
        if first.index == last.index {
            return format!("The {of} delivers {} % of the {over}\u{2019}s IOPS", fixed(after, 1));
        }
        let from = if after < before { "down from" } else { "up from" };
        return format!(
            "After {} segments the {of} delivers {} % of the {over}\u{2019}s IOPS, {from} {} %",
            last.index,
            fixed(after, 1),
            fixed(before, 1)
        );
    }
    if results.arrays.len() > 2
        && let Some(words) = range_of_changes(results)
    {
        return words;
    }
    let one = |array: &ArrayResults| {
        let (first, last) = ends(array)?;
        Some(match first.index == last.index {
            true => format!("{} delivers {} IOPS", array.name, whole(first.iops)),
            false => format!(
                "{} goes from {} to {} IOPS in {} segments",
                array.name,
                whole(first.iops),
                whole(last.iops),
                last.index
            ),
        })
    };
    let all: Vec<String> = results.arrays.iter().filter_map(one).collect();
    if all.is_empty() { results.scenario.clone() } else { all.join("; ") }
}

/// Returns which of many arrays lost most and which lost least; none if no array has two segments.
fn range_of_changes(results: &Results) -> Option<String> {
    let change = |array: &ArrayResults| {
        let (first, last) = ends(array)?;
        let percent = 100.0 * (last.iops - first.iops) / first.iops;
        (first.index < last.index && percent.is_finite())
            .then(|| (percent, array.name.clone(), last.index))
    };
    let mut changes: Vec<(f64, String, u32)> = results.arrays.iter().filter_map(change).collect();
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ((most, most_of, segments), (least, least_of, _)) = (changes.first()?, changes.last()?);
    Some(format!(
        "After {segments} segments IOPS have changed by {} % ({most_of}) to {} % ({least_of})",
        percent_change(*most),
        percent_change(*least)
    ))
}

/// Returns the first and the last segment; none if there are no segments.
pub(super) fn ends(array: &ArrayResults) -> Option<(&Segment, &Segment)> {
    array.segments.first().zip(array.segments.last())
}

/// Formats a change in percent with its sign, for use in a sentence.
pub(super) fn percent_change(percent: f64) -> String {
    signed(percent, 1).replace('-', "\u{2212}")
}

/// Formats a figure without decimals, with a comma every three digits.
pub(super) fn whole(figure: f64) -> String {
    grouped(figure, false)
}
