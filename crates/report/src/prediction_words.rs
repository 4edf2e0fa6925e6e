//! Predictions with what came of them, in words: the same on a terminal, on a study's page and in a report.

use serde::{Serialize, Serializer};
use strewn_results::{JudgedPrediction, PredictionVerdict, StudyText, Sweep, rounded};

/// Significant digits of a figure that words quote.
const QUOTED_DIGITS: usize = 3;
/// Digits of a measured mean: with that many, a figure lies on the side of a bound on which it was judged to be.
const MOST_DIGITS: usize = 9;
/// Whole numbers below this are written in full.
const LARGEST_IN_FULL: f64 = 1e9;

/// A judged prediction in words.
#[derive(Serialize)]
pub(crate) struct PredictionWords {
    /// As the study has it.
    pub(crate) text: String,
    /// The reason; may be empty.
    pub(crate) why: String,
    pub(crate) bounds: String,
    /// Empty if it was not measured.
    pub(crate) measured: String,
    #[serde(serialize_with = "in_words")]
    pub(crate) verdict: PredictionVerdict,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn in_words<S: Serializer>(verdict: &PredictionVerdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.words())
}

impl PredictionWords {
    /// Judges the predictions of a study.
    pub(crate) fn all(sweep: &Sweep, text: &StudyText) -> Vec<Self> {
        text.predictions.iter().map(|prediction| Self::of(&sweep.judge(prediction))).collect()
    }

    fn of(judged: &JudgedPrediction<'_>) -> Self {
        let JudgedPrediction { prediction, mean, interval, unit, verdict } = judged;
        let space = if unit.is_empty() { "" } else { " " };
        // As the study's file writes them: a bound that was rounded would not be the bound.
        let bounds = match (prediction.least, prediction.most) {
            (Some(least), Some(most)) => format!("{least} to {most}{space}{unit}"),
            (Some(least), None) => format!("at least {least}{space}{unit}"),
            (None, Some(most)) => format!("at most {most}{space}{unit}"),
            (None, None) => String::new(),
        };
        let bounding: Vec<f64> = prediction.least.into_iter().chain(prediction.most).collect();
        let figure = |figure: f64| apart(figure, &bounding);
        let measured = match (mean, interval) {
            (None, _) => String::new(),
            (Some(mean), None) => format!("{}{space}{unit}", figure(*mean)),
            (Some(mean), Some([low, high])) => {
                format!("{}{space}{unit} ({} to {})", figure(*mean), figure(*low), figure(*high))
            }
        };
        Self {
            text: one_line(&prediction.text),
            why: one_line(&prediction.why),
            bounds,
            measured,
            verdict: *verdict,
        }
    }
}

/// Returns how many of a study's predictions held, and what the others are: `5 of 6 predictions held, 1 undecided.`
/// None if it has none.
#[must_use]
pub fn predictions_sentence(sweep: &Sweep, text: &StudyText) -> Option<String> {
    let verdicts: Vec<PredictionVerdict> =
        text.predictions.iter().map(|prediction| sweep.judge(prediction).verdict).collect();
    let count = |verdict| verdicts.iter().filter(|other| **other == verdict).count();
    let all = verdicts.len();
    let predictions = if all == 1 { "prediction" } else { "predictions" };
    let mut words = format!("{} of {all} {predictions} held", count(PredictionVerdict::Held));
    // Those that failed are the rest.
    for verdict in [PredictionVerdict::Undecided, PredictionVerdict::NotMeasured] {
        match count(verdict) {
            0 => {}
            count => words += &format!(", {count} {}", verdict.words()),
        }
    }
    (all > 0).then(|| words + ".")
}

/// Writes a figure with three digits, or all digits before the point.
pub(crate) fn quoted(number: f64) -> String {
    if number.abs() >= 100.0 && number.abs() < LARGEST_IN_FULL {
        return rounded(number, 15).round().to_string();
    }
    rounded(number, QUOTED_DIGITS).to_string()
}

/// Writes a figure as [`quoted`] does, with more digits where it would otherwise seem to lie on another side of a
/// bound.
fn apart(number: f64, bounds: &[f64]) -> String {
    let is_true = |text: &String| {
        let shown: f64 = text.parse().unwrap_or(f64::NAN);
        bounds.iter().all(|bound| shown.partial_cmp(bound) == number.partial_cmp(bound))
    };
    let longer =
        (QUOTED_DIGITS + 1..=MOST_DIGITS).map(|digits| rounded(number, digits).to_string());
    let texts = std::iter::once(quoted(number)).chain(longer);
    texts.into_iter().find(is_true).unwrap_or_else(|| number.to_string())
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_on_the_side_of_a_bound_on_which_it_was_judged() {
        for (number, bounds, text) in [
            (103.21, vec![98.5, 101.5], "103"),
            (4679.6, vec![4680.0], "4679.6"),
            (4680.0, vec![4680.0], "4680"),
            (101.52, vec![98.5, 101.5], "102"),
            (101.48, vec![98.5, 101.5], "101"),
            (99.96, vec![100.0], "99.96"),
            (0.123_456, vec![], "0.123"),
        ] {
            assert_eq!(apart(number, &bounds), text);
        }
    }
}
