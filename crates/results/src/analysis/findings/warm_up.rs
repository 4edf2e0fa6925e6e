//! A cache that is still filling: figures before it is full are of warm-up, not of age.

use crate::data::array::ArrayResults;
use crate::data::finding::{Finding, Severity};
use crate::data::number::fixed;
use crate::data::results::Results;
use crate::data::segment::Segment;

/// A hit ratio that rises by less from one segment to the next is steady, percentage points.
const STEADY_POINTS: f64 = 2.0;
/// Metadata reads that fall by less of all commands from one segment to the next are steady, percent.
const STEADY_PERCENT: f64 = 5.0;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    let arrays = results.arrays.iter().filter(|array| array.phases.is_empty());
    let warming = arrays.filter_map(|array| of_array(results, array));
    warming.chain(beside_published(results)).collect()
}

/// Published segments are of a run that was measured from its start on.
fn beside_published(results: &Results) -> Vec<Finding> {
    let is_compared = |array: &&ArrayResults| {
        array.warm_up.is_some() && results.published.iter().any(|one| one.array == array.name)
    };
    let finding = |array: &ArrayResults| {
        let text = format!(
            "{}: published segment 1 stands beside one that begins after a warm-up, when the array is older. Without \
             warm_up they are of one age.",
            array.name
        );
        Finding::of(&array.name, "warm_up_beside_published", Severity::Caution, text)
    };
    results.arrays.iter().filter(is_compared).map(finding).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Option<Finding> {
    let segments = array.rated_segments();
    let warms = |pair: &[Segment]| match pair {
        [before, after] => is_warming(before, after),
        _ => false,
    };
    // From the beginning on, without a break.
    let warm_up = segments.windows(2).take_while(|pair| warms(pair)).count();
    let (first, last) = (segments.first()?, segments.get(warm_up)?);
    if warm_up == 0 {
        return None;
    }
    let (from, to) = (hit_percent(first), hit_percent(last));
    let mut hits = format!("its hit ratio goes from {} to {} %", fixed(from, 1), fixed(to, 1));
    let [from, to] = [first, last].map(|segment| fixed(metadata_reads(segment), 3));
    if from != to {
        hits += &format!(", and metadata reads from {from} to {to} an operation");
    }
    let still = warm_up + 1 == segments.len();
    let text = match still {
        true => format!(
            "{}: the cache is still warming at the end of the run: {hits}. The figures are of warm-up, not of age.",
            array.name
        ),
        false => format!(
            "{}: the cache is warming until segment {}: {hits}. Figures before that are of warm-up, not of age{}.",
            array.name,
            last.index,
            left_out(results, array, warm_up)
        ),
    };
    let finding = Finding::of(&array.name, "cache_warming", Severity::Caution, text);
    Some(finding.in_segment(last.index).with([
        ("hit_percent_at_first", hit_percent(first)),
        ("hit_percent_then", hit_percent(last)),
    ]))
}

/// Returns how to leave the first segments out, of what runs from a scenario.
fn left_out(results: &Results, array: &ArrayResults, segments: usize) -> String {
    if results.real_spindles.is_some() {
        return String::new();
    }
    let warm_up = array.warm_up.as_deref().into_iter().chain(&array.segments[..segments]);
    let scale = results.scaled.as_ref().map_or(1.0, |scaled| f64::from(scaled.by));
    let seconds = (scale * warm_up.map(|segment| segment.seconds).sum::<f64>()).ceil();
    let time = match seconds % 60.0 == 0.0 {
        true => format!("{} min", seconds / 60.0),
        false => format!("{seconds} s"),
    };
    format!(": --set \"warm_up={time}\" leaves them out")
}

fn is_warming(before: &Segment, after: &Segment) -> bool {
    let more_hits = hit_percent(after) - hit_percent(before);
    let fewer_reads = metadata_reads(before) - metadata_reads(after);
    more_hits >= STEADY_POINTS
        || fewer_reads > 0.0
            && 100.0 * fewer_reads >= STEADY_PERCENT * before.commands_per_host_op()
}

/// Returns the share of host reads that the cache answered, or of all look-ups where results do not tell.
fn hit_percent(segment: &Segment) -> f64 {
    let of_hosts = segment.cache.host_reads.as_ref().and_then(|reads| reads.hit_percent);
    of_hosts.unwrap_or(segment.cache.hit_percent)
}

fn metadata_reads(segment: &Segment) -> f64 {
    match segment.ops {
        0 => 0.0,
        ops => segment.spindle_commands.metadata_reads as f64 / ops as f64,
    }
}
