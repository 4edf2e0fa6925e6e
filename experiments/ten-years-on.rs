//! Ten years on: is the argument over? docs/studies/ten-years-on.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/ten-years-on.toml", "results/ten-years-on")
}
