//! The measurements of a segment, and the laws that they must obey.

use strewn_array::ScanProgress;
use strewn_array::{Counters, FailedSpindle, LayoutMeasures, SnapshotMeasures, VolumeMeasures};

use strewn_base::state::SavedValue;

use crate::client_raid::ClientRaidMeasures;
use crate::host::{DirectionMeasures, WorkloadMeasures};
use crate::machine::MachineMeasures;
use crate::page_cache::PageCacheMeasures;
use crate::remote_clients::RemoteMeasures;
use crate::response_histogram::ResponseHistogram;

/// A span of virtual time, measured.
#[derive(Debug, Clone, SavedValue)]
pub struct Segment {
    /// Counted from 1.
    pub index: u32,
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// Host operations answered.
    pub operations: u64,
    /// Host operations refused for lack of space.
    pub refused: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// Operations outstanding, averaged over time.
    pub mean_outstanding: f64,
    /// Response times of the operations that were answered.
    pub response: Response,
    /// The array's counters over the segment.
    pub counters: Counters,
    /// Nanoseconds that the controller's processor was busy; of several controllers, the busiest one's.
    pub processor_busy_ns: u64,
    /// The spindles that hold data; all of them where parity rotates. The spindles of a parity group count from when it
    /// is added.
    pub data_spindles: SpindleGroup,
    /// The spindles that hold nothing but parity; none where it rotates.
    pub parity_spindles: SpindleGroup,
    /// Each parity group, where the array has several or will have; otherwise empty.
    pub groups: Vec<GroupSegment>,
    /// The layout of data and free space at the end.
    pub layout: LayoutMeasures,
    /// What the array's snapshots hold at the end; `None` without snapshots.
    pub snapshots: Option<SnapshotMeasures>,
    /// How far reallocation scans are at the end; `None` without them.
    pub scan: Option<ScanProgress>,
    /// Each volume at the end, in an array with thin volumes or snapshots.
    pub volumes: Vec<VolumeMeasures>,
    /// Spindles failed by the end, with the progress of their rebuilds.
    pub failures: Vec<FailedSpindle>,
    /// Reads and writes separately, if the host measures them so.
    pub by_direction: Option<Box<[DirectionMeasures; 2]>>,
    /// Each of several workloads separately, if the host has them.
    pub by_workload: Vec<WorkloadMeasures>,
    /// What the host's page cache did, if it has one.
    pub page_cache: Option<Box<PageCacheMeasures>>,
    /// What the hosts did as clients that compute parity, if they are.
    pub client_raid: Option<Box<ClientRaidMeasures>>,
    /// What lay between the host and clients of its own, if it is a gateway.
    pub remote: Option<Box<RemoteMeasures>>,
    /// What a [`Machine`](crate::Machine) measures besides.
    pub machine: Option<Box<MachineMeasures>>,
    /// Deviations from the operational laws.
    pub laws: Laws,
}

impl Segment {
    /// Drops the response-time histograms of reads and writes, which are most of a segment's memory. Long runs have
    /// many segments.
    pub fn forget_responses(&mut self) {
        let of_workloads = self.by_workload.iter_mut().map(|workload| &mut workload.by_direction);
        for measures in
            self.by_direction.iter_mut().chain(of_workloads).flat_map(|both| both.iter_mut())
        {
            measures.response = None;
        }
    }
}

/// Response times of a segment's operations, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, SavedValue)]
pub struct Response {
    /// Mean.
    pub mean_ns: f64,
    /// Median, within 0.1 % like the other percentiles.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// The longest response time.
    pub max_ns: u64,
}

impl Response {
    /// Summarizes response times, the longest of which is `longest_ns`. The histogram has them within 0.1 %, and none
    /// is longer than the longest.
    pub(crate) fn of(
        times: &ResponseHistogram,
        sum_ns: u128,
        operations: u64,
        longest_ns: u64,
    ) -> Self {
        let at = |quantile: f64| times.quantile(quantile).min(longest_ns);
        Self {
            mean_ns: ratio(sum_ns as f64, operations as f64),
            p50_ns: at(0.50),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns: longest_ns,
        }
    }
}

/// Some spindles of an array over a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct SpindleGroup {
    /// Number of spindles.
    pub spindles: u32,
    /// Nanoseconds of the segment that they were not in use, summed over spindles: those of a parity group that was
    /// added during the segment, before it was.
    pub absent_ns: u64,
    /// Commands completed.
    pub commands: u64,
    /// Busy time in nanoseconds, summed over spindles.
    pub busy_ns: u64,
    /// Service times of the commands completed, in nanoseconds.
    pub service_ns: u64,
    /// From a command's arrival at the spindle's queue to its completion, in nanoseconds.
    pub residence_ns: u64,
}

impl SpindleGroup {
    pub(crate) fn add(&mut self, other: Self) {
        self.spindles += other.spindles;
        self.absent_ns += other.absent_ns;
        self.commands += other.commands;
        self.busy_ns += other.busy_ns;
        self.service_ns += other.service_ns;
        self.residence_ns += other.residence_ns;
    }

    /// Returns the time that the spindles were in use, in nanoseconds, summed over spindles.
    fn present_ns(&self, length_ns: u64) -> f64 {
        length_ns as f64 * f64::from(self.spindles) - self.absent_ns as f64
    }

    /// Returns the mean share of its time that a spindle is busy, 0 to 1.
    #[must_use]
    pub fn utilization(&self, length_ns: u64) -> f64 {
        ratio(self.busy_ns as f64, self.present_ns(length_ns))
    }

    /// Returns the mean number of commands at a spindle, in service or waiting.
    #[must_use]
    pub fn mean_queue_depth(&self, length_ns: u64) -> f64 {
        ratio(self.residence_ns as f64, self.present_ns(length_ns))
    }
}

/// A parity group over a segment, in an array with several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct GroupSegment {
    /// Its spindles that hold data; none until it is added.
    pub data_spindles: SpindleGroup,
    /// Its spindles that hold parity.
    pub parity_spindles: SpindleGroup,
    /// Reads that its spindles began.
    pub reads: u64,
    /// Writes that its spindles began.
    pub writes: u64,
    /// Data blocks of the group, free or in use.
    pub blocks: u64,
    /// Those that are free at the end; `None` as long as it is not added.
    pub free_blocks: Option<u64>,
}

/// Relative errors of the operational laws.
///
/// Each is given for what the segment reports, and again with the work in flight at its beginning and end, which is a
/// large part of short or idle segments. With that work, a law must hold to [`Laws::TOLERANCE`] in a segment of any
/// length.
#[derive(Debug, Clone, Copy, Default, PartialEq, SavedValue)]
pub struct Laws {
    /// Little's law for the host: throughput x mean response time, as the segment reports them, against the mean number
    /// of operations outstanding. A plain closed loop keeps that number constant; otherwise it is counted by issues and
    /// answers over time, independently of response times.
    pub littles_law_error: f64,
    /// The part of that error explained by operations that began before the segment or end after it.
    pub under_way: f64,
    /// The part that they leave unexplained.
    pub littles_law_unexplained: f64,
    /// Utilization law, the worse of processor and spindles: work done against busy time. The processor's work is the
    /// operations and commands counted, each at its cost; the spindles' is the service time of the commands completed.
    pub utilization_law_error: f64,
    /// The same with the commands that were in service at the segment's beginning and end.
    pub utilization_law_unexplained: f64,
}

impl Laws {
    /// Largest permitted deviation: 0.1 %.
    pub const TOLERANCE: f64 = 0.001;

    /// Returns whether both laws hold.
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

strewn_base::saved_value!(SpindleGroup);
