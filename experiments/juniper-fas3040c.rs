//! "Network Attached Storage Interoperability Testing": the table where the file system and RAID are one domain, of
//! which one core at a time does any work; then the table of the scenario, where they are two.
//!
//!     cargo run --release -p experiments --bin juniper-fas3040c
//!
//! docs/studies/juniper-fas3040c.md says what follows from it.

use std::path::Path;
use std::process::ExitCode;

use strewn::report::all_tables;
use strewn::scenario::{Disk, Scenario};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{RunOptions, run};

const SCENARIO: &str = "scenarios/juniper-fas3040c.toml";
/// The processor's cost of a block that gives the fitted write row in one domain.
const IN_ONE_DOMAIN: &str =
    "allocated_block = \"5.004 us\"\nserial_domains = [[\"operations\", \"commands\"]]";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let scenario = Scenario::load(SCENARIO)?;
    let text = std::fs::read_to_string(SCENARIO).unwrap_or_default();
    let fitted = text.lines().find(|line| line.starts_with("allocated_block")).unwrap_or_default();
    let one_domain = text.replace(fitted, IN_ONE_DOMAIN);
    table(&Scenario::parse_with_files(&one_domain, Path::new(SCENARIO), &Disk)?)?;
    table(&scenario)
}

/// Runs a scenario, and prints its rows beside the published ones.
fn table(scenario: &Scenario) -> Result<Ending, Failure> {
    let options = RunOptions::default();
    let terminal = Terminal::of_run(scenario, &options);
    let results = run(scenario, &options, &terminal)?;
    drop(terminal); // Its progress bars go before the tables come.
    terminal::print(&all_tables(&results))?;
    Ok(Ending::of(&results))
}
