//! Finds stale blocks in a row of an in-place stripe, from the metadata stored with each of its blocks.
//!
//! A drive that reports a write as done and never does it leaves a stale block that is consistent in itself. An
//! in-place array has no pointer to the block that would contradict it. But each write of data also writes parity, on
//! another spindle, and the tag of parity holds the [sum](StripeSum) of its stripe's checksums and the number of the
//! redo record of the write:
//!
//! - If a block of data has a higher record number than parity, parity is stale.
//! - Otherwise parity and its sum are good. If the CRCs of the data do not add up to those of parity and sum, one
//!   block of data is stale; the two sums together tell which one, and what its CRC must be.
//! - With a spindle lost, parity tells what the CRC of the lost block must be, and the sum whether all others are
//!   good.
//!
//! This covers one spindle of a stripe, as its redundancy does. Larger damage is normally detected too; then no block
//! of the row is trusted.

use crate::format::StripeSum;
use crate::store::BlockState;

/// CRC-32C of a block of zeros, which is how a never-written block reads.
const ZEROS_CRC: u32 = 0x98f9_4189;

/// The metadata stored with a block that bears on the other blocks of its row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenBlock {
    pub(crate) crc: u32,
    pub(crate) redo: u64,
    stripe_sum: Option<StripeSum>,
}

impl WrittenBlock {
    /// Converts a block's checksum entry; returns `None` if none can be trusted.
    pub(crate) fn of(state: &BlockState) -> Option<Self> {
        match *state {
            BlockState::NeverWritten => Some(Self { crc: ZEROS_CRC, redo: 0, stripe_sum: None }),
            BlockState::Good { block_tag, crc, .. } => {
                Some(Self { crc, redo: block_tag.redo, stripe_sum: block_tag.stripe_sum })
            }
            BlockState::Bad(_) => None,
        }
    }
}

/// What a block must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedBlock {
    /// Its contents are unknown.
    Unknown,
    /// It has this CRC-32C.
    Crc(u32),
    /// It must not be trusted, whatever its contents.
    Untrusted,
}

impl ExpectedBlock {
    /// Returns whether a block with this CRC can be trusted.
    pub(crate) fn allows(self, crc: u32) -> bool {
        match self {
            Self::Unknown => true,
            Self::Crc(right) => right == crc,
            Self::Untrusted => false,
        }
    }

    fn crc(self) -> Option<u32> {
        match self {
            Self::Crc(crc) => Some(crc),
            Self::Unknown | Self::Untrusted => None,
        }
    }
}

impl From<Option<u32>> for ExpectedBlock {
    fn from(crc: Option<u32>) -> Self {
        crc.map_or(Self::Unknown, Self::Crc)
    }
}

/// Returns the exclusive or of parity's CRC and the CRC that parity over data with these CRCs has; 0 if they match.
fn difference(data: impl IntoIterator<Item = u32>, parity: u32) -> u32 {
    // CRCs are linear except for a constant, the CRC of zeros.
    data.into_iter().fold(parity ^ ZEROS_CRC, |sum, crc| sum ^ crc ^ ZEROS_CRC)
}

/// Returns whether parity lacks a write of its row, because a block of data has a higher record number. Its contents
/// may be right by chance, but are not trusted once a block of the row is lost.
pub(crate) fn lacks_write(data: &[Option<WrittenBlock>], parity: WrittenBlock) -> bool {
    data.iter().flatten().any(|one| one.redo > parity.redo)
}

/// Returns what the blocks of a row must contain, given the metadata stored with its data blocks, in the order of the
/// stripe's members, and with its parity. The result is in the same order, parity last. A block is unknown if it is
/// unreadable, or no entry says anything about it.
pub(crate) fn cross_check(
    data: &[Option<WrittenBlock>],
    parity: Option<WrittenBlock>,
) -> Vec<ExpectedBlock> {
    let crc_of = |one: &Option<WrittenBlock>| one.map(|one| one.crc);
    let mut row = Row {
        data: data.iter().map(|one| crc_of(one).into()).collect(),
        parity: crc_of(&parity).into(),
    };
    match parity {
        None => row.parity = row.parity_of_data(),
        Some(parity) if lacks_write(data, parity) => {
            row.parity = match row.parity_of_data() {
                ExpectedBlock::Unknown => ExpectedBlock::Untrusted,
                right => right,
            };
        }
        Some(parity) => row.check(parity),
    }
    row.data.push(row.parity);
    row.data
}

