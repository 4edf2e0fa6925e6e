//! Which figures follow from others, and so are no predictions of their own.

use crate::data::array::ArrayResults;
use crate::data::comparison::{ComparedRow, Metric, PublishedComparison, RowStatus};
use crate::data::results::Results;

/// Metrics of host operations of which each follows from any other: data rates by the mean size of an operation.
const OF_OPERATIONS: [&str; 3] = ["iops", "mib_per_s", "mb_per_s"];
/// The metric that follows from them where a fixed number of operations is outstanding, by Little's law.
const OF_CLOSED_LOOPS: &str = "response_ms";

/// Returns whether a metric of an array's operations follows from another one of the same operations.
fn follows(array: &ArrayResults, phase: Option<&str>, one: &str, other: &str) -> bool {
    let of_phase = phase.and_then(|name| array.phases.iter().find(|phase| phase.name == name));
    let outstanding = of_phase.map_or(array.outstanding, |phase| phase.outstanding);
    let is_linked = |metric: &str| {
        OF_OPERATIONS.contains(&metric) || (metric == OF_CLOSED_LOOPS && outstanding > 0)
    };
    one != other && is_linked(one) && is_linked(other)
}

/// Returns whether a comparison follows from that of the array's IOPS.
#[must_use]
pub fn follows_from_iops(results: &Results, comparison: &PublishedComparison) -> bool {
    let is_iops = |other: &&PublishedComparison| {
        other.array == comparison.array && other.metric == Metric::Iops
    };
    let Some(array) = results.array(&comparison.array) else { return false };
    let [one, other] = [comparison.metric, Metric::Iops].map(Metric::as_str);
    results.published.iter().any(|other| is_iops(&other)) && follows(array, None, one, other)
}

/// Returns the predicted rows that follow from no other that is fitted or comes before.
#[must_use]
pub fn independent_rows(results: &Results) -> Vec<&ComparedRow> {
    let rows = &results.published_rows;
    let is_independent = |at: usize| {
        let row = &rows[at];
        let Some(array) = results.array(&row.of.array) else { return true };
        let phase = row.of.phase.as_deref();
        let decides = |(position, other): (usize, &ComparedRow)| {
            let is_first = position < at && other.status == RowStatus::Predicted;
            let is_of_the_same =
                crate::FigureOf { metric: row.of.metric, ..other.of.clone() } == row.of;
            (is_first || other.status == RowStatus::Fitted)
                && is_of_the_same
                && follows(array, phase, row.of.metric.as_str(), other.of.metric.as_str())
        };
        !rows.iter().enumerate().any(decides)
    };
    let predicted = (0..rows.len()).filter(|at| rows[*at].status == RowStatus::Predicted);
    predicted.filter(|at| is_independent(*at)).map(|at| &rows[at]).collect()
}
