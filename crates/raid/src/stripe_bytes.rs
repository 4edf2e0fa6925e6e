//! Carrying out plans on bytes.

use crate::codec::{BlockChange, StripeCodec};
use crate::codec_error::CodecError;
use crate::{Member, MemberSet, PlanStep, StripePlan, StripeShape};
use std::error::Error;
use std::fmt;

use strewn_base::memory::check_reservable;

/// Why a plan cannot be carried out. Nothing was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CarryOutError {
    /// The plan is for stripes of another shape.
    OtherShape {
        /// The shape that the plan is for.
        plan: StripeShape,
        /// The shape of the stripe.
        stripe: StripeShape,
    },
    /// Blocks that the plan needs are missing.
    MissingBlocks {
        /// Blocks that the plan reads or computes with, without old contents.
        not_read: MemberSet,
        /// Blocks that the plan changes, without new contents.
        not_given: MemberSet,
    },
}

impl fmt::Display for CarryOutError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherShape { plan, stripe } => {
                write!(formatter, "a plan for stripes of {plan} does not fit a stripe of {stripe}")
            }
            Self::MissingBlocks { not_read, not_given } => write!(
                formatter,
                "the plan cannot be carried out: blocks {not_read} were not read, and blocks \
                 {not_given} have no new contents"
            ),
        }
    }
}

impl Error for CarryOutError {}

/// The blocks of one stripe while a plan is carried out.
///
/// Supply the blocks that the plan reads and the new contents of those that change, carry the plan
/// out, then take the blocks that the plan writes or was made to read. The memory is reused from
/// stripe to stripe.
///
/// ```
/// use strewn_raid::{Member, MemberSet, StripeBytes, StripeCode, StripeShape};
///
/// let shape = StripeShape::new(StripeCode::RowDiagonal, 4)?;
/// let mut bytes = StripeBytes::new(shape, 4096)?;
///
/// // A full stripe reads nothing.
/// let plan = shape.plan_update(shape.data(), MemberSet::EMPTY)?;
/// for member in shape.data().iter() {
///     bytes.new_contents(member).fill(member.0 + 1);
/// }
/// bytes.carry_out(&plan)?;
/// let on_spindles: Vec<Vec<u8>> =
///     plan.write.iter().filter_map(|member| bytes.block(member)).map(Vec::from).collect();
///
/// // The spindle of data block 2 is lost, and the block is wanted.
/// let wanted = MemberSet::single(Member(2));
/// let plan = shape.plan_read(wanted, wanted)?;
/// bytes.clear();
/// for member in plan.read.iter() {
///     bytes.old_contents(member).copy_from_slice(&on_spindles[member.index()]);
/// }
/// bytes.carry_out(&plan)?;
/// assert_eq!(bytes.block(Member(2)), Some(&[3; 4096][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StripeBytes {
    shape: StripeShape,
    codec: StripeCodec,
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    old_held: MemberSet,
    new_held: MemberSet,
}

impl StripeBytes {
    /// Buffers for the old and new blocks of a stripe, of `block_bytes` each.
    ///
    /// # Errors
    ///
    /// [`CodecError`] as [`StripeCodec::new`], or if the system does not provide the memory.
    pub fn new(shape: StripeShape, block_bytes: usize) -> Result<Self, CodecError> {
        let codec = StripeCodec::for_shape(shape, block_bytes)?;
        let bytes = (block_bytes as u64).saturating_mul(2 * u64::from(shape.blocks()));
        check_reservable(bytes).map_err(CodecError::OutOfMemory)?;
        let blocks = vec![vec![0; block_bytes]; usize::from(shape.blocks())];
        Ok(Self {
            shape,
            codec,
            old: blocks.clone(),
            new: blocks,
            old_held: MemberSet::EMPTY,
            new_held: MemberSet::EMPTY,
        })
    }

    /// The codec that computes parity.
    pub fn codec(&self) -> &StripeCodec {
        &self.codec
    }

    /// The shape of the stripe.
    pub fn shape(&self) -> StripeShape {
        self.shape
    }

    /// Forgets all blocks, for another stripe.
    pub fn clear(&mut self) {
        self.old_held = MemberSet::EMPTY;
        self.new_held = MemberSet::EMPTY;
    }

    /// The buffer for a block as read from its spindle. The block counts as read from now on.
    ///
    /// # Panics
    ///
    /// If the stripe has no such member.
    pub fn old_contents(&mut self, member: Member) -> &mut [u8] {
        self.old_held = self.old_held.with(member);
        &mut self.old[member.index()]
    }

    /// The buffer for the new contents of a data block. They count as given from now on.
    ///
    /// # Panics
    ///
    /// If the stripe has no such member.
    pub fn new_contents(&mut self, member: Member) -> &mut [u8] {
        self.new_held = self.new_held.with(member);
        &mut self.new[member.index()]
    }

    /// The contents of a block: its new contents if it has any, otherwise as read or reconstructed;
    /// `None` if unknown.
    pub fn block(&self, member: Member) -> Option<&[u8]> {
        if self.new_held.contains(member) {
            Some(&self.new[member.index()])
        } else {
            self.old_held.contains(member).then(|| self.old[member.index()].as_slice())
        }
    }

