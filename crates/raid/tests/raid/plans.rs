//! Plans carried out on bytes: right for every change and loss, and no read in vain.

use crate::bytes_from;
use proptest::prelude::*;
use strewn_raid::{
    CodecError, DataLoss, Member, MemberSet, PlanError, StripeBytes, StripeCode, StripePlan,
    StripeShape, UpdateMethod,
};

const METHODS: [UpdateMethod; 3] =
    [UpdateMethod::FullStripe, UpdateMethod::Subtraction, UpdateMethod::Recalculation];

/// Spindles with one stripe, some of them lost, beside the data as it should be.
struct Spindles {
    shape: StripeShape,
    bytes: StripeBytes,
    /// What every block should hold, lost or not.
    right: Vec<Vec<u8>>,
    /// What the spindles hold.
    held: Vec<Vec<u8>>,
}

impl Spindles {
    fn new(shape: StripeShape, block_bytes: usize, seed: u64) -> Self {
        let bytes = StripeBytes::new(shape, block_bytes).unwrap();
        let right = crate::stripe_from(bytes.codec(), seed);
        Self { shape, bytes, held: right.clone(), right }
    }

    fn lose(&mut self, lost: MemberSet) {
        lost.iter().for_each(|member| self.held[member.index()].fill(0xdd));
    }

    /// The outcome of a plan: each block that it writes or that is wanted of it.
    fn carry_out(
        &mut self,
        plan: &StripePlan,
        new: &[Vec<u8>],
        outcome: MemberSet,
    ) -> Vec<(Member, Vec<u8>)> {
        self.bytes.clear();
        for member in plan.read.iter() {
            self.bytes.old_contents(member).copy_from_slice(&self.held[member.index()]);
        }
        for member in plan.changed.iter() {
            self.bytes.new_contents(member).copy_from_slice(&new[member.index()]);
        }
        self.bytes.carry_out(plan).unwrap();
        outcome.iter().map(|member| (member, self.bytes.block(member).unwrap().to_vec())).collect()
    }

    /// Changes blocks by a plan, and checks every block that it writes.
    fn update(&mut self, plan: &StripePlan, new: &[Vec<u8>]) {
        let data_blocks = usize::from(self.shape.data_blocks());
        for member in plan.changed.iter() {
            self.right[member.index()].clone_from(&new[member.index()]);
        }
        let (data, parity) = self.right.split_at_mut(data_blocks);
        self.bytes.codec().encode(data, parity).unwrap();
        for (member, block) in self.carry_out(plan, new, plan.write) {
            assert!(block == self.right[member.index()], "{member} by {plan:?}");
            self.held[member.index()] = block;
        }
    }

    /// Reads or rebuilds by a plan, and checks what comes of it.
    fn read(&mut self, plan: &StripePlan, wanted: MemberSet) {
        for (member, block) in self.carry_out(plan, &[], wanted) {
            assert!(block == self.right[member.index()], "{member} by {plan:?}");
        }
    }

    /// Every block read matters: with another in its place the outcome is another.
    fn check_reads(&mut self, plan: &StripePlan, new: &[Vec<u8>], outcome: MemberSet) {
        let right = self.carry_out(plan, new, outcome);
        for member in plan.read.iter() {
            let other = bytes_from(0xbad + u64::from(member.0), self.held[0].len());
            let held = std::mem::replace(&mut self.held[member.index()], other);
            assert!(self.carry_out(plan, new, outcome) != right, "{member} in vain, {plan:?}");
            self.held[member.index()] = held;
        }
    }
}

fn subsets(of: MemberSet) -> impl Iterator<Item = MemberSet> {
    (0..=of.0).map(MemberSet).filter(move |set| set.is_subset(of))
}

fn survivable(shape: StripeShape) -> impl Iterator<Item = MemberSet> {
    subsets(shape.members()).filter(move |lost| lost.len() <= shape.parity_blocks())
}

fn small_shapes() -> impl Iterator<Item = StripeShape> {
    [StripeCode::Row, StripeCode::RowDiagonal].into_iter().flat_map(|code| {
        (1..=6).map(move |data_blocks| StripeShape::new(code, data_blocks).unwrap())
    })
}

