//! `strewn array`: arrays on real spindles.

mod run;

use clap::{Args, Subcommand};
use strewn::terminal::{Ending, Failure};

/// `strewn array`.
#[derive(Debug, Args)]
pub(crate) struct ArrayArguments {
    #[command(subcommand)]
    action: ArrayAction,
}

/// What to do with an array.
#[derive(Debug, Subcommand)]
enum ArrayAction {
    /// Drive an array with a workload, in real time, and report what a simulation would
    Run(run::ArrayRunArguments),
}

/// Does it.
pub(crate) fn array(arguments: &ArrayArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        ArrayAction::Run(arguments) => run::run(arguments),
    }
}