/// Returns the sum of a stripe whose data is as expected and whose parity has the CRC `parity`. `may_differ` says
/// which members parity may have changed without a write to them, because their spindles are missing; for at most one
/// such member, this computes its new CRC. Returns `None` if that is impossible.
pub(crate) fn sum_of(
    data: &mut [ExpectedBlock],
    parity: u32,
    may_differ: impl Fn(usize) -> bool,
) -> Option<StripeSum> {
    let is_open =
        |(at, one): (usize, &ExpectedBlock)| (may_differ(at) || one.crc().is_none()).then_some(at);
    let open: Vec<usize> = data.iter().enumerate().filter_map(is_open).collect();
    if data.contains(&ExpectedBlock::Untrusted) || open.len() > 1 {
        return None;
    }
    if let [open] = open[..] {
        data[open] = ExpectedBlock::Crc(ZEROS_CRC);
        let crcs = data.iter().filter_map(|one| one.crc());
        data[open] = ExpectedBlock::Crc(difference(crcs, parity) ^ ZEROS_CRC);
    }
    let crcs: Vec<u32> = data.iter().filter_map(|one| one.crc()).collect();
    (difference(crcs.iter().copied(), parity) == 0).then(|| StripeSum::of(crcs))
}

/// A row, with what is known of it.
struct Row {
    data: Vec<ExpectedBlock>,
    parity: ExpectedBlock,
}

impl Row {
    fn crcs(&self) -> impl Iterator<Item = u32> {
        self.data.iter().filter_map(|one| one.crc())
    }

    /// Returns what parity must be if the data is good.
    fn parity_of_data(&self) -> ExpectedBlock {
        match self.crcs().count() == self.data.len() {
            true => ExpectedBlock::Crc(difference(self.crcs(), ZEROS_CRC) ^ ZEROS_CRC),
            false => ExpectedBlock::Unknown,
        }
    }

    /// Checks the data against parity that is not stale.
    fn check(&mut self, parity: WrittenBlock) {
        let mut unknown =
            (0..self.data.len()).filter(|at| self.data[*at] == ExpectedBlock::Unknown);
        match (unknown.next(), unknown.next()) {
            (Some(lost), None) => self.compute(lost, parity),
            (None, None) => self.find_stale(parity),
            _ => {}
        }
    }

    /// Computes what the single unknown block must be.
    fn compute(&mut self, lost: usize, parity: WrittenBlock) {
        let crc = difference(self.crcs(), parity.crc) ^ ZEROS_CRC;
        self.data[lost] = ExpectedBlock::Crc(crc);
        if parity.stripe_sum.is_some_and(|sum| sum != StripeSum::of(self.crcs())) {
            self.distrust_all();
        }
    }

    fn find_stale(&mut self, parity: WrittenBlock) {
        let Some(sum) = parity.stripe_sum else { return };
        let difference = difference(self.crcs(), parity.crc);
        let found = StripeSum::of(self.crcs());
        if difference == 0 && found == sum {
            return;
        }
        let stale = (0..)
            .zip(&mut self.data)
            .find(|(at, _)| difference != 0 && found.differs_by(sum, difference, *at));
        match stale {
            Some((_, stale)) => {
                let right = stale.crc().map(|crc| crc ^ difference);
                *stale = right.into();
            }
            None => self.distrust_all(),
        }
    }

    fn distrust_all(&mut self) {
        self.data.fill(ExpectedBlock::Untrusted);
        self.parity = ExpectedBlock::Untrusted;
    }
}

#[cfg(test)]
mod tests {
    use strewn_array::crc32c;

    use super::*;
    use crate::device::BLOCK_BYTES;

    const RECORD: u64 = 7;

    fn block(number: u8, version: u8) -> Vec<u8> {
        (0..BLOCK_BYTES).map(|at| number ^ version.wrapping_mul(at as u8)).collect()
    }

    fn written(bytes: &[u8], redo: u64) -> WrittenBlock {
        WrittenBlock { crc: crc32c(bytes), redo, stripe_sum: None }
    }

    fn parity_of(data: &[Vec<u8>], redo: u64) -> WrittenBlock {
        let mut sum = vec![0; BLOCK_BYTES];
        for block in data {
            sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
        }
        let stripe_sum = Some(StripeSum::of(data.iter().map(|block| crc32c(block))));
        WrittenBlock { stripe_sum, ..written(&sum, redo) }
    }

    /// A stripe of `width` data blocks, one of which is then written once more.
    struct Stripe {
        before: Vec<Vec<u8>>,
        after: Vec<Vec<u8>>,
        changed: usize,
    }

