//! What a run at a smaller scale does not have in proportion.

use strewn_array::{FailedSpindle, MOST_STREAMS, stream_matches as matches_at_places};
use strewn_scenario::{Array, Scenario};

use crate::array_run::ArrayRun;
use strewn_scenario::build::stream_matches;
use strewn_scenario::kinds::{MATTERS, ScaledRun, percent_words};

/// Returns what is changed of streams because the run is not at full scale; empty if nothing is.
pub(crate) fn changes(scenario: &Scenario) -> Vec<String> {
    let usual = matches_at_places(u64::MAX, 1);
    let of_array = |array: &Array| {
        let matches = stream_matches(scenario, array);
        (array.layout.read_ahead_bytes() > 0 && matches != usual).then(|| {
            format!("reads in a row that begin a stream of {} {usual} -> {matches}", array.name)
        })
    };
    scenario.arrays.iter().filter_map(of_array).collect()
}

/// Returns a sentence for each quantity that could not be scaled in proportion, where the figures of `array` depend on
/// it. The scenario is at 1/`by` of full scale.
pub(crate) fn out_of_proportion(
    scenario: &Scenario,
    by: u32,
    array: &Array,
    done: &ArrayRun,
) -> Vec<String> {
    let run = ScaledRun { scenario, by, array, segments: &done.segments };
    let of_kind = array.layout.out_of_proportion(&run);
    of_kind.into_iter().chain(streams(&run)).chain(rebuild(&run, &done.failures)).collect()
}

/// What streams cover, and random reads that fall into it.
fn streams(run: &ScaledRun<'_>) -> Option<String> {
    let random = run.random(|line| line.read_percent > 0);
    let file = random.iter().map(|workload| workload.file_bytes).min()?;
    // A stream is matched as far behind as it reads ahead.
    let window = 2 * run.array.layout.read_ahead_bytes() * MOST_STREAMS as u64;
    let share = window as f64 / file as f64;
    let full = share / f64::from(run.by);
    let ahead = run.sum(|counters| counters.read_ahead_blocks);
    let unused = ahead - run.sum(|counters| counters.read_ahead_used);
    let blocks = run.sum(|counters| counters.host_read_blocks);
    let is_wasted = ahead >= MATTERS * blocks && unused >= MATTERS * ahead;
    let what = format!(
        "{MOST_STREAMS} streams may cover {} of the file here, {} at full scale: read-ahead keeps its size, and random \
         reads fall among those of streams",
        percent_words(share),
        percent_words(full)
    );
    let differs = format!("blocks read ahead, {}", run.commands());
    (share - full >= MATTERS && is_wasted).then(|| run.sentence(&what, &differs))
}

/// A rebuild whose reads lie apart. Its steps seek farther, but may miss fewer turns of the disks: it takes more or
/// less than its share of the time.
fn rebuild(run: &ScaledRun<'_>, failures: &[FailedSpindle]) -> Option<String> {
    let is_rebuilt = failures.iter().any(|one| one.rebuild_began_ns.is_some());
    let what = format!(
        "what a rebuild reads next lies {} times as far apart as at full scale, so seeks and turns of the disks differ",
        run.by
    );
    is_rebuilt.then(|| run.sentence(&what, "times of rebuilds"))
}
