//! Both heads at work, and one that takes over
//!
//!     cargo run --release -p experiments --bin both-heads
//!
//! docs/studies/both-heads.md has the question, the predictions and the finding. Copy this program and the study to write your own.

use std::path::Path;
use std::process::ExitCode;

use strewn::sweep::Study;
use strewn::terminal::{self, Ending, Failure, run_study};

const STUDY: &str = "scenarios/studies/both-heads.toml";
/// Runs that are there are not run again.
const RESULTS: &str = "results/both-heads";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    // The table of all figures comes first, for what else a program wants of it.
    let (_sweep, ending) = run_study(&Study::load(STUDY)?, Path::new(RESULTS))?;
    Ok(ending)
}
