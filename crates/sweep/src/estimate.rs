//! What a sweep will take, from a few of its runs.

use std::time::Duration;

use strewn_run::{RunError, measure_cost};

use crate::plan::Plan;
use crate::point::Point;
use crate::runner::jobs_that_fit;
use crate::store::Store;

/// Runs that are measured.
const MEASURED: usize = 4;
/// How long each array of a measured run is simulated.
const WALL: Duration = Duration::from_millis(150);

/// What the missing runs of a sweep will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Runs that are missing.
    pub missing: usize,
    /// Runs that are there.
    pub present: usize,
    /// Runs at once.
    pub jobs: usize,
    /// Processor time of all missing runs, seconds.
    pub processor_seconds: f64,
    /// Memory of the runs at once, bytes.
    pub memory_bytes: u64,
}

impl Estimate {
    /// Returns the wall time, seconds: the processor time over the runs at once.
    #[must_use]
    pub fn wall_seconds(&self) -> f64 {
        self.processor_seconds / self.jobs.max(1) as f64
    }
}

/// Measures a few of the runs that are missing in `store`, as `strewn bench` does, and works out what all of them take.
/// An array becomes slower to simulate as it ages, so a long run takes somewhat more.
///
/// # Errors
/// If a run cannot be set up.
pub fn estimate(
    plan: &Plan,
    store: &Store,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Estimate, RunError> {
    let missing: Vec<&Point> = plan.points.iter().filter(|point| !store.has(point)).collect();
    let jobs = jobs_that_fit(&missing, jobs);
    let largest = missing.iter().map(|point| point.memory_bytes).max().unwrap_or_default();
    let chosen = spread(missing.len());
    let mut seconds = 0.0;
    for index in &chosen {
        let point = missing[*index];
        let scenario = point.scenario()?.scaled_down(point.scale_down).0;
        for array in 0..scenario.arrays.len() {
            seconds += measure_cost(&scenario, array, WALL, stop)?.whole_seconds;
        }
    }
    Ok(Estimate {
        missing: missing.len(),
        present: plan.points.len() - missing.len(),
        jobs,
        processor_seconds: seconds / chosen.len().max(1) as f64 * missing.len() as f64,
        memory_bytes: largest.saturating_mul(jobs as u64),
    })
}

/// Returns indices spread over so many runs.
fn spread(runs: usize) -> Vec<usize> {
    let chosen = runs.min(MEASURED);
    (0..chosen).map(|index| index * (runs - 1) / (chosen - 1).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_at_both_ends_are_measured() {
        assert_eq!(spread(1000), [0, 333, 666, 999]);
        assert_eq!(spread(2), [0, 1]);
        assert_eq!(spread(1), [0]);
        assert!(spread(0).is_empty());
    }
}
