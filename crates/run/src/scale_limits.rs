//! What a run at a smaller scale does not have in proportion.

use strewn_alloc::REGION_BLOCKS;
use strewn_array::write_anywhere::POINTERS;
use strewn_array::{Counters, MOST_STREAMS, stream_matches as matches_at_places};
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_results::rounded;
use strewn_results::words::{fixed, grouped};
use strewn_scenario::{AccessLine, Array, ArrayLayout, Scenario, Workload};

use crate::array_run::ArrayRun;

/// Shares of the file, of what consistency points place and of commands that differ by less than this need no word:
/// a mix such as that of the shipped workload differs by 7 % at an eighth of the scale, and its commands by nothing.
const MATTERS: f64 = 0.1;
/// Fewer tetrises than this to a consistency point, and those that it begins but does not fill decide what it costs.
const FEW_TETRISES: f64 = 4.0;

/// The figures that most of these change.
const COMMANDS: &str = "IOPS, commands for each operation";

/// Returns the reads in a row that begin a stream on `array`: more in a run at a smaller scale with random reads of a
/// small file, which would begin streams by chance.
pub(crate) fn stream_matches(scenario: &Scenario, array: &Array) -> u8 {
    let here = scenario.workloads.iter().filter(|workload| workload.runs_on(&array.name));
    let random = here.filter(|workload| has(workload, |line| line.read_percent > 0));
    let places = random.map(|workload| {
        workload.file_bytes / u64::from(workload.alignment_bytes).max(SECTOR_BYTES)
    });
    matches_at_places(places.min().unwrap_or(u64::MAX), scenario.spindle_stretch)
}

/// Returns what is changed of streams because the run is not at full scale; empty if nothing is.
pub(crate) fn changes(scenario: &Scenario) -> Vec<String> {
    let usual = matches_at_places(u64::MAX, 1);
    let of_array = |array: &Array| {
        let matches = stream_matches(scenario, array);
        (read_ahead_bytes(array) > 0 && matches != usual).then(|| {
            format!("reads in a row that begin a stream of {} {usual} -> {matches}", array.name)
        })
    };
    scenario.arrays.iter().filter_map(of_array).collect()
}

/// Returns a sentence for each quantity that could not be scaled in proportion, where the figures of `array` depend on
/// it. The scenario is at 1/`by` of full scale.
pub(crate) fn out_of_proportion(
    scenario: &Scenario,
    by: u32,
    array: &Array,
    done: &ArrayRun,
) -> Vec<String> {
    let run = ScaledRun { scenario, by, array, done };
    [run.consistency_points(), run.write_cache(), run.streams(), run.rebuild()]
        .into_iter()
        .flatten()
        .collect()
}

struct ScaledRun<'r> {
    scenario: &'r Scenario,
    by: u32,
    array: &'r Array,
    done: &'r ArrayRun,
}

