//! Measurements in the formats of other tools.

use strewn_formats::fio::{DirectionResult, JobResult, LatencyBins, Output};
use strewn_formats::iometer::{
    AccessLine, AccessSpecification, DefaultAssignment, LATENCY_BIN_COUNT, Measured, ResponseTimes,
    ResultRow, Results as IometerResults, RowKind, TestResults, TestType, latency_bin,
};
use strewn_results::Results;
use strewn_scenario::Scenario;
use strewn_sim::{DirectionMeasures, Segment};

const NS_PER_MS: f64 = 1e6;

/// Returns the segments of each array as fio's JSON: a job per segment, a group per array.
///
/// Segments must be measured by direction ([`RunOptions::by_direction`](crate::RunOptions::by_direction)); others are
/// left out. Latencies are within 0.1 %, where fio's are within 1.6 %. Times are virtual: a run begins in 1970, so
/// that the same run gives the same bytes.
#[must_use]
pub fn fio_output(results: &Results, segments: &[Vec<Segment>]) -> Output {
    let mut jobs = Vec::new();
    for (group, (array, segments)) in results.arrays.iter().zip(segments).enumerate() {
        for segment in segments {
            let Some(by_direction) = &segment.by_direction else { continue };
            let [reads, writes] = &**by_direction;
            let mut job = JobResult::new(format!("{} segment {}", array.name, segment.index));
            let runtime_ms = segment.length_ns / 1_000_000;
            job.groupid = group as u32;
            (job.elapsed, job.job_runtime) = (runtime_ms.div_ceil(1000), runtime_ms);
            let outstanding = array.outstanding_in(segment.index);
            if outstanding > 0 {
                job.set_outstanding(outstanding);
            }
            job.read = direction(reads, runtime_ms);
            job.write = direction(writes, runtime_ms);
            let mut all = latencies(reads);
            all.merge(&latencies(writes));
            job.set_latency_distribution(&all);
            jobs.push(job);
        }
    }
    let longest_ns = |segments: &Vec<Segment>| segments.iter().map(|one| one.length_ns).sum();
    let end_ms = segments.iter().map(longest_ns).max().unwrap_or(0_u64) / 1_000_000;
    Output::new(virtual_time(end_ms), end_ms, jobs)
}

fn latencies(measures: &DirectionMeasures) -> LatencyBins {
    let mut latencies = LatencyBins::default();
    for bin in measures.response.iter().flat_map(|response| response.iter_recorded()) {
        let ns = bin.value_iterated_to().clamp(measures.least_ns, measures.most_ns);
        latencies.record_many(ns, bin.count_since_last_iteration());
    }
    latencies
}

fn direction(measures: &DirectionMeasures, runtime_ms: u64) -> DirectionResult {
    let answered = measures.answered;
    let mut result = DirectionResult::new(answered.count, answered.sectors * 512, runtime_ms)
        .with_latency(&latencies(measures));
    // Unlike the histogram, these are exact.
    for latency in [&mut result.clat_ns, &mut result.lat_ns] {
        (latency.min, latency.max) = (measures.least_ns, measures.most_ns);
        latency.mean = mean_ns(&[measures]);
    }
    result
}

