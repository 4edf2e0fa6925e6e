//! Workloads from users' files, run in place of a scenario's own.
//!
//! ```
//! use strewn_run::{Load, RunOptions, run};
//! use strewn_scenario::Scenario;
//!
//! let icf = "\
//! Version 1.1.0
//! 'ACCESS SPECIFICATIONS =========================================================
//! 'Access specification name,default assignment
//! \t8 KiB OLTP,NONE
//! 'size,% of size,% reads,% random,delay,burst,align,reply
//! \t8192,100,67,100,0,1,8192,0
//! 'END access specifications
//! Version 1.1.0
//! ";
//! let folder = std::env::temp_dir().join(format!("strewn-load-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let file = folder.join("oltp.icf");
//! std::fs::write(&file, icf)?;
//!
//! let mut scenario = Scenario::default();
//! scenario.segments = 1;
//! let load = Some(Load::access_specification(&file, None)?);
//! let results = run(&scenario, &RunOptions { load, scale_down: 64, ..RunOptions::default() }, &())?;
//! assert!(results.workload.is_some());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contents;
mod error;
mod fio;
mod iometer;
mod reads_and_writes;
mod region;
mod trace;

use std::path::Path;

use strewn_results::{Ignored, Workload, WorkloadKind, WorkloadWorker};
use strewn_scenario::{MOST_OUTSTANDING, Scenario};
use strewn_sim::{AnyHost, Outstanding, Workers};
use strewn_workload::Pattern;

pub use contents::{TraceView, TraceVolumes, TraceVolumesError, trace_figures};
pub use error::LoadError;
pub(crate) use region::seed_of_worker;
pub use trace::{TraceLoop, TraceOptions};

/// A workload from an Iometer or fio file or a trace: read, and checked as far as possible without a scenario.
#[derive(Debug, Clone)]
pub struct Load {
    /// The file, as given.
    file: String,
    name: Option<String>,
    ignored: Vec<Ignored>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    AccessSpecification(iometer::Specifications),
    FioJobs(Vec<fio::JobPlan>),
    Trace(Box<trace::Trace>),
}

impl Load {
    /// Loads an access specification from the Iometer configuration at `path`: the one called `name`, or the ones
    /// that the file's workers are assigned, or the only one.
    ///
    /// # Errors
    /// If the file cannot be read, there is no such specification, or it uses an unsupported feature.
    pub fn access_specification(
        path: impl AsRef<Path>,
        name: Option<&str>,
    ) -> Result<Self, LoadError> {
        let file = plain_file(path.as_ref(), "an Iometer configuration, an .icf file")?;
        let (specifications, name, ignored) = iometer::read(path.as_ref(), name)?;
        Ok(Self { file, name, ignored, kind: Kind::AccessSpecification(specifications) })
    }

    /// Loads one job of the fio job file at `path`, or all of its jobs.
    ///
    /// # Errors
    /// If the file cannot be read, there is no such job, or it uses an unsupported feature.
    pub fn fio_job(path: impl AsRef<Path>, job: Option<&str>) -> Result<Self, LoadError> {
        let file = plain_file(path.as_ref(), "a job file of fio")?;
        let (jobs, ignored) = fio::read(path.as_ref(), job)?;
        let name = job.map(str::to_owned);
        Ok(Self { file, name, ignored, kind: Kind::FioJobs(jobs) })
    }

