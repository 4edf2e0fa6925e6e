//! How full may a ZFS pool be? docs/studies/how-full-zfs.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/how-full-zfs.toml", "results/how-full-zfs")
}
