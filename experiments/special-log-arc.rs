//! Special vdev, log vdev, ARC size: what does each buy? docs/studies/special-log-arc.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program(
        "scenarios/studies/special-log-arc.toml",
        "results/special-log-arc",
    )
}
