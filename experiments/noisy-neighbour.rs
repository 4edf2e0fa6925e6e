//! What does a noisy neighbour cost, on which array? docs/studies/noisy-neighbour.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program(
        "scenarios/studies/noisy-neighbour.toml",
        "results/noisy-neighbour",
    )
}
