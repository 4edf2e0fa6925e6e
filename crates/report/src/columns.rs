//! A table of plain text: columns of words and numbers under a ruled header.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use strewn_results::ArrayResults;
use strewn_results::words::fixed;

/// Columns separated by space, with a rule below the header: ` a   b ` over `--- ---`.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// A table under construction: its columns, left to right.
pub(crate) struct Columns<Row>(Vec<Column<Row>>);

/// One column: its header, of up to three lines, and the alignment of its cells.
struct Column<Row> {
    header: String,
    alignment: CellAlignment,
    cell: Box<dyn Fn(&Row) -> String>,
}

impl<Row> Columns<Row> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a column of words.
    pub(crate) fn words(
        self,
        header: impl Into<String>,
        cell: impl Fn(&Row) -> String + 'static,
    ) -> Self {
        self.column(header.into(), CellAlignment::Left, cell)
    }

    /// Adds a column of numbers.
    pub(crate) fn number(
        self,
        header: impl Into<String>,
        cell: impl Fn(&Row) -> String + 'static,
    ) -> Self {
        self.column(header.into(), CellAlignment::Right, cell)
    }

    fn column(
        mut self,
        header: String,
        alignment: CellAlignment,
        cell: impl Fn(&Row) -> String + 'static,
    ) -> Self {
        self.0.push(Column { header, alignment, cell: Box::new(cell) });
        self
    }

    /// Returns the table of `rows`. Every line ends in a newline, without trailing space.
    pub(crate) fn render(&self, rows: &[Row]) -> String {
        // Headers are aligned at the bottom: short ones get blank lines above.
        let height = |column: &Column<Row>| column.header.split('\n').count();
        let highest = self.0.iter().map(height).max().unwrap_or_default();
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_header(self.0.iter().map(|column| {
            let above = "\n".repeat(highest - height(column));
            Cell::new(above + &column.header).set_alignment(column.alignment)
        }));
        for row in rows {
            let cell = |column: &Column<Row>| {
                Cell::new((column.cell)(row)).set_alignment(column.alignment)
            };
            table.add_row(self.0.iter().map(cell));
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Formats a share of one as a percentage with one decimal.
pub(crate) fn percent_of_one(share: f64) -> String {
    fixed(100.0 * share, 1)
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
