//! The commands that a drive has admitted, and the choice among them.
//!
//! The choice scans every admitted command. The fields that it needs are stored apart, twelve bytes a command in order
//! of admission, and the scan has no branch on data: each command becomes one 64-bit key, and the least key wins. The
//! key holds the cost and, below it, the position in the queue, so the oldest of equals wins. Removing a command moves
//! up those behind it, which for a queue of sixteen copies three cache lines.

use crate::geometry::{Location, Track};
use crate::mechanics::{Drive, Transfer};
use crate::scheduler::Scheduler;
use strewn_base::Direction;
use strewn_base::state::SavedValue;

/// Most commands that a spindle schedules among: a slot number has eight bits.
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

/// Admitted commands, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    waiting: Vec<Waiting>,
    rest: Vec<Rest<T>>,
    /// Unused slots of `rest`.
    free: Vec<u8>,
    depth: usize,
}

/// The fields that the choice depends on.
#[derive(Clone, Copy, Debug, SavedValue)]
struct Waiting {
    start: Location,
    direction: Direction,
    /// Index into [`Queue::rest`].
    slot: u8,
}

/// The fields that only the chosen command needs.
#[derive(Clone, Copy, Debug, SavedValue)]
struct Rest<T> {
    transfer_ticks: u64,
    arrival_ns: u64,
    lba: u64,
    end_track: Track,
    sectors: u32,
    tag: T,
}

impl<T: Copy> Queue<T> {
    /// An empty queue for up to `depth` commands, `1..=MAX_DEPTH`.
    pub(crate) fn new(depth: u32) -> Self {
        let depth = depth as usize;
        Self {
            waiting: Vec::with_capacity(depth),
            rest: Vec::with_capacity(depth),
            free: Vec::with_capacity(depth),
            depth,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.depth
    }

    /// Admits a command. The queue is not full.
    #[inline(always)]
    pub(crate) fn admit(&mut self, command: Admitted<T>) {
        debug_assert!(!self.is_full());
        let rest = Rest {
            transfer_ticks: command.transfer.ticks,
            arrival_ns: command.arrival_ns,
            lba: command.lba,
            end_track: command.transfer.end_track,
            sectors: command.sectors,
            tag: command.tag,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.rest[usize::from(slot)] = rest;
                slot
            }
            None => {
                self.rest.push(rest);
                (self.rest.len() - 1) as u8
            }
        };
        let (start, direction) = (command.transfer.start, command.direction);
        self.waiting.push(Waiting { start, direction, slot });
    }

    /// Removes the command admitted last, if it arrived after `arrival_ns`.
    pub(crate) fn take_last_after(&mut self, arrival_ns: u64) -> Option<Admitted<T>> {
        let last = self.waiting.last()?;
        (self.rest[usize::from(last.slot)].arrival_ns > arrival_ns)
            .then(|| self.remove(self.waiting.len() - 1))
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
    fn remove(&mut self, position: usize) -> Admitted<T> {
        let Waiting { start, direction, slot } = self.waiting.remove(position);
        self.free.push(slot);
        let rest = &self.rest[usize::from(slot)];
        Admitted {
            transfer: Transfer { start, end_track: rest.end_track, ticks: rest.transfer_ticks },
            arrival_ns: rest.arrival_ns,
            lba: rest.lba,
            sectors: rest.sectors,
            direction,
            tag: rest.tag,
        }
    }

    /// The position of the command that `scheduler` chooses. The queue is not empty.
    #[inline(always)]
    pub(crate) fn choose(&self, scheduler: Scheduler, drive: &Drive, heads: Heads) -> usize {
        let here = heads.track.cylinder();
        match scheduler {
            Scheduler::Fcfs => 0,
            Scheduler::Sstf => self.least(|one| one.start.cylinder().abs_diff(here)),
            // For cylinders outside the arm's the subtraction wraps. That puts them last, the outermost first: the
            // order of the next sweep.
            Scheduler::CLook => self.least(|one| one.start.cylinder().wrapping_sub(here)),
            Scheduler::Sptf => self.least(positioning(drive, heads)),
            Scheduler::AgedSptf { credit_us_per_ms } => {
                let positioning = positioning(drive, heads);
                // Credit for each nanosecond waited, in 2⁻³² ticks.
                let rate = u64::from(credit_us_per_ms);
                let rate = drive.rotation().ticks_q32_per_ns().saturating_mul(rate) / 1000;
                self.least(|one| {
                    let waited_ns = heads.now_ns - self.rest[usize::from(one.slot)].arrival_ns;
                    let credit = (u128::from(waited_ns) * u128::from(rate)) >> 32;
                    let credit = credit.min(u128::from(MAX_CREDIT_TICKS)) as u32;
                    // Positioning is below 2³¹ ticks by the profile's limits on delays.
                    positioning(one) + (MAX_CREDIT_TICKS as u32 - credit)
                })
            }
        }
    }

    /// The position of the command of least cost, the oldest of equals.
    #[inline]
    fn least(&self, cost: impl Fn(&Waiting) -> u32) -> usize {
        let keys = self.waiting.iter().zip(0u64..);
        let keys = keys.map(|(one, position)| u64::from(cost(one)) << 32 | position);
        keys.fold(u64::MAX, u64::min) as u32 as usize
    }
}

/// Ticks from now until the head is at a command's first sector.
#[inline]
fn positioning(drive: &Drive, heads: Heads) -> impl Fn(&Waiting) -> u32 {
    let angle = drive.rotation().angle_at(heads.now_ns);
    let overheads = drive.overhead_ticks(heads.before);
    move |one| {
        let overhead = overheads[one.direction as usize];
        drive.positioning(overhead, heads.track, angle, one.start).ticks()
    }
}

strewn_base::saved_state! {
    impl [T: SavedValue] for Queue<T> {
        parts:;
        values: waiting, rest, free;
        built: depth;
    }
}
