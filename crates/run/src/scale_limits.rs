//! What a run at a smaller scale does not have in proportion.

use strewn_array::stream_matches as matches_at_places;
use strewn_base::SECTOR_BYTES;
use strewn_scenario::{Array, Scenario};
use strewn_workload::AccessLine;

/// Returns the reads in a row that begin a stream on `array`: more in a run at a smaller scale with random reads of a
/// small file, which would begin streams by chance.
pub(crate) fn stream_matches(scenario: &Scenario, array: &Array) -> u8 {
    let reads = |line: &AccessLine| {
        line.percent_of_accesses > 0 && line.read_percent > 0 && line.random_percent > 0
    };
    let here = scenario.workloads.iter().filter(|workload| workload.runs_on(&array.name));
    let places = here.filter_map(|workload| {
        let specification = workload.specification().ok()?;
        let align = u64::from(workload.alignment_bytes).max(SECTOR_BYTES);
        specification.lines().iter().any(reads).then_some(workload.file_bytes / align)
    });
    matches_at_places(places.min().unwrap_or(u64::MAX), scenario.spindle_stretch)
}
