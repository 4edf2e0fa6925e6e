//! Root volume, RAID-4 or RAID-DP, spares: what does a purchased spindle give? docs/studies/redundancy-and-price.md has
//! the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program(
        "scenarios/studies/redundancy-and-price.toml",
        "results/redundancy-and-price",
    )
}
