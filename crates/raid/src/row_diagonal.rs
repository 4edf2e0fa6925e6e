//! Row-diagonal parity inside one stripe of blocks.
//!
//! Corbett, English, Goel, Grcanac, Kleiman, Leong and Sankar, "Row-Diagonal Parity for Double
//! Disk Failure Correction", FAST 2004; US 6,993,701.
//!
//! The construction takes a prime `p`, and `p + 1` columns of `p - 1` rows: data in columns 0 to
//! `p - 2`, row parity in column `p - 1`, diagonal parity in the last. The element of row `r` and
//! column `j`, row parity included, lies on diagonal `(r + j) mod p`. Diagonal `p - 1` is not
//! stored. A column here is one block, and its rows are the block's equal parts, *sub-blocks*.
//! So a change of one block changes one block of row parity and one of diagonal parity.
//!
//! Row `p - 1` does not exist and counts as zero. Then the sub-blocks of column `j` meet the
//! diagonals in their own order, only `j` further on: diagonal parity is the sum of the columns,
//! each rotated by as many of `p` sub-blocks as its number says, without the last sub-block. A
//! rotation is at most two moves, and no diagonal need be computed by itself.
//!
//! Columns that a group does not have count as zero. Row parity stays in column `p - 1` whatever
//! the number of data blocks, so a data spindle of zeros can join a group and every parity block
//! stays as it is.

use crate::codec_error::CodecError;
use crate::xor::{self, Start, SubBlock, Sum};
use std::iter::Peekable;
use std::ops::Range;

/// The largest prime that [`RowDiagonal::new`] takes: that of the published implementation, 256
/// sub-blocks of 16 bytes to a block of 4 KiB.
const LARGEST_PRIME: usize = 257;

/// Bytes of which a sub-block is a multiple: exclusive or works on whole words.
const WORD_BYTES: usize = 8;

/// Blocks that are added at a time. See [`xor::STAIRCASE`] for why not more.
const GROUP: usize = 6;

/// Columns that blocks added together may lie apart, so that the diagonals to be added one by
/// one, between the first of them and the last, are few.
const GROUP_SPAN: usize = 8;

/// Calls a method for the widest lane in which sub-blocks can be worked on.
macro_rules! by_lane {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self.sub_block_bytes {
            bytes if bytes % 64 == 0 => $self.$method::<64>($($argument),*),
            bytes if bytes % 32 == 0 => $self.$method::<32>($($argument),*),
            bytes if bytes % 16 == 0 => $self.$method::<16>($($argument),*),
            _ => $self.$method::<WORD_BYTES>($($argument),*),
        }
    };
}

/// How blocks of one size are cut for row-diagonal parity.
///
/// ```
/// use strewn_raid::RowDiagonal;
///
/// let published = RowDiagonal::new(4096)?;
/// assert_eq!((published.prime(), published.sub_block_bytes()), (257, 16));
///
/// let sector = RowDiagonal::new(512)?;
/// assert_eq!((sector.prime(), sector.sub_block_bytes()), (17, 32));
/// assert_eq!(sector.most_data_blocks(), 16);
///
/// assert!(RowDiagonal::new(520).is_err());
/// # Ok::<(), strewn_raid::CodecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowDiagonal {
    prime: usize,
    sub_block_bytes: usize,
}

impl RowDiagonal {
    /// Row-diagonal parity for blocks of `block_bytes`, by the rule for arrays: the largest prime
    /// `p`, at most 257, that cuts the block into `p - 1` sub-blocks of a whole number of 8-byte
    /// words.
    ///
    /// | block | p | sub-block |
    /// |---|---|---|
    /// | 512 B, 1 KiB | 17 | 32 B, 64 B |
    /// | 2 KiB, **4 KiB**, 8 KiB, … 64 KiB | **257** | 8 B, **16 B**, 32 B, … 256 B |
    /// | 4,160 B | 131 | 32 B |
    /// | 520 B | none fits | |
    ///
    /// The rule looks at nothing but the size, so that a group that grows keeps its parity.
    ///
    /// # Errors
    ///
    /// [`CodecError::NoPrime`] if no prime fits.
    pub fn new(block_bytes: usize) -> Result<Self, CodecError> {
        (3..=LARGEST_PRIME)
            .rev()
            .find_map(|prime| Self::with_prime(block_bytes, prime).ok())
            .ok_or(CodecError::NoPrime { block_bytes })
    }