fn mean_ns(measures: &[&DirectionMeasures]) -> f64 {
    let sum: u128 = measures.iter().map(|measures| measures.response_sum_ns).sum();
    let count: u64 = measures.iter().map(|measures| measures.answered.count).sum();
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

/// Returns the segments of each array as Iometer's results: a series per array, a test per segment.
///
/// Segments must be measured by direction ([`RunOptions::by_direction`](crate::RunOptions::by_direction)); others are
/// left out. Times are virtual, as in [`fio_output`].
#[must_use]
pub fn iometer_results(
    scenario: &Scenario,
    results: &Results,
    segments: &[Vec<Segment>],
) -> Vec<IometerResults> {
    let own = specification(scenario).filter(|_| results.workload.is_none());
    let name = match (&own, &results.workload) {
        (Some(own), _) => own.name.clone(),
        (None, Some(workload)) => workload.name.clone().unwrap_or_else(|| workload.file.clone()),
        (None, None) => String::new(),
    };
    let series = |(array, segments): (&strewn_results::ArrayResults, &Vec<Segment>)| {
        let mut end_ms = 0;
        let test = |segment: &Segment| {
            end_ms += segment.length_ns / 1_000_000;
            let rows = [
                (RowKind::All, "All"),
                (RowKind::Manager, array.name.as_str()),
                (RowKind::Worker, "host"),
            ];
            let row = |(kind, row_name): (RowKind, &str)| {
                row(kind, row_name, &name, array.outstanding_in(segment.index), segment)
            };
            Some(TestResults {
                access_specifications: own.iter().cloned().collect(),
                rows: rows.into_iter().map(row).collect::<Option<_>>()?,
                finished: virtual_time(end_ms),
            })
        };
        IometerResults {
            test_type: TestType::Normal,
            description: format!("{}: {}", scenario.name, array.name),
            version: format!("strewn {}", results.strewn),
            started: virtual_time(0),
            tests: segments.iter().filter_map(test).collect(),
        }
    };
    results.arrays.iter().zip(segments).map(series).collect()
}

/// Returns the scenario's own specification in Iometer's terms.
fn specification(scenario: &Scenario) -> Option<AccessSpecification> {
    let [only] = scenario.workloads.as_slice() else { return None };
    let own = only.specification().ok()?;
    let line = |line: &strewn_workload::AccessLine| AccessLine {
        percent_of_accesses: line.percent_of_accesses,
        read_percent: line.read_percent,
        random_percent: line.random_percent,
        alignment_bytes: own.alignment_bytes(),
        ..AccessLine::of_bytes(line.bytes)
    };
    Some(AccessSpecification {
        name: own.name().to_owned(),
        default_assignment: DefaultAssignment::None,
        lines: own.lines().iter().map(line).collect(),
    })
}

fn row(
    kind: RowKind,
    name: &str,
    specification: &str,
    outstanding: u32,
    segment: &Segment,
) -> Option<ResultRow> {
    let [reads, writes] = &**segment.by_direction.as_ref()?;
    let mut measured = Measured::from_counts(
        segment.length_ns as f64 / 1e9,
        reads.answered.count,
        writes.answered.count,
        reads.answered.sectors * 512,
        writes.answered.sectors * 512,
    );
    measured.average_ms = ResponseTimes {
        total: mean_ns(&[reads, writes]) / NS_PER_MS,
        read: mean_ns(&[reads]) / NS_PER_MS,
        write: mean_ns(&[writes]) / NS_PER_MS,
        ..ResponseTimes::default()
    };
    measured.maximum_ms = ResponseTimes {
        total: reads.most_ns.max(writes.most_ns) as f64 / NS_PER_MS,
        read: reads.most_ns as f64 / NS_PER_MS,
        write: writes.most_ns as f64 / NS_PER_MS,
        ..ResponseTimes::default()
    };
    let mut bins = [0; LATENCY_BIN_COUNT];
    for measures in [reads, writes] {
        for bin in measures.response.iter().flat_map(|response| response.iter_recorded()) {
            bins[latency_bin(bin.value_iterated_to())] += bin.count_since_last_iteration();
        }
    }
    Some(ResultRow {
        access_specification: specification.to_owned(),
        managers: Some(1),
        workers: Some(1),
        disks: Some(1),
        measured: Some(measured),
        queue_depth: Some(outstanding.into()),
        latency_bins: Some(bins),
        ..ResultRow::new(kind, name)
    })
}

/// Formats a time of a run as Iometer does; the run begins with 1970.
fn virtual_time(ms: u64) -> String {
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March.
    let since_march_0 = days + 719_468;
    let (era, of_era) = (since_march_0 / 146_097, since_march_0 % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hours, minutes, seconds) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}:{ms:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_begins_with_1970() {
        assert_eq!(virtual_time(0), "1970-01-01 00:00:00:000");
        assert_eq!(virtual_time(1_200_005), "1970-01-01 00:20:00:005");
        // 2024-02-29T12:00:00Z.
        assert_eq!(virtual_time(1_709_208_000_000), "2024-02-29 12:00:00:000");
    }
}
