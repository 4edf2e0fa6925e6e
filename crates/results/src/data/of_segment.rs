//! What segments, and workloads in them, are measured by.

use serde::{Deserialize, Serialize};

/// Response time of host operations, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseTime {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half of the operations were at least as fast.
    pub p50: f64,
    /// 95 of 100 operations were at least as fast.
    pub p95: f64,
    /// 99 of 100 operations were at least as fast.
    pub p99: f64,
    /// The slowest operation.
    pub max: f64,
}

/// Where the host's data was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentLayout {
    /// Layout score, 0 to 1: the share of blocks that lie right after their predecessor in the
    /// file. Constant for an in-place array, where nothing ever moves: only the ends of chunks
    /// count.
    pub score: f64,
    /// Physically contiguous pieces per GiB of file.
    pub extents_per_gib: f64,
    /// Part of a spindle's address range that the data occupies, percent.
    pub span_percent: f64,
    /// Part of the file's blocks that were rewritten at least once, percent; none for an in-place
    /// array, where that changes nothing.
    pub rewritten_percent: Option<f64>,
}
