//! The phases of a run: parts of it with workloads of their own.

use serde::{Deserialize, Serialize};

/// A part of a run with workloads of its own. Phases with the same workloads are alike, and only like phases are
/// compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name, unique in a run.
    pub name: String,
    /// The number of its first segment.
    pub first_segment: u32,
    /// Its segments, also those that a run that was stopped did not get to.
    pub segments: u32,
    /// The workloads that run in it, in the order of the scenario.
    pub workloads: Vec<String>,
    /// Operations that they keep outstanding on this array.
    pub outstanding: u32,
}

impl Phase {
    /// Returns the number of its last segment.
    #[must_use]
    pub const fn last_segment(&self) -> u32 {
        (self.first_segment + self.segments).saturating_sub(1)
    }

    /// Returns whether the segment of that number is in the phase.
    pub fn has(&self, segment: u32) -> bool {
        (self.first_segment..=self.last_segment()).contains(&segment)
    }
}

/// Returns the workloads of a kind of phase in words.
pub fn kind_in_words(workloads: &[String]) -> String {
    workloads.join(" + ")
}

/// Returns an array, and the workloads of a kind of phase if there are any.
pub fn subject(array: &str, workloads: &[String]) -> String {
    match workloads {
        [] => array.to_owned(),
        workloads => format!("{array}, {}", kind_in_words(workloads)),
    }
}
