//! Progress of a sweep: a bar on a terminal, a line now and then in a log.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use strewn_report::{ChartStyle, study_summary, sweep_table};
use strewn_results::Sweep;
use strewn_sweep::{
    Plan, Point, PointError, Store, Study, SweepEnd, SweepObserver, SweepOptions, collect, files,
    run_points,
};

use crate::failure::{Failure, with_causes};
use crate::terminal::ending::{Ending, exit_code, print, say};
use crate::terminal::interrupt;
use crate::terminal::late_bar::LateBar;

const TEMPLATE: &str = "[{bar:24}] {msg}";
/// The bar's length.
const WHOLE: f64 = 10_000.0;
/// How often a log gets a line.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// How often the bar is drawn.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

/// A [`SweepObserver`] for programs on a terminal: it shows what is done and how long the rest takes, says which runs
/// failed, and stops the sweep on Ctrl-C. Dropping it removes the bar.
pub struct SweepTerminal {
    bar: LateBar,
    began: Instant,
    shown: Mutex<Instant>,
}

impl SweepTerminal {
    /// Watches a sweep from now until dropped.
    #[must_use]
    pub fn watch() -> Self {
        interrupt::watch();
        let now = Instant::now();
        Self { bar: LateBar::new(TEMPLATE), began: now, shown: Mutex::new(now) }
    }
}

impl SweepObserver for SweepTerminal {
    fn progress(&self, done: usize, all: usize, share: f64) {
        let is_terminal = io::stderr().is_terminal();
        let interval = if is_terminal { DRAW_INTERVAL } else { LOG_INTERVAL };
        let Ok(mut shown) = self.shown.try_lock() else { return };
        if shown.elapsed() < interval {
            return;
        }
        *shown = Instant::now();
        let line = format!("{done} of {all} runs{}", left(self.began.elapsed(), share));
        match is_terminal {
            false => say(&line),
            true if interrupt::asked_to_stop() => {
                let message = format!("{line}; {}", interrupt::STOPPING);
                self.bar.show((share * WHOLE) as u64, WHOLE as u64, &message);
            }
            true => self.bar.show((share * WHOLE) as u64, WHOLE as u64, &line),
        }
    }

    fn failed(&self, point: &Point, error: &PointError) {
        say(&format!("run {} ({}) failed: {}", point.index, point.described(), with_causes(error)));
    }

    fn stop(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

/// Runs what is missing of a plan, and returns the table of all runs that are there. The observer is dropped before the
/// table is made.
///
/// # Errors
/// If the directory cannot be read or written. A run that fails is no error: the others go on.
pub fn run_plan_watched(
    plan: &Plan,
    store: &Store,
    options: &SweepOptions,
    observer: impl SweepObserver,
) -> Result<(Sweep, SweepEnd), Failure> {
    let end = run_points(plan, store, options, &observer)?;
    drop(observer);
    Ok((collect(plan, store, &end.failures())?, end))
}

/// The `main` of an experiment that is a study, by its file. Runs it in `directory`, except for the points whose
/// results are there, prints its table and how its predictions fared, and writes its files.
#[must_use]
pub fn study_program(file: &str, directory: &str) -> ExitCode {
    exit_code(run_study(file, directory))
}

fn run_study(file: &str, directory: &str) -> Result<Ending, Failure> {
    let plan = Study::load(file)?.plan(None)?;
    let store = Store::new(directory);
    store.write_plan(&plan)?;
    let terminal = SweepTerminal::watch();
    let (sweep, end) = run_plan_watched(&plan, &store, &SweepOptions::default(), terminal)?;
    print(&(sweep_table(&sweep) + &study_summary(&sweep, &plan.study.text)))?;
    store.publish(&files(&sweep, &plan.study, ChartStyle::default())?)?;
    Ending::of_runs(end)
}

/// Says how much time is left, if `share` of the work took `elapsed`.
fn left(elapsed: Duration, share: f64) -> String {
    if share <= 0.0 {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (1.0 - share).max(0.0) / share;
    format!(", about {} left", roughly(seconds))
}

/// Writes a length of time for a person: two digits are all that an estimate has.
#[must_use]
pub fn roughly(seconds: f64) -> String {
    match seconds {
        short if short < 99.5 => format!("{:.0} s", short.max(1.0)),
        minutes if minutes < 99.5 * 60.0 => format!("{:.0} min", minutes / 60.0),
        hours if hours < 48.0 * 3600.0 => format!("{:.1} h", hours / 3600.0),
        days => format!("{:.1} days", days / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        assert_eq!(left(Duration::from_secs(60), 0.25), ", about 3 min left");
        assert_eq!(left(Duration::from_secs(60), 0.0), "");
        assert_eq!(roughly(0.2), "1 s");
        assert_eq!(roughly(7200.0), "2.0 h");
        assert_eq!(roughly(1e6), "11.6 days");
    }
}