    /// Row-diagonal parity for blocks of `block_bytes` and a chosen prime, to read parity that
    /// something else has written.
    ///
    /// # Errors
    ///
    /// [`CodecError::NotPrime`] and [`CodecError::Indivisible`].
    pub fn with_prime(block_bytes: usize, prime: usize) -> Result<Self, CodecError> {
        // A larger one cuts no block of this size, prime or not.
        if prime <= block_bytes.max(2) {
            let odd_prime = prime > 2
                && (2..)
                    .take_while(|factor| *factor <= prime / factor)
                    .all(|factor| !prime.is_multiple_of(factor));
            if !odd_prime {
                return Err(CodecError::NotPrime { prime });
            }
        }
        let rows = prime.saturating_sub(1);
        let fits = rows
            .checked_mul(WORD_BYTES)
            .is_some_and(|bytes| block_bytes > 0 && block_bytes.is_multiple_of(bytes));
        if !fits {
            return Err(CodecError::Indivisible { prime, block_bytes });
        }
        Ok(Self { prime, sub_block_bytes: block_bytes / rows })
    }

    /// The prime `p` of the construction.
    pub const fn prime(self) -> usize {
        self.prime
    }

    /// Bytes of a sub-block: the element of one row and column.
    pub const fn sub_block_bytes(self) -> usize {
        self.sub_block_bytes
    }

    /// The most data blocks a stripe can have: `p - 1`.
    pub const fn most_data_blocks(self) -> usize {
        self.prime - 1
    }

    /// The column of row parity.
    pub(crate) const fn row_parity_column(self) -> usize {
        self.prime - 1
    }

