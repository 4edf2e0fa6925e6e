//! What is in a block trace, in the form that `strewn trace --json` prints.

use serde::{Deserialize, Serialize};

use crate::data::of_segment::ResponseTime;

/// What is in a block trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceFigures {
    /// The file, as it was given.
    pub file: String,
    /// Its format.
    pub format: String,
    /// Operations: reads and writes of at least one byte.
    pub operations: u64,
    /// Reads among them.
    pub reads: u64,
    /// Bytes that reads transfer.
    pub read_bytes: u64,
    /// Bytes that writes transfer.
    pub written_bytes: u64,
    /// Seconds from the first operation to the last.
    pub seconds: f64,
    /// Lines or records that are no operations.
    pub skipped: TraceSkipped,
    /// Operations earlier than the one before them.
    pub times_that_go_back: u64,
    /// How many operations and bytes arrive a second.
    pub rates: TraceRates,
    /// Bytes of an operation.
    pub sizes: TraceSizes,
    /// How much of the volumes is accessed.
    pub footprint: TraceFootprint,
    /// Where operations follow one another.
    pub order: TraceOrder,
    /// Recorded response times; absent if the format has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<TraceResponses>,
    /// Volumes with an operation.
    pub volumes: u64,
    /// The volumes with most operations, the first ten.
    pub hottest: Vec<TraceVolume>,
    /// Operations over time, in intervals of equal length; at most 512. The last one may be shorter; if the trace
    /// covers less than half of it, it is left out.
    pub over_time: Vec<TraceInterval>,
}

/// Lines or records of a trace that are no operations, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSkipped {
    /// Discards: no array here is told of them.
    pub trims: u64,
    /// Operations of no bytes.
    pub empty: u64,
    /// Flushes and commands of other kinds.
    pub no_data: u64,
    /// Other moments in the life of an operation, and opens and closes of files.
    pub other_actions: u64,
    /// Volumes that were not asked for.
    pub other_volumes: u64,
}

/// How many operations and bytes of a trace arrive a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceRates {
    /// Operations a second over the whole trace.
    pub mean_iops: f64,
    /// Operations of the busiest second, counted from the first operation.
    pub peak_1s_iops: f64,
    /// Operations a second of the busiest minute; absent of a trace shorter than a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_60s_iops: Option<f64>,
    /// MiB a second over the whole trace.
    pub mean_mib_per_s: f64,
    /// MiB of the busiest second.
    pub peak_1s_mib_per_s: f64,
    /// Variance of the operations of a second by their mean: 1 if they arrive at random (Poisson), more in bursts;
    /// absent of a trace shorter than two seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispersion_1s: Option<f64>,
    /// Standard deviation of the time between operations by its mean: 1 if they arrive at random; absent with fewer
    /// than three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_variation: Option<f64>,
}

/// Bytes of an operation of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceSizes {
    /// Mean of reads; 0 without any.
    pub mean_read_bytes: f64,
    /// Mean of writes; 0 without any.
    pub mean_written_bytes: f64,
    /// The size that half of the operations do not exceed; absent if there are too many sizes to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_bytes: Option<u64>,
    /// The size that 95 of 100 do not exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_bytes: Option<u64>,
    /// The largest.
    pub max_bytes: u64,
    /// Operations that begin and end at blocks of 4 KiB, percent.
    pub aligned_percent: f64,
    /// Operations by size, ascending: up to so many bytes, more than half of that.
    pub bins: Vec<TraceSizeBin>,
}

/// Operations of a trace up to a size, and larger than half of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSizeBin {
    /// The size.
    pub up_to_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// Blocks of 4 KiB that operations of a trace touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceFootprint {
    /// Blocks that are read or written, each counted once.
    pub blocks: u64,
    /// Blocks that are read.
    pub read_blocks: u64,
    /// Blocks that are written.
    pub written_blocks: u64,
    /// Standard error of these counts, percent: 0 if they are exact.
    pub error_percent: f64,
    /// Accesses to blocks that were accessed before, percent of all accesses to blocks.
    pub reused_percent: f64,
    /// Writes to blocks that were written before, percent of all writes to blocks.
    pub rewritten_percent: f64,
    /// Bytes that volumes have at least: the sum of their highest addresses.
    pub address_bytes: u64,
}

/// Where operations of a trace follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceOrder {
    /// Reads that begin where one of the last operations of their volume ended, percent.
    pub sequential_reads_percent: f64,
    /// Writes that do so, percent.
    pub sequential_writes_percent: f64,
    /// How many operations of a volume are the last ones.
    pub streams: u32,
}

/// Recorded response times of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceResponses {
    /// Operations that have one.
    pub operations: u64,
    /// Of all of them, ms.
    pub all_ms: ResponseTime,
    /// Of reads, ms.
    pub reads_ms: ResponseTime,
    /// Of writes, ms.
    pub writes_ms: ResponseTime,
}

/// Response times that a trace recorded, to stand beside those of its replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceRecorded {
    /// Over the whole trace.
    pub whole: TraceResponses,
    /// By segment; none if it was replayed without its times. A response that took longer than eight segments counts
    /// in `whole` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<RecordedSegment>,
}

/// Response times that a trace recorded of operations that arrive in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedSegment {
    /// The segment, counted from 1.
    pub segment: u32,
    /// Operations that have one.
    pub operations: u64,
    /// Milliseconds.
    pub response_ms: ResponseTime,
}

/// A volume of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceVolume {
    /// Its number in the trace.
    pub volume: u32,
    /// Operations.
    pub operations: u64,
    /// Reads among them.
    pub reads: u64,
    /// Bytes that they transfer.
    pub bytes: u64,
    /// The byte after the highest that they touch.
    pub end_bytes: u64,
}

/// Operations of a stretch of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceInterval {
    /// Where it begins, seconds after the first operation.
    pub at_seconds: f64,
    /// Reads a second.
    pub read_iops: f64,
    /// Writes a second.
    pub write_iops: f64,
    /// MiB a second.
    pub mib_per_s: f64,
}
