//! What a run measured, in the form of `results.json`.
//!
//! Other programs read that file, so its field names and their order are fixed for a value of
//! [`SCHEMA`]. Fields may be added under the same schema, and a reader ignores those it does not
//! know; a field that goes, or that changes its meaning, makes a new schema.

use crate::data::comparison::{PublishedComparison, Ratio};
use crate::data::json::{ResultsError, check_schema};
use crate::data::live::RealSpindles;
use crate::data::loss::Loss;
use crate::data::overhead::OverheadRow;
use crate::data::quantity;
use crate::data::redundancy::{DataLoss, SpindleFailure};
use crate::data::segment::Segment;
use crate::data::workload::{HostLoad, Workload};
use serde::{Deserialize, Serialize};

/// Version of the layout of `results.json` that this crate writes, and the only one it reads.
pub const SCHEMA: u32 = 1;

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

    /// The [`caveats`](Self::caveats) about scale, data loss and an early stop.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if let Some(Scaled { by, .. }) = &self.scaled {
            caveats.push(format!("At 1/{by} of full scale."));
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
            // Published figures are for the scenario's own workload.
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
    /// A sentence that says what the array lost for good, if it did.
    #[must_use]
    pub fn data_loss_sentence(&self) -> Option<String> {
        Some(self.data_loss.as_ref()?.sentence(&self.name))
    }

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

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
const fn is_false(value: &bool) -> bool {
    !*value
}
