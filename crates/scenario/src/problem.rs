//! What is wrong with a scenario, and where: errors as data, for a program to show.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One thing wrong with a scenario: the field, its line and column, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    field: String,
    message: String,
    help: String,
    span: Range<usize>,
    line: usize,
    column: usize,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The text is not TOML.
    Syntax,
    /// A key that scenarios do not have.
    UnknownKey,
    /// A required key is missing.
    Missing,
    /// A value of the wrong type or unit, out of range, or at odds with another.
    Value,
}

impl Problem {
    pub(crate) fn new(
        kind: ProblemKind,
        text: &str,
        span: Range<usize>,
        field: String,
        message: String,
        help: String,
    ) -> Self {
        let start = char_boundary(text, span.start);
        let span = start..char_boundary(text, span.end).max(start);
        let before = &text.as_bytes()[..span.start];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Self {
            kind,
            field,
            message,
            help,
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            // In characters, as editors count. Continuation bytes do not start a character.
            column: before[line_start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1,
            span,
        }
    }

    /// Returns the kind of the problem.
    #[must_use]
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns the field, as a path of keys with arrays named: `array[FAS2050].processor.per_kib`.
    /// Empty when the text is not TOML.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns what is wrong, without the field.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> &str {
        &self.help
    }

    /// Returns the line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the column in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the bytes of the text that are wrong. The range lies in the text, on character
    /// boundaries; it is empty where something is missing at its start.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns a few words to write below the marked span.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.kind {
            ProblemKind::Syntax => "here",
            ProblemKind::UnknownKey => "no such key here",
            ProblemKind::Missing => "missing from this table",
            ProblemKind::Value => "this value",
        }
    }
}

/// Returns the character boundary of `text` at byte `at`, or the nearest one before it.
fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(formatter, "{}", self.message)
        } else {
            write!(formatter, "{}: {}", self.field, self.message)
        }
    }
}

impl std::error::Error for Problem {}

/// Why a scenario cannot be used: its file cannot be read, or every problem found in it, in the
/// order of the text.
///
/// It is data for a program to show. `Display` gives one line: the problem and its position if
/// there is one problem, and their number if there are several.
#[derive(Debug)]
pub struct ScenarioError(Box<Cause>);

#[derive(Debug)]
enum Cause {
    Unreadable { path: PathBuf, error: std::io::Error },
    Problems { path: PathBuf, text: String, problems: Vec<Problem> },
}

impl ScenarioError {
    pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> Self {
        Self(Box::new(Cause::Unreadable { path: path.to_owned(), error }))
    }

    pub(crate) fn problems_in(path: &Path, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span.start);
        let (path, text) = (path.to_owned(), text.to_owned());
        Self(Box::new(Cause::Problems { path, text, problems }))
    }

    /// Returns the scenario's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &*self.0 {
            Cause::Unreadable { path, .. } | Cause::Problems { path, .. } => path,
        }
    }

    /// Returns the text that the spans of the problems refer to; none if the file could not be
    /// read.
    #[must_use]
    pub fn source_text(&self) -> Option<&str> {
        match &*self.0 {
            Cause::Unreadable { .. } => None,
            Cause::Problems { text, .. } => Some(text),
        }
    }

    /// Returns every problem, in the order of the text; none if the file could not be read.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match &*self.0 {
            Cause::Unreadable { .. } => &[],
            Cause::Problems { problems, .. } => problems,
        }
    }

    /// Returns the remedy for a file that could not be read, or for the only problem. If there are
    /// several problems, each has its own.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        match (&*self.0, self.problems()) {
            (Cause::Unreadable { .. }, _) => {
                Some("a scenario is a TOML file; those that ship are in scenarios/")
            }
            (Cause::Problems { .. }, [only]) => Some(only.help()),
            (Cause::Problems { .. }, _) => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Cause::Unreadable { path, error } => {
                write!(formatter, "cannot read scenario {}: {error}", path.display())
            }
            Cause::Problems { path, problems, .. } => match problems.as_slice() {
                [only] => {
                    let (line, column) = (only.line, only.column);
                    write!(formatter, "{}:{line}:{column}: {only}", path.display())
                }
                several => {
                    write!(formatter, "{} problems in {}", several.len(), path.display())
                }
            },
        }
    }
}

impl std::error::Error for ScenarioError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Cause::Unreadable { error, .. } => Some(error),
            Cause::Problems { .. } => None,
        }
    }
}
