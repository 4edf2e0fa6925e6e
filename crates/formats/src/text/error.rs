//! Errors: position, problem and remedy.

use std::fmt;
use std::io;
use std::sync::Arc;

use thiserror::Error;

/// A position in a file: the file, its line, the column of the line.
///
/// It prints as editors and compilers write it, `web.icf:12:7`; without a file, `line 12, column 7`.
///
/// ```
/// use strewn_formats::fio::JobFile;
///
/// let error = JobFile::parse("[a]\nrw=raed\n", "web.fio").unwrap_err();
/// assert_eq!(error.position().to_string(), "web.fio:2:4");
/// assert_eq!((error.position().line(), error.position().column()), (Some(2), Some(4)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilePosition {
    file: Option<Arc<str>>,
    /// Counted from 1; 0 means the file as a whole.
    line: u64,
    /// Counted from 1, in characters; 0 means the line as a whole.
    column: u64,
}

impl FilePosition {
    pub(crate) fn new(file: Option<Arc<str>>, line: u64, column: u64) -> Self {
        Self { file, line, column }
    }

    /// Returns the name that the caller gave the file, if any.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Returns the line, counted from 1; none if the position is the file as a whole.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        (self.line > 0).then_some(self.line)
    }

    /// Returns the column in characters, counted from 1; none if the position is the line as a whole.
    #[must_use]
    pub fn column(&self) -> Option<u64> {
        (self.column > 0).then_some(self.column)
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, self.column) {
            (Some(file), 0, _) => write!(formatter, "{file}"),
            (Some(file), line, 0) => write!(formatter, "{file}:{line}"),
            (Some(file), line, column) => write!(formatter, "{file}:{line}:{column}"),
            (None, 0, _) => formatter.write_str("the input"),
            (None, line, 0) => write!(formatter, "line {line}"),
            (None, line, column) => write!(formatter, "line {line}, column {column}"),
        }
    }
}

/// The kind of an error in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It cannot be read, or its compressed data is damaged or cut short.
    Io,
    /// It is not text in UTF-8.
    Encoding,
    /// A line or a list is longer than in any file of the format.
    Limit,
    /// The structure is not the format's.
    Syntax,
    /// A name that the format does not have.
    UnknownName,
    /// A required part is missing.
    Missing,
    /// A value is malformed, out of range, or at odds with another.
    Value,
    /// Valid for the format's own tool, but not supported here.
    Refused,
    /// A record of a trace lies beyond the LUN.
    BeyondLun,
}

/// An error in a file: its position, the problem, and the remedy.
///
/// It prints as one line with all three. [`FileFormatError::problem`] leaves out the remedy, for callers that show
/// [`FileFormatError::help`] separately.
///
/// ```
/// use strewn_formats::fio::JobFile;
///
/// let error = JobFile::parse("[a]\nrw=read\niodpeth=8\n", "web.fio").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "web.fio:3:1: `iodpeth` is not an option of fio; did you mean `iodepth`?"
/// );
/// assert_eq!(error.problem(), "web.fio:3:1: `iodpeth` is not an option of fio");
/// assert_eq!(error.help(), "did you mean `iodepth`?");
/// ```
#[derive(Clone, Debug)]
pub struct FileFormatError(Box<Cause>);

#[derive(Clone, Debug)]
struct Cause {
    kind: ErrorKind,
    position: FilePosition,
    message: String,
    help: String,
    source: Option<Arc<io::Error>>,
    others: Vec<FileFormatError>,
}

impl FileFormatError {
    pub(crate) fn new(
        kind: ErrorKind,
        position: FilePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (message, help) = (message.into(), help.into());
        Self(Box::new(Cause { kind, position, message, help, source: None, others: Vec::new() }))
    }

    pub(crate) fn caused_by(mut self, source: io::Error) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Returns the first of several errors of one file, with the others below it; none if there are none.
    pub(crate) fn all(errors: Vec<Self>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let mut first = errors.next()?;
        first.0.others.extend(errors);
        Some(first)
    }

    /// Returns the further errors that were found in the same file, in its order; only readers that say so look for
    /// several.
    #[must_use]
    pub fn others(&self) -> &[Self] {
        &self.0.others
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the position of the error.
    #[must_use]
    pub fn position(&self) -> &FilePosition {
        &self.0.position
    }

    /// Returns the problem, without its position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> &str {
        &self.0.help
    }

    /// Returns the position and the problem.
    #[must_use]
    pub fn problem(&self) -> String {
        format!("{}: {}", self.0.position, self.0.message)
    }
}

impl fmt::Display for FileFormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cause { position, message, help, .. } = &*self.0;
        write!(formatter, "{position}: {message}; {help}")
    }
}

impl std::error::Error for FileFormatError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|error| error as &(dyn std::error::Error + 'static))
    }
}

/// Why a value cannot be written.
///
/// ```
/// use strewn_formats::trace::{Direction, TraceFormat, TraceRecord, TraceWriter};
///
/// let mut writer = TraceWriter::new(Vec::new(), TraceFormat::DiskSim)?;
/// let record = TraceRecord {
///     arrival_ns: 0,
///     device: 0,
///     offset_bytes: 100,
///     length_bytes: 512,
///     direction: Direction::Read,
/// };
/// assert_eq!(
///     writer.write(&record).unwrap_err().to_string(),
///     "the offset of 100 bytes cannot be written: the format counts in sectors of 512 bytes; \
///      fio-iolog and msr count in bytes"
/// );
/// # Ok::<(), strewn_formats::WriteError>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Writing to the output failed.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
    /// The format cannot represent it.
    #[error("{what} cannot be written: {why}")]
    NotRepresentable {
        /// The field and its value.
        what: String,
        /// The reason and the alternative.
        why: String,
    },
}

impl WriteError {
    pub(crate) fn not_representable(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NotRepresentable { what: what.into(), why: why.into() }
    }
}
