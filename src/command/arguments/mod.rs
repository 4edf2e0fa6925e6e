//! The command line.

#[cfg(target_os = "linux")]
mod file;
mod output;
mod playground;
mod results;
mod run;
mod spindle;
mod sweep;
mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use strewn::scenario::Template;

#[cfg(target_os = "linux")]
pub(crate) use file::{FileArguments, Sort};
pub(crate) use output::{PictureArguments, TableArguments, TableFormat};
pub(crate) use playground::PlaygroundArguments;
pub(crate) use results::{ClaimsArguments, CompareArguments, ReportArguments};
pub(crate) use run::{LoadArguments, RunArguments, Shape};
pub(crate) use spindle::SpindleArguments;
pub(crate) use sweep::{StudyArguments, SweepArguments, SweepPointArguments, SweepWorkArguments};
pub(crate) use values::{MOST_SEGMENTS, seed, segments, whole_number};

use values::{bench_seconds, jobs, template};

#[cfg(unix)]
use super::array::ArrayArguments;

const EXAMPLES: &str = "\
Examples:
  strewn run scenarios/making-sense-of-wafl-4.toml --quick
  strewn run scenarios/making-sense-of-wafl-4.toml --out results    (then open results/report.html)";

const NEW_EXAMPLES: &str = "\
Examples:
  strewn new my-array && strewn run my-array.toml --quick
  strewn new my-filer --from fas2050";

const CALIBRATE_EXAMPLES: &str = "\
Example: strewn calibrate scenarios/making-sense-of-wafl-4.toml --dry-run";

const SENSITIVITY_EXAMPLES: &str = "\
Example: strewn sensitivity scenarios/making-sense-of-wafl-4.toml --quick";

const BENCH_EXAMPLES: &str = "\
Examples:
  strewn bench scenarios/making-sense-of-wafl-4.toml
  strewn bench scenarios/making-sense-of-wafl-4.toml --array FAS2050 --seconds 20 --json";

pub(crate) fn with_examples(examples: &str, exit_codes: &str) -> String {
    format!("{examples}\n\n{exit_codes}")
}

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: an operational law violated, a simulation stuck, a file that could not be written
  2    bad input, nothing written: an invalid scenario or flag, an output directory that is not
       empty, too little memory
  3    failures exceeded an array's parity: its complete segments are printed and written, marked as
       partial, with the data lost
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: complete segments are printed and written, marked as
       partial; a second signal ends the program at once";

const BENCH_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed
  2    bad input: an invalid scenario or flag, too little memory
  130  stopped by Ctrl-C, SIGTERM or SIGHUP

Run nothing else meanwhile: programs on other cores slow memory down.";

const SCHEMA_HELP: &str = "\
Example: strewn schema > scenario.schema.json, and as the first line of a scenario
  #:schema scenario.schema.json
for editors with Even Better TOML or taplo.";

const COMPLETIONS_HELP: &str = "\
Example: strewn completions bash > ~/.local/share/bash-completion/completions/strewn";

const MAN_HELP: &str = "\
Example: strewn man > ~/.local/share/man/man1/strewn.1";

/// Studies how copy-on-write layouts fragment: runs workloads on simulated and real write-anywhere and in-place arrays.
#[derive(Debug, Parser)]
#[command(version, after_help = with_examples(EXAMPLES, EXIT_CODES), arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) action: Action,
    /// When to colour messages; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run a scenario and compare it with its published figures
    Run(RunArguments),
    /// Write a commented scenario that runs
    New(NewArguments),
    /// Fit a scenario's fitted parameters to its published figures, and write them into its file
    Calibrate(CalibrateArguments),
    /// Measure how far predictions move with seeds, fitted rows and constants that nobody published
    Sensitivity(SensitivityArguments),
    /// Estimate what a scenario costs to run: speed, memory, and where the time goes
    Bench(BenchArguments),
    /// Write a page that runs scenarios in a browser
    Playground(PlaygroundArguments),
    /// Redraw the charts and the report of a directory of results
    Report(ReportArguments),
    /// Compare runs, and list what differs
    Compare(CompareArguments),
    /// Say of what documents claim whether runs reproduce it
    Claims(ClaimsArguments),
    /// Run a study: a scenario many times, with other settings and seeds, into one table and report
    Sweep(SweepArguments),
    /// Run a study that ships, and write its page
    Study(StudyArguments),
    /// Run some of the runs that `strewn sweep` has planned, as a task of a cluster
    SweepPoint(SweepPointArguments),
    /// Look at real files: how strewn they are, and what it costs
    #[cfg(target_os = "linux")]
    File(FileArguments),
    /// Characterize a drive model, replay commands on it, or fit one to a real drive
    Spindle(SpindleArguments),
    /// Create, serve, measure and maintain arrays on real files and block devices
    #[cfg(unix)]
    Array(ArrayArguments),
    /// Print the JSON schema of scenarios, for editors
    #[command(after_help = SCHEMA_HELP)]
    Schema(SchemaArguments),
    /// Print shell completions
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArguments),
    /// Print the manual page
    #[command(after_help = MAN_HELP)]
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
#[command(after_help = NEW_EXAMPLES)]
pub(crate) struct NewArguments {
    /// Name of the scenario, which is written to NAME.toml
    #[arg(required_unless_present_any = ["from", "out", "list"])]
    pub(crate) name: Option<PathBuf>,
    /// What to start from [default: both]
    #[arg(long, value_name = "TEMPLATE", value_parser = template())]
    pub(crate) from: Option<&'static Template>,
    /// Write to this file [default: NAME.toml, or TEMPLATE.toml without a name]
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
#[command(after_help = with_examples(CALIBRATE_EXAMPLES, EXIT_CODES))]
pub(crate) struct CalibrateArguments {
    /// The scenario: a TOML file with [array.fitted] tables and published figures
    pub(crate) scenario: PathBuf,
    /// Number of threads; the fit does not depend on it [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Print the fit, and leave the scenario's file unchanged
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `strewn sensitivity`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(SENSITIVITY_EXAMPLES, EXIT_CODES))]
pub(crate) struct SensitivityArguments {
    /// The scenario: a TOML file with [array.fitted] and [[unknown]] tables and published figures
    pub(crate) scenario: PathBuf,
    /// Measure at an eighth of full scale: minutes instead of an hour or two
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of threads; the figures do not depend on it [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Print the table, and leave the file beside the scenario unchanged
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `strewn bench`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(BENCH_EXAMPLES, BENCH_EXIT_CODES))]
pub(crate) struct BenchArguments {
    /// The scenario: a TOML file, or - for standard input. Shipped scenarios are in scenarios/
    pub(crate) scenario: PathBuf,
    /// Measure only the array of this name; may be repeated [default: every array, one after another]
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Vec<String>,
    /// Seconds of wall time to simulate each array, 0.1 to 3600
    #[arg(long, value_name = "S", default_value = "5", allow_negative_numbers = true,
          value_parser = bench_seconds)]
    pub(crate) seconds: f64,
    /// Measure at an eighth of full scale, for what `strewn run --quick` will cost
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses the command line, which begins with the program's name.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let command = Arguments::command().color(color_among(&words));
    let matches = command.try_get_matches_from(words);
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
