//! "NAS-SAN fusion: Windows vs. Linux": a file copied through gateways, at several expiries of their page cache. How
//! often do bursts come, and how high are they?
//!
//!     cargo run --release -p experiments --bin nas-gateways
//!
//! docs/studies/nas-gateways.md discusses the first table.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use strewn::report::all_tables;
use strewn::scenario::{Disk, Scenario};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{RunOptions, run};

const SCENARIO: &str = "scenarios/nas-gateways.toml";
const ARRAY: &str = "Samba 3, Fast Ethernet";
const EXPIRIES: [&str; 4] = ["0 s", "5 s", "15 s", "30 s"];

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let scenario = Scenario::load(SCENARIO)?;
    let options = RunOptions::default();
    let terminal = Terminal::of_run(&scenario, &options);
    let results = run(&scenario, &options, &terminal)?;
    drop(terminal); // Its progress bars go before the tables come.
    let mut text = all_tables(&results);
    let _ = writeln!(
        text,
        "\n{ARRAY}, by expiry: seconds with traffic to the array, and the highest MB/s\n"
    );

    let toml = std::fs::read_to_string(SCENARIO).unwrap_or_default();
    for expiry in EXPIRIES {
        let setting = (format!("{ARRAY}.page_cache.expiry"), expiry.to_owned());
        let (scenario, _) = Scenario::parse_with(&toml, Path::new(SCENARIO), &[setting], &Disk)?;
        let terminal = Terminal::of_run(&scenario, &options);
        let results = run(&scenario, &options, &terminal)?;
        drop(terminal);
        let of_array = results.arrays.iter().filter(|array| array.name == ARRAY);
        let mb_per_s: Vec<f64> = (of_array.flat_map(|array| &array.segments))
            .filter_map(|segment| {
                segment.page_cache.map(|cache| cache.written_mib_per_s * 1.048_576)
            })
            .collect();
        let busy = mb_per_s.iter().filter(|now| **now > 1.0).count();
        let highest = mb_per_s.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(text, "  {expiry:>5} {busy:4} of {:4} {highest:8.1}", mb_per_s.len());
    }
    terminal::print(&text)?;
    Ok(Ending::of(&results))
}
