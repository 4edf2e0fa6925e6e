//! A run on a terminal: progress, Ctrl-C, error messages with their remedies, and exit codes.
//!
//! The `strewn` command and every experiment use it, so they end the same way:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use strewn::terminal::{self, Ending, Failure, Terminal};
//! use strewn::{RunOptions, report, scenario::Scenario};
//!
//! fn main() -> ExitCode {
//!     terminal::exit_code(experiment())
//! }
//!
//! fn experiment() -> Result<Ending, Failure> {
//!     let scenario = Scenario::load("scenarios/making-sense-of-wafl-4.toml")?;
//!     let options = RunOptions::default();
//!     let terminal = Terminal::of_run(&scenario, &options);
//!     let results = strewn::run(&scenario, &options, &terminal)?;
//!     drop(terminal);
//!     terminal::print(&report::all_tables(&results))?;
//!     Ok(Ending::of(&results))
//! }
//! ```

mod drive_progress;
mod ending;
mod file_progress;
mod interrupt;
mod late_bar;
mod progress;
mod reading;
mod report;
mod sweep_progress;

pub use crate::failure::Failure;
pub use drive_progress::DriveTerminal;
pub use ending::{Ending, exit_code, print, say, say_to_person};
pub use file_progress::FileTerminal;
pub use progress::Terminal;
pub use reading::ReadingTerminal;
pub use report::color_messages;
pub use sweep_progress::{SweepTerminal, roughly, run_plan_watched, study_program};

/// Tables are never narrower than this, in characters.
const LEAST_COLUMNS: usize = 60;

/// Returns the width of tables on standard output, in characters: that of `COLUMNS`, or of the terminal, or 100.
#[must_use]
pub fn table_width() -> usize {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let of_terminal =
        || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let width = given.filter(|width| *width > 0).or_else(of_terminal);
    width.map_or(strewn_report::TABLE_COLUMNS, |width: usize| width.max(LEAST_COLUMNS))
}

/// Watches for Ctrl-C from now on. The returned function tells whether there was one. A second Ctrl-C ends the
/// program at once.
#[must_use]
pub fn stop_when_interrupted() -> fn() -> bool {
    interrupt::watch();
    interrupt::asked_to_stop
}
