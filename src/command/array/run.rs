//! `strewn array run`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use strewn::live::{FillFile, LiveError, LiveOptions, LiveOutcome, LivePlan, LiveRun};
use strewn::report;
use strewn::scenario::{AccessLine, AccessSpecificationChoice, Bytes, Nanoseconds, QuantityError};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{Load, LoadError, RunOptions};

use super::opened::Io;
use crate::command::arguments::{
    self, EXIT_CODES, LoadArguments, PictureArguments, TableArguments, with_examples,
};
use crate::command::load::{self, NotRead};
use crate::command::out_directory::OutDirectory;
use crate::command::output_files::{self, Shown};

const EXAMPLES: &str = "\
A workload that writes does so over what the LUN holds, and so does --fill.

Examples:
  strewn array run /srv/array --out results
  strewn array run /srv/array --random-write 4KiB --outstanding 32
  strewn array run /srv/array --trace disk0.csv.gz --wrap";

/// Over the flags of simple workloads.
const PATTERNS: &str = "Simple workloads";

/// More are refused: an array keeps every one of them, and what it writes, in memory.
const MOST_OUTSTANDING: u32 = 4_096;
/// A longer operation is refused: as many as are outstanding are in memory.
const MOST_OPERATION_BYTES: u64 = 64 << 20;

/// `strewn array run`.
#[derive(Debug, Args)]
#[command(
    after_help = with_examples(EXAMPLES, EXIT_CODES),
    group = ArgGroup::new("load").args([
        "access_spec", "fio_job", "trace", "sequential_read", "sequential_write", "random_read", "random_write",
    ])
)]
pub(crate) struct ArrayRunArguments {
    /// The directory that the array was created in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Operations outstanding at a time, where the workload does not say
    #[arg(long, value_name = "N", default_value = "32", allow_negative_numbers = true, value_parser = outstanding)]
    outstanding: u32,
    /// Length of the file under load, in the lowest addresses of the LUN; all of the LUN if not given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    file: Option<u64>,
    /// How many segments are measured, each on its own; 3, or as many as the workload takes that ends by itself
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = arguments::segments)]
    segments: Option<u32>,
    /// How long a segment is
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    segment: u64,
    /// Write the file in full before the first segment; without either flag that is done if none of it was ever written
    #[arg(long, conflicts_with = "no_fill")]
    fill: bool,
    /// Do not: what was never written reads as zeros, without a spindle
    #[arg(long)]
    no_fill: bool,
    /// How devices are asked: by io_uring, by threads, or by io_uring where the kernel allows it
    #[arg(long, value_enum, default_value_t)]
    io: Io,
    /// Run though spindles are missing or failed, as long as parity makes them good
    #[arg(long)]
    degraded: bool,
    /// Draw the host's operations from this seed
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = arguments::seed)]
    seed: u64,
    /// Write results.json, segments.csv, map.json, report.html and charts into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write into the directory of --out though it is not empty: the results in it are replaced, other files stay
    #[arg(long, requires = "out")]
    force: bool,
    /// Print the text of results.json instead of tables
    #[arg(long)]
    json: bool,
    /// Read one stretch of this size behind the other
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    sequential_read: Option<u32>,
    /// Write one stretch of this size behind the other
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    sequential_write: Option<u32>,
    /// Read stretches of this size anywhere, at multiples of it
    #[arg(long, value_name = "SIZE", value_parser = operation, help_heading = PATTERNS)]
    random_read: Option<u32>,
    /// Write stretches of this size anywhere, at multiples of it
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
    /// The mix of operations and the alignment of random ones, where no file of another tool says.
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

    /// How the file under load is made larger.
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
    // Its bar is gone before anything is said.
    drop(terminal);
    let LiveOutcome { results, map, problem } = ran.map_err(|error| match error {
        LiveError::Load(error) => refused_load(&error, larger_file),
        error => failure(error),
    })?;
    if results.arrays.iter().all(|array| array.segments.is_empty()) {
        return Err(Failure::stopped("stopped before any segment was complete"));
    }

    let json = results.to_json_string().map_err(|error| Failure::failed(error.to_string()))?;
    if let Some(out) = out {
        let map = Some(&map).filter(|map| !map.arrays.is_empty());
        // What a report shows of a scenario's file is here what the labels say of the array.
        let shown = Shown { results: &results, map, scenario: Some(&configuration) };
        let files = output_files::of_run(&Shown { scenario: None, ..shown }, &json)?;
        let made = output_files::of_report(&shown, &arguments.pictures, arguments.table.format);
        output_files::write(out, files, made)?;
    }
    terminal::print(&if arguments.json { json } else { report::all_tables(&results) })?;
    match problem {
        Some(problem) => Err(failure(problem)),
        None => Ok(Ending::of(&results)),
    }
}

/// A workload that this array cannot be given.
fn refused_load(error: &LoadError, larger_file: &str) -> Failure {
    Failure::bad_input(error.to_string(), error.help_with(larger_file))
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
    let Bytes(bytes) = text.parse().map_err(|error: QuantityError| error.to_string())?;
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
    match text.parse().map_err(|error: QuantityError| error.to_string())? {
        Nanoseconds(0..1_000_000) => Err("a segment is of a millisecond at least".into()),
        Nanoseconds(ns) => Ok(ns),
    }
}
