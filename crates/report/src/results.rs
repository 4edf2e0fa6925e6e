//! What a run measured, in the form of `results.json`.
//!
//! Other programs read that file, so its field names and their order are fixed for a value of
//! [`SCHEMA`]. Fields may be added under the same schema, and a reader ignores those it does not
//! know; a field that goes, or that changes its meaning, makes a new schema.

use crate::comparison::{PublishedComparison, Ratio};
use crate::live::RealSpindles;
use crate::loss::Loss;
use crate::overhead::OverheadRow;
use crate::quantity;
use crate::redundancy::{DataLoss, Redundancy, SpindleFailure};
use crate::workload::{HostFigures, HostLoad, Workload};
use serde::{Deserialize, Serialize};

/// Version of the layout of `results.json` that this crate writes, and the only one it reads.
pub const SCHEMA: u32 = 1;

/// Significant digits that measured figures are kept to: more than any published figure has, and
/// few enough that a person can read the file.
pub const SIGNIFICANT_DIGITS: usize = 6;

/// Rounds `value` to `significant_digits` decimal digits (at least one), halves to even as the
/// decimal expansion of the binary value falls. Zero and non-finite values come back as they are.
///
/// ```
/// assert_eq!(strewn_report::rounded(4863.6666, 6), 4863.67);
/// assert_eq!(strewn_report::rounded(0.000_123_456_78, 3), 0.000_123);
/// ```
#[must_use]
pub fn rounded(value: f64, significant_digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // By way of decimal text, so that the result is the double nearest to a short decimal and
    // prints as one. Scaling by a power of ten in binary would not give that.
    let text = format!("{value:.*e}", significant_digits.max(1) - 1);
    text.parse().unwrap_or(value)
}

/// Everything one run of a scenario found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Layout of this file; [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed that every random draw came from.
    pub seed: u64,
    /// Version of Strewn that ran it.
    pub strewn: String,
    /// Wall-clock time of the run, seconds. The one field that may differ between two runs of the
    /// same scenario, seed and version.
    pub wall_seconds: f64,
    /// Host operations completed, all arrays and segments together.
    pub host_ops: u64,
    /// Whether the run was stopped before its last segment, or an array lost data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// What was made smaller for a quick run; absent at full scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
    /// The load that every array was under; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// The workload that was run in place of the scenario's own; absent where that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// That the run was in real time on real spindles, and on which; absent for a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_spindles: Option<RealSpindles>,
    /// One entry per array, in the order of the scenario.
    pub arrays: Vec<ArrayResults>,
    /// Published figures beside simulated ones, one entry per array and metric.
    #[serde(default)]
    pub published: Vec<PublishedComparison>,
    /// Published ratios of one array over another.
    #[serde(default)]
    pub ratios: Vec<Ratio>,
    /// What has to be bought for each array.
    #[serde(default)]
    pub overhead: Vec<OverheadRow>,
    /// Where each array's loss of IOPS came from; absent if there is none of which it can be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
}

/// How a quick run differs from full scale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaled {
    /// Divisor.
    pub by: u32,
    /// What was divided by it, in words for a reader: "segment length", "file".
    pub what: Vec<String>,
}

/// What one array did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayResults {
    /// Name of the array, unique in a scenario.
    pub name: String,
    /// Where the array puts a block that is overwritten.
    pub layout: LayoutKind,
    /// Host operations kept outstanding; 0 where they arrive by the clock.
    pub outstanding: u32,
    /// Size of the LUN, bytes; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun_bytes: Option<u64>,
    /// Spindles by what they are for.
    pub spindles: Spindles,
    /// The numbers that the array was configured with, fitted ones among them.
    pub parameters: Vec<Parameter>,
    /// Measurements, in order of `index`.
    pub segments: Vec<Segment>,
    /// Spindles that failed, in the order in which they did; absent if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<SpindleFailure>,
    /// What was lost for good; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_loss: Option<DataLoss>,
}

/// Where an array puts a block that is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutKind {
    /// In a free block elsewhere (copy-on-write).
    WriteAnywhere,
    /// Where it was.
    InPlace,
}

/// How the figures of a segment came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Measured on real spindles.
    Measured,
    /// Simulated, with a number that was fitted to what is published of the segment.
    Fitted,
    /// Simulated, and not looked at before.
    Predicted,
}

impl Origin {
    /// The word for it in tables and legends.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Predicted => "predicted",
        }
    }
}

/// Spindles of an array by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spindles {
    /// Hold host data. Where parity rotates over all spindles of a group, as in VRAID-5, all of
    /// them count here.
    pub data: u32,
    /// Hold nothing but parity.
    pub parity: u32,
    /// Wait for a failure.
    pub spare: u32,
    /// Hold the array's own root volume and nothing else.
    pub root: u32,
    /// To be bought: the sum of the others.
    pub purchased: u32,
}

