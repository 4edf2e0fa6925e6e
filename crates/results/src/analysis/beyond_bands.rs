//! Whether two runs differ by more than their bands explain.
//!
//! Runs of one scenario share its constants and its fitted rows. An error in these moves both figures alike, to first
//! order, so between two settings of an array only the seeds count. Arrays of different scenarios, or of different
//! names, share nothing, and their whole bands count. Either way the two sides are independent, and add in quadrature.
//! A band's part for seeds has the scatter of the mean of its runs too, which makes the verdict the more careful.

use crate::data::array::ArrayResults;
use crate::data::band::FigureBand;
use crate::data::comparison::Metric;
use crate::data::number::rounded;
use crate::data::results::Results;
use crate::data::runs::RunsComparison;
use crate::data::segment::Segment;

/// A difference between two figures beside what their bands explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BesideBands {
    /// What the bands explain, percent of the first figure.
    pub(super) explained_percent: f64,
    /// Whether the difference is more.
    pub(super) is_beyond: bool,
    /// Whether the seeds alone count.
    pub(super) seeds_alone: bool,
}

/// Compares the difference of a metric between two segments with their bands; none if either has no band that counts.
pub(super) fn beside_bands(
    first: (&Results, &ArrayResults, &Segment),
    other: (&Results, &ArrayResults, &Segment),
    metric: Metric,
) -> Option<BesideBands> {
    let (before, after) = (metric.of(first.2), metric.of(other.2));
    let (of_first, of_other) = (band(first.2, metric)?, band(other.2, metric)?);
    let seeds_alone = first.0.scenario == other.0.scenario && first.1.name == other.1.name;
    let sides = match seeds_alone {
        true => [before * of_first.seeds_percent? / 100.0, after * of_other.seeds_percent? / 100.0],
        false => {
            let [first_down, first_up] = of_first.down_and_up(before);
            let [other_down, other_up] = of_other.down_and_up(after);
            // The sides that face each other.
            if after > before { [first_up, other_down] } else { [first_down, other_up] }
        }
    };
    let explained = (sides[0] * sides[0] + sides[1] * sides[1]).sqrt();
    (before > 0.0).then(|| BesideBands {
        explained_percent: rounded(100.0 * explained / before, 3),
        is_beyond: (after - before).abs() > explained,
        seeds_alone,
    })
}

fn band(segment: &Segment, metric: Metric) -> Option<FigureBand> {
    let band = segment.band.as_ref()?;
    match metric {
        Metric::Iops => Some(band.iops),
        Metric::MibPerS => None,
        Metric::ResponseMs => band.response_ms,
    }
}

/// Returns what a reader must know of the bands of the runs.
pub(super) fn notes(runs: &[(String, &Results)], compared: &RunsComparison) -> Vec<String> {
    let of_segments = compared.arrays.iter().flat_map(|array| &array.segments);
    let mut figures = of_segments.flat_map(|segment| segment.figures.iter().flatten());
    let any = figures.any(|figures| {
        figures.iops_beyond_bands.is_some() || figures.response_beyond_bands.is_some()
    });
    let has_bands = |results: &Results| {
        results.arrays.iter().flat_map(|array| &array.segments).any(|one| one.band.is_some())
    };
    let without = runs.iter().filter(|(_, results)| !has_bands(results));
    let without: Vec<&str> = without.map(|(name, _)| name.as_str()).collect();
    let mut notes = Vec::new();
    if any {
        let scenarios = |(_, results): &(String, &Results)| results.scenario.clone();
        let mut names: Vec<String> = runs.iter().map(scenarios).collect();
        names.sort();
        names.dedup();
        let counted = match names.len() {
            1 => {
                "The runs share the unknown constants and fitted figures of one scenario, so only their seeds count."
            }
            _ => {
                "Between runs of one scenario, which share its unknown constants and fitted figures, only the seeds count; \
                 between others the whole bands do."
            }
        };
        notes.push(format!("* More than the bands of both runs explain, in quadrature. {counted}"));
    }
    // Only a simulation can be repeated with other seeds and nothing else changed.
    let remedy = match runs.iter().all(|(_, results)| results.real_spindles.is_some()) {
        true => "",
        false => "; see strewn run --replicates",
    };
    match (any, without.as_slice()) {
        (false, []) if !any_common_seed(runs) => notes.push(
            format!("The bands have no part for seeds, so it is unknown which differences are chance{remedy}."),
        ),
        (_, []) => {}
        (_, without) if without.len() == runs.len() => notes.push(
            format!("No run has bands, so it is unknown which differences are chance{remedy}."),
        ),
        (_, without) => notes.push(format!(
            "Without bands, so that it is unknown which of their differences are chance: {}{remedy}.",
            without.join(", ")
        )),
    }
    notes
}

/// Returns whether any run has a band with a part for seeds.
fn any_common_seed(runs: &[(String, &Results)]) -> bool {
    let mut segments =
        runs.iter().flat_map(|(_, results)| &results.arrays).flat_map(|array| &array.segments);
    segments.any(|one| one.band.as_ref().is_some_and(|band| band.iops.seeds_percent.is_some()))
}
