//! Tables of the report. Each figure carries its place in the results.

use crate::html::block::Block;
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
    /// Creates a figure of the results with this many decimals. `path` is its place in `results.json`: keys and
    /// positions separated by slashes.
    pub(super) fn figure(value: f64, decimals: usize, path: String) -> Self {
        Self::figure_in_words(value, &fixed(value, decimals), path)
    }

    /// Creates a figure of the results that is shown as `words`.
    pub(super) fn figure_in_words(value: f64, words: &str, path: String) -> Self {
        Self { source: Some(Source { path, value: value.to_string() }), ..Self::number(words) }
    }

    /// Creates a figure as [`figure`](Self::figure) does, or an empty cell if it is missing.
    pub(super) fn optional(value: Option<f64>, decimals: usize, path: String) -> Self {
        match value {
            Some(value) => Self::figure(value, decimals, path),
            None => Self::number(""),
        }
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

/// A table: caption, headers, and rows whose first cell names the row. A column without any entry is left out.
pub(super) struct Table<'a> {
    pub(super) caption: &'a str,
    pub(super) headers: &'a [&'a str],
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether the last row is a sum.
    pub(super) has_total: bool,
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

impl Table<'_> {
    pub(super) fn block(self) -> Block {
        let has_any = |column: &usize| {
            self.rows.is_empty()
                || self.rows.iter().any(|row| row.get(*column).is_none_or(|cell| !cell.is_empty()))
        };
        let shown: Vec<usize> = (0..self.headers.len()).filter(has_any).collect();
        let column = |column: &usize| Column {
            header: self.headers[*column].to_owned(),
            is_words: self.rows.iter().all(|row| row.get(*column).is_none_or(Cell::is_words)),
        };
        let row = |(number, row): (usize, &Vec<Cell>)| Row {
            cells: shown.iter().filter_map(|column| row.get(*column).cloned()).collect(),
            is_total: self.has_total && number + 1 == self.rows.len(),
        };
        Block::Table(LaidOutTable {
            caption: self.caption.to_owned(),
            columns: shown.iter().map(column).collect(),
            rows: self.rows.iter().enumerate().map(row).collect(),
        })
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
