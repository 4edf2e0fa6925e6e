//! The residual of "Making Sense of WAFL Part 4": mechanisms that arrays of that time had and the scenario leaves out,
//! each switched on alone and some together. The two fitted parameters are fitted again each time, to the same two
//! segments, and the other twelve are predicted again.
//!
//! At full scale, or smaller by the factor given; all rows, or those whose names contain what is given:
//!
//!     cargo run --release -p experiments --bin residual-of-wafl-4 -- 8 "holes"
//!
//! docs/residual.md says where each mechanism and each of its numbers comes from. The order is that page's: the best
//! sourced first.

use std::path::Path;
use std::process::ExitCode;

use strewn::results::root_mean_square;
use strewn::scenario::Scenario;
use strewn::terminal::{self, DriveTerminal, Ending, Failure};
use strewn::{Prediction, RefitOptions, Variation, refit};

const SCENARIO: &str = "scenarios/making-sense-of-wafl-4.toml";
const ARRAY: &str = "FAS2050";

/// Settings of the FAS2050, by name and value.
type Settings = &'static [Setting];

const MECHANISMS: [(&str, Settings); 24] = [
    ("as it is", &[]),
    ("1: holes of up to 4 blocks", &[HOLES_4]),
    ("1: holes of up to 16 blocks", &[HOLES_16]),
    ("1: holes of up to 62 blocks, a chunk's", &[HOLES_62]),
    ("2: paced, 300 s", &[PACED]),
    ("2: paced, 3,600 s", &[("reclaim_interval", "3600 s")]),
    ("2: 4 us a metadata block", &[METADATA]),
    ("2: no delayed frees, 4 us a metadata block", &[("delayed_free_percent", "0"), METADATA]),
    ("2: delayed 0.25 %, 4 us a metadata block", &[("delayed_free_percent", "0.25"), METADATA]),
    ("2: delayed 4 %, 4 us a metadata block", &[("delayed_free_percent", "4"), METADATA]),
    ("2: paced, 300 s, 4 us a metadata block", &[PACED, METADATA]),
    ("2: 1 us a freed block", &[FREED]),
    ("2: 5.5 us a freed block, chosen by looking", &[FREED_BY_LOOKING]),
    ("parity, 0.5 us/KiB", &[PARITY]),
    ("1 us an allocated block", &[ALLOCATED]),
    ("allocation, frees, metadata and parity", &[ALLOCATED, FREED, METADATA, PARITY]),
    ("3: 100 map blocks/s, always", &[SCAN]),
    ("3: 1,000 map blocks/s, in segment 1", &[SCAN_1000, ("background_scan.ends", "20 min")]),
    (
        "3: 1,000 map blocks/s, from segment 2 on",
        &[SCAN_1000, ("background_scan.begins", "20 min")],
    ),
    ("4: 20 us of a command once a batch", &[BATCHES]),
    ("1 and 2: holes 62, 4 us a metadata block", &[HOLES_62, METADATA]),
    ("1 and 2: holes 62, freed 1 us, metadata 4 us", &[HOLES_62, FREED, METADATA]),
    ("1 and 2: the same, paced, 300 s", &[HOLES_62, FREED, METADATA, PACED]),
    ("1 and 2: holes 62, freed 5.5 us, by looking", &[HOLES_62, FREED_BY_LOOKING]),
];

type Setting = (&'static str, &'static str);
const HOLES_4: Setting = ("read_through_blocks", "4");
const HOLES_16: Setting = ("read_through_blocks", "16");
const HOLES_62: Setting = ("read_through_blocks", "62");
const PACED: Setting = ("reclaim_interval", "300 s");
/// Reading and writing a map block of 4 KiB at the scenario's 0.5 us/KiB.
const METADATA: Setting = ("metadata_block", "4 us");
const FREED: Setting = ("freed_block", "1 us");
/// The value that makes the prediction best, which is no source.
const FREED_BY_LOOKING: Setting = ("freed_block", "5.5 us");
const ALLOCATED: Setting = ("allocated_block", "1 us");
const PARITY: Setting = ("parity_per_kib", "0.5 us");
const SCAN: Setting = ("background_scan.blocks_per_second", "100");
const SCAN_1000: Setting = ("background_scan.blocks_per_second", "1000");
const BATCHES: Setting = ("interrupt", "20 us");

