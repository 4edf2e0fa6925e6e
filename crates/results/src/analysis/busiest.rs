//! The busiest component of an array.

use crate::data::results::Results;
use crate::data::segment::Segment;

/// The busiest component of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busiest {
    /// The controller's processor.
    Controller,
    /// The spindles, data or parity.
    Spindles,
    /// The device of the log.
    Log,
}

impl Busiest {
    /// Returns its name in a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Spindles => "spindles",
            Self::Log => "log\u{2019}s device",
        }
    }
}

/// A log's device counts as the busiest only if it leads by more than this. Several I/Os are in flight at a real
/// device, so one that is busy nearly always may still take more.
const CLEARLY: f64 = 0.05;

/// Returns the busiest component of a segment.
pub fn busiest(results: &Results, segment: &Segment) -> Busiest {
    let (controller, spindles) = (segment.utilization.controller, busiest_spindles(segment));
    let log = results.real_spindles.as_ref().and_then(|real| real.log_of(segment.index));
    if log.is_some_and(|(_, log)| log.utilization > controller.max(spindles) + CLEARLY) {
        Busiest::Log
    } else if controller >= spindles {
        Busiest::Controller
    } else {
        Busiest::Spindles
    }
}

pub(crate) fn busiest_spindles(segment: &Segment) -> f64 {
    let utilization = &segment.utilization;
    utilization.spindles.max(utilization.parity_spindles.unwrap_or_default())
}
