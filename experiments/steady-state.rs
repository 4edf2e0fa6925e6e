//! When does the loss end? docs/studies/steady-state.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/steady-state.toml", "results/steady-state")
}
