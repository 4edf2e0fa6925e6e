//! Tables: a list of columns, drawn from rows as plain text, for the page, as Markdown or LaTeX, or into a file.

mod cell;
mod drawing;
mod file;
mod latex;
mod markdown;

mod segments;
mod text;

use comfy_table::CellAlignment;
use strewn_results::ArrayResults;
use strewn_results::words::wrapped;

pub(crate) use cell::{Cell, Figure};
pub use drawing::{Drawing, TableForm};
pub(crate) use file::{FileColumn, csv_text, write_csv};
pub(crate) use segments::{SegmentRow, declared, figure, segment_columns, with_chosen};
pub use text::words_table;

/// A table under construction: its columns, left to right.
pub(crate) struct Columns<'a, Row>(Vec<Column<'a, Row>>);

/// One column: its heading, the alignment of its cells, and the cell of a row.
pub(crate) struct Column<'a, Row> {
    pub(crate) heading: Heading,
    alignment: CellAlignment,
    cell: Box<dyn Fn(&Row) -> Cell + 'a>,
    /// Which columns leave a table first that is too wide: those with the largest number; 0 stays.
    yields: u8,
}

/// What stands above a column.
pub(crate) struct Heading {
    /// On a terminal, in up to three lines.
    short: String,
    /// On a page.
    pub(crate) long: String,
}

impl From<(String, String)> for Heading {
    fn from((short, long): (String, String)) -> Self {
        Self { short, long }
    }
}

impl From<(&str, &str)> for Heading {
    fn from((short, long): (&str, &str)) -> Self {
        Self { short: short.to_owned(), long: long.to_owned() }
    }
}

/// A heading that is the same on a terminal, in lines, and on a page.
impl From<&str> for Heading {
    fn from(short: &str) -> Self {
        Self { short: short.to_owned(), long: in_one_line(short) }
    }
}

/// Returns a heading of several lines in one, with words that were divided whole again.
fn in_one_line(heading: &str) -> String {
    heading.replace("-\n", "").replace('\n', " ")
}

impl From<String> for Heading {
    fn from(short: String) -> Self {
        short.as_str().into()
    }
}

impl<'a, Row> Columns<'a, Row> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a column of words.
    pub(crate) fn words<Shown: Into<Cell>>(
        self,
        heading: impl Into<Heading>,
        cell: impl Fn(&Row) -> Shown + 'a,
    ) -> Self {
        self.column(heading.into(), CellAlignment::Left, cell)
    }

    /// Adds a column of numbers.
    pub(crate) fn number<Shown: Into<Cell>>(
        self,
        heading: impl Into<Heading>,
        cell: impl Fn(&Row) -> Shown + 'a,
    ) -> Self {
        self.column(heading.into(), CellAlignment::Right, cell)
    }

    /// Has the last column leave a table that is too wide, those with the largest number first.
    pub(crate) fn yielding(mut self, yields: u8) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.yields = yields;
        }
        self
    }

    /// Adds further columns on a condition.
    pub(crate) fn when(self, condition: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if condition { more(self) } else { self }
    }

    /// Adds the columns of another table.
    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Column<'a, Row>> {
        self.0.iter()
    }

    fn column<Shown: Into<Cell>>(
        mut self,
        heading: Heading,
        alignment: CellAlignment,
        cell: impl Fn(&Row) -> Shown + 'a,
    ) -> Self {
        let cell = Box::new(move |row: &Row| cell(row).into());
        self.0.push(Column { heading, alignment, cell, yields: 0 });
        self
    }
}

impl<Row> Column<'_, Row> {
    pub(crate) fn cell(&self, row: &Row) -> Cell {
        (self.cell)(row)
    }

    pub(crate) fn is_words(&self) -> bool {
        self.alignment == CellAlignment::Left
    }
}

/// Returns a line below a table that names the columns for which there was no room; nothing if there was room for all.
pub(crate) fn left_out_line(left_out: &[String]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let line = format!("Left out for the width: {}. --columns all has them.", left_out.join(", "));
    format!("\n{}\n", wrapped(&line, Drawing::width(), ""))
}

/// Formats a figure with `show`, or a missing one as a dash.
pub(crate) fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// What the mark on percentiles of response time means whose drives may starve commands
/// ([`drives_starve`](strewn_results::Results::drives_starve)).
const STARVING_NOTE: &str = "* The drives' scheduler, sptf, sets no bound on how long a command waits. Real \
    drives do, so their longest waits are shorter: see scheduler = \"aged-sptf\".";

/// Returns what that mark means for an array. An outage makes operations wait whatever the scheduler.
pub(crate) fn starving_note(array: &ArrayResults) -> String {
    let with_outage = array.segments.iter().filter(|segment| segment.has_outage());
    let numbers: Vec<u32> = with_outage.map(|segment| segment.index).collect();
    let segments = match numbers.as_slice() {
        [] => return STARVING_NOTE.to_owned(),
        [_] => "segment",
        _ => "segments",
    };
    let listed = segment_list(&numbers);
    format!("{STARVING_NOTE} In {segments} {listed} an outage may be what the longest waited for.")
}

/// Returns the decimals of response times in milliseconds, which depend on how quick the answers
/// are.
pub(crate) const fn response_decimals(is_quick: bool) -> usize {
    if is_quick { 2 } else { 1 }
}

/// Returns the segments' numbers separated by commas, or `none`.
pub(crate) fn segment_list(segments: &[u32]) -> String {
    if segments.is_empty() {
        return "none".to_owned();
    }
    segments.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
