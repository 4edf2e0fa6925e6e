//! The command line.

#[cfg(target_os = "linux")]
mod file;
mod help;
mod output;
mod playground;
mod results;
mod run;
mod spindle;
mod sweep;
mod trace;
mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use strewn::scenario::Template;

#[cfg(target_os = "linux")]
pub(crate) use file::{FileArguments, Sort};
pub(crate) use output::{Format, FormatArguments, PictureArguments, TableArguments, TableFormat};
pub(crate) use playground::PlaygroundArguments;
pub(crate) use results::{ClaimsArguments, CompareArguments, ReportArguments};
pub(crate) use run::{LoadArguments, RunArguments, Shape};
pub(crate) use spindle::SpindleArguments;
pub(crate) use sweep::{StudyArguments, SweepArguments, SweepPointArguments, SweepWorkArguments};
pub(crate) use trace::TraceArguments;
pub(crate) use values::{MOST_SEGMENTS, seed, segments, whole_number};

use values::{bench_seconds, jobs, scale_down, template};

#[cfg(unix)]
use super::array::ArrayArguments;

/// Studies how copy-on-write layouts fragment
///
/// Runs workloads on simulated and real write-anywhere and in-place arrays.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) action: Action,
    /// When to colour messages
    ///
    /// auto: on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        hide_short_help = true,
        global = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub(crate) color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run a scenario and compare it with its published figures
    Run(RunArguments),
    /// Write a commented scenario that runs
    New(NewArguments),
    /// Fit parameters to published figures, and write them into the scenario
    Calibrate(CalibrateArguments),
    /// Measure how far predictions move with what is uncertain
    ///
    /// Seeds, fitted rows and constants that nobody published are uncertain.
    Sensitivity(SensitivityArguments),
    /// Estimate what a scenario costs to run: time and memory
    Bench(BenchArguments),
    /// Write a page that runs scenarios in a browser
    Playground(PlaygroundArguments),
    /// Redraw the charts and the report of a directory of results
    Report(ReportArguments),
    /// Compare runs, and list what differs
    Compare(CompareArguments),
    /// Say of what documents claim whether runs reproduce it
    Claims(ClaimsArguments),
    /// Run a study: a scenario with many settings and seeds
    ///
    /// The figures of all runs go into one table and one report.
    Sweep(SweepArguments),
    /// Run a study that ships, and write its page
    Study(StudyArguments),
    /// Run some of the runs of a sweep, as a task of a cluster
    ///
    /// Those that `strewn sweep --plan`, --slurm or --kubernetes has planned.
    SweepPoint(SweepPointArguments),
    /// Look at real files: how strewn they are, and what it costs
    #[cfg(target_os = "linux")]
    File(FileArguments),
    /// Characterize a drive model, replay commands on it, or fit one to a real drive
    Spindle(SpindleArguments),
    /// Say what is in a block trace, before it is replayed
    Trace(TraceArguments),
    /// Create, serve, measure and maintain arrays on real files and block devices
    #[cfg(unix)]
    Array(ArrayArguments),
    /// Print the JSON schema of scenarios, for editors
    Schema(SchemaArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Print the manual page
    Man,
}

/// `strewn schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Print the reference of all settings as Markdown instead
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// `strewn completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// `strewn new`.
#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// Name of the scenario, which is written to NAME.toml
    #[arg(required_unless_present_any = ["from", "out", "list"])]
    pub(crate) name: Option<PathBuf>,
    /// What to start from [default: both]
    #[arg(long, value_name = "TEMPLATE", value_parser = template())]
    pub(crate) from: Option<&'static Template>,
    /// Write to this file, or - for standard output
    ///
    /// [default: NAME.toml, or TEMPLATE.toml without a name]. The template published writes a second file beside it.
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// List what there is to start from, and what each compares; write nothing
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
}

/// `strewn calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArguments {
    /// The scenario: a TOML file
    ///
    /// It has [array.fitted] tables and published figures.
    pub(crate) scenario: PathBuf,
    /// Number of threads [default: one per core]
    ///
    /// The fit does not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Print the fit, and leave the scenario's file unchanged
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `strewn sensitivity`.
#[derive(Debug, Args)]
pub(crate) struct SensitivityArguments {
    /// The scenario: a TOML file
    ///
    /// It has [array.fitted] and [[unknown]] tables and published figures.
    pub(crate) scenario: PathBuf,
    /// Measure at an eighth of full scale: minutes instead of an hour or two
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of threads [default: one per core]
    ///
    /// The figures do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Print the table, and leave the file beside the scenario unchanged
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// `strewn bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The scenario: a TOML file, or - for standard input
    ///
    /// Shipped scenarios are in scenarios/.
    pub(crate) scenario: PathBuf,
    /// Measure only the array of this name; may be repeated
    ///
    /// [default: every array, one after another]
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Vec<String>,
    /// Seconds of wall time to simulate each array, 0.1 to 3600
    #[arg(long, value_name = "S", default_value = "5", allow_negative_numbers = true,
          value_parser = bench_seconds)]
    pub(crate) seconds: f64,
    /// Measure at an eighth of full scale, for what `strewn run --quick` will cost
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure at 1/N of full scale, for what `strewn run --scale-down N` will cost
    #[arg(long, value_name = "N", conflicts_with = "quick", allow_negative_numbers = true, value_parser = scale_down)]
    pub(crate) scale_down: Option<u32>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Returns the definition of the command line, with its help.
pub(crate) fn command() -> clap::Command {
    help::with_help(Arguments::command())
}

/// Parses the command line, which begins with the program's name.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = command().color(color_among(&words)).try_get_matches_from(words);
    matches.and_then(|matches| Arguments::from_arg_matches(&matches)).map_err(suggest_run)
}

/// Returns the value of `--color`, found before parsing so that it applies to parse errors too.
fn color_among(words: &[OsString]) -> ColorChoice {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let after = |index: usize| words.get(index + 1).copied();
    let asked_for =
        words.iter().enumerate().find_map(|(index, word)| match word.strip_prefix("--color")? {
            "" => after(index),
            rest => rest.strip_prefix('='),
        });
    asked_for.and_then(|when| when.parse().ok()).unwrap_or(ColorChoice::Auto)
}

/// Suggests `strewn run FILE` for `strewn FILE`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
