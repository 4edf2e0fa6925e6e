//! The commands that a drive has admitted, and the choice among them.
//!
//! The choice scans every admitted command. The fields that it needs are stored apart, sixteen bytes a command, and the
//! scan has no branch on data: each command becomes one 64-bit key, and the least key wins. The key holds the cost and,
//! below it, the order of admission, so the oldest of equals wins, and its position. Commands lie in no order: the last
//! one takes the place of one that is removed.

use crate::geometry::{Location, Track};
use crate::mechanics::{Drive, Transfer};
use crate::scheduler::Scheduler;
use strewn_base::Direction;
use strewn_base::state::SavedValue;

/// Most commands that a spindle schedules among: a position has eight bits.
pub const MAX_DEPTH: u32 = 1 << 8;

/// Bits of a rank for the position, which is below [`MAX_DEPTH`]. The others are for the order.
const POSITION_BITS: u32 = 8;

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

/// Admitted commands. Each arrived no earlier than those that were admitted before it.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    /// In no order.
    waiting: Vec<Waiting>,
    /// In the order of `waiting`.
    rest: Vec<Rest<T>>,
    /// The order of the next command to be admitted.
    next_order: u32,
    /// No command here arrived later.
    latest_arrival_ns: u64,
    depth: usize,
}

/// The fields that the choice depends on.
#[derive(Clone, Copy, Debug, SavedValue)]
struct Waiting {
    start: Location,
    /// The order of admission, and in the lowest [`POSITION_BITS`] the position in [`Queue::waiting`].
    rank: u32,
    direction: Direction,
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
            next_order: 0,
            latest_arrival_ns: 0,
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
        debug_assert!(self.rest.iter().all(|one| one.arrival_ns <= command.arrival_ns));
        self.rest.push(Rest {
            transfer_ticks: command.transfer.ticks,
            arrival_ns: command.arrival_ns,
            lba: command.lba,
            end_track: command.transfer.end_track,
            sectors: command.sectors,
            tag: command.tag,
        });
        let (start, direction) = (command.transfer.start, command.direction);
        if self.next_order == 1 << (u32::BITS - POSITION_BITS) {
            self.count_orders_again();
        }
        let rank = self.next_order << POSITION_BITS | self.waiting.len() as u32;
        self.next_order += 1;
        self.latest_arrival_ns = command.arrival_ns;
        self.waiting.push(Waiting { start, rank, direction });
    }

    /// Gives the commands here the lowest orders.
    #[cold]
    fn count_orders_again(&mut self) {
        let mut by_order: Vec<&mut Waiting> = self.waiting.iter_mut().collect();
        by_order.sort_unstable_by_key(|one| one.rank);
        for (one, order) in by_order.into_iter().zip(0..) {
            one.rank = order << POSITION_BITS | one.rank & (MAX_DEPTH - 1);
        }
        self.next_order = self.waiting.len() as u32;
    }

    /// Removes the command admitted last, if it arrived after `arrival_ns`.
    #[inline(always)]
    pub(crate) fn take_last_after(&mut self, arrival_ns: u64) -> Option<Admitted<T>> {
        if self.latest_arrival_ns <= arrival_ns {
            return None;
        }
        self.take_last_arrived_after(arrival_ns)
    }

    fn take_last_arrived_after(&mut self, arrival_ns: u64) -> Option<Admitted<T>> {
        let last = self.waiting.iter().max_by_key(|one| one.rank)?;
        let position = (last.rank & (MAX_DEPTH - 1)) as usize;
        self.latest_arrival_ns = self.rest[position].arrival_ns;
        (self.latest_arrival_ns > arrival_ns).then(|| self.remove(position))
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

    /// Removes a write that begins at `lba`, if there is one.
    #[cold]
    pub(crate) fn take_write_at(&mut self, lba: u64) -> Option<Admitted<T>> {
        let mut all = self.rest.iter().zip(&self.waiting);
        let is_it = |(rest, waiting): (&Rest<T>, &Waiting)| {
            rest.lba == lba && waiting.direction == Direction::Write
        };
        all.position(is_it).map(|position| self.remove(position))
    }

    #[inline(always)]
    fn remove(&mut self, position: usize) -> Admitted<T> {
        let Waiting { start, direction, .. } = self.waiting.swap_remove(position);
        let rest = self.rest.swap_remove(position);
        if let Some(moved) = self.waiting.get_mut(position) {
            moved.rank = moved.rank & !(MAX_DEPTH - 1) | position as u32;
        }
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
            Scheduler::Fcfs => self.least(|_| 0),
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
                    let position = (one.rank & (MAX_DEPTH - 1)) as usize;
                    let waited_ns = heads.now_ns - self.rest[position].arrival_ns;
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
        let keys = self.waiting.iter().map(|one| u64::from(cost(one)) << 32 | u64::from(one.rank));
        (keys.fold(u64::MAX, u64::min) as u32 & (MAX_DEPTH - 1)) as usize
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
        values: waiting, rest, next_order, latest_arrival_ns;
        built: depth;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use strewn_base::Rng;

    #[test]
    fn the_oldest_of_equals_is_chosen_however_many_were_admitted() {
        let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
        let drive = Drive::new(&profile).unwrap();
        let heads = Heads { now_ns: 0, track: Track::new(0, 0), before: Direction::Read };
        let mut rng = Rng::new(1);
        let mut queue = Queue::new(6);
        queue.next_order = (1 << 24) - 50;
        // The same commands in order of admission.
        let mut expected: Vec<(u32, u64)> = Vec::new();
        for tag in 0..10_000_u64 {
            let taken = if !queue.is_full() && rng.one_in(2) {
                let track = Track::new(rng.below(3) as u32, 0);
                let start = Location { track, ..Location::default() };
                let transfer = Transfer { start, end_track: track, ticks: 1 };
                let (lba, sectors, direction) = (tag, 1, Direction::Read);
                let arrival_ns = tag;
                queue.admit(Admitted { transfer, arrival_ns, lba, sectors, direction, tag });
                expected.push((track.cylinder(), tag));
                continue;
            } else if rng.one_in(4) {
                let after = tag.saturating_sub(rng.below(9));
                let last = expected.pop_if(|last| last.1 > after);
                (queue.take_last_after(after), last)
            } else {
                let scheduler = rng.pick(&[Scheduler::Sstf, Scheduler::Fcfs]);
                let cost = |at: &usize| match scheduler {
                    Scheduler::Fcfs => (0, *at),
                    _ => (expected[*at].0, *at),
                };
                let least = (0..expected.len()).min_by_key(cost);
                (queue.take(*scheduler, &drive, heads), least.map(|at| expected.remove(at)))
            };
            assert_eq!(taken.0.map(|one| one.tag), taken.1.map(|one| one.1));
        }
        assert!(queue.next_order < 1 << 24);
    }
}
