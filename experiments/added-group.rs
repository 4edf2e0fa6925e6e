//! What does a parity group give that is added late? docs/studies/added-group.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/added-group.toml", "results/added-group")
}
