//! `strewn array run`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use strewn::live::{FillFile, LiveError, LiveOptions, LiveOutcome, LivePlan, LiveRun};
use strewn::scenario::{AccessLine, AccessSpecificationChoice, Bytes, Nanoseconds, QuantityError};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{Load, LoadError, RunOptions};

use super::opened::Io;
use crate::command::arguments::{
    self, FormatArguments, LoadArguments, PictureArguments, TableArguments,
};
use crate::command::load::{self, NotRead};
use crate::command::out_directory::OutDirectory;
use crate::command::output_files::{self, OutputFiles, RunOutput, Shown};

/// Heading of the flags of simple workloads.
const PATTERNS: &str = "Simple workloads";

/// Largest number of outstanding operations: the array holds all of them, with their data, in memory.
const MOST_OUTSTANDING: u32 = 4_096;
/// Largest operation: all outstanding operations are in memory.
const MOST_OPERATION_BYTES: u64 = 64 << 20;

/// `strewn array run`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("load").args([
        "access_spec", "fio_job", "trace", "sequential_read", "sequential_write", "random_read", "random_write",
    ])
)]
pub(crate) struct ArrayRunArguments {
    /// The directory that the array was created in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Number of outstanding operations, unless the workload sets it
    #[arg(long, value_name = "N", default_value = "32", allow_negative_numbers = true, value_parser = outstanding)]
    outstanding: u32,
    /// Size of the file under load [default: the whole LUN]
    ///
    /// It lies at the start of the LUN.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    file: Option<u64>,
    /// Number of segments [default: 3, or until the workload ends]
    ///
    /// Each is measured on its own.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = arguments::segments)]
    segments: Option<u32>,
    /// Length of a segment
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    segment: u64,
    /// Fill the file before the first segment
    ///
    /// [default: if none of it was ever written]
    #[arg(long, conflicts_with = "no_fill")]
    fill: bool,
    /// Do not fill the file: unwritten blocks read as zeros, without spindle I/O
    #[arg(long, hide_short_help = true)]
    no_fill: bool,
    /// I/O backend: io_uring, threads, or io_uring if the kernel allows it
    #[arg(long, hide_short_help = true, value_enum, default_value_t)]
    io: Io,
    /// Run degraded, without missing and failed spindles that parity can replace
    #[arg(long, hide_short_help = true)]
    degraded: bool,
    /// Seed of the host's operations
    #[arg(long, hide_short_help = true,
          value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = arguments::seed)]
    seed: u64,
    /// Write report.html, results.json, segments.csv and charts to DIR
    ///
    /// map.json goes there too.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write even if DIR is not empty
    ///
    /// Results in it are replaced, other files stay.
    #[arg(long, hide_short_help = true, requires = "out")]
    force: bool,
    #[command(flatten)]
    format: FormatArguments,
    /// Sequential reads of this size
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    sequential_read: Option<u32>,
    /// Sequential writes of this size
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    sequential_write: Option<u32>,
    /// Random reads of this size, aligned to it
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    random_read: Option<u32>,
    /// Random writes of this size, aligned to it
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    random_write: Option<u32>,
    #[command(flatten)]
    load: LoadArguments,
    #[command(flatten)]
    table: TableArguments,
    #[command(flatten)]
    pictures: PictureArguments,
}

impl ArrayRunArguments {
    /// Returns the mix of operations and the alignment of random ones, for runs without a workload file.
    fn accesses(&self) -> (AccessSpecificationChoice, u32) {
        let patterns = [
            (self.sequential_read, 100, 0),
            (self.sequential_write, 0, 0),
            (self.random_read, 100, 100),
            (self.random_write, 0, 100),
        ];
        let given = patterns.into_iter().find_map(|(bytes, read_percent, random_percent)| {
            let bytes = bytes?;
            let line = AccessLine { bytes, percent_of_accesses: 100, read_percent, random_percent };
            Some((AccessSpecificationChoice::Inline(vec![line]), bytes))
        });
        given.unwrap_or((AccessSpecificationChoice::Shipped("file-server".to_owned()), 512))
    }

    /// Returns how to enlarge the file under load.
    const fn larger_file(&self) -> &'static str {
        match self.file {
            Some(_) => "give a larger --file, or none for all of the LUN",
            None => "create an array with a larger --lun-size",
        }
    }

    fn options(&self) -> LiveOptions {
        LiveOptions {
            degraded: self.degraded,
            io: self.io.into(),
            fill: match (self.fill, self.no_fill) {
                (true, _) => FillFile::Always,
                (false, true) => FillFile::Never,
                (false, false) => FillFile::IfBlank,
            },
            with_map: self.out.is_some(),
        }
    }
}

