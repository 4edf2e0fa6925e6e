//! What do snapshots cost, and is it what the SPC-1 pair says? docs/studies/snapshots.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/snapshots.toml", "results/snapshots")
}
