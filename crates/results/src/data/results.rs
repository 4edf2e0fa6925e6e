//! The measurements of a run, in the form of `results.json`.
//!
//! Other programs read that file, so its field names and their order are fixed for a value of [`SCHEMA`]. Fields may be
//! added under the same schema, and a reader ignores unknown ones. Removing a field or changing its meaning makes a new
//! schema.

use crate::data::array::{ArrayResults, LayoutKind};
use crate::data::band::Bands;
use crate::data::comparison::{ComparedRow, FittedSetting, PublishedComparison, Ratio};
use crate::data::finding::Finding;
use crate::data::json::{ResultsError, check_schema, figures_json};
use crate::data::live::RealSpindles;
use crate::data::loss::Loss;
use crate::data::number::{duration, rounded};
use crate::data::overhead::OverheadRow;
use crate::data::quantity;
use crate::data::redundancy::{REBUILD_NOTE, RESILVER_NOTE};
use crate::data::workload::{HostLoad, LimitedOperations, RateLimit, Workload};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Version of the layout of `results.json` that this crate writes, and the only one it reads.
pub const SCHEMA: u32 = 1;

/// The scale at which [`QUICK_NOTE`] was measured.
const QUICK_SCALE_DOWN: u32 = 8;
/// How far a quick run is from full scale (docs/model.md, "A quick run", has the figures).
pub const QUICK_NOTE: &str = "Random mixes like the shipped one come out within about 1 % of full scale; uniform sizes and \
    sequential accesses were off by up to 20 %, sequential reads of an in-place array by up to 50 %, and random \
    writes of a file that is not far larger than the write cache by more.";

/// The measurements of one run of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Layout of this file; [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Version of Strewn that ran it.
    pub strewn: String,
    /// Title of the scenario; absent in results of older versions and of real spindles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Wall-clock time of the run, seconds. The only field that may differ between two runs of the same scenario, seed
    /// and version.
    pub wall_seconds: f64,
    /// Host operations completed, over all arrays and segments.
    pub host_ops: u64,
    /// Whether the run was stopped before its last segment, or an array lost data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// What a quick run scaled down; absent at full scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
    /// Every setting of the scenario as it was run: defaults, overrides of the command line and scale are in it. Names
    /// are paths as in `workload.file` and `array.FAS2050.write_anywhere.policy`. Absent in results of older versions
    /// and of real spindles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Setting>,
    /// Where the settings come from that the scenario does not give: `fitted`, `controller NAME` or `default`. Those
    /// that are not here are the scenario's. Absent in results of older versions and of real spindles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub setting_sources: BTreeMap<String, String>,
    /// The load on every array that does not say another; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// The workload that replaced the scenario's own; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// The real spindles of a run in real time; absent for a simulation.
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
    /// The rows of published tables; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_rows: Vec<ComparedRow>,
    /// The settings that were fitted to some of these rows; absent if none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted_settings: Vec<FittedSetting>,
    /// The spindles to be bought for each array.
    #[serde(default)]
    pub overhead: Vec<OverheadRow>,
    /// The causes of each array's loss of IOPS; absent if there is no account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
    /// What a reader must know before the tables; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the bands around the figures contain; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<Bands>,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word, or a quantity with its unit.
    Text(String),
}

/// How a quick run differs from full scale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaled {
    /// Divisor.
    pub by: u32,
    /// What was divided by it, in words for a reader: "segment length", "file".
    pub what: Vec<String>,
    /// A sentence for each quantity that could not be divided in proportion and that figures of this run depend on: its
    /// size here and at full scale, and which figures are not those of full scale. Absent if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_proportion: Vec<String>,
}

/// The origin of a segment's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Measured on real spindles.
    Measured,
    /// Simulated, with a number that was fitted to the published figures of the segment.
    Fitted,
    /// Simulated, and not fitted.
    Predicted,
}

impl Origin {
    /// Returns the word for it in tables and legends.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Predicted => "predicted",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Count(count) => count.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

/// What the groups are called of arrays that have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupWords {
    /// Heading of their section.
    pub heading: &'static str,
    /// Caption of their table.
    pub caption: &'static str,
    /// Title of their chart.
    pub chart_title: &'static str,
}

