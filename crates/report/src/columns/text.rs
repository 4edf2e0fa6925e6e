//! Tables as plain text: columns of words and numbers under a ruled header.

use super::{Cell, Column, Columns};
use comfy_table::{LineStyle, Table, TableStyle};

/// Columns separated by space, with a rule below the header: ` a   b ` over `--- ---`.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

impl<Row> Columns<'_, Row> {
    /// Returns the table of `rows`; empty without rows.
    pub(crate) fn render_any(&self, rows: &[Row]) -> String {
        if rows.is_empty() { String::new() } else { self.render(rows) }
    }

    /// Returns the table of `rows` in so many characters, without the columns for which there is no room, as far as
    /// some may leave; and what these are called, if any did.
    pub(crate) fn render_within(mut self, rows: &[Row], width: usize) -> (String, Vec<String>) {
        let mut left_out = Vec::new();
        loop {
            let table = self.render(rows);
            let is_wide = table.lines().any(|line| line.chars().count() > width);
            let first = self.0.iter().map(|column| column.yields).max().filter(|first| *first > 0);
            let Some(first) = first.filter(|_| is_wide) else {
                left_out.reverse();
                return (table, left_out);
            };
            // Of several, that on the right.
            if let Some(at) = self.0.iter().rposition(|column| column.yields == first) {
                left_out.push(self.0.remove(at).heading.long);
            }
        }
    }

    /// Returns the table of `rows`. Every line ends in a newline, without trailing space.
    pub(crate) fn render(&self, rows: &[Row]) -> String {
        // Headers are aligned at the bottom: short ones get blank lines above.
        let height = |column: &Column<'_, Row>| column.heading.short.split('\n').count();
        let highest = self.0.iter().map(height).max().unwrap_or_default();
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_header(self.0.iter().map(|column| {
            let above = "\n".repeat(highest - height(column));
            let heading = above + &column.heading.short;
            comfy_table::Cell::new(heading).set_alignment(column.alignment)
        }));
        for row in rows {
            let cell = |column: &Column<'_, Row>| {
                let text = column.cell(row).text();
                comfy_table::Cell::new(text).set_alignment(column.alignment)
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

impl Cell {
    /// Returns the cell as plain text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Missing => "-".to_owned(),
            Self::Text(text) | Self::Label(text, _) | Self::Range { text, .. } => text.clone(),
            Self::Number(figure) => figure.text().to_owned(),
            Self::Sparkline(_) => String::new(),
        }
    }
}
