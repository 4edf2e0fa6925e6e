//! Verdicts on runs side by side: which is faster, by how much, and what was set differently. There is one for each
//! kind of phase; `docs/report.md` has the rule.

use crate::analysis::beyond_bands::{BesideBands, beside_bands};
use crate::analysis::in_run::{InRun, is_set_differently};
use crate::analysis::like::{have_same_mix, is_measure_of_array, like_kinds};
use crate::data::comparison::Metric;
use crate::data::number::fixed;
use crate::data::phase::kind_in_words;
use crate::data::results::Results;
use crate::data::runs::{ComparedArray, DifferingParameter};
use crate::data::segment::Segment;
use crate::data::workload::WorkloadFigures;

/// The settings that tell runs apart and change no figure.
const NAMES: [&str; 3] = ["name", "title", "published"];
/// The beginning of the names of prices, which change no figure that is compared.
const PRICES: &str = "overhead.";
/// A difference smaller than this is none, if there are no bands to compare it with: other seeds differ as much.
const SAME_PERCENT: f64 = 1.0;

/// Returns which of an array's runs is faster than the first, by how much, and what was set differently: a text for
/// each run and kind of phase.
pub(super) fn verdicts(
    runs: &[(String, &Results)],
    settings: &[DifferingParameter],
    array: &ComparedArray,
    in_runs: &[InRun<'_>],
) -> Vec<String> {
    let Some((baseline, others)) = in_runs.split_first() else { return Vec::new() };
    let mut all = Vec::new();
    for (position, other) in (1..).zip(others) {
        let names = [array.runs[0], array.runs[position]].map(|run| runs[run].0.as_str());
        let pair = Pair { first: *baseline, second: *other, names };
        let mut of_pair = pair.verdicts();
        if let Some(last) = of_pair.last_mut() {
            last.push_str(&format!(" {}", causes(settings, array, position)));
        }
        all.extend(of_pair);
    }
    all
}

/// Returns what was set differently in the run at `position` from the first.
fn causes(settings: &[DifferingParameter], array: &ComparedArray, position: usize) -> String {
    let differs = |row: &DifferingParameter, run: usize, first: usize| {
        let value = |of: usize| row.values.get(of)?.as_deref();
        is_set_differently(&row.name, value(run), value(first))
    };
    let run_wide = settings
        .iter()
        .filter(|row| differs(row, array.runs[position], array.runs[0]))
        .map(|row| row.name.as_str())
        .filter(|name| !NAMES.contains(name) && !name.starts_with(PRICES));
    let own = array.parameters.iter().filter(|row| differs(row, position, 0));
    let mut causes: Vec<&str> = own.map(|row| row.name.as_str()).chain(run_wide).collect();
    // Longer runs do not make a segment faster.
    causes.retain(|name| *name != "segments");
    match causes.as_slice() {
        [] => "Nothing that changes figures was set differently.".to_owned(),
        [only] => format!("Set differently: {only}."),
        several => format!("Set differently, each a possible cause: {}.", several.join(", ")),
    }
}

/// An array in two runs, and the names of these.
struct Pair<'a> {
    first: InRun<'a>,
    second: InRun<'a>,
    names: [&'a str; 2],
}

/// Segments of both runs in which they did the same.
type Segments<'a> = (&'a Segment, &'a Segment);

/// A difference in a figure.
struct Difference {
    metric: Metric,
    before: f64,
    after: f64,
    beside: Option<BesideBands>,
}

impl<'a> Pair<'a> {
    /// Returns a verdict for each kind of phase, of the last segment in which both did the same.
    fn verdicts(&self) -> Vec<String> {
        let [first_name, name] = self.names;
        let kinds = like_kinds(std::slice::from_ref(self.first.1));
        let of_kinds: Vec<(&[String], Vec<Segments<'_>>)> =
            kinds.into_iter().map(|kind| (kind, self.compared(kind))).collect();
        if of_kinds.iter().all(|(_, segments)| segments.is_empty()) {
            return vec![format!(
                "{name} and {first_name} have no segment with the same operations in both."
            )];
        }
        let verdict = |(kind, segments): (&[String], Vec<Segments<'_>>)| match segments.last() {
            Some(last) => self.verdict(*last, &segments),
            None => {
                let kind = kind_in_words(kind);
                format!(
                    "{name} and {first_name} have no segment of {kind} with the same operations in both."
                )
            }
        };
        of_kinds.into_iter().map(verdict).collect()
    }

    /// Returns the segments of a kind of phase in which both did the same, in the order of the run.
    fn compared(&self, kind: &[String]) -> Vec<Segments<'a>> {
        let (first, second) = (self.first, self.second);
        // Different accesses would be compared with each other.
        if first.0.load_words() != second.0.load_words() {
            return Vec::new();
        }
        let pairs = first.1.rated_segments().iter();
        let pairs =
            pairs.filter_map(|segment| Some((segment, second.1.rated_segment(segment.index)?)));
        let same = pairs.filter(|(one, other)| {
            one.ops > 0
                && first.1.kind_of(one) == kind
                && second.1.kind_of(other) == kind
                && have_same_mix(first.0.workload.as_ref(), one, other)
        });
        same.collect()
    }

    /// Returns the verdict of one kind of phase by its `last` segments.
    fn verdict(&self, last: Segments<'_>, all: &[Segments<'_>]) -> String {
        let [first_name, name] = self.names;
        let place = self.place(last.0);
        let difference = self.difference(last);
        let workloads = both_at_work(last);
        if matches!(difference.metric, Metric::ResponseMs) && workloads.len() > 1 {
            let words: Vec<String> = workloads.iter().map(|both| of_workload(*both)).collect();
            return format!(
                "In segment {place} {name} is compared with {first_name} by workload, since hosts set the pace and the \
                 mixture may change: {}.{}",
                words.join("; "),
                self.elsewhere(last, &difference, all)
            );
        }
        let (figures, outcome) = (difference.figures(), difference.outcome());
        let beside = difference.beside_words();
        let elsewhere = self.elsewhere(last, &difference, all);
        format!("In segment {place} {name} {figures} is {outcome} {first_name}{beside}.{elsewhere}")
    }

    /// Returns the number of a segment and, in a run with phases, their workloads and its phase.
    fn place(&self, segment: &Segment) -> String {
        match self.first.1.phase_of(segment) {
            Some(phase) => {
                let kind = kind_in_words(&phase.workloads);
                format!("{} ({kind}, phase \"{}\")", segment.index, phase.name)
            }
            None => segment.index.to_string(),
        }
    }

    /// Compares IOPS where both arrays were the limit, otherwise response times.
    fn difference(&self, (one, other): Segments<'_>) -> Difference {
        let is_limit = |run: InRun<'_>, segment: &Segment| {
            is_measure_of_array(run.0.workload.as_ref(), run.1, segment)
        };
        let by_iops = is_limit(self.first, one) && is_limit(self.second, other);
        self.difference_in((one, other), if by_iops { Metric::Iops } else { Metric::ResponseMs })
    }

    fn difference_in(&self, (one, other): Segments<'_>, metric: Metric) -> Difference {
        let (first, second) =
            ((self.first.0, self.first.1, one), (self.second.0, self.second.1, other));
        let beside = beside_bands(first, second, metric);
        Difference { metric, before: metric.of(one), after: metric.of(other), beside }
    }

    /// Returns a sentence on the phase of this kind in which the runs differ most, if that is clearly more than in the
    /// `last` segments, and not their phase.
    fn elsewhere(&self, last: Segments<'_>, of_last: &Difference, all: &[Segments<'_>]) -> String {
        let others = all.iter().filter(|(one, _)| one.phase != last.0.phase);
        let differences = others.map(|both| (both.0, self.difference_in(*both, of_last.metric)));
        let counts = differences.filter(|(_, of)| {
            let is_beyond = of.beside.map_or(of.percent().abs() >= SAME_PERCENT, |it| it.is_beyond);
            is_beyond && of.percent().abs() > 2.0 * of_last.percent().abs()
        });
        let size = |of: &Difference| of.percent().abs();
        let largest = counts.max_by(|one, other| size(&one.1).total_cmp(&size(&other.1)));
        largest.map_or_else(String::new, |(segment, of)| {
            let mark = if of.beside.is_some() { ", more than the bands explain" } else { "" };
            let (place, figures, outcome) = (self.place(segment), of.figures(), of.outcome());
            let [first_name, name] = self.names;
            format!(" In segment {place} {name} {figures} is {outcome} {first_name}{mark}.")
        })
    }
}