/// One number that an array was configured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Path in the scenario, as in `processor.host_operation`.
    pub name: String,
    /// Unit of `value`; empty for a count or a ratio.
    pub unit: String,
    /// The value, in `unit`.
    pub value: f64,
    /// Whether the value was fitted to published figures. All others were set from a source.
    pub fitted: bool,
    /// Published segments that it was fitted to; empty if it was not fitted.
    pub fitted_to_segments: Vec<u32>,
    /// Where the value comes from.
    pub source: String,
}

/// Measurements over one segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Number of the segment; the first is 1.
    pub index: u32,
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
    /// What the spindles were asked for.
    pub spindle_commands: SpindleCommands,
    /// What the controller's memory did for the host.
    #[serde(default)]
    pub cache: Cache,
    /// Where the host's data lay when the segment ended.
    pub layout: SegmentLayout,
    /// Free space when the segment ended; none for an array that does not allocate.
    pub free_space: Option<FreeSpace>,
    /// Consistency points begun in the segment; none for an array without them.
    pub consistency_points: Option<ConsistencyPoints>,
    /// How far the measurements are from laws that they must obey.
    pub checks: Checks,
    /// What was lost and what was done about it; absent as long as no spindle has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redundancy: Option<Redundancy>,
    /// More of what the host saw, where its load is not a plain closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFigures>,
}

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

/// Share of the time that a resource was busy, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilization {
    /// The controller's processor.
    pub controller: f64,
    /// Mean over the spindles that hold data.
    pub spindles: f64,
    /// Mean over the spindles that hold nothing but parity; none where there are no such spindles.
    pub parity_spindles: Option<f64>,
}

/// What the spindles were asked for in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpindleCommands {
    /// Read commands completed, all spindles.
    pub read: u64,
    /// Write commands completed, all spindles.
    pub write: u64,
    /// Of the reads: of what a host read asked for.
    #[serde(default)]
    pub data_reads: u64,
    /// Of the reads: of blocks that a host write covers in part.
    #[serde(default)]
    pub edge_reads: u64,
    /// Of the reads: of indirect blocks, bitmaps and container maps.
    #[serde(default)]
    pub metadata_reads: u64,
    /// Of the reads: of old data and old parity, for an update of parity.
    #[serde(default)]
    pub parity_update_reads: u64,
    /// Of the writes: of parity.
    #[serde(default)]
    pub parity_writes: u64,
    /// Read commands per host operation.
    pub reads_per_host_op: f64,
    /// Commands waiting or in service at a spindle that holds data, mean over time and spindles.
    pub mean_queue_depth: f64,
    /// Time in service of a command, mean, milliseconds.
    pub mean_service_ms: f64,
}

/// What the controller's memory did for the host in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Of what was looked up, how much was there, percent: blocks of data and metadata of a
    /// write-anywhere array, pieces of host reads of an in-place one.
    pub hit_percent: f64,
    /// Host writes that had to wait for room in the NVRAM log or the write cache.
    pub stalled_writes: u64,
}

/// Where the host's data lay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentLayout {
    /// Layout score, 0 to 1: the share of blocks that lie right after their predecessor in the
    /// file. Constant in place, where nothing ever moves: only the ends of chunks count.
    pub score: f64,
    /// Physically contiguous pieces per GiB of file.
    pub extents_per_gib: f64,
    /// Part of a spindle's address range that the data lies in, percent.
    pub span_percent: f64,
    /// Part of the file's blocks that were rewritten at least once, percent; none in place, where
    /// that changes nothing.
    pub rewritten_percent: Option<f64>,
}

/// Free space of a write-anywhere array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Free-space score, 0 to 1: the share of free blocks that lie right behind another free block,
    /// the first of each spindle left out. 1 is one run a spindle.
    pub score: f64,
    /// Longest run of free blocks on one spindle, blocks of 4 KiB.
    pub largest_run_blocks: u64,
}

/// Consistency points of a write-anywhere array in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsistencyPoints {
    /// How many.
    pub count: u64,
    /// Of those, how many began the moment the one before ended, because both halves of the log
    /// were full.
    #[serde(default)]
    pub back_to_back: u64,
    /// Blocks written by each, mean, data and metadata, blocks of 4 KiB.
    pub blocks_per_cp: f64,
    /// Stripes written whole, percent of stripes written.
    pub full_stripe_percent: f64,
}

