//! Whole arrays under faults: schedules drawn from seeds, on simulated devices, with everything verified.
//!
//! A schedule is an array of a few small spindles and several incarnations of it. Each incarnation restarts the array
//! from the contents of the devices, compares all of its LUNs with what the host was told, and runs
//! [`check`](strewn_live::check) on the spindles, which also verifies the remains of the previous incarnation, redo
//! records included. Then a host reads and writes while faults of the schedule's [`ScheduleKind`] happen, until the
//! power fails or the array is shut down. Everything follows from one number, without threads and with a clock of its
//! own, so that a failure repeats.
//!
//! In most write-anywhere arrays, volumes, LUNs, snapshots and clones are created, resized and deleted at random
//! moments, and requests go to all LUNs. A change during which the power fails is done in full, or not at all. The
//! other arrays keep to one LUN, and write-anywhere ones take and delete snapshots of it when an incarnation begins.
//! All LUNs in snapshots are compared with what the LUNs were.
//!
//! The checks: every acknowledged write is there. An unacknowledged write is there or not, piece by piece. No read
//! returns data that was not written there. Nothing is refused unless faults exceed what parity covers. Beyond that,
//! copies of the spindles are spoiled when an incarnation ends, and everything is read from them: a block is right or
//! refused. And halves of the log are erased after a power loss: the array does not start, unless nothing acknowledged
//! is gone.
//!
//! Where spindles are lost, one may also be put back when an incarnation ends as it was in the middle of it: the next
//! start must mark it as failed. After some shutdowns, as many spindles as parity covers lack writes on copies of the
//! devices, first writes of zeros among them: a scrub repairs everything, a check finds nothing, and as many other
//! spindles can be lost.
//!
//! Half of the arrays have a mirrored log. One of its devices is lost while the array runs, does not return with the
//! power, is erased at rest except for its label, has a bit of its last record flipped, or becomes unreadable in part:
//! the array starts and has everything that was acknowledged.

mod adding_groups;
mod beyond_parity;
mod changes;
mod copies;
mod course;
mod end;
mod growth;
mod harness;
mod host;
mod image;
mod incarnation;
mod labels;
mod log_faults;
mod lost_log;
mod model;
mod plan;
mod rng;
mod schedule;
mod scrubbed;
mod shadow;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use strewn_live::configuration::LayoutName;

/// The faults of a schedule, besides power losses during host requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScheduleKind {
    /// Only power losses.
    Crashes,
    /// Spindles are lost and replaced. The power stays on.
    Losses,
    /// Spindles are lost and replaced, and the power fails. A lost spindle may return with the power.
    LossesAndCrashes,
    /// Unreadable blocks.
    ReadErrors,
    /// Bit flips at rest.
    Corruption,
    /// Ranges that become zeros, checksums included.
    Erasures,
    /// Writes that land elsewhere.
    MisdirectedWrites,
    /// Writes that are reported as done and never happen.
    LostWrites,
    /// Devices without space, for a while or until the end of an incarnation; and power losses.
    NoRoom,
    /// All of these.
    Everything,
}

impl ScheduleKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Crashes,
        Self::Losses,
        Self::LossesAndCrashes,
        Self::ReadErrors,
        Self::Corruption,
        Self::Erasures,
        Self::MisdirectedWrites,
        Self::LostWrites,
        Self::NoRoom,
        Self::Everything,
    ];

    /// Returns the kind of a seed's schedule.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self::ALL[(seed % Self::ALL.len() as u64) as usize]
    }

    /// Returns whether spindles have faults that they do not report.
    pub(crate) fn is_silent(self) -> bool {
        matches!(
            self,
            Self::ReadErrors
                | Self::Corruption
                | Self::Erasures
                | Self::MisdirectedWrites
                | Self::LostWrites
                | Self::Everything
        )
    }
}

/// Returns the layout of a seed's array, unless one is requested. Every kind of schedule gets every layout.
#[must_use]
pub fn layout_of(seed: u64) -> LayoutName {
    match seed / ScheduleKind::ALL.len() as u64 % 4 {
        0 => LayoutName::RaidDp,
        1 => LayoutName::Vraid5,
        2 => LayoutName::Raid4,
        _ => LayoutName::Raid5,
    }
}

/// Which schedules to run, and how verbosely.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Restricts schedules to arrays of this layout; by default, [`layout_of`] each seed.
    pub layout: Option<LayoutName>,
    /// Whether to keep all arrays to their first LUN, and to snapshots of it. By default, most write-anywhere arrays
    /// get other volumes, LUNs, snapshots and clones.
    pub single_lun: bool,
    /// Whether to write every step to standard error.
    pub verbose: bool,
}

