//! Tables as Markdown.

use super::{Column, Columns, in_one_line};

impl<Row> Columns<'_, Row> {
    /// Returns the table of `rows`, with cells as on a terminal.
    pub(crate) fn markdown(&self, rows: &[Row]) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let of_all =
            |of: &dyn Fn(&Column<'_, Row>) -> String| line(self.0.iter().map(of).collect());
        let mut text = of_all(&|column| escaped(&in_one_line(&column.heading.short)));
        text.push_str(&of_all(&|column| if column.is_words() { "---" } else { "---:" }.to_owned()));
        for row in rows {
            text.push_str(&of_all(&|column| escaped(&column.cell(row).text())));
        }
        text
    }
}

/// Returns words that can stand in a cell of Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
