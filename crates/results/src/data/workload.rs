//! The workload of a file that replaced the scenario's own.

use crate::data::number::{rounded, with_commas};
use crate::data::of_segment::{ResponseTime, SegmentLayout};
use crate::data::trace::{TraceRecorded, TraceVolume};
use serde::{Deserialize, Serialize};

/// The load on arrays of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// Length of the file under load, which lies in the lowest addresses of the LUN, bytes.
    pub file_bytes: u64,
    /// The part of it that lies on LUNs which hosts write to, bytes; absent if that is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_file_bytes: Option<u64>,
    /// The mix of accesses; absent if it came from a file of another tool ([`Workload`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<AccessMix>,
}

/// A mix of accesses, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessMix {
    /// Name of an access specification that ships; `inline` if the scenario defines it.
    pub specification: String,
    /// Mean size, bytes.
    pub mean_bytes: f64,
    /// Reads, percent of the accesses.
    pub read_percent: f64,
    /// Accesses that do not follow the one before, percent.
    pub random_percent: f64,
}

impl AccessMix {
    /// Describes the mix for a reader.
    #[must_use]
    pub fn words(&self) -> String {
        let name = match self.specification.as_str() {
            "inline" => String::new(),
            "file-server" => "Iometer's File Server, ".to_owned(),
            other => format!("{other}, "),
        };
        let share = |percent: f64, all: &str, none: &str, part: &str| match percent {
            100.0 => all.to_owned(),
            0.0 => none.to_owned(),
            _ => format!("{} % {part}", crate::rounded(percent, 3)),
        };
        let reads = share(self.read_percent, "reads", "writes", "reads");
        let random = share(self.random_percent, "random", "sequential", "random");
        let size = crate::data::quantity::about(self.mean_bytes);
        let size = if name.is_empty() { size } else { format!("{size} on average") };
        format!("{name}{random}, {reads}, {size}")
    }
}

/// The workload that was run, and its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The kind of its file.
    pub kind: WorkloadKind,
    /// The file's name, without folders.
    pub file: String,
    /// The access specification or the job in the file; absent if all of it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seed of the random draws.
    pub seed: u64,
    /// The workers that issue operations; none for a trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkloadWorker>,
    /// Operations that each worker has outstanding, by segment; absent if constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_depths: Vec<u32>,
    /// The trace; absent for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReplay>,
    /// Settings of the file that the run ignored, because they change nothing that is simulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
    /// Whether it came to its own end on every array; absent if it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<bool>,
}

/// The kind of a workload's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// An Iometer configuration.
    AccessSpecification,
    /// A fio job file.
    FioJob,
    /// A block trace.
    Trace,
}

/// A worker that issues operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadWorker {
    /// Its name.
    pub name: String,
    /// What it runs.
    pub specification: String,
    /// Operations it keeps outstanding; absent if the scenario sets them for each array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u32>,
    /// The first byte that it accesses.
    pub first_byte: u64,
    /// Number of bytes that it accesses.
    pub region_bytes: u64,
    /// The most that it does; absent if only answers hold it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<RateLimit>,
}

/// The most that a workload does a second, in operations or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateLimit {
    /// The operations that it limits.
    pub of: LimitedOperations,
    /// How many operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// How many MiB (1,048,576 bytes) a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib_per_s: Option<f64>,
}

/// Operations that a rate is a limit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitedOperations {
    /// All together.
    All,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

impl RateLimit {
    /// Returns the limit, and what a workload did of what it limits by its reads and writes, in the same unit; none of
    /// an empty one.
    #[must_use]
    pub fn beside(
        &self,
        [reads, writes]: [&OperationFigures; 2],
        seconds: f64,
    ) -> Option<[f64; 2]> {
        let of = match self.of {
            LimitedOperations::All => &[reads, writes][..],
            LimitedOperations::Reads => &[reads],
            LimitedOperations::Writes => &[writes],
        };
        let done = |amount: fn(&OperationFigures) -> f64| {
            of.iter().map(|it| amount(it)).sum::<f64>() / seconds
        };
        let by_operations = self.iops.map(|limit| [limit, done(|of| of.ops as f64)]);
        by_operations.or_else(|| Some([self.mib_per_s?, done(|of| of.mib)]))
    }

    /// Returns what it counts: `IOPS of reads`.
    pub(crate) fn unit_words(&self) -> String {
        let unit = if self.iops.is_some() { "IOPS" } else { "MiB/s" };
        match self.of {
            LimitedOperations::All => unit.to_owned(),
            LimitedOperations::Reads => format!("{unit} of reads"),
            LimitedOperations::Writes => format!("{unit} of writes"),
        }
    }

