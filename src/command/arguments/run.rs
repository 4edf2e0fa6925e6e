//! The flags of `strewn run`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use strewn::TraceVolumes;
use strewn::formats::trace::{BlkparseAction, SpeedUp, TraceFormat};
use strewn::scenario::Until;

use super::output::{FormatArguments, PictureArguments, TableArguments};
use super::values::{jobs, replicates, scale_down, seed, segments, setting, speed_up, until};

/// Heading of the flags that take a workload from a file.
const LOADS: &str = "Workloads from Iometer, fio and traces";

/// Heading of the flags that say when operations of a trace arrive.
const MOMENTS: &str = "Times in traces";

/// `strewn run`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("load").args(["access_spec", "fio_job", "trace"])
)]
pub(crate) struct RunArguments {
    /// The scenario: a TOML file, or - for standard input
    ///
    /// Shipped scenarios are in scenarios/.
    #[arg(required_unless_present = "resume")]
    pub(crate) scenario: Option<PathBuf>,
    /// Write report.html, results.json, segments.csv and charts to this directory
    ///
    /// map.json and a copy of the scenario go there too.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write even if DIR is not empty
    ///
    /// Results in it are replaced, other files stay.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
    /// Run at one eighth of full scale, which takes seconds
    ///
    /// The results are marked as scaled. Not for fio jobs and traces.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run at 1/N of full scale
    ///
    /// As --quick does with 8. The figures stray farther from those of full scale as N grows.
    #[arg(long, value_name = "N", conflicts_with = "quick", allow_negative_numbers = true, value_parser = scale_down)]
    pub(crate) scale_down: Option<u32>,
    /// Change a setting of the scenario; may be repeated
    ///
    /// The name is one that --explain lists, or its end if that is unique.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Save the run in this directory, so that --resume can go on with it
    ///
    /// It is saved after each segment, and when it is stopped.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["load", "also", "record_iolog", "explain"])]
    pub(crate) save: Option<PathBuf>,
    /// Go on with the run that is saved in this directory
    ///
    /// It goes on being saved there. The scenario and what changes it come from there; results are those of a run that
    /// was never stopped.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "scenario", "save", "set", "seed", "segments", "until", "quick", "scale_down", "load",
        "trace_format", "speedup", "closed_loop_trace", "wrap", "hold_back", "trace_device",
        "trace_volumes", "trace_sizes", "trace_action", "at_whole_seconds", "also", "record_iolog", "explain"
    ])]
    pub(crate) resume: Option<PathBuf>,
    /// Print every setting of the scenario with its value, and run nothing
    #[arg(long, conflicts_with_all = ["load", "out", "json", "format", "quick", "scale_down", "record_iolog"])]
    pub(crate) explain: bool,
    /// Seed of all random choices, instead of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Run with N seeds, and put a band around every predicted figure
    ///
    /// The seeds are the scenario's and the ones that follow it. Figures are those of the first run; --also and
    /// --record-iolog are about that run alone.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = replicates,
          conflicts_with_all = ["save", "resume", "explain"])]
    pub(crate) replicates: Option<u32>,
    /// Number of segments, instead of the scenario's
    ///
    /// It may exceed the published number.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = segments)]
    pub(crate) segments: Option<u32>,
    /// Run each array until it is known: "rewritten 100 %" or "steady"
    ///
    /// Rewritten: hosts have written as much as the file has, also in multiples. Steady: the IOPS of the last eight
    /// segments or more have no trend. At most --segments, 1000 unless given.
    #[arg(long, value_name = "GOAL", value_parser = until)]
    pub(crate) until: Option<Until>,
    /// Number of threads [default: one per core]
    ///
    /// The results do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// Also write the results in the format of another tool
    ///
    /// fio.json, as fio --output-format=json+ writes it, with a job per segment; results.csv, as Iometer writes it,
    /// with a test per segment; or latency.hlog, response times as HdrHistogram logs them, with an interval per
    /// segment, array and direction.
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        value_name = "TOOL",
        value_delimiter = ',',
        requires = "out"
    )]
    pub(crate) also: Vec<Shape>,
    /// Print what was found and a line for each array, and no tables
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) brief: bool,
    /// Print nothing but errors
    ///
    /// The results are in --out.
    #[arg(long, hide_short_help = true, requires = "out", conflicts_with_all = ["json", "format"])]
    pub(crate) quiet: bool,
    /// Log every host operation to this file as a fio iolog
    ///
    /// With several arrays there is a file per array, with the array's name before the extension.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) record_iolog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// A workload from a file of another tool.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArguments {
    /// Run an access specification of an Iometer configuration (.icf)
    ///
    /// It replaces the workload: the specification called NAME, or the ones that its workers are assigned.
    #[arg(long, value_name = "FILE[:NAME]", help_heading = LOADS)]
    pub(crate) access_spec: Option<String>,
    /// Run the jobs of a fio job file, or one of them
    ///
    /// They replace the workload, and run until they finish.
    #[arg(long, value_name = "FILE[:JOB]", help_heading = LOADS)]
    pub(crate) fio_job: Option<String>,
    /// Replay a block trace to its end
    ///
    /// It replaces the workload. The file is plain, gzip or zstd. Each operation is issued at its recorded time.
    /// Formats: MSR Cambridge, SPC, blkparse text, DiskSim ASCII, fio iolog, CSV with named columns, Alibaba, Tencent,
    /// vscsi (CloudPhysics), blktrace. `strewn trace` says what is in one.
    #[arg(long, value_name = "FILE", help_heading = LOADS)]
    pub(crate) trace: Option<PathBuf>,
    /// Format of the trace, if its first line does not show it
    ///
    /// One of msr, spc, blkparse, disksim, fio-iolog, columns, alibaba, tencent, vscsi and blktrace.
    #[arg(long, hide_short_help = true, value_name = "FORMAT", requires = "trace", help_heading = LOADS)]
    pub(crate) trace_format: Option<TraceFormat>,
    /// Replay the trace X times as fast as it was recorded
    #[arg(long, hide_short_help = true,
          value_name = "X", requires = "trace", allow_negative_numbers = true, value_parser = speed_up,
          help_heading = LOADS)]
    pub(crate) speedup: Option<SpeedUp>,
    /// Ignore the trace's times
    ///
    /// Its operations are issued in order, with as many outstanding as without a trace.
    #[arg(long, hide_short_help = true, requires = "trace", conflicts_with = "speedup", help_heading = LOADS)]
    pub(crate) closed_loop_trace: bool,
    /// Wrap records beyond the end of the file to their offset modulo its size
    ///
    /// Without this flag they are errors.
    #[arg(long, hide_short_help = true, requires = "trace", help_heading = LOADS)]
    pub(crate) wrap: bool,
    /// Delay a record that is earlier than the one before it until that one arrives
    ///
    /// Without this flag it is an error.
    #[arg(long, hide_short_help = true, requires = "trace", conflicts_with = "closed_loop_trace", help_heading = LOADS)]
    pub(crate) hold_back: bool,
    /// Replay only the records of this device
    ///
    /// A disk number, application storage unit, volume or device number.
    #[arg(long, hide_short_help = true, value_name = "N", requires = "trace", help_heading = LOADS)]
    pub(crate) trace_device: Option<u32>,
    /// Replay several volumes of the trace at once, each on a LUN of its own
    ///
    /// By number, as in 3,17,42, or those with most operations, as in hottest:8; at most 64. Their LUNs replace those
    /// of every array.
    #[arg(long, hide_short_help = true, value_name = "N,...|hottest:N", requires = "trace",
          conflicts_with = "trace_device", help_heading = LOADS)]
    pub(crate) trace_volumes: Option<TraceVolumes>,
    /// Sizes of the volumes, such as Alibaba's device_size.csv
    ///
    /// A line is `device_id,bytes`. Without it, a LUN ends at the highest address that its volume touches.
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "trace_volumes", help_heading = LOADS)]
    pub(crate) trace_sizes: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trace_moments: TraceMomentArguments,
}

