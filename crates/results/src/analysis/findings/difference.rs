//! Why two arrays differ: the account of a loss between segments, between arrays.

use crate::analysis::like::{have_same_mix, like_pairs};
use crate::analysis::loss::between_arrays;
use crate::data::array::ArrayResults;
use crate::data::finding::{Finding, Severity};
use crate::data::loss::{Cause, Loss, LossPart};
use crate::data::number::{fixed, rounded, signed};
use crate::data::quantity;
use crate::data::results::Results;
use crate::data::segment::Segment;

/// Parts of at least this share of a difference are named: the rest of them together is a part too.
const NAMED_SHARE: f64 = 0.1;
/// Arrays whose IOPS differ by less do not differ, percent.
const LEAST_PERCENT: f64 = 3.0;
/// More arrays than these are a sweep, whose pairs say little.
const MOST_ARRAYS: usize = 4;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    let [first, others @ ..] = results.arrays.as_slice() else { return Vec::new() };
    if results.arrays.len() > MOST_ARRAYS {
        return Vec::new();
    }
    others.iter().filter_map(|other| of_pair(results, first, other)).collect()
}

fn of_pair(results: &Results, one: &ArrayResults, other: &ArrayResults) -> Option<Finding> {
    let workload = results.workload.as_ref();
    // Each at its own end: one may have come to its goal before the other.
    let last = |array| like_pairs(workload, array).into_iter().next().map(|pair| pair.last);
    let (of_one, of_other) = (last(one)?, last(other)?);
    if !have_same_mix(workload, of_one, of_other) {
        return None;
    }
    let ((slow, slower), (fast, faster)) = match of_one.iops <= of_other.iops {
        true => ((one, of_one), (other, of_other)),
        false => ((other, of_other), (one, of_one)),
    };
    if 100.0 * (1.0 - slower.iops / faster.iops) < LEAST_PERCENT {
        return None;
    }
    // What the faster one spends of the time of what limits the slower one, and what the slower one spends.
    let loss = between_arrays(results, (fast, faster), (slow, slower))?;
    let (parts, rest) = parts(&loss);
    let limit = loss.limit.as_str();
    let words = |part: &LossPart| match part.cause {
        // It is the idle time of the one that has more of it.
        Cause::Waiting => {
            let idle = if part.iops > 0.0 { &fast.name } else { &slow.name };
            format!("{limit} of {idle} idle {}", signed(part.iops, 0))
        }
        Cause::FanOut => format!("commands for host reads {}", signed(part.iops, 0)),
        Cause::ParityReads => format!("reads of old data and parity {}", signed(part.iops, 0)),
        Cause::ServiceTime => {
            let is = if part.iops > 0.0 { "shorter" } else { "longer" };
            format!("{is} service of a command {}", signed(part.iops, 0))
        }
        cause => format!("{} {}", cause.words(loss.limit), signed(part.iops, 0)),
    };
    let mut all: Vec<String> = parts.iter().map(words).collect();
    if rest.abs() >= 0.5 {
        all.push(format!("all else {}", signed(rest, 0)));
    }
    let band = ratio_band(slower, faster).map_or_else(String::new, |[low, high]| {
        format!(" ({} to {} with the bands of both)", fixed(low, 1), fixed(high, 1))
    });
    let text = format!(
        "{} delivers {} %{band} of the IOPS of {} in {}. Of the difference of {} IOPS, by how the time of the {limit} is \
         spent: {}.{}{}{}",
        slow.name,
        fixed(100.0 * slower.iops / faster.iops, 1),
        fast.name,
        match slower.index == faster.index {
            true => format!("segment {}", slower.index),
            false => format!("segment {}, beside {} of the other", slower.index, faster.index),
        },
        signed(slower.iops - faster.iops, 0),
        all.join(", "),
        commands_of_both((slow, slower), (fast, faster)),
        by_means(slow, fast, slower.iops / faster.iops).unwrap_or_default(),
        map_in_cache(results, (slow, slower), (fast, faster), &parts).unwrap_or_default()
    );
    let mut finding = Finding::of(&slow.name, "difference", Severity::Note, text)
        .in_segment(slower.index)
        .with([("iops", slower.iops), ("iops_of_other", faster.iops)]);
    finding.figures.extend(loss.parts.iter().map(|part| {
        (format!("iops_by_{}", part.cause.words(loss.limit).replace([' ', ','], "_")), part.iops)
    }));
    Some(finding)
}