/// Differences between measurements and the laws they must obey, percent, without sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checks {
    /// Little's law: throughput times mean response time against operations outstanding.
    pub littles_law_error_percent: f64,
    /// Utilization law: command rate times mean service time against measured utilization.
    pub utilization_law_error_percent: f64,
}

/// Why results could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The text is not JSON of the expected shape.
    #[error("results, line {line}, column {column}: {message}")]
    Json {
        /// Line in the text, from 1.
        line: usize,
        /// Column in the line, from 1.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },
    /// Written by a version of Strewn with another layout.
    #[error("{what} of schema {found} cannot be read, only those of schema {readable}")]
    Schema {
        /// What it is: results, a map.
        what: &'static str,
        /// Schema of the text.
        found: u64,
        /// The schema that can be read.
        readable: u32,
    },
    /// JSON has no such numbers.
    #[error("results hold a figure that is infinite or not a number")]
    NotFinite,
    /// The destination refused the text.
    #[error("results could not be written")]
    Write(#[from] std::io::Error),
}

impl From<serde_json::Error> for ResultsError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column(), message: error.to_string() }
    }
}

impl Results {
    /// The text of `results.json`: indented, ending in a newline, the same bytes for equal results.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        // serde_json writes `null` for what is not finite, without an error.
        match serde_json::from_str::<Self>(&text) {
            Ok(read) if read == *self => Ok(text),
            _ => Err(ResultsError::NotFinite),
        }
    }

    /// Reads the text of a `results.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::Schema`] for another schema than [`SCHEMA`], [`ResultsError::Json`] for text
    /// that is not JSON or lacks a field.
    pub fn from_json(text: &str) -> Result<Self, ResultsError> {
        check_schema(text, "results", SCHEMA)?;
        Ok(serde_json::from_str(text)?)
    }

    /// The same results with no wall time, for comparing two runs.
    #[must_use]
    pub fn without_wall_time(&self) -> Self {
        Self { wall_seconds: 0.0, ..self.clone() }
    }

    /// Sentences that must stand beside every table and chart of these results, because the run is
    /// not the scenario at full scale to its end. Empty for a whole run.
    #[must_use]
    pub fn caveats(&self) -> Vec<String> {
        let of_real = self.real_spindles.iter().flat_map(RealSpindles::sentences);
        of_real.chain(self.shortfalls()).collect()
    }

    /// Those of them that say what the run is not.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if let Some(Scaled { by, .. }) = &self.scaled {
            caveats.push(format!("Not at full scale but 1/{by} of it."));
        }
        caveats.extend(self.arrays.iter().filter_map(ArrayResults::data_loss_sentence));
        if self.partial && self.arrays.iter().all(|array| array.data_loss.is_none()) {
            caveats.push("The run was stopped before its last segment.".to_owned());
        }
        caveats
    }

    /// Whether a number of `array` was fitted to what is published of its segment `segment`.
    #[must_use]
    pub fn was_fitted(&self, array: &ArrayResults, segment: u32) -> bool {
        if self.workload.is_some() {
            // Nobody has published what another workload does.
            return false;
        }
        let of_array = self.published.iter().filter(|found| found.array == array.name);
        let mut compared = of_array.flat_map(|found| &found.segments);
        compared.any(|compared| compared.index == segment && compared.fitted)
            || array.fitted_segments().contains(&segment)
    }

    /// The load that every array was under, in words; none if the results do not say.
    #[must_use]
    pub fn load_words(&self) -> Option<String> {
        let asked_for = match (&self.workload, &self.load) {
            (Some(workload), _) => workload.words(),
            (None, Some(load)) => load.accesses.as_ref()?.words(),
            (None, None) => return None,
        };
        let file = self.load.as_ref().map(|load| quantity::about(load.file_bytes as f64));
        Some(asked_for + &file.map(|file| format!("; file of {file}")).unwrap_or_default())
    }

    /// How the figures of the segment `segment` of `array` came to be.
    #[must_use]
    pub fn origin(&self, array: &ArrayResults, segment: u32) -> Origin {
        match &self.real_spindles {
            Some(_) => Origin::Measured,
            None if self.was_fitted(array, segment) => Origin::Fitted,
            None => Origin::Predicted,
        }
    }

    /// Sentences that stand below the title of every chart: as [`Self::caveats`], and of real spindles only which they are.
    #[must_use]
    pub(crate) fn chart_caveats(&self) -> Vec<String> {
        let of_real = self.real_spindles.iter().map(RealSpindles::sentence);
        of_real.chain(self.shortfalls()).collect()
    }

    /// The array of that name.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&ArrayResults> {
        self.arrays.iter().find(|array| array.name == name)
    }
}

