//! Parity over bytes: computing it, and reconstructing blocks from it.

use crate::codec_error::CodecError;
use crate::row_diagonal::RowDiagonal;
use crate::xor::{self, Start};
use crate::{StripeCode, StripeShape};

/// A data block before and after a change.
#[derive(Clone, Copy, Debug)]
pub struct BlockChange<'a> {
    /// Which data block, counted from 0.
    pub block: usize,
    /// The old bytes, which parity covers now.
    pub old: &'a [u8],
    /// The new bytes.
    pub new: &'a [u8],
}

/// Computes the parity of stripes of one shape and block size.
///
/// Blocks are given in the order of the stripe: data, row parity, diagonal parity, as any type that
/// is a slice of bytes. Absent data blocks count as zero, so a group can grow: if a spindle of zeros
/// joins after the last data spindle, the existing parity is right for the codec with one more
/// block.
///
/// ```
/// use strewn_raid::{StripeCode, StripeCodec};
///
/// let codec = StripeCodec::new(StripeCode::RowDiagonal, 3, 4096)?;
/// let data = [vec![1; 4096], vec![2; 4096], vec![4; 4096]];
/// let mut parity = [vec![0; 4096], vec![0; 4096]];
/// codec.encode(&data, &mut parity)?;
/// assert_eq!(parity[0][0], 1 ^ 2 ^ 4);
///
/// // Two spindles fail.
/// let [row, diagonal] = parity;
/// let mut stripe = [vec![0; 4096], data[1].clone(), vec![0; 4096], row, diagonal];
/// codec.reconstruct(&mut stripe, &[0, 2])?;
/// assert_eq!(stripe[..3], data);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StripeCodec {
    data_blocks: usize,
    block_bytes: usize,
    code: StripeCode,
    diagonal: Option<RowDiagonal>,
}

impl StripeCodec {
    /// A codec for stripes of `data_blocks` of `block_bytes` each. The prime of row-diagonal
    /// parity follows from the size of the blocks: see [`RowDiagonal::new`].
    ///
    /// # Errors
    ///
    /// [`CodecError`] if there is no block or no byte in it, if no prime fits the size, when there
    /// are more data blocks than the prime less one, and when a stripe has more bytes than memory.
    pub fn new(
        code: StripeCode,
        data_blocks: usize,
        block_bytes: usize,
    ) -> Result<Self, CodecError> {
        match code {
            StripeCode::None | StripeCode::Row => {
                Self::without_diagonal(code, data_blocks, block_bytes)
            }
            StripeCode::RowDiagonal => {
                Self::row_diagonal(RowDiagonal::new(block_bytes)?, data_blocks)
            }
        }
    }