/// An array, and a segment of it.
type At<'r> = (&'r ArrayResults, &'r Segment);

/// Returns what one array delivers in percent of another, from the lower end of its band and the upper of the other's
/// to the opposite; none without bands.
fn ratio_band(one: &Segment, other: &Segment) -> Option<[f64; 2]> {
    let (one, other) = (one.band.as_ref()?.iops, other.band.as_ref()?.iops);
    let percent = |one: f64, other: f64| (other > 0.0).then(|| 100.0 * one / other);
    Some([percent(one.low, other.high)?, percent(one.high, other.low)?])
}

/// So many segments at the end say whether the last one is typical.
const LAST_SEGMENTS: usize = 6;

/// Returns what the ratio of two arrays is by the means of their last segments, if that of the last one alone is
/// another: where IOPS go up and down, one segment is a matter of chance. Runs with phases have few of a kind.
fn by_means(slow: &ArrayResults, fast: &ArrayResults, ratio: f64) -> Option<String> {
    let mean = |array: &ArrayResults| {
        let last = array.rated_segments().last_chunk::<LAST_SEGMENTS>()?;
        let iops = last.iter().map(|segment| segment.iops).sum::<f64>();
        array.phases.is_empty().then_some(iops / LAST_SEGMENTS as f64)
    };
    let by_means = mean(slow)? / mean(fast)?;
    ((by_means / ratio - 1.0).abs() > LEAST_PERCENT / 100.0).then(|| {
        format!(
            " By the means of the last {LAST_SEGMENTS} segments it is {} %: the last one alone is not typical.",
            fixed(100.0 * by_means, 1)
        )
    })
}

/// Returns how many commands both arrays take for an operation, and how long: the mechanism behind the parts.
fn commands_of_both((slow, slower): At<'_>, (fast, faster): At<'_>) -> String {
    let of = |segment: &Segment| {
        let commands = fixed(segment.commands_per_host_op(), 2);
        let service_ms = fixed(segment.spindle_commands.mean_service_ms, 1);
        format!("{commands} commands of {service_ms} ms an operation")
    };
    let spindles = |array: &ArrayResults| array.spindles.data + array.spindles.parity;
    format!(
        " {} takes {} on {} spindles, {} {} on {}.",
        slow.name,
        of(slower),
        spindles(slow),
        fast.name,
        of(faster),
        spindles(fast)
    )
}

/// A pointer block of 4 KiB has pointers to so many blocks: `docs/model.md`.
const POINTERS: f64 = 510.0;
/// A map that takes less of a cache than this leaves room for data.
const LARGE_SHARE: f64 = 0.5;

/// Returns why an array reads metadata, if that is a part of the difference: what maps its file does not fit its cache.
fn map_in_cache(
    results: &Results,
    (slow, slower): At<'_>,
    (fast, faster): At<'_>,
    parts: &[LossPart],
) -> Option<String> {
    parts.iter().find(|part| part.cause == Cause::MetadataReads)?;
    let reads =
        |segment: &Segment| segment.spindle_commands.metadata_reads as f64 / segment.ops as f64;
    let array = if reads(slower) >= reads(faster) { slow } else { fast };
    let scale = results.scaled.as_ref().map_or(1.0, |scaled| f64::from(scaled.by));
    let map_bytes = scale * results.load_of(array)?.file_bytes as f64 / POINTERS;
    let cache_bytes = scale * array.cache_bytes()?;
    let [map, cache] = [map_bytes, cache_bytes].map(quantity::about);
    let how = match map_bytes / cache_bytes {
        1.0.. => "do not fit",
        LARGE_SHARE.. => "take most of",
        _ => return None,
    };
    Some(format!(
        " The indirect blocks of the file of {}, {map}, {how} its cache of {cache}.",
        array.name
    ))
}

/// Returns the largest parts, in the order of the account, and what the others come to.
fn parts(loss: &Loss) -> (Vec<LossPart>, f64) {
    let mut by_size: Vec<LossPart> = loss.parts.clone();
    by_size.sort_by(|one, other| other.iops.abs().total_cmp(&one.iops.abs()));
    by_size.retain(|part| part.iops.abs() >= NAMED_SHARE * (loss.to_iops - loss.from_iops).abs());
    let named: f64 = by_size.iter().map(|part| part.iops).sum();
    let rest = rounded(loss.to_iops - loss.from_iops - named, 6);
    (by_size, rest)
}
