//! fio's jobs as workers.

use std::collections::HashMap;
use std::path::Path;

use strewn_array::LunId;
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_formats::fio::{
    BlockSizes, Distribution as FioDistribution, Extent, Job, JobFile, OptionNote,
    PatternDirection, RateProcess, Zone,
};
use strewn_results::{Ignored, LimitedOperations, RateLimit, WorkloadWorker};
use strewn_sim::{Accesses, Outstanding, Rate, ThinkTime, Worker};
use strewn_workload::{Distribution, ExponentialGaps, Pattern, PatternLine, Sequence, ZoneShare};

use super::LoadStream;
use super::error::LoadError;
use super::reads_and_writes::ReadsAndWrites;
use super::region::{Region, listed, seed_of_worker, stream};

/// Most sizes in a range; each becomes a line of a pattern.
const MOST_SIZES: u64 = 65_536;

/// A job of a job file, with everything that the simulation cannot honour refused.
#[derive(Debug, Clone)]
pub(super) struct JobPlan {
    job: Job,
    group: u32,
}

/// Reads the jobs of the file at `path`, or the one called `name`, and the options that are ignored.
pub(super) fn read(
    path: &Path,
    name: Option<&str>,
) -> Result<(Vec<JobPlan>, Vec<Ignored>), LoadError> {
    let file = JobFile::load(path)?;
    let shown = path.display().to_string();
    let mut jobs: Vec<JobPlan> = Vec::new();
    for (group, of_group) in file.groups().enumerate() {
        let plans = of_group.iter().map(|job| JobPlan { job: job.clone(), group: group as u32 });
        jobs.extend(plans);
    }
    if let Some(name) = name {
        let all = listed(jobs.iter().map(|plan| plan.job.name.as_str()));
        jobs.retain(|plan| plan.job.name == name);
        if jobs.is_empty() {
            return Err(LoadError::new(
                format!("{shown} has no job \"{name}\""),
                format!("there are {all}"),
            ));
        }
        // There are no other jobs to wait for.
        jobs.iter_mut().for_each(|plan| plan.group = 0);
    }
    // Ignore the options of other jobs.
    let concerns = |note: &&OptionNote| {
        let own = jobs.iter().any(|plan| plan.job.name == note.section);
        name.is_none() || own || note.section == "global"
    };
    let refused = file.refused.iter().filter(concerns).map(|note| {
        LoadError::new(
            format!("{}: `{}` is not supported", note.position, note.name),
            format!("{}; take it out of the job to go without", note.reason),
        )
    });
    let unable = jobs.iter().flat_map(|plan| check(&plan.job, &shown));
    if let Some(problems) = LoadError::all(refused.chain(unable).collect()) {
        return Err(problems);
    }
    let note = |note: &OptionNote| Ignored {
        name: note.name.clone(),
        place: note.position.to_string(),
        reason: note.reason.to_owned(),
    };
    let mut ignored: Vec<Ignored> = file.ignored.iter().filter(concerns).map(note).collect();
    for JobPlan { job, .. } in &jobs {
        let mut add = |name: &str, reason: String| {
            ignored.push(Ignored {
                name: name.to_owned(),
                place: format!("{shown}:{} [{}]", job.line, job.name),
                reason,
            });
        };
        if job.outstanding() != job.io_depth {
            let engine = job.io_engine.as_deref().unwrap_or("psync, fio's default,");
            add("iodepth", format!("ioengine {engine} waits for each access"));
        }
        if job.ramp_time_us > 0 {
            add("ramp_time", "every segment is measured; warm_up of the scenario is not".into());
        }
        if job.seed.is_some() {
            add("randseed", "the scenario's seed, or --seed, is what draws follow".into());
        }
    }
    if are_several(&jobs) && !are_apart(&jobs) {
        ignored.push(Ignored {
            name: "filename".to_owned(),
            place: shown,
            reason: "jobs have files of their own, but not all a size in bytes: all work on the file under load from its start"
                .to_owned(),
        });
    }
    Ok((jobs, ignored))
}