#[test]
fn every_update_of_small_stripes() {
    for shape in small_shapes() {
        let mut spindles = Spindles::new(shape, 96, 11);
        for (turn, lost) in (0..).zip(survivable(shape)) {
            spindles.held.clone_from(&spindles.right);
            spindles.lose(lost);
            for changed in subsets(shape.data()) {
                let new = crate::data_from(changed.0 << 20 ^ turn, 6, 96);
                let cheapest = shape.plan_update(changed, lost).unwrap();
                spindles.update(&cheapest, &new);
                let mut asked_for_cheapest = false;
                for method in METHODS {
                    let plan = match shape.plan_update_by(method, changed, lost) {
                        Ok(plan) => plan,
                        Err(PlanError::PartialStripe { .. }) => {
                            assert!(method == UpdateMethod::FullStripe && changed != shape.data());
                            continue;
                        }
                        Err(PlanError::NeedsLost { lost: needed, .. }) => {
                            assert!(!needed.is_empty() && needed.is_subset(lost));
                            continue;
                        }
                        Err(error) => panic!("{error}"),
                    };
                    assert!(plan.read.union(plan.write).intersection(lost).is_empty());
                    assert_eq!(plan.changed, changed);
                    assert!(cheapest.commands() <= plan.commands());
                    asked_for_cheapest |= cheapest == plan;
                    spindles.update(&plan, &new);
                    let others = crate::data_from(changed.0 << 21 ^ turn, 6, 96);
                    spindles.check_reads(&plan, &others, plan.write);
                }
                assert!(asked_for_cheapest, "{cheapest:?} is no method's plan");
            }
        }
    }
}

#[test]
fn every_read_and_rebuild_of_small_stripes() {
    for shape in small_shapes() {
        let mut spindles = Spindles::new(shape, 96, 12);
        for lost in survivable(shape) {
            spindles.held.clone_from(&spindles.right);
            spindles.lose(lost);
            for wanted in subsets(shape.members()) {
                let plan = shape.plan_read(wanted, lost).unwrap();
                assert!(plan.read.intersection(lost).is_empty() && plan.write.is_empty());
                spindles.read(&plan, wanted);
                spindles.check_reads(&plan, &[], wanted);
            }
            for rebuilt in subsets(lost) {
                let plan = shape.plan_rebuild(rebuilt, lost).unwrap();
                assert_eq!(plan.write, rebuilt);
                spindles.read(&plan, rebuilt);
            }
        }
    }
}

/// Nothing less than what a plan reads would do: leave out any one read, and another stripe with
/// the same blocks left has another outcome. So says the check of reads above; and the other way
/// round, more losses than parity are refused, and what is gone is named.
#[test]
fn losses_beyond_parity() {
    for shape in small_shapes() {
        let too_many = subsets(shape.members()).filter(|lost| lost.len() > shape.parity_blocks());
        for lost in too_many {
            let gone = lost.intersection(shape.data());
            let expected = DataLoss { shape, lost, gone };
            assert!(!gone.is_empty());
            for changed in subsets(shape.data()).filter(|changed| !changed.is_empty()) {
                assert_eq!(shape.plan_update(changed, lost), Err(expected.clone()));
                assert_eq!(
                    shape.plan_update_by(UpdateMethod::Subtraction, changed, lost),
                    Err(PlanError::DataLoss(expected.clone()))
                );
            }
            for wanted in subsets(shape.members()) {
                let plan = shape.plan_read(wanted, lost);
                if wanted.intersection(lost).is_empty() {
                    assert_eq!(plan.map(|plan| plan.read), Ok(wanted));
                } else {
                    assert_eq!(plan, Err(expected.clone()));
                }
            }
        }
    }
}

#[test]
fn missing_blocks_are_named() {
    let shape = StripeShape::new(StripeCode::Row, 3).unwrap();
    let mut bytes = StripeBytes::new(shape, 8).unwrap();
    let changed = MemberSet::single(Member(1));
    let plan = shape.plan_update_by(UpdateMethod::Subtraction, changed, MemberSet::EMPTY).unwrap();
    bytes.old_contents(Member(1)).fill(1);
    let error = bytes.carry_out(&plan).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the plan cannot be carried out: blocks {3} were not read, and blocks {1} have no new \
         contents"
    );
    assert_eq!(bytes.block(Member(3)), None);
}

