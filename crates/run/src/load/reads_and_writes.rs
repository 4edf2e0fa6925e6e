//! Reads and writes of a job that has a rate for each.

use strewn_base::Rng;
use strewn_sim::{Accesses, AccessesError, TimedAccess};
use strewn_workload::{Direction, PatternStream};

/// Separates the draws of the direction from those of the stream.
const SEED_OF_MIX: u64 = 0x6A09_E667_F3BC_C909;

/// Accesses whose direction is drawn first, so that a direction that is ahead of its rate can let the other go first.
pub(super) struct ReadsAndWrites {
    stream: PatternStream,
    mix: Rng,
    read_percent: u8,
    /// A read and a write that was drawn and had to wait.
    waiting: [Option<TimedAccess>; 2],
}

impl ReadsAndWrites {
    /// `stream` has lines of reads and lines of writes, and none of both.
    pub(super) fn new(stream: PatternStream, read_percent: u8, seed: u64) -> Self {
        Self { stream, mix: Rng::new(seed ^ SEED_OF_MIX), read_percent, waiting: [None, None] }
    }

    fn next_of(&mut self, direction: Direction) -> Option<TimedAccess> {
        self.waiting[direction as usize].take().or_else(|| {
            let access = self.stream.next_access_of(direction)?;
            Some(TimedAccess { access, not_before_ns: 0, delay_ns: 0 })
        })
    }
}

impl Accesses for ReadsAndWrites {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        let direction = match self.mix.chance(self.read_percent.into(), 100) {
            true => Direction::Read,
            false => Direction::Write,
        };
        Ok(self.next_of(direction))
    }

    fn exchange(&mut self, drawn: TimedAccess) -> Result<TimedAccess, AccessesError> {
        let other = match drawn.access.direction {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        };
        let Some(next) = self.next_of(other) else { return Ok(drawn) };
        self.waiting[drawn.access.direction as usize] = Some(drawn);
        Ok(next)
    }
}