    impl Stripe {
        fn new(width: usize, changed: usize) -> Self {
            let before: Vec<Vec<u8>> = (0..width).map(|at| block(at as u8, 1)).collect();
            let mut after = before.clone();
            after[changed] = block(changed as u8, 2);
            Self { before, after, changed }
        }

        fn data(&self) -> Vec<Option<WrittenBlock>> {
            let redo = |at| if at == self.changed { RECORD } else { RECORD - 1 };
            self.after
                .iter()
                .enumerate()
                .map(|(at, bytes)| Some(written(bytes, redo(at))))
                .collect()
        }

        fn parity(&self) -> Option<WrittenBlock> {
            Some(parity_of(&self.after, RECORD))
        }

        fn right(&self) -> Vec<ExpectedBlock> {
            let parity = self.parity().map(|parity| parity.crc);
            let data = self.after.iter().map(|bytes| Some(crc32c(bytes)));
            data.chain([parity]).map(ExpectedBlock::from).collect()
        }
    }

    #[test]
    fn zeros_have_the_crc_of_zeros() {
        assert_eq!(crc32c(&[0; BLOCK_BYTES]), ZEROS_CRC);
    }

    #[test]
    fn what_is_as_it_was_written_is_right() {
        let stripe = Stripe::new(4, 2);
        assert_eq!(cross_check(&stripe.data(), stripe.parity()), stripe.right());
        assert_eq!(cross_check(&stripe.data(), None), stripe.right());
    }

    #[test]
    fn a_block_that_lacks_its_last_write_is_told_whichever_it_is() {
        for width in [1, 2, 4, 63] {
            for changed in 0..width {
                let stripe = Stripe::new(width, changed);
                let mut data = stripe.data();
                data[changed] = Some(written(&stripe.before[changed], RECORD - 1));
                let row = cross_check(&data, stripe.parity());
                assert_eq!(row, stripe.right(), "{changed} of {width}");
                data[changed] = WrittenBlock::of(&BlockState::NeverWritten);
                assert_eq!(cross_check(&data, stripe.parity()), stripe.right());
            }
        }
    }

    #[test]
    fn parity_that_lacks_its_last_write_is_told() {
        let stripe = Stripe::new(5, 3);
        let stale = [
            Some(parity_of(&stripe.before, RECORD - 1)),
            WrittenBlock::of(&BlockState::NeverWritten),
        ];
        for parity in stale {
            assert_eq!(cross_check(&stripe.data(), parity), stripe.right());
            // Nothing can be computed from untrusted blocks.
            let mut data = stripe.data();
            data[0] = None;
            assert_eq!(cross_check(&data, parity).last(), Some(&ExpectedBlock::Untrusted));
        }
    }

    #[test]
    fn a_lost_block_is_known_and_a_stale_one_beside_it_told() {
        let stripe = Stripe::new(4, 1);
        let mut data = stripe.data();
        data[3] = None;
        assert_eq!(cross_check(&data, stripe.parity()), stripe.right());
        data[1] = Some(written(&stripe.before[1], RECORD - 1));
        assert_eq!(cross_check(&data, stripe.parity()), [ExpectedBlock::Untrusted; 5]);
    }

    #[test]
    fn where_two_are_stale_nothing_is_believed() {
        let stripe = Stripe::new(4, 1);
        let mut data = stripe.data();
        data[0] = Some(written(&block(9, 9), 0));
        data[2] = Some(written(&block(8, 8), 0));
        assert_eq!(cross_check(&data, stripe.parity()), [ExpectedBlock::Untrusted; 5]);
    }

    #[test]
    fn the_sum_follows_a_block_that_parity_alone_has() {
        let stripe = Stripe::new(4, 1);
        let right = stripe.right();
        let (data, [ExpectedBlock::Crc(parity)]) = right.split_at(4) else { panic!("{right:?}") };
        let mut data = data.to_vec();
        let sum = stripe.parity().and_then(|parity| parity.stripe_sum);
        assert_eq!(sum_of(&mut data, *parity, |_| false), sum);
        data[1] = ExpectedBlock::Crc(1);
        assert_eq!(sum_of(&mut data, *parity, |_| false), None);
        assert_eq!(sum_of(&mut data, *parity, |at| at == 1), sum);
        assert_eq!(data, right[..4]);
        data[2] = ExpectedBlock::Unknown;
        assert_eq!(sum_of(&mut data, *parity, |_| false), sum);
        assert_eq!(data, right[..4]);
        data[2] = ExpectedBlock::Unknown;
        assert_eq!(sum_of(&mut data, *parity, |at| at == 1), None);
    }
}
