//! The commands that a drive has admitted, and the choice among them.
//!
//! Choosing reads every admitted command, so what it reads is kept in arrays of its own, and the
//! scan has no branch on data: each command becomes one 64-bit key, the least of which wins. The
//! key holds, from the top, 32 bits of cost, 24 bits of age and 8 bits of slot.

use crate::geometry::{Location, Track};
use crate::mechanics::{Drive, Operation, Transfer};
use crate::rotation::Angle;
use crate::scheduler::Scheduler;

/// The deepest queue: a slot has eight bits of the key.
pub const MAX_DEPTH: u32 = 1 << SLOT_BITS;

const SLOT_BITS: u32 = 8;
const AGE_BITS: u32 = 24;
const AGE_MASK: u32 = (1 << AGE_BITS) - 1;

/// Most that waiting can take off a cost: half the range of the key, 8 s on a 15,020 rpm drive.
const MAX_CREDIT_TICKS: u64 = 1 << 31;

/// Where the heads are, at the time of a choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) now_ns: u64,
    pub(crate) track: Track,
    /// What the drive did last.
    pub(crate) before: Operation,
}

/// A command in the drive's hands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted<T> {
    pub(crate) transfer: Transfer,
    pub(crate) arrival_ns: u64,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
    pub(crate) operation: Operation,
    pub(crate) tag: T,
}

/// Admitted commands, in no order: a slot that empties is filled from the end.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    tracks: Vec<Track>,
    angles: Vec<Angle>,
    operations: Vec<Operation>,
    /// Admissions so far when this one came, modulo 2³².
    sequences: Vec<u32>,
    arrivals_ns: Vec<u64>,
    rest: Vec<Rest<T>>,
    next_sequence: u32,
    depth: usize,
}

/// What only the chosen command needs.
#[derive(Clone, Copy, Debug)]
struct Rest<T> {
    transfer_ticks: u64,
    end_track: Track,
    sectors: u32,
    lba: u64,
    tag: T,
}

impl<T: Copy> Queue<T> {
    /// An empty queue for `depth` commands, `1..=MAX_DEPTH`.
    pub(crate) fn new(depth: u32) -> Self {
        let depth = depth as usize;
        Self {
            tracks: Vec::with_capacity(depth),
            angles: Vec::with_capacity(depth),
            operations: Vec::with_capacity(depth),
            sequences: Vec::with_capacity(depth),
            arrivals_ns: Vec::with_capacity(depth),
            rest: Vec::with_capacity(depth),
            next_sequence: 0,
            depth,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tracks.len()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.depth
    }

    /// Admits a command. The queue is not full.
    #[inline]
    pub(crate) fn admit(&mut self, command: Admitted<T>) {
        debug_assert!(!self.is_full());
        self.tracks.push(command.transfer.start.track);
        self.angles.push(command.transfer.start.angle);
        self.operations.push(command.operation);
        self.sequences.push(self.next_sequence);
        self.arrivals_ns.push(command.arrival_ns);
        self.rest.push(Rest {
            transfer_ticks: command.transfer.ticks,
            end_track: command.transfer.end_track,
            sectors: command.sectors,
            lba: command.lba,
            tag: command.tag,
        });
        self.next_sequence = self.next_sequence.wrapping_add(1);
    }

    /// Takes out the command that `scheduler` chooses, if there is any.
    #[inline]
    pub(crate) fn take(
        &mut self,
        scheduler: Scheduler,
        drive: &Drive,
        heads: Heads,
    ) -> Option<Admitted<T>> {
        let slot = match self.len() {
            0 => return None,
            1 => 0,
            _ => self.choose(scheduler, drive, heads),
        };
        let rest = self.rest.swap_remove(slot);
        self.sequences.swap_remove(slot);
        Some(Admitted {
            transfer: Transfer {
                start: Location {
                    track: self.tracks.swap_remove(slot),
                    angle: self.angles.swap_remove(slot),
                },
                end_track: rest.end_track,
                ticks: rest.transfer_ticks,
            },
            arrival_ns: self.arrivals_ns.swap_remove(slot),
            lba: rest.lba,
            sectors: rest.sectors,
            operation: self.operations.swap_remove(slot),
            tag: rest.tag,
        })
    }

    /// The slot that `scheduler` chooses. The queue is not empty.
    pub(crate) fn choose(&self, scheduler: Scheduler, drive: &Drive, heads: Heads) -> usize {
        let here = heads.track.cylinder();
        match scheduler {
            Scheduler::Fcfs => self.least(|_| 0),
            Scheduler::Sstf => self.least(|slot| self.tracks[slot].cylinder().abs_diff(here)),
            // Below the heads' cylinder the subtraction wraps, which puts the outer ones last and
            // the outermost of them first: the order of the next sweep.
            Scheduler::CLook => self.least(|slot| self.tracks[slot].cylinder().wrapping_sub(here)),
            Scheduler::Sptf => {
                let positioning = self.positioning(drive, heads);
                self.least(positioning)
            }
            Scheduler::AgedSptf { credit_us_per_ms } => {
                let positioning = self.positioning(drive, heads);
                // Ticks of credit per nanosecond waited, in 2⁻³² ticks.
                let rate = u64::from(credit_us_per_ms);
                let rate = drive.rotation().ticks_q32_per_ns().saturating_mul(rate) / 1000;
                self.least(|slot| {
                    let waited_ns = heads.now_ns - self.arrivals_ns[slot];
                    let credit = (u128::from(waited_ns) * u128::from(rate)) >> 32;
                    let credit = credit.min(u128::from(MAX_CREDIT_TICKS)) as u32;
                    // Positioning is below 2³¹ ticks by the profile's limits on delays.
                    positioning(slot) + (MAX_CREDIT_TICKS as u32 - credit)
                })
            }
        }
    }

    /// Ticks from now to the first sector of the command in a slot.
    #[inline]
    fn positioning(&self, drive: &Drive, heads: Heads) -> impl Fn(usize) -> u32 {
        let angle = drive.rotation().angle_at(heads.now_ns);
        let overheads = drive.overhead_ticks(heads.before);
        move |slot| {
            let overhead = overheads[self.operations[slot] as usize];
            let to = Location { track: self.tracks[slot], angle: self.angles[slot] };
            drive.positioning(overhead, heads.track, angle, to).ticks()
        }
    }

    /// The slot of least cost, of equals the oldest.
    #[inline]
    fn least(&self, cost: impl Fn(usize) -> u32) -> usize {
        let mut least = u64::MAX;
        for slot in 0..self.len() {
            // Counted from the next admission down, a wrap of the sequence does not show.
            let age = self.sequences[slot].wrapping_sub(self.next_sequence) & AGE_MASK;
            let key = u64::from(cost(slot)) << (AGE_BITS + SLOT_BITS)
                | u64::from(age) << SLOT_BITS
                | slot as u64;
            least = least.min(key);
        }
        (least & u64::from(MAX_DEPTH - 1)) as usize
    }
}
