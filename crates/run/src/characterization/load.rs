//! Random commands for closed loops.

use std::ops::Range;

use strewn_base::Rng;
use strewn_spindle::{Command, Direction};

/// Least number of commands left out of the measurement while the queue fills.
const WARM_UP_COMMANDS: u32 = 1_000;

/// Commands anywhere in a range, each aligned to its size from the start of the range.
#[derive(Debug, Clone)]
pub struct RandomLoad {
    first_lba: u64,
    /// Number of positions in the range where a command may begin.
    places: u64,
    sectors: u32,
    reads_percent: f64,
    rng: Rng,
}

impl RandomLoad {
    /// Returns a load of commands of `sectors` sectors each within `lbas`: `reads_percent` of them are reads, the
    /// others are writes. Returns `None` if the range cannot hold one command.
    #[must_use]
    pub fn new(lbas: &Range<u64>, sectors: u32, reads_percent: f64, seed: u64) -> Option<Self> {
        let places = lbas.end.checked_sub(lbas.start)?.checked_div(sectors.into())?;
        let rng = Rng::new(seed);
        let load = Self { first_lba: lbas.start, places, sectors, reads_percent, rng };
        (places > 0).then_some(load)
    }

    /// Draws the next command.
    pub fn command(&mut self) -> Command {
        let place = self.rng.below(self.places);
        let is_read = 100.0 * self.rng.unit() < self.reads_percent;
        Command {
            lba: self.first_lba + place * u64::from(self.sectors),
            sectors: self.sectors,
            direction: if is_read { Direction::Read } else { Direction::Write },
        }
    }
}

/// Returns the number of commands at the start of a closed loop that its figures leave out, because the queue starts
/// full of new commands.
#[must_use]
pub fn warm_up_commands(outstanding: u32) -> u32 {
    WARM_UP_COMMANDS.max(outstanding.saturating_mul(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_stays_in_its_range_and_mixes_as_asked() {
        let mut load = RandomLoad::new(&(100..260), 16, 25.0, 7).unwrap();
        let commands: Vec<Command> = (0..4000).map(|_| load.command()).collect();
        for place in 0..10 {
            assert!(commands.iter().any(|command| command.lba == 100 + 16 * place));
        }
        assert!(commands.iter().all(|command| command.lba <= 260 - 16));
        let reads = commands.iter().filter(|command| command.direction == Direction::Read).count();
        assert!((900..1100).contains(&reads), "{reads}");
        assert!(RandomLoad::new(&(0..15), 16, 100.0, 1).is_none());
        assert!(RandomLoad::new(&Range { start: 9, end: 1 }, 1, 100.0, 1).is_none());
    }
}
