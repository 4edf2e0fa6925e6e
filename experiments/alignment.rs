//! Do requests that straddle blocks cause the loss?
//!
//!     cargo run --release -p experiments --bin alignment
//!
//! docs/studies/alignment.md has the question, the predictions and the finding. Copy this program and the study to write your own.

use std::path::Path;
use std::process::ExitCode;

use strewn::sweep::Study;
use strewn::terminal::{self, Ending, Failure, run_study};

const STUDY: &str = "scenarios/studies/alignment.toml";
/// Runs that are there are not run again.
const RESULTS: &str = "results/alignment";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let study = Study::load(STUDY)?;
    let (sweep, ending) = run_study(&study, Path::new(RESULTS))?;
    for prediction in &study.text.predictions {
        let judged = sweep.judge(prediction);
        terminal::print(&format!("{:?}: {}\n", judged.verdict, prediction.text))?;
    }
    Ok(ending)
}
