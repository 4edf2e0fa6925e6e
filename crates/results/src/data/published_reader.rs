//! The text of a published table while it is read, and what is wrong with it.

use std::ops::Range;
use std::path::Path;

use crate::data::toml_text::{TomlError, TomlText};
use serde::de::DeserializeOwned;
use toml::Spanned;

/// The text being read.
pub(super) struct Reader<'a>(TomlText<'a>);

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, path: &'a Path) -> Self {
        Self(TomlText::new(text, path))
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, TomlError> {
        self.0.parse()
    }

    pub(super) fn positive<T>(
        &self,
        place: &Spanned<T>,
        figures: &[f64],
        field: &str,
    ) -> Result<(), TomlError> {
        let wrong = |figure: &&f64| !(figure.is_finite() && **figure > 0.0);
        match figures.iter().find(wrong) {
            Some(figure) => {
                let message = format!("{figure} is not a positive number");
                Err(self.error(place.span(), field, message))
            }
            None if figures.is_empty() => {
                Err(self.error(place.span(), field, "no figures".to_owned()))
            }
            None => Ok(()),
        }
    }

    pub(super) fn error(&self, span: Range<usize>, field: &str, message: String) -> TomlError {
        self.0.error(span, field, message)
    }
}
