//! The phases of a run: parts of it with workloads of their own.

use crate::data::results::ArrayResults;
use crate::data::segment::Segment;
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

impl ArrayResults {
    /// Returns the phase that a segment is in; none in a run without phases.
    #[must_use]
    pub fn phase_of(&self, segment: &Segment) -> Option<&Phase> {
        let name = segment.phase.as_ref()?;
        self.phases.iter().find(|phase| phase.name == *name)
    }

    /// Returns the host operations kept outstanding in the segment of that number; 0 where they arrive by the clock.
    #[must_use]
    pub fn outstanding_in(&self, segment: u32) -> u32 {
        let phase = self.segment(segment).and_then(|segment| self.phase_of(segment));
        phase.map_or(self.outstanding, |phase| phase.outstanding)
    }

    /// Returns the workloads of a segment's phase; none in a run without phases. Segments with the same ones are of one
    /// kind.
    pub fn kind_of(&self, segment: &Segment) -> &[String] {
        self.phase_of(segment).map_or(&[], |phase| &phase.workloads)
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
