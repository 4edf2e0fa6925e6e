//! The figures of whole phases, each beside those of the first phase that is like it.

use crate::analysis::like::is_measure_of_array;
use crate::data::array::ArrayResults;
use crate::data::phase::Phase;
use crate::data::results::Results;
use crate::data::segment::Segment;

/// The figures of one phase of an array, over all its segments.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseFigures {
    /// The array.
    pub array: String,
    /// The phase.
    pub phase: Phase,
    /// Host operations completed per second.
    pub iops: f64,
    /// Host data moved, MiB per second.
    pub mib_per_s: f64,
    /// Mean response time, milliseconds.
    pub response_ms: f64,
    /// Spindle commands per host operation.
    pub commands_per_host_op: f64,
    /// Layout score at its end, 0 to 1.
    pub layout_score: f64,
    /// Difference of the IOPS from those of the first phase with the same workloads, percent of these; none in that
    /// phase, and if the host and not the array set them in one of the two.
    pub iops_difference_percent: Option<f64>,
}

/// Returns the figures of each phase of each array, as far as the run got; none in a run without phases.
#[must_use]
pub fn phase_figures(results: &Results) -> Vec<PhaseFigures> {
    results.arrays.iter().flat_map(|array| of_array(results, array)).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Vec<PhaseFigures> {
    let mut all: Vec<PhaseFigures> = Vec::new();
    let mut measure_array = Vec::new();
    for phase in &array.phases {
        let is_in = |segment: &&Segment| segment.phase.as_ref() == Some(&phase.name);
        let segments: Vec<&Segment> = array.segments.iter().filter(is_in).collect();
        let Some(end) = segments.last() else { break };
        let sum = |figure: &dyn Fn(&Segment) -> f64| -> f64 {
            segments.iter().map(|segment| figure(segment)).sum()
        };
        let (seconds, ops) = (sum(&|of| of.seconds), sum(&|of| of.ops as f64));
        let per_op = |total: f64| if ops > 0.0 { total / ops } else { 0.0 };
        let iops = ops / seconds;
        let is_measure =
            segments.iter().all(|of| is_measure_of_array(results.workload.as_ref(), array, of));
        let like = all.iter().position(|other| other.phase.workloads == phase.workloads);
        let like = like.filter(|at| is_measure && measure_array[*at]);
        all.push(PhaseFigures {
            array: array.name.clone(),
            phase: phase.clone(),
            iops,
            mib_per_s: sum(&|of| of.mib_per_s * of.seconds) / seconds,
            response_ms: per_op(sum(&|of| of.response_ms.mean * of.ops as f64)),
            commands_per_host_op: per_op(sum(&|of| of.commands_per_host_op() * of.ops as f64)),
            layout_score: end.layout.score,
            iops_difference_percent: like.map(|at| 100.0 * (iops - all[at].iops) / all[at].iops),
        });
        measure_array.push(is_measure);
    }
    all
}
