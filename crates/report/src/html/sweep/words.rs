//! The words of a study in the report of its sweep: what it asks, what was argued and predicted, what it found.

use crate::prediction_words::{PredictionWords, one_line, predictions_sentence};
use crate::study_page::{StudyPageError, study_depends, study_finding};
use serde::Serialize;
use strewn_results::{Argument, StudyText, Sweep};

/// A study's words, for the template. What the study does not have is empty.
#[derive(Serialize)]
pub(super) struct StudyWords {
    question: Vec<Paragraph>,
    finding: Vec<Paragraph>,
    depends: Vec<Paragraph>,
    arguments: Vec<Argument>,
    predictions: Vec<PredictionWords>,
    /// How many predictions held.
    sentence: Option<String>,
}

/// A paragraph, in pieces that are code or not.
type Paragraph = Vec<Piece>;

#[derive(Serialize)]
struct Piece {
    text: String,
    is_code: bool,
}

impl StudyWords {
    pub(super) fn of(sweep: &Sweep, text: &StudyText) -> Self {
        let argument = |argument: &Argument| Argument {
            who: argument.who.clone(),
            said: one_line(&argument.said),
        };
        Self {
            question: paragraphs(&text.question),
            finding: filled(study_finding(text, sweep)),
            depends: filled(study_depends(text, sweep)),
            arguments: text.arguments.iter().map(argument).collect(),
            predictions: PredictionWords::all(sweep, text),
            sentence: predictions_sentence(sweep, text),
        }
    }
}

/// Returns filled-in words. A sweep that is not complete may lack a figure that they quote: its report says so.
fn filled(filled: Result<Option<String>, StudyPageError>) -> Vec<Paragraph> {
    match filled {
        Ok(words) => paragraphs(&words.unwrap_or_default()),
        Err(error) => paragraphs(&format!("This cannot be filled in: {error}")),
    }
}

/// Divides text at empty lines, and each paragraph at the marks around code.
fn paragraphs(text: &str) -> Vec<Paragraph> {
    let text = text.replace("\r\n", "\n");
    let of = |paragraph: &str| -> Paragraph {
        let pieces = paragraph.split('`').enumerate();
        let piece = |(number, text): (usize, &str)| Piece {
            text: text.to_owned(),
            is_code: number % 2 == 1,
        };
        pieces.map(piece).filter(|piece| !piece.text.is_empty()).collect()
    };
    text.split("\n\n").map(one_line).filter(|part| !part.is_empty()).map(|part| of(&part)).collect()
}
