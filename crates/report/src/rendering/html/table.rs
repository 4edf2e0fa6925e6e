//! Tables of HTML, whose figures say where in the results they come from.

use crate::data::number::fixed;
use crate::rendering::axis::with_commas;
use crate::rendering::value_mark::escaped;

/// A cell.
pub(super) struct Cell {
    html: String,
    attributes: String,
    is_words: bool,
}

impl Cell {
    /// A figure of the results with so many decimals; `path` is where it stands in `results.json`, keys and positions
    /// with slashes between. The page can check it against that.
    pub(super) fn figure(value: f64, decimals: usize, path: String) -> Self {
        Self {
            html: grouped(&fixed(value, decimals)),
            attributes: format!(" data-path=\"{}\" data-value=\"{value}\"", escaped(&path)),
            is_words: false,
        }
    }

    /// A figure of the results that these words say.
    pub(super) fn figure_in_words(value: f64, words: &str, path: String) -> Self {
        Self { html: grouped(&escaped(words)), ..Self::figure(value, 0, path) }
    }

    /// The same of a figure that may be missing.
    pub(super) fn optional(value: Option<f64>, decimals: usize, path: String) -> Self {
        match value {
            Some(value) => Self::figure(value, decimals, path),
            None => Self::number(""),
        }
    }

    /// A number that was worked out from the results.
    pub(super) fn number(text: impl AsRef<str>) -> Self {
        Self { html: grouped(&escaped(text.as_ref())), attributes: String::new(), is_words: false }
    }

    /// Words.
    pub(super) fn words(text: impl AsRef<str>) -> Self {
        Self { html: escaped(text.as_ref()), attributes: String::new(), is_words: true }
    }

    fn says_any(&self) -> bool {
        !self.html.is_empty()
    }

    /// Something that is HTML already.
    pub(super) fn html(html: String) -> Self {
        Self { html, attributes: String::new(), is_words: true }
    }
}

/// Words of as many bytes are not broken into lines.
const LONGEST_SHORT: usize = 24;

/// A number with a minus sign that is one, and a comma every three digits of its whole part.
fn grouped(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("\u{2212}", digits),
        None => text.strip_prefix('+').map_or(("", text), |digits| ("+", digits)),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    format!("{sign}{}{rest}", with_commas(whole))
}

/// A table: caption, headers, rows of which the first cell names the row. A column in which no row has anything is left out.
pub(super) struct Table<'a> {
    pub(super) caption: &'a str,
    pub(super) headers: &'a [&'a str],
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether the last row is a sum.
    pub(super) has_total: bool,
}

impl Table<'_> {
    pub(super) fn html(&self) -> String {
        let caption = escaped(self.caption);
        // What is wider than the page scrolls by itself, and by the keyboard if it has the focus.
        let mut html = format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n<caption>{caption}</caption>\n<thead><tr>"
        );
        let words = |column: usize| {
            let all = |row: &Vec<Cell>| row.get(column).is_none_or(|cell| cell.is_words);
            if self.rows.iter().all(all) { " class=\"words\"" } else { "" }
        };
        let has_any =
            |column: usize| self.rows.iter().any(|row| row.get(column).is_none_or(Cell::says_any));
        let columns =
            (0..self.headers.len()).filter(|column| self.rows.is_empty() || has_any(*column));
        let columns: Vec<usize> = columns.collect();
        for column in columns.iter().copied() {
            let header = self.headers[column];
            let header = escaped(header);
            html.push_str(&format!("<th scope=\"col\"{}>{header}</th>", words(column)));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for (number, row) in self.rows.iter().enumerate() {
            let is_total = self.has_total && number + 1 == self.rows.len();
            html.push_str(if is_total { "<tr class=\"total\">" } else { "<tr>" });
            for column in columns.iter().copied() {
                let Some(Cell { html: text, attributes, is_words }) = row.get(column) else {
                    continue;
                };
                let class = match *is_words {
                    true if text.len() <= LONGEST_SHORT => " class=\"words short\"",
                    true => " class=\"words\"",
                    false => "",
                };
                html.push_str(&match column {
                    0 => format!("<th scope=\"row\"{class}{attributes}>{text}</th>"),
                    _ => format!("<td{class}{attributes}>{text}</td>"),
                });
            }
            html.push_str("</tr>\n");
        }
        html + "</tbody>\n</table>\n</div>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_words_are_left_alone() {
        for (text, shown) in [
            ("-1299.5", "\u{2212}1,299.5"),
            ("+12", "+12"),
            ("1234567", "1,234,567"),
            ("1, 2", "1, 2"),
            ("", ""),
            ("0.5 %", "0.5 %"),
        ] {
            assert_eq!(grouped(text), shown);
        }
    }
}
