//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{
    ArgGroup, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};
use strewn::formats::trace::{SpeedUp, TraceFormat};
use strewn::report::{ChartSize, ChartStyle, Theme};
use strewn::spindle::{MAX_DEPTH, Scheduler};
use strewn::terminal::Failure;

#[cfg(unix)]
use super::array::ArrayArguments;
use super::spindle::LbaRange;

/// More segments than this are refused: of 20 minutes each they are four years.
pub(crate) const MOST_SEGMENTS: u32 = 100_000;

/// More commands than this are refused in a closed loop: half a year of a drive's work.
const MOST_COMMANDS: u32 = 1_000_000_000;
/// More outstanding commands than this are refused: no drive holds so many.
const MOST_OUTSTANDING: u32 = 4096;
/// More sectors than this in a command are refused: no drive takes so many.
const MOST_SECTORS: u32 = 1 << 20;

/// Over the flags of workloads out of files.
const LOADS: &str = "Workloads of Iometer, fio and traces";

const EXAMPLES: &str = "\
Examples:
  strewn run scenarios/making-sense-of-wafl-4.toml --quick
  strewn run scenarios/making-sense-of-wafl-4.toml --out results    (then open results/report.html)";

const RUN_EXAMPLES: &str = "\
Examples:
  strewn run scenarios/making-sense-of-wafl-4.toml --out results
  strewn run scenarios/rebuild.toml --quick --segments 5
  strewn run scenarios/making-sense-of-wafl-4.toml --quick --json | jq '.arrays[].segments[].iops'
  sed 's/^seed = 1$/seed = 2/' my.toml | strewn run -
  strewn run scenarios/making-sense-of-wafl-4.toml --access-spec iometer.icf:'4 KiB reads'
  strewn run scenarios/making-sense-of-wafl-4.toml --trace disk0.csv.gz --wrap";

const REPORT_EXAMPLES: &str = "\
Examples:
  strewn report results
  strewn report results --png --chart-size 1600x900 --theme dark";

const COMPARE_EXAMPLES: &str = "\
Examples:
  strewn compare results other-results
  strewn compare seed-1 seed-2 seed-3 --out comparison";

#[cfg(unix)]
const TORTURE_EXAMPLES: &str = "\
Examples:
  strewn torture --seeds 20000 --jobs 2
  strewn torture --replay 17 --verbose";

#[cfg(unix)]
const TORTURE_EXIT_CODES: &str = "\
Exit codes:
  0    everything held
  1    something did not hold, as printed";

const CALIBRATE_EXAMPLES: &str = "\
Example: strewn calibrate scenarios/making-sense-of-wafl-4.toml --dry-run";

const BENCH_EXAMPLES: &str = "\
Examples:
  strewn bench scenarios/making-sense-of-wafl-4.toml
  strewn bench scenarios/making-sense-of-wafl-4.toml --array FAS2050 --seconds 20 --json";

const SPINDLE_EXAMPLES: &str = "\
Examples:
  strewn spindle seagate-cheetah-15k5-st3146855fc
  strewn spindle seagate-cheetah-15k5-st3146855fc --closed-loop 16 --scheduler sptf
  strewn spindle --fit /dev/sdb --out mine.toml";

pub(crate) fn with_examples(examples: &str, exit_codes: &str) -> String {
    format!("{examples}\n\n{exit_codes}")
}

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed on the way: a law broken, a simulation stuck, a file that could not be written
  2    bad input, and nothing was written: a wrong scenario or flag, an output directory in use,
       too little memory
  3    more spindles of an array failed than its parity makes good: the segments that were complete
       are printed and written, marked as partial, with what was lost
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: the segments that were complete are printed and
       written, marked as partial; a second signal ends the program at once";

const BENCH_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed on the way
  2    bad input: a wrong scenario or flag, too little memory
  130  stopped by Ctrl-C, SIGTERM or SIGHUP

Nothing else should be running: programs on the other cores make memory slower.";

const SCHEMA_HELP: &str = "\
Example: strewn schema > scenario.schema.json, and as the first line of a scenario
  #:schema scenario.schema.json
for editors with Even Better TOML or taplo.";

const COMPLETIONS_HELP: &str = "\
Example: strewn completions bash > ~/.local/share/bash-completion/completions/strewn";

