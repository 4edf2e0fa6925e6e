//! Tables of the report. Each figure carries its place in the results.

use serde::Serialize;
use strewn_results::words::{fixed, with_commas};

/// A cell, as plain text.
#[derive(Clone, Default, Serialize)]
pub(super) struct Cell {
    text: String,
    /// The place of a figure in `results.json`.
    source: Option<Source>,
    /// The corners of a line in a box of 120 by 24, in place of text.
    sparkline: Option<String>,
    class: &'static str,
}

/// A figure of `results.json`, against which the page can check itself.
#[derive(Clone, Serialize)]
struct Source {
    /// Keys and positions separated by slashes.
    path: String,
    /// The figure with all its digits.
    value: String,
}

impl Cell {
    /// Creates a figure of the results that is shown as `words`. `path` is its place in `results.json`: keys and
    /// positions separated by slashes.
    pub(super) fn figure(value: f64, words: &str, path: String) -> Self {
        Self { source: Some(Source { path, value: value.to_string() }), ..Self::number(words) }
    }

    /// Creates a number that was computed from the results.
    pub(super) fn number(text: impl AsRef<str>) -> Self {
        Self { text: grouped(text.as_ref()), ..Self::default() }
    }

    /// Creates a range of figures that was computed from the results.
    pub(super) fn range(low: f64, high: f64, decimals: usize) -> Self {
        let [low, high] = [low, high].map(|end| grouped(&fixed(end, decimals)));
        let text = match low.starts_with('\u{2212}') || high.starts_with('\u{2212}') {
            true => format!("{low} to {high}"),
            false => format!("{low}\u{2013}{high}"),
        };
        Self { text, ..Self::default() }
    }

    /// Creates a cell of words.
    pub(super) fn words(text: impl Into<String>) -> Self {
        let text = text.into();
        let class = if text.len() <= LONGEST_SHORT { "words short" } else { "words" };
        Self { text, class, ..Self::default() }
    }

    /// Creates a line through these corners.
    pub(super) fn sparkline(corners: String) -> Self {
        Self { sparkline: Some(corners), class: "words", ..Self::default() }
    }

    fn is_words(&self) -> bool {
        !self.class.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.sparkline.is_none()
    }
}

/// Words of up to this many bytes are not broken into lines.
const LONGEST_SHORT: usize = 24;

/// Formats a number with a true minus sign, and a comma every three digits of its whole part.
pub(super) fn grouped(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("\u{2212}", digits),
        None => text.strip_prefix('+').map_or(("", text), |digits| ("+", digits)),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    format!("{sign}{}{rest}", with_commas(whole))
}

/// A column of a table for a page.
pub(super) struct PageColumn {
    pub(super) header: String,
    /// One for each row. Those of the first column name the rows.
    pub(super) cells: Vec<Cell>,
}

/// A table as the template writes it.
#[derive(Serialize)]
pub(super) struct LaidOutTable {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Column {
    header: String,
    /// Whether all its cells are words.
    is_words: bool,
}

#[derive(Serialize)]
struct Row {
    cells: Vec<Cell>,
    is_total: bool,
}

impl LaidOutTable {
    /// Lays a table out, without the columns that have no entry. With `has_total`, its last row is a sum.
    pub(super) fn new(
        caption: String,
        columns: impl Iterator<Item = PageColumn>,
        has_total: bool,
    ) -> Self {
        let shown = columns.filter(|column| !column.cells.iter().all(Cell::is_empty));
        let shown: Vec<PageColumn> = shown.collect();
        let count = shown.first().map_or(0, |column| column.cells.len());
        let row = |row: usize| Row {
            cells: shown.iter().map(|column| column.cells[row].clone()).collect(),
            is_total: has_total && row + 1 == count,
        };
        let rows = (0..count).map(row).collect();
        let column = |column: PageColumn| Column {
            is_words: column.cells.iter().all(Cell::is_words),
            header: column.header,
        };
        Self { caption, rows, columns: shown.into_iter().map(column).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_words_are_left_alone() {
        for (text, shown) in [
            ("-1299.5", "\u{2212}1,299.5"),
            ("+12", "+12"),
            ("1234567", "1,234,567"),
            ("1, 2", "1, 2"),
            ("", ""),
            ("0.5 %", "0.5 %"),
        ] {
            assert_eq!(grouped(text), shown);
        }
    }
}
