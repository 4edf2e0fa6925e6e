//! RAID-Z: which sectors of which drives a block takes.
//!
//! The rules are those of OpenZFS, `vdev_raidz.c`. Each block is a stripe of its own, as wide as it needs: a row has
//! parity first, then data. The sectors of a block are rounded up to a multiple of one more than the parity, so that no
//! hole is left that cannot take a block with its parity.

/// A RAID-Z top-level vdev: its drives and the size of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaidZ {
    /// Drives, parity included.
    pub width: u8,
    /// Drives that may fail: 1 to 3.
    pub parity: u8,
    /// Binary logarithm of the bytes in a sector.
    pub ashift: u8,
}

/// What a block takes of one drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Drive in its top-level vdev, from 0.
    pub drive: u8,
    /// First sector on that drive, counted from where its allocatable space begins.
    pub first_sector: u64,
    /// Sectors.
    pub sectors: u32,
}

/// The columns of a block: parity first, then data, then skipped sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    raid_z: RaidZ,
    /// The drive of the block's first sector, and its sector there.
    first: (u16, u64),
    /// Rows that are full.
    rows: u32,
    /// Columns with one sector more than these: those of the last row, if it is not full.
    longer: u8,
    in_use: u8,
    count: u8,
    /// Whether parity and the first data have changed places.
    is_swapped: bool,
    /// How many sectors are skipped, to round the block up.
    pub skipped: u32,
}

impl Columns {
    /// All columns.
    pub fn all(&self) -> impl Iterator<Item = Column> + use<> {
        let this = *self;
        (0..this.count).map(move |number| this.column(number))
    }

    /// Those with parity.
    pub fn parity(&self) -> impl Iterator<Item = Column> + use<> {
        self.all().take(self.raid_z.parity.into())
    }

    /// Those with data, in the order of the data.
    pub fn data(&self) -> impl Iterator<Item = Column> + use<> {
        let this = *self;
        (this.raid_z.parity..this.in_use).map(move |number| this.column(number))
    }

    /// The sectors that are skipped: each behind what the block has on that drive.
    pub fn skipped(&self) -> impl Iterator<Item = Column> + use<> {
        let this = *self;
        // From the first shorter column on; parity that has changed places stays first.
        let start = if this.is_swapped { this.longer.max(1) } else { this.longer };
        (0..this.skipped as u8).map(move |number| {
            let column = this.column((start + number) % this.count);
            let first_sector = column.first_sector + u64::from(column.sectors);
            Column { first_sector, sectors: 1, ..column }
        })
    }

    /// Columns with parity, and those with parity or data.
    pub(crate) fn numbers(&self) -> (u8, u8) {
        (self.raid_z.parity, self.in_use)
    }

    #[inline]
    pub(crate) fn column(&self, number: u8) -> Column {
        let place = match (self.is_swapped, number) {
            (true, 0 | 1) => 1 - number,
            _ => number,
        };
        let (drive, row) = (self.first.0 + u16::from(place), self.first.1);
        let width = u16::from(self.raid_z.width);
        let (drive, first_sector) =
            if drive < width { (drive, row) } else { (drive - width, row + 1) };
        let long = u32::from(number < self.longer);
        Column {
            drive: drive as u8,
            first_sector,
            sectors: if number < self.in_use { self.rows + long } else { 0 },
        }
    }
}

impl RaidZ {
    /// Bytes of the vdev that a block of `bytes` on disk takes, with parity and skipped sectors: the block's `asize`.
    #[must_use]
    pub fn allocated_bytes(&self, bytes: u64) -> u64 {
        let sectors = bytes.div_ceil(1 << self.ashift);
        let rows = sectors.div_ceil(u64::from(self.width - self.parity));
        let parity = u64::from(self.parity);
        (sectors + rows * parity).next_multiple_of(parity + 1) << self.ashift
    }

