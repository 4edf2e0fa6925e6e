//! What is measured in a segment, and the laws that it must obey.

use strewn_array::{Counters, FailedSpindle, LayoutMeasures};

use crate::host::DirectionMeasures;

/// A span of virtual time, measured.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Counted from 1.
    pub index: u32,
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// Host operations answered.
    pub operations: u64,
    /// Bytes that those read or wrote.
    pub bytes: u64,
    /// Operations outstanding, averaged over time.
    pub mean_outstanding: f64,
    /// Their response times.
    pub response: Response,
    /// What the array counted.
    pub counters: Counters,
    /// Nanoseconds that the controller's processor was busy.
    pub processor_busy_ns: u64,
    /// The spindles that hold data; all of them where parity rotates.
    pub data_spindles: SpindleGroup,
    /// The spindles that hold nothing but parity; none where it rotates.
    pub parity_spindles: SpindleGroup,
    /// How data and free space lie at the end.
    pub layout: LayoutMeasures,
    /// The spindles that have failed by the end, and how far they were rebuilt.
    pub failures: Vec<FailedSpindle>,
    /// Reads and writes apart, where the host keeps them so.
    pub by_direction: Option<Box<[DirectionMeasures; 2]>>,
    /// How far the measurements are from the laws.
    pub laws: Laws,
}

impl Segment {
    /// Forgets how long each read and each write took, which is most of what a segment takes of memory: of a long run
    /// there are many segments.
    pub fn forget_responses(&mut self) {
        for measures in self.by_direction.iter_mut().flat_map(|both| both.iter_mut()) {
            measures.response = None;
        }
    }
}

/// Response times of a segment's operations, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Response {
    /// Mean.
    pub mean_ns: f64,
    /// Half took less; within 0.1 %, like the other percentiles.
    pub p50_ns: u64,
    /// 95 in 100 took less.
    pub p95_ns: u64,
    /// 99 in 100 took less.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Some spindles of an array over a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpindleGroup {
    /// How many.
    pub spindles: u32,
    /// Commands completed.
    pub commands: u64,
    /// Nanoseconds that they were busy, summed over spindles.
    pub busy_ns: u64,
    /// Service times of the commands completed, in nanoseconds.
    pub service_ns: u64,
    /// From a command's arrival at the spindle's queue to its completion, in nanoseconds.
    pub residence_ns: u64,
}

impl SpindleGroup {
    /// Share of the time that a spindle of the group is busy: 0 to 1.
    #[must_use]
    pub fn utilization(&self, length_ns: u64) -> f64 {
        ratio(self.busy_ns as f64, length_ns as f64 * f64::from(self.spindles))
    }

    /// Commands at a spindle, in service or waiting, averaged over time.
    #[must_use]
    pub fn mean_queue_depth(&self, length_ns: u64) -> f64 {
        ratio(self.residence_ns as f64, length_ns as f64 * f64::from(self.spindles))
    }

    /// Mean service time in nanoseconds.
    #[must_use]
    pub fn mean_service_ns(&self) -> f64 {
        ratio(self.service_ns as f64, self.commands as f64)
    }
}

/// Relative errors of the operational laws.
///
/// Each is stated of what the segment reports, and again with what was under way as it began and as it ended, which in
/// short or idle segments is much of it. With that a law must hold to [`Laws::TOLERANCE`], in a segment of any length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Laws {
    /// Little's law for the host: throughput x mean response time, as the segment reports them, against the mean number
    /// of operations outstanding. In a plain closed loop that is the number that the host keeps; otherwise it is counted
    /// by issues and answers over time, apart from response times.
    pub littles_law_error: f64,
    /// What of that error the operations explain that began before the segment or end after it.
    pub under_way: f64,
    /// What they leave of it.
    pub littles_law_unexplained: f64,
    /// Utilization law, the worst of processor and spindles: what is known of the work, against the time that was not
    /// idle. The processor's work is the operations and commands counted, each at its cost; the spindles' is the
    /// service times of the commands completed.
    pub utilization_law_error: f64,
    /// What is left of it with the commands that were in service as the segment began and as it ended.
    pub utilization_law_unexplained: f64,
}

impl Laws {
    /// What a segment may be off by: 0.1 %.
    pub const TOLERANCE: f64 = 0.001;

    /// Whether both hold.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.littles_law_unexplained <= Self::TOLERANCE
            && self.utilization_law_unexplained <= Self::TOLERANCE
    }
}

pub(crate) fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator == 0.0 { 0.0 } else { numerator / denominator }
}

pub(crate) fn relative(measured: f64, expected: f64) -> f64 {
    if expected == 0.0 { measured.abs() } else { (measured / expected - 1.0).abs() }
}
