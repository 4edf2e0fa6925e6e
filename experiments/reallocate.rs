//! Reallocate nightly, weekly, on reads: what does it give and cost? docs/studies/reallocate.md has the predictions and
//! the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/reallocate.toml", "results/reallocate")
}
