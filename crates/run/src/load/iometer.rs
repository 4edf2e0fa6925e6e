//! Iometer's configurations as hosts.

use std::path::Path;

use strewn_formats::iometer::{
    AccessSpecification, Configuration, Feature, FeatureUse, TestType, Worker, WorkerKind,
};
use strewn_results::{Ignored, WorkloadWorker};
use strewn_scenario::MOST_OUTSTANDING;
use strewn_sim::{AnyHost, Workers};
use strewn_workload::{Distribution, Pattern, PatternLine, Sequence};

use super::LoadStream;
use super::error::LoadError;

use super::region::{Region, listed, plain, seed_of_worker, stream};

/// Iometer's name for an idle assignment.
const IDLE: &str = "Idle";

/// The part of a configuration that runs.
#[derive(Debug, Clone)]
pub(super) struct Specifications {
    workers: Vec<WorkerPlan>,
    /// Outstanding operations of each worker, segment by segment; empty if they do not change.
    pub(super) depths: Vec<u32>,
}

#[derive(Debug, Clone)]
struct WorkerPlan {
    name: String,
    pattern: Pattern,
    /// `None` for the scenario's number.
    outstanding: Option<u32>,
    starting_sector: u64,
    /// 0 for the whole file.
    maximum_size_sectors: u64,
}

/// Reads the configuration at `path`: returns what runs, its name, and what is ignored.
pub(super) fn read(
    path: &Path,
    name: Option<&str>,
) -> Result<(Specifications, Option<String>, Vec<Ignored>), LoadError> {
    let configuration = Configuration::load(path)?;
    let file = path.display().to_string();
    let specifications = configuration.access_specifications.as_deref().unwrap_or_default();
    let names = || listed(specifications.iter().map(|one| one.name.as_str()));
    if specifications.is_empty() {
        return Err(LoadError::new(
            format!("{file} has no access specifications"),
            "save the configuration with them, or give another file",
        ));
    }
    let found = |name: &str| {
        configuration.access_specification(name).ok_or_else(|| {
            LoadError::new(
                format!("{file} has no access specification \"{name}\""),
                format!("there are {}", names()),
            )
        })
    };
    let active = active_workers(&configuration);
    let choose = || {
        LoadError::new(
            format!("{file} has {} access specifications", specifications.len()),
            format!("say which one after a colon, as in {file}:NAME; there are {}", names()),
        )
    };

    // Pair each worker with its specification; without active workers, run one that is not in the file.
    let mut chosen: Vec<(Option<&Worker>, String, &AccessSpecification)> = Vec::new();
    for (manager, worker) in &active {
        let assigned = worker.assigned_specifications.as_deref().unwrap_or_default();
        let specification = match (name, assigned) {
            (Some(name), _) => found(name)?,
            (None, [one]) if one.eq_ignore_ascii_case(IDLE) => continue,
            (None, [one]) => found(one)?,
            (None, []) => match specifications {
                [only] => only,
                _ => return Err(choose()),
            },
            (None, _) => return Err(choose()),
        };
        chosen.push((Some(*worker), format!("{manager}/{}", worker.name), specification));
    }
    if active.is_empty() {
        let specification = match (name, specifications) {
            (Some(name), _) => found(name)?,
            (None, [only]) => only,
            (None, _) => return Err(choose()),
        };
        chosen.push((None, "worker".to_owned(), specification));
    }
    if chosen.is_empty() {
        return Err(LoadError::new(
            format!("{file}: every worker is assigned Idle"),
            format!("say which specification to run, as in {file}:NAME; there are {}", names()),
        ));
    }

    refuse(&file, &configuration, &active, &chosen)?;
    let workers = chosen
        .iter()
        .map(|(worker, called, specification)| {
            let settings = worker.and_then(|worker| worker.settings.as_ref());
            WorkerPlan {
                name: called.clone(),
                pattern: pattern(specification),
                outstanding: settings.map(|settings| settings.outstanding_ios.max(1)),
                starting_sector: settings.map_or(0, |settings| settings.starting_sector),
                maximum_size_sectors: settings.map_or(0, |settings| settings.maximum_size_sectors),
            }
        })
        .collect();
    let setup = configuration.test_setup.as_ref();
    let cycling = setup.filter(|setup| setup.test_type == TestType::CycleOutstandingIos);
    let depths: Vec<u32> =
        cycling.map(|setup| setup.queue_depth_cycling.depths().collect()).unwrap_or_default();
    if cycling.is_some() && depths.is_empty() || depths.contains(&0) {
        return Err(LoadError::new(
            format!("{file}: 'Queue Depth Cycling goes through no depths, or through 0"),
            "write start, end, step and LINEAR or EXPONENTIAL, such as 1 32 2 EXPONENTIAL",
        ));
    }
    let first = &chosen[0].2.name;
    let same = chosen.iter().all(|(.., one)| one.name == *first).then(|| first.clone());
    let ignored = ignored(&file, &configuration, &active);
    Ok((Specifications { workers, depths }, same, ignored))
}

