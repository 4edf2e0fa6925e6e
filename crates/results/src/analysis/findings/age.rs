//! How much of its file has been written over, and whether that is enough to show age.

use crate::data::array::ArrayResults;
use crate::data::finding::{Finding, Severity};
use crate::data::number::{duration, rounded};
use crate::data::results::Results;
use crate::data::segment::Segment;

const BYTES_PER_MIB: f64 = (1 << 20) as f64;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    results.arrays.iter().filter_map(|array| of_array(results, array)).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Option<Finding> {
    let (first, last) = (array.segments.first()?, array.segments.last()?);
    // A job may work on a part of the file, of which results do not tell.
    if results.workload.is_some() {
        return None;
    }
    // Where nothing moves, nothing ages.
    let rewritten = last.layout.rewritten_percent?;
    let written_percent = written_percent(results, array)?;
    if written_percent >= 100.0 || written_percent <= 0.0 {
        return None;
    }
    let seconds: f64 = array.measured().map(|segment| segment.seconds).sum();
    let needed = seconds * 100.0 / written_percent;
    let text = format!(
        "{}: too short to show age. Hosts have written {} % of the file{}, and {} % of its blocks have moved; a whole \
         overwrite takes about {} segments at this rate, {} at full scale{}.",
        array.name,
        rounded(written_percent, 2),
        match results.load_of(array).is_some_and(|load| load.written_file_bytes.is_some()) {
            true => " on the LUNs that they write to",
            false => "",
        },
        rounded(rewritten, 2),
        rounded(needed / first.seconds, 2),
        duration(needed * results.scaled.as_ref().map_or(1.0, |scaled| scaled.by.into())),
        again(results)
    );
    let finding = Finding::of(&array.name, "too_short", Severity::Caution, text);
    Some(finding.with([
        ("written_percent", written_percent),
        ("rewritten_percent", rewritten),
        ("seconds_for_one_overwrite", rounded(needed, 3)),
    ]))
}

/// Returns how to run that long, of what runs by segments.
fn again(results: &Results) -> &'static str {
    match results.real_spindles.is_none() {
        true => ", which --until \"rewritten 100 %\" gives",
        false => "",
    }
}

/// Returns what hosts have written in all segments, in percent of the file; none if results do not tell.
pub(super) fn written_percent(results: &Results, array: &ArrayResults) -> Option<f64> {
    let load = results.load_of(array)?;
    let file_mib = load.written_file_bytes.unwrap_or(load.file_bytes) as f64 / BYTES_PER_MIB;
    let written: f64 = array.measured().map(|segment| written_mib(results, segment)).sum();
    Some(rounded(100.0 * written / file_mib, 4))
}

/// Returns what hosts wrote in a segment: as it was measured, or by the share of their accesses that write.
fn written_mib(results: &Results, segment: &Segment) -> f64 {
    if !segment.by_workload.is_empty() {
        return segment.by_workload.iter().map(|one| one.writes.mib).sum();
    }
    if let Some(host) = &segment.host {
        return host.writes.mib;
    }
    let mix = results.load.as_ref().and_then(|load| load.accesses.as_ref());
    let writes = mix.map_or(0.0, |mix| 1.0 - mix.read_percent / 100.0);
    segment.mib_per_s * segment.seconds * writes
}
