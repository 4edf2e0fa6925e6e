//! Real files: how they lie, and what that costs.

use crate::data::json::ResultsError;
use crate::data::layout_map::ArrayMap;
use serde::{Deserialize, Serialize};

/// A file: how it lies, and what requests to it cost.
///
/// Shares are 0 to 1. A figure that is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The path as it was given or found.
    pub path: String,
    /// Bytes up to the end of the file.
    pub bytes: u64,
    /// Bytes that the file system counts as allocated to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<u64>,
    /// Kind of file system.
    pub file_system: String,
    /// The devices that the file lies on.
    pub devices: Vec<FileDevice>,
    /// How its extents were found: `fiemap`, `seek`, `zdb`, `qemu-img`, `list`.
    pub source: String,
    /// Whether addresses are those of the file system, since they could not be translated to devices.
    pub untranslated: bool,
    /// What the reader has to know about the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its layout as it was found.
    #[serde(flatten)]
    pub layout: FileLayoutFigures,
    /// Its cost, unless it has no bytes with a known place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<FileCost>,
    /// The same after writes that were not made: a prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<FilePrediction>,
}

/// A device under a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileDevice {
    /// Its name, and what it is made of: `loop0, /images/a.img, vda`.
    pub name: String,
    /// Its capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether it has spindles, as the kernel has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
}

/// How a file lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileLayoutFigures {
    /// Runs of blocks that are consecutive in the file and on the device.
    pub extents: u64,
    /// The share of blocks, except the first, that directly follow their predecessor. 1 is contiguous.
    pub layout_score: f64,
    /// Extents per GiB of bytes with a place.
    pub extents_per_gib: f64,
    /// Mean number of runs of a MiB of the file, its blocks sorted by place.
    pub extents_per_mib_window: f64,
    /// Bytes from the lowest place to the highest.
    pub span_bytes: u64,
    /// The same as a share of the file system's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<f64>,
    /// Bytes with a place.
    pub placed_bytes: u64,
    /// Of those, shared with other files or snapshots.
    pub shared_bytes: u64,
    /// Of those, reserved and not written.
    pub unwritten_bytes: u64,
    /// Compressed; those of an image may have no place.
    pub compressed_bytes: u64,
    /// Bytes in the file system's metadata.
    pub inline_bytes: u64,
    /// Bytes whose place is not told, or not decided.
    pub unknown_bytes: u64,
    /// Number of holes.
    pub holes: u64,
    /// Bytes of holes.
    pub hole_bytes: u64,
}

impl FileLayoutFigures {
    /// The share of the bytes with a place that is shared.
    #[must_use]
    pub fn shared(&self) -> f64 {
        if self.placed_bytes == 0 {
            0.0
        } else {
            self.shared_bytes as f64 / self.placed_bytes as f64
        }
    }
}

/// What requests to a file cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileCost {
    /// The access specification, in words.
    pub access: String,
    /// Whether its requests are sequential.
    #[serde(default)]
    pub is_sequential: bool,
    /// Spindle commands per request, as the file lies.
    pub commands_per_request: f64,
    /// Half the 95 % interval of that figure; 0 if it is exact.
    pub commands_per_request_error: f64,
    /// The same of a contiguous file.
    pub contiguous_commands_per_request: f64,
    /// Commands more than of a contiguous file, for as many requests as have the bytes of the file.
    pub extra_commands: f64,
    /// Simulated figures; absent of files further down a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<FileSimulation>,
}

/// Simulated figures of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSimulation {
    /// The drive or array it was simulated on.
    pub on: String,
    /// Requests outstanding.
    pub outstanding: u32,
    /// As the file lies.
    pub now: FilePerformance,
    /// The same requests to the same file laid out contiguously.
    pub contiguous: FilePerformance,
    /// Other requests beside those asked for: random reads of 4 KiB and sequential reads of 1 MiB, unless they were
    /// asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<FileOther>,
    /// Seconds that reading the whole file once takes, as it lies and contiguous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_s: Option<(f64, f64)>,
    /// What follows, in a sentence.
    pub verdict: String,
}

/// Figures of requests that nobody asked for, but that tell what the file is good for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileOther {
    /// The requests, in words.
    pub access: String,
    /// Whether they are sequential, so that throughput tells more than IOPS.
    pub is_sequential: bool,
    /// Commands per request.
    pub commands_per_request: f64,
    /// The same of a contiguous file.
    pub contiguous_commands_per_request: f64,
    /// As the file lies.
    pub now: FilePerformance,
    /// The same file laid out contiguously.
    pub contiguous: FilePerformance,
}