/// Returns the disk workers with targets, or all disk workers if none has a target yet, each with its manager's name.
fn active_workers(configuration: &Configuration) -> Vec<(&str, &Worker)> {
    let has_target = |worker: &Worker| worker.targets.as_ref().is_some_and(|all| !all.is_empty());
    let some_target = configuration.workers().any(|(_, worker)| has_target(worker));
    configuration
        .workers()
        .filter(|(_, worker)| has_target(worker) || !some_target)
        .map(|(manager, worker)| (manager.name.as_str(), worker))
        .collect()
}

/// Rejects unsupported features, by name.
fn refuse(
    file: &str,
    configuration: &Configuration,
    active: &[(&str, &Worker)],
    chosen: &[(Option<&Worker>, String, &AccessSpecification)],
) -> Result<(), LoadError> {
    let refused = |what: &str, help: &str| {
        Err(LoadError::new(format!("{file}: {what}, which is not supported"), help))
    };
    for (.., specification) in chosen {
        for FeatureUse { feature, by } in specification.features() {
            let help = match feature {
                Feature::Idle => "choose a specification that accesses something",
                Feature::PartialSectors => "make the size a multiple of 512 bytes",
                Feature::ByteAlignment => "align to a multiple of 512 bytes, or to 0 for sectors",
                Feature::Reply => "set the reply to 0: replies are for networks",
                // Delays, bursts and alignment are supported.
                _ => continue,
            };
            return refused(&format!("{by} asks for {feature}"), help);
        }
    }
    if let Some(setup) = &configuration.test_setup
        && !matches!(setup.test_type, TestType::Normal | TestType::CycleOutstandingIos)
    {
        return refused(
            &format!("'Test Type is {}", setup.test_type.word()),
            "NORMAL and CYCLE_OUTSTANDING_IOS are: there is one LUN, and all workers work on it",
        );
    }
    let mut lun: Option<&str> = None;
    for (manager, worker) in active {
        let by = format!("worker \"{}\" of manager \"{manager}\"", worker.name);
        let targets = worker.targets.as_deref().unwrap_or_default();
        if worker.kind != WorkerKind::Disk
            || targets.iter().any(|target| target.kind != WorkerKind::Disk)
        {
            return refused(&format!("{by} is of a network"), "take it out");
        }
        for target in targets {
            let other = lun.get_or_insert(&target.name);
            if *other != target.name {
                return refused(
                    &format!("{by} accesses {}, and there is {other} too", target.name),
                    "a scenario has one LUN: give all workers the same target",
                );
            }
        }
        if worker.settings.as_ref().is_some_and(|settings| settings.connection_rate.is_some()) {
            return refused(&format!("{by} tests the connection rate"), "switch it off");
        }
    }
    Ok(())
}

/// Returns the settings that do not affect the simulation.
fn ignored(file: &str, configuration: &Configuration, active: &[(&str, &Worker)]) -> Vec<Ignored> {
    let mut ignored = Vec::new();
    let mut add = |name: &str, place: String, reason: &str| {
        ignored.push(Ignored { name: name.to_owned(), place, reason: reason.to_owned() });
    };
    if let Some(setup) = &configuration.test_setup {
        let place = || format!("{file}, test setup");
        add("Run Time", place(), "the scenario's segments say how long a run is");
        if setup.ramp_up_seconds > 0 {
            let reason = "every segment is measured; the first one shows how the run begins";
            add("Ramp Up Time", place(), reason);
        }
    }
    for (manager, worker) in active {
        let place = || format!("{file}, worker \"{}\" of manager \"{manager}\"", worker.name);
        let Some(settings) = &worker.settings else { continue };
        if settings.fixed_seed.is_some() {
            add("use fixed seed", place(), "the scenario's seed, or --seed, is what draws follow");
        }
        if settings.data_pattern.is_some() {
            add("Data pattern", place(), "blocks have no contents in a simulation");
        }
    }
    ignored
}

