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

use crate::xor;
use thiserror::Error;

/// The largest prime that [`RowDiagonal::new`] takes: that of the published implementation, 256
/// sub-blocks of 16 bytes to a block of 4 KiB.
const LARGEST_PRIME: usize = 257;

/// Bytes of which a sub-block is a multiple: exclusive or works on whole words.
const WORD_BYTES: usize = 8;

/// Why blocks cannot be cut into the rows of row-diagonal parity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RowDiagonalError {
    /// No prime fits the size of the blocks.
    #[error(
        "row-diagonal parity cuts a block into p - 1 equal sub-blocks of whole 8-byte words, p \
         being a prime from 3 to 257; {block_bytes} bytes cannot be cut so"
    )]
    NoPrime {
        /// The size of block asked for.
        block_bytes: usize,
    },
    /// The number asked for as `p` is not a prime above 2.
    #[error("row-diagonal parity is for a prime p above 2, not {prime}")]
    NotPrime {
        /// The number asked for.
        prime: usize,
    },
    /// A prime that does not fit the size of the blocks.
    #[error(
        "with p = {prime}, row-diagonal parity cuts a block into {} equal sub-blocks of whole \
         8-byte words; {block_bytes} bytes cannot be cut so",
        .prime - 1
    )]
    Indivisible {
        /// The prime asked for.
        prime: usize,
        /// The size of block asked for.
        block_bytes: usize,
    },
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
/// # Ok::<(), strewn_raid::RowDiagonalError>(())
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
    /// [`RowDiagonalError::NoPrime`] when no prime fits.
    pub fn new(block_bytes: usize) -> Result<Self, RowDiagonalError> {
        (3..=LARGEST_PRIME)
            .rev()
            .find_map(|prime| Self::with_prime(block_bytes, prime).ok())
            .ok_or(RowDiagonalError::NoPrime { block_bytes })
    }

    /// Row-diagonal parity for blocks of `block_bytes` and a chosen prime, to read parity that
    /// something else has written.
    ///
    /// # Errors
    ///
    /// [`RowDiagonalError::NotPrime`] and [`RowDiagonalError::Indivisible`].
    pub fn with_prime(block_bytes: usize, prime: usize) -> Result<Self, RowDiagonalError> {
        let odd_prime = prime > 2
            && (2..)
                .take_while(|factor| factor * factor <= prime)
                .all(|factor| !prime.is_multiple_of(factor));
        if !odd_prime {
            return Err(RowDiagonalError::NotPrime { prime });
        }
        let rows = prime - 1;
        if block_bytes == 0 || !block_bytes.is_multiple_of(rows * WORD_BYTES) {
            return Err(RowDiagonalError::Indivisible { prime, block_bytes });
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

    /// Adds blocks, each with its column, to diagonal parity.
    pub(crate) fn add<'a>(
        self,
        diagonal: &mut [u8],
        mut blocks: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        while let Some(first) = blocks.next() {
            match (blocks.next(), blocks.next(), blocks.next()) {
                (Some(second), Some(third), Some(fourth)) => {
                    self.add_four(diagonal, [first, second, third, fourth]);
                }
                (second, third, fourth) => {
                    self.add_one(diagonal, first);
                    for block in [second, third, fourth].into_iter().flatten() {
                        self.add_one(diagonal, block);
                    }
                }
            }
        }
    }

    /// Adds one block: its rows from 0 on meet the diagonals from `column` on, as far as they are
    /// stored; the row after those lies on the diagonal that is not stored; the rest meet the
    /// diagonals from 0 on. Diagonal `column - 1` would meet row `p - 1`, which does not exist.
    fn add_one(self, diagonal: &mut [u8], (column, block): (usize, &[u8])) {
        let shift = column * self.sub_block_bytes;
        let straight = block.len() - shift;
        xor::add(&mut diagonal[shift..], &block[..straight]);
        if column > 1 {
            let wrapped = &block[straight + self.sub_block_bytes..];
            xor::add(&mut diagonal[..wrapped.len()], wrapped);
        }
    }

    /// Adds four blocks. Between the diagonals where one of them begins anew, each is a run, and
    /// one pass adds all.
    pub(crate) fn add_four(self, diagonal: &mut [u8], blocks: [(usize, &[u8]); xor::GROUP]) {
        let rows = self.prime - 1;
        let mut start = 0;
        while start < rows {
            let breaks = blocks.iter().flat_map(|&(column, _)| [column.wrapping_sub(1), column]);
            let end = breaks.filter(|&at| at > start).fold(rows, usize::min);
            let sum = &mut diagonal[start * self.sub_block_bytes..end * self.sub_block_bytes];
            match blocks.map(|block| self.run(block, start, end)) {
                [Some(first), Some(second), Some(third), Some(fourth)] => {
                    xor::add_four(sum, [first, second, third, fourth]);
                }
                some => some.into_iter().flatten().for_each(|run| xor::add(sum, run)),
            }
            start = end;
        }
    }

    /// The sub-blocks of a block that meet diagonals `start` to `end - 1`, between which the
    /// block does not begin anew; `None` at the one diagonal that it misses.
    #[inline]
    fn run(self, (column, block): (usize, &[u8]), start: usize, end: usize) -> Option<&[u8]> {
        let first_row = if start >= column { start - column } else { start + self.prime - column };
        let run =
            first_row * self.sub_block_bytes..(first_row + end - start) * self.sub_block_bytes;
        (first_row < self.prime - 1).then(|| &block[run])
    }

    /// Brings back two lost columns, `columns[0] < columns[1]`, row parity being column `p - 1`.
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
        match self.sub_block_bytes {
            bytes if bytes % 64 == 0 => self.solve_lanes::<64>(columns, first, second, diagonal),
            bytes if bytes % 32 == 0 => self.solve_lanes::<32>(columns, first, second, diagonal),
            bytes if bytes % 16 == 0 => self.solve_lanes::<16>(columns, first, second, diagonal),
            _ => self.solve_lanes::<WORD_BYTES>(columns, first, second, diagonal),
        }
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
            let row = if diagonal >= to { diagonal - to } else { diagonal + self.prime - to };
            let of_to = exclusive_or(diagonals[diagonal * lanes + lane], of_from);
            of_from = visit(row * lanes + lane, of_to);
            diagonal = row + from;
            if diagonal >= self.prime {
                diagonal -= self.prime;
            }
        }
    }
}