impl ArrayResults {
    /// The spindles that work, in words.
    #[must_use]
    pub(crate) fn working_spindles(&self) -> String {
        match self.spindles {
            Spindles { data, parity: 0, .. } => format!("{data} spindles"),
            Spindles { data, parity, .. } => format!("{data} data and {parity} parity spindles"),
        }
    }

    /// Operations outstanding, in words.
    #[must_use]
    pub(crate) fn outstanding_words(&self) -> String {
        match self.outstanding {
            0 => "open loop".to_owned(),
            outstanding => format!("{outstanding} outstanding"),
        }
    }

    /// The size of its cache, bytes, if it is among its parameters.
    #[must_use]
    pub(crate) fn cache_bytes(&self) -> Option<f64> {
        let names = ["write_anywhere.buffer_cache", "in_place.write_cache"];
        let is_cache = |parameter: &&Parameter| names.contains(&parameter.name.as_str());
        Some(self.parameters.iter().find(is_cache)?.value)
    }

    /// Published segments that any parameter of the array was fitted to, ascending, once each.
    #[must_use]
    pub fn fitted_segments(&self) -> Vec<u32> {
        let fitted = self.parameters.iter().filter(|parameter| parameter.fitted);
        let mut segments: Vec<u32> =
            fitted.flat_map(|parameter| parameter.fitted_to_segments.iter().copied()).collect();
        segments.sort_unstable();
        segments.dedup();
        segments
    }

    /// The segment of that number.
    #[must_use]
    pub fn segment(&self, index: u32) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.index == index)
    }
}

impl LayoutKind {
    /// The word for it in `results.json` and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WriteAnywhere => "write-anywhere",
            Self::InPlace => "in-place",
        }
    }
}

impl Segment {
    /// Spindle commands, reads and writes, per host operation; 0 if there was no operation.
    #[must_use]
    pub fn commands_per_host_op(&self) -> f64 {
        if self.ops == 0 {
            return 0.0;
        }
        (self.spindle_commands.read + self.spindle_commands.write) as f64 / self.ops as f64
    }

    /// The segment with every figure that is not a count [`rounded`] to `significant_digits`.
    #[must_use]
    pub fn rounded(mut self, significant_digits: usize) -> Self {
        let Self {
            index: _,
            ops: _,
            seconds,
            iops,
            mib_per_s,
            response_ms: ResponseTime { mean, p50, p95, p99, max },
            utilization: Utilization { controller, spindles, parity_spindles },
            spindle_commands:
                SpindleCommands {
                    read: _,
                    write: _,
                    data_reads: _,
                    edge_reads: _,
                    metadata_reads: _,
                    parity_update_reads: _,
                    parity_writes: _,
                    reads_per_host_op,
                    mean_queue_depth,
                    mean_service_ms,
                },
            cache: Cache { hit_percent, stalled_writes: _ },
            layout: SegmentLayout { score, extents_per_gib, span_percent, rewritten_percent },
            free_space,
            consistency_points,
            checks: Checks { littles_law_error_percent, utilization_law_error_percent },
            redundancy,
            host,
        } = &mut self;
        let always = [
            seconds,
            iops,
            mib_per_s,
            mean,
            p50,
            p95,
            p99,
            max,
            controller,
            spindles,
            reads_per_host_op,
            mean_queue_depth,
            mean_service_ms,
            hit_percent,
            score,
            extents_per_gib,
            span_percent,
            littles_law_error_percent,
            utilization_law_error_percent,
        ];
        let free_space = free_space.iter_mut().map(|space| &mut space.score);
        let points = consistency_points
            .iter_mut()
            .flat_map(|points| [&mut points.blocks_per_cp, &mut points.full_stripe_percent]);
        *host = host.map(|host| host.rounded(significant_digits));
        let rebuilt = redundancy.iter_mut().map(|lost| &mut lost.rebuilt_percent);
        let sometimes = parity_spindles.iter_mut().chain(rewritten_percent).chain(rebuilt);
        for figure in always.into_iter().chain(sometimes).chain(free_space).chain(points) {
            *figure = rounded(*figure, significant_digits);
        }
        self
    }
}

/// Looks at the schema before all else: the shape of another one would only give a puzzling message.
pub(crate) fn check_schema(
    text: &str,
    what: &'static str,
    readable: u32,
) -> Result<(), ResultsError> {
    #[derive(Deserialize)]
    struct SchemaOnly {
        schema: u64,
    }
    let SchemaOnly { schema: found } = serde_json::from_str(text)?;
    if found == u64::from(readable) {
        Ok(())
    } else {
        Err(ResultsError::Schema { what, found, readable })
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
const fn is_false(value: &bool) -> bool {
    !*value
}
