//! The flags of `strewn file`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use strewn::scenario::{Bytes, Nanoseconds};

use super::output::{FormatArguments, PictureArguments};
use super::values::{jobs, seed, whole_number};

/// Headings of the flags.
const REQUESTS: &str = "Requests and drive";
const LISTS: &str = "Trees and lists";
const OVER_TIME: &str = "Over time";

/// `strewn file`.
#[derive(Debug, Args)]
#[command(
    override_usage = "strewn file [OPTIONS] <PATH|--from F|--volume V|--pool P|--pool-from F>",
    group = ArgGroup::new("requests").args(["read", "write", "access_spec", "fio_job"]),
    group = ArgGroup::new("given").args(["paths", "from", "volume", "pool", "pool_from"]).required(true).multiple(true)
)]
pub(crate) struct FileArguments {
    /// Files, and directories to be searched for files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Take extents from a saved list, or - for standard input
    ///
    /// May be repeated. Instead of the file system: CSV as --save-extents writes it, or the output of filefrag -v,
    /// xfs_bmap -vp, zdb -ddddd, lvs (see --volume) or fsutil file queryExtents.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Vec<PathBuf>,
    /// Look at how a logical volume of LVM lies on its physical volumes
    ///
    /// May be repeated. By lvs, as root. --from reads the same listing, saved elsewhere.
    #[arg(long, hide_short_help = true, value_name = "/dev/VG/LV")]
    pub(crate) volume: Vec<String>,
    /// Measure the free space of a ZFS pool of this machine
    ///
    /// May be repeated. By zdb and zpool, as root: FRAG, scores, runs by length, and what the next writes get and cost.
    #[arg(long, hide_short_help = true, value_name = "NAME",
          conflicts_with_all = ["paths", "from", "volume", "format", "out", "compare", "free_space", "save_extents",
                                "append"])]
    pub(crate) pool: Vec<String>,
    /// Measure the free space of a pool from a saved list, or - for standard input
    ///
    /// May be repeated. The output of zdb -mm or zdb -MMM of a ZFS pool, or of ceph-bluestore-tool free-dump: as
    /// --pool has it.
    #[arg(long, hide_short_help = true, value_name = "FILE",
          conflicts_with_all = ["paths", "from", "volume", "format", "out", "compare", "free_space", "save_extents",
                                "append"])]
    pub(crate) pool_from: Vec<PathBuf>,
    /// Also write the extents of all files listed to this CSV file
    ///
    /// --from reads them on another machine.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) save_extents: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
    /// Write report.html, the map and the tables to this directory
    ///
    /// The tables are files.json and files.csv.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write even if DIR is not empty
    ///
    /// The report in it is replaced, other files stay.
    #[arg(long, hide_short_help = true, requires = "out")]
    pub(crate) force: bool,
    /// Also print what changed since an earlier --json
    #[arg(long, value_name = "BEFORE.json", conflicts_with = "json")]
    pub(crate) compare: Option<PathBuf>,
    /// Also measure the free space, where the next writes will lie
    ///
    /// Takes root on btrfs and ext4, and the file system's tools for ext4 and XFS.
    #[arg(long)]
    pub(crate) free_space: bool,
    /// Look inside disk images that name other files too
    ///
    /// A backing file, or a VMDK's extents. qemu-img opens whatever they name: only for images you trust. Those that
    /// name none are always looked into.
    #[arg(long, hide_short_help = true)]
    pub(crate) inside: bool,
    /// First have the kernel write out what is in memory
    ///
    /// Every byte has its place then.
    #[arg(long, hide_short_help = true)]
    pub(crate) sync: bool,

    /// Reads of this size at random places [default: file-server]
    ///
    /// Without it, and without other requests, they are those of the File Server access specification.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = REQUESTS)]
    pub(crate) read: Option<Bytes>,
    /// Writes of this size at random places, in place
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = REQUESTS)]
    pub(crate) write: Option<Bytes>,
    /// One after another instead of at random places
    #[arg(long, help_heading = REQUESTS)]
    pub(crate) sequential: bool,
    /// An access specification from an Iometer configuration (.icf)
    #[arg(long, hide_short_help = true, value_name = "FILE[:NAME]", help_heading = REQUESTS)]
    pub(crate) access_spec: Option<String>,
    /// A job of a fio job file
    #[arg(long, hide_short_help = true, value_name = "FILE[:JOB]", help_heading = REQUESTS)]
    pub(crate) fio_job: Option<String>,
    /// Requests outstanding
    ///
    /// [default: what the file of the requests says, or 16, or 1 if sequential]
    #[arg(long, hide_short_help = true,
          value_name = "N", allow_negative_numbers = true, value_parser = outstanding, help_heading = REQUESTS)]
    pub(crate) outstanding: Option<u32>,
    /// The drive to simulate [default: nearline-7200-16tb]
    ///
    /// The name of a shipped profile or its TOML file, or an array of a scenario, SCENARIO[:ARRAY].
    #[arg(long, value_name = "DRIVE", help_heading = REQUESTS)]
    pub(crate) on: Option<String>,
    /// The largest command
    ///
    /// [default: max_sectors_kb of the device's queue, or 1280KiB]. Of a program's own memory, Linux may make no more
    /// than max_segments pages a command.
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = size, help_heading = REQUESTS)]
    pub(crate) max_command: Option<Bytes>,
    /// Seed of the requests
    #[arg(long, hide_short_help = true,
          value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = seed,
          help_heading = REQUESTS)]
    pub(crate) seed: u64,

    /// Files to list, those first that lose most
    ///
    /// The others are in the totals.
    #[arg(long, value_name = "N", default_value = "20", allow_negative_numbers = true, value_parser = top,
          help_heading = LISTS)]
    pub(crate) top: u32,
    /// What comes first
    #[arg(long, hide_short_help = true, value_enum, value_name = "FIGURE", default_value_t, help_heading = LISTS)]
    pub(crate) sort: Sort,
    /// Stay on the file systems of the directories given
    #[arg(short = 'x', long, hide_short_help = true, help_heading = LISTS)]
    pub(crate) one_file_system: bool,
    /// Be at work for at most this share of the time
    ///
    /// The share is in percent. There is one thread.
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true, default_missing_value = "25",
          value_parser = percent_of_time, conflicts_with = "jobs", help_heading = LISTS)]
    pub(crate) nice: Option<u32>,
    /// Number of threads [default: one per core]
    ///
    /// The figures do not depend on it.
    #[arg(long, hide_short_help = true,
          value_name = "N", allow_negative_numbers = true, value_parser = jobs, help_heading = LISTS)]
    pub(crate) jobs: Option<usize>,

    /// Predict the layout after these writes
    ///
    /// By the rules of the file system, such as "2 GiB of 8 KiB random writes".
    #[arg(long, value_name = "WRITES", help_heading = OVER_TIME)]
    pub(crate) predict: Option<String>,
    /// Look again and again, this far apart, until stopped
    #[arg(long, value_name = "TIME", value_parser = interval, requires = "append", help_heading = OVER_TIME,
          conflicts_with_all = ["json", "format", "compare", "out", "save_extents"])]
    pub(crate) every: Option<Nanoseconds>,
    /// With --every, the number of looks
    #[arg(long, hide_short_help = true,
          value_name = "N", requires = "every", allow_negative_numbers = true, value_parser = times,
          help_heading = OVER_TIME)]
    pub(crate) times: Option<u32>,
    /// Append the figures with the time to this CSV file
    ///
    /// The chart of all it holds is drawn beside it (.svg).
    #[arg(long, value_name = "HISTORY.csv", help_heading = OVER_TIME)]
    pub(crate) append: Option<PathBuf>,
    /// With --every, also write the figures of each look to this file, as OpenMetrics text
    ///
    /// For the textfile collector of node_exporter. A reader sees the file of one look or of the next.
    #[arg(long, hide_short_help = true, value_name = "FILE.prom", requires = "every", help_heading = OVER_TIME)]
    pub(crate) metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}

