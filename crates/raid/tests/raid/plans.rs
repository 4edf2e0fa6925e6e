//! Plans carried out on bytes: right for every change and loss, and no read in vain.

use crate::bytes_from;
use proptest::prelude::*;
use strewn_raid::{
    CarryOutError, CodecError, DataLoss, Member, MemberSet, Parity, ParityGroup, PlanError,
    SpindleIndex, SpindleSet, StripeBytes, StripeCode, StripePlan, StripeShape, UpdateMethod,
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

/// A plan for one shape does nothing to the blocks of another, whatever it is for: not even where all that it reads and
/// changes is there.
#[test]
fn a_plan_for_another_shape_is_refused() {
    let codes = [StripeCode::None, StripeCode::Row, StripeCode::RowDiagonal];
    let with_data = |data| codes.map(|code| StripeShape::new(code, data).unwrap());
    let shapes: Vec<StripeShape> = (1..=5).flat_map(with_data).collect();
    let first = MemberSet::single(Member(0));
    for &of_plan in &shapes {
        let none = MemberSet::EMPTY;
        let plans = [
            of_plan.plan_update(of_plan.data(), none),
            of_plan.plan_update(first, none),
            of_plan.plan_read(first, none),
            of_plan.plan_read(first, first),
            of_plan.plan_rebuild(first, first),
        ];
        for plan in plans.into_iter().flatten() {
            assert_eq!(plan.shape(), of_plan);
            for &stripe in shapes.iter().filter(|stripe| **stripe != of_plan) {
                let mut bytes = StripeBytes::new(stripe, 4096).unwrap();
                for member in stripe.data().iter() {
                    bytes.old_contents(member).fill(0x10 + member.0);
                    bytes.new_contents(member).fill(0x20 + member.0);
                }
                for member in stripe.parity().iter() {
                    bytes.old_contents(member).fill(0x30);
                }
                let refused = CarryOutError::OtherShape { plan: of_plan, stripe };
                assert_eq!(bytes.carry_out(&plan), Err(refused.clone()));
                for member in stripe.members().iter() {
                    let is_data = stripe.data().contains(member);
                    let expected = if is_data { 0x20 + member.0 } else { 0x30 };
                    assert_eq!(bytes.block(member), Some(&[expected; 4096][..]), "{stripe}");
                }
                let read = [0; 4096];
                assert_eq!(bytes.compute(&plan, |_| Some(&read[..])), Err(refused));
            }
        }
    }
    let [small, large] = [(StripeCode::Row, 2), (StripeCode::RowDiagonal, 3)]
        .map(|(code, data)| StripeShape::new(code, data).unwrap());
    let plan = small.plan_update(small.data(), MemberSet::EMPTY).unwrap();
    let error = StripeBytes::new(large, 4096).unwrap().carry_out(&plan).unwrap_err();
    assert_eq!(error.to_string(), "a plan for stripes of 2+1 does not fit a stripe of 3+2");
}

/// The update of a RAID-4 stripe has the sets of a RAID-DP stripe with a data block less: it is told by its group.
#[test]
fn an_update_becomes_a_plan_of_its_own_group() {
    let raid4 = ParityGroup::new(Parity::Raid4, 4, 100).unwrap();
    let changed: SpindleSet = [SpindleIndex(0), SpindleIndex(3)].into_iter().collect();
    let plan = raid4.plan_stripe(changed).to_plan();
    assert_eq!(plan.shape(), raid4.stripe_shape());
    assert_eq!(plan.changed, [Member(0), Member(3)].into_iter().collect());
}

/// A plan whose sets were altered still needs what it computes with.
#[test]
fn every_operand_of_a_plan_is_needed() {
    let shape = StripeShape::new(StripeCode::RowDiagonal, 4).unwrap();
    let (first, second) = (MemberSet::single(Member(0)), MemberSet::single(Member(1)));
    let plans = [
        shape.plan_read(first, first).unwrap(),
        shape.plan_update_by(UpdateMethod::Subtraction, first, second).unwrap(),
        shape.plan_update_by(UpdateMethod::Recalculation, first, first).unwrap(),
        shape.plan_update_by(UpdateMethod::Recalculation, first, second).unwrap(),
    ];
    for plan in plans {
        let mut altered = plan;
        altered.read = MemberSet::EMPTY;
        let mut bytes = StripeBytes::new(shape, 96).unwrap();
        plan.changed.iter().for_each(|member| bytes.new_contents(member).fill(1));
        let missing =
            CarryOutError::MissingBlocks { not_read: plan.read, not_given: MemberSet::EMPTY };
        assert_eq!(bytes.carry_out(&altered), Err(missing));
    }
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
    let steps = prop::collection::vec((any::<u64>(), any::<u64>(), any::<u8>()), 1..12);
    (shape, steps, any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Partial updates in random order, while spindles are lost and rebuilt: parity stays right,
    /// what is lost comes back as it should be, and no read is in vain.
    #[test]
    fn histories_of_losses_and_updates((shape, steps, seed) in any_history()) {
        let mut spindles = Spindles::new(shape, 4096, seed);
        for (turn, (changes, losses, choice)) in (1..).zip(steps) {
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
    // More than there are addresses for.
    for block_bytes in [usize::MAX, usize::MAX / 2] {
        let refused = StripeBytes::new(shape, block_bytes);
        assert!(matches!(refused, Err(CodecError::TooLarge { .. })), "{refused:?}");
    }
    let block_bytes = 1 << 60;
    let refused = StripeBytes::new(shape, block_bytes);
    let Err(CodecError::OutOfMemory(refused)) = refused else { panic!("{refused:?}") };
    // Old and new contents of five blocks.
    assert_eq!(refused.bytes, 10 * block_bytes as u64);
}
