//! Sweeps: plans, their runs, and the table of their figures.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use strewn::report::{self, ChartStyle};
use strewn::results::{self, Sweep};
use strewn::sweep::{
    File, Plan as SweepPlan, Point, PointError, Store, Study, SweepEnd, SweepObserver,
    SweepOptions, collect, files, run_points,
};
use strewn::{Failure, Observer};

use crate::background::watched;
use crate::errors::{failed, raised};
use crate::value;

/// What errors call a study without a file.
const NO_FILE: &str = "study";
/// A share of the work is reported in so many parts.
const PARTS: f64 = 1_000_000.0;

/// A plan, and the directory of its runs.
#[pyclass(frozen, module = "strewn._strewn")]
pub(crate) struct Plan {
    plan: Arc<SweepPlan>,
    store: Store,
}

/// A run that is missing: its number, its values of the axes in words, bytes of memory, and the line of the manifest.
type MissingPoint = (usize, String, u64, String);

/// Runs that were there before, runs done now, what failed, and whether time was up.
type Ended = (usize, usize, Vec<(usize, String)>, bool);

#[pymethods]
impl Plan {
    /// Plans the study in a file, and writes the plan into `out`.
    #[staticmethod]
    fn of_file(
        path: PathBuf,
        scale_down: Option<u32>,
        quick: bool,
        out: PathBuf,
    ) -> PyResult<Self> {
        let study = Study::load(path).map_err(raised)?;
        Self::new(&study, scale_down, quick, out)
    }

    /// The same of a dictionary.
    #[staticmethod]
    fn of_dict(
        data: &Bound<'_, PyAny>,
        path: Option<PathBuf>,
        scale_down: Option<u32>,
        quick: bool,
        out: PathBuf,
    ) -> PyResult<Self> {
        let text = value::table(data, "")?.to_string();
        let study = Study::parse(&text, path.as_deref().unwrap_or(Path::new(NO_FILE)));
        Self::new(&study.map_err(raised)?, scale_down, quick, out)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.plan.study.name
    }

    /// How many runs there are, with those that are done.
    #[getter]
    fn points(&self) -> usize {
        self.plan.points.len()
    }

    fn missing(&self) -> PyResult<Vec<MissingPoint>> {
        let missing = self.plan.points.iter().filter(|point| !self.store.has(point));
        let line = |point: &Point| {
            let line = serde_json::to_string(point).map_err(failed)?;
            Ok((point.index, point.described(), point.memory_bytes, line))
        };
        missing.map(line).collect()
    }

    /// Does the missing runs on this machine. `progress` is called with runs done, of how many, and the share of the
    /// work.
    fn run(
        &self,
        py: Python<'_>,
        jobs: usize,
        save: bool,
        most_seconds: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Ended> {
        let most =
            most_seconds.map(|most| Duration::try_from_secs_f64(most).unwrap_or(Duration::MAX));
        let options = SweepOptions { jobs, save, most };
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Arc::new(Watch { stop: Arc::clone(&stop), ..Watch::default() });
        let (plan, store) = (Arc::clone(&self.plan), self.store.clone());
        let seen_by_work = Arc::clone(&watch);
        let look = |py: Python<'_>| match &progress {
            Some(progress) => watch.report(py, progress),
            None => Ok(()),
        };
        let work = move || run_points(&plan, &store, &options, &*seen_by_work);
        let end = watched(py, &stop, look, work)?.map_err(raised)?;
        if let Some(progress) = &progress {
            watch.report(py, progress)?;
        }
        let SweepEnd { present, done, failed, is_stopped } = end;
        let failed = failed.into_iter().map(|(index, error)| (index, in_words(error))).collect();
        Ok((present, done, failed, is_stopped))
    }

    /// Keeps what another machine made of a run, as this one keeps its own.
    fn keep(&self, index: usize, results_json: &str) -> PyResult<()> {
        let no_point = || failed(format!("there is no run {index}"));
        let point = self.plan.points.get(index).ok_or_else(no_point)?;
        let results = results::Results::from_json(results_json).map_err(failed)?;
        self.store.keep(point, &results).map_err(raised)
    }

    /// Makes the table of the runs that are there, and writes it and its charts into the directory. `failures` says why
    /// others are not.
    fn collect(&self, failures: Vec<(usize, String)>) -> PyResult<Figures> {
        let sweep = collect(&self.plan, &self.store, &failures).map_err(raised)?;
        let files = files(&sweep, &self.plan.study, ChartStyle::default()).map_err(raised)?;
        self.store.publish(&files).map_err(raised)?;
        Ok(Figures { sweep, files })
    }
}

impl Plan {
    fn new(study: &Study, scale_down: Option<u32>, quick: bool, out: PathBuf) -> PyResult<Self> {
        let quick = quick.then(|| study.quick_scale_down());
        let plan = study.plan(scale_down.or(quick)).map_err(raised)?;
        let store = Store::new(&out);
        check_directory(&out, &store).map_err(raised)?;
        store.write_plan(&plan).map_err(raised)?;
        Ok(Self { plan: Arc::new(plan), store })
    }
}

/// Refuses a directory that has something else.
fn check_directory(directory: &Path, store: &Store) -> Result<(), Failure> {
    if directory.is_file() || store.is_foreign() {
        return Err(Failure::bad_input(
            format!("{} has something else than a sweep", directory.display()),
            "give another directory as `out`, which need not be there yet",
        ));
    }
    Ok(())
}

fn in_words(error: PointError) -> String {
    let failure = Failure::from(error);
    match failure.help() {
        Some(help) => format!("{} ({help})", failure.message()),
        None => failure.message().to_owned(),
    }
}

/// Watches a sweep for the thread that waits for it.
#[derive(Default)]
struct Watch {
    stop: Arc<AtomicBool>,
    done: AtomicUsize,
    all: AtomicUsize,
    parts: AtomicU32,
}

impl Watch {
    fn report(&self, py: Python<'_>, progress: &Py<PyAny>) -> PyResult<()> {
        let (done, all) = (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed));
        let share = f64::from(self.parts.load(Ordering::Relaxed)) / PARTS;
        progress.call1(py, (done, all, share)).map(drop)
    }
}

impl SweepObserver for Watch {
    fn progress(&self, done: usize, all: usize, share: f64) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
        self.parts.store((share * PARTS) as u32, Ordering::Relaxed);
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Stops a run when it is told to.
struct Stop(Arc<AtomicBool>);

impl Observer for Stop {
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does the run of a line of a manifest, on one thread, and returns its results as JSON.
#[pyfunction]
pub(crate) fn run_point(py: Python<'_>, line: &str) -> PyResult<String> {
    let point: Point = serde_json::from_str(line).map_err(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let observer = Stop(Arc::clone(&stop));
    let ran = watched(py, &stop, |_| Ok(()), move || point.run(None, &observer))?;
    ran.map_err(raised)?.to_json_string().map_err(failed)
}

/// The figures of a sweep, and the files that show them.
#[pyclass(frozen, module = "strewn._strewn")]
pub(crate) struct Figures {
    sweep: Sweep,
    files: Vec<File>,
}

#[pymethods]
impl Figures {
    fn table(&self) -> String {
        report::sweep_table(&self.sweep)
    }

    fn names(&self) -> Vec<&str> {
        self.files.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// A file in UTF-8; none if there is no such file.
    fn text(&self, name: &str) -> PyResult<Option<&str>> {
        let file = self.files.iter().find(|(other, _)| other == name);
        file.map(|(_, bytes)| std::str::from_utf8(bytes)).transpose().map_err(failed)
    }
}
