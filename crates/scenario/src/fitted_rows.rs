//! Settings that are fitted to rows of published tables.

use crate::fields::{Fields, Section, Table, list_of, name};

/// A setting, and the published rows that it is fitted to. Every other row is a prediction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FittedRows {
    /// The setting, by the name that [`Scenario::parse_with`](crate::Scenario::parse_with) takes. If several arrays
    /// have it, it is one number, the same in all of them.
    pub parameter: String,
    /// The names of the rows, as in the file of published figures.
    pub rows: Vec<String>,
}

/// The most settings that a scenario may fit to rows. Few keep the rest a prediction.
pub(crate) const MOST_FITTED: usize = 4;

impl FittedRows {
    /// The key of the tables.
    pub(crate) const KEY: &str = "fitted";

    /// Checks every `[[fitted]]` against the others.
    pub(crate) fn check_all(section: &Section<'_>, all: &[Self]) {
        if all.len() > MOST_FITTED {
            section.problem(
                Self::KEY,
                format!("{} settings are fitted", all.len()),
                format!(
                    "few fitted numbers keep the rest a prediction: list at most {MOST_FITTED}"
                ),
            );
        }
        for (position, (fitted, table)) in all.iter().zip(section.inner(Self::KEY)).enumerate() {
            let others = || all[..position].iter().flat_map(|other| &other.rows);
            let twice = fitted.rows.iter().position(|row| others().any(|other| other == row));
            if let Some(index) = twice {
                table.problem_at(
                    table.element("rows", index),
                    "rows",
                    format!("`{}` is fitted to already", fitted.rows[index]),
                    "a row has one setting that is fitted to it",
                );
            }
        }
    }
}

impl Table for FittedRows {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name(
                "parameter",
                "The name of a setting, as `--set` takes it. If several arrays have it, it is one number, the same in all \
                 of them.",
            )
            .required("\"link.adapter.per_second\""),
            &mut self.parameter,
        );
        f.value(
            list_of(name("rows", "The names of the rows, as in the file of published figures."))
                .required("[\"iSCSI, read\"]"),
            &mut self.rows,
        );
    }
}
