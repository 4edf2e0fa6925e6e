//! Glossaries of the columns, as Markdown.

use super::{COLUMNS, Column, Group};

/// Returns a table of all columns, in the order of tables in files: key, name as a figure, place below a segment in
/// `results.json`, meaning, and which runs have it.
#[must_use]
pub fn glossary() -> String {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    columns.sort_by_key(|column| column.group);
    let rows = columns.into_iter().map(|column| {
        let mark = if column.is_in_files { "" } else { " *" };
        let path = column.path().map(|path| path.replace('/', "."));
        [
            format!("`{}`{mark}", column.key),
            code(column.figure_name()),
            code(path.as_deref()),
            column.meaning().to_owned(),
            column.group.words().to_owned(),
        ]
    });
    table(["column", "figure", "in `results.json`", "meaning", "of runs with"], rows)
}

fn code(text: Option<&str>) -> String {
    text.map(|text| format!("`{text}`")).unwrap_or_default()
}

fn table<const N: usize>(headings: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head = line(&headings.map(str::to_owned)) + "|" + &"---|".repeat(N) + "\n";
    head + &rows.map(|row| line(&row)).collect::<String>()
}

impl Group {
    const fn words(self) -> &'static str {
        match self {
            Self::Always => "",
            Self::Failures => "failed spindles",
            Self::Snapshots => "snapshots",
            Self::Machine => "a machine",
            Self::PageCache => "page caches",
            Self::ClientRaid => "client RAID",
            Self::ReadAhead => "read-ahead",
            Self::Phases => "phases",
            Self::Relocation => "relocation",
            Self::Frag => "a ZFS pool",
            Self::Spills => "special vdevs that are full",
            Self::L2arc => "an L2ARC",
            Self::Trim => "autotrim",
            Self::StripeDestages => "stripes destaged together",
            Self::Bands => "bands",
            Self::Housekeeping => "housekeeping",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::columns::OverSegments;
    use crate::data::statistic::Statistic;
    use std::path::Path;

    /// Returns a table of the columns that are figures of sweeps, claims and published rows: name, meaning, and how a
    /// figure of several segments follows from those of each.
    fn figures_glossary() -> String {
        let figures = COLUMNS.iter().filter_map(|column| Some((column, column.figure.as_ref()?)));
        let rows = figures.map(|(column, figure)| {
            let over_segments = match figure.over_segments {
                OverSegments::MeanOverTime => "mean over time",
                OverSegments::MeanOfOperations => "mean by operations",
                OverSegments::Weighted(_) => "mean by its operations or blocks",
                OverSegments::Longest => "the longest",
                OverSegments::Sum => "the whole run",
            };
            [code(Some(figure.name)), column.meaning().to_owned(), over_segments.to_owned()]
        });
        table(["`metric`", "meaning", "of several segments"], rows)
    }

    /// Returns a table of what a figure may be of several segments.
    fn statistics_glossary() -> String {
        let row = |one: Statistic| [code(Some(one.as_str())), one.meaning().to_owned()];
        table(["`statistic`", ""], Statistic::all().map(row))
    }

    /// With `STREWN_WRITE_DOCS=1` it writes them.
    #[test]
    fn glossaries_in_documents_are_current() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for (document, mark, current) in [
            ("report.md", "columns", glossary()),
            ("scenarios.md", "figures", figures_glossary()),
            ("scenarios.md", "statistics", statistics_glossary()),
        ] {
            let path = docs.join(document);
            let text = std::fs::read_to_string(&path).unwrap();
            let [begin, end] = [format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->")];
            let (before, rest) = text.split_once(&begin).unwrap();
            let (_, after) = rest.split_once(&end).unwrap();
            let current = format!("{before}{begin}{current}{end}{after}");
            if std::env::var_os("STREWN_WRITE_DOCS").is_some() {
                std::fs::write(&path, current).unwrap();
            } else {
                let help = "STREWN_WRITE_DOCS=1 cargo test -p strewn-results glossaries";
                assert!(text == current, "docs/{document} is not current: {help}");
            }
        }
    }
}
