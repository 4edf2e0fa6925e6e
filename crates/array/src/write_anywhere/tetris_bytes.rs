//! The bytes that a tetris reads and writes, and the parity computed from them.

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

/// How the parity of a partial stripe is updated.
pub(super) struct Update {
    plan: StripePlan,
    /// Blocks that are gone for good. Parity counts them as zeros; their checksums expose what is computed from it.
    gone: MemberSet,
    /// Those of them that are written as zeros, to agree with parity.
    pub(super) zeroed: MemberSet,
}

impl Update {
    pub(super) fn read(&self) -> MemberSet {
        self.plan.read.difference(self.gone)
    }
}

/// The data that a tetris has read.
pub(super) struct StripeReads<P> {
    /// By spindle and stripe of the tetris.
    blocks: BTreeMap<(u16, u32), P>,
    /// By stripe of the tetris, for partial stripes.
    pub(super) updates: BTreeMap<u32, Update>,
}

impl<P> Default for StripeReads<P> {
    fn default() -> Self {
        Self { blocks: BTreeMap::new(), updates: BTreeMap::new() }
    }
}

impl<P: Payload> StripeReads<P> {
    /// A read's spindle and stripe of the tetris, as its tag has them instead of a key.
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

/// The blocks that a tetris writes, by place; empty in a simulation.
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

    /// The stripes of the tetris whose block on `spindle` is not written.
    pub(super) fn left_out(&self, spindle: SpindleIndex) -> u64 {
        self.left_out.get(&spindle).copied().unwrap_or(0)
    }

    /// Takes out the payload of a run.
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

/// The codec for a group's stripes of 4 KiB blocks.
pub(super) fn codec(group: &ParityGroup) -> StripeCodec {
    StripeCodec::for_shape(group.stripe_shape(), BLOCK_BYTES)
        .expect("a group whose parity cannot be computed cannot be made")
}

impl<P: Payload> WriteAnywhere<P> {
    /// Plans an update of the blocks on `changed` in a stripe whose blocks on `lost` are lost with their spindles, and
    /// whose blocks on `bad` can be written but not read.
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
            // Failures that exceed parity have ended the run.
            let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
            return Update { plan, gone: none, zeroed: none };
        }
        let unchanged = shape.data().difference(changed);
        let unreadable = lost.union(bad);
        if unchanged.intersection(unreadable).is_empty()
            && let Ok(plan) = shape.plan_update_by(UpdateMethod::Recalculation, changed, lost)
        {
            // The plan needs no unreadable block, and makes all parity right again.
            return Update { plan, gone: none, zeroed: none };
        }
        if let Ok(plan) = shape.plan_update(changed, unreadable) {
            // Unreadable parity that cannot be computed stays bad.
            return Update { plan, gone: none, zeroed: none };
        }
        let plan = shape
            .plan_update_by(UpdateMethod::Recalculation, changed, none)
            .expect("nothing is taken for lost");
        Update { plan, gone: unreadable, zeroed: none }
    }

    /// Plans the update of a stripe in which no other block is in use. Power loss may have left it with any contents,
    /// and with parity that does not agree: the plan makes all of it agree.
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

    /// Whether a block of `stripe` outside `changed` is in use. Used only with bytes.
    pub(super) fn is_used_beside(&self, stripe: u64, changed: SpindleSet) -> bool {
        let map = self.aggregate.free_map(strewn_alloc::GroupIndex(0));
        let (row, bit) = (stripe / ROW_STRIPES, stripe % ROW_STRIPES);
        (0..self.group().data_spindles()).map(SpindleIndex).any(|spindle| {
            !changed.contains(spindle) && map.free_word(spindle, row) >> bit & 1 == 0
        })
    }

    /// Whether a tetris that writes `written` of each data spindle leaves other blocks in use in its stripes. Its
    /// writes must then be atomic, or a torn write would leave those blocks without parity. Used only with bytes.
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
