//! The experiments as programs.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use strewn::report::all_tables;
use strewn::scenario::Scenario;
use strewn::terminal::Terminal;
use strewn::{RunOptions, run};

const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/command/scenarios/small.toml");

fn experiment(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_making-sense-of-wafl-4"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// An experiment is the command without its flags.
#[test]
fn an_experiment_prints_the_tables_of_its_scenario() {
    let ran = experiment(Path::new("."), &[SMALL]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let scenario = Scenario::load(SMALL).unwrap();
    let options = RunOptions::default();
    let results = run(&scenario, &options, &Terminal::of_run(&scenario, &options)).unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), all_tables(&results));
}

#[test]
fn an_experiment_away_from_its_scenario_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let ran = experiment(folder.path(), &[]);
    assert_eq!(ran.status.code(), Some(2));
    let message = String::from_utf8(ran.stderr).unwrap();
    assert!(message.contains("scenarios/making-sense-of-wafl-4.toml"), "{message}");
}