/// Runs the array, prints its tables or its JSON, and writes its files.
pub(super) fn run(arguments: &ArrayRunArguments) -> Result<Ending, Failure> {
    let out = arguments.out.as_deref();
    arguments.pictures.check_against(out)?;
    arguments.table.check_against(out)?;
    let names = output_files::names_of_run;
    let out = out.map(|path| OutDirectory::check(path, arguments.force, names())).transpose()?;

    let live = LiveRun::open(&arguments.directory, arguments.options()).map_err(failure)?;
    for problem in live.problems() {
        terminal::say(&format!("warning: {problem}"));
    }
    let (accesses, alignment_bytes) = arguments.accesses();
    let plan = LivePlan {
        outstanding: arguments.outstanding,
        file_bytes: arguments.file,
        accesses,
        alignment_bytes,
        segments: arguments.segments.unwrap_or(3),
        segment_ns: arguments.segment,
        seed: arguments.seed,
    };
    let mut scenario = live.scenario(&plan).map_err(failure)?;
    if arguments.load.trace_volumes.is_some() {
        return Err(Failure::bad_input(
            "--trace-volumes cannot be used with strewn array run: an array has the LUNs that it was created with",
            "choose one volume with --trace-device N, or replay several in a simulation: strewn run --trace",
        ));
    }
    let larger_file = arguments.larger_file();
    let load: Option<Load> =
        load::read(&arguments.load, &scenario).map_err(|not_read| match not_read {
            NotRead::Load(error) => refused_load(&error, larger_file),
            NotRead::Stopped => not_read.into(),
        })?;
    if arguments.segments.is_none()
        && let Some(own) = load.as_ref().and_then(|load| load::segments(load, scenario.segment_ns))
    {
        scenario.segments = own;
    }
    let configuration = live.configuration().to_owned();

    let options = RunOptions { load, ..RunOptions::default() };
    let terminal = Terminal::of_run(&scenario, &options);
    let ran = live.run(&scenario, options.load.as_ref(), &terminal);
    // Clear the progress bar before anything is printed.
    drop(terminal);
    let LiveOutcome { results, map, problem } = ran.map_err(|error| match error {
        LiveError::Load(error) => refused_load(&error, larger_file),
        error => failure(error),
    })?;
    if results.arrays.iter().all(|array| array.segments.is_empty()) {
        return Err(Failure::stopped("stopped before any segment was complete"));
    }

    let json = results.to_json_string().map_err(|error| Failure::failed(error.to_string()))?;
    let files = |out| {
        let map = Some(&map).filter(|map| !map.arrays.is_empty());
        // In place of a scenario's file, the report shows the configuration from the labels.
        let shown = Shown { results: &results, map, scenario: Some(&configuration) };
        let measured = output_files::of_run(&Shown { scenario: None, ..shown }, &json)?;
        let made = output_files::of_report(
            &shown,
            &arguments.pictures,
            &[arguments.table.format()],
            &arguments.table.columns(),
        );
        Ok::<_, Failure>(OutputFiles { out, measured, made })
    };
    let files = out.map(files).transpose()?;
    let format = &arguments.format;
    let text = output_files::printed(&results, &json, format, &arguments.table)?;
    let is_for_programs = format.is_for_programs();
    output_files::publish(RunOutput { text, is_for_programs, files })?;
    match problem {
        Some(problem) => Err(failure(problem)),
        None => Ok(Ending::of(&results)),
    }
}

/// Returns the failure for a workload that does not fit this array.
fn refused_load(error: &LoadError, larger_file: &str) -> Failure {
    let others = error.others().iter().map(|error| refused_load(error, larger_file));
    Failure::bad_input(error.to_string(), error.help_with(larger_file))
        .with_others(others.collect::<Vec<_>>())
}

fn failure(error: LiveError) -> Failure {
    let help = error.remedy();
    match error {
        LiveError::Load(error) => error.into(),
        LiveError::Host(error) => error.into(),
        LiveError::Interrupted => Failure::stopped(error.to_string()),
        error if error.is_bad_input() => Failure::bad_input(error.to_string(), help),
        error if help.is_empty() => Failure::failed(error.to_string()),
        error => Failure::failed(error.to_string()).with_help(help),
    }
}

fn outstanding(text: &str) -> Result<u32, String> {
    arguments::whole_number(text, MOST_OUTSTANDING, "--outstanding 32")
}

fn size(text: &str) -> Result<u64, String> {
    let Bytes(bytes) = text.parse().map_err(|error: QuantityError| {
        let meant = Bytes::suggestion(text).map(|meant| format!("; {meant}"));
        format!("{error}{}", meant.unwrap_or_default())
    })?;
    if bytes == 0 || !bytes.is_multiple_of(512) {
        return Err("give whole sectors of 512 B, such as 1GiB".into());
    }
    Ok(bytes)
}

fn operation(text: &str) -> Result<u32, String> {
    let bytes = size(text)?;
    let short = u32::try_from(bytes).ok().filter(|_| bytes <= MOST_OPERATION_BYTES);
    short.ok_or_else(|| format!("an operation has at most {}", Bytes(MOST_OPERATION_BYTES)))
}

fn time(text: &str) -> Result<u64, String> {
    let parsed = text.parse().map_err(|error: QuantityError| {
        let meant = Nanoseconds::suggestion(text).map(|meant| format!("; {meant}"));
        format!("{error}{}", meant.unwrap_or_default())
    });
    match parsed? {
        Nanoseconds(0..1_000_000) => Err("a segment is of a millisecond at least".into()),
        Nanoseconds(ns) => Ok(ns),
    }
}