/// Returns an error for each option that is not supported, by name.
fn check(job: &Job, file: &str) -> Vec<LoadError> {
    let mut problems = Vec::new();
    let mut refuse = |what: &str, help: &str| {
        let place = format!("{file}:{}: job \"{}\"", job.line, job.name);
        problems.push(LoadError::new(format!("{place}: {what}"), help));
    };
    let pattern = job.pattern;
    if matches!(pattern.direction, PatternDirection::Trim | PatternDirection::TrimWrite) {
        refuse("`rw` discards, which is not supported", "use a pattern that reads or writes");
    }
    if pattern.modifier.is_some() {
        refuse(
            "`rw` with a number behind a colon is not supported",
            "leave the number out; `percentage_random` mixes sequential accesses in",
        );
    }
    if job.time_based && job.runtime_us.is_none() {
        refuse("`time_based` has no `runtime`", "add a line such as runtime=20m");
    }
    if job.rate_process == RateProcess::Poisson && [0, 1].iter().any(|d| limit_bytes(job, *d)) {
        refuse("`rate_process=poisson` of a `rate` in bytes is not supported", "use rate_iops");
    }
    for direction in directions(job) {
        let (sizes, alignment) = match direction {
            0 => (&job.block_sizes.read, job.alignment_bytes.read),
            _ => (&job.block_sizes.write, job.alignment_bytes.write),
        };
        // The sizes of a range are multiples of its least size.
        let given = match sizes {
            BlockSizes::Range { least_bytes, .. } => vec![(*least_bytes, 1)],
            sizes => sizes_of(sizes),
        };
        let odd = given.into_iter().map(|(bytes, _)| bytes).chain(alignment);
        if let Some(odd) = odd.into_iter().find(|bytes| !bytes.is_multiple_of(512) || *bytes == 0) {
            refuse(
                &format!("`bs` or `blockalign` of {odd} bytes is not whole sectors"),
                "use multiples of 512",
            );
            // Nothing can be said of the sizes of a range that begins so.
            continue;
        }
        if let BlockSizes::Range { least_bytes, most_bytes } = sizes
            && most_bytes / least_bytes > MOST_SIZES
        {
            refuse(
                &format!("`bsrange` has {} sizes", most_bytes / least_bytes),
                &format!("{MOST_SIZES} are the most: raise the smallest"),
            );
        }
        if limit_bytes(job, direction) && of(&job.rate_iops, direction).is_some() {
            refuse("`rate` and `rate_iops` are both given", "keep one of the two");
        }
    }
    problems
}

/// Returns the rates of a job, of what it does.
fn limits(job: &Job) -> Vec<RateLimit> {
    let limit = |direction| {
        let iops = of(&job.rate_iops, direction).map(|rate| rate as f64);
        let bytes = of(&job.rate_bytes, direction);
        let mib_per_s = bytes.map(|rate| rate as f64 / f64::from(1 << 20));
        let of = match direction {
            0 => LimitedOperations::Reads,
            _ => LimitedOperations::Writes,
        };
        (iops.is_some() || mib_per_s.is_some()).then_some(RateLimit { of, iops, mib_per_s })
    };
    directions(job).into_iter().filter_map(limit).collect()
}

fn limit_bytes(job: &Job, direction: usize) -> bool {
    of(&job.rate_bytes, direction).is_some()
}

/// Returns the value for reads (0) or writes (1).
fn of<T: Copy>(each: &strewn_formats::fio::PerDirection<T>, direction: usize) -> T {
    if direction == 0 { each.read } else { each.write }
}

/// Returns whether a job reads (0), writes (1), or both.
fn directions(job: &Job) -> Vec<usize> {
    match job.pattern.direction {
        PatternDirection::Read => vec![0],
        PatternDirection::Write => vec![1],
        _ => vec![0, 1],
    }
}

/// Returns sizes with their weights: percent of 100, or equal weights in a range.
fn sizes_of(sizes: &BlockSizes) -> Vec<(u64, u32)> {
    match sizes {
        BlockSizes::Fixed(bytes) => vec![(*bytes, 100)],
        BlockSizes::Range { least_bytes, most_bytes } => {
            let step = (*least_bytes).max(1);
            (1..=most_bytes / step).map(|times| (times * step, 1)).collect()
        }
        BlockSizes::Split(shares) => {
            shares.iter().map(|share| (share.bytes, share.percent.into())).collect()
        }
    }
}

