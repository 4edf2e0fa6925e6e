//! The write plan of a consistency point: tetris by tetris, spindle by spindle, stripe by stripe.

use strewn_base::state::SavedValue;
use strewn_raid::{Dbn, ParityGroup, ROW_STRIPES, SpindleIndex, SpindleSet, StripeUpdate};

use crate::group_index::GroupIndex;
use crate::mask::{bits, runs};

/// Blocks to write together: up to 64 consecutive stripes of a parity group, with the blocks written on each spindle.
#[derive(Debug, Clone, PartialEq, Eq, SavedValue)]
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
    /// Data spindle within the group, counted from 0.
    pub spindle: SpindleIndex,
    /// First block of the run on its spindle.
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

    /// The contents of the block written at `dbn` of `spindle`; `None` if the tetris does not write it.
    #[must_use]
    pub fn contents_at(&self, spindle: SpindleIndex, dbn: Dbn) -> Option<&T> {
        let bit = dbn.0.checked_sub(self.first_stripe).filter(|bit| *bit < ROW_STRIPES)?;
        let mask = self.written.get(spindle.index())?;
        let before = self.written[..spindle.index()].iter().map(|mask| mask.count_ones());
        let below = mask & !(u64::MAX << bit);
        let index = before.sum::<u32>() + below.count_ones();
        (mask >> bit & 1 == 1).then(|| &self.contents[index as usize])
    }

    /// The stripes written, each with the cheapest update of its parity. `group` is the parity group of
    /// [`group`](Self::group). [`StripeUpdate::to_plan`] turns an update into the plan that
    /// [`StripeBytes`](strewn_raid::StripeBytes) carries out.
    ///
    /// # Panics
    /// If `group` has another number of data spindles, or ends before the tetris.
    pub fn stripes(&self, group: &ParityGroup) -> impl Iterator<Item = StripeWrite> {
        let touched = self.stripes_touched();
        let end = self.first_stripe + u64::from(u64::BITS - touched.leading_zeros());
        let data_spindles = group.data_spindles();
        assert!(
            self.written.len() == usize::from(data_spindles) && end <= group.stripes(),
            "a tetris on {} spindles up to stripe {end}, in a group of {data_spindles} with {} stripes",
            self.written.len(),
            group.stripes()
        );
        bits(touched).map(|bit| StripeWrite {
            stripe: self.first_stripe + u64::from(bit),
            update: group.plan_stripe(self.changed_in(bit)),
        })
    }
}

/// A tetris being filled.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct OpenTetris<T> {
    pub(crate) tetris: Tetris<T>,
    /// What was added, in the order of its contents.
    pieces: Vec<Piece>,
}

/// Blocks added to one spindle, by ascending DBN.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Piece {
    spindle: SpindleIndex,
    mask: u64,
}

impl<T: Copy> OpenTetris<T> {
    /// An empty one, with memory for `blocks`.
    pub(crate) fn with_capacity(group: GroupIndex, row: u64, spindles: u16, blocks: usize) -> Self {
        let tetris = Tetris {
            group,
            first_stripe: row * ROW_STRIPES,
            written: vec![0; usize::from(spindles)],
            contents: Vec::with_capacity(blocks),
        };
        Self { tetris, pieces: Vec::with_capacity(usize::from(spindles)) }
    }

    pub(crate) fn row(&self) -> u64 {
        self.tetris.first_stripe / ROW_STRIPES
    }

    /// Adds the blocks of `mask` on `spindle`, with `contents` by ascending DBN.
    #[inline(always)]
    pub(crate) fn add(&mut self, spindle: SpindleIndex, mask: u64, contents: &[T]) {
        self.add_mask(spindle, mask);
        self.tetris.contents.extend_from_slice(contents);
    }

    /// The same, for a caller that then adds the contents itself.
    #[inline(always)]
    pub(crate) fn add_mask(&mut self, spindle: SpindleIndex, mask: u64) {
        let lowest = mask & mask.wrapping_neg();
        match self.pieces.last_mut() {
            Some(last) if last.spindle == spindle && last.mask < lowest => last.mask |= mask,
            _ => self.pieces.push(Piece { spindle, mask }),
        }
        self.tetris.written[spindle.index()] |= mask;
    }

