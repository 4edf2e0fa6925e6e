//! How far an array is on the way to what it is to run until.

use strewn_base::SECTOR_BYTES;
use strewn_results::is_steady;
use strewn_sim::Segment;

use crate::array::Array;
use crate::scenario::Scenario;
use crate::until::Until;

/// Returns whether an array of a scenario has reached its goal after its warm-up, if it had one, and these segments;
/// false without a goal. What is written during a warm-up ages an array too.
#[must_use]
pub fn is_at_goal(
    scenario: &Scenario,
    array: &Array,
    warm_up: Option<&Segment>,
    segments: &[Segment],
) -> bool {
    let Some(until) = scenario.until else { return false };
    match until {
        Until::Rewritten(percent) => {
            let all = warm_up.into_iter().chain(segments);
            let written: f64 = all.map(|one| written_bytes(scenario, array, one)).sum();
            written >= percent / 100.0 * scenario.written_file_bytes(array) as f64
        }
        Until::Steady => {
            let iops: Vec<f64> = segments
                .iter()
                .map(|one| one.operations as f64 / one.length_ns.max(1) as f64)
                .collect();
            is_steady(&iops)
        }
    }
}

/// Returns what hosts wrote in a segment, in bytes. Where reads and writes were not measured apart, hosts wrote what
/// the workloads of the array say.
pub(crate) fn written_bytes(scenario: &Scenario, array: &Array, segment: &Segment) -> f64 {
    let of_workloads = segment.by_workload.iter().map(|one| &*one.by_direction);
    let measured = of_workloads.chain(segment.by_direction.as_deref());
    let sectors = measured.map(|[_, writes]| writes.answered.sectors);
    match sectors.reduce(|sum, sectors| sum + sectors) {
        Some(sectors) => (sectors * SECTOR_BYTES) as f64,
        None => segment.bytes as f64 * write_share(scenario, array),
    }
}

/// Returns the share of the bytes that the workloads of an array write.
fn write_share(scenario: &Scenario, array: &Array) -> f64 {
    let here = scenario.workloads.iter().filter(|workload| workload.runs_on(&array.name));
    let lines = here.filter_map(|workload| workload.specification().ok());
    let (all, written) = lines.flat_map(|of| of.lines().to_vec()).fold((0.0, 0.0), |sum, line| {
        let bytes = f64::from(line.bytes) * f64::from(line.percent_of_accesses);
        (sum.0 + bytes, sum.1 + bytes * (1.0 - f64::from(line.read_percent) / 100.0))
    });
    if all > 0.0 { written / all } else { 0.0 }
}