impl Results {
    /// Returns what the groups of its arrays are called.
    pub fn group_words(&self) -> GroupWords {
        let has = |kind: LayoutKind| {
            let mut arrays = self.arrays.iter();
            arrays.any(|array| array.layout == kind && !array.parity_groups.is_empty())
        };
        let has_vdevs = self.has_vdevs();
        match (has(LayoutKind::WRITE_ANYWHERE), has(LayoutKind::IN_PLACE)) {
            (false, false) if has_vdevs => GroupWords {
                heading: "Vdevs",
                caption: "Each top-level vdev, by segment",
                chart_title: "Drives of each top-level vdev by segment",
            },
            _ if has_vdevs => GroupWords {
                heading: "Groups and vdevs",
                caption: "Each group or top-level vdev, by segment",
                chart_title: "Data spindles of each group, drives of each vdev by segment",
            },
            (true, true) => GroupWords {
                heading: "Parity groups and disk groups",
                caption: "Each parity or disk group, by segment",
                chart_title: "Data spindles of each parity or disk group by segment",
            },
            (false, true) => GroupWords {
                heading: "Disk groups",
                caption: "Each disk group, by segment",
                chart_title: "Spindles of each disk group by segment",
            },
            (_, false) => GroupWords {
                heading: "Parity groups",
                caption: "Each parity group, by segment",
                chart_title: "Data spindles of each parity group by segment",
            },
        }
    }

    /// Returns whether an array tells its top-level vdevs apart.
    pub fn has_vdevs(&self) -> bool {
        let mut groups = self.arrays.iter().flat_map(|array| &array.parity_groups);
        groups.any(|group| group.class.is_some())
    }

