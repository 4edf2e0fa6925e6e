//! Running the points of a plan that are missing, on all cores.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use strewn_results::Results;
use strewn_run::{Observer, RunError, ThreadsError, available_bytes, over_threads, threads};
use strewn_sim::Progress;

use crate::plan::Plan;
use crate::point::Point;
use crate::store::{PointStoreError, Store};

/// How to run a sweep.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// Number of runs at once; 0 for one per core, or fewer if memory is short.
    pub jobs: usize,
    /// Save each run after each of its segments, so that a sweep that is killed goes on inside its runs.
    pub save: bool,
    /// Begin no run, and stop those under way, after this time.
    pub most: Option<Duration>,
}

/// Watches a sweep and may stop it. Called from several threads.
pub trait SweepObserver: Sync {
    /// Of the runs that were missing, `done` of `all` are done; with the shares of those under way, `share` of the work
    /// is, 0 to 1.
    fn progress(&self, done: usize, all: usize, share: f64) {
        let _ = (done, all, share);
    }

    /// A run failed.
    fn failed(&self, point: &Point, error: &PointError) {
        let _ = (point, error);
    }

    /// Returns whether to stop. Finished runs are kept.
    fn stop(&self) -> bool {
        false
    }
}

/// Watches nothing and never stops.
impl SweepObserver for () {}

/// Why one run failed.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// The simulation.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The directory.
    #[error(transparent)]
    Store(#[from] PointStoreError),
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
}

/// How a sweep ended.
#[derive(Debug, Default)]
pub struct SweepEnd {
    /// Runs that were there before.
    pub present: usize,
    /// Runs that were done now.
    pub done: usize,
    /// Runs that failed, by their numbers, and why.
    pub failed: Vec<(usize, PointError)>,
    /// Whether it was stopped, or its time was up, before all runs were done.
    pub is_stopped: bool,
}

impl SweepEnd {
    /// Returns what failed, by the numbers of the runs, in words.
    #[must_use]
    pub fn failures(&self) -> Vec<(usize, String)> {
        self.failed.iter().map(|(index, error)| (*index, error.to_string())).collect()
    }
}

/// Runs the points of a plan that are missing in `store`.
///
/// # Errors
/// If threads cannot be started, or the directory cannot be written. A run that fails is no error: the others go on.
pub fn run_points(
    plan: &Plan,
    store: &Store,
    options: &SweepOptions,
    observer: &dyn SweepObserver,
) -> Result<SweepEnd, PointError> {
    let missing: Vec<&Point> = plan.points.iter().filter(|point| !store.has(point)).collect();
    let present = plan.points.len() - missing.len();
    let watch = Watch::new(options.most, missing.len(), observer);
    let jobs = jobs_that_fit(&missing, options.jobs);
    let one = |(number, point): (usize, &Point)| -> Result<Option<Ran>, PointError> {
        if watch.is_over() {
            return Ok(None);
        }
        let ran = run_one(point, store, options.save, &watch.of_run(number, point));
        match ran {
            Ok(is_complete) => {
                watch.run_ended(number, is_complete);
                Ok(is_complete.then_some(Ran::Done))
            }
            // The others would fail in the same way.
            Err(PointError::Store(error)) => Err(PointError::Store(error)),
            Err(error) => {
                watch.run_ended(number, true);
                observer.failed(point, &error);
                Ok(Some(Ran::Failed(point.index, error)))
            }
        }
    };
    let numbered = missing.iter().copied().enumerate().collect();
    let ran = over_threads(jobs, numbered, one)?;
    let mut end =
        SweepEnd { present, is_stopped: ran.iter().any(Option::is_none), ..SweepEnd::default() };
    for ran in ran.into_iter().flatten() {
        match ran {
            Ran::Done => end.done += 1,
            Ran::Failed(index, error) => end.failed.push((index, error)),
        }
    }
    Ok(end)
}

enum Ran {
    Done,
    Failed(usize, PointError),
}

