//! The figures of one way to buy an array, as in `results.json`.

use crate::data::phase::subject;
use serde::{Deserialize, Serialize};

/// The figures of one way to buy an array. Fresh is the first segment, end the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverheadRow {
    /// Name of the array.
    pub array: String,
    /// Name of the configuration.
    pub name: String,
    /// The workloads of the phases that the IOPS are of; absent in a run without phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// Who argues for it.
    pub source: String,
    /// Whether the spindle counts of the results are those of this configuration.
    pub used_by_results: bool,
    /// Spindles to be bought.
    pub purchased: u32,
    /// Capacity for host data, GiB.
    pub usable_gib: f64,
    /// The same, percent of what the purchased drives hold.
    pub usable_percent_of_raw: f64,
    /// Host operations per second, fresh.
    pub iops_fresh: f64,
    /// Host operations per second, at the end.
    pub iops_end: f64,
    /// Host operations per second per purchased spindle, fresh.
    pub iops_per_spindle_fresh: f64,
    /// Host operations per second per purchased spindle, at the end.
    pub iops_per_spindle_end: f64,
    /// Host operations per second per 1000 USD of spindles, fresh.
    pub iops_per_1000_usd_fresh: f64,
    /// Host operations per second per 1000 USD of spindles, at the end.
    pub iops_per_1000_usd_end: f64,
    /// `iops_per_spindle_fresh`, percent of the in-place array's; none without such an array.
    pub percent_of_in_place_fresh: Option<f64>,
    /// `iops_per_spindle_end`, percent of the in-place array's; none without such an array.
    pub percent_of_in_place_end: Option<f64>,
}

impl OverheadRow {
    /// Returns the array, and the workloads of the phases if there are any.
    pub fn subject(&self) -> String {
        subject(&self.array, &self.workloads)
    }
}
