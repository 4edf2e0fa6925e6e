//! Sequential reads after random writes, on 40 spindles. docs/studies/scan-after-random.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program(
        "scenarios/studies/scan-after-random.toml",
        "results/scan-after-random",
    )
}
