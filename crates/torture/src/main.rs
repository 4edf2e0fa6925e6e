//! Runs schedules of faults on whole live arrays, and prints those that fail a check.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use strewn_live::configuration::LayoutName;
use strewn_torture::{Options, ScheduleFailure, Summary};

/// Most failures that are printed; the others are counted.
const MOST_FAILURES: usize = 20;

const HELP: &str = "\
Examples:
  strewn-torture --seeds 20000 --jobs 2
  strewn-torture --replay 17 --verbose

Exit codes:
  0    every check passed
  1    a check failed, as printed
  2    an invalid option";

/// Runs whole arrays on failing simulated devices, and checks that no data are lost.
#[derive(Debug, Parser)]
#[command(name = "strewn-torture", version, after_help = HELP)]
struct Arguments {
    /// Number of schedules, one per seed
    #[arg(long, value_name = "N", default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    first: u64,
    /// Number of schedules to run in parallel
    #[arg(long, value_name = "J", default_value_t = 1)]
    jobs: u16,
    /// Test only this layout: raid-dp, raid-4, vraid-5 or raid-5 [default: each in turn]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutName>,
    /// Keep arrays to one LUN and its snapshots, without other volumes, LUNs and clones
    #[arg(long)]
    single_lun: bool,
    /// Run only the schedule of this seed
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
    /// Print every step
    #[arg(long, requires = "replay")]
    verbose: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { layout, single_lun, verbose, .. } = arguments;
    let options = Options { layout, single_lun, verbose };
    let (first, count) = match arguments.replay {
        Some(seed) => (seed, 1),
        None => (arguments.first, arguments.seeds),
    };
    let begun = Instant::now();
    let (sum, failures) = run_all(first, count, arguments.jobs, options);
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    let mut text: String =
        failures.iter().take(MOST_FAILURES).map(|failure| format!("{failure}\n")).collect();
    text += &describe(count, rate, &sum);
    // The exit code tells whoever closed the pipe.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    match failures.len() {
        0 => ExitCode::SUCCESS,
        failed => {
            eprintln!("error: {failed} of {count} schedules do not hold");
            ExitCode::FAILURE
        }
    }
}

/// Runs `count` schedules, and returns what happened in those that hold, and those that do not, by seed.
fn run_all(first: u64, count: u64, jobs: u16, options: Options) -> (Summary, Vec<ScheduleFailure>) {
    let next = AtomicU64::new(0);
    let sum = Mutex::new((Summary::default(), Vec::new()));
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return;
        }
        let outcome = strewn_torture::run(first + index, options);
        let Ok(mut sum) = sum.lock() else { return };
        match outcome {
            Ok(summary) => sum.0 += summary,
            Err(failure) => sum.1.push(*failure),
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(work);
        }
    });
    let (sum, mut failures) = sum.into_inner().unwrap_or_default();
    failures.sort_by_key(|failure| failure.seed);
    (sum, failures)
}

fn describe(count: u64, rate: f64, sum: &Summary) -> String {
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
        copies,
        scrubs,
        logs_refused,
        log_faults,
        logs_replaced,
        ..
    } = sum;
    format!(
        "{count} schedules, {rate:.0} a second: {incarnations} incarnations, {requests} host requests, {ios} I/Os; power lost {crashes} times, devices {losses}, {rebuilds} rebuilds, {silent_faults} read errors and silent faults, {changes} changes of volumes, LUNs and snapshots, {changes_refused} refused, {snapshots} snapshots taken, {groups_added} parity groups added, {additions_undone} of these undone; {refused_for_space} requests refused without space, {refused_when_full} for thin volumes; beyond parity {beyond_parity} blocks read, {refused} refused, none wrong; {copies} spindles put back as old copies, {scrubs} scrubs after lost writes; {logs_refused} starts refused without the log; {log_faults} faults at rest of one device of a mirrored log, {logs_replaced} devices replaced\n"
    )
}
