//! Tables as LaTeX: a `tabular` with the rules of the package booktabs, for a paper.

use super::{Column, Columns, in_one_line};

const BEGIN: &str = "\\begin{tabular}";
const END: &str = "\\end{tabular}";

impl<Row> Columns<'_, Row> {
    /// Returns the table of `rows`, with cells as on a terminal. Numbers are on the right.
    pub(super) fn latex(&self, rows: &[Row]) -> String {
        let line = |cell: &dyn Fn(&Column<'_, Row>) -> String| {
            let cells: Vec<String> = self.0.iter().map(cell).collect();
            format!("{} \\\\\n", cells.join(" & "))
        };
        let alignment = self.0.iter().map(|column| if column.is_words() { 'l' } else { 'r' });
        let mut text = format!("{BEGIN}{{{}}}\n\\toprule\n", alignment.collect::<String>());
        text += &line(&|column| escaped(&in_one_line(&column.heading.short)));
        text += "\\midrule\n";
        for row in rows {
            text += &line(&|column| {
                let cell = column.cell(row).text();
                match cell.strip_prefix('-').filter(|rest| rest.parse::<f64>().is_ok()) {
                    // A hyphen is no minus.
                    Some(rest) => format!("$-${}", escaped(rest)),
                    None => escaped(&cell),
                }
            });
        }
        text + "\\bottomrule\n" + END + "\n"
    }
}

/// Returns a text for LaTeX, with all but its tables in comments.
pub(super) fn with_comments(text: &str) -> String {
    let mut is_table = false;
    let mut lines = String::new();
    for line in text.lines() {
        is_table |= line.starts_with(BEGIN);
        if !is_table && !line.is_empty() {
            lines += "% ";
        }
        lines = lines + line + "\n";
        is_table &= line != END;
    }
    lines
}

/// Returns words that LaTeX prints as they are, in a cell.
fn escaped(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => words.extend(['\\', letter]),
            '\\' => words += "\\textbackslash{}",
            '~' => words += "\\textasciitilde{}",
            '^' => words += "\\textasciicircum{}",
            '<' => words += "\\textless{}",
            '>' => words += "\\textgreater{}",
            '|' => words += "\\textbar{}",
            '`' => words += "\\textasciigrave{}",
            // The straight one is in few fonts.
            '"' => words += "''",
            // Two would be one dash; `\\` before a row takes a star, or what is in brackets, as its own.
            '-' if words.ends_with('-') => words += "{-}",
            '*' | '[' => words.extend(['{', letter, '}']),
            letter if letter.is_control() => words.push(' '),
            letter => words.push(letter),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_rules_and_numbers_on_the_right() {
        let columns = Columns::new()
            .words("array", |row: &(&str, &str)| row.0)
            .number("share,\n%", |row: &(&str, &str)| row.1);
        let rows = [("50%_A&B #1", "-3.5"), ("[x] {~^\\}", "-"), ("a--b\n\"c\" $|<>`*", "4-5")];
        let expected = r"\begin{tabular}{lr}
\toprule
array & share, \% \\
\midrule
50\%\_A\&B \#1 & $-$3.5 \\
{[}x] \{\textasciitilde{}\textasciicircum{}\textbackslash{}\} & - \\
a-{-}b ''c'' \$\textbar{}\textless{}\textgreater{}\textasciigrave{}{*} & 4-5 \\
\bottomrule
\end{tabular}
";
        assert_eq!(columns.latex(&rows), expected);
        let text = with_comments(&format!("50 % of it\n\n{expected}\nDone\n"));
        assert_eq!(text, format!("% 50 % of it\n\n{expected}\n% Done\n"));
    }
}
