//! Does a model with nothing fitted give Avanade's published peak? docs/studies/avanade.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/avanade.toml", "results/avanade")
}