/// Runs one point, from where it was saved last if it was, and keeps its results. Returns false if it was stopped.
///
/// # Errors
/// If it fails, or its results cannot be kept.
pub fn run_one(
    point: &Point,
    store: &Store,
    save: bool,
    observer: &dyn Observer,
) -> Result<bool, PointError> {
    let scenario = point.scenario().map_err(RunError::from)?;
    store.check(point, &scenario)?;
    let saved = match save || store.is_saved(point) {
        true => Some(Arc::new(store.saved(point)?)),
        false => None,
    };
    let results = point.run_scenario(&scenario, saved, observer)?;
    if results.partial && !has_lost_data(&results) {
        return Ok(false);
    }
    store.keep(point, &results)?;
    Ok(true)
}

/// What an array has lost ends its run, in the same way each time.
fn has_lost_data(results: &Results) -> bool {
    results.arrays.iter().any(|array| array.data_loss.is_some())
}

/// Returns how many runs to have at once: as many as asked for, or as there are cores, but no more than memory is for.
#[must_use]
pub fn jobs_that_fit(points: &[&Point], jobs: usize) -> usize {
    let at_once = threads(jobs).min(points.len().max(1));
    let largest = points.iter().map(|point| point.memory_bytes).max().unwrap_or(1).max(1);
    let fit = available_bytes().map_or(at_once, |bytes| (bytes / largest) as usize);
    at_once.min(fit).max(1)
}

/// The progress of all runs, and when to stop.
struct Watch<'a> {
    observer: &'a dyn SweepObserver,
    ends: Option<Instant>,
    /// How much of each run is done, in millionths.
    parts: Vec<AtomicU32>,
    done: AtomicUsize,
    is_over: AtomicBool,
}

const WHOLE: u32 = 1_000_000;

impl<'a> Watch<'a> {
    fn new(most: Option<Duration>, runs: usize, observer: &'a dyn SweepObserver) -> Self {
        Self {
            observer,
            ends: most.and_then(|most| Instant::now().checked_add(most)),
            parts: (0..runs).map(|_| AtomicU32::new(0)).collect(),
            done: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    fn is_over(&self) -> bool {
        let over = self.is_over.load(Ordering::Relaxed)
            || self.observer.stop()
            || self.ends.is_some_and(|ends| Instant::now() >= ends);
        if over {
            self.is_over.store(true, Ordering::Relaxed);
        }
        over
    }

    fn of_run<'b>(&'b self, number: usize, point: &Point) -> WatchedRun<'b, 'a> {
        WatchedRun {
            watch: self,
            number,
            length_ns: point.length_ns.max(1),
            by_array: Mutex::new(Vec::new()),
        }
    }

    fn run_ended(&self, number: usize, is_complete: bool) {
        if is_complete {
            self.parts[number].store(WHOLE, Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        self.show();
    }

    fn show(&self) {
        let sum: u64 = self.parts.iter().map(|part| u64::from(part.load(Ordering::Relaxed))).sum();
        let share = sum as f64 / (f64::from(WHOLE) * self.parts.len().max(1) as f64);
        self.observer.progress(self.done.load(Ordering::Relaxed), self.parts.len(), share);
    }
}

struct WatchedRun<'a, 'b> {
    watch: &'a Watch<'b>,
    number: usize,
    length_ns: u64,
    by_array: Mutex<Vec<u64>>,
}

impl Observer for WatchedRun<'_, '_> {
    fn progress(&self, array: usize, progress: Progress) {
        let Ok(mut by_array) = self.by_array.lock() else { return };
        if by_array.len() <= array {
            by_array.resize(array + 1, 0);
        }
        by_array[array] = progress.now_ns;
        let share = by_array.iter().sum::<u64>() as f64 / self.length_ns as f64;
        let part = (share.min(1.0) * f64::from(WHOLE)) as u32;
        self.watch.parts[self.number].store(part, Ordering::Relaxed);
        self.watch.show();
    }

    fn stop(&self) -> bool {
        self.watch.is_over()
    }
}
