//! Streams that random reads of a small file would begin by chance.

use strewn_array::stream_matches as matches_at_places;
use strewn_base::SECTOR_BYTES;
use strewn_workload::AccessLine;

use crate::array::Array;
use crate::scenario::Scenario;
use crate::workload::Workload;

/// Returns the reads in a row that begin a stream on `array`: more in a run at a smaller scale with random reads of a
/// small file, which would begin streams by chance.
pub fn stream_matches(scenario: &Scenario, array: &Array) -> u8 {
    let here = scenario.workloads.iter().filter(|workload| workload.runs_on(&array.name));
    let random =
        here.filter(|workload| goes_to_random_places(workload, |line| line.read_percent > 0));
    let places = random.map(|workload| {
        workload.file_bytes / u64::from(workload.alignment_bytes).max(SECTOR_BYTES)
    });
    matches_at_places(places.min().unwrap_or(u64::MAX), scenario.spindle_stretch)
}

/// Whether some operations of `workload` go to random places, and `wanted` holds for them.
pub fn goes_to_random_places(workload: &Workload, wanted: impl Fn(&AccessLine) -> bool) -> bool {
    let of_line =
        |line: &AccessLine| line.percent_of_accesses > 0 && line.random_percent > 0 && wanted(line);
    let lines = workload.specification();
    lines.is_ok_and(|specification| specification.lines().iter().any(of_line))
}
