//! Reading files of TOML: where something is in a text, for messages.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {field}: {message}", path.display())]
pub struct TomlError {
    /// The file.
    pub path: PathBuf,
    /// Line in the file, from 1.
    pub line: usize,
    /// The field, with its table: `array.iops`. `(syntax)` if the text is not TOML.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// A text of TOML that is being read: turns places in it into errors.
#[derive(Clone, Copy, Debug)]
pub struct TomlText<'a> {
    text: &'a str,
    path: &'a Path,
}

impl<'a> TomlText<'a> {
    /// Returns a text for reading. `path` is used in messages only.
    #[must_use]
    pub fn new(text: &'a str, path: &'a Path) -> Self {
        Self { text, path }
    }

    /// Reads the text as a value.
    ///
    /// # Errors
    /// If the text is not TOML, or not that of such a value.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, TomlError> {
        toml::from_str(self.text).map_err(|error| {
            let (line, field) = place_of(self.text, &error);
            let message = error.message().to_owned();
            TomlError { path: self.path.to_owned(), line, field, message }
        })
    }

    /// Returns the error that the value at `span`, of `field`, is wrong.
    #[must_use]
    pub fn error(&self, span: Range<usize>, field: &str, message: impl Into<String>) -> TomlError {
        TomlError {
            path: self.path.to_owned(),
            line: self.line(span),
            field: field.to_owned(),
            message: message.into(),
        }
    }

    /// Returns the line that a span begins in, from 1.
    #[must_use]
    pub fn line(&self, span: Range<usize>) -> usize {
        line_at(self.text, span.start)
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path
    }
}

/// Returns the line of a text, from 1, that byte `start` is in.
fn line_at(text: &str, start: usize) -> usize {
    let before = text.as_bytes().iter().take(start);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// Returns the line of a parser's error, and the field with its table: `array.iops`. `(syntax)` if the text is not
/// TOML.
fn place_of(text: &str, error: &toml::de::Error) -> (usize, String) {
    let line = line_at(text, error.span().map_or(0, |span| span.start));
    let (table, key) = field(text, line);
    // A missing field has no line of its own, so the error is located at its table.
    let missing = error.message().strip_prefix("missing field `");
    let key = missing.and_then(|rest| rest.split('`').next()).unwrap_or(key);
    let field = match (table, key) {
        ("", "") => "(syntax)".to_owned(),
        (only, "") | ("", only) => only.to_owned(),
        (table, key) => format!("{table}.{key}"),
    };
    (line, field)
}

/// Returns the table and key that line `line` belongs to: the last header at or before it, and the last key between the
/// two. A parser's error has a position in the text but no path of keys.
fn field(text: &str, line: usize) -> (&str, &str) {
    let (mut table, mut key) = ("", "");
    for text in text.lines().take(line).map(str::trim) {
        if text.starts_with('[') && text.contains(|letter: char| letter.is_alphabetic()) {
            table = text.split('#').next().unwrap_or_default().trim_matches(['[', ']', ' ']);
            key = "";
        } else if let Some((before, _)) = text.split_once('=')
            && !text.starts_with('#')
        {
            key = before.trim();
        }
    }
    (table, key)
}
