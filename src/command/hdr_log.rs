//! Response times of a run as an interval log of HdrHistogram.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use strewn::results::{ArrayResults, Results};
use strewn::sim::Segment;

/// As in the histograms of the simulation.
const SIGNIFICANT_DIGITS: u8 = 3;

/// What the longest time of an interval is divided by, for its column: a log of nanoseconds gives milliseconds.
const NS_PER_MS: f64 = 1e6;

/// Returns the log: an interval for each segment, array and direction, tagged `ARRAY.read` and `ARRAY.write`. Values
/// are nanoseconds. Intervals begin in virtual time, from the start of the run.
pub(super) fn of_run(results: &Results, segments: &[Vec<Segment>]) -> Result<Vec<u8>, String> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    let head = format!("{} {}, seed {}, in ns", results.scenario, results.strewn, results.seed);
    builder
        .add_comment(&head)
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(NS_PER_MS);
    let mut writer =
        builder.begin_log_with(&mut log, &mut serializer).map_err(|error| error.to_string())?;
    for (array, segments) in results.arrays.iter().zip(segments) {
        let mut begins_ns = 0;
        for segment in segments {
            for (direction, measures) in ["read", "write"]
                .iter()
                .zip(segment.by_direction.iter().flat_map(|both| both.iter()))
            {
                let mut times =
                    Histogram::<u64>::new(SIGNIFICANT_DIGITS).map_err(|error| error.to_string())?;
                for (ns, count) in measures.response.iter().flat_map(|response| response.bins()) {
                    let ns = ns.clamp(measures.least_ns, measures.most_ns);
                    times.record_n(ns, count).map_err(|error| error.to_string())?;
                }
                let tag = tag(array, direction);
                let interval =
                    (Duration::from_nanos(begins_ns), Duration::from_nanos(segment.length_ns));
                writer
                    .write_histogram(&times, interval.0, interval.1, Tag::new(&tag))
                    .map_err(|error| format!("{error:?}"))?;
            }
            begins_ns += segment.length_ns;
        }
    }
    Ok(log)
}

/// A tag ends at a comma, a space or a line end.
fn tag(array: &ArrayResults, direction: &str) -> String {
    let name = array.name.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c });
    format!("{}.{direction}", name.collect::<String>())
}
