//! Tables for the page. Each figure carries its place in the results.

use crate::columns::{Cell, Columns};
use crate::html::block::Block;
use crate::html::table::{Cell as PageCell, Table};

impl<Row> Columns<'_, Row> {
    /// Returns the table of `rows` for a page, where a column without any entry is left out; none without rows.
    pub(in crate::html) fn block(&self, caption: &str, rows: &[Row]) -> Option<Block> {
        let headers: Vec<&str> = self.iter().map(|column| &*column.heading.long).collect();
        let cells = |row: &Row| {
            let columns = self.iter();
            columns.map(|column| page_cell(column.cell(row), column.is_words())).collect()
        };
        let rows = rows.iter().map(cells).collect();
        let table = Table { caption, headers: &headers, rows, has_total: false };
        (!table.rows.is_empty()).then(|| table.block())
    }
}

fn page_cell(cell: Cell, is_words: bool) -> PageCell {
    match cell {
        Cell::Missing if is_words => PageCell::words(""),
        Cell::Missing => PageCell::number(""),
        Cell::Text(words) if is_words => PageCell::words(words),
        Cell::Text(number) => PageCell::number(number),
        Cell::Number(figure) => {
            let digits = figure.digits();
            match figure.path {
                Some(path) => PageCell::figure_in_words(figure.value, &digits, path),
                None => PageCell::number(digits),
            }
        }
        Cell::Range { ends: [low, high], decimals, .. } => PageCell::range(low, high, decimals),
        Cell::Sparkline(corners) => PageCell::sparkline(corners),
    }
}
