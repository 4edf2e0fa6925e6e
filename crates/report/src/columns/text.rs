//! Tables as plain text: columns of words and numbers under a ruled header.

use super::drawing::RowByHeading;
use super::{Cell, Column, Columns, Drawing, TableForm};
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use serde_json::Value;

/// Columns separated by space, with a rule below the header: ` a   b ` over `--- ---`.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// At most so many columns tell rows apart where a table continues below.
const MOST_KEYS: usize = 4;

impl<Row> Columns<'_, Row> {
    /// Returns the table of `rows`; empty without rows.
    pub(crate) fn render_any(&self, rows: &[Row]) -> String {
        if rows.is_empty() { String::new() } else { self.render(rows) }
    }

    /// Returns the table of `rows` without the columns for which there is no room, as far as some may leave; and what
    /// these are called, if any did.
    pub(crate) fn render_narrow(mut self, rows: &[Row]) -> (String, Vec<String>) {
        let mut left_out = Vec::new();
        loop {
            let is_wide =
                Drawing::width() < usize::MAX && is_wide(&self.plain(&self.positions(), rows));
            let first = self.0.iter().map(|column| column.yields).max().filter(|first| *first > 0);
            let Some(first) = first.filter(|_| is_wide) else {
                left_out.reverse();
                return (self.render(rows), left_out);
            };
            // Of several, that on the right.
            if let Some(at) = self.0.iter().rposition(|column| column.yields == first) {
                left_out.push(self.0.remove(at).heading.long);
            }
        }
    }

    /// Returns the table of `rows`, as tables are drawn now. Every line ends in a newline, without trailing space. A
    /// table that is too wide continues below, with the words that begin its rows.
    pub(crate) fn render(&self, rows: &[Row]) -> String {
        match Drawing::form() {
            TableForm::Plain => {}
            TableForm::Markdown => return self.markdown(rows),
            TableForm::Latex => return self.latex(rows),
            TableForm::Csv | TableForm::Json => {
                Drawing::keep(rows.iter().map(|row| self.by_heading(row)).collect());
                return String::new();
            }
        }
        let mut left = self.positions();
        let whole = self.plain(&left, rows);
        if !is_wide(&whole) {
            return whole;
        }
        // What tells rows apart, so far as it leaves room for the rest.
        let mut leading = self.0.iter().take(MOST_KEYS);
        let words = leading.rposition(|column| column.is_words()).map_or(1, |last| last + 1);
        let width = |keys: &usize| {
            let table = self.plain(&left[..*keys], rows);
            table.lines().map(|line| line.chars().count()).max().unwrap_or_default()
        };
        let fits = |keys: &usize| width(keys) <= 2 * Drawing::width() / 3;
        let keys: Vec<usize> = (0..(1..=words).rev().find(fits).unwrap_or(1)).collect();
        left.retain(|at| !keys.contains(at));
        let mut parts = Vec::new();
        while !left.is_empty() {
            let with_keys = |count: usize| [&keys[..], &left[..count]].concat();
            let fits = |count: &usize| !is_wide(&self.plain(&with_keys(*count), rows));
            let count = (1..=left.len()).rev().find(fits).unwrap_or(1);
            let part = self.plain(&with_keys(count), rows);
            parts.push(match is_wide(&part) {
                true => self.in_lines(&with_keys(count), rows),
                false => part,
            });
            left.drain(..count);
        }
        if parts.is_empty() { whole } else { parts.join("\n") }
    }

    /// Returns the positions of all columns.
    fn positions(&self) -> Vec<usize> {
        (0..self.0.len()).collect()
    }

    /// Returns a row by the headings of its cells.
    fn by_heading(&self, row: &Row) -> RowByHeading {
        let mut cells: Vec<(String, Value)> = Vec::with_capacity(self.0.len());
        for column in &self.0 {
            let mut name = column.heading.long.clone();
            // Those without one say what kind of figure a row has.
            if name.is_empty() {
                name = "origin".to_owned();
            }
            let is_taken = |name: &String| cells.iter().any(|(other, _)| other == name);
            let numbered = (2..).map(|number| format!("{name} {number}"));
            let name = std::iter::once(name.clone()).chain(numbered).find(|one| !is_taken(one));
            cells.push((name.unwrap_or_default(), column.cell(row).value()));
        }
        RowByHeading(cells)
    }

    /// Returns the table of these columns, aligned by spaces.
    fn plain(&self, columns: &[usize], rows: &[Row]) -> String {
        text_of(&self.table(columns, rows))
    }

    /// Returns the same with cells of several lines, so that it is narrow.
    fn in_lines(&self, columns: &[usize], rows: &[Row]) -> String {
        let mut table = self.table(columns, rows);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(Drawing::width()).unwrap_or(u16::MAX));
        text_of(&table)
    }

    fn table(&self, columns: &[usize], rows: &[Row]) -> Table {
        let columns = || columns.iter().filter_map(|at| self.0.get(*at));
        // Headers are aligned at the bottom: short ones get blank lines above.
        let height = |column: &Column<'_, Row>| column.heading.short.split('\n').count();
        let highest = columns().map(height).max().unwrap_or_default();
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_header(columns().map(|column| {
            let above = "\n".repeat(highest - height(column));
            let heading = above + &column.heading.short;
            comfy_table::Cell::new(heading).set_alignment(column.alignment)
        }));
        for row in rows {
            let cell = |column: &Column<'_, Row>| {
                let text = column.cell(row).text();
                comfy_table::Cell::new(text).set_alignment(column.alignment)
            };
            table.add_row(columns().map(cell));
        }
        table
    }
}

/// Returns the lines of a table, without trailing space.
fn text_of(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns a table of words: the first column on the left, the others on the right. Each row has a cell for each
/// heading.
#[must_use]
pub fn words_table(headings: &[String], rows: &[Vec<String>]) -> String {
    let mut columns = Columns::<Vec<String>>::new();
    for (at, heading) in headings.iter().enumerate() {
        let cell = move |row: &Vec<String>| row.get(at).cloned();
        columns = match at {
            0 => columns.words(heading.as_str(), cell),
            _ => columns.number(heading.as_str(), cell),
        };
    }
    columns.render(rows)
}

fn is_wide(table: &str) -> bool {
    let width = Drawing::width();
    table.lines().any(|line| line.chars().count() > width)
}

impl Cell {
    /// Returns the cell as a value: a number without rounding and in its own unit, words, or nothing.
    fn value(&self) -> Value {
        match self {
            Self::Missing | Self::Sparkline(_) => Value::Null,
            Self::Text(text) if text == "-" => Value::Null,
            Self::Text(text) | Self::Label(text, _) | Self::Range { text, .. } => {
                // Counts are words to a table.
                let number = text.parse::<serde_json::Number>().ok();
                number.map_or_else(|| Value::String(text.clone()), Value::Number)
            }
            // A count has no decimals.
            Self::Number(figure) if figure.value.fract() == 0.0 && figure.value.abs() < 1e15 => {
                Value::from(figure.value as i64)
            }
            Self::Number(figure) => Value::from(figure.value),
        }
    }

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
