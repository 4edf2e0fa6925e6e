//! What tables, charts and the report of a sweep say in words.

use crate::data::number::fixed;
use crate::data::sweep::{Sweep, SweepRow};

/// Runs that failed and are described.
const MOST_ERRORS: usize = 5;

/// Returns what was run: version, seeds, scale.
pub(crate) fn run_words(sweep: &Sweep) -> String {
    let seeds = match sweep.seeds.as_slice() {
        [] => "no seed".to_owned(),
        [seed] => format!("seed {seed}"),
        [first, .., last] if *last - *first == sweep.seeds.len() as u64 - 1 => {
            format!("seeds {first} to {last}")
        }
        seeds => {
            let words: Vec<String> = seeds.iter().map(u64::to_string).collect();
            format!("seeds {}", words.join(", "))
        }
    };
    let scale = match sweep.scale_down {
        1 => "at full scale".to_owned(),
        by => format!("at 1/{by} of full scale"),
    };
    format!("{}: strewn {}, {seeds}, {scale}", sweep.study, sweep.strewn)
}

/// Returns what the intervals are; none if there are none.
pub(crate) fn interval_words(sweep: &Sweep) -> Option<String> {
    let seeds = sweep.seeds.len();
    let percent = sweep.confidence_percent;
    (seeds > 1).then(|| format!("{percent} % intervals of the mean over {seeds} seeds"))
}

/// Returns what is missing, and why: a sentence for all, and one for each of the first failures.
pub(crate) fn missing_words(sweep: &Sweep) -> Vec<String> {
    let count = sweep.missing.len();
    if count == 0 {
        return Vec::new();
    }
    let failures = || sweep.missing.iter().filter(|run| run.error.is_some());
    let failed = failures().count();
    let are = if count == 1 { "run is" } else { "runs are" };
    let mut words = vec![match failed {
        0 => format!("{count} {are} missing: not run yet."),
        failed if failed == count => format!("{count} {are} missing: failed."),
        failed => format!("{count} {are} missing: {failed} failed, the others are not run yet."),
    }];
    words.extend(failures().take(MOST_ERRORS).map(|run| {
        let error = run.error.as_deref().unwrap_or_default();
        format!("Combination {}, seed {}: {error}", run.combination, run.seed)
    }));
    if failed > MOST_ERRORS {
        words.push(format!("{} more failed.", failed - MOST_ERRORS));
    }
    words
}

/// Returns half the width of a row's interval.
pub(crate) fn half_width(row: &SweepRow) -> Option<f64> {
    row.interval.map(|[low, high]| (high - low) / 2.0)
}

/// Returns the decimals of figures of one kind: four significant digits of the largest or so, and up to two more where the
/// intervals are narrower than that.
pub(crate) fn decimals<'a>(rows: impl Iterator<Item = &'a SweepRow> + Clone) -> usize {
    let largest = rows.clone().filter_map(|row| row.mean).map(f64::abs).fold(0.0, f64::max);
    let few = match largest {
        1000.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        largest if largest > 0.0 => 3,
        _ => 0,
    };
    let widest = rows.filter_map(half_width).fold(0.0, f64::max);
    let is_hidden = |decimals: &usize| widest * 10_f64.powi(*decimals as i32) < 1.0;
    if widest > 0.0 { few + (few..few + 2).take_while(is_hidden).count() } else { few }
}

/// Formats a mean and half the width of its interval: `4863 ±12`.
pub(crate) fn mean_words(row: &SweepRow, decimals: usize) -> String {
    let Some(mean) = row.mean else { return "-".to_owned() };
    let half = half_width(row).map(|half| format!(" ±{}", fixed(half, decimals)));
    fixed(mean, decimals) + &half.unwrap_or_default()
}
