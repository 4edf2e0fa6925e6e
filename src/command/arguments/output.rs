//! Flags that several commands share: how charts are drawn, and the format of tables.

use std::path::Path;

use clap::{Args, ValueEnum};
use strewn::report::{ChartSize, ChartStyle, Drawing, TableForm, Theme};
use strewn::results::{Column, ResultsError};
use strewn::sweep::shell_word;
use strewn::terminal::{self, Failure};

use super::values::{chart_size, column};

const PNG_HELP: &str = if cfg!(feature = "png") {
    "Also write each chart as PNG, with twice as many pixels each way"
} else {
    "Also write each chart as PNG; not in this build, which lacks --features png"
};
const TABLE_HELP: &str = "Format of the table of all segments in DIR";
const LONG_TABLE_HELP: &str = if cfg!(feature = "parquet") {
    "Format of the table of all segments in DIR: segments.csv, .md or .parquet [default: csv; of a report, as in DIR]"
} else {
    "Format of the table of all segments in DIR: segments.csv or segments.md; segments.parquet is not in this build, which lacks --features parquet"
};

/// How charts are drawn.
#[derive(Debug, Clone, Args)]
pub(crate) struct PictureArguments {
    /// Size of charts in pixels of 1/96 inch [default: 960x560]
    ///
    /// From 480x320 to 8000x8000. Type grows with it, so that 1600x900 can be read on a slide. Bar charts and the map
    /// grow with their rows.
    #[arg(long, hide_short_help = true, value_name = "WIDTHxHEIGHT", value_parser = chart_size)]
    chart_size: Option<ChartSize>,
    /// Colours of the charts [default: light]
    ///
    /// report.html contains both themes.
    #[arg(long, hide_short_help = true, value_enum)]
    theme: Option<ThemeArgument>,
    #[arg(long, hide_short_help = true, help = PNG_HELP)]
    pub(crate) png: bool,
}

impl PictureArguments {
    /// Refuses what is about charts without a directory to write them to, and PNG in a build that cannot draw it.
    pub(crate) fn check_against(&self, out: Option<&Path>) -> Result<(), Failure> {
        match out {
            _ if self.png && !cfg!(feature = "png") => Err(Failure::bad_input(
                "this strewn was built without PNG",
                "build it with cargo build --release --features png, or leave out --png: SVG is always written",
            )),
            Some(_) => Ok(()),
            None => {
                let given = [
                    ("--png", self.png),
                    ("--theme", self.theme.is_some()),
                    ("--chart-size", self.chart_size.is_some()),
                ];
                match given.into_iter().find(|(_, is_given)| *is_given) {
                    None => Ok(()),
                    Some((flag, _)) => Err(Failure::bad_input(
                        format!("{flag} needs --out DIR: charts are written there"),
                        format!("give --out DIR, or leave out {flag}"),
                    )),
                }
            }
        }
    }

