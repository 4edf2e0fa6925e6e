//! Relocation in a segment: what moved, for which cause, and what was read for it. The results of an array that
//! relocates nothing have none of this.

use serde::{Deserialize, Serialize};

/// What an array relocated in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relocation {
    /// After host reads in order; absent if nothing moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_reads: Option<Relocated>,
    /// By reallocation scans; absent if nothing moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_scans: Option<Relocated>,
    /// Read to be sent away, which moves nothing here; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Relocated>,
    /// To clean free space; absent if nothing moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_cleaning: Option<Relocated>,
    /// The reallocation scan, or what reads to send; absent in an array without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<ReallocationScan>,
}

/// What was relocated for one cause, or sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relocated {
    /// Blocks of 4 KiB.
    pub blocks: u64,
    /// Spindle reads for them.
    pub reads: u64,
}

/// How far reallocation scans were when a segment ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReallocationScan {
    /// Scans begun since the start.
    pub begun: u32,
    /// Part of the LUNs that the last one had passed, percent.
    pub passed_percent: f64,
    /// When the last one that had ended did, seconds from the start; absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_seconds: Option<f64>,
}

impl Relocated {
    /// Returns what moved, or `None` if nothing did and nothing was read for it.
    #[must_use]
    pub fn new(blocks: u64, reads: u64) -> Option<Self> {
        (blocks + reads > 0).then_some(Self { blocks, reads })
    }
}

impl Relocation {
    /// Returns the blocks of all causes.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.causes().map(|cause| cause.blocks).sum()
    }

    /// Returns the spindle reads of all causes, and of what was sent.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.causes().chain(self.sent).map(|cause| cause.reads).sum()
    }

    fn causes(&self) -> impl Iterator<Item = Relocated> {
        [self.after_reads, self.by_scans, self.by_cleaning].into_iter().flatten()
    }
}
