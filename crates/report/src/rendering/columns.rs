//! A table of plain text: columns of words and numbers under a ruled header.

use crate::data::number::fixed;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

/// Columns apart by space, the header ruled off: ` a   b ` over `--- ---`.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// A table to be: its columns, left to right.
pub(crate) struct Columns<Row>(Vec<Column<Row>>);

/// One column: its header, of up to three lines, and which side its cells keep to.
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

    /// The table of `rows`, every line without trailing space and ended by a newline.
    pub(crate) fn render(&self, rows: &[Row]) -> String {
        // Headers stand on the rule: the short ones get blank lines above.
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

/// A share of one as a percentage with one decimal.
pub(crate) fn percent_of_one(share: f64) -> String {
    fixed(100.0 * share, 1)
}

/// What `show` makes of a figure, or a dash for one that is missing.
pub(crate) fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// Decimals of response times in milliseconds, of something that answers quickly or not.
pub(crate) const fn response_decimals(is_quick: bool) -> usize {
    if is_quick { 2 } else { 1 }
}

/// The segments' numbers with commas between, or `none`.
pub(crate) fn segment_list(segments: &[u32]) -> String {
    if segments.is_empty() {
        return "none".to_owned();
    }
    segments.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
