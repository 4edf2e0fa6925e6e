//! Progress of a run, a bar per array, when standard error is a terminal.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use strewn_report::shown_path;
use strewn_run::{Observer, RunOptions, wall_for};
use strewn_scenario::Scenario;
use strewn_sim::Progress;

use crate::terminal::interrupt;

const NS_PER_S: u64 = 1_000_000_000;

/// The message is cut where the terminal ends. The spinner moves from the first moment on, also while arrays are set
/// up.
const TEMPLATE: &str = "{spinner} {prefix} [{bar:16}] {wide_msg}";
/// How often bars are redrawn if nothing else redraws them.
const REDRAW: Duration = Duration::from_millis(200);
/// Columns of an array's name before its bar.
const MOST_NAME_COLUMNS: usize = 16;

/// An [`Observer`] for programs on a terminal: it shows a bar for each array, and stops the run on Ctrl-C. Dropping
/// it removes the bars; drop it before printing results.
///
/// While one exists, a first Ctrl-C (or SIGTERM) asks the run to stop, and a second ends the program at once.
pub struct Terminal {
    bars: Vec<Bar>,
    /// Of further seeds; hidden if there are none.
    replicates: ProgressBar,
}

impl Terminal {
    /// Shows [`run`](strewn_run::run) with the same scenario and options.
    #[must_use]
    pub fn of_run(scenario: &Scenario, options: &RunOptions) -> Self {
        let scaled;
        let scenario = if options.scale_down > 1 {
            scaled = scenario.scaled_down(options.scale_down).0;
            &scaled
        } else {
            scenario
        };
        let about_ns = options.load.as_ref().and_then(|load| load.about_ns());
        let ends = options.load.as_ref().is_some_and(|load| load.ends_by_itself());
        // A workload may end before the scenario's segments do; if its length is unknown, the bar has none.
        let segments = match about_ns.map(|ns| ns / scenario.segment_ns.max(1) + 1) {
            Some(segments) => {
                Some(scenario.segments.min(u32::try_from(segments).unwrap_or(u32::MAX)))
            }
            None if ends => None,
            None => Some(scenario.segments),
        };
        let further = (options.replicates.max(1) - 1) as usize * scenario.arrays.len();
        Self::new(scenario, further, |_| Some(Plan { segments, again: false }))
    }

    /// Shows [`calibrate`](strewn_run::calibrate()) with the same scenario.
    #[must_use]
    pub fn of_calibration(scenario: &Scenario) -> Self {
        Self::new(scenario, 0, |array| {
            let fitted = scenario.arrays[array].fitted.as_ref()?;
            let segments = fitted.segments.iter().copied().max();
            Some(Plan { segments: Some(segments?), again: true })
        })
    }

    fn new(scenario: &Scenario, further: usize, plan: impl Fn(usize) -> Option<Plan>) -> Self {
        interrupt::watch();
        let shown = io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let all = MultiProgress::with_draw_target(target);
        let columns = scenario.arrays.iter().map(|array| array.name.chars().count()).max();
        let columns = columns.unwrap_or_default().min(MOST_NAME_COLUMNS);
        let bar = |(index, array): (usize, &strewn_scenario::Array)| {
            let name = format!("{:columns$.columns$}", array.name);
            Bar::new(&all, name, Lengths::of(scenario), plan(index))
        };
        let bars = scenario.arrays.iter().enumerate().map(bar).collect();
        let replicates = match further {
            0 => ProgressBar::hidden(),
            further => styled(all.add(ProgressBar::new(further as u64)), "other seeds".to_owned()),
        };
        Self { bars, replicates }
    }
}

impl Observer for Terminal {
    fn progress(&self, array: usize, progress: Progress) {
        if let Some(bar) = self.bars.get(array) {
            bar.show(progress);
        }
    }

    fn filling(&self, array: usize, written_bytes: u64, bytes: u64) {
        if let Some(bar) = self.bars.get(array) {
            let percent = 100.0 * written_bytes as f64 / bytes.max(1) as f64;
            bar.bar.set_message(format!("the file is written: {percent:.0} %"));
        }
    }

    fn replicates(&self, done: usize, all: usize) {
        self.replicates.set_position(done as u64);
        self.replicates.set_message(format!("{done} of {all} simulations done"));
    }

    fn warning(&self, text: &str) {
        super::say(&format!("warning: {text}"));
    }

    fn stop(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for bar in &self.bars {
            bar.bar.finish_and_clear();
        }
        self.replicates.finish_and_clear();
    }
}

/// What is simulated for an array.
struct Plan {
    /// `None` if unknown.
    segments: Option<u32>,
    /// Whether it is simulated repeatedly, as calibration does.
    again: bool,
}

