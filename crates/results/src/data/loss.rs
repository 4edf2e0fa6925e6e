//! The account of an array's loss of IOPS, as `results.json` holds it.

use crate::data::number::{fixed, signed};
use crate::data::phase::subject;
use serde::{Deserialize, Serialize};

/// A change of the IOPS from which on there is something to explain.
const LEAST_NOTABLE_PERCENT: f64 = -1.0;

/// The limit of an array's IOPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The controller's processor.
    Controller,
    /// The working spindles, parity spindles included.
    Spindles,
}

impl Limit {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Spindles => "spindles",
        }
    }
}

/// A use of the limit's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Spindle reads for host reads: one request that became several.
    FanOut,
    /// Spindle reads of blocks that host writes cover in part.
    EdgeReads,
    /// Spindle reads of indirect blocks, bitmaps and container maps.
    MetadataReads,
    /// Spindle reads for updates of parity.
    ParityReads,
    /// Spindle writes of data and metadata, for consistency points or destages.
    Writes,
    /// Spindle writes of parity.
    ParityWrites,
    /// Spindle commands in place of those of lost blocks, and for rebuilds.
    Recovery,
    /// The processor's time for each host operation, without commands; a constant.
    HostOperations,
    /// The processor's time for each KiB: the rest of its time when everything else is subtracted.
    DataMoved,
    /// Seek, rotation and transfer of a spindle command. If spindles are the limit, the time by which they took longer;
    /// if the controller is, its wait for them because they took longer.
    ServiceTime,
    /// A command's processor time, where another array's is shorter.
    CommandCost,
    /// Fewer spindles than another array has, over which commands are spread.
    SpindleCount,
    /// I/O of real spindles that belongs to no command of the array: checksum blocks, superblocks, flushes.
    OtherIo,
    /// Idle time of spindles that hold only parity, while other spindles are the limit.
    ParityWaiting,
    /// The limit itself was idle, waiting for others.
    Waiting,
}

impl Cause {
    /// Describes the cause for a reader; `limit` is the subject of the account.
    #[must_use]
    pub const fn words(self, limit: Limit) -> &'static str {
        match (self, limit) {
            (Self::FanOut, _) => "fan-out of host reads",
            (Self::EdgeReads, _) => "reads of blocks written in part",
            (Self::MetadataReads, _) => "metadata reads",
            (Self::ParityReads, _) => "parity reads",
            (Self::Writes, _) => "writes of data and metadata",
            (Self::ParityWrites, _) => "parity writes",
            (Self::Recovery, _) => "recovery and rebuild",
            (Self::HostOperations, _) => "host operations",
            (Self::DataMoved, _) => "data moved, and rounding",
            (Self::ServiceTime, Limit::Controller) => "waiting for longer seeks and service",
            (Self::ServiceTime, Limit::Spindles) => "change of a command's service time",
            (Self::CommandCost, _) => "processor time of a command",
            (Self::SpindleCount, _) => "number of spindles",
            (Self::OtherIo, _) => "checksum blocks, superblocks, flushes",
            (Self::ParityWaiting, _) => "parity spindles idle",
            (Self::Waiting, Limit::Controller) => "controller waiting for spindles",
            (Self::Waiting, Limit::Spindles) => "data spindles idle",
        }
    }
}

/// What one cause took away or added between two segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossPart {
    /// The cause.
    pub cause: Cause,
    /// Time of the limit for it in the first segment, microseconds per host operation.
    pub from_us_per_op: f64,
    /// The same in the last segment; [`Cause::ServiceTime`] is a difference: `from_us_per_op` is 0 by definition.
    pub to_us_per_op: f64,
    /// Resulting change of the IOPS; negative if it took away.
    pub iops: f64,
}

/// The causes of the difference between the IOPS of two segments of an array that are alike
/// ([`like_pairs`](crate::like_pairs)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Name of the array.
    pub array: String,
    /// The workloads of the phases that both segments are in; absent in a run without phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The busiest component in the first segment, which the account is about.
    pub limit: Limit,
    /// The earlier segment.
    pub from_segment: u32,
    /// The later segment.
    pub to_segment: u32,
    /// Host operations per second in the first segment.
    pub from_iops: f64,
    /// Host operations per second in the last segment.
    pub to_iops: f64,
    /// The parts; their `iops` add up to the difference.
    pub parts: Vec<LossPart>,
}

/// A loss that has no account.
#[derive(Clone, Debug, PartialEq)]
pub struct Unaccounted {
    /// Name of the array.
    pub array: String,
    /// The workloads of the phases that both segments are in.
    pub workloads: Vec<String>,
    /// The segment that the loss is measured from.
    pub from_segment: u32,
    /// The segment that the loss is measured to.
    pub to_segment: u32,
    /// IOPS of the first of them.
    pub from_iops: f64,
    /// IOPS of the second of them.
    pub to_iops: f64,
    /// Why, in a clause.
    pub why: String,
}

impl Unaccounted {
    fn percent(&self) -> f64 {
        100.0 * (self.to_iops - self.from_iops) / self.from_iops
    }

    /// Returns whether there would be something to explain, as [`Loss::is_notable`] has it.
    pub fn is_notable(&self) -> bool {
        self.percent() <= LEAST_NOTABLE_PERCENT
    }

    /// Returns why the loss is not broken down, in a sentence.
    pub fn reason(&self) -> String {
        format!("No breakdown: {}.", self.why)
    }

    /// Returns the loss in a sentence, and why it is not broken down.
    pub fn sentence(&self) -> String {
        format!(
            "{}, segment {} to {}: {} to {} IOPS ({} %). {}",
            subject(&self.array, &self.workloads),
            self.from_segment,
            self.to_segment,
            fixed(self.from_iops, 0),
            fixed(self.to_iops, 0),
            signed(self.percent(), 1),
            self.reason(),
        )
    }
}

impl LossPart {
    /// Returns whether the cause has a time of its own in the first segment.
    pub fn has_time_at_first(&self) -> bool {
        self.cause != Cause::ServiceTime
    }
}

impl Loss {
    /// Returns the array, and the workloads of the phases if there are any.
    pub fn subject(&self) -> String {
        subject(&self.array, &self.workloads)
    }

    /// Returns the difference, percent of the first segment's IOPS; negative if there was a loss.
    #[must_use]
    pub fn percent(&self) -> f64 {
        100.0 * (self.to_iops - self.from_iops) / self.from_iops
    }

    /// Returns whether there is something to explain: IOPS that fell by one percent or more.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.percent() <= LEAST_NOTABLE_PERCENT
    }

    /// Returns the parts that changed the IOPS by at least a ten-thousandth of the first segment's.
    pub fn notable_parts(&self) -> impl Iterator<Item = &LossPart> {
        self.parts.iter().filter(|part| part.iops.abs() >= self.from_iops * 1e-4)
    }

    /// Returns the difference in a sentence, with the subject of the account if there is something to explain.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { limit, from_segment, to_segment, .. } = self;
        let array = self.subject();
        let account = match self.is_notable() {
            true => format!(", by how the time of the {} was spent", limit.as_str()),
            false => String::new(),
        };
        format!(
            "{array}, segment {from_segment} to {to_segment}: {} to {} IOPS ({} %){account}.",
            fixed(self.from_iops, 0),
            fixed(self.to_iops, 0),
            signed(self.percent(), 1),
        )
    }
}