/// New contents of a block that the plan does not change stay out of parity.
#[test]
fn only_what_the_plan_changes_counts() {
    let shape = StripeShape::new(StripeCode::RowDiagonal, 3).unwrap();
    for method in [UpdateMethod::Subtraction, UpdateMethod::Recalculation] {
        let mut spindles = Spindles::new(shape, 96, 5);
        let changed = MemberSet::single(Member(0));
        let plan = shape.plan_update_by(method, changed, MemberSet::EMPTY).unwrap();
        let new = crate::data_from(6, 3, 96);
        let expected = spindles.carry_out(&plan, &new, shape.parity());
        spindles.bytes.new_contents(Member(1)).fill(9);
        spindles.bytes.carry_out(&plan).unwrap();
        for (member, block) in expected {
            assert_eq!(spindles.bytes.block(member), Some(block.as_slice()));
        }
    }
}

/// A stripe and what happens to it: losses, and changes with random methods.
fn any_history() -> impl Strategy<Value = (StripeShape, Vec<(u64, u64, u8)>, u64)> {
    let shape = (any::<bool>(), 1..=28_u16).prop_map(|(row_diagonal, data_blocks)| {
        let code = if row_diagonal { StripeCode::RowDiagonal } else { StripeCode::Row };
        StripeShape::new(code, data_blocks).unwrap()
    });
    let happenings = prop::collection::vec((any::<u64>(), any::<u64>(), any::<u8>()), 1..12);
    (shape, happenings, any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Partial updates in random order, while spindles are lost and rebuilt: parity stays right,
    /// what is lost comes back as it should be, and no read is in vain.
    #[test]
    fn histories_of_losses_and_updates((shape, happenings, seed) in any_history()) {
        let mut spindles = Spindles::new(shape, 4096, seed);
        for (turn, (changes, losses, choice)) in (1..).zip(happenings) {
            let lost: MemberSet = (0..shape.parity_blocks())
                .filter(|nth| losses >> (60 + nth) & 1 == 1)
                .map(|nth| Member(((losses >> (8 * nth)) % u64::from(shape.blocks())) as u8))
                .collect();
            spindles.lose(lost);
            let data = shape.data();
            let changed = match choice % 4 {
                0 => MemberSet(changes).intersection(data),
                1 => MemberSet(changes & changes >> 20 & changes >> 40).intersection(data),
                2 => MemberSet::single(Member((changes % u64::from(shape.data_blocks())) as u8)),
                _ => data,
            };
            let new = crate::data_from(seed ^ turn << 40, usize::from(shape.data_blocks()), 4096);
            let method = METHODS[usize::from(choice >> 4) % METHODS.len()];
            let asked_for = shape.plan_update_by(method, changed, lost);
            let plan = match asked_for {
                Ok(plan) if choice & 8 == 8 => plan,
                _ => shape.plan_update(changed, lost).unwrap(),
            };
            if changed != data || method == UpdateMethod::FullStripe {
                spindles.check_reads(&plan, &new, plan.write);
            }
            spindles.update(&plan, &new);

            // Degraded reads, and then the rebuild, in one go or one after the other.
            let wanted = MemberSet(changes.rotate_left(17)).intersection(shape.members());
            let plan = shape.plan_read(wanted, lost).unwrap();
            spindles.read(&plan, wanted);
            let mut left = lost;
            while !left.is_empty() {
                let next = match choice & 1 {
                    0 => left,
                    _ => left.iter().take(1).collect(),
                };
                let plan = shape.plan_rebuild(next, left).unwrap();
                spindles.check_reads(&plan, &[], next);
                spindles.read(&plan, next);
                for (member, block) in spindles.carry_out(&plan, &[], plan.write) {
                    spindles.held[member.index()] = block;
                }
                left = left.difference(next);
            }
            prop_assert!(spindles.held == spindles.right);
        }
    }
}

#[test]
fn regression_blocks_that_do_not_fit_memory_are_refused() {
    let shape = StripeShape::new(StripeCode::Row, 4).unwrap();
    for block_bytes in [usize::MAX, usize::MAX / 2, 1 << 60] {
        let refused = StripeBytes::new(shape, block_bytes);
        let Err(CodecError::OutOfMemory(refused)) = refused else { panic!("{refused:?}") };
        // Old and new contents of five blocks.
        assert_eq!(refused.bytes, (block_bytes as u64).saturating_mul(10));
    }
}
