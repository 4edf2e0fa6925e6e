//! "Making Sense of WAFL Part 4" at full scale: the write-anywhere array's decline beside the in-place array, set
//! beside the published figures.
//!
//! The pattern for an experiment: load a scenario, run it, say what came out. Vary `scenario` in between, or look at
//! `results` after, to study something else. Another scenario's path may be given as the first argument.

use std::path::PathBuf;
use std::process::ExitCode;

use strewn::report::all_tables;
use strewn::scenario::Scenario;
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{RunOptions, run};

/// From the project's root, which is where `cargo run` is at home.
const SCENARIO: &str = "scenarios/making-sense-of-wafl-4.toml";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(SCENARIO), PathBuf::from);
    let scenario = Scenario::load(path)?;
    let options = RunOptions::default();

    let terminal = Terminal::of_run(&scenario, &options);
    let results = run(&scenario, &options, &terminal)?;
    drop(terminal); // Its progress bars go before the tables come.

    terminal::print(&all_tables(&results))?;
    Ok(Ending::of(&results))
}
