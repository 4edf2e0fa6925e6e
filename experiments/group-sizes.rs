//! What do the size and the number of parity groups cost? docs/studies/group-sizes.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/group-sizes.toml", "results/group-sizes")
}
