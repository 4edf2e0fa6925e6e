//! What tables, charts and the report of a sweep say in words.

use strewn_results::words::fixed;
use strewn_results::{
    QUICK_NOTE, SegmentChoice, Sweep, SweepAxis, SweepBase, SweepFigure, SweepRow,
};

/// Runs that failed and are described.
const MOST_ERRORS: usize = 5;

/// Returns what was run: version, seeds, scale.
pub(crate) fn run_words(sweep: &Sweep) -> String {
    let seeds = match sweep.seeds.as_slice() {
        [] => "no seed".to_owned(),
        [seed] => format!("seed {seed}"),
        [first, second] => format!("seeds {first} and {second}"),
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

/// Returns whether a text is a chart of a sweep, in SVG, that this program has drawn.
#[must_use]
pub fn is_sweep_chart(svg: &str) -> bool {
    let title = svg.split_once("</title>").map(|(before, _)| before);
    svg.starts_with("<svg ") && title.is_some_and(|title| title.contains(": strewn "))
}

/// More values than this are not all listed.
const MOST_VALUES: usize = 24;

/// Returns what was run, by name: what all runs have in common, the values of each axis, and what each figure counts.
pub(crate) fn what_was_run(sweep: &Sweep) -> Vec<(String, String)> {
    let mut facts = in_common(&sweep.base);
    if sweep.scale_down > 1 {
        let words = format!("1/{}. Measured at 1/8: {QUICK_NOTE}", sweep.scale_down);
        facts.push(("scale".to_owned(), words));
    }
    facts.extend(sweep.axes.iter().map(|axis| (axis.name.clone(), values(axis))));
    for figure in &sweep.figures {
        let fact = (format!("figure \"{}\"", figure.quantity), figure_words(figure));
        // Arrays share most figures.
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    facts
}

fn in_common(base: &SweepBase) -> Vec<(String, String)> {
    if base.is_unknown() {
        return Vec::new();
    }
    let length = match base.segment_seconds {
        seconds if seconds <= 0.0 => String::new(),
        seconds => format!(" of {} each at full scale", time(seconds)),
    };
    let settings = base.set.iter().map(|(name, value)| format!("{name} = {value}"));
    let facts = [
        ("scenario", base.scenario.clone()),
        ("arrays", base.arrays.join(", ")),
        ("segments", format!("{}{length}", base.segments)),
        ("set in every run", settings.collect::<Vec<_>>().join("; ")),
        ("design", base.design.clone()),
    ];
    let is_told = |(_, words): &(&str, String)| !words.is_empty();
    facts.into_iter().filter(is_told).map(|(name, words)| (name.to_owned(), words)).collect()
}

/// Writes a length of time in the largest unit of which it is a whole number.
fn time(seconds: f64) -> String {
    let units = [(3600.0, "h"), (60.0, "min")];
    let whole = units.into_iter().find(|(unit, _)| seconds >= *unit && seconds % unit == 0.0);
    let (unit, name) = whole.unwrap_or((1.0, "s"));
    format!("{} {name}", seconds / unit)
}

fn values(axis: &SweepAxis) -> String {
    let labels: Vec<&str> = axis.values.iter().map(|value| value.label.as_str()).collect();
    match labels.as_slice() {
        [.., last] if labels.len() > MOST_VALUES => {
            let first = labels[..MOST_VALUES - 1].join("; ");
            format!("{first}; … {last} ({} in all)", labels.len())
        }
        labels => labels.join("; "),
    }
}

/// Returns what a figure counts, of what, and how it is taken from the segments.
fn figure_words(figure: &SweepFigure) -> String {
    let of = &figure.of;
    let mut words = of.metric.meaning().to_owned();
    if let Some(workload) = &of.workload {
        words += &format!(", workload {workload}");
    }
    if let Some(link) = &of.link {
        words += &format!(", link {link}");
    }
    if let Some(phase) = &of.phase {
        words += &format!(", phase {phase}");
    }
    words += &match (of.segment, of.statistic) {
        _ if figure.by_segment => ", of each segment".to_owned(),
        (Some(SegmentChoice::Last(_)), _) => ", last segment".to_owned(),
        (Some(SegmentChoice::Number(number)), _) => format!(", segment {number}"),
        (None, statistic) => format!(", {}", statistic.title()),
    };
    if let Some(segment) = of.over_segment {
        words += &match segment {
            SegmentChoice::Last(_) => ", in percent of the last segment".to_owned(),
            SegmentChoice::Number(number) => format!(", in percent of segment {number}"),
        };
    }
    if let Some(array) = &of.over {
        words += &format!(", in percent of {array}");
    }
    words
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

/// Returns the decimals of figures of one kind: four significant digits of the largest or so, and up to two more where
/// the intervals are narrower than that.
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