/// How far a published row is off, which the fitted rows are moved by to show their lever.
const SCATTER: f64 = 0.003;

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let scale_down = match std::env::args().nth(1) {
        None => 1,
        Some(given) => given.parse().map_err(|_| {
            Failure::bad_input(
                format!("`{given}` is no whole number"),
                "give by how much smaller to run than full scale, or nothing",
            )
        })?,
    };
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let scenario = Scenario::load(SCENARIO)?;
    let text = std::fs::read_to_string(SCENARIO)
        .map_err(|error| Failure::failed(format!("cannot read {SCENARIO}: {error}")))?;
    let array = scenario.arrays.iter().position(|array| array.name == ARRAY);
    let array = array.ok_or_else(|| Failure::failed(format!("the scenario has no {ARRAY}")))?;
    let fitted = scenario.arrays[array].fitted.iter().flat_map(|fitted| &fitted.segments);
    let moved = fitted.flat_map(|segment| {
        [1.0 - SCATTER, 1.0 + SCATTER].map(|factor| {
            let name = format!("published row {segment} {:+.1} %", 100.0 * (factor - 1.0));
            (name, Variation { row: Some((*segment, factor)), ..Variation::default() })
        })
    });
    let switched = MECHANISMS.iter().map(|(name, settings)| {
        let setting =
            |(name, value): &(&str, &str)| (format!("{ARRAY}.{name}"), (*value).to_owned());
        let settings = settings.iter().map(setting).collect();
        ((*name).to_owned(), Variation { settings, ..Variation::default() })
    });
    let rows = switched.chain(moved).filter(|(name, _)| name.contains(&wanted));
    let (names, mut variations): (Vec<String>, Vec<Variation>) = rows.unzip();
    variations.iter_mut().for_each(|variation| variation.arrays = vec![array]);
    let options = RefitOptions { scale_down, ..RefitOptions::default() };
    let progress = DriveTerminal::of_predictions();
    let on_done = |done, of| progress.done(done, of);
    let refits = refit(&text, Path::new(SCENARIO), &variations, options, &progress, &on_done)?;
    let published = strewn::published(&scenario)?;
    let figures = published.as_ref().and_then(|published| published.array(ARRAY));
    let figures = figures.ok_or_else(|| Failure::failed(format!("no figures of {ARRAY}")))?;
    let [op, command, rms, head] = ["us/op", "us/cmd", "RMS %", "error of segments 1 to 14, %"];
    println!("{:44} {op:>7} {command:>7} {rms:>6}  {head}", "switched on");
    for refit in refits {
        let name = &names[refit.variation];
        match refit.outcome {
            Err(no_fit) => println!("{name:44} reaches no fit: off by {:?} %", no_fit.off_percent),
            Ok(prediction) => println!("{name:44} {}", row(&prediction, &figures.iops)),
        }
    }
    Ok(Ending::Complete)
}

fn row(prediction: &Prediction, published: &[f64]) -> String {
    let errors = prediction.iops.iter().zip(published);
    let errors: Vec<f64> = errors.map(|(ours, theirs)| 100.0 * (ours / theirs - 1.0)).collect();
    let predicted = errors.get(2..).unwrap_or_default();
    let rms = root_mean_square(predicted.iter().copied()).unwrap_or_default();
    let costs = prediction.fitted.iter().map(|ns| format!("{:>7.1} ", ns / 1e3));
    let listed = errors.iter().map(|error| format!(" {error:+.1}"));
    format!("{}{rms:>6.2} {}", costs.collect::<String>(), listed.collect::<String>())
}
