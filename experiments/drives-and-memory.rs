//! Slower drives, more cache, a larger log: what changes? docs/studies/drives-and-memory.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program(
        "scenarios/studies/drives-and-memory.toml",
        "results/drives-and-memory",
    )
}
