//! The flags of the commands that read results: `strewn report`, `strewn compare` and `strewn claims`.

use std::path::PathBuf;

use clap::Args;

use super::output::{FormatArguments, PictureArguments, TableArguments};

/// `strewn report`. How charts and tables look is what it is for, so `-h` shows those flags here.
#[derive(Debug, Args)]
#[command(mut_args(|arg| arg.hide_short_help(false)))]
pub(crate) struct ReportArguments {
    /// A directory that `strewn run --out` wrote
    ///
    /// Its results.json, and its map.json and scenario.toml if it has them.
    #[arg(value_name = "DIR", required_unless_present = "list_columns")]
    pub(crate) results: Option<PathBuf>,
    /// Print the columns of the table of segments, and nothing else
    ///
    /// As Markdown, with their meaning.
    #[arg(long, exclusive = true)]
    pub(crate) list_columns: bool,
    /// Write to this directory instead of DIR
    ///
    /// Without it, report.html, the table of segments and the charts in DIR are replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write even if the directory of --out is not empty
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Directories of results, or results.json files; the first is the baseline
    ///
    /// `strewn run --out` and `strewn array run --out` write them.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write comparison.json, comparison.csv and charts to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write even if DIR is not empty
    ///
    /// The comparison in it is replaced, other files stay.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn claims`.
#[derive(Debug, Args)]
pub(crate) struct ClaimsArguments {
    /// Directories that `strewn run --out` wrote, or results.json files
    ///
    /// One of each scenario. Of claims, those about these runs are printed [default: all claims, without results]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// A file of claims of your own
    ///
    /// Instead of those that ship (docs/claims.toml).
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Option<PathBuf>,
    /// Print the names of the scenarios whose results are needed, and nothing else
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) list: bool,
    /// Fail if a claim has another verdict than the one stated with it
    ///
    /// Prints a line for each claim that the results test. The key `verdict` of the file of claims states a verdict;
    /// without it, a claim must be reproduced. Also fails if a run is not at full scale and with the scenario's own
    /// seed, or if its results were changed since.
    #[arg(long, conflicts_with_all = ["json", "format", "list"])]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}
