//! The stream of accesses drawn from a specification.

use crate::sectors::sectors_in;
use crate::{AccessSpecification, WorkloadError};
use strewn_base::state::SavedValue;
use strewn_base::{Direction, Rng, SECTOR_BYTES};

/// A request from a host, in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct Access {
    /// The first sector, counted from the start of the LUN.
    pub sector: u64,
    /// Sectors accessed, at least 1.
    pub sectors: u32,
    /// Whether the access reads or writes.
    pub direction: Direction,
}

/// An endless, repeatable stream of accesses to a region of a LUN.
///
/// Accesses are drawn as Iometer draws them (`src/IOAccess.cpp` and `TargetDisk::Seek` in
/// `src/IOTargetDisk.cpp` of iometer-org/iometer), each independent of the others:
///
/// 1. the line: a number below 100 picks a slot of a grid of 100, in which each line has as many
///    slots as its percentage of accesses;
/// 2. a read when a number below 100 is below the line's read percentage, otherwise a write;
/// 3. random when a number below 100 is below the line's random percentage, otherwise sequential;
/// 4. the offset into the region: for a random access any byte of it, for a sequential access the
///    end of the previous access; rounded up to the alignment. An access that would end past the
///    region starts at its beginning instead. This slightly favours the beginning, as it does in
///    Iometer.
///
/// Alignment counts from the start of the region, which stands for the file or disk that Iometer
/// writes to.
///
/// # Repeatability
///
/// The generator is [`strewn_base::Rng`]: xoshiro256++, one 64-bit number a draw. Draws come in the
/// order of the list above; 2 and 3 are skipped where the percentage is 0 or 100, and 4 where the
/// access is sequential. All of this is fixed: a seed means the same accesses in later versions.
#[derive(Clone, Debug)]
pub struct AccessStream {
    rng: Rng,
    region_first_sector: u64,
    region_sectors: u64,
    alignment: Alignment,
    /// Where a sequential access starts, in sectors from the start of the region.
    next_sector_in_region: u64,
    grid: [Slot; 100],
}

/// A line of the specification, in the grid.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    sectors: u32,
    read_percent: u8,
    random_percent: u8,
}

impl AccessStream {
    /// Creates a stream of `specification` over the `region_sectors` sectors that start at
    /// `region_first_sector`, repeatable by `seed`.
    ///
    /// # Errors
    ///
    /// [`WorkloadError`] if the region is smaller than an access, or so large that its bytes
    /// overflow.
    pub fn new(
        specification: &AccessSpecification,
        region_first_sector: u64,
        region_sectors: u64,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let (name, largest_bytes) = (specification.name(), specification.largest_bytes());
        WorkloadError::check_region(name, largest_bytes, region_first_sector, region_sectors)?;
        let mut grid = [Slot::default(); 100];
        let slots = specification.lines().iter().flat_map(|line| {
            let slot = Slot {
                sectors: sectors_in(line.bytes),
                read_percent: line.read_percent,
                random_percent: line.random_percent,
            };
            std::iter::repeat_n(slot, usize::from(line.percent_of_accesses))
        });
        grid.iter_mut().zip(slots).for_each(|(place, slot)| *place = slot);
        Ok(Self {
            rng: Rng::new(seed),
            region_first_sector,
            region_sectors,
            alignment: Alignment::new(sectors_in(specification.alignment_bytes())),
            next_sector_in_region: 0,
            grid,
        })
    }

    /// Draws the next access.
    #[inline(always)]
    pub fn next_access(&mut self) -> Access {
        let slot = self.grid[self.rng.below(100) as usize];
        let direction = if self.rng.chance(slot.read_percent.into(), 100) {
            Direction::Read
        } else {
            Direction::Write
        };
        let unaligned_sector = if self.rng.chance(slot.random_percent.into(), 100) {
            let byte = self.rng.below(self.region_sectors * SECTOR_BYTES);
            byte.div_ceil(SECTOR_BYTES)
        } else {
            self.next_sector_in_region
        };
        let sector_in_region = self.alignment.round_up(unaligned_sector);
        let end_in_region = sector_in_region + u64::from(slot.sectors);
        let (sector_in_region, end_in_region) = if end_in_region > self.region_sectors {
            (0, u64::from(slot.sectors))
        } else {
            (sector_in_region, end_in_region)
        };
        self.next_sector_in_region = end_in_region;
        Access {
            sector: self.region_first_sector + sector_in_region,
            sectors: slot.sectors,
            direction,
        }
    }
}

/// The alignment of accesses. A power of two, by far the most common, takes no division.
#[derive(Clone, Copy, Debug)]
enum Alignment {
    /// The alignment in sectors, less one.
    PowerOfTwo(u64),
    /// The alignment in sectors.
    Other(u64),
}

impl Alignment {
    fn new(sectors: u32) -> Self {
        let sectors = u64::from(sectors);
        if sectors.is_power_of_two() { Self::PowerOfTwo(sectors - 1) } else { Self::Other(sectors) }
    }

    #[inline]
    fn round_up(self, sector: u64) -> u64 {
        match self {
            Self::PowerOfTwo(mask) => (sector + mask) & !mask,
            Self::Other(sectors) => sector.next_multiple_of(sectors),
        }
    }
}

strewn_base::saved_state! {
    impl for AccessStream {
        parts:;
        values: rng, next_sector_in_region;
        built: region_first_sector, region_sectors, alignment, grid;
    }
}
