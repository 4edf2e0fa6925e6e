//! The flags of the commands that read results: `strewn report`, `strewn compare` and `strewn claims`.

use std::path::PathBuf;

use clap::Args;

use super::output::{PictureArguments, TableArguments};
use super::with_examples;

const REPORT_EXAMPLES: &str = "\
Examples:
  strewn report results
  strewn report results --png --chart-size 1600x900 --theme dark
  strewn report results --format md --columns iops,p99_ms,layout_score";

const COMPARE_EXAMPLES: &str = "\
Examples:
  strewn compare results other-results
  strewn compare seed-1 seed-2 seed-3 --out comparison";

const CLAIMS_EXAMPLES: &str = "\
Examples:
  for name in $(strewn claims --list); do strewn run scenarios/$name.toml --out results/$name; done
  strewn claims results/* > claims.md";

const REPORT_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: a file could not be written
  2    bad input, nothing written: missing or unreadable results, runs without a common array, an
       output directory that is not empty";

/// `strewn report`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(REPORT_EXAMPLES, REPORT_EXIT_CODES))]
pub(crate) struct ReportArguments {
    /// A directory that `strewn run --out` wrote: its results.json, and its map.json and scenario.toml if it has them
    #[arg(value_name = "DIR", required_unless_present = "list_columns")]
    pub(crate) results: Option<PathBuf>,
    /// Print the columns of the table of segments as Markdown, with their meaning, and nothing else
    #[arg(long, exclusive = true)]
    pub(crate) list_columns: bool,
    /// Write to this directory instead of replacing report.html, the table of segments and charts in DIR
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
#[command(after_help = with_examples(COMPARE_EXAMPLES, REPORT_EXIT_CODES))]
pub(crate) struct CompareArguments {
    /// Directories that `strewn run --out` or `strewn array run --out` wrote, or results.json files. The first is the
    /// baseline
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write comparison.json, comparison.csv and charts to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write even if DIR is not empty: the comparison in it is replaced, other files stay
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print comparison.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn claims`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(CLAIMS_EXAMPLES, REPORT_EXIT_CODES))]
pub(crate) struct ClaimsArguments {
    /// Directories that `strewn run --out` wrote, or results.json files, one of each scenario; of claims, those about
    /// these runs are printed [default: all claims, without results]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// A file of claims of your own, instead of those of the five documents (docs/claims.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Option<PathBuf>,
    /// Print the names of the scenarios whose results are needed, and nothing else
    #[arg(long)]
    pub(crate) list: bool,
}