fn pattern(specification: &AccessSpecification) -> Pattern {
    let line = |line: &strewn_formats::iometer::AccessLine| PatternLine {
        bytes: line.bytes,
        weight: line.percent_of_accesses.into(),
        read_percent: line.read_percent,
        random_percent: line.random_percent,
        alignment_bytes: if line.alignment_bytes == 0 { 512 } else { line.alignment_bytes },
        burst_accesses: line.burst_accesses.max(1),
        delay_ns: u64::from(line.delay_ms) * 1_000_000,
    };
    let mut lines: Vec<PatternLine> = specification.lines.iter().map(line).collect();
    // A burst repeats its line; a single line without a delay has nothing to repeat.
    if let [only] = lines.as_mut_slice()
        && only.delay_ns == 0
    {
        only.burst_accesses = 1;
    }
    Pattern {
        name: specification.name.clone(),
        lines,
        distributions: [Distribution::AnyByte, Distribution::AnyByte],
        sequence: Sequence::AnyAccess,
    }
}

impl WorkerPlan {
    fn region(&self, file: &str, file_bytes: u64) -> Result<Region, LoadError> {
        let first_byte = self.starting_sector.saturating_mul(512);
        let bytes = match self.maximum_size_sectors {
            0 => file_bytes.saturating_sub(first_byte),
            sectors => sectors.saturating_mul(512),
        };
        let what = format!("{file}: worker \"{}\"", self.name);
        Region { first_byte, bytes }.within(file_bytes, &what)
    }
}

impl Specifications {
    pub(super) fn host(
        &self,
        file: &str,
        file_bytes: u64,
        outstanding: u32,
        seed: u64,
    ) -> Result<AnyHost, LoadError> {
        let most = MOST_OUTSTANDING / self.workers.len().max(1) as u32;
        let asked = self.workers.iter().filter_map(|worker| worker.outstanding);
        if let Some(asked) = asked.chain(self.depths.iter().copied()).find(|asked| *asked > most) {
            return Err(LoadError::new(
                format!("{file}: {asked} operations of each worker are to be outstanding"),
                format!("{most} are the most with so many workers"),
            ));
        }
        if let ([only], []) = (self.workers.as_slice(), self.depths.as_slice()) {
            let region = only.region(file, file_bytes)?;
            let outstanding = only.outstanding.unwrap_or(outstanding);
            if let Some(plain) = plain(&only.pattern, region, seed, outstanding) {
                return Ok(AnyHost::ClosedLoop(Box::new(plain)));
            }
        }
        let worker = |(index, worker): (usize, &WorkerPlan)| {
            let what = format!("{file}: worker \"{}\"", worker.name);
            let region = worker.region(file, file_bytes)?;
            let stream = stream(&worker.pattern, region, seed_of_worker(seed, index), &what)?;
            let outstanding = worker.outstanding.unwrap_or(outstanding);
            let built = strewn_sim::Worker::closed_loop(Box::new(stream), outstanding);
            Ok(strewn_sim::Worker { workload: Some(worker.pattern.name.as_str().into()), ..built })
        };
        let workers = self.workers.iter().enumerate().map(worker);
        let workers = workers.collect::<Result<_, LoadError>>()?;
        let host = Workers::new(workers).with_depths(self.depths.clone());
        Ok(host.into())
    }

    pub(super) fn streams(
        &self,
        file: &str,
        file_bytes: u64,
        outstanding: u32,
    ) -> Result<Vec<LoadStream>, LoadError> {
        let stream = |worker: &WorkerPlan| {
            let region = worker.region(file, file_bytes)?;
            let own = self.depths.first().copied().or(worker.outstanding);
            Ok(LoadStream {
                pattern: worker.pattern.clone(),
                first_byte: region.first_byte,
                bytes: region.bytes,
                outstanding: own.unwrap_or(outstanding),
            })
        };
        self.workers.iter().map(stream).collect()
    }

    /// Returns the largest number of operations outstanding at a time.
    pub(super) fn outstanding(&self, of_scenario: u32) -> u32 {
        match self.depths.iter().max() {
            Some(depth) => depth * self.workers.len() as u32,
            None => {
                let own = self.workers.iter().map(|worker| worker.outstanding);
                own.map(|own| own.unwrap_or(of_scenario)).sum()
            }
        }
    }

    pub(super) fn described(
        &self,
        file: &str,
        file_bytes: u64,
    ) -> Result<Vec<WorkloadWorker>, LoadError> {
        let described = |worker: &WorkerPlan| {
            let region = worker.region(file, file_bytes)?;
            Ok(WorkloadWorker {
                name: worker.name.clone(),
                specification: worker.pattern.name.clone(),
                outstanding: worker.outstanding,
                first_byte: region.first_byte,
                region_bytes: region.bytes,
                limits: Vec::new(),
            })
        };
        self.workers.iter().map(described).collect()
    }
}
