//! The commands that a drive has admitted, and the choice among them.
//!
//! The choice scans every admitted command. The fields that it needs are stored apart, a list of each, so that the
//! commands that the heads reach soonest are found eight at a time ([`nearest_command`]). A command that is removed
//! leaves its place to the last one. The oldest of equals wins, by the order of admission.

use crate::geometry::{Location, Track};
use crate::mechanics::{Drive, Transfer};
use crate::rotation::{Angle, TICKS_PER_REVOLUTION};
use crate::scheduler::Scheduler;
use strewn_base::Direction;
use strewn_base::nearest_command::{self, HeadsAt, LANES, Starts};
use strewn_base::state::SavedValue;

/// Most commands that a spindle schedules among.
pub const MAX_DEPTH: u32 = 1 << 8;

/// Most that waiting takes off a cost: half the range of the key, 8 s on a 15,020 rpm drive.
const MAX_CREDIT_TICKS: u64 = 1 << 31;

/// The state of the drive at the time of a choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) now_ns: u64,
    pub(crate) track: Track,
    /// Direction of the last command.
    pub(crate) before: Direction,
}

/// A command that the drive has admitted.
#[derive(Clone, Copy, Debug, SavedValue)]
pub(crate) struct Admitted<T> {
    pub(crate) transfer: Transfer,
    pub(crate) arrival_ns: u64,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
    pub(crate) direction: Direction,
    pub(crate) tag: T,
}

/// Admitted commands, in no order.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    starts: StartLists,
    rest: Vec<Rest<T>>,
    depth: usize,
    /// Commands admitted since the beginning.
    admissions: u64,
    /// No command here has arrived later.
    latest_arrival_ns: u64,
}

/// The fields that the choice depends on, with room for whole vectors of commands.
#[derive(Clone, Debug, SavedValue)]
struct StartLists {
    /// [`Track::bits`].
    tracks: Vec<u32>,
    /// [`Angle::ticks`].
    angles: Vec<u32>,
    /// `Direction as u32`.
    directions: Vec<u32>,
}

/// The fields that only the chosen command needs.
#[derive(Clone, Copy, Debug, SavedValue)]
struct Rest<T> {
    transfer_ticks: u64,
    arrival_ns: u64,
    lba: u64,
    /// How many commands had been admitted before.
    order: u64,
    end_track: Track,
    sectors: u32,
    tag: T,
}

impl StartLists {
    #[inline(always)]
    fn start(&self, at: usize) -> Location {
        let (track, angle) = (Track::of_bits(self.tracks[at]), Angle::of_ticks(self.angles[at]));
        Location { track, angle }
    }

    #[inline(always)]
    fn direction(&self, at: usize) -> Direction {
        if self.directions[at] == Direction::Read as u32 {
            Direction::Read
        } else {
            Direction::Write
        }
    }
}

impl<T: Copy> Queue<T> {
    /// An empty queue for up to `depth` commands, `1..=MAX_DEPTH`.
    pub(crate) fn new(depth: u32) -> Self {
        let depth = depth as usize;
        let places = || vec![0; depth.next_multiple_of(LANES)];
        let starts = StartLists { tracks: places(), angles: places(), directions: places() };
        Self { starts, rest: Vec::with_capacity(depth), depth, admissions: 0, latest_arrival_ns: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.depth
    }

    /// Admits a command. The queue is not full.
    #[inline(always)]
    pub(crate) fn admit(&mut self, command: Admitted<T>) {
        debug_assert!(!self.is_full());
        let at = self.rest.len();
        self.starts.tracks[at] = command.transfer.start.track.bits();
        self.starts.angles[at] = command.transfer.start.angle.ticks();
        self.starts.directions[at] = command.direction as u32;
        self.latest_arrival_ns = self.latest_arrival_ns.max(command.arrival_ns);
        self.rest.push(Rest {
            transfer_ticks: command.transfer.ticks,
            arrival_ns: command.arrival_ns,
            lba: command.lba,
            order: self.admissions,
            end_track: command.transfer.end_track,
            sectors: command.sectors,
            tag: command.tag,
        });
        self.admissions += 1;
    }

    /// Removes the command admitted last, if it arrived after `arrival_ns`.
    #[inline]
    pub(crate) fn take_last_after(&mut self, arrival_ns: u64) -> Option<Admitted<T>> {
        if self.latest_arrival_ns <= arrival_ns {
            return None;
        }
        let last = (0..self.len()).max_by_key(|at| self.rest[*at].order)?;
        let arrivals = self.rest.iter().map(|rest| rest.arrival_ns);
        self.latest_arrival_ns = arrivals.max().unwrap_or_default();
        (self.rest[last].arrival_ns > arrival_ns).then(|| self.remove(last))
    }

    /// Removes the command that `scheduler` chooses, if there is any.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        scheduler: Scheduler,
        drive: &Drive,
        heads: Heads,
    ) -> Option<Admitted<T>> {
        let chosen = match self.len() {
            0 => return None,
            1 => 0,
            _ => self.choose(scheduler, drive, heads),
        };
        Some(self.remove(chosen))
    }

