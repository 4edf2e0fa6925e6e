//! The page of a study: question, arguments, predictions with what came of them, charts, finding.

use crate::prediction_words::{PredictionWords, one_line, quoted};
use crate::sweep_words::what_was_run;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use std::fmt::Write as _;
use std::sync::Arc;
use strewn_results::words::wrapped;
use strewn_results::{PredictionVerdict, StudyText, Sweep};

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

/// Returns the finding of a study, with the figures that it quotes; none if the study has none yet.
///
/// # Errors
/// If it quotes a figure that the sweep does not have.
pub fn study_finding(text: &StudyText, sweep: &Sweep) -> Result<Option<String>, StudyPageError> {
    filled(&environment(sweep), "finding", &text.finding)
}

/// Returns what the finding depends on, with the figures that it quotes; none if the study does not say.
///
/// # Errors
/// As [`study_finding`].
pub fn study_depends(text: &StudyText, sweep: &Sweep) -> Result<Option<String>, StudyPageError> {
    filled(&environment(sweep), "depends", &text.depends)
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
            let _ = write!(page, "{head}\n{}\n", markdown_in_lines(body.trim()));
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
    paragraph(HOW, &how(sweep, source));
    Ok(page)
}

/// The head of the last section, which begins with a command of `strewn`.
const HOW: &str = "How it was run";

/// Returns whether a text is a page that [`study_page`] returned.
#[must_use]
pub fn is_study_page(text: &str) -> bool {
    text.starts_with("# ") && text.contains(&format!("\n## {HOW}\n\n`strewn "))
}

/// The most characters of a line of the page.
const WIDTH: usize = 120;

/// Returns Markdown whose paragraphs and lists are in lines of at most 120 characters; tables and pictures stay as they
/// are.
#[must_use]
pub fn markdown_in_lines(markdown: &str) -> String {
    let block = |block: &str| {
        if block.starts_with(['|', '!']) {
            return block.trim_end().to_owned();
        }
        let mut items: Vec<String> = Vec::new();
        for line in block.lines().map(str::trim) {
            match items.last_mut() {
                Some(item) if !line.starts_with("- ") => *item += &format!(" {line}"),
                _ => items.push(line.to_owned()),
            }
        }
        let indent = |item: &String| if item.starts_with("- ") { "  " } else { "" };
        let items = items.iter().map(|item| wrapped(item, WIDTH, indent(item)));
        items.collect::<Vec<_>>().join("\n")
    };
    markdown.split("\n\n").map(block).collect::<Vec<_>>().join("\n\n")
}

fn arguments(text: &StudyText) -> String {
    let line = |argument: &strewn_results::Argument| {
        format!("- **{}**: {}\n", argument.who, one_line(&argument.said))
    };
    text.arguments.iter().map(line).collect()
}

fn predictions(sweep: &Sweep, text: &StudyText) -> String {
    if text.predictions.is_empty() {
        return String::new();
    }
    let mut table = String::from("| prediction | bounds | measured | |\n|---|---|---|---|\n");
    for PredictionWords { text, why, bounds, measured, verdict } in
        PredictionWords::all(sweep, text)
    {
        let why = if why.is_empty() { why } else { format!(" *{}*", in_cell(&why)) };
        let verdict = match verdict {
            PredictionVerdict::Failed => "**failed**",
            other => other.words(),
        };
        let _ = writeln!(table, "| {}{why} | {bounds} | {measured} | {verdict} |", in_cell(&text));
    }
    table
}

fn how(sweep: &Sweep, source: &StudySource) -> String {
    let facts = what_was_run(sweep);
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
    let facts: String = facts.iter().map(|(name, words)| format!("- {name}: {words}\n")).collect();
    let file = source.link.as_ref().map(|link| {
        let name = link.rsplit('/').next().unwrap_or(link);
        // A space ends a bare link.
        let link = if link.contains([' ', '(', ')']) { format!("<{link}>") } else { link.clone() };
        format!(" The study is [{name}]({link}).")
    });
    format!(
        "`{}`: {scale}, {seeds}, Strewn {}.{missing}{}\n\n{facts}",
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

/// Returns words for a cell of a table.
fn in_cell(words: &str) -> String {
    words.replace('|', "\\|")
}