/// The performance of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FilePerformance {
    /// Requests answered per second.
    pub iops: f64,
    /// Mean response time.
    pub response_ms: f64,
    /// Megabytes (10⁶ bytes) per second.
    pub mb_per_s: f64,
}

/// A file after writes that were not made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FilePrediction {
    /// The writes, in words.
    pub writes: String,
    /// How they were placed, in words.
    pub rules: String,
    /// The layout after them.
    #[serde(flatten)]
    pub layout: FileLayoutFigures,
    /// The cost after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<FileCost>,
}

/// Where a file lies on its devices, from its lowest address to its highest.
#[derive(Clone, Debug)]
pub struct FileMap {
    /// Its devices as spindles, named for the file, with one snapshot. Block 0 is at `first_byte`.
    pub map: ArrayMap,
    /// Names of the devices, in the order of the strips.
    pub devices: Vec<String>,
    /// The address at which the map begins, in bytes.
    pub first_byte: u64,
    /// Capacity of the largest device, if known.
    pub device_bytes: Option<u64>,
}

/// Something that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotLookedAt {
    /// Its path.
    pub path: String,
    /// Why, and what to do about it.
    pub reason: String,
}

/// The sums of all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileTotals {
    /// Files looked at.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their extents.
    pub extents: u64,
    /// Files of one extent or none.
    pub contiguous_files: u64,
    /// Bytes with a place.
    pub placed_bytes: u64,
    /// Bytes that are shared.
    pub shared_bytes: u64,
    /// Bytes of holes.
    pub hole_bytes: u64,
    /// [`FileCost::extra_commands`] of all files.
    pub extra_commands: f64,
    /// Blocks that follow their predecessor, and blocks that have one: their ratio is the layout score of all files.
    pub following_blocks: f64,
    /// Blocks that have a predecessor in their file.
    pub blocks_with_predecessor: f64,
}

impl FileTotals {
    /// The layout score of all files together.
    #[must_use]
    pub fn layout_score(&self) -> f64 {
        match self.blocks_with_predecessor {
            0.0 => 1.0,
            blocks => self.following_blocks / blocks,
        }
    }

    /// Adds the figures of a file with blocks of `block_bytes`.
    pub fn add(&mut self, record: &FileRecord, block_bytes: u64) {
        let layout = &record.layout;
        let blocks = (layout.placed_bytes as f64 / block_bytes.max(1) as f64).ceil();
        let with_predecessor = (blocks - 1.0).max(0.0);
        self.files += 1;
        self.bytes += record.bytes;
        self.extents += layout.extents;
        self.contiguous_files += u64::from(layout.extents <= 1);
        self.placed_bytes += layout.placed_bytes;
        self.shared_bytes += layout.shared_bytes;
        self.hole_bytes += layout.hole_bytes;
        self.extra_commands += record.cost.as_ref().map_or(0.0, |cost| cost.extra_commands);
        self.following_blocks += layout.layout_score * with_predecessor;
        self.blocks_with_predecessor += with_predecessor;
    }

    /// Adds the sums of other files.
    pub fn merge(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.extents += other.extents;
        self.contiguous_files += other.contiguous_files;
        self.placed_bytes += other.placed_bytes;
        self.shared_bytes += other.shared_bytes;
        self.hole_bytes += other.hole_bytes;
        self.extra_commands += other.extra_commands;
        self.following_blocks += other.following_blocks;
        self.blocks_with_predecessor += other.blocks_with_predecessor;
    }
}

/// Free space of a file system: where its next writes will lie.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreeSpaceRecord {
    /// Where the file system is mounted.
    pub mount: String,
    /// Kind of file system.
    pub file_system: String,
    /// How it was found out, and as of when.
    pub source: String,
    /// Free bytes.
    pub free_bytes: u64,
    /// The share of free blocks, except the first, that directly follow another free block.
    pub score: f64,
    /// The longest run.
    pub largest_run_bytes: u64,
    /// Runs by length: the shortest of the class in bytes, and the number of runs.
    pub runs: Vec<(u64, u64)>,
}

/// Returns bytes as a person would say them: `1.5 GiB`.
#[must_use]
pub fn about_bytes(bytes: u64) -> String {
    crate::data::quantity::about(bytes as f64)
}

/// Returns files as JSON: an array, indented, ending in a newline, the same bytes for the same files.
///
/// # Errors
///
/// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
pub fn files_json(files: &[FileRecord]) -> Result<String, ResultsError> {
    crate::data::json::figures_json(&files.to_vec())
}

/// Reads files from JSON, as [`files_json`] writes it.
///
/// # Errors
///
/// [`ResultsError::Json`] if the text is no such array.
pub fn files_from_json(text: &str) -> Result<Vec<FileRecord>, ResultsError> {
    Ok(serde_json::from_str(text)?)
}
