//! Simulated figures beside published ones.
//!
//! A segment that a parameter was fitted to says nothing about how well the model predicts, so the
//! root-mean-square error leaves it out.

use crate::data::array::ArrayResults;
use crate::data::columns::Unit;
use crate::data::comparison::{
    ComparedRow, ComparedSegment, Metric, PublishedComparison, Ratio, RowStatus,
};
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::published::{Published, PublishedArray};
use crate::data::published_row::PublishedRow;
use std::collections::BTreeMap;

/// Returns the segments that each array was fitted to, by array name, as its parameters declare
/// them.
#[must_use]
pub fn fitted_segments_by_array(arrays: &[ArrayResults]) -> BTreeMap<String, Vec<u32>> {
    arrays.iter().map(|array| (array.name.clone(), array.fitted_segments())).collect()
}

/// Compares every published metric of every array with what was simulated.
///
/// Entries come in the order of `arrays`, then of [`Metric::ALL`]. Segments that only one side has
/// are left out, as are arrays and metrics for which no segment is left: a quick or interrupted run
/// is compared as far as it went. An array absent from `fitted_segments_by_array` was not fitted.
#[must_use]
pub fn compare(
    published: &Published,
    arrays: &[ArrayResults],
    fitted_segments_by_array: &BTreeMap<String, Vec<u32>>,
) -> Vec<PublishedComparison> {
    let mut comparisons = Vec::new();
    for array in arrays {
        let Some(figures) = published.array(&array.name) else { continue };
        let fitted = fitted_segments_by_array.get(&array.name).map_or(&[][..], Vec::as_slice);
        comparisons.extend(
            Metric::ALL
                .into_iter()
                .filter_map(|metric| compare_metric(figures, array, metric, fitted)),
        );
    }
    comparisons
}

fn compare_metric(
    published: &PublishedArray,
    array: &ArrayResults,
    metric: Metric,
    fitted_segments: &[u32],
) -> Option<PublishedComparison> {
    let mut segments = Vec::with_capacity(array.segments.len());
    for segment in &array.segments {
        let Some(figure) = published.figure(metric, segment.index) else { continue };
        let simulated = metric.of(segment);
        segments.push(ComparedSegment {
            index: segment.index,
            published: figure,
            simulated: rounded(simulated, SIGNIFICANT_DIGITS),
            error_percent: 100.0 * (simulated - figure) / figure,
            fitted: published.was_fitted(segment.index, fitted_segments),
        });
    }
    let mut worst = *segments.first()?;
    for segment in &segments {
        if segment.error_percent.abs() > worst.error_percent.abs() {
            worst = *segment;
        }
    }
    let predicted_rms_error_percent = root_mean_square(
        segments.iter().filter(|segment| !segment.fitted).map(|segment| segment.error_percent),
    );
    for segment in &mut segments {
        segment.error_percent = rounded(segment.error_percent, ERROR_DIGITS);
    }
    Some(PublishedComparison {
        array: array.name.clone(),
        metric,
        fitted_segments: fitted_segments.to_vec(),
        predicted_rms_error_percent: predicted_rms_error_percent
            .map(|error| rounded(error, ERROR_DIGITS)),
        worst_error_percent: rounded(worst.error_percent, ERROR_DIGITS),
        worst_segment: worst.index,
        segments,
        over_seeds: None,
    })
}

/// Significant digits of errors and ratios.
const ERROR_DIGITS: usize = 4;

/// Returns the root of the mean square; none of nothing.
#[must_use]
pub fn root_mean_square(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values
        .into_iter()
        .fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value * value));
    (count > 0).then(|| (sum / f64::from(count)).sqrt())
}

