//! Tables for the page. Each figure carries its place in the results.

use crate::columns::{Cell, Columns};
use crate::html::block::Block;
use crate::html::table::{Cell as PageCell, LaidOutTable, PageColumn};

impl<Row> Columns<'_, Row> {
    /// Returns the table of `rows` for a page; none without rows.
    pub(in crate::html) fn block(&self, caption: impl Into<String>, rows: &[Row]) -> Option<Block> {
        self.block_with(caption, rows, false)
    }

    /// Returns the same table, whose last row is a sum.
    pub(in crate::html) fn block_with_total(
        &self,
        caption: impl Into<String>,
        rows: &[Row],
    ) -> Option<Block> {
        self.block_with(caption, rows, true)
    }

    fn block_with(
        &self,
        caption: impl Into<String>,
        rows: &[Row],
        has_total: bool,
    ) -> Option<Block> {
        let columns = self.iter().map(|column| PageColumn {
            header: column.heading.long.clone(),
            cells: rows.iter().map(|row| page_cell(column.cell(row), column.is_words())).collect(),
        });
        (!rows.is_empty()).then(|| LaidOutTable::new(caption.into(), columns, has_total).into())
    }
}

fn page_cell(cell: Cell, is_words: bool) -> PageCell {
    match cell {
        Cell::Missing if is_words => PageCell::words(""),
        Cell::Missing => PageCell::number(""),
        Cell::Text(words) | Cell::Label(words, _) if is_words => PageCell::words(words),
        Cell::Text(number) | Cell::Label(number, _) => PageCell::number(number),
        Cell::Number(figure) => match &figure.path {
            Some(path) => PageCell::figure(figure.value, figure.digits(), path.clone()),
            None => PageCell::number(figure.digits()),
        },
        Cell::Range { ends: [low, high], decimals, .. } => PageCell::range(low, high, decimals),
        Cell::Sparkline(corners) => PageCell::sparkline(corners),
    }
}
