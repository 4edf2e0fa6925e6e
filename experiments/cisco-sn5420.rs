//! "Cisco SN 5420 Storage Router": the source's test, then what it left out. By outstanding reads: what does the router
//! cost where a host does not wait for each read? By constants that nobody published: within which of them is its cost
//! minimal?
//!
//!     cargo run --release -p experiments --bin cisco-sn5420
//!
//! docs/studies/cisco-sn5420.md has these tables and says where the constants come from.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use strewn::report::all_tables;
use strewn::results::Results;
use strewn::scenario::{Disk, Scenario};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{RunOptions, run};

const SCENARIO: &str = "scenarios/cisco-sn5420.toml";
/// The array of each path; the settings below are those of the routed one.
const DIRECT: usize = 0;
const ROUTED: usize = 1;
const PASSED_ON: usize = 2;
const SIZES: [&str; 3] = ["1 KB", "8 KB", "64 KB"];

/// The most latency that counts as minimal, in percent of the direct path's.
const MOST_PERCENT: f64 = 110.0;

/// Settings of the routed array, each alone, against the scenario's.
const CONSTANTS: [(&str, &[(&str, &str)]); 16] = [
    ("as in the scenario", &[]),
    ("adapter interrupts at once", &[("host_interrupt_delay", "0 s")]),
    ("adapter collects for 60 us", &[("host_interrupt_delay", "60 us")]),
    ("adapter collects for 240 us", &[("host_interrupt_delay", "240 us")]),
    ("host 4.4 us a KiB", &[("host_per_kib", "4.4 us")]),
    ("host 17.6 us a KiB", &[("host_per_kib", "17.6 us")]),
    ("host 0 us a PDU", &[("host_pdu", "0 s")]),
    ("host 40 us a PDU", &[("host_pdu", "40 us")]),
    ("host begins when all is there", &[("host_receives", "when-complete")]),
    ("router 0 us a command", &[("router.command", "0 s")]),
    ("router 50 us a command", &[("router.command", "50 us")]),
    ("router 200 us a command", &[("router.command", "200 us")]),
    ("router 400 us a command", &[("router.command", "400 us")]),
    ("router 2 us a KiB", &[("router.per_kib", "2 us")]),
    ("router passes frames on", &[("router.storage", "frame")]),
    ("PDUs of 64 KiB", &[("iscsi.host_data_segment", "64 KiB")]),
];

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let scenario = Scenario::load(SCENARIO)?;
    let options = RunOptions::default();
    let terminal = Terminal::of_run(&scenario, &options);
    let results = run(&scenario, &options, &terminal)?;
    drop(terminal); // Its progress bars go before the tables come.
    terminal::print(&all_tables(&results))?;

    let text = std::fs::read_to_string(SCENARIO).unwrap_or_default();
    terminal::print(&by_outstanding(&text)?)?;
    terminal::print(&by_constant(&text)?)?;
    Ok(Ending::of(&results))
}

/// Runs the scenario with some of its settings changed.
fn vary(text: &str, settings: &[(String, String)]) -> Result<Results, Failure> {
    let (scenario, _) = Scenario::parse_with(text, Path::new(SCENARIO), settings, &Disk)?;
    let options = RunOptions::default();
    let terminal = Terminal::of_run(&scenario, &options);
    Ok(run(&scenario, &options, &terminal)?)
}

/// A table of IOPS, each path's, and of the latency that iSCSI adds.
fn by_outstanding(text: &str) -> Result<String, Failure> {
    let mut table = String::from(
        "\n| outstanding | block | Fibre Channel IOPS | iSCSI IOPS | less % | latency ms | more ms | router busy % | frames passed on, IOPS |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for outstanding in [1, 2, 4, 8, 16, 32, 64] {
        let of = |workload| (format!("workload.{workload}.outstanding"), outstanding.to_string());
        let results = vary(text, &[1, 2, 3].map(of))?;
        for (phase, size) in SIZES.iter().enumerate() {
            let [direct, routed, passed_on] =
                [DIRECT, ROUTED, PASSED_ON].map(|array| &results.arrays[array].segments[phase]);
            let busy = routed.machine.as_ref().and_then(|machine| machine.router_utilization);
            let (direct_ms, routed_ms) = (direct.response_ms.mean, routed.response_ms.mean);
            let _ = writeln!(
                table,
                "| {outstanding} | {size} | {:.1} | {:.1} | {:.1} | {direct_ms:.2} | {:+.2} | {:.1} | {:.1} |",
                direct.iops,
                routed.iops,
                100.0 * (1.0 - routed.iops / direct.iops),
                routed_ms - direct_ms,
                100.0 * busy.unwrap_or_default(),
                passed_on.iops,
            );
        }
    }
    Ok(table)
}

/// A table of latency over the direct path's, in percent, by block size, and whether all of it is minimal.
fn by_constant(text: &str) -> Result<String, Failure> {
    let mut table = String::from("\n| | 1 KB | 8 KB | 64 KB | minimal |\n|---|---|---|---|---|\n");
    for (name, settings) in CONSTANTS {
        let of_routed = |(key, value): &(&str, &str)| {
            (format!("iSCSI, SN 5420.front_end.{key}"), (*value).to_owned())
        };
        let settings: Vec<_> = settings.iter().map(of_routed).collect();
        let results = vary(text, &settings)?;
        let mean_ms =
            |array: usize, phase: usize| results.arrays[array].segments[phase].response_ms.mean;
        let percent = [0, 1, 2].map(|at| 100.0 * mean_ms(ROUTED, at) / mean_ms(DIRECT, at));
        let is_minimal = percent.iter().all(|percent| *percent <= MOST_PERCENT);
        let [small, middle, large] = percent;
        let verdict = if is_minimal { "yes" } else { "no" };
        let _ = writeln!(table, "| {name} | {small:.1} | {middle:.1} | {large:.1} | {verdict} |");
    }
    Ok(table)
}