fn distribution(fio: &FioDistribution, job: &Job, region: Region) -> Distribution {
    match fio {
        FioDistribution::Uniform if job.covers_every_block => Distribution::EachOnce,
        FioDistribution::Uniform => Distribution::Uniform,
        FioDistribution::Zipf { theta, centre } => {
            Distribution::Zipf { theta: *theta, centre: *centre }
        }
        FioDistribution::Pareto { power, centre } => {
            Distribution::Pareto { power: *power, centre: *centre }
        }
        FioDistribution::Normal { deviation_percent, centre } => Distribution::Normal {
            deviation_percent: *deviation_percent,
            centre: centre.unwrap_or(0.5),
        },
        FioDistribution::Zoned(zones) => {
            let zone = |zone: &strewn_formats::fio::ZoneShare| ZoneShare {
                percent_of_accesses: zone.access_percent,
                sectors: match zone.zone {
                    Zone::Percent(percent) => region.sectors() * u64::from(percent) / 100,
                    Zone::Bytes(bytes) => bytes / 512,
                },
            };
            Distribution::Zoned(zones.iter().map(zone).collect())
        }
    }
}

fn pattern(job: &Job, region: Region) -> Pattern {
    let reads = match job.pattern.direction {
        PatternDirection::Read => 100,
        PatternDirection::Write => 0,
        _ => u32::from(job.read_percent),
    };
    let mut lines = Vec::new();
    for direction in directions(job) {
        let share = if direction == 0 { reads } else { 100 - reads };
        let sizes = if direction == 0 { &job.block_sizes.read } else { &job.block_sizes.write };
        let least_bytes = sizes.least_bytes() as u32;
        let alignment = of(&job.alignment_bytes, direction).map(|bytes| bytes as u32);
        let random_percent =
            if job.pattern.random { of(&job.random_percent, direction) } else { 0 };
        let sizes = sizes_of(sizes);
        let all: u32 = sizes.iter().map(|(_, weight)| weight).sum();
        // Scale by the other direction's total weight, so that shares of both directions refer to the same whole.
        let other = if direction == 0 { &job.block_sizes.write } else { &job.block_sizes.read };
        let whole: u32 = if directions(job).len() == 2 {
            sizes_of(other).iter().map(|(_, weight)| weight).sum()
        } else {
            1
        };
        let whole = if whole == all { 1 } else { whole };
        lines.extend(sizes.into_iter().map(|(bytes, weight)| PatternLine {
            bytes: bytes as u32,
            weight: share * weight * whole,
            read_percent: if direction == 0 { 100 } else { 0 },
            random_percent,
            // fio's sequential accesses follow each other whatever their alignment.
            alignment_bytes: if random_percent == 0 {
                512
            } else {
                alignment.unwrap_or(least_bytes)
            },
            burst_accesses: 1,
            delay_ns: 0,
        }));
    }
    Pattern {
        name: job.name.clone(),
        lines,
        distributions: [
            distribution(&job.distribution.read, job, region),
            distribution(&job.distribution.write, job, region),
        ],
        sequence: Sequence::SameDirection,
    }
}

/// A clone of a job, and where it works.
struct Placed<'j> {
    job: &'j Job,
    group: u32,
    clone: u32,
    region: Region,
}

/// Returns the clones of all jobs. Files that fio would keep apart lie one behind the other in the file under load, if
/// all their lengths are known.
fn placed<'j>(
    jobs: &'j [JobPlan],
    file: &str,
    file_bytes: u64,
) -> Result<Vec<Placed<'j>>, LoadError> {
    let starts = are_apart(jobs).then(|| starts(jobs, file_bytes));
    let mut placed = Vec::new();
    for (at, JobPlan { job, group }) in jobs.iter().enumerate() {
        for clone in 0..job.clones {
            let start = starts.as_ref().and_then(|starts| starts.get(&file_of(jobs, at, clone)));
            let start = start.copied().unwrap_or(0);
            let (offset, bytes) = extent(job, clone, file_bytes);
            let what = format!("{file}:{}: job \"{}\"", job.line, job.name);
            let region = Region { first_byte: start.saturating_add(offset), bytes };
            let region = region.within(file_bytes, &what)?;
            placed.push(Placed { job, group: *group, clone, region });
        }
    }
    Ok(placed)
}