/// When the operations of a trace arrive, where its format leaves a choice.
#[derive(Debug, Clone, Args)]
pub(crate) struct TraceMomentArguments {
    /// The event of blktrace and blkparse at which an operation arrives [default: issued]
    ///
    /// queued, as the host made it; issued, as the device got it; or completed. Devices such as LVM's have no issued
    /// events.
    #[arg(long, hide_short_help = true, value_name = "EVENT", requires = "trace", help_heading = MOMENTS)]
    trace_action: Option<TraceActionArgument>,
    /// Have operations of a Tencent trace arrive at their whole second
    ///
    /// Without this flag those of a second are spread evenly over it, in their order.
    #[arg(long, hide_short_help = true, requires = "trace", help_heading = MOMENTS)]
    pub(crate) at_whole_seconds: bool,
}

impl TraceMomentArguments {
    pub(crate) fn action(&self) -> BlkparseAction {
        match self.trace_action {
            Some(TraceActionArgument::Queued) => BlkparseAction::Queued,
            None | Some(TraceActionArgument::Issued) => BlkparseAction::Issued,
            Some(TraceActionArgument::Completed) => BlkparseAction::Completed,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TraceActionArgument {
    Queued,
    Issued,
    Completed,
}

impl LoadArguments {
    /// Returns the flag of a workload that cannot be run at another scale, if one is given.
    pub(crate) fn unscalable(&self) -> Option<&'static str> {
        let fio = self.fio_job.is_some().then_some("--fio-job");
        fio.or(self.trace.is_some().then_some("--trace"))
    }
}

/// A tool whose format results are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    Fio,
    Iometer,
    Hdr,
}