    /// Loads the trace at `path`. The trace is read once in full, one line in memory at a time, to find its errors
    /// before anything runs. `progress` is called now and then with the bytes read and the total; returning `false`
    /// stops the reading.
    ///
    /// # Errors
    /// If the file cannot be read, a line is invalid, or a record lies beyond the scenario's file and wrapping is
    /// off.
    pub fn trace(
        path: impl AsRef<Path>,
        options: &TraceOptions,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, LoadError> {
        let file = plain_file(path.as_ref(), "a trace, plain, gzip or zstd")?;
        refuse_phases(scenario, &file)?;
        let trace = trace::Trace::check(path.as_ref(), options, scenario, progress)?;
        let kind = Kind::Trace(Box::new(trace));
        Ok(Self { file, name: None, ignored: Vec::new(), kind })
    }

    /// Returns the scenario to run this load in, if it is not `scenario` itself: for several volumes of a trace,
    /// `scenario` with a LUN and a workload for each of them in place of its own, on every array.
    #[must_use]
    pub fn with_volumes(&self, scenario: &Scenario) -> Option<Scenario> {
        match &self.kind {
            Kind::Trace(trace) => trace.with_volumes(scenario),
            _ => None,
        }
    }

    /// Returns the settings of the file that were ignored because they do not affect the simulation.
    #[must_use]
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// Returns whether the workload ends by itself; if not, it runs as long as the scenario says.
    #[must_use]
    pub fn ends_by_itself(&self) -> bool {
        !matches!(self.kind, Kind::AccessSpecification(_))
    }

    /// Returns the number of segments that the workload sets: one per queue depth in its cycle.
    #[must_use]
    pub fn segments(&self) -> Option<u32> {
        match &self.kind {
            Kind::AccessSpecification(specifications) if !specifications.depths.is_empty() => {
                Some(specifications.depths.len() as u32)
            }
            _ => None,
        }
    }

    /// Returns the number of segments in which no operation of a trace arrives that is replayed by its times, up to its
    /// end; 0 of anything else.
    #[must_use]
    pub fn empty_segments(&self) -> u64 {
        match &self.kind {
            Kind::Trace(trace) => trace.empty_segments(),
            Kind::AccessSpecification(_) | Kind::FioJobs(_) => 0,
        }
    }

    /// Returns about how long the workload takes, in nanoseconds of virtual time, or `None` if that depends on the
    /// array.
    #[must_use]
    pub fn about_ns(&self) -> Option<u64> {
        match &self.kind {
            Kind::AccessSpecification(_) => None,
            Kind::FioJobs(jobs) => fio::about_ns(jobs),
            Kind::Trace(trace) => trace.about_ns(),
        }
    }

    /// Returns what each worker of the workload does to a file of `file_bytes`, without pauses, rates, groups and ends.
    /// A worker of an Iometer configuration that does not say how many accesses it keeps outstanding has `outstanding`;
    /// of a cycle of queue depths, all have the first.
    ///
    /// # Errors
    /// If a worker's region does not lie within the file, or the workload is a trace.
    pub fn streams(&self, file_bytes: u64, outstanding: u32) -> Result<Vec<LoadStream>, LoadError> {
        match &self.kind {
            Kind::AccessSpecification(specifications) => {
                specifications.streams(&self.file, file_bytes, outstanding)
            }
            Kind::FioJobs(jobs) => fio::streams(jobs, &self.file, file_bytes),
            Kind::Trace(_) => Err(LoadError::new(
                format!("{} is a trace, and no pattern can be drawn from it", self.file),
                "give an Iometer configuration or a job file of fio",
            )),
        }
    }

    /// Returns the name of the specification or job, if one was chosen or all are the same, or else the file's.
    #[must_use]
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.file)
    }

    /// Checks what can be checked before `scenario` runs.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), LoadError> {
        refuse_phases(scenario, &self.file)?;
        let mut has_volumes = false;
        if let Kind::Trace(trace) = &self.kind {
            trace.check_volumes(scenario)?;
            has_volumes = trace.has_volumes();
        }
        if scenario.workloads.len() > 1 && !has_volumes {
            return Err(several_workloads(&self.file, scenario));
        }
        for index in 0..scenario.arrays.len() {
            self.host(scenario, index, scenario.seed)?;
        }
        Ok(())
    }

    /// Returns the operations outstanding at array number `index`; 0 if they arrive by the clock.
    pub(crate) fn outstanding(&self, scenario: &Scenario, index: usize) -> u32 {
        let of_scenario = scenario.arrays[index].outstanding;
        match &self.kind {
            Kind::Trace(trace) if trace.replays_by_the_clock() => 0,
            Kind::Trace(_) => of_scenario,
            Kind::AccessSpecification(specifications) => specifications.outstanding(of_scenario),
            Kind::FioJobs(jobs) => fio::outstanding(jobs),
        }
    }

    /// Builds the host of array number `index`.
    pub(crate) fn host(
        &self,
        scenario: &Scenario,
        index: usize,
        seed: u64,
    ) -> Result<AnyHost, LoadError> {
        let file_bytes = replaced(scenario).file_bytes;
        let outstanding = scenario.arrays[index].outstanding;
        let workers = match &self.kind {
            Kind::AccessSpecification(specifications) => {
                return specifications.host(&self.file, file_bytes, outstanding, seed);
            }
            Kind::FioJobs(jobs) => fio::workers(jobs, &self.file, file_bytes, seed)?,
            Kind::Trace(trace) => vec![trace.worker(file_bytes, outstanding)?],
        };
        let all: u64 = workers
            .iter()
            .map(|worker| match worker.outstanding {
                Outstanding::Closed(outstanding) => outstanding.into(),
                Outstanding::Open { .. } => 0,
            })
            .sum();
        if all > MOST_OUTSTANDING.into() {
            return Err(LoadError::new(
                format!("{}: {all} operations are to be outstanding", self.file),
                format!("{MOST_OUTSTANDING} are the most; give fewer jobs or a smaller depth"),
            ));
        }
        Ok(Workers::new(workers).into())
    }

    fn workers(&self, scenario: &Scenario) -> Result<Vec<WorkloadWorker>, LoadError> {
        let file_bytes = replaced(scenario).file_bytes;
        match &self.kind {
            Kind::AccessSpecification(specifications) => {
                specifications.described(&self.file, file_bytes)
            }
            Kind::FioJobs(jobs) => fio::described(jobs, &self.file, file_bytes),
            Kind::Trace(_) => Ok(Vec::new()),
        }
    }

    /// Describes the workload for the results. `ended` is whether it ended by itself on every array.
    pub(crate) fn described(
        &self,
        scenario: &Scenario,
        ended: bool,
    ) -> Result<Workload, LoadError> {
        let (kind, queue_depths, trace) = match &self.kind {
            Kind::AccessSpecification(specifications) => {
                (WorkloadKind::AccessSpecification, specifications.depths.clone(), None)
            }
            Kind::FioJobs(_) => (WorkloadKind::FioJob, Vec::new(), None),
            Kind::Trace(trace) => (WorkloadKind::Trace, Vec::new(), Some(trace.described())),
        };
        Ok(Workload {
            kind,
            file: file_name(&self.file),
            name: self.name.clone(),
            seed: scenario.seed,
            workers: self.workers(scenario)?,
            queue_depths,
            trace,
            ignored: self.ignored.clone(),
            ended: self.ends_by_itself().then_some(ended),
        })
    }
}

