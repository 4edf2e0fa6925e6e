//! Counts what a map shows: how much of each column of a spindle holds a file, how far its blocks lie from their
//! predecessors, and how much is free.

use std::ops::Range;

/// Levels of a share or of a distance: 0 to 63.
pub const MAP_LEVELS: u8 = 64;

/// Levels per doubling of a distance.
const LEVELS_PER_DOUBLING: u64 = 2;

/// A picture being filled: blocks counted by spindle and column.
#[derive(Clone, Debug)]
pub struct MapPicture {
    /// The first block of each column, and of one more. They avoid a division for each of a hundred million runs.
    starts: Vec<u64>,
    /// In 2⁻³², rounded down.
    columns_per_block: u64,
    columns: u32,
    file: Vec<u32>,
    /// Sums of log2(1 + distance), in 256ths.
    distance: Vec<u64>,
    free: Vec<u32>,
}

/// One spindle of a [`MapPicture`]: a level per column, 0 to 63.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpindleLevels {
    /// How much of a column holds the file: 0 none of it, 63 all of it.
    pub file: Vec<u8>,
    /// Twice the mean of log2(1 + distance) of a column's blocks.
    pub distance: Vec<u8>,
    /// How much of a column is free. None where nothing is allocated.
    pub free: Option<Vec<u8>>,
}

impl MapPicture {
    /// Creates an empty picture of `spindles` spindles of `blocks_per_spindle` blocks at most, in `columns` columns.
    /// `allocates` says whether there is free space to show.
    #[must_use]
    pub fn new(spindles: u16, columns: u32, blocks_per_spindle: u64, allocates: bool) -> Self {
        let cells = usize::from(spindles) * columns as usize;
        let (wide, blocks) = (u64::from(columns), blocks_per_spindle);
        Self {
            starts: (0..=wide).map(|column| (column * blocks).div_ceil(wide)).collect(),
            columns_per_block: (wide << 32) / blocks.max(1),
            columns,
            file: vec![0; cells],
            distance: vec![0; cells],
            free: if allocates { vec![0; cells] } else { Vec::new() },
        }
    }

    /// Adds a run of `blocks` consecutive blocks of the file, from block `first` of `spindle`. The first of them lies
    /// `distance` blocks from the end of its predecessor; the others are right behind theirs.
    #[inline]
    pub fn add_run(&mut self, spindle: u16, first: u64, blocks: u64, distance: u64) {
        let column = self.column_of(first);
        let cell = self.cell(spindle, column);
        self.distance[cell] += u64::from(log2_in_256ths(1 + distance));
        self.split(first, blocks, column, |picture, column, blocks| {
            let cell = picture.cell(spindle, column);
            picture.file[cell] += blocks;
        });
    }

    /// Adds free blocks: those of the 64 blocks from block `first` of `spindle` whose bit is set.
    #[inline]
    pub fn add_free_word(&mut self, spindle: u16, first: u64, word: u64) {
        if word == 0 {
            return;
        }
        let column = self.column_of(first);
        let last = first + u64::from(63 - word.leading_zeros());
        if self.column_of(last) == column {
            let cell = self.cell(spindle, column);
            self.free[cell] += word.count_ones();
            return;
        }
        for bit in (0..64).filter(|bit| word >> bit & 1 == 1) {
            let cell = self.cell(spindle, self.column_of(first + bit));
            self.free[cell] += 1;
        }
    }

    /// Adds the counts of another picture of the same map.
    pub fn add(&mut self, other: &Self) {
        let blocks = self.file.iter_mut().chain(&mut self.free);
        blocks.zip(other.file.iter().chain(&other.free)).for_each(|(sum, more)| *sum += more);
        self.distance.iter_mut().zip(&other.distance).for_each(|(sum, more)| *sum += more);
    }

    /// Distributes a run's blocks over columns, from `column` on.
    #[inline]
    fn split(
        &mut self,
        first: u64,
        blocks: u64,
        mut column: u32,
        mut add: impl FnMut(&mut Self, u32, u32),
    ) {
        let (mut at, end) = (first, first + blocks);
        loop {
            let stop = self.blocks_of(column).end.min(end);
            add(self, column, (stop - at) as u32);
            if stop == end {
                return;
            }
            (at, column) = (stop, column + 1);
        }
    }