    /// Adds up blocks, each with its column, in diagonal parity, and, where `rows` is given, in
    /// the sums of the rows too. Quick where columns ascend.
    pub(crate) fn add_up<'a>(
        self,
        rows: Option<&mut [u8]>,
        diagonals: &mut [u8],
        start: Start,
        blocks: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        let blocks = blocks.peekable();
        match rows {
            Some(rows) if self.sub_block_bytes == size_of::<SubBlock>() => {
                self.add_up_staircases(rows, diagonals, start, blocks);
            }
            rows => self.add_up_runs(rows, diagonals, start, blocks),
        }
    }

    /// For the published size of block. Columns that are next to each other are added together.
    fn add_up_staircases<'a>(
        self,
        rows: &mut [u8],
        diagonals: &mut [u8],
        mut start: Start,
        mut blocks: Peekable<impl Iterator<Item = (usize, &'a [u8])>>,
    ) {
        if start == Start::Zero {
            diagonals.fill(0);
        }
        let (rows, _) = rows.as_chunks_mut();
        let (diagonals, _) = diagonals.as_chunks_mut();
        while let Some((first, block)) = blocks.next() {
            let mut columns: [&[SubBlock]; xor::STAIRCASE] = [&[]; xor::STAIRCASE];
            (columns[0], _) = block.as_chunks();
            let mut count = 1;
            while let Some((_, block)) =
                blocks.next_if(|next| count < xor::STAIRCASE && next.0 == first + count)
            {
                (columns[count], _) = block.as_chunks();
                count += 1;
            }
            self.add_staircase(rows, diagonals, start, first, &columns[..count]);
            start = Start::Held;
        }
    }

    /// Adds columns that are next to each other, `first` the number of the first. Their upper rows
    /// meet the diagonals from `first` on, and their lower ones those from 0 on. Between them are
    /// the rows in which some have met diagonal `p - 1`, which is not stored, and others have not.
    fn add_staircase(
        self,
        rows: &mut [SubBlock],
        diagonals: &mut [SubBlock],
        start: Start,
        first: usize,
        columns: &[&[SubBlock]],
    ) {
        let end = self.prime - 1;
        let upper = 0..(self.prime - first).saturating_sub(columns.len());
        let lower = (self.prime - first).min(end)..end;
        let between = upper.end..lower.start;
        for (run, diagonal) in [(upper, first), (lower, 0)] {
            if run.is_empty() {
                continue;
            }
            let mut of_run: [&[SubBlock]; xor::STAIRCASE] = [&[]; xor::STAIRCASE];
            for (of_run, column) in of_run.iter_mut().zip(columns) {
                *of_run = &column[run.clone()];
            }
            let met = &mut diagonals[diagonal..diagonal + run.len() + columns.len() - 1];
            xor::add_staircase(&mut rows[run], met, &of_run[..columns.len()], start);
        }
        for row in between {
            let mut sum = if start == Start::Held { rows[row] } else { [0; size_of::<SubBlock>()] };
            for (column, block) in (first..).zip(columns) {
                sum = exclusive_or(sum, block[row]);
                if let Some(diagonal) = diagonals.get_mut(self.diagonal(row, column)) {
                    *diagonal = exclusive_or(*diagonal, block[row]);
                }
            }
            rows[row] = sum;
        }
    }

    /// For other sizes of block, and for diagonals alone. A few blocks are added at a time, to
    /// both sums at once: their bytes, read for the rows, are still in the processor's nearest
    /// cache when the diagonals need them.
    fn add_up_runs<'a>(
        self,
        mut rows: Option<&mut [u8]>,
        diagonals: &mut [u8],
        mut start: Start,
        mut blocks: Peekable<impl Iterator<Item = (usize, &'a [u8])>>,
    ) {
        while let Some(first) = blocks.next() {
            let mut group = [first; GROUP];
            let mut count = 1;
            while let Some(next) =
                blocks.next_if(|next| count < GROUP && next.0.wrapping_sub(first.0) < GROUP_SPAN)
            {
                group[count] = next;
                count += 1;
            }
            self.add_group(rows.as_deref_mut(), diagonals, start, &group[..count]);
            start = Start::Held;
        }
    }

    /// Adds a few blocks. The rows of a column from 0 on meet the diagonals from the column's
    /// number on, as far as they are stored; the row after those lies on the diagonal that is
    /// not stored; the rest meet the diagonals from 0 on. The diagonal before the column's number
    /// would meet row `p - 1`, which does not exist.
    ///
    /// So but for the diagonals near the numbers of the columns, each block is added in two long
    /// runs.
    fn add_group(
        self,
        mut rows: Option<&mut [u8]>,
        diagonals: &mut [u8],
        start: Start,
        group: &[(usize, &[u8])],
    ) {
        let columns = || group.iter().map(|&(column, _)| column);
        let first = columns().min().unwrap_or(0);
        let near = first.saturating_sub(1)..columns().max().unwrap_or(0);
        let bytes = |sub_blocks: &Range<usize>| {
            sub_blocks.start * self.sub_block_bytes..sub_blocks.end * self.sub_block_bytes
        };
        for (run, before) in [(0..near.start, self.prime), (near.end..self.prime - 1, 0)] {
            if run.is_empty() {
                continue;
            }
            let length = run.len() * self.sub_block_bytes;
            let (mut of_rows, mut of_diagonals) = ([&[][..]; GROUP], [&[][..]; GROUP]);
            for (index, (column, block)) in group.iter().enumerate() {
                of_rows[index] = &block[bytes(&run)];
                let row = (run.start + before - column) * self.sub_block_bytes;
                of_diagonals[index] = &block[row..row + length];
            }
            let sum = &mut diagonals[bytes(&run)];
            let diagonals = Sum { sum, sources: &of_diagonals[..group.len()] };
            match rows.as_deref_mut() {
                None => xor::add_up([diagonals], start),
                Some(rows) => {
                    let sum = &mut rows[bytes(&run)];
                    let rows = Sum { sum, sources: &of_rows[..group.len()] };
                    xor::add_up([rows, diagonals], start);
                }
            }
        }
        if let Some(rows) = rows {
            let sources = group.iter().map(|(_, block)| &block[bytes(&near)]);
            xor::add_all(&mut rows[bytes(&near)], start, sources);
        }
        by_lane!(self.add_near(near, diagonals, start, group));
    }

    /// Adds a few blocks to the diagonals that lie near the numbers of their columns, one by one.
    fn add_near<const LANE: usize>(
        self,
        near: Range<usize>,
        diagonals: &mut [u8],
        start: Start,
        group: &[(usize, &[u8])],
    ) {
        let (sums, _) = diagonals.as_chunks_mut::<LANE>();
        let lanes = self.sub_block_bytes / LANE;
        for diagonal in near {
            for lane in 0..lanes {
                let sum = &mut sums[diagonal * lanes + lane];
                let held = if start == Start::Held { *sum } else { [0; LANE] };
                *sum = group.iter().fold(held, |sum, (column, block)| {
                    let row = self.row(diagonal, *column);
                    // Row p - 1, which does not exist, would end the block.
                    let (sub_blocks, _) = block.as_chunks::<LANE>();
                    sub_blocks
                        .get(row * lanes + lane)
                        .map_or(sum, |&sub_block| exclusive_or(sum, sub_block))
                });
            }
        }
    }

    /// The diagonal that a column meets in a row.
    #[inline]
    const fn diagonal(self, row: usize, column: usize) -> usize {
        let sum = row + column;
        if sum < self.prime { sum } else { sum - self.prime }
    }

    /// The row in which a column meets a diagonal.
    #[inline]
    const fn row(self, diagonal: usize, column: usize) -> usize {
        if diagonal >= column { diagonal - column } else { diagonal + self.prime - column }
    }

    /// Reconstructs two lost columns, `columns[0] < columns[1]`, row parity being column `p - 1`.
    ///
    /// `first` holds the sum of all other columns, row by row; `diagonal` holds diagonal parity
    /// plus all other columns, each rotated. Both lost columns meet every row, and every diagonal
    /// but one each: that one gives a sub-block of the other column, its row gives one of this
    /// column, which lies on a diagonal of the other, and so on to the diagonal that is not
    /// stored. Two such walks, one from either column, meet every row once.
    ///
    /// `first` and `second` become the two columns.
    pub(crate) fn solve(
        self,
        columns: [usize; 2],
        first: &mut [u8],
        second: &mut [u8],
        diagonal: &[u8],
    ) {
        by_lane!(self.solve_lanes(columns, first, second, diagonal));
    }

    fn solve_lanes<const LANE: usize>(
        self,
        columns: [usize; 2],
        first: &mut [u8],
        second: &mut [u8],
        diagonal: &[u8],
    ) {
        let (first, _) = first.as_chunks_mut::<LANE>();
        let (second, _) = second.as_chunks_mut::<LANE>();
        let (diagonal, _) = diagonal.as_chunks::<LANE>();
        let lanes = self.sub_block_bytes / LANE;
        for lane in 0..lanes {
            let [low, high] = columns;
            // Each row is met by one of the walks, so that the second still finds the row sums
            // that it needs.
            self.walk([low, high], [lane, lanes], diagonal, |row, of_high| {
                second[row] = of_high;
                first[row] = exclusive_or(first[row], of_high);
                first[row]
            });
            self.walk([high, low], [lane, lanes], diagonal, |row, of_low| {
                second[row] = exclusive_or(first[row], of_low);
                first[row] = of_low;
                second[row]
            });
        }
    }

    /// Walks from the diagonal that misses column `from`, over the rows where column `to` meets
    /// it, to the diagonal that is not stored. `visit` is given a row and column `to`'s sub-block
    /// of it, and gives back column `from`'s.
    #[inline]
    fn walk<const LANE: usize>(
        self,
        [from, to]: [usize; 2],
        [lane, lanes]: [usize; 2],
        diagonals: &[[u8; LANE]],
        mut visit: impl FnMut(usize, [u8; LANE]) -> [u8; LANE],
    ) {
        let mut of_from = [0; LANE];
        // Column 0 is missed only by the diagonal that is not stored: no walk starts there.
        let mut diagonal = (from + self.prime - 1) % self.prime;
        while diagonal < self.prime - 1 {
            let row = self.row(diagonal, to);
            let of_to = exclusive_or(diagonals[diagonal * lanes + lane], of_from);
            of_from = visit(row * lanes + lane, of_to);
            diagonal = self.diagonal(row, from);
        }
    }
}

// A loop, not `std::array::from_fn`, whose closures may be calls where a crate is compiled in several units.
#[inline(always)]
fn exclusive_or<const LANE: usize>(mut left: [u8; LANE], right: [u8; LANE]) -> [u8; LANE] {
    for index in 0..LANE {
        left[index] ^= right[index];
    }
    left
}

#[cfg(test)]
mod tests;