    /// Carries out the computations of a plan. Then [`block`](Self::block) returns every block that
    /// the plan writes, and every block that it was made to read.
    ///
    /// # Errors
    ///
    /// [`CarryOutError`] if the plan is for another shape, or if a block that it reads or computes
    /// with, or the new contents of one that it changes, are missing. Then nothing is computed.
    pub fn carry_out(&mut self, plan: &StripePlan) -> Result<(), CarryOutError> {
        self.check_shape(plan)?;
        let not_read = self.old_contents_for(plan).difference(self.old_held);
        let not_given = plan.changed.difference(self.new_held);
        if !(not_read.is_empty() && not_given.is_empty()) {
            return Err(CarryOutError::MissingBlocks { not_read, not_given });
        }
        for step in plan.steps() {
            match step {
                PlanStep::Reconstruct { lost, from } => self.reconstruct(lost, from),
                PlanStep::Encode { parity } => self.encode(plan.changed, parity),
                PlanStep::Subtract { changed, parity } => self.subtract(changed, parity),
            }
        }
        Ok(())
    }

    /// Carries out a plan that changes nothing, on blocks that `read` returns. Then
    /// [`block`](Self::block) returns the blocks that the plan was made to read.
    ///
    /// # Errors
    ///
    /// [`CarryOutError`] if the plan is for another shape, or if `read` lacks a block that it reads.
    ///
    /// # Panics
    ///
    /// If a block of `read` is of another size.
    pub fn compute<'a>(
        &mut self,
        plan: &StripePlan,
        read: impl Fn(Member) -> Option<&'a [u8]>,
    ) -> Result<(), CarryOutError> {
        self.check_shape(plan)?;
        self.clear();
        for member in plan.read.iter() {
            if let Some(block) = read(member) {
                self.old_contents(member).copy_from_slice(block);
            }
        }
        self.carry_out(plan)
    }

    fn check_shape(&self, plan: &StripePlan) -> Result<(), CarryOutError> {
        let (plan, stripe) = (plan.shape(), self.shape);
        if plan == stripe { Ok(()) } else { Err(CarryOutError::OtherShape { plan, stripe }) }
    }

    /// The blocks whose old contents a plan needs: those that it reads, and every operand of its
    /// steps. The two differ for a plan of which blocks that are known to hold zeros were left out.
    fn old_contents_for(&self, plan: &StripePlan) -> MemberSet {
        let (mut needed, mut computed) = (plan.read, MemberSet::EMPTY);
        for step in plan.steps() {
            let operands = match step {
                PlanStep::Reconstruct { from, .. } => from,
                PlanStep::Encode { .. } => self.shape.data().difference(plan.changed),
                PlanStep::Subtract { changed, parity } => changed.union(parity),
            };
            needed = needed.union(operands.difference(computed));
            if let PlanStep::Reconstruct { lost, .. } = step {
                computed = lost;
            }
        }
        needed
    }

    fn reconstruct(&mut self, lost: MemberSet, from: MemberSet) {
        let data_blocks = usize::from(self.shape.data_blocks());
        let mut data_lost = self.shape.data().difference(from).iter().map(Member::index);
        match (data_lost.next(), data_lost.next()) {
            (None, _) => {
                // By way of the new blocks, so that parity that was read stays as it was read.
                let parity = &mut self.new[data_blocks..];
                if let [row, diagonal @ ..] = &mut *parity {
                    let data = self.old[..data_blocks].iter().map(Vec::as_slice);
                    self.codec.encode_from(data, row, diagonal.first_mut().map(Vec::as_mut_slice));
                }
                for member in lost.iter().map(Member::index) {
                    self.old[member].clone_from(&self.new[member]);
                }
            }
            (Some(block), None) if from.contains(self.shape.row_parity()) => {
                self.codec.solve_row(&mut self.old, block);
                if self.shape.diagonal_parity().is_some_and(|diagonal| lost.contains(diagonal)) {
                    self.codec.encode_diagonal(&mut self.old);
                }
            }
            (Some(block), None) => {
                self.codec.solve_pair(&mut self.old, [block, data_blocks]);
            }
            (Some(low), Some(high)) => self.codec.solve_pair(&mut self.old, [low, high]),
        }
        self.old_held = self.old_held.union(lost);
    }

    fn encode(&mut self, changed: MemberSet, wanted: MemberSet) {
        let (new_data, parity) = self.new.split_at_mut(usize::from(self.shape.data_blocks()));
        let old = &self.old;
        let data = self.shape.data().iter().map(|member| {
            let contents = if changed.contains(member) { &*new_data } else { old };
            contents[member.index()].as_slice()
        });
        if let [row, diagonal @ ..] = parity {
            let diagonal = diagonal.first_mut().map(Vec::as_mut_slice);
            let diagonal_wanted =
                self.shape.diagonal_parity().is_some_and(|diagonal| wanted.contains(diagonal));
            self.codec.encode_from(data, row, diagonal.filter(|_| diagonal_wanted));
        }
        self.new_held = self.new_held.union(wanted);
    }

    fn subtract(&mut self, changed: MemberSet, wanted: MemberSet) {
        let (new_data, parity) = self.new.split_at_mut(usize::from(self.shape.data_blocks()));
        let (old_data, old_parity) = self.old.split_at(usize::from(self.shape.data_blocks()));
        let changes = changed.iter().map(|member| {
            let block = member.index();
            BlockChange { block, old: &old_data[block], new: &new_data[block] }
        });
        let mut parity = parity.iter_mut().zip(old_parity).zip(self.shape.parity().iter()).map(
            |((new, old), member)| {
                wanted.contains(member).then(|| {
                    new.copy_from_slice(old);
                    new.as_mut_slice()
                })
            },
        );
        let row = parity.next().flatten();
        let diagonal = parity.next().flatten();
        self.codec.subtract_from(changes, row, diagonal);
        self.new_held = self.new_held.union(wanted);
    }
}
