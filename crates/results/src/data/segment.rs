//! The measurements of an array in one segment.

use crate::data::band::SegmentBand;
use crate::data::client_raid::ClientRaidFigures;
use crate::data::finite::with_rounded_figures;
use crate::data::gateway::GatewayFigures;
use crate::data::housekeeping::Housekeeping;
use crate::data::machine::MachineFigures;
use crate::data::of_segment::{ResponseTime, SegmentLayout};
use crate::data::page_cache::PageCacheFigures;
use crate::data::pool::PoolFigures;
use crate::data::redundancy::Redundancy;
use crate::data::relocation::Relocation;
use crate::data::snapshots::Snapshots;
use crate::data::volume::VolumeFigures;
use crate::data::workload::{HostFigures, WorkloadFigures};
use serde::{Deserialize, Serialize};

/// A last segment shorter than this share of the first one has rates that say nothing.
const SHORTEST_SHARE: f64 = 0.5;

/// Whether a segment of so many seconds, beside a first one of so many, is too short for a rate: a last one ended
/// early.
pub(crate) fn is_a_moment(seconds: f64, first_seconds: f64) -> bool {
    seconds < SHORTEST_SHARE * first_seconds
}

/// Measurements over one segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Number of the segment; the first is 1.
    pub index: u32,
    /// Name of the phase that it is in; absent in a run without phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Length in the array's time, seconds.
    pub seconds: f64,
    /// Host operations completed.
    pub ops: u64,
    /// Host operations completed per second.
    pub iops: f64,
    /// Host data moved, MiB (1,048,576 bytes) per second.
    pub mib_per_s: f64,
    /// Response time of host operations.
    pub response_ms: ResponseTime,
    /// Share of the time that resources were busy.
    pub utilization: Utilization,
    /// Commands that the spindles served.
    pub spindle_commands: SpindleCommands,
    /// What the controller's memory did for the host.
    #[serde(default)]
    pub cache: Cache,
    /// Where the host's data was when the segment ended.
    pub layout: SegmentLayout,
    /// Free space when the segment ended; none for an array that does not allocate.
    pub free_space: Option<FreeSpace>,
    /// Consistency points begun in the segment; none for an array without them.
    pub consistency_points: Option<ConsistencyPoints>,
    /// Stripes that an array in place destaged together; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe_destages: Option<StripeDestages>,
    /// Deviations of the measurements from laws that they must obey.
    pub checks: Checks,
    /// Each parity group; absent where the array has a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFigures>,
    /// What was lost and how it was recovered; absent until a spindle fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redundancy: Option<Redundancy>,
    /// What the array's snapshots held; absent without snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Snapshots>,
    /// Each volume, if the scenario describes any; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeFigures>,
    /// Host writes that were refused for lack of space, which `ops` does not count; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// What lay between hosts and array; absent on a wire that costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Box<MachineFigures>>,
    /// What the hosts' page cache did; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<PageCacheFigures>,
    /// What hosts did as clients that compute parity over blades; absent if they are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_raid: Option<ClientRaidFigures>,
    /// What lay between a gateway and its client; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayFigures>,
    /// More of the host's measurements, if its load is not a plain closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFigures>,
    /// The host's measurements of each job or access specification, in the order of the file, if several were run;
    /// absent otherwise. In a run with phases, only those of the segment's phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_workload: Vec<WorkloadFigures>,
    /// What the controller did besides serving hosts; absent unless the scenario asks for some of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub housekeeping: Option<Housekeeping>,
    /// How far its figures may be off; absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<Box<SegmentBand>>,
    /// What the array relocated; absent in one that relocates nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocation: Option<Relocation>,
    /// What only a ZFS pool does; absent if it did none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolFigures>,
}

/// Share of the time that a resource was busy, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilization {
    /// The controller's processor; of several controllers, the busiest one's.
    pub controller: f64,
    /// Mean over the spindles that hold data, those of a parity group from when it was added.
    pub spindles: f64,
    /// Mean over the spindles that hold only parity; none if there are none.
    pub parity_spindles: Option<f64>,
}

/// What one of several parity groups, or disk groups, did in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupFigures {
    /// Share of the time, 0 to 1, that its data spindles were busy, from when it was added; none before.
    pub spindles: Option<f64>,
    /// The same for its parity spindles.
    pub parity_spindles: Option<f64>,
    /// Read commands that its spindles began.
    pub reads: u64,
    /// Write commands that its spindles began.
    pub writes: u64,
    /// Its free blocks when the segment ended, in percent of its blocks; none before it is added. Of a disk group,
    /// those that no LUN takes.
    pub free_percent: Option<f64>,
}

