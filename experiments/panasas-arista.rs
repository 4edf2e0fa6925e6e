//! "Arista 10 Gigabit Ethernet Switch Lab-Tested with Panasas ActiveStor": the source's table, then what it left out.
//! Where do 16, 64 and 256 clients stop, on 3, 12 and 25 shelves, and what stops them?
//!
//!     cargo run --release -p experiments --bin panasas-arista
//!
//! docs/studies/panasas-arista.md has these tables. Each of 16 hosts stands for several clients of one thread, with
//! a lane of its link for each; a link has at most eight lanes, so two of 256 clients share one.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use strewn::report::all_tables;
use strewn::results::Results;
use strewn::scenario::{Disk, Scenario};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{RunOptions, run};

const SCENARIO: &str = "scenarios/panasas-arista.toml";
const HOSTS: u32 = 16;
const CLIENTS: [u32; 3] = [16, 64, 256];
const SHELVES: [u32; 3] = [3, 12, 25];
const DIRECTIONS: [&str; 2] = ["read", "write"];

/// Of an array, in the published scenario and here.
const CLIENT_RAID: &str = "parity_per_kib = \"0.1 us\"\ncopy_per_kib = ";

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let published = Scenario::load(SCENARIO)?;
    let results = simulate(&published)?;
    terminal::print(&all_tables(&results))?;
    let copy_ns = published.arrays[0].client_raid.as_ref().map_or(0, |raid| raid.copy_kib_ns);

    let mut table = String::from(
        "\n| clients | shelves | | MB/s | a client | a blade | drives busy % | client links busy % |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for clients in CLIENTS {
        let scaled = simulate(&Scenario::parse_with_files(
            &scaled(clients, copy_ns),
            Path::new("scaled"),
            &Disk,
        )?)?;
        for (array, shelves) in scaled.arrays.iter().zip(SHELVES) {
            for (segment, direction) in array.segments.iter().skip(1).step_by(2).zip(DIRECTIONS) {
                let mb_per_s = segment.mib_per_s * 1.048_576;
                let links = segment.machine.iter().flat_map(|machine| &machine.links);
                let busy = links.filter(|link| link.name.starts_with("client"));
                let busy = busy.map(|link| link.utilization_to_host.max(link.utilization_to_array));
                let _ = writeln!(
                    table,
                    "| {clients} | {shelves} | {direction} | {mb_per_s:.0} | {:.0} | {:.1} | {:.0} | {:.0} |",
                    mb_per_s / f64::from(clients),
                    mb_per_s / f64::from(10 * shelves),
                    100.0 * segment.utilization.spindles,
                    100.0 * busy.fold(0.0, f64::max),
                );
            }
        }
    }
    terminal::print(&table)?;
    Ok(Ending::of(&results))
}

fn simulate(scenario: &Scenario) -> Result<Results, Failure> {
    let options = RunOptions::default();
    let terminal = Terminal::of_run(scenario, &options);
    Ok(run(scenario, &options, &terminal)?)
}

/// The scenario of so many clients, on each number of shelves. The second segment of a phase is the one that counts.
fn scaled(clients: u32, copy_ns: u64) -> String {
    let each = clients / HOSTS;
    let lanes = each.min(8);
    let mut text = String::from(
        "schema = 1\nname = \"panasas-scaling\"\ntitle = \"More clients, more shelves\"\nseed = 1\nsegment = \"6 s\"\n",
    );
    text += "[[link]]\nname = \"blade\"\nkind = \"ethernet-1g\"\n";
    let names = |direction: &str| -> Vec<String> {
        (1..=HOSTS).map(|host| format!("{host}: {direction}")).collect()
    };
    for host in 1..=HOSTS {
        let _ = write!(
            text,
            "[[link]]\nname = \"client-{host}\"\nkind = \"ethernet-10g\"\nlanes = {lanes}\n\
             [[host]]\nname = \"host-{host}\"\npath = [\"client-{host}\"]\ncores = {}\n",
            8 * each
        );
        for (direction, percent) in DIRECTIONS.iter().zip([100, 0]) {
            let _ = write!(
                text,
                "[[workload]]\nname = \"{host}: {direction}\"\nhost = \"host-{host}\"\nlun = \"{host}\"\n\
                 file = \"48 GB\"\nthreads = {each}\noutstanding = 1\n[[workload.access]]\nbytes = \"512 KiB\"\n\
                 percent = 100\nread_percent = {percent}\nrandom_percent = 0\n"
            );
        }
    }
    for direction in DIRECTIONS {
        let names = names(direction);
        let _ = write!(
            text,
            "[[phase]]\nname = \"{direction}\"\nsegments = 2\nworkloads = {names:?}\n"
        );
    }
    for shelves in SHELVES {
        let _ = write!(
            text,
            "[[array]]\nname = \"{shelves} shelves\"\ncontroller = \"panasas-sb1000\"\n[array.front_end]\n\
             protocol = \"iscsi\"\nconnections = {lanes}\n[array.client_raid]\nblades = {}\nblade_link = \"blade\"\n\
             {CLIENT_RAID}\"{copy_ns} ns\"\n",
            10 * shelves
        );
        for host in 1..=HOSTS {
            let _ = write!(text, "[[array.lun]]\nname = \"{host}\"\nsize = \"48 GB\"\n");
        }
    }
    text
}
