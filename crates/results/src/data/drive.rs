//! The performance of drives, in the form of `drives.json`.

use std::collections::BTreeMap;

use crate::data::of_segment::ResponseTime;
use serde::{Deserialize, Serialize};
use strewn_base::Direction;

/// Version of the layout of [`DriveCharacterization`] as JSON.
pub const DRIVE_CHARACTERIZATION_SCHEMA: u32 = 2;

/// The performance of drives by distance, place, load and size of command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveCharacterization {
    /// Layout of the JSON; [`DRIVE_CHARACTERIZATION_SCHEMA`].
    pub schema: u32,
    /// Version of the program that measured it.
    pub strewn: String,
    /// Seed of the random commands.
    pub seed: u64,
    /// Whether the drives' caches were in use: `on` or `off`.
    pub cache: String,
    /// Bytes of a command where its size is not the subject.
    pub block_bytes: u32,
    /// The drives, shown side by side.
    pub drives: Vec<DriveFigures>,
}

/// One drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveFigures {
    /// Name of its profile.
    pub profile: String,
    /// Where the profile's numbers come from.
    pub credit: String,
    /// Revolutions per minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders, spare ones included.
    pub cylinders: u32,
    /// Zones of equal sectors per track.
    pub zones: u32,
    /// Bytes in a sector.
    pub sector_bytes: u32,
    /// Sectors that can be addressed.
    pub capacity_sectors: u64,
    /// Milliseconds of a revolution.
    pub revolution_ms: f64,
    /// Milliseconds to switch to another head of the same cylinder.
    pub head_switch_ms: f64,
    /// Milliseconds that a write settles longer than a read.
    pub write_settle_ms: f64,
    /// Seek time by distance, ascending.
    pub seek: Vec<SeekPoint>,
    /// Sequential read rate by place, ascending.
    pub transfer: Vec<TransferPoint>,
    /// Commands over the whole drive, by operation, scheduler and queue depth.
    pub by_depth: Vec<LoopPoint>,
    /// Commands within the outermost part, by operation, load and size of the part.
    pub by_span: Vec<LoopPoint>,
    /// Commands over the whole drive, by operation, load and size of command.
    pub by_block: Vec<LoopPoint>,
}

/// The time the heads take over a distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeekPoint {
    /// Cylinders crossed.
    pub cylinders: u32,
    /// Milliseconds, a write's longer settling not included.
    pub ms: f64,
}

/// The rate of reading sectors in order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferPoint {
    /// Address of the first sector.
    pub lba: u64,
    /// The same in percent of the capacity.
    pub lba_percent: f64,
    /// Megabytes (10⁶ bytes) a second.
    pub mb_per_s: f64,
}

/// A closed loop of random commands: each completion issues another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopPoint {
    /// What the commands are.
    pub operation: Direction,
    /// The scheduler, which chooses the next command.
    pub scheduler: String,
    /// Commands at the drive, the one in service included.
    pub outstanding: u32,
    /// Where commands lie: the outermost cylinders, in percent of all.
    pub span_percent: u32,
    /// The first address past them.
    pub end_lba: u64,
    /// Sectors of a command.
    pub sectors: u32,
    /// The same in bytes.
    pub bytes: u32,
    /// Commands a second.
    pub iops: f64,
    /// Mean response time in milliseconds.
    pub response_ms: f64,
    /// Megabytes (10⁶ bytes) a second.
    pub mb_per_s: f64,
}

/// The outcome of replaying a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayFigures {
    /// Name of the drive's profile.
    pub profile: String,
    /// The trace's file.
    pub trace: String,
    /// The scheduler, which chooses the next command.
    pub scheduler: String,
    /// Whether the drive's cache is in use: `on` or `off`.
    pub cache: String,
    /// Waiting commands that the scheduler chooses among, at most.
    pub depth: u32,
    /// Commands replayed.
    pub commands: u64,
    /// Milliseconds from arrival to completion.
    pub response_ms: ResponseTime,
}

/// The outcome of a closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedLoopFigures {
    /// Name of the drive's profile.
    pub profile: String,
    /// The scheduler, which chooses the next command.
    pub scheduler: String,
    /// Whether the drive's cache is in use: `on` or `off`.
    pub cache: String,
    /// Commands at the drive, the one in service included.
    pub outstanding: u32,
    /// Waiting commands that the scheduler chooses among, at most.
    pub depth: u32,
    /// Sectors of a command.
    pub sectors: u32,
    /// Address of the first sector that commands may touch.
    pub first_lba: u64,
    /// The first address past the last.
    pub end_lba: u64,
    /// Share of reads, percent.
    pub reads_percent: f64,
    /// Commands measured.
    pub commands: u32,
    /// Seed of the commands.
    pub seed: u64,
    /// Commands a second.
    pub iops: f64,
    /// Mean response time in milliseconds.
    pub response_ms: f64,
}

/// A drive profile that ships.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShippedDrive {
    /// Name of the profile.
    pub profile: String,
    /// Bytes that can be addressed.
    pub capacity_bytes: u64,
    /// Revolutions per minute.
    pub rpm: u32,
    /// Megabytes (10⁶ bytes) a second between drive and host; none if the profile does not limit them.
    pub interface_mb_per_s: Option<f64>,
    /// Where the profile's figures come from, in a line.
    pub credit: String,
    /// How many of its figures have a source of each kind: `measured`, `published` and so on.
    pub sources: BTreeMap<String, u32>,
}
