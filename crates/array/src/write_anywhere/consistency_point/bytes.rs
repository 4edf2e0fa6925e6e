//! The bytes that a tetris reads and writes, and the parity computed from them.

use std::collections::BTreeMap;

use strewn_alloc::{GroupIndex, Tetris, bits};
use strewn_base::ROW_STRIPES;
use strewn_base::state::SavedValue;
use strewn_raid::{
    Member, MemberSet, ParityGroup, SpindleIndex, SpindleSet, StripeBytes, StripeCodec, StripePlan,
    StripeShape, UpdateMethod,
};

use crate::payload::{BlockContents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::super::space::checksums::Fit;
use super::super::space::{Run, Space};
use super::super::tag::TagFields;

/// How the parity of a partial stripe is updated.
#[derive(SavedValue)]
pub(super) struct Update {
    plan: StripePlan,
    /// Blocks that are gone for good. Parity counts them as zeros; their checksums expose what is computed from it.
    gone: MemberSet,
    /// Those of them that are written as zeros, to agree with parity.
    pub(super) zeroed: MemberSet,
    /// Unreadable blocks that are computed from all others, and compared with their checksums, before parity is. A free
    /// block may be an old one that its drive reported as overwritten, and nothing tells: parity that was brought up to
    /// date with it would no longer give the unreadable ones.
    compared: MemberSet,
}

impl Update {
    fn by(plan: StripePlan) -> Self {
        let none = MemberSet::EMPTY;
        Self { plan, gone: none, zeroed: none, compared: none }
    }

    pub(super) fn read(&self, shape: StripeShape) -> MemberSet {
        match self.compared.is_empty() {
            true => self.plan.read.difference(self.gone),
            false => shape.members().difference(self.compared),
        }
    }
}

/// The data that a tetris has read.
#[derive(SavedValue)]
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

    /// Adds all parity blocks of a stripe.
    fn put_parity(&mut self, group: &ParityGroup, dbn: u64, parity: Vec<Vec<u8>>) {
        for (bytes, spindle) in parity.into_iter().zip(group.data_spindles()..) {
            let place = (SpindleIndex(spindle), dbn);
            self.blocks.insert(place, (P::from_bytes(bytes), BlockContents::Parity));
        }
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
            let parity = encoded(&codec, group, &data);
            self.put_parity(group, dbn, parity);
        }
        let shape = group.stripe_shape();
        let mut stripe_bytes =
            StripeBytes::new(shape, BLOCK_BYTES).expect("the codec has been made");
        for (&stripe, update) in &old.updates {
            let dbn = first_stripe + u64::from(stripe);
            if !update.compared.is_empty() {
                let data: Vec<&P> = (0..group.data_spindles())
                    .filter_map(|spindle| match self.blocks.get(&(SpindleIndex(spindle), dbn)) {
                        Some((new, _)) => Some(new),
                        None => old.blocks.get(&(spindle, stripe)),
                    })
                    .collect();
                let data: Vec<&[u8]> = data.into_iter().map(Payload::bytes).collect();
                let parity = encoded(&codec, group, &data);
                self.put_parity(group, dbn, parity);
                continue;
            }
            stripe_bytes.clear();
            // Member i is on spindle i.
            for member in update.read(shape).iter() {
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

/// The parity blocks of a stripe.
fn encoded(codec: &StripeCodec, group: &ParityGroup, data: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut parity = vec![vec![0; BLOCK_BYTES]; group.parity().spindles().into()];
    codec.encode(data, &mut parity).expect("blocks of one size, as many as data spindles");
    parity
}

/// The codec for a group's stripes of 4 KiB blocks.
pub(super) fn codec(group: &ParityGroup) -> StripeCodec {
    StripeCodec::for_shape(group.stripe_shape(), BLOCK_BYTES)
        .expect("a group whose parity cannot be computed cannot be made")
}

/// Plans an update of the blocks on `changed` in a stripe of `group` whose blocks on `lost` are lost with their
/// spindles, and whose blocks on `bad` can be written but not read.
pub(super) fn plan_of_update(
    group: &ParityGroup,
    changed: SpindleSet,
    lost: SpindleSet,
    bad: SpindleSet,
    is_durable: bool,
) -> Update {
    let shape = group.stripe_shape();
    let [changed, lost, bad] = [changed, lost, bad].map(|set| group.members_on(set));
    let none = MemberSet::EMPTY;
    // One parity covers one fault, which is that of a free block.
    let may_be_old = is_durable && shape.parity_blocks() > 1;
    if bad.is_empty() && !may_be_old {
        let plan = shape.plan_update(changed, lost);
        // Failures that exceed parity have ended the run.
        return Update::by(plan.unwrap_or_else(|loss| unreachable!("{loss}")));
    }
    let unchanged = shape.data().difference(changed);
    let unreadable = lost.union(bad);
    if unchanged.intersection(unreadable).is_empty()
        && let Ok(plan) = shape.plan_update_by(UpdateMethod::Recalculation, changed, lost)
    {
        // The plan needs no unreadable block, nor what a block held before, and makes all parity right again.
        return Update::by(plan);
    }
    if let Ok(plan) = shape.plan_update(changed, unreadable) {
        // Unreadable parity that cannot be computed stays bad.
        let compared = if may_be_old { unreadable } else { none };
        return Update { compared, ..Update::by(plan) };
    }
    let plan = shape
        .plan_update_by(UpdateMethod::Recalculation, changed, none)
        .expect("nothing is taken for lost");
    Update { gone: unreadable, ..Update::by(plan) }
}

/// Computes the blocks of a tetris that are compared with their checksums, and keeps them with what was read. Where
/// none fit, parity is updated as if nothing was to be compared.
pub(super) fn compute_unreadable<P: Payload>(
    space: &Space,
    (group, first_stripe): (GroupIndex, u64),
    old: &mut StripeReads<P>,
) {
    let shape = space.group(group).stripe_shape();
    let mut stripe_bytes = StripeBytes::new(shape, BLOCK_BYTES).expect("the codec has been made");
    let StripeReads { blocks, updates } = old;
    for (&stripe, update) in updates.iter_mut().filter(|(_, one)| !one.compared.is_empty()) {
        let dbn = first_stripe + u64::from(stripe);
        let unchanged = shape.data().difference(update.plan.changed);
        let wanted = update.compared.intersection(unchanged);
        // Member i is on spindle i.
        let mut fitting = |without: MemberSet| {
            let plan = shape.plan_read(wanted, update.compared.union(without)).ok()?;
            let block_of = |member: Member| Some(blocks.get(&(member.0.into(), stripe))?.bytes());
            stripe_bytes.compute(&plan, block_of).ok()?;
            let mut computed = Vec::new();
            for member in wanted.iter() {
                let bytes = stripe_bytes.block(member)?;
                let spindle = SpindleIndex(member.0.into());
                let place = (spindle, dbn);
                if space.fit(group, place, bytes) == Fit::Wrong {
                    return None;
                }
                computed.push((member, bytes.to_vec()));
            }
            Some(computed)
        };
        let others = shape.members().difference(update.compared);
        let each = others.iter().map(MemberSet::single);
        let found = [MemberSet::EMPTY].into_iter().chain(each).find_map(&mut fitting);
        match found {
            Some(computed) => blocks.extend(
                computed
                    .into_iter()
                    .map(|(member, bytes)| ((u16::from(member.0), stripe), P::from_bytes(bytes))),
            ),
            None => update.compared = MemberSet::EMPTY,
        }
    }
}

/// Plans the update of a stripe of `group` in which no other block is in use. Power loss may have left it with any
/// contents, and with parity that does not agree: the plan makes all of it agree.
pub(super) fn plan_of_beginning(
    group: &ParityGroup,
    changed: SpindleSet,
    lost: SpindleSet,
    bad: SpindleSet,
) -> Update {
    let shape = group.stripe_shape();
    let [changed, lost, bad] = [changed, lost, bad].map(|set| group.members_on(set));
    let plan = shape
        .plan_update_by(UpdateMethod::Recalculation, changed, MemberSet::EMPTY)
        .expect("nothing is taken for lost");
    let unchanged = shape.data().difference(changed);
    let gone = lost.union(bad);
    let zeroed = bad.difference(lost).intersection(unchanged);
    Update { gone, zeroed, ..Update::by(plan) }
}

/// Whether a block of `stripe` outside `changed` is in use. Used only in the durable format.
pub(super) fn is_used_beside(
    space: &Space,
    group: GroupIndex,
    stripe: u64,
    changed: SpindleSet,
) -> bool {
    let map = space.aggregate.free_map(group);
    let (row, bit) = (stripe / ROW_STRIPES, stripe % ROW_STRIPES);
    (0..map.group().data_spindles())
        .map(SpindleIndex)
        .any(|spindle| !changed.contains(spindle) && map.free_word(spindle, row) >> bit & 1 == 0)
}

/// Whether a tetris that writes `written` of each data spindle leaves other blocks in use in its stripes. Its
/// writes must then be atomic, or a torn write would leave those blocks without parity: in the durable format.
pub(super) fn leaves_blocks_beside(
    space: &Space,
    group: GroupIndex,
    first_stripe: u64,
    touched: u64,
    written: &[u64],
) -> bool {
    space.is_durable()
        && bits(touched).any(|stripe| {
            let spindles = (0u16..).zip(written).filter(|(_, of)| **of >> stripe & 1 == 1);
            let changed: SpindleSet = spindles.map(|(one, _)| SpindleIndex(one)).collect();
            is_used_beside(space, group, first_stripe + u64::from(stripe), changed)
        })
}
