//! Measurements in the formats of other tools.

use strewn_formats::fio::{DirectionResult, JobResult, LatencyBins, Output};
use strewn_formats::iometer::{
    AccessLine, AccessSpecification, DefaultAssignment, LATENCY_BIN_COUNT, Measured, ResponseTimes,
    ResultRow, Results as IometerResults, RowKind, TestResults, TestType, latency_bin,
};
use strewn_results::{Results, WorkloadKind};
use strewn_scenario::Scenario;
use strewn_sim::{DirectionMeasures, Segment};

use crate::load::{Load, LoadStream};

const NS_PER_MS: f64 = 1e6;

/// Returns the segments of each array as fio's JSON: a job per segment, a group per array. `load` is what replaced the
/// scenario's own workload. Jobs of fio, and each of several workloads, have a job of their own besides, over the
/// segments in which they were at work.
///
/// Segments must be measured by direction ([`RunOptions::by_direction`](crate::RunOptions::by_direction)); others are
/// left out. Latencies are within 0.1 %, where fio's are within 1.6 %. Times are virtual: a run begins in 1970, so
/// that the same run gives the same bytes.
#[must_use]
pub fn fio_output(results: &Results, load: Option<&Load>, segments: &[Vec<Segment>]) -> Output {
    let file_bytes = results.load.as_ref().map_or(0, |load| load.file_bytes);
    let mut jobs = Vec::new();
    for (group, (array, segments)) in results.arrays.iter().zip(segments).enumerate() {
        let group = group as u32;
        for segment in segments {
            let Some(by_direction) = &segment.by_direction else { continue };
            let load = JobLoad {
                name: format!("{} segment {}", array.name, segment.index),
                is_random: is_random(results, load, None),
                outstanding: array.outstanding_in(segment.index),
                clones: 1,
                bytes: file_bytes,
            };
            jobs.push(job(load, group, segment.length_ns, &[&**by_direction]));
        }
        for name in job_names(results, segments) {
            let (mut measures, mut length_ns) = (Vec::new(), 0);
            for segment in segments {
                let own = segment.by_workload.iter().find(|workload| *workload.name == *name);
                let measured = match own {
                    Some(own) => Some(&*own.by_direction),
                    None if segment.by_workload.is_empty() => segment.by_direction.as_deref(),
                    None => None,
                };
                let is_at_work = |both: &[DirectionMeasures; 2]| {
                    both.iter().any(|measures| measures.answered.count > 0)
                };
                if let Some(measured) = measured.filter(|measured| is_at_work(measured)) {
                    measures.push(measured);
                    length_ns += segment.length_ns;
                }
            }
            let workers = || {
                let all = results.workload.iter().flat_map(|workload| &workload.workers);
                all.filter(|worker| worker.specification == name)
            };
            let first = workers().next();
            let load = JobLoad {
                name: format!("{} {name}", array.name),
                is_random: is_random(results, load, Some(&name)),
                outstanding: first.and_then(|worker| worker.outstanding).unwrap_or_default(),
                clones: workers().count().max(1),
                bytes: first.map_or(file_bytes, |worker| worker.region_bytes),
            };
            jobs.push(job(load, group, length_ns, &measures));
        }
    }
    let longest_ns = |segments: &Vec<Segment>| segments.iter().map(|one| one.length_ns).sum();
    let end_ms = segments.iter().map(longest_ns).max().unwrap_or(0_u64) / 1_000_000;
    Output::new(virtual_time(end_ms), end_ms, jobs)
}

/// What a job of fio's JSON did, as its options say.
struct JobLoad {
    name: String,
    is_random: bool,
    /// 0 if operations arrive by the clock.
    outstanding: u32,
    clones: usize,
    /// Bytes that each clone accesses.
    bytes: u64,
}