    /// Returns the limit in words: `reads 500 IOPS`.
    #[must_use]
    pub fn words(&self) -> String {
        let of = match self.of {
            LimitedOperations::All => "",
            LimitedOperations::Reads => "reads ",
            LimitedOperations::Writes => "writes ",
        };
        let (limit, unit) = match (self.iops, self.mib_per_s) {
            (Some(iops), _) => (iops, "IOPS"),
            (None, limit) => (limit.unwrap_or_default(), "MiB/s"),
        };
        format!("{of}{} {unit}", with_commas(&rounded(limit, 4).to_string()))
    }
}

/// A trace and how it was replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceReplay {
    /// Its format.
    pub format: String,
    /// `open` by its timestamps, `closed` without.
    pub replay: String,
    /// Factor by which it was replayed faster than recorded.
    pub speed_up: f64,
    /// Operations in it.
    pub records: u64,
    /// Reads among them.
    pub reads: u64,
    /// Bytes that they transfer.
    pub bytes: u64,
    /// When the last of them arrives, seconds after the first, at this speed.
    pub seconds: f64,
    /// Operations beyond the file that were wrapped.
    pub wrapped: u64,
    /// Operations that were widened to whole sectors.
    pub widened: u64,
    /// Operations that arrived before the one ahead of them, and were held back.
    pub held_back: u64,
    /// Lines that transfer no data, or belong to devices or moments that were not selected.
    pub skipped: u64,
    /// Discards among these; no array is told of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_trims: u64,
    /// Operations of no bytes among these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_empty: u64,
    /// The volumes, if each was replayed on a LUN of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<TraceVolume>,
    /// Response times that the trace recorded, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<TraceRecorded>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A setting of a file that changes nothing that is simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// Its name in the file.
    pub name: String,
    /// Its position in the file.
    pub place: String,
    /// Why it changes nothing.
    pub reason: String,
}

/// Reads or writes of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationFigures {
    /// Host operations completed.
    pub ops: u64,
    /// Host data moved, MiB.
    pub mib: f64,
    /// Mean response time, ms.
    pub mean_ms: f64,
    /// 95 of 100 were at least as fast, ms.
    pub p95_ms: f64,
    /// The slowest, ms.
    pub max_ms: f64,
}

/// One of several jobs or access specifications in a segment: all workers with this specification together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadFigures {
    /// Its name, as in [`WorkloadWorker::specification`].
    pub name: String,
    /// Host operations completed per second.
    pub iops: f64,
    /// Host data moved, MiB per second.
    pub mib_per_s: f64,
    /// Response time of its operations.
    pub response_ms: ResponseTime,
    /// Its reads.
    pub reads: OperationFigures,
    /// Its writes.
    pub writes: OperationFigures,
    /// The layout of its LUN at the end of the segment, if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<SegmentLayout>,
}

impl WorkloadFigures {
    /// Returns its operations.
    #[must_use]
    pub const fn ops(&self) -> u64 {
        self.reads.ops + self.writes.ops
    }
}

/// A segment of a load that is not a plain closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    /// Operations outstanding, averaged over the segment.
    pub mean_outstanding: f64,
    /// Reads.
    pub reads: OperationFigures,
    /// Writes.
    pub writes: OperationFigures,
    /// The part of the error of Little's law that remains when operations in flight at the ends of the segment are
    /// counted, percent.
    pub littles_law_unexplained_percent: f64,
    /// The same for the utilization law, with the commands in service at the ends.
    pub utilization_law_unexplained_percent: f64,
}

impl HostFigures {
    /// Returns its operations.
    #[must_use]
    pub const fn ops(&self) -> u64 {
        self.reads.ops + self.writes.ops
    }
}

impl Workload {
    /// Describes what was run, in a line.
    #[must_use]
    pub fn words(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
        let what = match self.kind {
            WorkloadKind::AccessSpecification => "access specification",
            WorkloadKind::FioJob => "fio job",
            WorkloadKind::Trace => "trace",
        };
        let mut text = format!("{what}{name} of {}", self.file);
        if let Some(trace) = &self.trace {
            text.push_str(&format!(
                ", {}, {} operations, {} loop",
                trace.format, trace.records, trace.replay
            ));
            if !trace.volumes.is_empty() {
                text.push_str(&format!(", {} volumes on a LUN each", trace.volumes.len()));
            }
            if trace.speed_up != 1.0 {
                text.push_str(&format!(", {} times as fast", trace.speed_up));
            }
        } else if self.workers.len() > 1 {
            text.push_str(&format!(", {} workers", self.workers.len()));
        }
        if self.ended == Some(false) {
            text.push_str("; cut off before its end");
        }
        text
    }
}
