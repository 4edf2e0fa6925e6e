//! The write plan of a consistency point: tetris by tetris, spindle by spindle, stripe by stripe.

use strewn_raid::{Dbn, ParityGroup, ROW_STRIPES, SpindleIndex, SpindleSet, StripeUpdate};

use crate::group_index::GroupIndex;
use crate::mask::{bits, runs};

/// Blocks to write together: up to 64 consecutive stripes of a parity group, with the blocks written on each spindle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tetris<T> {
    /// The group to write to.
    pub group: GroupIndex,
    /// The stripe (and DBN) of bit 0 of every mask.
    pub first_stripe: u64,
    /// A mask per data spindle; a bit is set for each stripe whose block on that spindle is written.
    pub written: Vec<u64>,
    /// The contents of the blocks, as named by the caller: by spindle, then by ascending DBN.
    pub contents: Vec<T>,
}

/// Consecutive blocks on one spindle: one write command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'a, T> {
    /// The spindle.
    pub spindle: SpindleIndex,
    /// The first block.
    pub first: Dbn,
    /// The contents of each block.
    pub contents: &'a [T],
}

/// The update of one stripe of a tetris.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StripeWrite {
    /// The stripe (and DBN).
    pub stripe: u64,
    /// How parity is updated: full stripe, or the cheaper of subtraction and recalculation, with its reads and writes.
    pub update: StripeUpdate,
}

impl<T> Tetris<T> {
    /// The number of blocks written.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.written.iter().map(|mask| mask.count_ones()).sum()
    }

    /// A bit for each stripe with at least one block written.
    #[must_use]
    pub fn stripes_touched(&self) -> u64 {
        self.written.iter().fold(0, |any, mask| any | mask)
    }

    /// A bit for each stripe in which every data block is written.
    #[must_use]
    pub fn stripes_full(&self) -> u64 {
        self.written.iter().fold(u64::MAX, |all, mask| all & mask)
    }

    /// The data spindles that are written in stripe `bit`.
    #[must_use]
    pub fn changed_in(&self, bit: u32) -> SpindleSet {
        let mut changed = 0;
        for (spindle, mask) in self.written.iter().enumerate() {
            changed |= (mask >> bit & 1) << spindle;
        }
        SpindleSet(changed)
    }

    /// The write commands: the runs of each data spindle, by ascending DBN.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_, T>> {
        let mut from = 0;
        self.written.iter().enumerate().flat_map(move |(spindle, mask)| {
            let contents = &self.contents[from..][..mask.count_ones() as usize];
            from += contents.len();
            let mut given = 0;
            runs(*mask).map(move |(bit, blocks)| {
                let run = &contents[given..][..blocks as usize];
                given += run.len();
                Run {
                    spindle: SpindleIndex(spindle as u16),
                    first: Dbn(self.first_stripe + u64::from(bit)),
                    contents: run,
                }
            })
        })
    }

    /// The stripes written, each with the cheapest update of its parity. `group` is the parity group of
    /// [`group`](Self::group).
    pub fn stripes(&self, group: &ParityGroup) -> impl Iterator<Item = StripeWrite> {
        bits(self.stripes_touched()).map(|bit| StripeWrite {
            stripe: self.first_stripe + u64::from(bit),
            update: group.plan_stripe(self.changed_in(bit)),
        })
    }
}

/// A tetris being filled.
#[derive(Debug, Clone)]
pub(crate) struct OpenTetris<T> {
    pub(crate) tetris: Tetris<T>,
    /// The first position (spindle * 64 + stripe) after the blocks added, while they arrive in ascending order.
    end: u16,
    /// The position of each of the contents, once one has arrived out of order.
    positions: Vec<u16>,
}

impl<T: Copy> OpenTetris<T> {
    pub(crate) fn new(group: GroupIndex, row: u64, spindles: u16) -> Self {
        let tetris = Tetris {
            group,
            first_stripe: row * ROW_STRIPES,
            written: vec![0; usize::from(spindles)],
            contents: Vec::new(),
        };
        Self { tetris, end: 0, positions: Vec::new() }
    }

    pub(crate) fn row(&self) -> u64 {
        self.tetris.first_stripe / ROW_STRIPES
    }

    /// Adds the blocks of `mask` on `spindle`, with `contents` by ascending DBN.
    #[inline]
    pub(crate) fn add(&mut self, spindle: SpindleIndex, mask: u64, contents: &[T]) {
        let first = position(spindle, mask.trailing_zeros());
        if first < self.end && self.positions.is_empty() {
            // Everything so far is in order.
            let written = self.tetris.written.iter().enumerate();
            self.positions.extend(written.flat_map(|(spindle, mask)| {
                bits(*mask).map(move |bit| position(SpindleIndex(spindle as u16), bit))
            }));
        }
        if first < self.end {
            self.end = u16::MAX;
            self.positions.extend(bits(mask).map(|bit| position(spindle, bit)));
        } else {
            self.end = position(spindle, u64::BITS - mask.leading_zeros());
        }
        self.tetris.written[spindle.index()] |= mask;
        self.tetris.contents.extend_from_slice(contents);
    }

    /// Whether the block of `spindle` in stripe `bit` is in the tetris.
    pub(crate) fn holds(&self, spindle: SpindleIndex, bit: u64) -> bool {
        self.tetris.written[spindle.index()] >> bit & 1 == 1
    }

    pub(crate) fn close(mut self) -> Tetris<T> {
        if !self.positions.is_empty() {
            let mut order: Vec<u16> = (0..self.positions.len() as u16).collect();
            order.sort_unstable_by_key(|index| self.positions[usize::from(*index)]);
            let contents = order.iter().map(|index| self.tetris.contents[usize::from(*index)]);
            self.tetris.contents = contents.collect();
        }
        self.tetris
    }
}

/// The position of a block in a tetris, numbered spindle by spindle.
fn position(spindle: SpindleIndex, stripe: u32) -> u16 {
    spindle.0 * ROW_STRIPES as u16 + stripe as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use strewn_raid::{Parity, UpdateMethod};

    #[test]
    fn contents_follow_their_blocks_whatever_the_order() {
        let mut open = OpenTetris::new(GroupIndex(0), 2, 3);
        open.add(SpindleIndex(2), 0b1, &["c0"]);
        open.add(SpindleIndex(0), 0b110, &["a1", "a2"]);
        open.add(SpindleIndex(1), 0b10, &["b1"]);
        open.add(SpindleIndex(0), 0b1, &["a0"]);
        open.add(SpindleIndex(2), 0b10, &["c1"]);
        let tetris = open.close();
        let runs: Vec<_> = tetris.runs().collect();
        assert_eq!(
            runs,
            [
                Run { spindle: SpindleIndex(0), first: Dbn(128), contents: &["a0", "a1", "a2"] },
                Run { spindle: SpindleIndex(1), first: Dbn(129), contents: &["b1"] },
                Run { spindle: SpindleIndex(2), first: Dbn(128), contents: &["c0", "c1"] },
            ]
        );
        let group = ParityGroup::new(Parity::Raid4, 3, 1_000).unwrap();
        let methods: Vec<_> =
            tetris.stripes(&group).map(|write| (write.stripe, write.update.method)).collect();
        assert_eq!(
            methods,
            [
                (128, UpdateMethod::Recalculation),
                (129, UpdateMethod::FullStripe),
                (130, UpdateMethod::Recalculation)
            ]
        );
    }
}