/// Counts of what happened in schedules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Incarnations, including those that ended before the array had started.
    pub incarnations: u64,
    /// Power losses.
    pub crashes: u64,
    /// Power losses before the array had started.
    pub crashes_at_start: u64,
    /// Host requests.
    pub requests: u64,
    /// Spindles lost.
    pub losses: u64,
    /// Completed rebuilds.
    pub rebuilds: u64,
    /// Silent faults and read errors.
    pub silent_faults: u64,
    /// Times that an array could not start, rebuild or be shut down for lack of space.
    pub stops: u64,
    /// Requests that were answered for lack of space.
    pub refused_for_space: u64,
    /// I/Os of devices.
    pub ios: u64,
    /// Consistency points.
    pub consistency_points: u64,
    /// Changes to volumes, LUNs and snapshots.
    pub changes: u64,
    /// Changes that were refused.
    pub changes_refused: u64,
    /// Requests refused because thin volumes had filled the array.
    pub refused_when_full: u64,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Parity groups added.
    pub groups_added: u64,
    /// Additions undone: every device that knew of the group was lost before others learned of it.
    pub additions_undone: u64,
    /// Blocks of LUNs read from spindles with more faults than parity covers.
    pub beyond_parity: u64,
    /// Those of them that were refused.
    pub refused: u64,
    /// Spindles put back as they were earlier in an incarnation.
    pub copies: u64,
    /// Scrubs after lost writes, with other spindles lost afterwards.
    pub scrubs: u64,
    /// Starts refused because the log had lost records.
    pub logs_refused: u64,
    /// Faults at rest of one device of a mirrored log.
    pub log_faults: u64,
    /// Devices of mirrored logs that were replaced.
    pub logs_replaced: u64,
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.incarnations += other.incarnations;
        self.crashes += other.crashes;
        self.crashes_at_start += other.crashes_at_start;
        self.requests += other.requests;
        self.losses += other.losses;
        self.rebuilds += other.rebuilds;
        self.silent_faults += other.silent_faults;
        self.stops += other.stops;
        self.refused_for_space += other.refused_for_space;
        self.ios += other.ios;
        self.consistency_points += other.consistency_points;
        self.changes += other.changes;
        self.changes_refused += other.changes_refused;
        self.refused_when_full += other.refused_when_full;
        self.snapshots += other.snapshots;
        self.groups_added += other.groups_added;
        self.additions_undone += other.additions_undone;
        self.beyond_parity += other.beyond_parity;
        self.refused += other.refused;
        self.copies += other.copies;
        self.scrubs += other.scrubs;
        self.logs_refused += other.logs_refused;
        self.log_faults += other.log_faults;
        self.logs_replaced += other.logs_replaced;
    }
}

/// A schedule that failed a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleFailure {
    /// The schedule's seed.
    pub seed: u64,
    /// Which faults it draws.
    pub kind: ScheduleKind,
    /// Layout of its array.
    pub layout: LayoutName,
    /// Whether it was restricted to one LUN.
    pub single_lun: bool,
    /// Sizes and settings of the array, as text.
    pub array: String,
    /// The incarnation, from 0.
    pub incarnation: u64,
    /// The I/Os completed in it.
    pub step: u64,
    /// What was expected, and what was found.
    pub what: String,
    /// The faults that were injected.
    pub injected: Vec<String>,
}

impl fmt::Display for ScheduleFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, kind, layout, array, incarnation, step, what, injected, single_lun } =
            self;
        let single_lun = if *single_lun { " --single-lun" } else { "" };
        writeln!(
            formatter,
            "seed {seed} ({kind:?}; {layout}: {array}), incarnation {incarnation}, after {step} I/Os: {what}"
        )?;
        for one in injected {
            writeln!(formatter, "  injected: {one}")?;
        }
        write!(
            formatter,
            "  again with: strewn-torture --replay {seed} --layout {layout}{single_lun} --verbose"
        )
    }
}

impl std::error::Error for ScheduleFailure {}

/// Runs the schedule of `seed`.
///
/// # Errors
/// The check that failed.
pub fn run(seed: u64, options: Options) -> Result<Summary, Box<ScheduleFailure>> {
    let kind = ScheduleKind::of(seed);
    let layout = options.layout.unwrap_or_else(|| layout_of(seed));
    let mut schedule = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        schedule.insert(schedule::Schedule::new(seed, kind, layout, options)).run()
    }));
    let what = match result {
        Ok(Ok(summary)) => return Ok(summary),
        Ok(Err(what)) => what,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
            format!("panicked: {}", said.unwrap_or_default())
        }
    };
    let failure = match &schedule {
        Some(schedule) => schedule.failure(what),
        None => ScheduleFailure {
            seed,
            kind,
            layout,
            single_lun: options.single_lun,
            array: String::new(),
            incarnation: 0,
            step: 0,
            what,
            injected: Vec::new(),
        },
    };
    Err(Box::new(failure))
}
