//! What a sweep says of a study's predictions, and the figures that its words quote.

use crate::analysis::sweep::mean_and_interval;
use crate::data::study_text::Prediction;
use crate::data::sweep::{Sweep, SweepAxis, SweepRow};
use std::collections::BTreeMap;

/// How a prediction came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionVerdict {
    /// The measured mean is within its bounds.
    Held,
    /// It is not.
    Failed,
    /// The sweep has no such figure: a run is missing.
    NotMeasured,
}

/// A prediction with what was measured.
#[derive(Clone, Debug)]
pub struct JudgedPrediction<'a> {
    /// The prediction.
    pub prediction: &'a Prediction,
    /// The measured mean.
    pub mean: Option<f64>,
    /// Its interval, if there are seeds enough.
    pub interval: Option<[f64; 2]>,
    /// The unit of both; `%` for a figure over another.
    pub unit: &'a str,
    /// How it came out.
    pub verdict: PredictionVerdict,
}

/// Returns the combination that has these values of axes, by their labels, and the first values of all others.
///
/// # Errors
/// If there is no such axis, value or combination: what is wrong, and the remedy.
pub fn combination_at<'a>(
    axes: &[SweepAxis],
    combinations: &[Vec<usize>],
    place: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<usize, (String, String)> {
    let quoted = |names: Vec<&str>| format!("there are: {}", names.join("; "));
    let mut at = vec![0; axes.len()];
    for (axis, label) in place {
        let Some(index) = axes.iter().position(|other| other.name == axis) else {
            let names = axes.iter().map(|axis| axis.name.as_str()).collect();
            return Err((format!("there is no axis \"{axis}\""), quoted(names)));
        };
        let labels: Vec<&str> =
            axes[index].values.iter().map(|value| value.label.as_str()).collect();
        let Some(value) = labels.iter().position(|other| *other == label) else {
            return Err((format!("the axis \"{axis}\" has no value \"{label}\""), quoted(labels)));
        };
        at[index] = value;
    }
    combinations.iter().position(|other| *other == at).ok_or_else(|| {
        let help = "name a value of each axis, or those of another combination".to_owned();
        ("no combination has these values".to_owned(), help)
    })
}

impl Sweep {
    /// Returns the row of a figure at a combination.
    fn row(&self, figure: &str, combination: usize, segment: Option<u32>) -> Option<&SweepRow> {
        let figure = self.figures.iter().position(|other| other.name == figure)?;
        self.rows.iter().find(|row| {
            row.combination == combination && row.figure == figure && row.segment == segment
        })
    }

    /// Returns the combinations that have rows, by number.
    fn combinations(&self) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = Vec::new();
        for row in &self.rows {
            if all.len() <= row.combination {
                all.resize(row.combination + 1, Vec::new());
            }
            all[row.combination].clone_from(&row.at);
        }
        all
    }

    /// Returns the row of a figure where these axes have these values and all others their first.
    ///
    /// # Errors
    /// If there is none: what is wrong, and the remedy.
    pub fn row_at<'a>(
        &self,
        figure: &str,
        segment: Option<u32>,
        place: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<&SweepRow, (String, String)> {
        let combination = combination_at(&self.axes, &self.combinations(), place)?;
        self.row(figure, combination, segment).ok_or_else(|| {
            let names: Vec<&str> = self.figures.iter().map(|one| one.name.as_str()).collect();
            (
                format!("there is no figure \"{figure}\" there"),
                format!("there are: {}", names.join("; ")),
            )
        })
    }

    /// Judges a prediction by the sweep.
    #[must_use]
    pub fn judge<'a>(&'a self, prediction: &'a Prediction) -> JudgedPrediction<'a> {
        let words = |place: &'a BTreeMap<String, String>| {
            place.iter().map(|(axis, label)| (axis.as_str(), label.as_str()))
        };
        let row = |place| self.row_at(&prediction.figure, prediction.segment, words(place)).ok();
        let row_here = row(&prediction.at);
        let (mean, interval) = match (&prediction.over, row_here) {
            (_, None) => (None, None),
            (None, Some(here)) => (here.mean, here.interval),
            (Some(over), Some(here)) => match row(over) {
                Some(there) => share(here, there),
                None => (None, None),
            },
        };
        let figure = self.figures.iter().find(|one| one.name == prediction.figure);
        let unit = match prediction.over {
            Some(_) => "%",
            None => figure.map_or("", |figure| figure.unit.as_str()),
        };
        let is_within = |mean: f64| {
            prediction.least.is_none_or(|least| mean >= least)
                && prediction.most.is_none_or(|most| mean <= most)
        };
        let verdict = match mean {
            None => PredictionVerdict::NotMeasured,
            Some(mean) if is_within(mean) => PredictionVerdict::Held,
            Some(_) => PredictionVerdict::Failed,
        };
        JudgedPrediction { prediction, mean, interval, unit, verdict }
    }
}

/// Returns what a row is in percent of another, by seed.
fn share(here: &SweepRow, there: &SweepRow) -> (Option<f64>, Option<[f64; 2]>) {
    let pairs = here.samples.iter().zip(&there.samples);
    let shares: Vec<f64> = pairs
        .filter_map(|(here, there)| Some(((*here)?, (*there)?)))
        .filter(|(_, there)| *there != 0.0)
        .map(|(here, there)| 100.0 * here / there)
        .collect();
    mean_and_interval(&shares)
}
