//! Is it worth rewriting a ZFS pool? docs/studies/rewrite-zfs.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/rewrite-zfs.toml", "results/rewrite-zfs")
}
