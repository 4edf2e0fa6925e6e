//! What a tetris reads and writes, block by block, where there are bytes: its parity is computed here.

use std::collections::BTreeMap;

use strewn_alloc::{Tetris, bits};
use strewn_base::ROW_STRIPES;
use strewn_raid::{
    MemberSet, ParityGroup, SpindleIndex, SpindleSet, StripeBytes, StripeCodec, StripePlan,
    UpdateMethod,
};

use crate::payload::{BlockContents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::tag::TagFields;
use super::{Run, WriteAnywhere};

/// How the parity of a stripe that is written in part is brought up to date.
pub(super) struct Update {
    plan: StripePlan,
    /// Blocks that are gone for good: parity takes them for zeros. Whoever computes them from it finds out by their
    /// checksums.
    gone: MemberSet,
    /// Of them those that are written as zeros, so that they are what parity takes them for.
    pub(super) zeroed: MemberSet,
}

impl Update {
    pub(super) fn read(&self) -> MemberSet {
        self.plan.read.difference(self.gone)
    }
}

/// What the reads of a tetris have brought.
pub(super) struct StripeReads<P> {
    /// By spindle and stripe of the tetris.
    blocks: BTreeMap<(u16, u32), P>,
    /// By stripe of the tetris, for those that are written in part.
    pub(super) updates: BTreeMap<u32, Update>,
}

impl<P> Default for StripeReads<P> {
    fn default() -> Self {
        Self { blocks: BTreeMap::new(), updates: BTreeMap::new() }
    }
}

impl<P: Payload> StripeReads<P> {
    /// What a read's tag has in the place of a key: a spindle, and a stripe of the tetris.
    pub(super) fn name(spindle: usize, stripe: u32) -> u32 {
        (spindle as u32) << 6 | stripe
    }

    /// The spindle and the stripe of a read's tag.
    pub(super) fn named(fields: TagFields) -> (u16, u32) {
        ((fields.first_key >> 6) as u16, fields.first_key & 63)
    }

    pub(super) fn take(&mut self, fields: TagFields, payload: &P) {
        let (spindle, first) = Self::named(fields);
        for block in 0..fields.blocks {
            let one = payload.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
            self.blocks.insert((spindle, first + block), one);
        }
    }
}

/// What the blocks of a tetris hold, by place; empty in a simulation.
pub(super) struct TetrisPayloads<P> {
    blocks: BTreeMap<(SpindleIndex, u64), (P, BlockContents)>,
    /// Parity blocks that are not written, by spindle and stripe of the tetris.
    left_out: BTreeMap<SpindleIndex, u64>,
}

impl<P> Default for TetrisPayloads<P> {
    fn default() -> Self {
        Self { blocks: BTreeMap::new(), left_out: BTreeMap::new() }
    }
}

impl<P: Payload> TetrisPayloads<P> {
    pub(super) fn put(&mut self, place: Run, payload: P, holds: BlockContents) {
        self.blocks.insert((place.spindle, place.dbn), (payload, holds));
    }

    /// The stripes of the tetris whose block on `spindle` stays as it is.
    pub(super) fn left_out(&self, spindle: SpindleIndex) -> u64 {
        self.left_out.get(&spindle).copied().unwrap_or(0)
    }

    /// Takes what a run writes.
    pub(super) fn run(&mut self, run: Run) -> P {
        if !P::CARRIES_DATA {
            return P::default();
        }
        let nothing = || (P::from_bytes(vec![0; BLOCK_BYTES]), BlockContents::Nothing);
        let blocks = (run.dbn..run.dbn + u64::from(run.blocks)).map(|dbn| (run.spindle, dbn));
        P::of_blocks(
            blocks.map(|place| self.blocks.remove(&place).unwrap_or_else(nothing)).collect(),
        )
    }

    /// Computes the parity of every stripe that the tetris touches.
    pub(super) fn add_parity(
        &mut self,
        group: &ParityGroup,
        tetris: &Tetris<u32>,
        old: &StripeReads<P>,
    ) {
        let codec = codec(group);
        let first_stripe = tetris.first_stripe;
        for stripe in bits(tetris.stripes_full()) {
            let dbn = first_stripe + u64::from(stripe);
            let place = |spindle| (SpindleIndex(spindle), dbn);
            let data = (0..group.data_spindles()).map(|spindle| self.blocks.get(&place(spindle)));
            let Some(data) =
                data.map(|one| one.map(|one| one.0.bytes())).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let mut parity = vec![vec![0; BLOCK_BYTES]; group.parity().spindles().into()];
            codec.encode(&data, &mut parity).expect("blocks of one size, as many as data spindles");
            for (bytes, spindle) in parity.into_iter().zip(group.data_spindles()..) {
                self.blocks.insert(place(spindle), (P::from_bytes(bytes), BlockContents::Parity));
            }
        }
        let shape = group.stripe_shape();
        let mut stripe_bytes =
            StripeBytes::new(shape, BLOCK_BYTES).expect("the codec has been made");
        for (&stripe, update) in &old.updates {
            let dbn = first_stripe + u64::from(stripe);
            stripe_bytes.clear();
            // Member i is on spindle i.
            for member in update.read().iter() {
                if let Some(block) = old.blocks.get(&(member.0.into(), stripe)) {
                    stripe_bytes.old_contents(member).copy_from_slice(block.bytes());
                }
            }
            for member in update.plan.read.intersection(update.gone).iter() {
                stripe_bytes.old_contents(member).fill(0);
            }
            for member in update.plan.changed.iter() {
                if let Some((block, _)) = self.blocks.get(&(SpindleIndex(member.0.into()), dbn)) {
                    stripe_bytes.new_contents(member).copy_from_slice(block.bytes());
                }
            }
            stripe_bytes.carry_out(&update.plan).expect("all that was planned has been read");
            for member in shape.parity().iter() {
                let spindle = SpindleIndex(member.0.into());
                let computed = update.plan.write.contains(member);
                match stripe_bytes.block(member).filter(|_| computed) {
                    Some(bytes) => {
                        let payload = P::from_bytes(bytes.to_vec());
                        self.blocks.insert((spindle, dbn), (payload, BlockContents::Parity));
                    }
                    None => *self.left_out.entry(spindle).or_default() |= 1 << stripe,
                }
            }
        }
    }
}

/// What computes the parity of a group's stripes of 4 KiB blocks.
pub(super) fn codec(group: &ParityGroup) -> StripeCodec {
    StripeCodec::for_shape(group.stripe_shape(), BLOCK_BYTES)
        .expect("a group whose parity cannot be computed cannot be made")
}

impl<P: Payload> WriteAnywhere<P> {
    /// What it takes to change the blocks on `changed` of a stripe whose blocks on `lost` are lost with their spindles,
    /// and those on `bad` cannot be read, but written.
    pub(super) fn plan_of_update(
        &self,
        changed: SpindleSet,
        lost: SpindleSet,
        bad: SpindleSet,
    ) -> Update {
        let group = self.group();
        let shape = group.stripe_shape();
        let [changed, lost, bad] = [changed, lost, bad].map(|set| group.members_on(set));
        let none = MemberSet::EMPTY;
        if bad.is_empty() {
            let plan = shape.plan_update(changed, lost);
            // A loss that parity does not make good has ended the run.
            let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
            return Update { plan, gone: none, zeroed: none };
        }
        let unchanged = shape.data().difference(changed);
        let unreadable = lost.union(bad);
        if unchanged.intersection(unreadable).is_empty()
            && let Ok(plan) = shape.plan_update_by(UpdateMethod::Recalculation, changed, lost)
        {
            // Nothing that cannot be read is needed, and all parity becomes right again.
            return Update { plan, gone: none, zeroed: none };
        }
        if let Ok(plan) = shape.plan_update(changed, unreadable) {
            // Parity that cannot be read, nor computed without it, stays as bad as it is.
            return Update { plan, gone: none, zeroed: none };
        }
        let plan = shape
            .plan_update_by(UpdateMethod::Recalculation, changed, none)
            .expect("nothing is taken for lost");
        Update { plan, gone: unreadable, zeroed: none }
    }

    /// The same for a stripe of which nothing is in use but what is changed. A loss of power may have left anything in it, and
    /// its parity need not agree with it: all of it is made to agree.
    pub(super) fn plan_of_beginning(
        &self,
        changed: SpindleSet,
        lost: SpindleSet,
        bad: SpindleSet,
    ) -> Update {
        let group = self.group();
        let shape = group.stripe_shape();
        let [changed, lost, bad] = [changed, lost, bad].map(|set| group.members_on(set));
        let plan = shape
            .plan_update_by(UpdateMethod::Recalculation, changed, MemberSet::EMPTY)
            .expect("nothing is taken for lost");
        let unchanged = shape.data().difference(changed);
        let gone = lost.union(bad);
        Update { plan, gone, zeroed: bad.difference(lost).intersection(unchanged) }
    }

    /// Whether a block of `stripe` is in use that is not among `changed`. Of no interest without bytes.
    pub(super) fn is_used_beside(&self, stripe: u64, changed: SpindleSet) -> bool {
        let map = self.aggregate.free_map(strewn_alloc::GroupIndex(0));
        let (row, bit) = (stripe / ROW_STRIPES, stripe % ROW_STRIPES);
        (0..self.group().data_spindles()).map(SpindleIndex).any(|spindle| {
            !changed.contains(spindle) && map.free_word(spindle, row) >> bit & 1 == 0
        })
    }

    /// Whether a tetris that writes `written` of each data spindle leaves blocks in use in the stripes that it touches
    /// as they are: parity must never be caught between old and new then. Of no interest without bytes.
    pub(super) fn leaves_blocks_beside(
        &self,
        first_stripe: u64,
        touched: u64,
        written: &[u64],
    ) -> bool {
        P::CARRIES_DATA
            && bits(touched).any(|stripe| {
                let spindles = (0u16..).zip(written).filter(|(_, of)| **of >> stripe & 1 == 1);
                let changed: SpindleSet = spindles.map(|(one, _)| SpindleIndex(one)).collect();
                self.is_used_beside(first_stripe + u64::from(stripe), changed)
            })
    }
}
