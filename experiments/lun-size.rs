//! LUNs of 100 GB to all of the aggregate: is the loss a matter of size? docs/studies/lun-size.md has the predictions
//! and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/lun-size.toml", "results/lun-size")
}
