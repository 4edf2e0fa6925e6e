//! `strewn playground`.

use std::path::PathBuf;

use clap::Args;

/// `strewn playground`.
#[derive(Debug, Args)]
pub(crate) struct PlaygroundArguments {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
    /// The simulation as WebAssembly, built from the same sources
    ///
    /// [default: it is built from the clone that this is run in]
    #[arg(long, value_name = "FILE")]
    pub(crate) module: Option<PathBuf>,
}
