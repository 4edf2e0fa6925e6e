//! Runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use strewn::sim::{Progress, Segment};
use strewn::{Observer, RunOptions, run_with_map, sensitivity_path};

use crate::background::watched;
use crate::errors::raised;
use crate::results::Results;
use crate::scenario::Scenario;

/// How far an array has come.
#[derive(Default)]
struct Reached {
    now_ns: AtomicU64,
    operations: AtomicU64,
}

/// Watches a run for the thread that waits for it.
struct Watch {
    stop: Arc<AtomicBool>,
    segment_ns: u64,
    arrays: Vec<Reached>,
}

impl Observer for Watch {
    fn progress(&self, array: usize, progress: Progress) {
        if let Some(reached) = self.arrays.get(array) {
            reached.now_ns.store(progress.now_ns, Ordering::Relaxed);
            reached.operations.store(progress.operations, Ordering::Relaxed);
        }
    }

    fn segment(&self, array: usize, segment: &Segment) {
        if let Some(reached) = self.arrays.get(array) {
            // The last look may be before the end.
            let end_ns = u64::from(segment.index) * self.segment_ns;
            reached.now_ns.fetch_max(end_ns, Ordering::Relaxed);
        }
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Watch {
    fn report(&self, py: Python<'_>, progress: &Py<PyAny>) -> PyResult<()> {
        let segment_seconds = self.segment_ns as f64 / 1e9;
        for (index, reached) in self.arrays.iter().enumerate() {
            let seconds = reached.now_ns.load(Ordering::Relaxed) as f64 / 1e9;
            let operations = reached.operations.load(Ordering::Relaxed);
            progress.call1(py, (index, segment_seconds, seconds, operations))?;
        }
        Ok(())
    }
}

/// Runs a scenario. `progress` is called with an array's number, the length of a segment in simulated seconds, and
/// simulated seconds and operations since its beginning.
#[pyfunction]
#[pyo3(signature = (scenario, *, scale_down, seed, segments, replicates, jobs, progress))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    scale_down: u32,
    seed: Option<u64>,
    segments: Option<u32>,
    replicates: u32,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let Scenario { scenario, text, path } = scenario;
    let (mut scenario, text) = (scenario.clone(), text.clone());
    scenario.seed = seed.unwrap_or(scenario.seed);
    scenario.segments = segments.unwrap_or(scenario.segments);
    let sensitivity = path.as_deref().map(sensitivity_path);
    let options = RunOptions { jobs, scale_down, replicates, sensitivity, ..RunOptions::default() };

    let stop = Arc::new(AtomicBool::new(false));
    let arrays = scenario.arrays.iter().map(|_| Reached::default()).collect();
    let segment_ns = scenario.scaled_down(scale_down).0.segment_ns;
    let watch = Arc::new(Watch { stop: Arc::clone(&stop), segment_ns, arrays });
    let seen_by_work = Arc::clone(&watch);
    let look = |py: Python<'_>| match &progress {
        Some(progress) => watch.report(py, progress),
        None => Ok(()),
    };
    let work = move || run_with_map(&scenario, &options, &*seen_by_work);
    let (results, map) = watched(py, &stop, look, work)?.map_err(raised)?;
    if let Some(progress) = &progress {
        watch.report(py, progress)?;
    }
    Ok(Results::new(results, Some(map), Some(text)))
}