    /// Returns the text of `results.json`: indented, ending in a newline, the same bytes for equal results.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        figures_json(self)
    }

    /// Reads the text of a `results.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::Schema`] for another schema than [`SCHEMA`], [`ResultsError::Json`] for text
    /// that is not JSON or lacks a field, [`ResultsError::ArrayTwice`] if two arrays have one name.
    pub fn from_json(text: &str) -> Result<Self, ResultsError> {
        check_schema(text, "results", SCHEMA)?;
        let results: Self = serde_json::from_str(text)?;
        let mut names = HashSet::new();
        match results.arrays.iter().find(|array| !names.insert(&array.name)) {
            Some(twice) => Err(ResultsError::ArrayTwice(twice.name.clone())),
            None => Ok(results),
        }
    }

    /// Returns the same results with no wall time, for comparing two runs.
    #[must_use]
    pub fn without_wall_time(&self) -> Self {
        Self { wall_seconds: 0.0, ..self.clone() }
    }

    /// Returns sentences that must stand beside every table and chart of these results, because the run is not the
    /// scenario at full scale to its end. Empty for a whole run.
    #[must_use]
    pub fn caveats(&self) -> Vec<String> {
        let of_real = self.real_spindles.iter().flat_map(RealSpindles::sentences);
        let shortfalls = of_real.chain(self.shortfalls()).chain(self.accuracy());
        shortfalls.chain(self.out_of_proportion().iter().cloned()).collect()
    }

    /// Returns the load on one of its arrays; none if results do not tell.
    #[must_use]
    pub fn load_of<'a>(&'a self, array: &'a ArrayResults) -> Option<&'a HostLoad> {
        array.load.as_ref().or(self.load.as_ref())
    }

    /// Returns how near to those of full scale the results are; none if they are of full scale.
    pub fn accuracy(&self) -> Option<String> {
        let Scaled { by, .. } = self.scaled.as_ref()?;
        Some(match by {
            0..=QUICK_SCALE_DOWN => QUICK_NOTE.to_owned(),
            by => format!(
                "{QUICK_NOTE} So much for 1/{QUICK_SCALE_DOWN}: at 1/{by} figures stray farther, and transfers, streams and \
                 what waits for a timer can be off several times over."
            ),
        })
    }

    /// Returns the [`caveats`](Self::caveats) about what is out of proportion at this scale.
    #[must_use]
    pub fn out_of_proportion(&self) -> &[String] {
        self.scaled.as_ref().map_or(&[], |scaled| &scaled.out_of_proportion)
    }

    /// Returns the [`caveats`](Self::caveats) about scale, data loss and an early stop.
    pub fn shortfalls(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if let Some(Scaled { by, .. }) = &self.scaled {
            caveats.push(format!("At 1/{by} of full scale."));
        }
        if let Some(Setting::Text(warm_up)) = self.settings.get("warm_up") {
            caveats.push(format!("The first {warm_up} are warm-up, and not counted."));
        }
        caveats.extend(self.arrays.iter().filter_map(ArrayResults::data_loss_sentence));
        caveats.extend(self.arrays.iter().filter_map(ArrayResults::refused_sentence));
        if self.partial && self.arrays.iter().all(|array| array.data_loss.is_none()) {
            caveats.push("The run was stopped before its last segment.".to_owned());
        }
        caveats
    }

    /// Returns what must stand beside every table of rebuilds; none if nothing was rebuilt, or on real spindles.
    #[must_use]
    pub fn rebuild_note(&self) -> Option<String> {
        let is_rebuilt = |array: &&ArrayResults| {
            array.failures.iter().any(|failure| failure.rebuild_began_at_seconds.is_some())
        };
        let rebuilt = self.arrays.iter().filter(is_rebuilt);
        let (pools, others): (Vec<_>, Vec<_>) =
            rebuilt.partition(|array| array.layout == LayoutKind::POOL);
        let notes = [(&others, REBUILD_NOTE), (&pools, RESILVER_NOTE)];
        let notes: Vec<&str> =
            notes.iter().filter(|(arrays, _)| !arrays.is_empty()).map(|(_, note)| *note).collect();
        (!notes.is_empty() && self.real_spindles.is_none()).then(|| notes.join(" "))
    }

    /// Returns a time of a run that is scaled down with what it is at full scale, in a unit that suits it: `337.5 s; 12
    /// h at full scale`. None at full scale.
    #[must_use]
    pub fn at_both_scales(&self, seconds: f64) -> Option<String> {
        let by = f64::from(self.scaled.as_ref()?.by);
        Some(format!("{} s; {} at full scale", rounded(seconds, 4), duration(seconds * by)))
    }

    /// Returns a sentence with the duration of each rebuild at full scale, for a run that is scaled down; none if
    /// nothing was rebuilt in full.
    #[must_use]
    pub fn rebuilds_at_full_scale(&self) -> Option<String> {
        let of_array = |array: &ArrayResults| -> Vec<String> {
            let took = array.failures.iter().filter_map(|failure| {
                let both = self.at_both_scales(failure.rebuild_seconds?)?;
                Some(format!("spindle {} of {}: {both}", failure.spindle, array.name))
            });
            took.collect()
        };
        let all: Vec<String> = self.arrays.iter().flat_map(of_array).collect();
        (!all.is_empty()).then(|| {
            format!(
                "Times in this table are of the run, which is scaled down. Rebuilds took: {}.",
                all.join(", ")
            )
        })
    }

    /// Returns whether the drives of `array` serve the nearest command first and set no bound on how long another one
    /// waits, so that the highest percentiles of response time are above those of real drives.
    #[must_use]
    pub fn drives_starve(&self, array: &ArrayResults) -> bool {
        let scheduler = self.settings.get(&format!("array.{}.scheduler", array.name));
        scheduler == Some(&Setting::Text("sptf".to_owned()))
    }

    /// Returns whether a number of `array` was fitted to the published figures of its segment `segment`.
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

    /// Returns the load on every array, in words; none if the results do not say.
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

    /// Returns the limits of a workload, of all that run it together; empty if it has none.
    #[must_use]
    pub fn rate_limits(&self, workload: &str) -> Vec<RateLimit> {
        let Some(replaced) = &self.workload else {
            return self.limit_of_setting(workload).into_iter().collect();
        };
        let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let mut all: Vec<RateLimit> = Vec::new();
        let workers = replaced.workers.iter().filter(|worker| worker.specification == workload);
        for limit in workers.flat_map(|worker| &worker.limits) {
            match all.iter_mut().find(|other| other.of == limit.of) {
                Some(other) => {
                    other.iops = sum(other.iops, limit.iops);
                    other.mib_per_s = sum(other.mib_per_s, limit.mib_per_s);
                }
                None => all.push(*limit),
            }
        }
        all
    }

    /// Returns the limit that a named workload of the scenario has.
    fn limit_of_setting(&self, workload: &str) -> Option<RateLimit> {
        let setting = |number: usize, key: &str| {
            self.settings.get(&format!("workload.{number}.{key}")).map(ToString::to_string)
        };
        let mut numbers = (1..=self.settings.len()).take_while(|at| setting(*at, "name").is_some());
        let number = numbers.find(|at| setting(*at, "name").as_deref() == Some(workload))?;
        let iops = setting(number, "operations_per_second")?.parse().ok()?;
        Some(RateLimit { of: LimitedOperations::All, iops: Some(iops), mib_per_s: None })
    }

    /// Returns the findings of a kind.
    pub fn findings_of_kind<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r Finding> {
        self.findings.iter().filter(move |finding| finding.kind == kind)
    }

    /// Returns the origin of the figures of segment `segment` of `array`.
    #[must_use]
    pub fn origin(&self, array: &ArrayResults, segment: u32) -> Origin {
        match &self.real_spindles {
            Some(_) => Origin::Measured,
            None if self.was_fitted(array, segment) => Origin::Fitted,
            None => Origin::Predicted,
        }
    }

    /// Returns sentences that stand below the title of every chart: [`Self::caveats`], but with one
    /// sentence about real spindles.
    #[must_use]
    pub fn chart_caveats(&self) -> Vec<String> {
        let of_real = self.real_spindles.iter().map(RealSpindles::sentence);
        of_real.chain(self.shortfalls()).collect()
    }

    /// Returns the array called `name`.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&ArrayResults> {
        self.arrays.iter().find(|array| array.name == name)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
const fn is_false(value: &bool) -> bool {
    !*value
}