#[inline]
fn exclusive_or<const LANE: usize>(left: [u8; LANE], right: [u8; LANE]) -> [u8; LANE] {
    std::array::from_fn(|index| left[index] ^ right[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_by_size_of_block() {
        for (block_bytes, prime) in [
            (16, 3),
            (32, 5),
            (512, 17),
            (1024, 17),
            (2048, 257),
            (4096, 257),
            (8192, 257),
            (65536, 257),
            (4160, 131),
        ] {
            let code = RowDiagonal::new(block_bytes).unwrap();
            assert_eq!(code.prime(), prime, "{block_bytes} bytes");
            assert_eq!(code.sub_block_bytes() * (prime - 1), block_bytes);
            assert_eq!(code.most_data_blocks(), prime - 1);
        }
        assert_eq!(RowDiagonal::with_prime(4096, 5).unwrap().sub_block_bytes(), 1024);
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused_with_the_reason() {
        assert_eq!(
            RowDiagonal::new(520).unwrap_err().to_string(),
            "row-diagonal parity cuts a block into p - 1 equal sub-blocks of whole 8-byte words, \
             p being a prime from 3 to 257; 520 bytes cannot be cut so"
        );
        assert!(RowDiagonal::new(0).is_err());
        assert_eq!(
            RowDiagonal::with_prime(4096, 33).unwrap_err().to_string(),
            "row-diagonal parity is for a prime p above 2, not 33"
        );
        assert_eq!(
            RowDiagonal::with_prime(512, 257).unwrap_err().to_string(),
            "with p = 257, row-diagonal parity cuts a block into 256 equal sub-blocks of whole \
             8-byte words; 512 bytes cannot be cut so"
        );
        for not_prime in [0, 1, 2, 4, 9, 255, 256] {
            assert!(RowDiagonal::with_prime(4096, not_prime).is_err(), "{not_prime}");
        }
    }

    #[test]
    fn four_at_a_time_as_one_by_one() {
        let code = RowDiagonal::new(512).unwrap();
        let block =
            |seed: usize| (0..512).map(|at| (at * 7 + seed * 131) as u8).collect::<Vec<_>>();
        let blocks = [block(1), block(2), block(3), block(4)];
        for columns in [[0, 1, 2, 3], [0, 0, 16, 16], [13, 14, 15, 16], [9, 2, 0, 7], [1, 1, 1, 1]]
        {
            let members = [0, 1, 2, 3].map(|index| (columns[index], blocks[index].as_slice()));
            let (mut together, mut apart) = (vec![0; 512], vec![0; 512]);
            code.add_four(&mut together, members);
            members.into_iter().for_each(|member| code.add_one(&mut apart, member));
            assert_eq!(together, apart, "{columns:?}");
        }
    }
}
