//! Write-anywhere or in place: who wins where? docs/studies/crossover.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/crossover.toml", "results/crossover")
}