/// A file that jobs access: by its name or, without one, the job's and the clone's own.
#[derive(PartialEq, Eq, Hash)]
enum FileOf<'j> {
    Named(&'j str),
    Own(usize, u32),
}

fn file_of(jobs: &[JobPlan], at: usize, clone: u32) -> FileOf<'_> {
    jobs[at].job.file_name.as_deref().map_or(FileOf::Own(at, clone), FileOf::Named)
}

/// Returns whether jobs access several files whose lengths they give.
fn are_apart(jobs: &[JobPlan]) -> bool {
    are_several(jobs) && jobs.iter().all(|plan| matches!(plan.job.size, Some(Extent::Bytes(_))))
}

fn are_several(jobs: &[JobPlan]) -> bool {
    let of_clones = |at: usize| (0..jobs[at].job.clones).map(move |clone| file_of(jobs, at, clone));
    let mut files = (0..jobs.len()).flat_map(of_clones);
    let first = files.next();
    files.any(|file| Some(file) != first)
}

/// Returns where each file begins, in the order in which jobs name them.
fn starts(jobs: &[JobPlan], file_bytes: u64) -> HashMap<FileOf<'_>, u64> {
    let mut files: Vec<(FileOf<'_>, u64)> = Vec::new();
    for (at, JobPlan { job, .. }) in jobs.iter().enumerate() {
        for clone in 0..job.clones {
            let (offset, bytes) = extent(job, clone, file_bytes);
            let end = offset.saturating_add(bytes);
            let file = file_of(jobs, at, clone);
            match files.iter_mut().find(|(other, _)| *other == file) {
                Some((_, length)) => *length = (*length).max(end),
                None => files.push((file, end)),
            }
        }
    }
    let mut starts = HashMap::with_capacity(files.len());
    let mut next = 0_u64;
    for (file, length) in files {
        starts.insert(file, next);
        next = next.saturating_add(length.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES));
    }
    starts
}

/// Returns where in its file a clone of a job works, and on how many bytes.
fn extent(job: &Job, clone: u32, file_bytes: u64) -> (u64, u64) {
    let increment = job.offset_increment.bytes_of(file_bytes).saturating_mul(clone.into());
    let first_byte = job.offset.bytes_of(file_bytes).saturating_add(increment);
    let first_byte = match (job.offset, job.offset_increment) {
        (Extent::Bytes(_), Extent::Bytes(_)) => first_byte / SECTOR_BYTES * SECTOR_BYTES,
        // As in fio: at the next multiple of the smallest block.
        _ => {
            let blocks =
                [&job.block_sizes.read, &job.block_sizes.write].map(BlockSizes::least_bytes);
            let least = blocks.into_iter().min().unwrap_or(SECTOR_BYTES).max(SECTOR_BYTES);
            first_byte.div_ceil(least).saturating_mul(least)
        }
    };
    let rest = file_bytes.saturating_sub(first_byte);
    let bytes = match job.size {
        None => rest,
        // A percentage refers to the device, and ends with it.
        Some(Extent::Percent(_)) => {
            job.size.map_or(rest, |size| size.bytes_of(file_bytes).min(rest))
        }
        Some(Extent::Bytes(bytes)) => bytes,
    };
    (first_byte, bytes / 512 * 512)
}

/// Returns whether a job reads and writes, each or one of them limited by a rate.
fn mixes_at_rates(job: &Job) -> bool {
    let has_rate =
        |direction| limit_bytes(job, direction) || of(&job.rate_iops, direction).is_some();
    job.pattern.direction == PatternDirection::ReadWrite
        && (1..100).contains(&job.read_percent)
        && [0, 1].into_iter().any(has_rate)
}

