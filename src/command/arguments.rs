//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};

/// More segments than this are refused: of 20 minutes each they are four years.
const MOST_SEGMENTS: u32 = 100_000;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed on the way: a law broken, a simulation stuck, a file that could not be written
  2    bad input, and nothing was written: a wrong scenario or flag, an output directory in use,
       too little memory
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: the segments that were complete are printed and
       written, marked as partial; a second signal ends the program at once";

/// A copy-on-write fragmentation study engine: replays random workloads on write-anywhere and in-place arrays.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run a scenario and set its figures beside the published ones
    Run(RunArguments),
    /// Fit what a scenario declares as fitted, and write it into the scenario's file
    Calibrate(CalibrateArguments),
}

/// `strewn run`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArguments {
    /// The scenario, a TOML file; those that ship are in scenarios/
    pub(crate) scenario: PathBuf,
    /// Write results.json, segments.csv, iops.svg and response.svg into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write into DIR though it is not empty: the results in it are replaced, other files stay
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print the text of results.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Run at an eighth of the scale, in seconds; the results say so
    #[arg(long)]
    pub(crate) quick: bool,
    /// Draw everything random from this seed instead of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Run this many segments instead of the scenario's; there may be more than are published
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = segments)]
    pub(crate) segments: Option<u32>,
    /// Threads, as many as there are cores if not given; the results do not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
}

/// `strewn calibrate`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct CalibrateArguments {
    /// The scenario, a TOML file with [array.fitted] tables and published figures
    pub(crate) scenario: PathBuf,
    /// Threads, as many as there are cores if not given; the fit does not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Print what fits and leave the scenario's file as it is
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Reads the command line, the program's name first.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(words).map_err(suggest_run)
}

/// `strewn FILE` lacks its verb: says which.
fn suggest_run(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if Path::new(word).extension().is_some() || Path::new(word).exists() {
        let tip = StyledStr::from(format!("to run a scenario: strewn run {word}"));
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("give a whole number from 0 to {}, such as --seed 1", u64::MAX))
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => {
            Err("no threads run nothing; give 1 or more, or leave --jobs out to use every core"
                .into())
        }
        Ok(jobs) => Ok(jobs),
        Err(_) => Err("give a whole number of threads, such as --jobs 2".into()),
    }
}

fn segments(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("no segments measure nothing; give 1 or more".into()),
        Ok(segments) if segments <= MOST_SEGMENTS => Ok(segments),
        _ => Err(format!("give a whole number from 1 to {MOST_SEGMENTS}, such as --segments 14")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
