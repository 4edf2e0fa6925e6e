//! What a run at a smaller scale did, for what is said of it.

use strewn_array::Counters;
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_results::rounded;
use strewn_sim::Segment;
use strewn_workload::AccessLine;

use crate::array::Array;
use crate::build::{goes_to_random_places, written_bytes};
use crate::lun::Lun;
use crate::scenario::Scenario;
use crate::workload::Workload;

/// Shares of the file, of what consistency points place and of commands that differ by less than this need no word:
/// a mix such as that of the shipped workload differs by 7 % at an eighth of the scale, and its commands by nothing.
pub const MATTERS: f64 = 0.1;

/// Operations as many a second as hosts are limited to, but for this share: so many were under way at either end.
const UNDER_WAY: f64 = 0.01;

/// A run at a smaller scale, of one array.
pub struct ScaledRun<'r> {
    /// The experiment at its smaller scale.
    pub scenario: &'r Scenario,
    /// By what its file is divided.
    pub by: u32,
    /// The array.
    pub array: &'r Array,
    /// What it did.
    pub segments: &'r [Segment],
}

impl ScaledRun<'_> {
    /// By what logs, intervals and write caches are divided.
    pub fn root(&self) -> f64 {
        self.by.isqrt().max(1).into()
    }

    /// The sum of a count over the run.
    pub fn sum(&self, count: impl Fn(&Counters) -> u64) -> f64 {
        self.segments.iter().map(|segment| count(&segment.counters)).sum::<u64>() as f64
    }

    /// The figures that most of these change: IOPS only where the array sets them.
    pub fn commands(&self) -> String {
        self.with_iops("commands for each operation")
    }

    /// `others`, and IOPS where the array sets them.
    pub fn with_iops(&self, others: &str) -> String {
        let iops = if self.hosts_set_the_rate() { "" } else { "IOPS, " };
        format!("{iops}{others}")
    }

    /// The workloads of the array.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        let all = self.scenario.workloads.iter();
        all.filter(|workload| workload.runs_on(&self.array.name))
    }

    /// Whether every workload of the array has a limit on operations a second, and they came as fast as that.
    pub fn hosts_set_the_rate(&self) -> bool {
        let limits = self.workloads().map(|workload| {
            workload.named.as_ref().and_then(|named| named.operations_per_second).map(f64::from)
        });
        let Some(a_second) = limits.sum::<Option<f64>>() else { return false };
        let segments = || self.segments.iter();
        let seconds = segments().map(|segment| segment.length_ns as f64 / 1e9).sum::<f64>();
        let operations = segments().map(|segment| segment.operations).sum::<u64>() as f64;
        operations >= (1.0 - UNDER_WAY) * a_second * seconds
    }

    /// The share of what hosts wrote in `segments` that was overwritten in the write cache, and never destaged. Where
    /// reads and writes were not measured apart, hosts wrote what the workloads say.
    pub fn overwritten_in_cache(&self, segments: &[Segment]) -> f64 {
        let overwritten: u64 = segments.iter().map(|one| one.counters.coalesced_sectors).sum();
        let written = |segment| written_bytes(self.scenario, self.array, segment);
        let written: f64 = segments.iter().map(written).sum();
        (overwritten * SECTOR_BYTES) as f64 / written.max(1.0)
    }

    /// How quantities are divided that are not divided by as much as the file.
    pub fn not_divided(&self) -> String {
        match self.by.isqrt() {
            0 | 1 => "not divided".to_owned(),
            root => format!("not divided by {}, but by {root}", self.by),
        }
    }

    /// The workloads of the array that go to random places with operations for which `wanted` holds.
    pub fn random(&self, wanted: impl Fn(&AccessLine) -> bool + Copy) -> Vec<&Workload> {
        self.workloads().filter(|workload| goes_to_random_places(workload, wanted)).collect()
    }

    /// The bytes of the largest file of `lun` in which operations for which `wanted` holds go to random places.
    pub fn file_bytes(&self, lun: &Lun, wanted: impl Fn(&AccessLine) -> bool + Copy) -> u64 {
        let all = self.random(wanted).into_iter();
        let on_it = all.filter(|workload| workload.is_on(&self.array.name, lun));
        on_it.map(|workload| workload.file_bytes).max().unwrap_or(0)
    }

    /// The blocks of the files that are written at random, each of a LUN once, and the mean blocks that an access
    /// touches, of the workload where they are most.
    pub fn random_writes(&self) -> Option<(f64, f64)> {
        let wanted = |line: &AccessLine| line.read_percent < 100;
        let writers = self.random(wanted);
        let of_luns = self.array.luns.iter().map(|lun| self.file_bytes(lun, wanted));
        let blocks = of_luns.sum::<u64>() / BLOCK_BYTES;
        let of_access = writers.iter().map(|workload| blocks_of_write(workload));
        (blocks > 0).then_some((blocks as f64, of_access.fold(1.0, f64::max)))
    }

    /// A sentence about the array: what is not in proportion, and which figures `differs` from full scale by it.
    pub fn sentence(&self, what: &str, differs: &str) -> String {
        format!("{}: {what}. Not as at full scale: {differs}.", self.array.name)
    }
}

/// A share in words.
pub fn percent_words(share: f64) -> String {
    format!("{} %", rounded(100.0 * share.min(1.0), 2))
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
