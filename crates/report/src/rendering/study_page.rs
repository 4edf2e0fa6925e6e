//! The page of a study: question, arguments, predictions with what came of them, charts, finding.

use crate::analysis::study::{JudgedPrediction, PredictionVerdict};
use crate::data::study_text::StudyText;
use crate::data::sweep::Sweep;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use std::fmt::Write as _;
use std::sync::Arc;

/// Significant digits of a figure that words quote.
const QUOTED_DIGITS: usize = 3;
/// Whole numbers below this are written in full.
const LARGEST_IN_FULL: f64 = 1e9;

/// The words of a study cannot be filled in.
#[derive(Debug, thiserror::Error)]
#[error("{field}: {message}")]
pub struct StudyPageError {
    /// The field of the study's file.
    field: &'static str,
    /// What is wrong with it.
    message: String,
}

impl StudyPageError {
    /// Returns what is wrong, without the field.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl StudyText {
    /// Returns the finding, with the figures that it quotes; none if the study has none yet.
    ///
    /// # Errors
    /// If it quotes a figure that the sweep does not have.
    pub fn finding(&self, sweep: &Sweep) -> Result<Option<String>, StudyPageError> {
        filled(&environment(sweep), "finding", &self.finding)
    }

    /// Returns what the finding depends on, with the figures that it quotes; none if the study does not say.
    ///
    /// # Errors
    /// If it quotes a figure that the sweep does not have.
    pub fn dependence(&self, sweep: &Sweep) -> Result<Option<String>, StudyPageError> {
        filled(&environment(sweep), "depends", &self.depends)
    }
}

/// Where a study's page says that it comes from.
#[derive(Clone, Debug)]
pub struct StudySource {
    /// The command that runs it.
    pub command: String,
    /// The study's file, as a link from the page; none if that is not known.
    pub link: Option<String>,
}

/// Returns the page of a study as Markdown. `charts` are the files of its charts, with their titles, beside the page.
///
/// # Errors
/// If the finding quotes a figure that the sweep does not have.
pub fn study_page(
    sweep: &Sweep,
    text: &StudyText,
    charts: &[(String, String)],
    source: &StudySource,
) -> Result<String, StudyPageError> {
    let environment = environment(sweep);
    let mut page = format!("# {}\n", sweep.title);
    let mut paragraph = |head: &str, body: &str| {
        if !body.trim().is_empty() {
            let head = if head.is_empty() { String::new() } else { format!("\n## {head}\n") };
            let _ = write!(page, "{head}\n{}\n", body.trim());
        }
    };
    paragraph("", &text.question);
    paragraph("Finding", &filled(&environment, "finding", &text.finding)?.unwrap_or_default());
    let pictures: Vec<String> =
        charts.iter().map(|(file, title)| format!("![{title}]({file})")).collect();
    paragraph("", &pictures.join("\n\n"));
    paragraph("What was argued", &arguments(text));
    paragraph("Predicted before the run", &predictions(sweep, text));
    paragraph(
        "What it depends on",
        &filled(&environment, "depends", &text.depends)?.unwrap_or_default(),
    );
    paragraph("How it was run", &how(sweep, source));
    Ok(page)
}

fn arguments(text: &StudyText) -> String {
    let line = |argument: &crate::Argument| {
        format!("- **{}**: {}\n", argument.who, one_line(&argument.said))
    };
    text.arguments.iter().map(line).collect()
}

fn predictions(sweep: &Sweep, text: &StudyText) -> String {
    if text.predictions.is_empty() {
        return String::new();
    }
    let judged: Vec<JudgedPrediction<'_>> =
        text.predictions.iter().map(|prediction| sweep.judge(prediction)).collect();
    let mut table = String::from("| prediction | bounds | measured | |\n|---|---|---|---|\n");
    for JudgedPrediction { prediction, mean, interval, unit, verdict } in &judged {
        let mut words = one_line(&prediction.text);
        if !prediction.why.trim().is_empty() {
            let _ = write!(words, " *{}*", one_line(&prediction.why));
        }
        let number = |number: f64| with_unit(number, unit);
        let bounds = match (prediction.least, prediction.most) {
            (Some(least), Some(most)) => format!("{} to {}", quoted(least), number(most)),
            (Some(least), None) => format!("at least {}", number(least)),
            (None, Some(most)) => format!("at most {}", number(most)),
            (None, None) => String::new(),
        };
        let measured = match (mean, interval) {
            (None, _) => String::new(),
            (Some(mean), None) => number(*mean),
            (Some(mean), Some([low, high])) => {
                format!("{} ({} to {})", number(*mean), quoted(*low), quoted(*high))
            }
        };
        let verdict = match verdict {
            PredictionVerdict::Held => "held",
            PredictionVerdict::Failed => "**failed**",
            PredictionVerdict::NotMeasured => "not measured",
        };
        let _ = writeln!(table, "| {words} | {bounds} | {measured} | {verdict} |");
    }
    table
}