/// Returns the workloads that have operations in both segments.
fn both_at_work<'a>((one, other): Segments<'a>) -> Vec<(&'a WorkloadFigures, &'a WorkloadFigures)> {
    let at_work = one.by_workload.iter().filter(|workload| workload.ops() > 0);
    let in_both = at_work.filter_map(|workload| {
        let mut others = other.by_workload.iter().filter(|other| other.ops() > 0);
        Some((workload, others.find(|other| other.name == workload.name)?))
    });
    in_both.collect()
}

/// Compares one workload: its response times if it kept its rate, otherwise its IOPS.
fn of_workload((one, other): (&WorkloadFigures, &WorkloadFigures)) -> String {
    let iops =
        Difference { metric: Metric::Iops, before: one.iops, after: other.iops, beside: None };
    let difference = match iops.percent().abs() < SAME_PERCENT {
        true => Difference {
            metric: Metric::ResponseMs,
            before: one.response_ms.mean,
            after: other.response_ms.mean,
            beside: None,
        },
        false => iops,
    };
    let outcome = match difference.outcome().strip_suffix(" than") {
        Some(outcome) => outcome.to_owned(),
        None => format!("within {SAME_PERCENT} %"),
    };
    format!("{} {} is {outcome}", one.name, difference.figures())
}

