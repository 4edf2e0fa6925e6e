//! Reading results of fio.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::output::Output;
use crate::text::{self, ErrorKind, FileFormatError, FilePosition};

const HELP: &str = "give what `fio --output-format=json` or `json+` printed";

impl Output {
    /// Reads results in `text`. `name` names the file in errors.
    ///
    /// Keys that are missing, as they are in other versions of fio, have the values of [`Output::default`]; keys that
    /// are unknown are left out. fio prints remarks around its JSON, which are skipped.
    ///
    /// ```
    /// use strewn_formats::fio::Output;
    ///
    /// let text = "fio: this is a remark\n{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : []\n}\n";
    /// assert_eq!(Output::parse(text, "web.json")?.fio_version, "fio-3.33");
    /// let cut = Output::parse("{\n  \"jobs\" : [", "web.json").unwrap_err();
    /// assert_eq!((cut.position().line(), cut.position().column()), (Some(2), Some(12)));
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if there is no JSON, it is damaged, a value has another type than fio's, or the version of
    /// fio is missing.
    pub fn parse(text: &str, name: &str) -> Result<Self, FileFormatError> {
        Self::of_text(text, &Some(name.into()))
    }

    /// Reads the results at `path`, which may be compressed with gzip.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if it cannot be read, or as for [`Output::parse`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileFormatError> {
        let name = path.as_ref().display().to_string();
        let file = text::open(path.as_ref(), &name, HELP)?;
        Self::read(file, Some(&name))
    }

    /// Reads results. `name` names them in errors.
    ///
    /// # Errors
    ///
    /// As for [`Output::parse`], and if the reader fails.
    pub fn read(mut reader: impl BufRead, name: Option<&str>) -> Result<Self, FileFormatError> {
        let file: Option<Arc<str>> = name.map(Arc::from);
        let whole = || FilePosition::new(file.clone(), 0, 0);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|error| {
            let message = format!("cannot read: {error}");
            FileFormatError::new(ErrorKind::Io, whole(), message, HELP).caused_by(error)
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            FileFormatError::new(ErrorKind::Encoding, whole(), "it is not text in UTF-8", HELP)
        })?;
        Self::of_text(&text, &file)
    }

    fn of_text(text: &str, file: &Option<Arc<str>>) -> Result<Self, FileFormatError> {
        let wrong = |kind, line, column, message: String| {
            FileFormatError::new(kind, FilePosition::new(file.clone(), line, column), message, HELP)
        };
        // Remarks are whole lines before it.
        let mut start = 0;
        let mut skipped = 0;
        while !text[start..].trim_start_matches([' ', '\t']).starts_with('{') {
            let Some(line) = text[start..].find('\n') else {
                let message = "there is no JSON in it".to_owned();
                return Err(wrong(ErrorKind::Syntax, 0, 0, message));
            };
            start += line + 1;
            skipped += 1;
        }
        let mut json = serde_json::Deserializer::from_str(&text[start..]);
        let output = Self::deserialize(&mut json).map_err(|error| {
            let kind = match error.classify() {
                serde_json::error::Category::Data => ErrorKind::Value,
                _ => ErrorKind::Syntax,
            };
            let (line, column) = (error.line() as u64 + skipped, error.column() as u64);
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            wrong(kind, line, column, message)
        })?;
        if output.fio_version.is_empty() {
            let message = "the JSON has no `fio version`".to_owned();
            return Err(wrong(ErrorKind::Missing, 0, 0, message));
        }
        Ok(output)
    }
}
