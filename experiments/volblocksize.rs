//! Which volblocksize, for which load? docs/studies/volblocksize.md has the predictions and the finding.

use std::process::ExitCode;

fn main() -> ExitCode {
    strewn::terminal::study_program("scenarios/studies/volblocksize.toml", "results/volblocksize")
}
