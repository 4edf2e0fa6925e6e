//! Do requests that straddle blocks cause the loss? docs/studies/alignment.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/alignment.toml", "results/alignment")
}
