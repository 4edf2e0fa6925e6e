//! How tables are drawn that go to standard output: their form, and how wide they may be.
//!
//! It holds for all tables of a text, however deep in it they are built.

use std::cell::RefCell;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::csv_text;

/// How the tables of a text are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Their form.
    pub form: TableForm,
    /// The most characters of a line, of plain tables alone.
    pub width: usize,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableForm {
    /// Columns aligned by spaces.
    #[default]
    Plain,
    /// Markdown, with the words around tables.
    Markdown,
    /// LaTeX, with the words around tables in comments.
    Latex,
    /// Comma-separated values, and nothing but tables: an empty line is between two.
    Csv,
    /// A JSON list of tables, each a list of rows by their headings.
    Json,
}

/// What is drawn now, on this thread.
struct Drawn {
    drawing: Drawing,
    /// The tables of forms that have nothing else.
    tables: Vec<Vec<RowByHeading>>,
}

/// The cells of a row, each with the heading of its column, in their order.
pub(super) struct RowByHeading(pub(super) Vec<(String, Value)>);

impl Serialize for RowByHeading {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(heading, value)| (heading, value)))
    }
}

/// Puts an empty line behind each Markdown table, without which the next line is a row of it.
fn apart_from_tables(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut in_table = false;
    for line in text.split_inclusive('\n') {
        let is_row = line.starts_with('|');
        if in_table && !is_row && line.trim() != "" {
            apart.push('\n');
        }
        apart.push_str(line);
        in_table = is_row;
    }
    apart
}

thread_local! {
    static DRAWN: RefCell<Option<Drawn>> = const { RefCell::new(None) };
}

impl Drawing {
    /// A plain drawing in so many characters.
    #[must_use]
    pub const fn within(width: usize) -> Self {
        Self { form: TableForm::Plain, width }
    }

    /// Returns the text that `text` makes, with its tables drawn so.
    #[must_use]
    pub fn draw(self, text: impl FnOnce() -> String) -> String {
        /// Takes the drawing back, also from a panic.
        struct Around(Option<Drawn>);

        impl Drop for Around {
            fn drop(&mut self) {
                DRAWN.set(self.0.take());
            }
        }

        let drawn = Drawn { drawing: self, tables: Vec::new() };
        let around = Around(DRAWN.replace(Some(drawn)));
        let text = text();
        let tables = DRAWN
            .with_borrow_mut(|drawn| drawn.as_mut().map(|drawn| std::mem::take(&mut drawn.tables)));
        drop(around);
        let tables = tables.unwrap_or_default();
        match self.form {
            TableForm::Plain => text,
            // A footnote is no list.
            TableForm::Markdown => apart_from_tables(&text.replace("\n* ", "\n\\* ")),
            TableForm::Latex => super::latex::with_comments(&text),
            TableForm::Csv => {
                tables.iter().map(|table| csv_of(table)).collect::<Vec<_>>().join("\r\n")
            }
            // Strings and finite numbers can be written.
            TableForm::Json => serde_json::to_string_pretty(&tables).unwrap_or_default() + "\n",
        }
    }

    /// Returns how tables are drawn now; none if nobody says.
    pub(crate) fn now() -> Option<Self> {
        DRAWN.with_borrow(|drawn| Some(drawn.as_ref()?.drawing))
    }

    /// Returns the form of tables now.
    pub(crate) fn form() -> TableForm {
        Self::now().map(|drawing| drawing.form).unwrap_or_default()
    }

    /// Returns how wide plain text may be now.
    pub(crate) fn width() -> usize {
        Self::now().filter(|now| now.form == TableForm::Plain).map_or(usize::MAX, |now| now.width)
    }

    /// Keeps a table for a form that has nothing else.
    pub(super) fn keep(table: Vec<RowByHeading>) {
        DRAWN.with_borrow_mut(|drawn| {
            if let Some(drawn) = drawn {
                drawn.tables.push(table);
            }
        });
    }

    /// Returns the title of a part of a text.
    pub(crate) fn title(words: &str) -> String {
        match Self::form() {
            TableForm::Markdown => format!("## {words}"),
            _ => words.to_owned(),
        }
    }
}

fn csv_of(rows: &[RowByHeading]) -> String {
    let Some(RowByHeading(first)) = rows.first() else { return String::new() };
    let names = first.iter().map(|(heading, _)| heading.clone()).collect();
    let field = |(_, value): &(String, Value)| match value {
        Value::Null => String::new(),
        Value::String(words) => words.clone(),
        other => other.to_string(),
    };
    let rows = rows.iter().map(|row| row.0.iter().map(field).collect());
    String::from_utf8_lossy(&csv_text(std::iter::once(names).chain(rows))).into_owned()
}
