//! A table column by column, which CSV and Parquet write alike.
//!
//! CSV is that of RFC 4180: lines end in CR LF, the first line names the columns, and a field that contains a comma, a
//! quote or a line break is quoted.

use std::io::Write;
use strewn_results::ResultsError;

/// A column of a table.
pub(crate) struct FileColumn {
    pub(crate) name: String,
    /// Whether its entries are words; all others are numbers. CSV has no types.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(crate) is_words: bool,
    /// One for each row; empty where there is none.
    pub(crate) entries: Vec<String>,
}

impl FileColumn {
    /// Creates a column of words.
    pub(crate) fn words(name: impl Into<String>, entries: impl Iterator<Item = String>) -> Self {
        Self { name: name.into(), is_words: true, entries: entries.collect() }
    }

    /// Creates a column of numbers, some of which may be missing.
    pub(crate) fn numbers<T: ToString>(
        name: impl Into<String>,
        entries: impl Iterator<Item = Option<T>>,
    ) -> Self {
        let text = |entry: Option<T>| entry.map(|entry| entry.to_string()).unwrap_or_default();
        Self { name: name.into(), is_words: false, entries: entries.map(text).collect() }
    }
}

/// Writes columns of equal length as CSV, below a row of their names.
pub(crate) fn write_csv(
    columns: &[FileColumn],
    mut writer: impl Write,
) -> Result<(), ResultsError> {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let count = columns.first().map_or(0, |column| column.entries.len());
    let row = |row: usize| columns.iter().map(|column| column.entries[row].clone()).collect();
    writer.write_all(&csv_text(std::iter::once(names).chain((0..count).map(row))))?;
    Ok(writer.flush()?)
}

/// Formats rows, all with the same number of fields, as CSV.
pub(crate) fn csv_text(rows: impl Iterator<Item = Vec<String>>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut csv =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(&mut text);
    for row in rows {
        let written = csv.write_record(&row);
        // Only a row of another length or a failing destination could cause an error; memory
        // accepts everything.
        debug_assert!(written.is_ok(), "{written:?}");
    }
    drop(csv);
    text
}
