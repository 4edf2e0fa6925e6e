//! Figures of a sweep.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use strewn::sweep::{Point, PointError, SweepObserver};
use strewn::terminal::SweepTerminal;

use super::text::{Kind, Text};

/// How far a sweep is.
pub(crate) struct SweepState {
    began: Instant,
    present: usize,
    jobs: usize,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    /// Runs that were missing.
    missing: usize,
    /// Those of them that have ended, failed ones too.
    ended: usize,
    failed: usize,
    /// Share of the work that is done, 0 to 1.
    share: f64,
}

impl SweepState {
    /// A sweep of which `present` runs are there and `missing` are not, and that has at most `jobs` at once.
    pub(crate) fn new(present: usize, missing: usize, jobs: usize) -> Self {
        let counts = Mutex::new(Counts { missing, ..Counts::default() });
        Self { began: Instant::now(), present, jobs, counts }
    }

    fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the page.
    pub(crate) fn page(&self) -> String {
        self.page_at(self.began.elapsed())
    }

    fn page_at(&self, elapsed: Duration) -> String {
        let Counts { missing, ended, failed, share } = self.counts();
        let left = missing - ended.min(missing);
        let mut text = Text::new();
        let labels = |state: &str| vec![("state", state.to_owned())];
        let running = left.min(self.jobs);
        let points = [
            ("done", self.present + ended.saturating_sub(failed)),
            ("failed", failed),
            ("running", running),
            ("waiting", left - running),
        ];
        text.family(
            Kind::Gauge,
            "strewn_sweep_points",
            "Runs of the sweep by their state; those that earlier sweeps did are done.",
            points.map(|(state, count)| (labels(state), count)),
        );
        text.one(Kind::Gauge, "strewn_sweep_points_left", "Runs that have not ended.", left);
        text.one(
            Kind::Gauge,
            "strewn_sweep_done_ratio",
            "Share of the work that was missing at the start and is done, with what runs have done so far.",
            share,
        );
        let seconds = elapsed.as_secs_f64();
        text.one(
            Kind::Gauge,
            "strewn_sweep_elapsed_seconds",
            "Time since the first run began.",
            seconds,
        );
        if share > 0.0 {
            let left = seconds * (1.0 - share).max(0.0) / share;
            text.one(
                Kind::Gauge,
                "strewn_sweep_left_seconds",
                "Estimated time left, if the rest is as fast as what is done.",
                left,
            );
        }
        text.end()
    }

    fn progress(&self, ended: usize, missing: usize, share: f64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        // Calls come from several threads, and may overtake each other.
        counts.ended = counts.ended.max(ended);
        counts.missing = missing;
        counts.share = counts.share.max(share);
    }

    fn failed(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).failed += 1;
    }
}

/// Tells the terminal and the metrics how far a sweep is.
pub(crate) struct SweepWatch<'a> {
    pub(crate) terminal: SweepTerminal,
    pub(crate) state: &'a SweepState,
}

impl SweepObserver for SweepWatch<'_> {
    fn progress(&self, done: usize, all: usize, share: f64) {
        self.state.progress(done, all, share);
        self.terminal.progress(done, all, share);
    }

    fn failed(&self, point: &Point, error: &PointError) {
        self.state.failed();
        self.terminal.failed(point, error);
    }

    fn stop(&self) -> bool {
        self.terminal.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_add_up_and_what_is_left_follows_from_what_is_done() {
        let state = SweepState::new(3, 10, 2);
        state.failed();
        state.progress(4, 10, 0.4);
        let page = state.page_at(Duration::from_secs(60));
        for line in [
            "{state=\"done\"} 6\n",
            "{state=\"failed\"} 1\n",
            "{state=\"running\"} 2\n",
            "{state=\"waiting\"} 4\n",
            "strewn_sweep_points_left 6\n",
            "strewn_sweep_left_seconds 90\n",
        ] {
            assert!(page.contains(line), "no {line:?} in {page}");
        }
    }
}