/// Sets every published ratio beside the simulated one.
///
/// A ratio whose segment or arrays were not simulated, or whose denominator did nothing in that
/// segment, is left out.
#[must_use]
pub fn ratios(
    published: &Published,
    arrays: &[ArrayResults],
    fitted_segments_by_array: &BTreeMap<String, Vec<u32>>,
) -> Vec<Ratio> {
    let iops = |name: &str, segment: u32| {
        arrays.iter().find(|array| array.name == name)?.segment(segment).map(|found| found.iops)
    };
    let fitted = |name: &str, segment: u32| {
        fitted_segments_by_array.get(name).is_some_and(|fitted| fitted.contains(&segment))
    };
    let ratio = |ratio: &crate::data::published::PublishedRatio| {
        let of = iops(&ratio.of, ratio.segment)?;
        let over = iops(&ratio.over, ratio.segment)?;
        (over > 0.0).then(|| Ratio {
            name: ratio.name.clone(),
            of: ratio.of.clone(),
            over: ratio.over.clone(),
            segment: ratio.segment,
            published_percent: ratio.percent,
            simulated_percent: rounded(100.0 * of / over, ERROR_DIGITS),
            fitted: fitted(&ratio.of, ratio.segment) || fitted(&ratio.over, ratio.segment),
            band: None,
        })
    };
    published.ratios.iter().filter_map(ratio).collect()
}

/// A fit leaves its rows off by less than this on average, percent.
const FITTED_PERCENT: f64 = 2.0;

/// Returns how far rows are off on average, in percent, if that is too far for a setting that was fitted to them.
/// `None` also if one has no figure, as in a run that was cut short.
#[must_use]
pub fn off_percent(published: &Published, arrays: &[ArrayResults], rows: &[String]) -> Option<f64> {
    let error = |name: &String| {
        let row = published.rows.iter().find(|row| row.name == *name)?;
        row.error_percent(row.of.value(arrays)?)
    };
    let errors: Vec<f64> = rows.iter().map(error).collect::<Option<_>>()?;
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    (mean.abs() > FITTED_PERCENT).then(|| rounded(mean, ERROR_DIGITS))
}

/// Sets every published row beside the simulated figure. `fitted_rows` are the names of those that settings were fitted
/// to. In a run that is scaled down, nothing takes as long as at full scale.
#[must_use]
pub fn compare_rows(
    published: &Published,
    arrays: &[ArrayResults],
    fitted_rows: &[&str],
    is_scaled: bool,
) -> Vec<ComparedRow> {
    let compared = |row: &PublishedRow| {
        let is_shorter =
            is_scaled && row.of.metric.unit() == Unit::Seconds && !row.of.is_percentage();
        let simulated = row.of.value(arrays);
        let error_percent = simulated.and_then(|simulated| row.error_percent(simulated));
        let is_fitted = fitted_rows.contains(&row.name.as_str());
        let (status, why) = match (&row.not_scored, error_percent) {
            _ if is_fitted => (RowStatus::Fitted, None),
            (Some(why), _) => (RowStatus::NotScored, Some(why.clone())),
            _ if is_shorter => {
                (RowStatus::NotScored, Some("a quick run takes less time".to_owned()))
            }
            (None, Some(_)) => (RowStatus::Predicted, None),
            (None, None) => {
                let why = match simulated {
                    Some(_) => "the source gives no figure",
                    None => "the run has no such figure, or did not come to it",
                };
                (RowStatus::NotScored, Some(why.to_owned()))
            }
        };
        let shown = |value: f64| rounded(value, SIGNIFICANT_DIGITS);
        ComparedRow {
            name: row.name.clone(),
            published: row.figure,
            range: row.range,
            published_peak: row.peak,
            simulated: simulated.map(shown),
            over_seeds: None,
            simulated_peak: row.peak.and_then(|_| row.of.peak(arrays)).map(shown),
            error_percent: error_percent.map(|error| rounded(error, ERROR_DIGITS)),
            status,
            why,
            of: row.of.clone(),
        }
    };
    published.rows.iter().map(compared).collect()
}

impl PublishedRow {
    /// Returns how far a simulated figure is from what is published, in percent of that; none if nothing is.
    #[must_use]
    pub fn error_percent(&self, simulated: f64) -> Option<f64> {
        let published = match (self.figure, self.range) {
            (Some(figure), _) => figure,
            (None, Some([low, high])) => simulated.clamp(low, high),
            (None, None) => return None,
        };
        let error = simulated - published;
        Some(if error == 0.0 { 0.0 } else { 100.0 * error / published })
    }
}
