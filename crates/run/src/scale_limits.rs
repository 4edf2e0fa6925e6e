//! What a run at a smaller scale does not have in proportion.

use strewn_alloc::REGION_BLOCKS;
use strewn_array::write_anywhere::POINTERS;
use strewn_array::{Counters, MOST_STREAMS, stream_matches as matches_at_places};
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_results::rounded;
use strewn_results::words::{fixed, grouped};
use strewn_scenario::{
    AccessLine, Array, ArrayLayout, DiskGroup, InPlaceLayout, Lun, Scenario, Workload,
};
use strewn_sim::Segment;

use crate::array_run::ArrayRun;
use crate::random_streams::{has, stream_matches};

/// Shares of the file, of what consistency points place and of commands that differ by less than this need no word:
/// a mix such as that of the shipped workload differs by 7 % at an eighth of the scale, and its commands by nothing.
const MATTERS: f64 = 0.1;

/// Fewer segments of a file than this to a spindle, and the load of the spindles is uneven: measured, IOPS of random
/// reads were 4 % lower with four, and 26 % with two.
const FEW_SEGMENTS: f64 = 4.0;
/// Operations as many a second as hosts are limited to, but for this share: so many were under way at either end.
const UNDER_WAY: f64 = 0.01;

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
    [run.consistency_points(), run.write_cache(), run.streams(), run.vraid(), run.rebuild()]
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

    /// The figures that most of these change: IOPS only where the array sets them.
    fn commands(&self) -> String {
        self.with_iops("commands for each operation")
    }

    fn with_iops(&self, others: &str) -> String {
        let iops = if self.hosts_set_the_rate() { "" } else { "IOPS, " };
        format!("{iops}{others}")
    }

    /// The workloads of the array.
    fn workloads(&self) -> impl Iterator<Item = &Workload> {
        let all = self.scenario.workloads.iter();
        all.filter(|workload| workload.runs_on(&self.array.name))
    }

    /// Whether every workload of the array has a limit on operations a second, and they came as fast as that.
    fn hosts_set_the_rate(&self) -> bool {
        let limits = self.workloads().map(|workload| {
            workload.named.as_ref().and_then(|named| named.operations_per_second).map(f64::from)
        });
        let Some(a_second) = limits.sum::<Option<f64>>() else { return false };
        let segments = || self.done.segments.iter();
        let seconds = segments().map(|segment| segment.length_ns as f64 / 1e9).sum::<f64>();
        let operations = segments().map(|segment| segment.operations).sum::<u64>() as f64;
        operations >= (1.0 - UNDER_WAY) * a_second * seconds
    }

    /// The share of what hosts wrote in `segments` that was overwritten in the write cache, and never destaged. Where
    /// reads and writes were not measured apart, hosts wrote what the workloads say.
    fn overwritten_in_cache(&self, segments: &[Segment]) -> f64 {
        let lines = self.workloads().filter_map(|workload| workload.specification().ok());
        let lines: Vec<AccessLine> = lines.flat_map(|of| of.lines().to_vec()).collect();
        let bytes = |line: &AccessLine| f64::from(line.bytes) * f64::from(line.percent_of_accesses);
        let all = lines.iter().map(bytes).sum::<f64>().max(1.0);
        let share = lines.iter().map(|line| bytes(line) * write_share(line)).sum::<f64>() / all;
        let written = |segment: &Segment| {
            let of_workloads = segment.by_workload.iter().map(|one| &*one.by_direction);
            let measured = of_workloads.chain(segment.by_direction.as_deref());
            let sectors = measured.map(|[_, writes]| writes.answered.sectors);
            let sectors = sectors.reduce(|sum, sectors| sum + sectors);
            sectors.map_or(segment.bytes as f64 * share, |sectors| (sectors * SECTOR_BYTES) as f64)
        };
        let overwritten: u64 = segments.iter().map(|one| one.counters.coalesced_sectors).sum();
        let written: f64 = segments.iter().map(written).sum();
        (overwritten * SECTOR_BYTES) as f64 / written.max(1.0)
    }

    /// How quantities are divided that are not divided by as much as the file.
    fn not_divided(&self) -> String {
        match self.by.isqrt() {
            0 | 1 => "not divided".to_owned(),
            root => format!("not divided by {}, but by {root}", self.by),
        }
    }

    /// The workloads of the array that go to random places with operations for which `wanted` holds.
    fn random(&self, wanted: impl Fn(&AccessLine) -> bool + Copy) -> Vec<&Workload> {
        self.workloads().filter(|workload| has(workload, wanted)).collect()
    }

    /// The bytes of the largest file of `lun` in which operations for which `wanted` holds go to random places.
    fn file_bytes(&self, lun: &Lun, wanted: impl Fn(&AccessLine) -> bool + Copy) -> u64 {
        let all = self.random(wanted).into_iter();
        let on_it = all.filter(|workload| workload.is_on(&self.array.name, lun));
        on_it.map(|workload| workload.file_bytes).max().unwrap_or(0)
    }

    /// The blocks of the files that are written at random, each of a LUN once, and the mean blocks that an access
    /// touches, of the workload where they are most.
    fn random_writes(&self) -> Option<(f64, f64)> {
        let wanted = |line: &AccessLine| line.read_percent < 100;
        let writers = self.random(wanted);
        let of_luns = self.array.luns.iter().map(|lun| self.file_bytes(lun, wanted));
        let blocks = of_luns.sum::<u64>() / BLOCK_BYTES;
        let of_access = writers.iter().map(|workload| blocks_of_write(workload));
        (blocks > 0).then_some((blocks as f64, of_access.fold(1.0, f64::max)))
    }

    fn consistency_points(&self) -> Option<String> {
        let ArrayLayout::WriteAnywhere(layout) = &self.array.layout else { return None };
        let (by, root) = (f64::from(self.by), self.root());
        let points = self.sum(|counters| counters.consistency_points);
        let data = self.sum(|counters| counters.consistency_point_data_blocks) / points.max(1.0);
        if data < 1.0 {
            return None;
        }
        // The cache is divided by more than the log, so its dirty limit may come first here.
        let limit = layout.buffer_cache_bytes as f64 * layout.dirty_limit_percent / 100.0;
        let about = if data * BLOCK_BYTES as f64 > 0.9 * limit { "at least" } else { "about" };
        let (mut differs, mut shares) = (Vec::new(), [String::new(), String::new()]);
        if let Some((blocks, of_access)) = self.random_writes() {
            // Of so many blocks written at random, some were written twice.
            let written = -blocks * (-(data / blocks).min(0.999)).ln_1p();
            let here = placed_for_each(written, blocks, of_access);
            let full = placed_for_each(written * root, blocks * by, of_access);
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
        // Of a consistency point, at most a tetris' worth of stripes is not whole because it ends. If more are not,
        // holes take their share of these too, and it would not be less at full scale.
        let not_whole = 1.0 - whole / stripes.max(1.0);
        let at_end = not_whole.min(1.0 / tetrises);
        let had_no_holes =
            if at_end < not_whole { (1.0 - not_whole) / (1.0 - at_end) } else { 1.0 };
        if at_end * (1.0 - 1.0 / root) * had_no_holes >= MATTERS {
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
            differs.push(self.commands());
        }
        let what = format!(
            "a consistency point places {} blocks of data here{}, {about} {} at full scale{}: logs and intervals are {}",
            grouped(data, false),
            shares[0],
            grouped(data * root, false),
            shares[1],
            self.not_divided()
        );
        Some(self.sentence(&what, &differs.join(", ")))
    }

    /// What an in-place array's write cache holds of the file, and how long it takes to fill.
    fn write_cache(&self) -> Option<String> {
        let ArrayLayout::InPlace(layout) = &self.array.layout else { return None };
        let (blocks, _) = self.random_writes()?;
        let more = f64::from(self.by) / self.root();
        let share = layout.write_cache_bytes as f64 / (blocks * BLOCK_BYTES as f64);
        // In proportion to what the cache holds of the file, and less of that as long as it is not full.
        let here = self.overwritten_in_cache(&self.done.segments);
        let full = here * (share / more).min(1.0) / share.min(1.0);
        if here - full >= MATTERS {
            let what = format!(
                "the write cache holds {} of the file here, {} at full scale: it is {}, and more is overwritten in it",
                percent(share),
                percent(share / more),
                self.not_divided()
            );
            return Some(self.sentence(&what, &self.commands()));
        }
        if !self.scenario.phases.is_empty() {
            // Then it fills when a phase writes enough, at any scale.
            return None;
        }
        let is_full = |segment: &Segment| segment.counters.stalled_writes > 0;
        let when = match self.done.segments.iter().find(|segment| is_full(segment)) {
            Some(segment) if segment.index > 1 => {
                format!("not full before segment {}", segment.index)
            }
            Some(_) => return None,
            None => {
                // Random writes find as much of the file dirty as is.
                let last = self.done.segments.last().map_or(&[][..], std::slice::from_ref);
                let dirty = self.overwritten_in_cache(last) / share;
                let low = layout.destage_low_percent / 100.0;
                if (dirty - low) * more < 1.0 - low {
                    return None;
                }
                "never full".to_owned()
            }
        };
        let what = format!(
            "the write cache is {}, so it takes {} times as much of the run to fill as at full scale, and here it is \
             {when}",
            self.not_divided(),
            rounded(more, 2)
        );
        Some(self.sentence(&what, &self.commands()))
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
        let differs = format!("blocks read ahead, {}", self.commands());
        (share - full >= MATTERS && is_wasted).then(|| self.sentence(&what, &differs))
    }

    /// A file in so few segments of VRAID that the spindles do not have equal parts of it.
    fn vraid(&self) -> Option<String> {
        let ArrayLayout::InPlace(layout) = &self.array.layout else { return None };
        let of_group = |(number, group): (u16, &DiskGroup)| {
            let luns = self.array.luns.iter().filter(|lun| lun.group == number);
            let bytes: u64 = luns.map(|lun| self.file_bytes(lun, |_| true)).sum();
            // The parity of four segments of data is in a fifth.
            let rstores = bytes as f64 / (4 * group.segment_bytes) as f64;
            let for_each = 5.0 * rstores.ceil() / f64::from(group.spindles);
            let is_few = bytes > 0 && for_each < FEW_SEGMENTS;
            let full = for_each * f64::from(self.by);
            (group.layout == InPlaceLayout::Vraid5 && is_few && full >= FEW_SEGMENTS).then(|| {
                let what = format!(
                    "a spindle has {} segments of the file here, {} at full scale: segments keep their size, and the \
                     spindles have unequal parts of the load",
                    rounded(for_each, 2),
                    rounded(full, 2)
                );
                self.sentence(&what, &self.with_iops("response times"))
            })
        };
        (1..).zip(&layout.groups).find_map(of_group)
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

/// The share of what a line moves that it writes.
fn write_share(line: &AccessLine) -> f64 {
    1.0 - f64::from(line.read_percent) / 100.0
}

/// Returns how many blocks a write of `workload` touches on average: one that is not aligned to blocks touches another
/// at its end.
fn blocks_of_write(workload: &Workload) -> f64 {
    let Ok(specification) = workload.specification() else { return 1.0 };
    let (block, alignment) = (BLOCK_BYTES, u64::from(workload.alignment_bytes));
    let places = block / SECTOR_BYTES;
    let of_line = |line: &AccessLine| {
        let begins = (0..places).map(|place| (workload.offset_bytes + place * alignment) % block);
        let touched: u64 = begins.map(|at| (at + u64::from(line.bytes)).div_ceil(block)).sum();
        let weight = f64::from(line.percent_of_accesses) * write_share(line);
        (weight, weight * touched as f64 / places as f64)
    };
    let (weights, blocks) = (specification.lines().iter().map(of_line))
        .fold((0.0, 0.0), |sum, of_line| (sum.0 + of_line.0, sum.1 + of_line.1));
    if weights > 0.0 { blocks / weights } else { 1.0 }
}

/// Returns how many blocks a consistency point places for each of `written` blocks, written at random places of a file
/// of `blocks` blocks, in accesses of `of_access` blocks: the data, the indirect blocks above, and the blocks of two
/// bitmaps where the data were. The blocks of an access share these. Of n blocks, k random accesses find
/// n (1 - exp(-k / n)).
fn placed_for_each(written: f64, blocks: f64, of_access: f64) -> f64 {
    let found = |of: f64, accesses: f64| -of * (-accesses / of).exp_m1();
    let accesses = written / of_access;
    let data = found(blocks, written);
    let indirect = found(blocks / f64::from(POINTERS), accesses);
    let bitmaps = 2.0 * found(blocks / REGION_BLOCKS as f64, accesses);
    (data + indirect + bitmaps) / written
}