fn how(sweep: &Sweep, source: &StudySource) -> String {
    let axes = sweep.axes.iter().map(|axis| {
        let values: Vec<&str> = axis.values.iter().map(|value| value.label.as_str()).collect();
        format!("- {}: {}\n", axis.name, values.join("; "))
    });
    let scale = match sweep.scale_down {
        1 => "full scale".to_owned(),
        by => format!("1/{by} of full scale"),
    };
    let seeds = match sweep.seeds.len() {
        1 => "one seed, so there are no intervals".to_owned(),
        count => format!("{count} seeds, means with intervals of {} %", sweep.confidence_percent),
    };
    let missing = match sweep.missing.len() {
        0 => String::new(),
        count => format!(" {count} runs are missing."),
    };
    let axes: String = axes.collect();
    let file = source.link.as_ref().map(|link| {
        let name = link.rsplit('/').next().unwrap_or(link);
        // A space ends a bare link.
        let link = if link.contains([' ', '(', ')']) { format!("<{link}>") } else { link.clone() };
        format!(" The study is [{name}]({link}).")
    });
    format!(
        "`{}`: {scale}, {seeds}, Strewn {}.{missing}{}\n\n{axes}",
        source.command,
        sweep.strewn,
        file.unwrap_or_default()
    )
}

/// Returns what templates of a study's file may use: the figures of the sweep.
fn environment(sweep: &Sweep) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let shared = Arc::new(sweep.clone());
    environment.add_function("at", move |figure: &str, place: Option<&str>| {
        quoted_at(&shared, figure, place.unwrap_or_default())
    });
    environment
}

/// Fills in a template of the study's file; none if it is empty.
fn filled(
    environment: &Environment<'_>,
    field: &'static str,
    template: &str,
) -> Result<Option<String>, StudyPageError> {
    if template.trim().is_empty() {
        return Ok(None);
    }
    let text = environment.render_str(template, ());
    text.map(Some).map_err(|error| StudyPageError {
        field,
        message: error.detail().unwrap_or(&error.to_string()).to_owned(),
    })
}

/// Returns the mean of a figure at a place such as `alignment = 4 KiB; file = 100 GB`.
fn quoted_at(sweep: &Sweep, figure: &str, place: &str) -> Result<String, Error> {
    let wrong = |message: String| Error::new(ErrorKind::InvalidOperation, message);
    let mut at = Vec::new();
    let mut segment = None;
    for part in place.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((axis, label)) = part.split_once('=') else {
            return Err(wrong(format!("\"{part}\" is no AXIS = VALUE; several are divided by ;")));
        };
        match (axis.trim(), label.trim()) {
            ("segment", number) => segment = number.parse().ok(),
            pair => at.push(pair),
        }
    }
    let row = sweep.row_at(figure, segment, at).map_err(|(message, help)| {
        wrong(format!("at(\"{figure}\", \"{place}\"): {message}; {help}"))
    })?;
    row.mean
        .map(quoted)
        .ok_or_else(|| wrong(format!("\"{figure}\" was not measured at \"{place}\"")))
}

/// Writes a figure with three digits, or all digits before the point.
fn quoted(number: f64) -> String {
    if number.abs() >= 100.0 && number.abs() < LARGEST_IN_FULL {
        return crate::data::number::rounded(number, 15).round().to_string();
    }
    crate::data::number::rounded(number, QUOTED_DIGITS).to_string()
}

fn with_unit(number: f64, unit: &str) -> String {
    if unit.is_empty() { quoted(number) } else { format!("{} {unit}", quoted(number)) }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
