//! What is wrong with a scenario, and where: errors for a person to read.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};

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

/// What sort of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The text is not TOML.
    Syntax,
    /// A key that scenarios do not have.
    UnknownKey,
    /// A key that must be there is not.
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
        let span = span.start.min(text.len())..span.end.min(text.len());
        let before = &text.as_bytes()[..span.start];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Self {
            kind,
            field,
            message,
            help,
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            // In characters, as editors count; a byte that continues a character starts none.
            column: before[line_start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1,
            span,
        }
    }

    /// What sort of thing is wrong.
    #[must_use]
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The field, as a path of keys with arrays named: `array[FAS2050].processor.per_kib`. Empty
    /// when the text is not TOML.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong, without the field.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would be right.
    #[must_use]
    pub fn help_text(&self) -> &str {
        &self.help
    }

    /// The line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// The bytes of the text that are wrong.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    fn label(&self) -> LabeledSpan {
        let label = match self.kind {
            ProblemKind::Syntax => "here",
            ProblemKind::UnknownKey => "no such key here",
            ProblemKind::Missing => "missing from this table",
            ProblemKind::Value => "this value",
        };
        LabeledSpan::new_primary_with_span(
            Some(label.to_owned()),
            SourceSpan::from((self.span.start, self.span.len())),
        )
    }
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

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(self.label())))
    }
}

/// Why a scenario could not be used: a file that cannot be read, or every problem found in it, in
/// the order of the text.
///
/// As a [`Diagnostic`], a single problem is the error itself, with its label and help; several are
/// its `related` diagnostics, all upon the one source text.
#[derive(Debug)]
pub struct ScenarioError(Box<Cause>);

#[derive(Debug)]
enum Cause {
    Unreadable { path: PathBuf, error: std::io::Error },
    Problems { path: PathBuf, source: NamedSource<Arc<str>>, problems: Vec<Problem> },
}

impl ScenarioError {
    pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> Self {
        Self(Box::new(Cause::Unreadable { path: path.to_owned(), error }))
    }

    pub(crate) fn problems_in(path: &Path, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span.start);
        let source = NamedSource::new(path.display().to_string(), Arc::from(text));
        let source = source.with_language("TOML");
        Self(Box::new(Cause::Problems { path: path.to_owned(), source, problems }))
    }

    /// The scenario's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &*self.0 {
            Cause::Unreadable { path, .. } | Cause::Problems { path, .. } => path,
        }
    }

    /// Every problem in the text, in its order; none if the file could not be read at all.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match &*self.0 {
            Cause::Unreadable { .. } => &[],
            Cause::Problems { problems, .. } => problems,
        }
    }

    /// The problem, when there is just one.
    fn only(&self) -> Option<&Problem> {
        match self.problems() {
            [only] => Some(only),
            _ => None,
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

impl std::error::Error for ScenarioError {}

impl Diagnostic for ScenarioError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match &*self.0 {
            Cause::Unreadable { .. } => {
                Some(Box::new("a scenario is a TOML file; those that ship are in scenarios/"))
            }
            Cause::Problems { .. } => self.only().and_then(Diagnostic::help),
        }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match &*self.0 {
            Cause::Unreadable { .. } => None,
            Cause::Problems { source, .. } => Some(source),
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only().and_then(Diagnostic::labels)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.problems() {
            [] | [_] => None,
            several => Some(Box::new(several.iter().map(|problem| problem as &dyn Diagnostic))),
        }
    }
}
