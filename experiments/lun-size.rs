//! LUNs of 100 GB to all of the aggregate: is the loss a matter of size?
//!
//!     cargo run --release -p experiments --bin lun-size
//!
//! docs/studies/lun-size.md has the question, the predictions and the finding. Copy this program and the study to write your own.

use std::path::Path;
use std::process::ExitCode;

use strewn::sweep::Study;
use strewn::terminal::{self, Ending, Failure, run_study};

const STUDY: &str = "scenarios/studies/lun-size.toml";
/// Runs that are there are not run again.
const RESULTS: &str = "results/lun-size";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    // The table of all figures comes first, for what else a program wants of it.
    let (_sweep, ending) = run_study(&Study::load(STUDY)?, Path::new(RESULTS))?;
    Ok(ending)
}
