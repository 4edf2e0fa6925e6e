//! Spindles that failed in a run, and what became of it. None of this is in the results of a run in which nothing fails.

use crate::data::number::rounded;
use serde::{Deserialize, Serialize};

/// A spindle that failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpindleFailure {
    /// Which spindle, counted from 0: those of data first, then those of parity.
    pub spindle: u16,
    /// When it failed, seconds from the start of the run.
    pub at_seconds: f64,
    /// When its rebuild began, seconds from the start of the run; none if there was nothing to rebuild on.
    pub rebuild_began_at_seconds: Option<f64>,
    /// When all it held was there again, seconds from the start of the run; none if it was not when the run ended.
    pub rebuilt_at_seconds: Option<f64>,
    /// How long its rebuild took, seconds; none if it did not end.
    pub rebuild_seconds: Option<f64>,
    /// How far its rebuild had come when the run ended, percent.
    pub rebuilt_percent: f64,
}

/// What an array lost for good: the run of the array ended there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataLoss {
    /// When the spindle failed that was one too many, seconds from the start of the run.
    pub at_seconds: f64,
    /// The spindles of which something was missing then, that one last.
    pub spindles: Vec<u16>,
    /// Stripes that lost more blocks than they have parity.
    pub stripes: u64,
    /// Stripes of the array; of an in-place array those of the LUN.
    pub stripes_in_all: u64,
    /// Bytes of the LUN that lay in those stripes on the lost spindles.
    pub lun_bytes: u64,
}

/// What was lost of an array in a segment, and what was done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Redundancy {
    /// Spindles of which something was missing when the segment ended.
    pub lost_spindles: u32,
    /// How far the spindles that had failed by then were rebuilt, mean, percent.
    pub rebuilt_percent: f64,
    /// Reads that wanted lost blocks.
    pub degraded_reads: u64,
    /// Spindle commands that read the rest of their stripes instead.
    pub recovery_reads: u64,
    /// Spindle commands by which the rebuild read.
    pub rebuild_reads: u64,
    /// Spindle commands by which the rebuild wrote.
    pub rebuild_writes: u64,
}

impl SpindleFailure {
    /// The failure with every time and percentage [`rounded`] to `significant_digits`.
    #[must_use]
    pub fn rounded(self, significant_digits: usize) -> Self {
        let round = |figure| rounded(figure, significant_digits);
        Self {
            spindle: self.spindle,
            at_seconds: round(self.at_seconds),
            rebuild_began_at_seconds: self.rebuild_began_at_seconds.map(round),
            rebuilt_at_seconds: self.rebuilt_at_seconds.map(round),
            rebuild_seconds: self.rebuild_seconds.map(round),
            rebuilt_percent: round(self.rebuilt_percent),
        }
    }
}

impl DataLoss {
    /// What `array` lost, in a sentence.
    pub(crate) fn sentence(&self, array: &str) -> String {
        let spindles: Vec<String> = self.spindles.iter().map(u16::to_string).collect();
        format!(
            "{array} lost data after {} s, and its run stopped there: with spindles {} lost, {} of {} stripes cannot be \
             recovered, {:.2} GiB of its LUN.",
            self.at_seconds,
            spindles.join(", "),
            self.stripes,
            self.stripes_in_all,
            self.lun_bytes as f64 / (1_u64 << 30) as f64,
        )
    }
}