impl Difference {
    fn percent(&self) -> f64 {
        match self.before {
            0.0 => 0.0,
            before => 100.0 * (self.after - before) / before,
        }
    }

    /// Returns both figures with their unit.
    fn figures(&self) -> String {
        let decimals = match self.metric {
            Metric::Iops => 0,
            _ if self.before < 10.0 => 2,
            _ => 1,
        };
        let (after, before) = (fixed(self.after, decimals), fixed(self.before, decimals));
        match self.metric {
            Metric::Iops => format!("({after} IOPS against {before})"),
            _ => format!("({after} ms on average against {before})"),
        }
    }

    /// Returns how the second compares, to stand before the name of the first.
    fn outcome(&self) -> String {
        let [more, less] = match self.metric {
            Metric::Iops => ["faster", "slower"],
            _ => ["slower", "faster"],
        };
        match self.percent() {
            percent if percent.abs() < SAME_PERCENT && self.beside.is_none() => {
                format!("within {SAME_PERCENT} % of")
            }
            percent if percent.abs() < 0.05 => "as fast as".to_owned(),
            percent => {
                let word = if percent > 0.0 { more } else { less };
                format!("{} % {word} than", fixed(percent.abs(), 1))
            }
        }
    }

    /// Returns what the bands say, to stand after the name of the first.
    fn beside_words(&self) -> String {
        self.beside.map_or_else(String::new, |beside| {
            let explained = fixed(beside.explained_percent, 2);
            let what = if beside.seeds_alone { "other seeds make" } else { "their bands explain" };
            let more = if beside.is_beyond { "more" } else { "no more" };
            format!(", {more} than {what} ({explained} %)")
        })
    }
}
