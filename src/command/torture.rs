//! `strewn torture`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use strewn::terminal::{self, Ending, Failure};
use strewn_live::torture::{self, Options, Summary};

use super::arguments::TortureArguments;

/// Most failures that are printed; the others are counted.
const MOST_FAILURES: usize = 20;

/// Runs schedules of faults, and prints those that failed.
pub(crate) fn torture(arguments: &TortureArguments) -> Result<Ending, Failure> {
    let TortureArguments { layout, single_lun, verbose, .. } = *arguments;
    let options = Options { layout, single_lun, verbose };
    let (first, count) = match arguments.replay {
        Some(seed) => (seed, 1),
        None => (arguments.first, arguments.seeds),
    };
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let sum = Mutex::new((Summary::default(), Vec::new()));
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return;
        }
        let outcome = torture::run(first + index, options);
        let Ok(mut sum) = sum.lock() else { return };
        match outcome {
            Ok(summary) => sum.0 += summary,
            Err(failure) => sum.1.push(failure),
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let (sum, mut failures) = sum.into_inner().unwrap_or_default();
    failures.sort_by_key(|failure| failure.seed);
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    let mut text: String =
        failures.iter().take(MOST_FAILURES).map(|failure| format!("{failure}\n")).collect();
    let Summary {
        incarnations,
        crashes,
        requests,
        losses,
        rebuilds,
        silent_faults,
        changes,
        changes_refused,
        refused_when_full,
        snapshots,
        groups_added,
        additions_undone,
        ios,
        beyond_parity,
        refused,
        refused_for_space,
        logs_refused,
        log_faults,
        logs_replaced,
        ..
    } = sum;
    text += &format!(
        "{count} schedules, {rate:.0} a second: {incarnations} incarnations, {requests} host requests, {ios} I/Os; power lost {crashes} times, devices {losses}, {rebuilds} rebuilds, {silent_faults} read errors and silent faults, {changes} changes of volumes, LUNs and snapshots, {changes_refused} refused, {snapshots} snapshots taken, {groups_added} parity groups added, {additions_undone} of these undone; {refused_for_space} requests refused without space, {refused_when_full} for thin volumes; beyond parity {beyond_parity} blocks read, {refused} refused, none wrong; {logs_refused} starts refused without the log; {log_faults} faults at rest of one device of a mirrored log, {logs_replaced} devices replaced\n"
    );
    terminal::print(&text)?;
    match failures.len() {
        0 => Ok(Ending::Complete),
        failed => Err(Failure::failed(format!("{failed} of {count} schedules do not hold"))),
    }
}
