//! Both heads at work, and one that takes over. docs/studies/both-heads.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/both-heads.toml", "results/both-heads")
}
