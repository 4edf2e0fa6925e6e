//! How many operations outstanding, and does a pegged processor explain Avanade's 3,460 IOPS?
//! docs/studies/outstanding.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/outstanding.toml", "results/outstanding")
}
