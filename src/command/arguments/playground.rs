//! `strewn playground`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  strewn playground --out playground.html

In a clone of Strewn's repository this builds the simulation as WebAssembly, which takes up to two minutes the first time.
The page is one file. It opens from disk or from any web server, and needs no network.";

/// `strewn playground`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlaygroundArguments {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
    /// The simulation as WebAssembly, built from the same sources [default: it is built from the clone that this is run
    /// in]
    #[arg(long, value_name = "FILE")]
    pub(crate) module: Option<PathBuf>,
}
