//! What a sweep says of a study's predictions, and the figures that its words quote.

use crate::analysis::sweep::mean_and_interval;
use crate::data::study_text::Prediction;
use crate::data::sweep::{Sweep, SweepAxis, SweepRow};
use std::collections::BTreeMap;

/// How a prediction came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionVerdict {
    /// All of the measured interval is within its bounds; with one seed, the figure is.
    Held,
    /// All of it is outside.
    Failed,
    /// A bound lies within the interval: the seeds do not settle it.
    Undecided,
    /// The sweep has no such figure: a run is missing.
    NotMeasured,
}

impl PredictionVerdict {
    /// Returns the verdict in a word or two.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
        }
    }
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

/// Returns the place at which axes have these values, by their labels, and all others their first values: an index into
/// the values of each. It is one of `places`.
///
/// # Errors
/// If there is no such axis, value or place: what is wrong, and the remedy.
pub fn place_among<'a>(
    axes: &[SweepAxis],
    mut places: impl Iterator<Item = &'a [usize]>,
    words: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<usize>, (String, String)> {
    let quoted = |names: Vec<&str>| format!("there are: {}", names.join("; "));
    let mut at = vec![0; axes.len()];
    for (axis, label) in words {
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
    if places.any(|other| other == at) {
        return Ok(at);
    }
    let help = "name a value of each axis, or those of another combination".to_owned();
    Err(("no combination has these values".to_owned(), help))
}

impl Sweep {
    /// Returns the row of a figure where these axes have these values and all others their first.
    ///
    /// # Errors
    /// If there is none: what is wrong, and the remedy.
    pub fn row_at<'a>(
        &'a self,
        figure: &str,
        segment: Option<u32>,
        words: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<&'a SweepRow, (String, String)> {
        let places = self.rows.iter().map(|row| row.at.as_slice());
        let at = place_among(&self.axes, places, words)?;
        let index = self.figures.iter().position(|other| other.name == figure);
        let is_it =
            |row: &&SweepRow| row.at == at && Some(row.figure) == index && row.segment == segment;
        self.rows.iter().find(is_it).ok_or_else(|| {
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
        let verdict = mean.map_or(PredictionVerdict::NotMeasured, |mean| {
            verdict(prediction, interval.unwrap_or([mean; 2]))
        });
        JudgedPrediction { prediction, mean, interval, unit, verdict }
    }
}

/// Returns how a prediction comes out of an interval.
fn verdict(prediction: &Prediction, [low, high]: [f64; 2]) -> PredictionVerdict {
    let least = prediction.least.unwrap_or(f64::NEG_INFINITY);
    let most = prediction.most.unwrap_or(f64::INFINITY);
    if least <= low && high <= most {
        PredictionVerdict::Held
    } else if high < least || most < low {
        PredictionVerdict::Failed
    } else {
        PredictionVerdict::Undecided
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
