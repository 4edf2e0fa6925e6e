//! The flags of `strewn spindle`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use strewn::spindle::{MAX_DEPTH, Scheduler};

use super::output::FormatArguments;
use super::values::{commands, depth, outstanding, percent, sectors, seed};
use crate::command::spindle::LbaRange;

/// The flags that have no use where no drive is run.
const OF_A_RUN: [&str; 11] = [
    "profile",
    "beside",
    "load",
    "scheduler",
    "depth",
    "cache",
    "sectors",
    "range",
    "reads",
    "commands",
    "seed",
];
/// The flags that have no use besides where nothing is written.
const OF_A_FILE: [&str; 3] = ["fit", "out", "force"];

/// `strewn spindle`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("load").args(["replay", "closed_loop"])
)]
pub(crate) struct SpindleArguments {
    /// The drive: the name of a shipped profile, or a TOML file
    #[arg(required_unless_present_any = ["fit", "list", "print", "from_datasheet"])]
    pub(crate) profile: Option<String>,
    /// A second drive, shown next to the first in every table and chart
    #[arg(value_name = "PROFILE2", conflicts_with = "load")]
    pub(crate) beside: Option<String>,
    /// Replay the commands of a CSV file, each at its arrival time
    ///
    /// The file is plain or gzip. The columns are id, arrival_ms, lba, sectors and rw (R or W); other columns are
    /// ignored.
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["closed_loop", "seed", "force"])]
    pub(crate) replay: Option<PathBuf>,
    /// Run a closed loop: keep DEPTH commands at the drive
    ///
    /// DEPTH includes the one in service.
    #[arg(long, value_name = "DEPTH", allow_negative_numbers = true, value_parser = outstanding,
          conflicts_with_all = ["out", "force"])]
    pub(crate) closed_loop: Option<u32>,
    /// Fit a profile to this device or file, using reads only
    ///
    /// Written to the .toml file given by --out. Turn the drive's own cache off first.
    #[arg(long, value_name = "DEVICE", requires = "out",
          conflicts_with_all = ["profile", "beside", "load", "seed", "json"])]
    pub(crate) fit: Option<PathBuf>,
    /// Write a profile from the figures of a data sheet
    ///
    /// To --out, or to standard output. Such as 'rpm=10000 capacity="600 GB" seek="3.7 ms" outer="204 MB/s"
    /// inner="125 MB/s"'. Further keys: track_to_track, full_stroke, write_seek, heads, sector, interface, cache,
    /// source.
    #[arg(long, value_name = "FIGURES", conflicts_with_all = OF_A_RUN,
          conflicts_with_all = ["fit", "list", "print", "json"])]
    pub(crate) from_datasheet: Option<String>,
    /// List the profiles that ship, and where their figures come from
    #[arg(long, conflicts_with_all = OF_A_RUN, conflicts_with_all = OF_A_FILE)]
    pub(crate) list: bool,
    /// Print the profile of this name as it ships, to edit a copy
    #[arg(long, value_name = "NAME", conflicts_with_all = OF_A_RUN, conflicts_with_all = OF_A_FILE,
          conflicts_with_all = ["list", "json"])]
    pub(crate) print: Option<String>,
    /// How the drive chooses the next command [default: fcfs]
    ///
    /// fcfs, sstf, c-look, sptf, aged-sptf or aged-sptf:N.
    #[arg(long, value_name = "RULE")]
    scheduler: Option<Scheduler>,
    /// Length of the queue that the drive chooses from [default: 256]
    ///
    /// From 1 to 256; later commands wait in order of arrival.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = depth)]
    depth: Option<u32>,
    /// Turn the drive's own cache on or off [default: off]
    #[arg(long, value_name = "on|off")]
    cache: Option<Switch>,
    /// Closed loop: sectors per command [default: 8]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = sectors)]
    sectors: Option<u32>,
    /// Closed loop: addresses, as sectors or percent [default: 0%..100%]
    ///
    /// From LO up to but not including HI, such as 0%..5%.
    #[arg(long, value_name = "LO..HI")]
    range: Option<LbaRange>,
    /// Closed loop: percentage of reads [default: 100]
    ///
    /// The other commands are writes.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percent)]
    reads: Option<f64>,
    /// Closed loop: commands to measure [default: 20000]
    ///
    /// After a warm-up of 1000 or 4 x DEPTH commands, whichever is more.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = commands)]
    commands: Option<u32>,
    /// Seed of all random choices [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    seed: Option<u64>,
    /// Where to write; - for standard output with --replay
    ///
    /// With --replay: a file for the id and response_ms of each command, replaced if it exists, or - for standard
    /// output. With --fit or --from-datasheet: the profile. Otherwise: a directory for drives.json and charts.
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing profile or report
    ///
    /// A directory that is not empty is written into.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

impl SpindleArguments {
    /// Returns a flag that was given without the flag that it requires, and that flag. The parser misses this if a
    /// third flag excludes the required one.
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
