//! Spindles that failed in a run, and the consequences. The results of a run without failures have none of this.

use crate::data::finite::with_rounded_figures;
use serde::{Deserialize, Serialize};

/// What must stand beside the duration of a simulated rebuild (docs/model.md, "Failed spindles", has the figures).
pub const REBUILD_NOTE: &str = "Rebuild times are lower bounds for the steps in flight, which are chosen: no pacing, no \
    limit of the links to the drives and no computing of lost blocks is modelled. An idle RAID-DP group of 14 + 2 drives \
    (146 GB, 15,000 rpm) takes 64 minutes with 2 steps; 90 at best are published.";

/// The same of a pool's resilvers and rebuilds (docs/zfs.md has the figures).
pub const RESILVER_NOTE: &str = "Times of a pool's resilvers are lower bounds: OpenZFS's limits for each drive are modelled; \
    reading indirect blocks to find what is missing, the processor's time and limits of the links to the drives are not.";

/// A spindle that failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpindleFailure {
    /// The spindle, counted from 0: group after group, in each the data spindles first, then parity spindles.
    pub spindle: u16,
    /// When it failed, seconds from the start of the run.
    pub at_seconds: f64,
    /// When its rebuild began, seconds from the start of the run; none if there was no spare space for it.
    pub rebuild_began_at_seconds: Option<f64>,
    /// When it was fully rebuilt, seconds from the start of the run; none if it was not when the run ended.
    pub rebuilt_at_seconds: Option<f64>,
    /// Duration of its rebuild, seconds; none if it did not end. Of a simulated array, a lower bound
    /// ([`REBUILD_NOTE`], [`RESILVER_NOTE`]).
    pub rebuild_seconds: Option<f64>,
    /// Progress of its rebuild when the run ended, percent.
    pub rebuilt_percent: f64,
}

/// The data that an array lost for good. Its run ended there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataLoss {
    /// When the failure that exceeded parity happened, seconds from the start of the run.
    pub at_seconds: f64,
    /// The spindles that were not fully rebuilt then, the last to fail at the end.
    pub spindles: Vec<u16>,
    /// Stripes that lost more blocks than they have parity.
    pub stripes: u64,
    /// Stripes of the group; for an in-place array, those of the disk group's LUNs.
    pub stripes_in_all: u64,
    /// Bytes of the LUN in those stripes on the lost spindles.
    pub lun_bytes: u64,
}

/// What was lost of an array in a segment, and what was done to recover it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Redundancy {
    /// Spindles that were not fully rebuilt when the segment ended.
    pub lost_spindles: u32,
    /// Mean rebuild progress of the spindles that had failed by then, percent.
    pub rebuilt_percent: f64,
    /// Reads of lost blocks.
    pub degraded_reads: u64,
    /// Spindle commands that read the rest of their stripes instead.
    pub recovery_reads: u64,
    /// Spindle commands of rebuild reads.
    pub rebuild_reads: u64,
    /// Spindle commands of rebuild writes.
    pub rebuild_writes: u64,
}

impl SpindleFailure {
    /// Returns the failure with every time and percentage [`rounded`](crate::rounded) to `significant_digits`.
    #[must_use]
    pub fn rounded(self, significant_digits: usize) -> Self {
        with_rounded_figures(self, significant_digits)
    }
}

impl DataLoss {
    /// Returns what `array` lost, in a sentence.
    pub fn sentence(&self, array: &str) -> String {
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
