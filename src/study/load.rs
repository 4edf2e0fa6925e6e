//! Commands at random.

use std::ops::Range;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use strewn_spindle::{Command, Direction};

/// Least commands that are not measured because the queue is filling.
const WARM_UP_COMMANDS: u32 = 1_000;

/// Commands anywhere in a range, each aligned to its size from the start of the range.
#[derive(Debug, Clone)]
pub struct RandomLoad {
    first_lba: u64,
    /// Places where a command may lie.
    places: u64,
    sectors: u32,
    reads_percent: f64,
    random: Xoshiro256PlusPlus,
}

impl RandomLoad {
    /// Commands of `sectors` each within `lbas`, of which `reads_percent` are reads and the others writes. None if
    /// the range cannot hold one.
    #[must_use]
    pub fn new(lbas: &Range<u64>, sectors: u32, reads_percent: f64, seed: u64) -> Option<Self> {
        let places = lbas.end.checked_sub(lbas.start)?.checked_div(sectors.into())?;
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let load = Self { first_lba: lbas.start, places, sectors, reads_percent, random };
        (places > 0).then_some(load)
    }

    /// The next command.
    pub fn command(&mut self) -> Command {
        // The high half of a product: uneven by less than places / 2⁶⁴.
        let place = (u128::from(self.random.next_u64()) * u128::from(self.places)) >> 64;
        // 53 bits are what a double holds of a number from 0 to 1.
        let share = (self.random.next_u64() >> 11) as f64 / 2f64.powi(53);
        let is_read = 100.0 * share < self.reads_percent;
        Command {
            lba: self.first_lba + place as u64 * u64::from(self.sectors),
            sectors: self.sectors,
            direction: if is_read { Direction::Read } else { Direction::Write },
        }
    }
}

/// Commands of a closed loop to leave out of its figures, because the queue starts full of new ones.
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
