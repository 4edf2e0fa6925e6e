//! Workloads on arrays of real spindles, in real time, with the results of a simulation.
//!
//! [`LiveRun::open`] opens the array in a directory. [`LiveRun::scenario`] describes it as a scenario's array, so
//! that the host and the results come from the code that simulations use. [`LiveRun::run`] runs the array and leaves
//! it shut down. An array runs on the caller's thread: its processor time and the host's are that thread's.

mod drive;
mod error;
mod fill;
mod measure;
mod payload;
mod scenario;

use std::path::Path;
use std::time::Instant;

use strewn_array::Counters;
use strewn_live::assembly::{self, ArrayLocation, AssembledArray, DeviceProblem, OpenOptions};
use strewn_live::device::{DeviceFile, IoBackend};
use strewn_live::measured_array::MeasuredArray;
use strewn_live::starting;
use strewn_results::{LayoutMap, MAP_SCHEMA, RealSpindles, Results, SCHEMA};
use strewn_scenario::Scenario;
use strewn_sim::Host;

use crate::array_run::ArrayRun;
use crate::load::Load;
use crate::observer::Observer;
use crate::run;
use crate::{hosts, results};
use strewn_scenario::build::map_of_groups;

pub use error::LiveError;
pub use scenario::LivePlan;

use drive::Drive;
use fill::Fill;

/// When to write the file in full before the first segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FillFile {
    /// If none of its blocks was ever written.
    #[default]
    IfBlank,
    /// Always.
    Always,
    /// Never: unwritten blocks read as zeros, without spindle I/O.
    Never,
}

/// Options of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveOptions {
    /// Whether to start degraded, as long as redundancy covers the missing spindles.
    pub degraded: bool,
    /// The I/O backend of the devices.
    pub io: IoBackend,
    /// When to write the file in full first.
    pub fill: FillFile,
    /// Whether to record the file's layout before the first segment and after each.
    pub with_map: bool,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct LiveOutcome {
    /// The measurements; incomplete segments are left out.
    pub results: Results,
    /// The layout of the file; without pictures unless they were asked for.
    pub map: LayoutMap,
    /// What ended the run early, or kept the array from shutting down cleanly.
    pub problem: Option<LiveError>,
}

/// An open array, to be run once.
#[derive(Debug)]
pub struct LiveRun {
    assembled: AssembledArray,
    name: String,
    options: LiveOptions,
}

impl LiveRun {
    /// Opens the array in `directory`, and locks its devices.
    ///
    /// # Errors
    /// If there is no array, it is in use, or it cannot run.
    pub fn open(directory: &Path, options: LiveOptions) -> Result<Self, LiveError> {
        let place = ArrayLocation::Directory(directory.to_owned());
        let opening = OpenOptions { degraded: options.degraded, read_only: false };
        let assembled = assembly::open(&place, opening)?;
        let named = directory.canonicalize().ok();
        let name = named.as_deref().unwrap_or(directory).file_name();
        let name = name.map_or_else(|| "array".to_owned(), |name| name.to_string_lossy().into());
        Ok(Self { assembled, name, options })
    }

    /// Returns the array and its load as a scenario, for [`Load`]s and for results. Its drive mechanics and processor
    /// costs are meaningless.
    ///
    /// # Errors
    /// If the LUN is too small for the file or the accesses.
    pub fn scenario(&self, plan: &LivePlan) -> Result<Scenario, LiveError> {
        scenario::of(&self.assembled.configuration, &self.name, plan)
    }

    /// Returns the problems of the array's devices that do not keep it from running.
    #[must_use]
    pub fn problems(&self) -> &[DeviceProblem] {
        &self.assembled.problems
    }

    /// Returns the array's configuration, as its labels record it.
    #[must_use]
    pub fn configuration(&self) -> &str {
        &self.assembled.label.configuration
    }

    /// Runs the workload of `scenario`, or `load` in its place, and shuts the array down.
    ///
    /// # Errors
    /// If the array cannot start, or something failed before the first measurement.
    ///
    /// # Panics
    /// If `scenario` does not come from [`Self::scenario`] of the same array, or its file was made longer.
    pub fn run(
        self,
        scenario: &Scenario,
        load: Option<&Load>,
        observer: &dyn Observer,
    ) -> Result<LiveOutcome, LiveError> {
        let began = Instant::now();
        let host: Box<dyn Host> = match load {
            None => run::own_host(scenario, 0)?.boxed(),
            Some(load) => load.host(scenario, 0, hosts::seed(scenario, 0))?.boxed(),
        };
        let Self { assembled, options, .. } = self;
        let mut real = real_spindles(&assembled.open_devices().collect::<Vec<_>>());
        let groups = assembled.configuration.groups();
        let longest = groups.iter().map(|group| group.blocks_per_spindle).max();
        let lun_sectors = assembled.configuration.lun_bytes() / strewn_base::SECTOR_BYTES;
        let started = starting::start(assembled, options.io)?;
        if !started.has_only_its_first_lun(lun_sectors) {
            started.shut_down().map_err(LiveError::Stopped)?;
            return Err(LiveError::OtherLuns);
        }
        started.log_warnings().iter().for_each(|warning| observer.warning(warning));
        real.io = match started.backend() {
            IoBackend::Uring => "io_uring".to_owned(),
            _ => "threads".to_owned(),
        };
        let blocks_per_spindle = longest.unwrap_or(0);
        let has_groups = groups.len() > 1;
        let whole = Whole { scenario, options, blocks_per_spindle, has_groups, host, observer };
        let Done { run, log, fill, problem } = whole.run(started.measured())?;
        real.fill = fill.map(Fill::figures);
        real.log = log;
        if run.segments.is_empty()
            && let Some(problem) = problem
        {
            return Err(problem);
        }
        let (results, map) = outcome(scenario, load, run, real, began)?;
        Ok(LiveOutcome { results, map, problem })
    }
}