impl ScaledRun<'_> {
    /// By what logs, intervals and write caches are divided.
    fn root(&self) -> f64 {
        self.by.isqrt().max(1).into()
    }

    fn sum(&self, count: impl Fn(&Counters) -> u64) -> f64 {
        self.done.segments.iter().map(|segment| count(&segment.counters)).sum::<u64>() as f64
    }

    /// The workloads of the array that go to random places with operations for which `wanted` holds.
    fn random(&self, wanted: impl Fn(&AccessLine) -> bool + Copy) -> Vec<&Workload> {
        let here = self.scenario.workloads.iter();
        here.filter(|workload| workload.runs_on(&self.array.name) && has(workload, wanted))
            .collect()
    }

    /// The blocks of the files that are written at random, each of a LUN once, and the mean blocks of an operation.
    fn random_writes(&self) -> Option<(f64, f64)> {
        let writers = self.random(|line| line.read_percent < 100);
        let luns = self.array.luns.iter();
        let of_luns = luns.filter_map(|lun| {
            let on_it = writers.iter().filter(|workload| workload.is_on(&self.array.name, lun));
            on_it.map(|workload| workload.file_bytes).max()
        });
        let blocks = of_luns.sum::<u64>() / BLOCK_BYTES;
        let sizes = writers.iter().filter_map(|workload| workload.specification().ok());
        let mean = sizes.map(|of| of.mean_bytes()).fold(BLOCK_BYTES as f64, f64::max);
        (blocks > 0).then_some((blocks as f64, mean / BLOCK_BYTES as f64))
    }

    fn consistency_points(&self) -> Option<String> {
        let ArrayLayout::WriteAnywhere(layout) = &self.array.layout else { return None };
        let (by, root) = (f64::from(self.by), self.root());
        let points = self.sum(|counters| counters.checkpoints);
        let data = self.sum(|counters| counters.checkpoint_data_blocks) / points.max(1.0);
        if data < 1.0 || root <= 1.0 {
            return None;
        }
        // The cache is divided by more than the log, so its dirty limit may come first here.
        let limit = layout.buffer_cache_bytes as f64 * layout.dirty_limit_percent / 100.0;
        let about = if data * BLOCK_BYTES as f64 > 0.9 * limit { "at least" } else { "about" };
        let (mut differs, mut shares) = (Vec::new(), [String::new(), String::new()]);
        if let Some((blocks, of_operation)) = self.random_writes() {
            // Of so many blocks written at random, some were written twice.
            let written = -blocks * (-(data / blocks).min(0.999)).ln_1p();
            let here = placed_for_each(written, blocks, of_operation);
            let full = placed_for_each(written * root, blocks * by, of_operation);
            if (here / full - 1.0).abs() >= MATTERS {
                let fewer = fixed(100.0 * (1.0 - here / full), 0);
                differs.push(format!("blocks placed for each block written ({fewer} % fewer)"));
                let of_file = [(data / blocks, " of the file"), (data * root / blocks / by, "")];
                shares = of_file.map(|(share, of)| format!(" ({}{of})", percent(share)));
            }
        }
        let spindles: u64 = layout.groups().iter().map(|one| u64::from(one.data_spindles)).sum();
        let tetrises = data / (spindles * u64::from(layout.tetris_stripes)) as f64;
        let whole = self.sum(|counters| counters.full_stripes);
        let stripes = self.sum(|counters| counters.stripes_written);
        if tetrises < FEW_TETRISES && whole < (1.0 - MATTERS) * stripes {
            differs.push("stripes written whole".to_owned());
        }
        if differs.is_empty() {
            return None;
        }
        let own = |counters: &Counters| {
            counters.spindle_writes() + counters.metadata_reads + counters.parity_update_reads
        };
        let all = self.sum(|counters| counters.spindle_writes() + counters.spindle_reads());
        if self.sum(own) >= MATTERS * all {
            differs.push(COMMANDS.to_owned());
        }
        let what = format!(
            "a consistency point places {} blocks of data here{}, {about} {} at full scale{}: logs and intervals are not \
             divided by {}, but by {root}",
            grouped(data, false),
            shares[0],
            grouped(data * root, false),
            shares[1],
            self.by
        );
        Some(self.sentence(&what, &differs.join(", ")))
    }

    /// The share of the file that an in-place array's write cache holds.
    fn write_cache(&self) -> Option<String> {
        let ArrayLayout::InPlace(layout) = &self.array.layout else { return None };
        let (blocks, _) = self.random_writes()?;
        let share = layout.write_cache_bytes as f64 / (blocks * BLOCK_BYTES as f64);
        let full = share * self.root() / f64::from(self.by);
        let what = format!(
            "the write cache holds {} of the file here, {} at full scale: it is not divided by {}, but by {}, and more is \
             overwritten in it",
            percent(share),
            percent(full),
            self.by,
            self.root()
        );
        (share - full >= MATTERS).then(|| self.sentence(&what, COMMANDS))
    }

    /// What streams cover, and random reads that fall into it.
    fn streams(&self) -> Option<String> {
        let random = self.random(|line| line.read_percent > 0);
        let file = random.iter().map(|workload| workload.file_bytes).min()?;
        // A stream is matched as far behind as it reads ahead.
        let window = 2 * read_ahead_bytes(self.array) * MOST_STREAMS as u64;
        let share = window as f64 / file as f64;
        let full = share / f64::from(self.by);
        let ahead = self.sum(|counters| counters.read_ahead_blocks);
        let unused = ahead - self.sum(|counters| counters.read_ahead_used);
        let blocks = self.sum(|counters| counters.host_read_blocks);
        let is_wasted = ahead >= MATTERS * blocks && unused >= MATTERS * ahead;
        let what = format!(
            "{MOST_STREAMS} streams may cover {} of the file here, {} at full scale: read-ahead keeps its size, and random \
             reads fall among those of streams",
            percent(share),
            percent(full)
        );
        let differs = format!("blocks read ahead, {COMMANDS}");
        (share - full >= MATTERS && is_wasted).then(|| self.sentence(&what, &differs))
    }

    /// A rebuild whose reads lie apart. Its steps seek farther, but may miss fewer turns of the disks: it takes more or
    /// less than its share of the time.
    fn rebuild(&self) -> Option<String> {
        let is_rebuilt = self.done.failures.iter().any(|one| one.rebuild_began_ns.is_some());
        let what = format!(
            "what a rebuild reads next lies {} times as far apart as at full scale, so seeks and turns of the disks differ",
            self.by
        );
        is_rebuilt.then(|| self.sentence(&what, "times of rebuilds"))
    }

    fn sentence(&self, what: &str, differs: &str) -> String {
        format!("{}: {what}. Not as at full scale: {differs}.", self.array.name)
    }
}

/// Whether some operations of `workload` go to random places, and `wanted` holds for them.
fn has(workload: &Workload, wanted: impl Fn(&AccessLine) -> bool) -> bool {
    let of_line =
        |line: &AccessLine| line.percent_of_accesses > 0 && line.random_percent > 0 && wanted(line);
    let lines = workload.specification();
    lines.is_ok_and(|specification| specification.lines().iter().any(of_line))
}

/// A share in words.
fn percent(share: f64) -> String {
    format!("{} %", rounded(100.0 * share.min(1.0), 2))
}

fn read_ahead_bytes(array: &Array) -> u64 {
    match &array.layout {
        ArrayLayout::WriteAnywhere(layout) => layout.read_ahead_bytes,
        ArrayLayout::InPlace(layout) => layout.read_ahead_bytes,
    }
}

/// Returns how many blocks a consistency point places for each of `written` blocks, written at random places of a file
/// of `blocks` blocks, in operations of `of_operation` blocks: the data, the indirect blocks above, and the blocks of
/// two bitmaps where the data were. Of n blocks, k random accesses find n (1 - exp(-k / n)).
fn placed_for_each(written: f64, blocks: f64, of_operation: f64) -> f64 {
    let found = |of: f64, accesses: f64| -of * (-accesses / of).exp_m1();
    let data = found(blocks, written);
    let indirect = found(blocks / f64::from(POINTERS), written / of_operation);
    let bitmaps = 2.0 * found(blocks / REGION_BLOCKS as f64, written);
    (data + indirect + bitmaps) / written
}
