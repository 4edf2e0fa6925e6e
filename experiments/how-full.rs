//! Does it matter what fills an aggregate, or only how full it is? docs/studies/how-full.md has the predictions and the
//! finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/how-full.toml", "results/how-full")
}