/// Returns the names of the jobs of fio, or of the workloads where there are several.
fn job_names(results: &Results, segments: &[Segment]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let workloads = segments.iter().flat_map(|segment| &segment.by_workload);
    let of_workloads = workloads.map(|workload| &*workload.name);
    let of_jobs = results.workload.iter().filter(|workload| workload.kind == WorkloadKind::FioJob);
    let of_jobs = of_jobs.flat_map(|workload| &workload.workers);
    let of_jobs = of_jobs.map(|worker| worker.specification.as_str());
    for name in of_workloads.chain(of_jobs) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns whether any access goes to a random place: of the job called `name`, or of all.
fn is_random(results: &Results, load: Option<&Load>, name: Option<&str>) -> bool {
    let file_bytes = results.load.as_ref().map_or(0, |load| load.file_bytes);
    match load {
        None => {
            let own = results.load.as_ref().and_then(|load| load.accesses.as_ref());
            own.is_none_or(|own| own.random_percent > 0.0)
        }
        // Where the accesses of a trace go is not known before it is replayed.
        Some(load) => load.streams(file_bytes, 1).map_or(true, |streams| {
            let meant = |stream: &&LoadStream| name.is_none_or(|name| stream.pattern.name == name);
            let lines = streams.iter().filter(meant).flat_map(|stream| &stream.pattern.lines);
            lines.into_iter().any(|line| line.random_percent > 0)
        }),
    }
}

/// Returns a job of fio's JSON.
fn job(
    load: JobLoad,
    group: u32,
    length_ns: u64,
    measures: &[&[DirectionMeasures; 2]],
) -> JobResult {
    let of = |direction: usize| -> Vec<&DirectionMeasures> {
        measures.iter().map(|both| &both[direction]).collect()
    };
    let (reads, writes) = (of(0), of(1));
    let mut job = JobResult::new(load.name.clone());
    job.job_options = options(&load, &reads, &writes);
    let runtime_ms = length_ns / 1_000_000;
    job.groupid = group;
    (job.elapsed, job.job_runtime) = (runtime_ms.div_ceil(1000), runtime_ms);
    if load.outstanding > 0 {
        job.set_outstanding(load.outstanding);
    }
    job.read = direction(&reads, runtime_ms);
    job.write = direction(&writes, runtime_ms);
    let mut all = latencies(&reads);
    all.merge(&latencies(&writes));
    job.set_latency_distribution(&all);
    job
}

/// Returns the options with which fio would do about the same, without which tools do not draw a job: of sizes, the
/// mean.
fn options(
    load: &JobLoad,
    reads: &[&DirectionMeasures],
    writes: &[&DirectionMeasures],
) -> Vec<(String, String)> {
    let moved = |measures: &[&DirectionMeasures]| {
        let sum =
            |of: fn(&DirectionMeasures) -> u64| measures.iter().map(|one| of(one)).sum::<u64>();
        (sum(|one| one.answered.count), sum(|one| one.answered.sectors))
    };
    let ((reads, read_sectors), (writes, written_sectors)) = (moved(reads), moved(writes));
    let operations = reads + writes;
    let direction = match (reads, writes) {
        (_, 0) if reads > 0 => "read",
        (0, _) if writes > 0 => "write",
        _ => "rw",
    };
    let random = if load.is_random { "rand" } else { "" };
    let mean_bytes = (read_sectors + written_sectors) * strewn_base::SECTOR_BYTES;
    let mean_bytes = mean_bytes.checked_div(operations).unwrap_or_default();
    let mut options = vec![("name", load.name.clone()), ("rw", format!("{random}{direction}"))];
    if direction == "rw" && operations > 0 {
        let percent = (100.0 * reads as f64 / operations as f64).round();
        options.push(("rwmixread", format!("{percent}")));
    }
    options.extend([
        ("bs", in_units(mean_bytes)),
        ("iodepth", load.outstanding.max(1).to_string()),
        ("numjobs", load.clones.to_string()),
        ("size", in_units(load.bytes)),
    ]);
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Writes bytes as fio's options have them, in the largest unit of which they are a whole number.
fn in_units(bytes: u64) -> String {
    let units = [("g", 30), ("m", 20), ("k", 10)];
    let whole = units.iter().find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    whole.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

fn latencies(measures: &[&DirectionMeasures]) -> LatencyBins {
    let mut latencies = LatencyBins::default();
    for measures in measures {
        for (ns, count) in measures.response.iter().flat_map(|response| response.bins()) {
            latencies.record_many(ns.clamp(measures.least_ns, measures.most_ns), count);
        }
    }
    latencies
}

fn direction(measures: &[&DirectionMeasures], runtime_ms: u64) -> DirectionResult {
    let count = measures.iter().map(|measures| measures.answered.count).sum();
    let sectors: u64 = measures.iter().map(|measures| measures.answered.sectors).sum();
    let latencies = latencies(measures);
    let mut result = DirectionResult::new(count, sectors * strewn_base::SECTOR_BYTES, runtime_ms)
        .with_latency(&latencies)
        .with_bins(&latencies);
    // Unlike the histogram, these are exact.
    let answered = || measures.iter().filter(|measures| measures.answered.count > 0);
    for latency in [&mut result.clat_ns, &mut result.lat_ns] {
        latency.min = answered().map(|measures| measures.least_ns).min().unwrap_or_default();
        latency.max = answered().map(|measures| measures.most_ns).max().unwrap_or_default();
        latency.mean = mean_ns(measures);
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
        for (ns, count) in measures.response.iter().flat_map(|response| response.bins()) {
            bins[latency_bin(ns)] += count;
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
