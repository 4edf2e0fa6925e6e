//! The run in a line and in a sentence.

use strewn_results::words::{fixed, grouped, kind_in_words, signed};
use strewn_results::{
    ArrayResults, CLOSE_PERCENT, LayoutKind, LikePair, Results, RowStatus, Segment, Workload,
    have_same_mix, is_measure_of_array, like_pairs,
};

/// Identifies the run.
pub(crate) fn run_line(results: &Results) -> String {
    let Results { scenario, seed, strewn, host_ops, .. } = results;
    let operations = grouped(*host_ops as f64, false);
    format!("Strewn {strewn}: {scenario}, seed {seed}, {operations} host operations")
}

/// Summarizes the run in a sentence: the write-anywhere array beside the in-place one, or each array on its own. Only
/// like segments are compared ([`like_pairs`](strewn_results::like_pairs)).
#[must_use]
pub fn headline(results: &Results) -> String {
    let workload = results.workload.as_ref();
    if let Some(words) = of_rows(results) {
        return words;
    }
    if let Some(words) = in_phases(results) {
        return words;
    }
    if let Some(words) = beside_in_place(results) {
        return words;
    }
    if results.arrays.len() > 2
        && let Some(words) = range_of_changes(results)
    {
        return words;
    }
    let one = |array: &ArrayResults| {
        let name = &array.name;
        Some(match only_pair(workload, array) {
            Some((first, last)) if first.index == last.index && array.segments.len() == 1 => {
                format!("{name} delivers {} IOPS", whole(first.iops))
            }
            Some((first, last)) if is_whole_run(array, first, last) => format!(
                "{name} goes from {} to {} IOPS in {} segments",
                whole(first.iops),
                whole(last.iops),
                last.index
            ),
            Some((first, last)) if first.index < last.index => format!(
                "{name} goes from {} IOPS in segment {} to {} in segment {}",
                whole(first.iops),
                first.index,
                whole(last.iops),
                last.index
            ),
            _ => answers(array)?,
        })
    };
    let all: Vec<String> = results.arrays.iter().filter_map(one).collect();
    if all.is_empty() { results.scenario.clone() } else { all.join("; ") }
}

/// Returns how many of the predicted rows of a published table are close. None if there are no such rows.
fn of_rows(results: &Results) -> Option<String> {
    let predicted =
        || results.published_rows.iter().filter(|row| row.status == RowStatus::Predicted);
    let close = predicted().filter(|row| row.is_close()).count();
    (predicted().count() > 0).then(|| {
        format!(
            "{close} of {} predicted rows are within {CLOSE_PERCENT} % of what is published",
            predicted().count()
        )
    })
}

/// Returns the two segments that are compared in a run without phases.
fn only_pair<'a>(
    workload: Option<&Workload>,
    array: &'a ArrayResults,
) -> Option<(&'a Segment, &'a Segment)> {
    let pair = like_pairs(workload, array).into_iter().next()?;
    Some((pair.first, pair.last))
}

/// Returns how the IOPS of each array differ from the first to the last of the phases that are alike; within a phase if
/// there are no two. None in a run without phases, or if the hosts set the IOPS.
fn in_phases(results: &Results) -> Option<String> {
    let of_array = |array: &ArrayResults| {
        let mut pairs = like_pairs(results.workload.as_ref(), array);
        pairs.retain(|pair| !pair.workloads.is_empty() && pair.first.index < pair.last.index);
        // The question of a run with phases is how one of them has changed.
        if pairs.iter().any(|pair| pair.first.phase != pair.last.phase) {
            pairs.retain(|pair| pair.first.phase != pair.last.phase);
        }
        let words = |pair: &LikePair<'_>| {
            let LikePair { workloads, first, last } = pair;
            let place = |segment: &Segment, other: &Segment| match &segment.phase {
                Some(phase) if segment.phase != other.phase => {
                    format!("in \u{201c}{phase}\u{201d}")
                }
                _ => format!("in segment {}", segment.index),
            };
            format!(
                "{} {} IOPS {}, {} {} ({} %)",
                kind_in_words(workloads),
                whole(first.iops),
                place(first, last),
                whole(last.iops),
                place(last, first),
                percent_change(100.0 * (last.iops - first.iops) / first.iops)
            )
        };
        let all: Vec<String> = pairs.iter().map(words).collect();
        (!all.is_empty()).then(|| format!("{}: {}", array.name, all.join("; ")))
    };
    let all: Vec<String> = results.arrays.iter().filter_map(of_array).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns what a write-anywhere array delivers of the IOPS of an in-place one, in the segments that are alike on both.