    /// Whether the block of `spindle` in stripe `bit` is in the tetris.
    pub(crate) fn holds(&self, spindle: SpindleIndex, bit: u64) -> bool {
        self.tetris.written[spindle.index()] >> bit & 1 == 1
    }

    pub(crate) fn close(mut self) -> Tetris<T> {
        // Two pieces of one spindle in turn are not in order, or they would be one.
        let in_order =
            |pieces: &[Piece]| pieces.is_sorted_by(|one, next| one.spindle < next.spindle);
        // A consistency point begins on any spindle, so that most tetrises do, and go on with spindle 0 after the last.
        let descends = |two: &[Piece]| two[0].spindle >= two[1].spindle;
        let Some(last) = self.pieces.windows(2).position(descends) else { return self.tetris };
        let (first, then) = self.pieces.split_at(last + 1);
        if in_order(then) && then.last().map(|piece| piece.spindle) < Some(first[0].spindle) {
            let blocks: u32 = first.iter().map(|piece| piece.mask.count_ones()).sum();
            self.tetris.contents.rotate_left(blocks as usize);
        } else {
            self.tetris.contents = self.contents_in_order();
        }
        self.tetris
    }

    /// The contents by spindle and DBN: each piece goes straight to its place, without a sort.
    fn contents_in_order(&self) -> Vec<T> {
        let Tetris { written, contents, .. } = &self.tetris;
        let mut firsts = Vec::with_capacity(written.len());
        let mut blocks = 0;
        for mask in written {
            firsts.push(blocks);
            blocks += mask.count_ones() as usize;
        }
        assert_eq!(
            blocks,
            contents.len(),
            "a tetris with a block added twice, or without contents"
        );
        let mut ordered = contents.clone();
        let mut rest = &contents[..];
        for Piece { spindle, mask } in &self.pieces {
            let (first, written) = (firsts[spindle.index()], written[spindle.index()]);
            let mut place = |bit: u32, blocks: u32| {
                let below = written & !(u64::MAX << bit);
                let (run, others) = rest.split_at(blocks as usize);
                ordered[first + below.count_ones() as usize..][..run.len()].copy_from_slice(run);
                rest = others;
            };
            let (from, to) = (mask.trailing_zeros(), u64::BITS - mask.leading_zeros());
            if written << (u64::BITS - to) >> (u64::BITS - to + from) << from == *mask {
                place(from, mask.count_ones());
            } else {
                // Blocks added at another time lie between those of the piece.
                runs(*mask).for_each(|(bit, blocks)| place(bit, blocks));
            }
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strewn_raid::{Parity, UpdateMethod};

    #[test]
    fn contents_follow_their_blocks_whatever_the_order() {
        let mut open = OpenTetris::with_capacity(GroupIndex(0), 2, 3, 0);
        open.add(SpindleIndex(2), 0b1, &["c0"]);
        open.add(SpindleIndex(0), 0b110, &["a1", "a2"]);
        open.add(SpindleIndex(1), 0b10, &["b1"]);
        open.add(SpindleIndex(0), 0b1, &["a0"]);
        open.add(SpindleIndex(2), 0b1010, &["c1", "c3"]);
        open.add(SpindleIndex(2), 0b100, &["c2"]);
        let tetris = open.close();
        let runs: Vec<_> = tetris.runs().collect();
        assert_eq!(
            runs,
            [
                Run { spindle: SpindleIndex(0), first: Dbn(128), contents: &["a0", "a1", "a2"] },
                Run { spindle: SpindleIndex(1), first: Dbn(129), contents: &["b1"] },
                Run {
                    spindle: SpindleIndex(2),
                    first: Dbn(128),
                    contents: &["c0", "c1", "c2", "c3"]
                },
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
                (130, UpdateMethod::Recalculation),
                (131, UpdateMethod::Recalculation)
            ]
        );
    }
}