const MAN_HELP: &str = "\
Example: strewn man > ~/.local/share/man/man1/strewn.1";
const REPORT_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed on the way: a file that could not be written
  2    bad input, and nothing was written: no results there, results that cannot be read, runs that have no array in
       common, an output directory in use";

const SPINDLE_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed on the way: a drive that cannot be read or made out, a file that could not be written
  2    bad input, and nothing was written: a wrong profile, trace or flag, an output in use, a device
       that does not rotate
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: nothing was written";

/// A copy-on-write fragmentation study engine: replays random workloads on write-anywhere and in-place arrays.
#[derive(Debug, Parser)]
#[command(version, after_help = with_examples(EXAMPLES, EXIT_CODES), arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) action: Action,
    /// Whether messages are coloured; auto is: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run a scenario and set its figures beside the published ones
    Run(RunArguments),
    /// Fit what a scenario declares as fitted, and write it into the scenario's file
    Calibrate(CalibrateArguments),
    /// Say what a scenario will cost: simulate a few seconds of it and print rates, memory, and where the time goes
    Bench(BenchArguments),
    /// Draw the charts and the report of a directory of results anew
    Report(ReportArguments),
    /// Lay runs side by side, with what differs
    Compare(CompareArguments),
    /// Look at a drive: what it does by distance, place, load and size; or give it commands of your own
    Spindle(SpindleArguments),
    /// Make and look after arrays of real files and block devices
    #[cfg(unix)]
    Array(ArrayArguments),
    /// Run whole arrays on simulated devices that fail, and check that nothing is lost
    #[cfg(unix)]
    Torture(TortureArguments),
    /// Print the JSON schema of scenarios, for editors that check TOML by one
    #[command(after_help = SCHEMA_HELP)]
    Schema,
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArguments),
    /// Print the manual, for man
    #[command(after_help = MAN_HELP)]
    Man,
}

/// `strewn completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// `strewn run`.
#[derive(Debug, Args)]
#[command(
    after_help = with_examples(RUN_EXAMPLES, EXIT_CODES),
    group = ArgGroup::new("load").args(["access_spec", "fio_job", "trace"])
)]
pub(crate) struct RunArguments {
    /// The scenario, a TOML file, or - for standard input; those that ship are in scenarios/
    pub(crate) scenario: PathBuf,
    /// Write results.json, segments.csv, map.json, report.html, charts and a copy of the scenario into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write into DIR though it is not empty: the results in it are replaced, other files stay
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print the text of results.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Run at an eighth of the scale, in seconds; the results say so
    #[arg(long, conflicts_with_all = ["fio_job", "trace"])]
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
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// Write what was measured in the shape of another tool too: fio.json as of fio --output-format=json, a job for each
    /// segment; results.csv as of Iometer, a test for each segment
    #[arg(long, value_enum, value_name = "TOOL", value_delimiter = ',', requires = "out")]
    pub(crate) also: Vec<Shape>,
    /// Log every host operation into this file as fio's iolog; with several arrays, into one for each, its name before
    /// the extension
    #[arg(long, value_name = "FILE")]
    pub(crate) record_iolog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// A workload out of a file of another tool.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArguments {
    /// Run an access specification of an Iometer configuration (.icf) in place of the workload: the one of
    /// this name, or what the file's workers are assigned
    #[arg(long, value_name = "FILE[:NAME]", help_heading = LOADS)]
    pub(crate) access_spec: Option<String>,
    /// Run the jobs of a fio job file, or one of them, until they are done
    #[arg(long, value_name = "FILE[:JOB]", help_heading = LOADS)]
    pub(crate) fio_job: Option<String>,
    /// Replay a block trace to its end, plain or gzip, each operation at its time: MSR Cambridge, SPC, blkparse text,
    /// DiskSim ASCII, fio iolog, or CSV with columns
    #[arg(long, value_name = "FILE", help_heading = LOADS)]
    pub(crate) trace: Option<PathBuf>,
    /// The format of the trace, where its first line does not tell: msr, spc, blkparse, disksim, fio-iolog, columns
    #[arg(long, value_name = "FORMAT", requires = "trace", help_heading = LOADS)]
    pub(crate) trace_format: Option<TraceFormat>,
    /// Have operations of the trace arrive X times as fast as recorded
    #[arg(long, value_name = "X", requires = "trace", allow_negative_numbers = true, value_parser = speed_up,
          help_heading = LOADS)]
    pub(crate) speedup: Option<SpeedUp>,
    /// Issue the trace's operations in their order, as many outstanding as without a trace, whatever their times
    #[arg(long, requires = "trace", conflicts_with = "speedup", help_heading = LOADS)]
    pub(crate) closed_loop_trace: bool,
    /// Have records beyond the file begin at their offset modulo its size; otherwise they are errors
    #[arg(long, requires = "trace", help_heading = LOADS)]
    pub(crate) wrap: bool,
    /// Have records that are earlier than the one ahead of them arrive with it; otherwise they are errors
    #[arg(long, requires = "trace", conflicts_with = "closed_loop_trace", help_heading = LOADS)]
    pub(crate) hold_back: bool,
    /// Replay the records of this device of the trace alone: the disk, application storage unit or device number
    #[arg(long, value_name = "N", requires = "trace", help_heading = LOADS)]
    pub(crate) trace_device: Option<u32>,
}

