//! Does it matter what fills an aggregate, or only how full it is?
//!
//!     cargo run --release -p experiments --bin how-full
//!
//! docs/studies/how-full.md has the question, the predictions and the finding. Copy this program and the study to write your own.

use std::path::Path;
use std::process::ExitCode;

use strewn::sweep::Study;
use strewn::terminal::{self, Ending, Failure, run_study};

const STUDY: &str = "scenarios/studies/how-full.toml";
/// Runs that are there are not run again.
const RESULTS: &str = "results/how-full";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    // The table of all figures comes first, for what else a program wants of it.
    let (_sweep, ending) = run_study(&Study::load(STUDY)?, Path::new(RESULTS))?;
    Ok(ending)
}