/// Builds a worker for each clone of each job. The job is its workload.
pub(super) fn workers(
    jobs: &[JobPlan],
    file: &str,
    file_bytes: u64,
    seed: u64,
) -> Result<Vec<Worker>, LoadError> {
    let mut workers = Vec::new();
    for Placed { job, group, region, .. } in placed(jobs, file, file_bytes)? {
        let seed = seed_of_worker(seed, workers.len());
        let what = format!("{file}:{}: job \"{}\"", job.line, job.name);
        let stream = stream(&pattern(job, region), region, seed, &what)?;
        let accesses: Box<dyn Accesses> = match mixes_at_rates(job) {
            true => Box::new(ReadsAndWrites::new(stream, job.read_percent, seed)),
            false => Box::new(stream),
        };
        let io_size = job.io_size.map_or(region.bytes, |size| size.bytes_of(file_bytes));
        let rate = |direction| match of(&job.rate_iops, direction) {
            Some(per_second) if job.rate_process == RateProcess::Poisson => {
                let seed = !seed.wrapping_add(direction as u64);
                Some(Rate::Poisson(ExponentialGaps::new(per_second, seed)))
            }
            Some(per_second) => Some(Rate::Operations(per_second)),
            None => of(&job.rate_bytes, direction).map(Rate::Bytes),
        };
        let worker = Worker {
            lun: LunId(0),
            rate: None,
            accesses,
            outstanding: Outstanding::Closed(job.outstanding()),
            think_time: job.think_time.filter(|think_time| think_time.pause_us > 0).map(
                |think_time| ThinkTime {
                    accesses: think_time.accesses,
                    pause_ns: think_time.pause_us.saturating_mul(1000),
                },
            ),
            rates: [rate(0), rate(1)],
            group,
            start_delay_ns: job.start_delay_us.saturating_mul(1000),
            runtime_ns: job.runtime_us.map(|us| us.saturating_mul(1000)),
            measures_late: true,
            most_accesses: job.accesses(),
            most_bytes: (!job.time_based).then(|| io_size.saturating_mul(job.loops)),
            workload: Some(job.name.as_str().into()),
            destinations: Vec::new(),
        };
        workers.push(worker);
    }
    Ok(workers)
}

pub(super) fn streams(
    jobs: &[JobPlan],
    file: &str,
    file_bytes: u64,
) -> Result<Vec<LoadStream>, LoadError> {
    let stream = |Placed { job, region, .. }: Placed<'_>| LoadStream {
        pattern: pattern(job, region),
        first_byte: region.first_byte,
        bytes: region.bytes,
        outstanding: job.outstanding(),
    };
    Ok(placed(jobs, file, file_bytes)?.into_iter().map(stream).collect())
}

pub(super) fn described(
    jobs: &[JobPlan],
    file: &str,
    file_bytes: u64,
) -> Result<Vec<WorkloadWorker>, LoadError> {
    let described = |Placed { job, clone, region, .. }: Placed<'_>| WorkloadWorker {
        name: match job.clones {
            1 => job.name.clone(),
            _ => format!("{}.{clone}", job.name),
        },
        specification: job.name.clone(),
        outstanding: Some(job.outstanding()),
        first_byte: region.first_byte,
        region_bytes: region.bytes,
        limits: limits(job),
    };
    Ok(placed(jobs, file, file_bytes)?.into_iter().map(described).collect())
}

/// Returns the largest number of accesses outstanding at a time.
pub(super) fn outstanding(jobs: &[JobPlan]) -> u32 {
    let groups = jobs.chunk_by(|one, next| one.group == next.group);
    let of = |plan: &JobPlan| plan.job.outstanding().saturating_mul(plan.job.clones);
    groups.map(|group| group.iter().map(of).sum()).max().unwrap_or(0)
}

/// Returns the longest time that the jobs can take, or `None` if the amount of work alone ends some.
pub(super) fn about_ns(jobs: &[JobPlan]) -> Option<u64> {
    let groups = jobs.chunk_by(|one, next| one.group == next.group);
    groups
        .map(|group| {
            let lengths = group.iter().map(|plan| {
                let length_us = plan.job.runtime_us?.saturating_add(plan.job.start_delay_us);
                Some(length_us.saturating_mul(1000))
            });
            Some(lengths.collect::<Option<Vec<_>>>()?.into_iter().max().unwrap_or(0))
        })
        .sum()
}
