//! Mirrors or RAID-Z: what does a drive give, and a usable terabyte? docs/studies/mirrors-or-raidz.md has the
//! predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program(
        "scenarios/studies/mirrors-or-raidz.toml",
        "results/mirrors-or-raidz",
    )
}