    pub(crate) fn style(&self) -> ChartStyle {
        let theme = match self.theme {
            None | Some(ThemeArgument::Light) => Theme::Light,
            Some(ThemeArgument::Dark) => Theme::Dark,
        };
        ChartStyle::filling(self.chart_size.unwrap_or_default(), theme)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ThemeArgument {
    Light,
    Dark,
}

/// What is printed, in which form.
#[derive(Debug, Clone, Args)]
pub(crate) struct FormatArguments {
    /// Print JSON instead of tables
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Form: text, markdown, latex, json or csv [default: text]
    ///
    /// latex is for a paper: a tabular with the rules of booktabs for each table, and all else in comments.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_enum)]
    format: Option<Format>,
}

/// A form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for a terminal.
    Text,
    /// Tables for a wiki.
    #[value(alias = "md")]
    Markdown,
    /// Tables for a paper.
    Latex,
    /// What other programs read.
    Json,
    /// What spreadsheets read: tables, and nothing else.
    Csv,
}

impl FormatArguments {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or(Format::Text) }
    }

    /// Returns whether a program is to read what is printed, so that nothing else may be.
    pub(crate) fn is_for_programs(&self) -> bool {
        matches!(self.format(), Format::Json | Format::Csv | Format::Latex)
    }

    /// Returns the text of these tables in the form that was asked for.
    pub(crate) fn draw(&self, tables: impl FnOnce() -> String) -> String {
        self.draw_within(terminal::table_width(), tables)
    }

    /// Does the same with lines of at most so many characters.
    pub(crate) fn draw_within(&self, width: usize, tables: impl FnOnce() -> String) -> String {
        let form = match self.format() {
            Format::Text => TableForm::Plain,
            Format::Markdown => TableForm::Markdown,
            Format::Latex => TableForm::Latex,
            Format::Json => TableForm::Json,
            Format::Csv => TableForm::Csv,
        };
        let drawn = Drawing { form, width }.draw(tables);
        match form {
            TableForm::Latex => made_by() + &drawn,
            _ => drawn,
        }
    }

    /// Returns these tables, or these figures as JSON.
    pub(crate) fn tables_or(
        &self,
        figures: impl FnOnce() -> Result<String, ResultsError>,
        tables: impl FnOnce() -> String,
    ) -> Result<String, Failure> {
        match self.format() {
            Format::Json => figures().map_err(|error| Failure::failed(error.to_string())),
            _ => Ok(self.draw(tables)),
        }
    }
}

/// Returns comments for LaTeX: the program, its command, and what the tables need.
fn made_by() -> String {
    let words = std::env::args_os().skip(1).map(|word| shell_word(Path::new(&word)));
    let command: Vec<String> = std::iter::once("strewn".to_owned()).chain(words).collect();
    // A comment ends with its line.
    let command = command.join(" ").replace(char::is_control, " ");
    format!("% strewn {}: {command}\n% \\usepackage{{booktabs}}\n\n", env!("CARGO_PKG_VERSION"))
}

/// The format of the table of all segments.
#[derive(Debug, Clone, Args)]
pub(crate) struct TableArguments {
    #[arg(long, hide_short_help = true, value_enum, value_name = "FORMAT",
          help = TABLE_HELP, long_help = LONG_TABLE_HELP)]
    pub(crate) table: Option<TableFormat>,
    /// Columns of that table beside array and segment [default: all]
    ///
    /// In DIR and in the tables of segments that are printed. By their names in segments.csv or as figures, such as
    /// iops,layout_score. `strewn report --list-columns` lists them. "all" leaves none out, whatever the width.
    #[arg(long, hide_short_help = true, value_name = "NAME,...", value_delimiter = ',', value_parser = column)]
    columns: Vec<ChosenColumn>,
}

impl TableArguments {
    /// Returns the format given, or the default.
    pub(crate) fn format(&self) -> TableFormat {
        self.table.unwrap_or(TableFormat::Csv)
    }

    /// Returns the columns that were chosen; none for all.
    pub(crate) fn columns(&self) -> Vec<&'static Column> {
        match self.has_all() {
            true => Vec::new(),
            false => self.columns.iter().filter_map(|chosen| chosen.0).collect(),
        }
    }

    /// Returns whether printed tables have all columns.
    pub(crate) fn has_all(&self) -> bool {
        self.columns.iter().any(|chosen| chosen.0.is_none())
    }

    /// Refuses a format without a directory to write to, and Parquet in a build that cannot write it.
    pub(crate) fn check_against(&self, out: Option<&Path>) -> Result<(), Failure> {
        match (self.table, out) {
            (Some(TableFormat::Parquet), _) if !cfg!(feature = "parquet") => {
                Err(Failure::bad_input(
                    "this strewn was built without Parquet",
                    "build it with cargo build --release --features parquet, or leave out --table",
                ))
            }
            (Some(_), None) => Err(Failure::bad_input(
                "--table needs --out DIR",
                "give --out DIR; --format says how tables are printed",
            )),
            _ => Ok(()),
        }
    }
}

/// A column that was chosen, or all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChosenColumn(pub(super) Option<&'static Column>);

/// A format of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// Markdown.
    #[value(alias = "md")]
    Markdown,
    /// Apache Parquet.
    Parquet,
}