fn beside_in_place(results: &Results) -> Option<String> {
    let workload = results.workload.as_ref();
    let is = |kind: LayoutKind| {
        move |array: &&ArrayResults| array.layout == kind && !array.segments.is_empty()
    };
    let of = results.arrays.iter().find(is(LayoutKind::WRITE_ANYWHERE))?;
    let over = results.arrays.iter().find(is(LayoutKind::IN_PLACE))?;
    let (first, last) = only_pair(workload, of)?;
    let (over_first, over_last) = (over.segment(first.index)?, over.segment(last.index)?);
    let is_like = |segment: &Segment, other: &Segment| {
        is_measure_of_array(workload, over, other) && have_same_mix(workload, segment, other)
    };
    if !is_like(first, over_first) || !is_like(last, over_last) {
        return None;
    }
    let (before, after) =
        (100.0 * first.iops / over_first.iops, 100.0 * last.iops / over_last.iops);
    let (of_name, over) = (&of.name, &over.name);
    if first.index == last.index {
        let the = match of.segments.len() {
            1 => "The".to_owned(),
            _ => format!("In segment {} the", last.index),
        };
        let after = fixed(after, 1);
        return Some(format!("{the} {of_name} delivers {after} % of the {over}\u{2019}s IOPS"));
    }
    let from = match fixed(after, 1) == fixed(before, 1) {
        true => "as at first:",
        false if after < before => "down from",
        false => "up from",
    };
    let (when, since) = match is_whole_run(of, first, last) {
        true => (format!("After {} segments", last.index), String::new()),
        false => (format!("In segment {}", last.index), format!(" in segment {}", first.index)),
    };
    Some(format!(
        "{when} the {of_name} delivers {} % of the {over}\u{2019}s IOPS, {from} {} %{since}",
        fixed(after, 1),
        fixed(before, 1)
    ))
}

/// Returns whether two segments are the first and the last of an array.
fn is_whole_run(array: &ArrayResults, first: &Segment, last: &Segment) -> bool {
    let index = |segment: Option<&Segment>| segment.map(|segment| segment.index);
    first.index < last.index
        && index(array.segments.first()) == Some(first.index)
        && index(array.segments.last()) == Some(last.index)
}

/// Returns the response time of an array whose host sets the IOPS, or whose segments are unlike.
fn answers(array: &ArrayResults) -> Option<String> {
    let ops: u64 = array.segments.iter().map(|segment| segment.ops).sum();
    let sum_ms = array.segments.iter().map(|segment| segment.response_ms.mean * segment.ops as f64);
    let mean_ms = sum_ms.sum::<f64>() / ops as f64;
    (ops > 0).then(|| {
        let decimals = if mean_ms < 10.0 { 2 } else { 1 };
        let (ops, mean_ms) = (whole(ops as f64), fixed(mean_ms, decimals));
        format!("{} answers {ops} operations in {mean_ms} ms on average", array.name)
    })
}

/// Returns which of many arrays lost most and which lost least; none if no array has two like segments.
fn range_of_changes(results: &Results) -> Option<String> {
    let change = |array: &ArrayResults| {
        let (first, last) = only_pair(results.workload.as_ref(), array)?;
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

/// Formats a change in percent with its sign, for use in a sentence.
pub(crate) fn percent_change(percent: f64) -> String {
    signed(percent, 1).replace('-', "\u{2212}")
}

/// Formats a figure without decimals, with a comma every three digits.
pub(crate) fn whole(figure: f64) -> String {
    grouped(figure, false)
}
