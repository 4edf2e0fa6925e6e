//! What came of a study's predictions, as text.

use crate::analysis::study::PredictionVerdict;
use crate::data::study_text::StudyText;
use crate::data::sweep::Sweep;

/// Returns a line for each prediction of a study: how it came out, what was measured, and its words.
#[must_use]
pub fn predictions_text(sweep: &Sweep, text: &StudyText) -> String {
    let line = |prediction| {
        let judged = sweep.judge(prediction);
        let verdict = match judged.verdict {
            PredictionVerdict::Held => "held",
            PredictionVerdict::Failed => "FAILED",
            PredictionVerdict::NotMeasured => "not measured",
        };
        let mean = judged.mean.map(|mean| format!(" ({mean:.4} {})", judged.unit));
        format!("{verdict}{}: {}\n", mean.unwrap_or_default(), prediction.text)
    };
    text.predictions.iter().map(line).collect()
}
