//! The glossary of the columns, as Markdown.

use super::{COLUMNS, Column};

/// Returns a table of all columns: key, name as a figure, place below a segment in `results.json`, and meaning.
#[must_use]
pub fn glossary() -> String {
    let mut text =
        String::from("| column | figure | in `results.json` | meaning |\n|---|---|---|---|\n");
    for column in COLUMNS {
        text.push_str(&row(column));
    }
    text
}

fn row(column: &Column) -> String {
    let code = |text: Option<&str>| text.map(|text| format!("`{text}`")).unwrap_or_default();
    let mark = if column.is_in_files { "" } else { " *" };
    let path = column.path().map(|path| path.replace('/', "."));
    format!(
        "| `{}`{mark} | {} | {} | {} |\n",
        column.key,
        code(column.figure_name()),
        code(path.as_deref()),
        column.meaning()
    )
}
