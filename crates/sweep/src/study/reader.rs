//! The text of a study while it is read.

use std::ops::Range;

use strewn_results::TomlText;
use toml::Value;

use crate::error::StudyError;

pub(super) struct Reader<'a>(pub(super) TomlText<'a>);

impl Reader<'_> {
    /// Returns the error that the value at `span`, of `field`, is wrong.
    pub(super) fn wrong(
        &self,
        span: Range<usize>,
        field: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> StudyError {
        StudyError::study(self.0.error(span, field, message), help)
    }

    /// The same for a value in a line.
    pub(super) fn at_line(
        &self,
        line: usize,
        field: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> StudyError {
        StudyError::at_line(self.0.path(), line, field, message, help)
    }

    pub(super) fn line(&self, span: Range<usize>) -> usize {
        self.0.line(span)
    }
}

/// Returns a value as `--set` takes it: as a scenario writes it, without quotes around a string.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
