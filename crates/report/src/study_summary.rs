//! What a study asks, what came of its predictions, and what it found, as text.

use crate::prediction_words::{PredictionWords, one_line, predictions_sentence};
use crate::study_page::{StudyPageError, study_depends, study_finding};
use strewn_results::{StudyText, Sweep};

/// Widest verdict.
const VERDICT_LETTERS: usize = 12;

/// Returns a study's words for a terminal, below the table of its figures: question, finding, predictions with bounds,
/// measured figure and verdict, and what the finding depends on. Empty if the study has none of them.
///
/// What was argued is in the report. A finding that quotes a figure which the sweep lacks is replaced by what is
/// lacking.
#[must_use]
pub fn study_summary(sweep: &Sweep, text: &StudyText) -> String {
    let mut summary = String::new();
    let mut paragraph = |head: &str, body: &str| {
        if !body.trim().is_empty() {
            summary.push_str(&format!("\n{head}: {}\n", one_line(body)));
        }
    };
    paragraph("Question", &text.question);
    let filled = |filled: Result<Option<String>, StudyPageError>| match filled {
        Ok(filled) => filled.unwrap_or_default(),
        Err(error) => format!("cannot be filled in: {error}"),
    };
    paragraph("Finding", &filled(study_finding(text, sweep)));
    paragraph("Depends", &filled(study_depends(text, sweep)));
    if let Some(sentence) = predictions_sentence(sweep, text) {
        summary.push_str("\nPredicted before the run:\n");
        for words in PredictionWords::all(sweep, text) {
            let PredictionWords { text, bounds, measured, verdict, .. } = words;
            let measured =
                if measured.is_empty() { measured } else { format!("; measured {measured}") };
            let verdict = verdict.words();
            summary
                .push_str(&format!("  {verdict:VERDICT_LETTERS$}  {text} [{bounds}{measured}]\n"));
        }
        summary.push_str(&format!("{sentence}\n"));
    }
    summary
}