/// Commands that the spindles served in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpindleCommands {
    /// Read commands completed, all spindles.
    pub read: u64,
    /// Write commands completed, all spindles.
    pub write: u64,
    /// Of the reads: those for host reads.
    #[serde(default)]
    pub data_reads: u64,
    /// Of the reads: those of blocks that a host write covers in part.
    #[serde(default)]
    pub edge_reads: u64,
    /// Of the reads: those of indirect blocks, bitmaps and container maps.
    #[serde(default)]
    pub metadata_reads: u64,
    /// Of the reads: those of old data and old parity, for an update of parity.
    #[serde(default)]
    pub parity_update_reads: u64,
    /// Of the writes: those of parity.
    #[serde(default)]
    pub parity_writes: u64,
    /// Read commands per host operation.
    pub reads_per_host_op: f64,
    /// Commands waiting or in service at a spindle that holds data, mean over time and spindles.
    pub mean_queue_depth: f64,
    /// Mean service time of a command, milliseconds.
    pub mean_service_ms: f64,
}

/// What the controller's memory did for the host in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Hits in percent of all lookups: of a write-anywhere array blocks of data that hosts read or write in part, and
    /// of metadata, which nearly always hit; of an in-place one pieces of host reads. [`host_reads`](Self::host_reads)
    /// says what the cache did for the host.
    pub hit_percent: f64,
    /// The blocks that host reads asked for; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_reads: Option<HostReadHits>,
    /// Host writes that had to wait for room in the NVRAM log or the write cache.
    pub stalled_writes: u64,
    /// What was read ahead of sequential streams; absent if nothing was, or was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<ReadAhead>,
}

/// Blocks of 4 KiB that were read ahead of sequential streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadAhead {
    /// Blocks asked of the spindles before a host read asked for them.
    pub blocks: u64,
    /// Blocks read ahead that host reads used: found in memory, or waited for.
    pub used: u64,
    /// Blocks read ahead that left memory unused.
    pub dropped: u64,
}

/// Blocks of host data that were in the controller's memory when the host read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostReadHits {
    /// Blocks of 4 KiB that host reads asked for.
    pub blocks: u64,
    /// Those of them that were in the cache, percent; none if there were no host reads.
    pub hit_percent: Option<f64>,
}

/// Free space of a write-anywhere array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Free-space score, 0 to 1: the share of free blocks that lie right behind another free block,
    /// not counting the first of each spindle. 1 means one run per spindle.
    pub score: f64,
    /// Longest run of free blocks on one spindle, blocks of 4 KiB.
    pub largest_run_blocks: u64,
    /// FRAG of a ZFS pool, as `zpool list` prints it, percent; none for any other array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frag_percent: Option<f64>,
}

/// Consistency points of a write-anywhere array in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsistencyPoints {
    /// Number of consistency points.
    pub count: u64,
    /// Consistency points that began the moment the previous one ended, because both halves of the
    /// log were full.
    #[serde(default)]
    pub back_to_back: u64,
    /// Mean number of blocks written by each, data and metadata, blocks of 4 KiB.
    pub blocks_per_cp: f64,
    /// Stripes written whole, percent of stripes written; none if none was written. Older versions say 0 then.
    pub full_stripe_percent: Option<f64>,
}

/// Stripes that an array in place wrote back together in a segment, instead of extent by extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeDestages {
    /// Those that were dirty as a whole: nothing was read for their parity.
    pub full: u64,
    /// Those that were completed by reading what was not dirty.
    pub reconstructed: u64,
}

/// Differences between measurements and the laws they must obey, percent, without sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checks {
    /// Little's law: throughput times mean response time against operations outstanding.
    pub littles_law_error_percent: f64,
    /// Utilization law: command rate times mean service time against measured utilization.
    pub utilization_law_error_percent: f64,
}

impl Segment {
    /// Returns spindle commands, reads and writes, per host operation; 0 if there was no operation.
    #[must_use]
    pub fn commands_per_host_op(&self) -> f64 {
        if self.ops == 0 {
            return 0.0;
        }
        (self.spindle_commands.read + self.spindle_commands.write) as f64 / self.ops as f64
    }

    /// Returns whether `time_in_ms` of its machine is the time of requests for each operation, and not parts of the
    /// response time. Requests of a page cache are not an operation's: nobody waits for most writes. Those of clients
    /// that compute parity overlap.
    #[must_use]
    pub const fn time_is_of_requests(&self) -> bool {
        self.page_cache.is_some() || self.client_raid.is_some() || self.gateway.is_some()
    }

    /// Returns whether a link or a controller went out of service in it or came back, or operations felt it.
    pub fn has_outage(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.has_outage())
    }

    /// Returns the segment with every figure that is not a count [`rounded`](crate::rounded) to
    /// `significant_digits`.
    #[must_use]
    pub fn rounded(self, significant_digits: usize) -> Self {
        with_rounded_figures(self, significant_digits)
    }
}