/// What one worker of a workload file does: accesses drawn from a pattern over a region of the file under load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadStream {
    /// Sizes, order and direction of its accesses.
    pub pattern: Pattern,
    /// The first byte of the region.
    pub first_byte: u64,
    /// The bytes of the region.
    pub bytes: u64,
    /// The accesses that it keeps outstanding.
    pub outstanding: u32,
}

/// Returns the name of a file: results are the same bytes wherever it lies.
fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.display().to_string())
}

/// Returns the workload that a file of the user's replaces.
fn replaced(scenario: &Scenario) -> &strewn_scenario::Workload {
    &scenario.workloads[0]
}

/// Returns the error for a scenario with several workloads.
fn several_workloads(file: &str, scenario: &Scenario) -> LoadError {
    LoadError::new(
        format!("{file}: the scenario has {} workloads", scenario.workloads.len()),
        "a file replaces an only workload: give a scenario with one, [workload]",
    )
}

/// Checks that a scenario is without phases, because no file says what each of them is to run.
fn refuse_phases(scenario: &Scenario, file: &str) -> Result<(), LoadError> {
    if scenario.phases.is_empty() {
        return Ok(());
    }
    Err(LoadError::new(
        format!("{file}: the scenario has phases, each with workloads of its own"),
        "a file replaces an only workload: give a scenario with one, [workload], and no [[phase]]",
    ))
}

/// Checks that `path` is a regular file, which can be read more than once.
fn plain_file(path: &Path, what: &str) -> Result<String, LoadError> {
    let shown = path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| {
        LoadError::new(format!("cannot read {shown}: {error}"), format!("give the path of {what}"))
    })?;
    if metadata.is_file() {
        return Ok(shown);
    }
    let is = if metadata.is_dir() { "a directory" } else { "no plain file" };
    Err(LoadError::new(format!("{shown} is {is}"), format!("give the path of {what}")))
}
