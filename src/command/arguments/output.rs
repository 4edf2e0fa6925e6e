//! Flags that several commands share: how charts are drawn, and the format of tables.

use std::path::Path;

use clap::{Args, ValueEnum};
use strewn::report::{ChartSize, ChartStyle, Theme};
use strewn::results::Column;
use strewn::terminal::Failure;

use super::values::{chart_size, column};

const PNG_HELP: &str = if cfg!(feature = "png") {
    "Also write each chart as PNG, with twice as many pixels each way"
} else {
    "Also write each chart as PNG; not in this build, which lacks --features png"
};
const FORMAT_HELP: &str = "Format of the table of all segments";
const LONG_FORMAT_HELP: &str = if cfg!(feature = "parquet") {
    "Format of the table of all segments: segments.csv, segments.md or segments.parquet [default: csv; of a report, as in DIR]"
} else {
    "Format of the table of all segments: segments.csv or segments.md; segments.parquet is not in this build, which lacks --features parquet"
};

/// How charts are drawn.
#[derive(Debug, Clone, Args)]
pub(crate) struct PictureArguments {
    /// Size of charts in pixels of 1/96 inch [default: 960x560]
    ///
    /// From 480x320 to 8000x8000. Bar charts and the map grow with their rows.
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
        ChartStyle { size: self.chart_size.unwrap_or_default(), theme }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ThemeArgument {
    Light,
    Dark,
}

/// The format of the table of all segments.
#[derive(Debug, Clone, Args)]
pub(crate) struct TableArguments {
    #[arg(long, hide_short_help = true, value_enum, help = FORMAT_HELP, long_help = LONG_FORMAT_HELP)]
    pub(crate) format: Option<TableFormat>,
    /// Columns of that table beside array and segment [default: all]
    ///
    /// By their names in segments.csv or as figures, such as iops,layout_score. `strewn report --list-columns` lists
    /// them. "all" leaves none out of the tables that are printed, whatever their width.
    #[arg(long, hide_short_help = true, value_name = "NAME,...", value_delimiter = ',', value_parser = column)]
    columns: Vec<ChosenColumn>,
}

impl TableArguments {
    /// Returns the format given, or the default.
    pub(crate) fn format(&self) -> TableFormat {
        self.format.unwrap_or(TableFormat::Csv)
    }

    /// Returns the columns that were chosen for a file; none for all.
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

    /// Refuses formats and columns without a directory to write to, and Parquet in a build that cannot write it.
    pub(crate) fn check_against(&self, out: Option<&Path>) -> Result<(), Failure> {
        match (self.format(), out) {
            (_, None) if !self.columns().is_empty() => Err(Failure::bad_input(
                "--columns needs --out DIR",
                "give --out DIR, or leave out --columns",
            )),
            (TableFormat::Csv, _) => Ok(()),
            (TableFormat::Parquet, _) if !cfg!(feature = "parquet") => Err(Failure::bad_input(
                "this strewn was built without Parquet",
                "build it with cargo build --release --features parquet, or leave out --format",
            )),
            (TableFormat::Md | TableFormat::Parquet, None) => Err(Failure::bad_input(
                "--format needs --out DIR",
                "give --out DIR, or leave out --format",
            )),
            (TableFormat::Md | TableFormat::Parquet, Some(_)) => Ok(()),
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
    Md,
    /// Apache Parquet.
    Parquet,
}
