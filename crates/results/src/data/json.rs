//! Reading and writing JSON: why it fails, and the known schemas.

use crate::data::finite::is_finite;
use serde::{Deserialize, Serialize};

/// Why results could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The text is not JSON of the expected shape.
    #[error("results, line {line}, column {column}: {message}")]
    Json {
        /// Line in the text, from 1.
        line: usize,
        /// Column in the line, from 1.
        column: usize,
        /// What was found, and what was expected.
        message: String,
    },
    /// Written by a version of Strewn with another layout.
    #[error("{what}: schema {found} cannot be read, only schema {readable}")]
    Schema {
        /// The kind of text: results, a map.
        what: &'static str,
        /// Schema of the text.
        found: u64,
        /// The schema that can be read.
        readable: u32,
    },
    /// JSON has no such numbers.
    #[error("results hold a figure that is infinite or not a number")]
    NotFinite,
    /// Figures are found by the names of arrays.
    #[error("results hold the array \"{0}\" twice")]
    ArrayTwice(String),
    /// The destination refused the text.
    #[error("results could not be written")]
    Write(#[from] std::io::Error),
}

impl From<serde_json::Error> for ResultsError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column(), message: error.to_string() }
    }
}

/// Returns figures as JSON: indented, ending in a newline, the same bytes for equal figures, and read back to the last
/// bit.
///
/// # Errors
///
/// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
pub fn figures_json(figures: &impl Serialize) -> Result<String, ResultsError> {
    // serde_json would write `null`, without an error.
    if !is_finite(figures) {
        return Err(ResultsError::NotFinite);
    }
    Ok(serde_json::to_string_pretty(figures)? + "\n")
}

/// Checks the schema before anything else: the shape of another one would only give a puzzling message.
pub(crate) fn check_schema(
    text: &str,
    what: &'static str,
    readable: u32,
) -> Result<(), ResultsError> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object with the key `schema`")]
    struct SchemaOnly {
        schema: u64,
    }
    let SchemaOnly { schema: found } = serde_json::from_str(text)?;
    if found == u64::from(readable) {
        Ok(())
    } else {
        Err(ResultsError::Schema { what, found, readable })
    }
}