/// What files are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Sort {
    /// Commands beyond those of a contiguous file, for one pass over the file
    #[default]
    Cost,
    /// Seconds that reading all of the file once loses to the same file laid out contiguously
    Scan,
    /// Number of extents
    Extents,
    /// Layout score, the lowest first
    Score,
    /// Commands per request
    Commands,
    /// Size
    Size,
    /// Path
    Path,
}

fn size(text: &str) -> Result<Bytes, String> {
    // As fio has them: k is 1,024.
    let unit = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let binary = match &text[unit.len()..] {
        "k" | "K" => Some("KiB"),
        "m" | "M" => Some("MiB"),
        "g" | "G" => Some("GiB"),
        _ => None,
    };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = match binary {
        Some(binary) => quantity::<Bytes>(&format!("{unit}{binary}")),
        None if is_number => quantity::<Bytes>(&format!("{text} B")),
        None => quantity::<Bytes>(text),
    };
    bytes.filter(|bytes| (512..=1 << 30).contains(&bytes.0) && bytes.0 % 512 == 0).ok_or_else(
        || "give a multiple of 512 bytes up to 1 GiB, such as 4KiB or \"1 MiB\"".to_owned(),
    )
}

fn interval(text: &str) -> Result<Nanoseconds, String> {
    let time = quantity::<Nanoseconds>(text);
    time.filter(|time| time.0 >= 1_000_000_000)
        .ok_or_else(|| "give a time of at least a second, such as \"1 h\" or \"10 min\"".to_owned())
}

/// Reads a number and a unit, with or without a space between them: a shell needs no quotes then.
fn quantity<T: std::str::FromStr>(text: &str) -> Option<T> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    format!("{} {unit}", number.trim()).trim_end().parse().ok()
}

fn outstanding(text: &str) -> Result<u32, String> {
    whole_number(text, 256, "--outstanding 16")
}

fn top(text: &str) -> Result<u32, String> {
    whole_number(text, 100_000, "--top 20")
}

fn percent_of_time(text: &str) -> Result<u32, String> {
    whole_number(text.strip_suffix('%').unwrap_or(text), 100, "--nice=25")
}

fn times(text: &str) -> Result<u32, String> {
    whole_number(text, u32::MAX, "--times 24")
}
