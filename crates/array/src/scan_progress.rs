//! How far background work of an array is.

use strewn_base::state::SavedValue;

/// How far the reallocation scans are.
#[derive(Debug, Clone, Copy, PartialEq, SavedValue)]
pub struct ScanProgress {
    /// Scans that have begun.
    pub begun: u32,
    /// Share of the LUNs' blocks that the last one has passed, 0 to 1.
    pub passed: f64,
    /// When the last one that has ended did, in the array's time.
    pub ended_ns: Option<u64>,
}

impl ScanProgress {
    /// Those of two arrays together: of the one that is behind.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            begun: self.begun.min(other.begun),
            passed: self.passed.min(other.passed),
            ended_ns: self.ended_ns.zip(other.ended_ns).map(|(one, other)| one.max(other)),
        }
    }
}