    fn cell(&self, spindle: u16, column: u32) -> usize {
        usize::from(spindle) * self.columns as usize + column as usize
    }

    #[inline]
    fn column_of(&self, block: u64) -> u32 {
        let columns = (u128::from(block) * u128::from(self.columns_per_block)) >> 32;
        let mut column = columns as usize;
        debug_assert!(
            self.starts.last() > Some(&block),
            "block {block} is past the end of a spindle"
        );
        while self.starts[column + 1] <= block {
            column += 1;
        }
        column as u32
    }

    /// Returns the blocks of a column: those that [`column_of`](Self::column_of) assigns to it.
    #[inline]
    fn blocks_of(&self, column: u32) -> Range<u64> {
        self.starts[column as usize]..self.starts[column as usize + 1]
    }

    /// Returns the levels of each spindle, in order.
    pub fn levels(&self) -> impl Iterator<Item = SpindleLevels> {
        let columns = self.columns as usize;
        let sizes: Vec<u64> = (0..self.columns)
            .map(|column| self.blocks_of(column))
            .map(|blocks| blocks.end - blocks.start)
            .collect();
        let shares = move |blocks: &[u32]| -> Vec<u8> {
            let level = |(blocks, size): (&u32, &u64)| share_level(u64::from(*blocks), *size);
            blocks.iter().zip(&sizes).map(level).collect()
        };
        let mut free = self.free.chunks(columns);
        let by_spindle = self.file.chunks(columns).zip(self.distance.chunks(columns));
        by_spindle.map(move |(file, distance)| {
            let level = |(sum, blocks): (&u64, &u32)| {
                let blocks = u64::from(*blocks).max(1);
                ((sum * LEVELS_PER_DOUBLING + 128 * blocks) / (256 * blocks)).min(63) as u8
            };
            SpindleLevels {
                file: shares(file),
                distance: distance.iter().zip(file).map(level).collect(),
                free: free.next().map(&shares),
            }
        })
    }
}

/// Returns a share in 64 levels. The first is nothing and the last is all, so that a small share does not vanish.
fn share_level(part: u64, whole: u64) -> u8 {
    match part {
        0 => 0,
        part if part >= whole => 63,
        part => (part * 63 / whole).clamp(1, 62) as u8,
    }
}

/// Returns the binary logarithm in 256ths, linear between powers of two (at most 0.09 below it). It uses whole numbers,
/// so it is the same on every machine.
#[inline]
fn log2_in_256ths(value: u64) -> u32 {
    let power = value.ilog2();
    let behind = (value << (63 - power) >> 55) as u32 & 0xFF;
    power * 256 + behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logarithms_are_straight_between_powers() {
        for (value, logarithm) in [(1, 0), (2, 256), (3, 384), (4, 512), (1 << 25, 6400)] {
            assert_eq!(log2_in_256ths(value), logarithm);
        }
    }

    #[test]
    fn what_little_there_is_does_not_vanish() {
        assert_eq!([0, 1, 999, 1000].map(|part| share_level(part, 1000)), [0, 1, 62, 63]);
    }

    proptest! {
        #[test]
        fn every_block_is_counted_once(
            blocks_per_spindle in 1..20_000_u64,
            from in 0.0..1.0_f64,
            to in 0.0..1.0_f64,
        ) {
            let columns = blocks_per_spindle.min(1024) as u32;
            let mut picture = MapPicture::new(1, columns, blocks_per_spindle, true);
            let first = (from * (blocks_per_spindle - 1) as f64) as u64;
            let blocks = 1 + (to * (blocks_per_spindle - 1 - first) as f64) as u64;
            picture.add_run(0, first, blocks, 5);
            prop_assert_eq!(picture.file.iter().map(|count| u64::from(*count)).sum::<u64>(), blocks);
            for column in 0..columns {
                let whole = picture.blocks_of(column);
                prop_assert!(picture.file[column as usize] as u64 <= whole.end - whole.start);
                prop_assert!(whole.clone().all(|block| picture.column_of(block) == column));
            }
        }
    }
}