/// A tool in whose shape results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    Fio,
    Iometer,
}

/// How pictures are drawn.
#[derive(Debug, Clone, Args)]
pub(crate) struct PictureArguments {
    /// Size of charts in pixels of 1/96 inch, from 480x320 to 8000x8000; charts of bars and the map are as high as they
    /// have rows
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "960x560", value_parser = chart_size)]
    chart_size: ChartSize,
    /// Colours of the charts; report.html has both
    #[arg(long, value_enum, default_value = "light")]
    theme: ThemeArgument,
    /// Write each chart as PNG too, of twice as many pixels each way
    #[arg(long)]
    pub(crate) png: bool,
}

impl PictureArguments {
    /// Refuses pictures that would go nowhere.
    pub(crate) fn check_against(&self, out: Option<&Path>) -> Result<(), Failure> {
        match out {
            None if self.png => Err(Failure::bad_input(
                "--png says nothing without --out DIR",
                "give --out DIR too, or leave --png out",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn style(&self) -> ChartStyle {
        let theme = match self.theme {
            ThemeArgument::Light => Theme::Light,
            ThemeArgument::Dark => Theme::Dark,
        };
        ChartStyle { size: self.chart_size, theme }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ThemeArgument {
    Light,
    Dark,
}

/// How the table of all segments is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct TableArguments {
    /// What the table of all segments is written as: segments.csv, or segments.parquet by a strewn that was built with
    /// --features parquet
    #[arg(long, value_enum, default_value = "csv")]
    pub(crate) format: TableFormat,
}

impl TableArguments {
    /// Refuses a format that this program cannot write, and one that would go nowhere.
    pub(crate) fn check_against(&self, out: Option<&Path>) -> Result<(), Failure> {
        match (self.format, out) {
            (TableFormat::Csv, _) => Ok(()),
            (TableFormat::Parquet, _) if !cfg!(feature = "parquet") => Err(Failure::bad_input(
                "this strewn was built without Parquet",
                "build it by cargo build --release --features parquet, or leave --format out",
            )),
            (TableFormat::Parquet, None) => Err(Failure::bad_input(
                "--format says nothing without --out DIR",
                "give --out DIR too, or leave --format out",
            )),
            (TableFormat::Parquet, Some(_)) => Ok(()),
        }
    }
}

/// A format of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// `strewn report`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(REPORT_EXAMPLES, REPORT_EXIT_CODES))]
pub(crate) struct ReportArguments {
    /// A directory that `strewn run --out` wrote; its results.json is read, and its map.json and scenario.toml if they
    /// are there
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// Write into this directory instead of DIR, where report.html, segments.csv and charts are replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write into the directory of --out though it is not empty
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn torture`.
#[cfg(unix)]
#[derive(Debug, Args)]
#[command(after_help = with_examples(TORTURE_EXAMPLES, TORTURE_EXIT_CODES))]
pub(crate) struct TortureArguments {
    /// Schedules, one for each seed
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) seeds: u64,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) first: u64,
    /// Schedules at once
    #[arg(long, value_name = "J", default_value_t = 1)]
    pub(crate) jobs: u16,
    /// Only arrays of this layout, raid-dp, raid-4, vraid-5 or raid-5 [default: all of them in turn]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Option<strewn_live::configuration::LayoutName>,
    /// Run the schedule of this seed alone
    #[arg(long, value_name = "SEED")]
    pub(crate) replay: Option<u64>,
    /// Tell every step
    #[arg(long, requires = "replay")]
    pub(crate) verbose: bool,
}

/// `strewn compare`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(COMPARE_EXAMPLES, REPORT_EXIT_CODES))]
pub(crate) struct CompareArguments {
    /// Directories that `strewn run --out` or `strewn array run --out` wrote, or results.json files; the others are compared with
    /// the first
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write comparison.json, comparison.csv and charts into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write into DIR though it is not empty: the comparison in it is replaced, other files stay
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print the text of comparison.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// `strewn calibrate`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(CALIBRATE_EXAMPLES, EXIT_CODES))]
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

/// `strewn bench`.
#[derive(Debug, Args)]
#[command(after_help = with_examples(BENCH_EXAMPLES, BENCH_EXIT_CODES))]
pub(crate) struct BenchArguments {
    /// The scenario, a TOML file, or - for standard input; those that ship are in scenarios/
    pub(crate) scenario: PathBuf,
    /// Only the array of this name; given again, that one too [default: every array, one after another]
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Vec<String>,
    /// How long each array is simulated, in seconds of wall time, 0.1 to 3600
    #[arg(long, value_name = "S", default_value = "5", allow_negative_numbers = true,
          value_parser = bench_seconds)]
    pub(crate) seconds: f64,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// `strewn spindle`.
#[derive(Debug, Args)]
#[command(
    after_help = with_examples(SPINDLE_EXAMPLES, SPINDLE_EXIT_CODES),
    group = ArgGroup::new("load").args(["replay", "closed_loop"])
)]
pub(crate) struct SpindleArguments {
    /// The drive: a profile that ships, or a TOML file with one
    #[arg(required_unless_present = "fit")]
    pub(crate) profile: Option<String>,
    /// A second drive, beside the first in every table and chart
    #[arg(value_name = "PROFILE2", conflicts_with = "load")]
    pub(crate) beside: Option<String>,
    /// Give the drive the commands of a CSV file, plain or gzip, each at its time: columns id, arrival_ms, lba,
    /// sectors and rw (R or W); others are ignored
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["closed_loop", "seed", "force"])]
    pub(crate) replay: Option<PathBuf>,
    /// Keep this many commands at the drive, the one in service included: each completion brings another
    #[arg(long, value_name = "DEPTH", allow_negative_numbers = true, value_parser = outstanding,
          conflicts_with_all = ["out", "force"])]
    pub(crate) closed_loop: Option<u32>,
    /// Measure the drive that is this block device or file, by reading alone, and write its profile to the file of
    /// --out, which ends in .toml; --force replaces it. Switch the drive's own cache off before
    #[arg(long, value_name = "DEVICE", requires = "out",
          conflicts_with_all = ["profile", "beside", "load", "seed", "json"])]
    pub(crate) fit: Option<PathBuf>,
    /// Which command goes next: fcfs, sstf, c-look, sptf, aged-sptf, or aged-sptf:N [default: fcfs]
    #[arg(long, value_name = "RULE")]
    scheduler: Option<Scheduler>,
    /// How many waiting commands it chooses among, 1 to 256; the rest wait in order of arrival [default: 256]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = depth)]
    depth: Option<u32>,
    /// Whether the drive's own cache is in use, in a study too [default: off]
    #[arg(long, value_name = "on|off")]
    cache: Option<Switch>,
    /// Sectors of each command of a closed loop [default: 8]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = sectors)]
    sectors: Option<u32>,
    /// Where its commands lie: from LO up to, not including, HI, as sector addresses or percent of the drive, such
    /// as 0%..5% [default: 0%..100%]
    #[arg(long, value_name = "LO..HI")]
    range: Option<LbaRange>,
    /// How many of its commands are reads, in percent; the others are writes [default: 100]
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percent)]
    reads: Option<f64>,
    /// Commands to measure, after a warm-up of 1000 or 4 DEPTH, whichever is more [default: 20000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = commands)]
    commands: Option<u32>,
    /// Draw everything random from this seed [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    seed: Option<u64>,
    /// With --replay, write id and response_ms of each command to this file, replacing it, or with - to standard
    /// output; with --fit, the profile; otherwise write drives.json and charts into this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write into the directory of --out though it is not empty, or replace the profile there
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl SpindleArguments {
    /// A flag given without the one that it says more of, and that one. (The parser lets it pass where a third
    /// excludes the one that it needs.)
    pub(crate) fn stray_flag(&self) -> Option<(&'static str, &'static str)> {
        let of_a_loop = [
            ("--sectors", self.sectors.is_some()),
            ("--range", self.range.is_some()),
            ("--reads", self.reads.is_some()),
            ("--commands", self.commands.is_some()),
        ];
        let of_a_load =
            [("--scheduler", self.scheduler.is_some()), ("--depth", self.depth.is_some())];
        let of_a_drive = [("--cache", self.cache.is_some())];
        let given =
            |flags: &[(&'static str, bool)]| flags.iter().find(|(_, given)| *given).copied();
        let stray_of_a_loop = given(&of_a_loop).filter(|_| self.closed_loop.is_none());
        let no_load = self.closed_loop.is_none() && self.replay.is_none();
        let stray_of_a_load = given(&of_a_load).filter(|_| no_load);
        let stray_of_a_drive = given(&of_a_drive).filter(|_| self.fit.is_some());
        stray_of_a_loop
            .map(|(flag, _)| (flag, "--closed-loop DEPTH"))
            .or(stray_of_a_load.map(|(flag, _)| (flag, "--replay TRACE or --closed-loop DEPTH")))
            .or(stray_of_a_drive.map(|(flag, _)| (flag, "a PROFILE")))
    }

    pub(crate) fn scheduler(&self) -> Scheduler {
        self.scheduler.unwrap_or(Scheduler::Fcfs)
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth.unwrap_or(MAX_DEPTH)
    }

    pub(crate) fn cache_is_on(&self) -> bool {
        matches!(self.cache, Some(Switch::On))
    }

    pub(crate) fn sectors(&self) -> u32 {
        self.sectors.unwrap_or(8)
    }

    pub(crate) fn range(&self) -> LbaRange {
        self.range.unwrap_or(LbaRange::WHOLE)
    }

    pub(crate) fn reads(&self) -> f64 {
        self.reads.unwrap_or(100.0)
    }

    pub(crate) fn commands(&self) -> u32 {
        self.commands.unwrap_or(20_000)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// Reads the command line, the program's name first.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let command = Arguments::command().color(color_among(&words));
    let matches = command.try_get_matches_from(words);
    matches.and_then(|matches| Arguments::from_arg_matches(&matches)).map_err(suggest_run)
}

/// The colour asked for, found before anything is understood: what is wrong with the words is coloured too.
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

pub(crate) fn seed(text: &str) -> Result<u64, String> {
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

fn bench_seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds)).ok_or_else(|| {
        "give the seconds of wall time for each array, 0.1 to 3600, such as --seconds 5".into()
    })
}

pub(crate) fn segments(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("no segments measure nothing; give 1 or more".into()),
        Ok(segments) if segments <= MOST_SEGMENTS => Ok(segments),
        _ => Err(format!("give a whole number from 1 to {MOST_SEGMENTS}, such as --segments 14")),
    }
}

fn speed_up(text: &str) -> Result<SpeedUp, String> {
    let factor: f64 = text
        .parse()
        .map_err(|_| "give a number such as --speedup 2 or --speedup 0.5".to_owned())?;
    SpeedUp::new(factor).map_err(|error| error.to_string())
}

fn chart_size(text: &str) -> Result<ChartSize, String> {
    let size = text.split_once('x').and_then(|(width, height)| {
        Some(ChartSize { width_px: width.parse().ok()?, height_px: height.parse().ok()? })
    });
    let possible = size.filter(|size| size.check().is_ok());
    possible
        .ok_or_else(|| "give width and height from 480x320 to 8000x8000, such as 1200x700".into())
}

pub(crate) fn whole_number(text: &str, most: u32, example: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("give a whole number from 1 to {most}, such as {example}"))
}

fn outstanding(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_OUTSTANDING, "--closed-loop 8")
}

fn depth(text: &str) -> Result<u32, String> {
    whole_number(text, MAX_DEPTH, "--depth 32")
}

fn sectors(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_SECTORS, "--sectors 8")
}

fn commands(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_COMMANDS, "--commands 20000")
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "give a number from 0 to 100, such as --reads 67".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