    #[inline(always)]
    fn remove(&mut self, at: usize) -> Admitted<T> {
        let (start, direction) = (self.starts.start(at), self.starts.direction(at));
        let rest = self.rest.swap_remove(at);
        let last = self.rest.len();
        let StartLists { tracks, angles, directions } = &mut self.starts;
        tracks[at] = tracks[last];
        angles[at] = angles[last];
        directions[at] = directions[last];
        Admitted {
            transfer: Transfer { start, end_track: rest.end_track, ticks: rest.transfer_ticks },
            arrival_ns: rest.arrival_ns,
            lba: rest.lba,
            sectors: rest.sectors,
            direction,
            tag: rest.tag,
        }
    }

    /// The place of the command that `scheduler` chooses. The queue is not empty.
    #[inline(always)]
    pub(crate) fn choose(&self, scheduler: Scheduler, drive: &Drive, heads: Heads) -> usize {
        match scheduler {
            Scheduler::Sptf if self.len() <= nearest_command::MOST => self.soonest(drive, heads),
            scheduler => self.choose_one_by_one(scheduler, drive, heads),
        }
    }

    /// The place of the command whose first sector the heads reach soonest, the oldest of equals.
    #[inline(always)]
    fn soonest(&self, drive: &Drive, heads: Heads) -> usize {
        let StartLists { tracks, angles, directions } = &self.starts;
        let heads = HeadsAt {
            track: heads.track.bits(),
            angle: drive.rotation().angle_at(heads.now_ns).ticks(),
            overheads: drive.overhead_ticks(heads.before),
            seek_ticks: drive.seek_table(),
            turn_mask: TICKS_PER_REVOLUTION - 1,
        };
        let soonest =
            nearest_command::soonest(self.len(), Starts { tracks, angles, directions }, heads);
        match soonest.is_power_of_two() {
            true => soonest.trailing_zeros() as usize,
            false => self.oldest_of(soonest),
        }
    }

    /// The place of the oldest of several, one bit each.
    #[cold]
    fn oldest_of(&self, places: u32) -> usize {
        let among = (0..self.len()).filter(|at| places >> at & 1 == 1);
        among.min_by_key(|at| self.rest[*at].order).unwrap_or(0)
    }

    fn choose_one_by_one(&self, scheduler: Scheduler, drive: &Drive, heads: Heads) -> usize {
        let here = heads.track.cylinder();
        let cylinder = |at: usize| self.starts.start(at).cylinder();
        match scheduler {
            Scheduler::Fcfs => self.least(|_| 0),
            Scheduler::Sstf => self.least(|at| cylinder(at).abs_diff(here)),
            // For cylinders outside the arm's the subtraction wraps. That puts them last, the outermost first: the
            // order of the next sweep.
            Scheduler::CLook => self.least(|at| cylinder(at).wrapping_sub(here)),
            Scheduler::Sptf => self.least(self.positioning(drive, heads)),
            Scheduler::AgedSptf { credit_us_per_ms } => {
                let positioning = self.positioning(drive, heads);
                // Credit for each nanosecond waited, in 2⁻³² ticks.
                let rate = u64::from(credit_us_per_ms);
                let rate = drive.rotation().ticks_q32_per_ns().saturating_mul(rate) / 1000;
                self.least(|at| {
                    let waited_ns = heads.now_ns - self.rest[at].arrival_ns;
                    let credit = (u128::from(waited_ns) * u128::from(rate)) >> 32;
                    let credit = credit.min(u128::from(MAX_CREDIT_TICKS)) as u32;
                    // Positioning is below 2³¹ ticks by the profile's limits on delays.
                    positioning(at) + (MAX_CREDIT_TICKS as u32 - credit)
                })
            }
        }
    }

    /// The place of the command of least cost, the oldest of equals.
    #[inline]
    fn least(&self, cost: impl Fn(usize) -> u32) -> usize {
        let keys = (0..self.len()).map(|at| (cost(at), self.rest[at].order, at));
        keys.min().map_or(0, |(_, _, at)| at)
    }

    /// Ticks from now until the heads are at a command's first sector.
    #[inline]
    fn positioning(&self, drive: &Drive, heads: Heads) -> impl Fn(usize) -> u32 {
        let angle = drive.rotation().angle_at(heads.now_ns);
        let overheads = drive.overhead_ticks(heads.before);
        move |at| {
            let overhead = overheads[self.starts.directions[at] as usize];
            drive.positioning(overhead, heads.track, angle, self.starts.start(at)).ticks()
        }
    }
}

strewn_base::saved_state! {
    impl [T: SavedValue] for Queue<T> {
        parts:;
        values: starts, rest, admissions, latest_arrival_ns;
        built: depth;
    }
}
