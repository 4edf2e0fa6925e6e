//! What the answer of "Making Sense of WAFL Part 4" owes to constants that nobody published: each is changed alone,
//! the declared numbers are fitted anew to the same published segments, and the others are predicted again.
//!
//! Runs at an eighth of full scale, as `--quick` does: the differences between rows count, not the last digit of each.

use std::path::Path;
use std::process::ExitCode;

use strewn::scenario::{ArrayLayout, CacheStart, Scenario};
use strewn::spindle::Scheduler;
use strewn::terminal::{self, Ending, Failure};
use strewn::{CalibrateError, RunOptions, calibrate, run};

const SCALE_DOWN: u32 = 8;

/// A change to one constant, by name.
type Variation = (&'static str, fn(&mut Scenario));

const VARIATIONS: [Variation; 26] = [
    ("as it is", |_| {}),
    ("seed 2", |s| s.seed = 2),
    ("seed 3", |s| s.seed = 3),
    ("FAS: cache empty at the start", |s| s.write_anywhere(|w| w.cache_start = CacheStart::Empty)),
    ("FAS: 4 commands kept at a drive", |s| s.arrays[0].commands_per_spindle = 4),
    ("FAS: 6 commands kept at a drive", |s| s.arrays[0].commands_per_spindle = 6),
    ("FAS: 16 commands kept at a drive", |s| s.arrays[0].commands_per_spindle = 16),
    ("FAS: first come, first served at a drive", |s| s.arrays[0].scheduler = Scheduler::Fcfs),
    ("FAS: nothing per KiB", |s| s.arrays[0].processor.per_kib_ns = 0.0),
    ("FAS: 1 us per KiB", |s| s.arrays[0].processor.per_kib_ns = 1_000.0),
    ("FAS: chunk of 32 blocks", |s| s.write_anywhere(|w| w.chunk_blocks = 32)),
    ("FAS: half a log of 32 MiB", |s| s.write_anywhere(|w| w.log_half_bytes /= 2)),
    ("FAS: half a log of 128 MiB", |s| s.write_anywhere(|w| w.log_half_bytes *= 2)),
    ("FAS: 1 tetris in flight", |s| s.write_anywhere(|w| w.tetrises_in_flight = 1)),
    ("FAS: 8 tetrises in flight", |s| s.write_anywhere(|w| w.tetrises_in_flight = 8)),
    ("FAS: buffer cache of 1 GiB", |s| {
        s.write_anywhere(|w| w.buffer_cache_bytes = w.buffer_cache_bytes * 10 / 13)
    }),
    ("FAS: plain LRU", |s| s.write_anywhere(|w| w.protected_percent = 0.0)),
    ("FAS: a quarter of the cache protected", |s| s.write_anywhere(|w| w.protected_percent = 25.0)),
    ("FAS: delayed frees of a quarter percent", |s| {
        s.write_anywhere(|w| w.delayed_free_percent = 0.25)
    }),
    ("FAS: delayed frees of 4 percent", |s| s.write_anywhere(|w| w.delayed_free_percent = 4.0)),
    ("FAS: no delayed frees", |s| s.write_anywhere(|w| w.delayed_free_percent = 0.0)),
    ("both: file of 100 GB, not GiB", |s| {
        s.workloads[0].file_bytes = s.workloads[0].file_bytes / (1 << 30) * 1_000_000_000
    }),
    ("EVA: 4 destages in flight per spindle", |s| s.in_place(|p| p.destages_per_spindle = 4.0)),
    ("EVA: 16 destages in flight per spindle", |s| s.in_place(|p| p.destages_per_spindle = 16.0)),
    ("EVA: nothing written back below 50 %", |s| s.in_place(|p| p.destage_low_percent = 50.0)),
    ("EVA: write cache of 256 MiB", |s| s.in_place(|p| p.write_cache_bytes /= 2)),
];

fn main() -> ExitCode {
    terminal::exit_code(experiment())
}

fn experiment() -> Result<Ending, Failure> {
    let path = Path::new("scenarios/making-sense-of-wafl-4.toml");
    let (scenario, _) = Scenario::load(path)?.scaled_down(SCALE_DOWN);
    let [op, command, rms, worst, depth, eva_worst, drift] =
        ["us/op", "us/cmd", "RMS %", "worst %", "depth", "worst %", "drift %"];
    println!("{:42} {:^35} {:^26}", "", "FAS2050", "EVA4400");
    println!(
        "{:42} {op:>8} {command:>8} {rms:>8} {worst:>8} {depth:>8} {eva_worst:>8} {drift:>8}",
        "constant changed"
    );
    for (name, change) in VARIATIONS {
        let mut scenario = scenario.clone();
        change(&mut scenario);
        let mut fitted = Vec::new();
        let fits = match calibrate(&scenario, 0, &()) {
            Err(CalibrateError::NotConverged { array, errors, .. }) => {
                let off: Vec<String> =
                    errors.iter().map(|(_, error)| format!("{:+.1} %", error * 100.0)).collect();
                println!(
                    "{name:42} {array} reaches no fit: its segments are off by {}",
                    off.join(" and ")
                );
                continue;
            }
            fits => fits?,
        };
        for fit in fits {
            for number in fit.parameters {
                scenario.set_parameter(&fit.array, &number.name, number.after)?;
                fitted.push(number.after);
            }
        }
        let results = run(&scenario, &RunOptions::default(), &())?;
        let iops = |array: usize| {
            let name = &scenario.arrays[array].name;
            let found = results.published.iter().find(|one| &one.array == name);
            found.ok_or_else(|| Failure::failed(format!("no published figures for {name}")))
        };
        let (fas, eva) = (iops(0)?, iops(1)?);
        let steady = results.arrays[1].segments.iter().map(|segment| segment.iops);
        let (low, high) =
            steady.fold((f64::MAX, 0.0_f64), |(low, high), iops| (low.min(iops), high.max(iops)));
        println!(
            "{name:42} {:>8.1} {:>8.1} {:>8.2} {:>8.2} {:>8} {:>8.2} {:>8.2}",
            fitted[0] / 1e3,
            fitted[1] / 1e3,
            fas.predicted_rms_error_percent.unwrap_or_default(),
            fas.worst_error_percent,
            fitted[2],
            eva.worst_error_percent,
            100.0 * (high / low - 1.0),
        );
    }
    Ok(Ending::Complete)
}

/// The settings of the arrays of one kind.
trait Settings {
    fn write_anywhere(&mut self, change: impl Fn(&mut strewn::scenario::WriteAnywhere));
    fn in_place(&mut self, change: impl Fn(&mut strewn::scenario::InPlace));
}

impl Settings for Scenario {
    fn write_anywhere(&mut self, change: impl Fn(&mut strewn::scenario::WriteAnywhere)) {
        for array in &mut self.arrays {
            if let ArrayLayout::WriteAnywhere(layout) = &mut array.layout {
                change(layout);
            }
        }
    }

    fn in_place(&mut self, change: impl Fn(&mut strewn::scenario::InPlace)) {
        for array in &mut self.arrays {
            if let ArrayLayout::InPlace(layout) = &mut array.layout {
                change(layout);
            }
        }
    }
}
