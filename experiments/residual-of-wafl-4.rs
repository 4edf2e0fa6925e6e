//! The residual of "Making Sense of WAFL Part 4": mechanisms that arrays of that time had and the scenario leaves out, each
//! switched on alone and some together. The two fitted parameters are fitted again each time, to the same two segments, and
//! the other twelve are predicted again.
//!
//! At full scale, or smaller by the factor given:
//!
//!     cargo run --release -p experiments --bin residual-of-wafl-4 -- 8
//!
//! docs/residual.md says where each mechanism and each of its numbers comes from. The order is that page's: the best
//! sourced first.

use std::path::Path;
use std::process::ExitCode;

use strewn::report::Published;
use strewn::scenario::Scenario;
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{Prediction, RefitOptions, RunOptions, Variation, refit};

const SCENARIO: &str = "scenarios/making-sense-of-wafl-4.toml";
const ARRAY: &str = "FAS2050";

/// Settings of the FAS2050, by name and value.
type Settings = &'static [(&'static str, &'static str)];

const MECHANISMS: [(&str, Settings); 1] = [("as it is", &[])];

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
    let (names, mut variations): (Vec<String>, Vec<Variation>) = switched.chain(moved).unzip();
    variations.iter_mut().for_each(|variation| variation.arrays = vec![array]);
    let options = RefitOptions { scale_down, ..RefitOptions::default() };
    let terminal = Terminal::of_run(&scenario, &RunOptions::default());
    let refits = refit(&text, Path::new(SCENARIO), &variations, options, &terminal, &|_, _| {})
        .map_err(|error| Failure::failed(error.to_string()))?;
    drop(terminal);
    let published = published(&scenario)?;
    let [op, command, rms, head] = ["us/op", "us/cmd", "RMS %", "error of segments 1 to 14, %"];
    println!("{:44} {op:>7} {command:>7} {rms:>6}  {head}", "switched on");
    for refit in refits {
        let name = &names[refit.variation];
        match refit.outcome {
            Err(no_fit) => println!("{name:44} reaches no fit: off by {:?} %", no_fit.off_percent),
            Ok(prediction) => println!("{name:44} {}", row(&prediction, &published)),
        }
    }
    Ok(Ending::Complete)
}

fn published(scenario: &Scenario) -> Result<Vec<f64>, Failure> {
    let path = scenario.published.as_deref();
    let path = path.ok_or_else(|| Failure::failed(format!("{SCENARIO} names no figures")))?;
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))?;
    let figures =
        Published::from_toml(&text, path).map_err(|error| Failure::failed(error.to_string()))?;
    let of_array = figures.array(ARRAY).map(|array| array.iops.clone());
    of_array.ok_or_else(|| Failure::failed(format!("{} has no {ARRAY}", path.display())))
}

fn row(prediction: &Prediction, published: &[f64]) -> String {
    let errors = prediction.iops.iter().zip(published);
    let errors: Vec<f64> = errors.map(|(ours, theirs)| 100.0 * (ours / theirs - 1.0)).collect();
    let predicted = errors.get(2..).unwrap_or_default();
    let squares: f64 = predicted.iter().map(|error| error * error).sum();
    let rms = (squares / predicted.len() as f64).sqrt();
    let costs = prediction.fitted.iter().map(|ns| format!("{:>7.1} ", ns / 1e3));
    let listed = errors.iter().map(|error| format!(" {error:+.1}"));
    format!("{}{rms:>6.2} {}", costs.collect::<String>(), listed.collect::<String>())
}