    /// Where a block of `bytes` at `offset` of the vdev lies.
    #[must_use]
    pub fn columns(&self, offset: u64, bytes: u64) -> Columns {
        let (width, parity) = (u64::from(self.width), u64::from(self.parity));
        let first = offset >> self.ashift;
        let sectors = bytes.div_ceil(1 << self.ashift);
        let (rows, rest) = (sectors / (width - parity), sectors % (width - parity));
        let longer = if rest == 0 { 0 } else { rest + parity };
        let (in_use, count) = match rows {
            // It does not reach all drives.
            0 => (longer, width.min(longer.next_multiple_of(parity + 1))),
            _ => (width, width),
        };
        let in_all = sectors + parity * (rows + u64::from(rest > 0));
        Columns {
            raid_z: *self,
            first: ((first % width) as u16, first / width),
            rows: rows as u32,
            longer: longer as u8,
            in_use: in_use as u8,
            count: count as u8,
            // With single parity, every other MiB: on disk since the beginning.
            is_swapped: self.parity == 1 && offset & (1 << 20) != 0,
            skipped: (in_all.next_multiple_of(parity + 1) - in_all) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_fills_no_row_touches_few_drives() {
        let raid_z = RaidZ { width: 6, parity: 2, ashift: 12 };
        let columns = raid_z.columns(24_576 * 5, 8_192);
        assert_eq!(columns.all().count(), 6);
        assert_eq!(columns.skipped, 2);
        assert_eq!(columns.data().map(|column| column.drive).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(columns.data().map(|column| column.first_sector).max(), Some(5));
    }

    /// With single parity, parity and the first data change places every MiB.
    #[test]
    fn raid_z1_swaps_parity_and_data_in_every_other_mib() {
        let raid_z = RaidZ { width: 5, parity: 1, ashift: 12 };
        let drives = |mib: u64| {
            let columns = raid_z.columns((mib << 20) + (mib << 12), 8_192);
            let of = |columns: &mut dyn Iterator<Item = Column>| {
                columns.map(|column| (column.drive, column.first_sector)).collect::<Vec<_>>()
            };
            (of(&mut columns.parity()), of(&mut columns.data()))
        };
        assert_eq!(drives(0), (vec![(0, 0)], vec![(1, 0), (2, 0)]));
        // Sector 257 is on the third drive.
        assert_eq!(drives(1), (vec![(3, 51)], vec![(2, 51), (4, 51)]));
    }

    /// A block and what it skips are all sectors of its part of the vdev, each once.
    #[test]
    fn columns_and_skipped_sectors_cover_what_is_allocated() {
        for (width, parity) in [(2, 1), (3, 1), (5, 1), (5, 2), (6, 2), (11, 2), (12, 3), (16, 3)] {
            let raid_z = RaidZ { width, parity, ashift: 12 };
            for sectors in 1..=64 {
                for at in (0..600).step_by(usize::from(parity) + 1) {
                    let columns = raid_z.columns(at << 12, sectors << 12);
                    let all = columns.all().chain(columns.skipped());
                    let mut covered: Vec<u64> = all
                        .flat_map(|column| {
                            let rows = column.first_sector..;
                            let rows = rows.take(column.sectors as usize);
                            rows.map(move |row| row * u64::from(width) + u64::from(column.drive))
                        })
                        .collect();
                    covered.sort_unstable();
                    let allocated = raid_z.allocated_bytes(sectors << 12) >> 12;
                    let expected = Vec::from_iter(at..at + allocated);
                    assert_eq!(covered, expected, "{raid_z:?}, {sectors} sectors at {at}");
                }
            }
        }
    }

    #[test]
    fn columns_add_up_to_what_is_allocated() {
        for (width, parity) in [(3, 1), (5, 1), (6, 2), (11, 2), (12, 3), (16, 3)] {
            let raid_z = RaidZ { width, parity, ashift: 12 };
            for sectors in 1..=64 {
                for at in 0..u64::from(width) {
                    let columns = raid_z.columns(at << 12, sectors << 12);
                    let sum: u64 = columns.all().map(|column| u64::from(column.sectors)).sum();
                    let allocated = raid_z.allocated_bytes(sectors << 12) >> 12;
                    assert_eq!(sum + u64::from(columns.skipped), allocated, "{raid_z:?} {sectors}");
                    let data: u64 = columns.data().map(|column| u64::from(column.sectors)).sum();
                    assert_eq!(data, sectors);
                }
            }
        }
    }
}
