//! Whole arrays under faults: schedules drawn from seeds, over simulated devices, with everything checked.
//!
//! A schedule is an array of a few small spindles and several lives of it. In each the array is started from what the
//! devices have, all of its LUN is held against what the host was told, and [`check`](crate::check) looks at what lies on
//! the spindles, also at what the life before has left, with its redo records. Then a host reads and writes, and meanwhile
//! happens what the [`ScheduleKind`] of the schedule says; until the power goes, or the array is shut down. All of it follows from
//! one number, without threads and with a time of its own, so that what fails once fails again.
//!
//! Of arrays that write anywhere snapshots are taken and deleted when a life begins, and all there are read when it ends.
//!
//! What must hold: every write that was acknowledged is there. One that was not is there or not, piece by piece. No read
//! brings what was not written there. Nothing is refused as long as there are no more faults than parity is made for.

mod harness;
mod host;
mod incarnation;
mod plan;
mod rng;
mod schedule;
mod shadow;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::configuration::LayoutName;

/// What happens in a schedule, beside host requests and losses of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScheduleKind {
    /// Losses of power alone.
    Crashes,
    /// Spindles are lost and replaced; the power stays.
    Losses,
    /// Spindles are lost and replaced, and the power goes. A spindle that was lost may be back with the power.
    LossesAndCrashes,
    /// Blocks that cannot be read.
    ReadErrors,
    /// Bits that flip at rest.
    Corruption,
    /// Writes that land elsewhere.
    MisdirectedWrites,
    /// Writes that are reported done and never happen.
    LostWrites,
    /// No room under a device.
    NoRoom,
    /// All of it.
    Everything,
}

impl ScheduleKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Crashes,
        Self::Losses,
        Self::LossesAndCrashes,
        Self::ReadErrors,
        Self::Corruption,
        Self::MisdirectedWrites,
        Self::LostWrites,
        Self::NoRoom,
        Self::Everything,
    ];

    /// The kind of a seed's schedule.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self::ALL[(seed % Self::ALL.len() as u64) as usize]
    }

    /// Whether spindles do wrong without saying so.
    pub(crate) fn is_silent(self) -> bool {
        matches!(
            self,
            Self::ReadErrors
                | Self::Corruption
                | Self::MisdirectedWrites
                | Self::LostWrites
                | Self::Everything
        )
    }
}

/// The layout of a seed's array, if nothing else is asked for. Each kind of schedule has all of them.
#[must_use]
pub fn layout_of(seed: u64) -> LayoutName {
    match seed / ScheduleKind::ALL.len() as u64 % 4 {
        0 => LayoutName::RaidDp,
        1 => LayoutName::Vraid5,
        2 => LayoutName::Raid4,
        _ => LayoutName::Raid5,
    }
}

/// Which schedules, and how much is told of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Only arrays of this layout; nothing: [`layout_of`] each seed.
    pub layout: Option<LayoutName>,
    /// Whether every step is written to standard error.
    pub verbose: bool,
}

/// What a schedule has been through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lives, those that ended before the array had started among them.
    pub incarnations: u64,
    /// Losses of power.
    pub crashes: u64,
    /// Of them those before the array had started.
    pub crashes_at_start: u64,
    /// Host requests.
    pub requests: u64,
    /// Spindles lost.
    pub losses: u64,
    /// Rebuilds that came to their ends.
    pub rebuilds: u64,
    /// Silent faults and read errors.
    pub silent_faults: u64,
    /// Times that the array stopped for want of room.
    pub stops: u64,
    /// I/Os of devices.
    pub ios: u64,
    /// Consistency points.
    pub checkpoints: u64,
    /// Snapshots taken.
    pub snapshots: u64,
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
        self.ios += other.ios;
        self.checkpoints += other.checkpoints;
        self.snapshots += other.snapshots;
    }
}

/// A schedule in which something did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleFailure {
    /// The schedule.
    pub seed: u64,
    /// Its kind.
    pub kind: ScheduleKind,
    /// Its layout.
    pub layout: LayoutName,
    /// The array.
    pub array: String,
    /// In which life, from 0.
    pub incarnation: u64,
    /// After how many I/Os of it.
    pub step: u64,
    /// What was expected, and what was found.
    pub what: String,
    /// The faults that were injected.
    pub injected: Vec<String>,
}

impl fmt::Display for ScheduleFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, kind, layout, array, incarnation, step, what, injected } = self;
        writeln!(
            formatter,
            "seed {seed} ({kind:?}; {layout}: {array}), incarnation {incarnation}, after {step} I/Os: {what}"
        )?;
        for one in injected {
            writeln!(formatter, "  injected: {one}")?;
        }
        write!(
            formatter,
            "  again with: strewn torture --replay {seed} --layout {layout} --verbose"
        )
    }
}

impl std::error::Error for ScheduleFailure {}

/// Runs the schedule of `seed`.
///
/// # Errors
/// What did not hold.
pub fn run(seed: u64, options: Options) -> Result<Summary, Box<ScheduleFailure>> {
    let kind = ScheduleKind::of(seed);
    let layout = options.layout.unwrap_or_else(|| layout_of(seed));
    let mut schedule = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        schedule.insert(schedule::Schedule::new(seed, kind, layout, options.verbose)).run()
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
            array: String::new(),
            incarnation: 0,
            step: 0,
            what,
            injected: Vec::new(),
        },
    };
    Err(Box::new(failure))
}