/// A run on an array.
struct Whole<'a> {
    scenario: &'a Scenario,
    options: LiveOptions,
    /// Of the largest spindles.
    blocks_per_spindle: u64,
    has_groups: bool,
    host: Box<dyn Host>,
    observer: &'a dyn Observer,
}

/// The outcome of a run, with the array shut down.
struct Done {
    run: ArrayRun,
    log: Vec<strewn_results::LogFigures>,
    fill: Option<Fill>,
    problem: Option<LiveError>,
}

impl Whole<'_> {
    /// Runs the array, and shuts it down in every case.
    fn run(self, mut running: Box<dyn MeasuredArray>) -> Result<Done, LiveError> {
        let Self { scenario, options, blocks_per_spindle, has_groups, host, observer } = self;
        let filled = fill::fill(&mut *running, scenario, options, observer);
        let fill = match filled {
            Ok(fill) => fill,
            Err(error) => {
                // The first error is the one to report.
                let _ = running.shut_down();
                return Err(error);
            }
        };
        let map = options.with_map.then(|| {
            let name = &scenario.arrays[0].name;
            let is_parity = |spindle| running.is_parity(spindle);
            map_of_groups(name, blocks_per_spindle, has_groups, running.spindles(), is_parity)
        });
        let mut drive = Drive::new(running, host, scenario, observer);
        let (run, problem) = drive.run(map);
        let log = drive.log_figures();
        let problem = problem.or(drive.shut_down().err());
        Ok(Done { run, log, fill, problem })
    }
}

/// Describes the devices; the I/O backend is filled in later.
fn real_spindles(files: &[&DeviceFile]) -> RealSpindles {
    let kinds: Vec<bool> = files.iter().map(|file| file.is_block_device()).collect();
    let devices = match (kinds.contains(&true), kinds.contains(&false)) {
        (true, true) => "files and block devices",
        (true, false) => "block devices",
        _ => "files",
    };
    let uname = rustix::system::uname();
    let system = [uname.sysname(), uname.release(), uname.machine()];
    RealSpindles {
        devices: devices.to_owned(),
        direct_io: files.iter().all(|file| file.direct()),
        io: String::new(),
        system: system.map(|word| word.to_string_lossy().into_owned()).join(" "),
        fill: None,
        log: Vec::new(),
    }
}

fn outcome(
    scenario: &Scenario,
    load: Option<&Load>,
    mut run: ArrayRun,
    real: RealSpindles,
    began: Instant,
) -> Result<(Results, LayoutMap), LiveError> {
    let array = &scenario.arrays[0];
    let mut of_array = results::of_array(scenario, &scenario.origins(), array, &run);
    // Only a simulation has these parameters.
    of_array.parameters.retain(|parameter| {
        !parameter.name.starts_with("processor.") && parameter.name != "commands_per_spindle"
    });
    for parameter in &mut of_array.parameters {
        "the array's label".clone_into(&mut parameter.source);
    }
    if let Some(load) = load {
        of_array.outstanding = load.outstanding(scenario, 0);
    }
    let workload = load.map(|load| load.described(scenario, run.host_is_done)).transpose()?;
    let arrays = vec![of_array];
    let map = LayoutMap {
        schema: MAP_SCHEMA,
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        arrays: run.map.take().into_iter().collect(),
    };
    let mut results = Results {
        schema: SCHEMA,
        scenario: scenario.name.clone(),
        title: None,
        settings: Default::default(),
        setting_sources: Default::default(),
        seed: scenario.seed,
        strewn: env!("CARGO_PKG_VERSION").to_owned(),
        host_ops: run.segments.iter().map(|segment| segment.operations).sum(),
        partial: run.segments.len() < scenario.segments as usize && !run.host_is_done,
        scaled: None,
        load: Some(results::load(scenario, load.is_none())),
        workload,
        real_spindles: Some(real),
        published: Vec::new(),
        ratios: Vec::new(),
        published_rows: Vec::new(),
        fitted_settings: Vec::new(),
        overhead: Vec::new(),
        losses: Vec::new(),
        findings: Vec::new(),
        bands: None,
        arrays,
        wall_seconds: strewn_results::rounded(began.elapsed().as_secs_f64(), 4),
    };
    results.losses = strewn_results::losses(&results);
    results.findings = strewn_results::findings(&results);
    Ok((results, map))
}

/// The array's counters at the end of the last segment.
#[derive(Default)]
struct Counted(Counters);

impl Counted {
    fn since(&mut self, now: &Counters) -> Counters {
        let since = now.since(&self.0);
        self.0 = *now;
        since
    }
}