    /// A codec for the stripes of a shape.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn for_shape(shape: StripeShape, block_bytes: usize) -> Result<Self, CodecError> {
        Self::new(shape.code(), usize::from(shape.data_blocks()), block_bytes)
    }

    /// A codec for row-diagonal parity with a chosen prime.
    ///
    /// # Errors
    ///
    /// [`CodecError`] if there is no data block, when there are more than the prime less one, and
    /// when a stripe has more bytes than memory.
    pub fn row_diagonal(diagonal: RowDiagonal, data_blocks: usize) -> Result<Self, CodecError> {
        let block_bytes = diagonal.most_data_blocks() * diagonal.sub_block_bytes();
        if data_blocks > diagonal.most_data_blocks() {
            let prime = diagonal.prime();
            return Err(CodecError::TooManyDataBlocks { data_blocks, block_bytes, prime });
        }
        let code = StripeCode::RowDiagonal;
        let row = Self::without_diagonal(code, data_blocks, block_bytes)?;
        Ok(Self { diagonal: Some(diagonal), ..row })
    }

    fn without_diagonal(
        code: StripeCode,
        data_blocks: usize,
        block_bytes: usize,
    ) -> Result<Self, CodecError> {
        if data_blocks == 0 || block_bytes == 0 {
            return Err(CodecError::Empty { data_blocks, block_bytes });
        }
        let blocks = data_blocks.checked_add(usize::from(code.parity_blocks()));
        let bytes = blocks.and_then(|blocks| blocks.checked_mul(block_bytes));
        // The most that one allocation can have.
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(CodecError::TooLarge { data_blocks, block_bytes });
        }
        Ok(Self { data_blocks, block_bytes, code, diagonal: None })
    }

    /// The kind of parity.
    pub const fn code(&self) -> StripeCode {
        self.code
    }

    /// How blocks are cut for diagonal parity, if there is any.
    pub const fn diagonal(&self) -> Option<RowDiagonal> {
        self.diagonal
    }

    /// Data blocks of a stripe.
    pub const fn data_blocks(&self) -> usize {
        self.data_blocks
    }

    /// Parity blocks of a stripe: 0, 1 or 2.
    pub const fn parity_blocks(&self) -> usize {
        self.code().parity_blocks() as usize
    }

    /// Blocks of a stripe, parity included.
    pub const fn blocks(&self) -> usize {
        self.data_blocks + self.parity_blocks()
    }

    /// Bytes of a block.
    pub const fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Computes the parity of `data` into `parity`: the row block, then the diagonal block.
    /// The previous contents of `parity` do not matter.
    ///
    /// # Errors
    ///
    /// [`CodecError`] if the number or the length of the blocks is not the stripe's.
    pub fn encode<D: AsRef<[u8]>, P: AsMut<[u8]>>(
        &self,
        data: &[D],
        parity: &mut [P],
    ) -> Result<(), CodecError> {
        self.check_count("data", self.data_blocks, data.len())?;
        self.check_lengths(0, data.iter().map(|block| block.as_ref().len()))?;
        self.check_parity(parity)?;
        let data = data.iter().map(AsRef::as_ref);
        if let [row, diagonal @ ..] = parity {
            let diagonal = diagonal.first_mut().map(AsMut::as_mut);
            self.encode_from(data, row.as_mut(), diagonal);
        }
        Ok(())
    }

    /// Brings parity up to date by subtraction: the old contents of the changed data blocks are
    /// taken out of `parity` and the new ones put in. The other blocks are not needed.
    ///
    /// # Errors
    ///
    /// [`CodecError`] if a block is not a data block of the stripe, and when the number or
    /// the length of the blocks is not the stripe's.
    pub fn subtract<P: AsMut<[u8]>>(
        &self,
        changes: &[BlockChange<'_>],
        parity: &mut [P],
    ) -> Result<(), CodecError> {
        for change in changes {
            if change.block >= self.data_blocks {
                let (block, count) = (change.block, self.data_blocks);
                return Err(CodecError::NoSuchBlock { what: "data", block, count });
            }
            self.check_lengths(change.block, std::iter::once(change.old.len()))?;
            self.check_lengths(change.block, std::iter::once(change.new.len()))?;
        }
        self.check_parity(parity)?;
        if let [row, diagonal @ ..] = parity {
            self.subtract_from(
                changes.iter().copied(),
                Some(row.as_mut()),
                diagonal.first_mut().map(AsMut::as_mut),
            );
        }
        Ok(())
    }

    /// Reconstructs the `lost` blocks of a stripe from the others. The contents of the lost blocks
    /// do not matter. Any block may be lost, and with row-diagonal parity any two: data,
    /// row parity or diagonal parity.
    ///
    /// # Errors
    ///
    /// [`CodecError`] if the number or the length of the blocks is not the stripe's, if a
    /// lost block is none of its blocks, and when more are lost than there are parity blocks.
    pub fn reconstruct<B: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        blocks: &mut [B],
        lost: &[usize],
    ) -> Result<(), CodecError> {
        self.check_stripe(blocks)?;
        let count = self.blocks();
        if let Some(&block) = lost.iter().find(|&&block| block >= count) {
            return Err(CodecError::NoSuchBlock { what: "stripe", block, count });
        }
        let ascending = match *lost {
            [] => return Ok(()),
            [one] if self.parity_blocks() > 0 => [Some(one), None],
            [one, other] if one == other && self.parity_blocks() > 0 => [Some(one), None],
            [one, other] if self.parity_blocks() == 2 => {
                [Some(one.min(other)), Some(one.max(other))]
            }
            _ => {
                let (lost, parity_blocks) = (lost.to_vec(), self.parity_blocks());
                return Err(CodecError::TooManyLost { lost, parity_blocks });
            }
        };
        let (row_block, diagonal_block) = (self.data_blocks, self.data_blocks + 1);
        match ascending {
            [Some(low), Some(high)] if high <= row_block => {
                self.solve_pair(blocks, [low, high]);
            }
            [first, second] => {
                for block in [first, second].into_iter().flatten() {
                    if block == diagonal_block {
                        self.encode_diagonal(blocks);
                    } else {
                        self.solve_row(blocks, block);
                    }
                }
            }
        }
        Ok(())
    }

    /// Computes all parity from data.
    pub(crate) fn encode_from<'a>(
        &self,
        data: impl Iterator<Item = &'a [u8]>,
        row: &mut [u8],
        diagonal: Option<&mut [u8]>,
    ) {
        let Some((code, diagonal)) = self.diagonal.zip(diagonal) else {
            return xor::add_all(row, Start::Zero, data);
        };
        code.add_up(Some(row), diagonal, Start::Zero, (0..).zip(data));
        let row_parity = (code.row_parity_column(), &*row);
        code.add_up(None, diagonal, Start::Held, std::iter::once(row_parity));
    }

    /// Subtraction for the parity blocks that are there. The change of row parity, which
    /// diagonal parity needs, is the sum of the changes.
    pub(crate) fn subtract_from<'a>(
        &self,
        changes: impl Iterator<Item = BlockChange<'a>> + Clone,
        row: Option<&mut [u8]>,
        diagonal: Option<&mut [u8]>,
    ) {
        let Some((code, diagonal)) = self.diagonal.zip(diagonal) else {
            if let Some(row) = row {
                let both = changes.flat_map(|change| [change.old, change.new]);
                xor::add_all(row, Start::Held, both);
            }
            return;
        };
        let blocks = changes.clone().flat_map(|change| [change.old, change.new]);
        let members =
            changes.flat_map(|BlockChange { block, old, new }| [(block, old), (block, new)]);
        code.add_up(row, diagonal, Start::Held, members);
        let row_parity = std::iter::repeat(code.row_parity_column());
        code.add_up(None, diagonal, Start::Held, row_parity.zip(blocks));
    }

    /// Diagonal parity from data and row parity.
    pub(crate) fn encode_diagonal<B: AsRef<[u8]> + AsMut<[u8]>>(&self, blocks: &mut [B]) {
        let (others, diagonal) = blocks.split_at_mut(self.data_blocks + 1);
        if let (Some(code), [diagonal]) = (self.diagonal, diagonal) {
            let diagonal = diagonal.as_mut();
            code.add_up(None, diagonal, Start::Zero, self.columns(code, others));
        }
    }

    /// A data block or row parity from all others of its rows.
    pub(crate) fn solve_row<B: AsRef<[u8]> + AsMut<[u8]>>(&self, blocks: &mut [B], lost: usize) {
        let (before, from) = blocks[..=self.data_blocks].split_at_mut(lost);
        if let [lost, after @ ..] = from {
            let sum = lost.as_mut();
            xor::add_all(sum, Start::Zero, before.iter().chain(&*after).map(AsRef::as_ref));
        }
    }

    /// Two blocks of data and row parity, `lost[0] < lost[1]`, from the others and diagonal
    /// parity.
    pub(crate) fn solve_pair<B: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        blocks: &mut [B],
        lost: [usize; 2],
    ) {
        let Some(code) = self.diagonal else { return };
        let [low, high] = lost;
        let mut sums = blocks[self.data_blocks + 1].as_ref().to_vec();
        let (before, from_high) = blocks[..=self.data_blocks].split_at_mut(high);
        let (before, from_low) = before.split_at_mut(low);
        if let ([first, between @ ..], [second, after @ ..]) = (from_low, from_high) {
            let (first, second) = (first.as_mut(), second.as_mut());
            let parts = [(0, &*before), (low + 1, &*between), (high + 1, &*after)];
            let others = parts.into_iter().flat_map(|(start, blocks)| {
                (start..)
                    .map(|block| self.column(code, block))
                    .zip(blocks.iter().map(AsRef::as_ref))
            });
            first.fill(0);
            code.add_up(Some(first), &mut sums, Start::Held, others);
            code.solve(lost.map(|block| self.column(code, block)), first, second, &sums);
        }
    }

    /// Data and row parity with their columns.
    pub(crate) fn columns<'a, B: AsRef<[u8]>>(
        &self,
        code: RowDiagonal,
        blocks: &'a [B],
    ) -> impl Iterator<Item = (usize, &'a [u8])> {
        let codec = *self;
        blocks
            .iter()
            .enumerate()
            .map(move |(block, bytes)| (codec.column(code, block), bytes.as_ref()))
    }

    pub(crate) fn column(&self, code: RowDiagonal, block: usize) -> usize {
        if block < self.data_blocks { block } else { code.row_parity_column() }
    }

    pub(crate) fn check_stripe<B: AsRef<[u8]>>(&self, blocks: &[B]) -> Result<(), CodecError> {
        self.check_count("stripe", self.blocks(), blocks.len())?;
        self.check_lengths(0, blocks.iter().map(|block| block.as_ref().len()))
    }

    fn check_parity<P: AsMut<[u8]>>(&self, parity: &mut [P]) -> Result<(), CodecError> {
        self.check_count("parity", self.parity_blocks(), parity.len())?;
        self.check_lengths(self.data_blocks, parity.iter_mut().map(|block| block.as_mut().len()))
    }

    fn check_count(
        &self,
        what: &'static str,
        expected: usize,
        given: usize,
    ) -> Result<(), CodecError> {
        if given == expected { Ok(()) } else { Err(CodecError::Count { what, expected, given }) }
    }

    fn check_lengths(
        &self,
        first: usize,
        lengths: impl Iterator<Item = usize>,
    ) -> Result<(), CodecError> {
        let expected = self.block_bytes;
        match (first..).zip(lengths).find(|&(_, length)| length != expected) {
            Some((block, given)) => Err(CodecError::Length { block, expected, given }),
            None => Ok(()),
        }
    }
}