/// How long the parts of a run are.
#[derive(Clone, Copy)]
struct Lengths {
    warm_up_ns: u64,
    segment_ns: u64,
}

impl Lengths {
    fn of(scenario: &Scenario) -> Self {
        let warm_up_ns = scenario.warm_up_ns.unwrap_or(0);
        Self { warm_up_ns, segment_ns: scenario.segment_ns.max(1) }
    }

    fn until_the_end_of(self, segments: u32) -> u64 {
        let segments_ns = self.segment_ns.saturating_mul(segments.into());
        self.warm_up_ns.saturating_add(segments_ns)
    }

    /// Returns the segment at a time, whose very end counts as that segment; none during the warm-up.
    fn segment_at(self, now_ns: u64) -> Option<u64> {
        let within_ns = now_ns.checked_sub(self.warm_up_ns).filter(|ns| *ns > 0 || now_ns == 0)?;
        Some(within_ns.saturating_sub(1) / self.segment_ns + 1)
    }
}

/// One array's bar; its length is the simulated time.
struct Bar {
    bar: ProgressBar,
    lengths: Lengths,
    plan: Option<Plan>,
    simulation: Mutex<CurrentSimulation>,
}

/// The current simulation of an array.
struct CurrentSimulation {
    number: u32,
    since: Instant,
    now_ns: u64,
}

impl Bar {
    fn new(all: &MultiProgress, name: String, lengths: Lengths, plan: Option<Plan>) -> Self {
        let length_s = |segments: u32| (lengths.until_the_end_of(segments) / NS_PER_S).max(1);
        let bar = match plan.as_ref().map(|plan| plan.segments) {
            Some(Some(segments)) => all.add(ProgressBar::new(length_s(segments))),
            Some(None) => all.add(ProgressBar::no_length()),
            None => ProgressBar::hidden(),
        };
        let bar = styled(bar, name);
        let simulation = CurrentSimulation { number: 1, since: Instant::now(), now_ns: 0 };
        Self { bar, lengths, plan, simulation: Mutex::new(simulation) }
    }

    fn show(&self, progress: Progress) {
        let Some(plan) = &self.plan else { return };
        if self.bar.is_hidden() {
            return;
        }
        if interrupt::asked_to_stop() {
            self.bar.set_message(interrupt::STOPPING);
            return;
        }
        let mut current = self.simulation.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.now_ns < current.now_ns {
            *current =
                CurrentSimulation { number: current.number + 1, since: Instant::now(), now_ns: 0 };
            self.bar.reset();
        }
        current.now_ns = progress.now_ns;
        let mut message = String::new();
        if plan.again {
            let _ = write!(message, "simulation {}, ", current.number);
        }
        let spent = current.since.elapsed();
        let rate = progress.operations as f64 / spent.as_secs_f64().max(1e-9);
        let (of_segments, left) = match plan.segments {
            Some(segments) => {
                let all_ns = self.lengths.until_the_end_of(segments);
                let left = Duration::from_nanos(all_ns.saturating_sub(progress.now_ns));
                let left = wall_for(left, Duration::from_nanos(progress.now_ns), spent);
                (format!("/{segments}"), format!(", {:#} left", indicatif::HumanDuration(left)))
            }
            None => Default::default(),
        };
        let most = plan.segments.map_or(u64::MAX, u64::from);
        let segment = match self.lengths.segment_at(progress.now_ns) {
            Some(segment) => format!("segment {}{of_segments}", segment.min(most)),
            None => "warm-up".to_owned(),
        };
        let _ = write!(
            message,
            "{segment}{left}, {:.0} k ops/s, {} simulated",
            rate / 1e3,
            simulated(progress.now_ns),
        );
        self.bar.set_message(message);
        self.bar.set_position(progress.now_ns / NS_PER_S);
    }
}

/// Gives a bar its looks and its name.
fn styled(bar: ProgressBar, name: String) -> ProgressBar {
    // The template is a constant covered by tests; the plain style replaces an invalid one.
    let style = ProgressStyle::with_template(TEMPLATE);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.set_prefix(shown_path(&name));
    bar.set_message("starting");
    if !bar.is_hidden() {
        bar.enable_steady_tick(REDRAW);
    }
    bar
}

/// Formats virtual time as hours, minutes and seconds.
fn simulated(now_ns: u64) -> impl std::fmt::Display {
    indicatif::FormattedDuration(Duration::from_nanos(now_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    #[test]
    fn time_is_shown_by_the_clock() {
        assert_eq!(simulated(3_723 * NS_PER_S).to_string(), "01:02:03");
    }
}
