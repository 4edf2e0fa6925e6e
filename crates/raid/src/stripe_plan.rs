//! What to read, compute and write for a stripe, some of whose blocks may be lost.
//!
//! A plan is made without bytes: which blocks are wanted or change, and which are lost, is all it
//! needs. A simulation sends the reads and writes of a plan to its spindles;
//! [`StripeBytes`](crate::StripeBytes) carries out the same plan on bytes.

use crate::{MemberSet, PlanError, StripeShape, UpdateMethod};
use thiserror::Error;

/// A computation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Lost blocks are brought back, as they were before any change.
    Reconstruct {
        /// The blocks brought back.
        lost: MemberSet,
        /// The blocks that they are computed from, all of them read.
        from: MemberSet,
    },
    /// Parity is computed from all data blocks: those that change with their new contents, the
    /// others as read or reconstructed.
    Encode {
        /// The parity blocks wanted.
        parity: MemberSet,
    },
    /// Old contents are taken out of parity and new ones put in.
    Subtract {
        /// The data blocks that change.
        changed: MemberSet,
        /// The parity blocks brought up to date.
        parity: MemberSet,
    },
}

/// What to read, then compute, then write: each block of the stripe at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StripePlan {
    /// How parity is brought up to date; `None` in a plan that changes no data.
    pub method: Option<UpdateMethod>,
    /// Data blocks that get new contents, lost ones included.
    pub changed: MemberSet,
    /// Blocks to read before anything is written. None of them is lost, and each is used.
    pub read: MemberSet,
    /// Blocks to write. Only a rebuild writes lost blocks, to the spindles that replace theirs.
    pub write: MemberSet,
    steps: [Option<Step>; 2],
}

impl StripePlan {
    /// What to compute between reading and writing, in this order: at most a reconstruction and
    /// then parity.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        self.steps.into_iter().flatten()
    }

    /// Blocks read and written: the commands it takes when no two join with their neighbours.
    #[inline]
    pub const fn commands(&self) -> u32 {
        self.read.len() as u32 + self.write.len() as u32
    }

    /// Blocks that pass through an exclusive or: what the plan costs a processor. A block counts
    /// once for each sum it goes into, row or diagonal, and a changed block once as it was and
    /// once as it is.
    pub fn blocks_added(&self, shape: StripeShape) -> u32 {
        // Diagonal parity is of the rows too, so that it takes both sums.
        let sums = |parity: MemberSet| {
            1 + u32::from(shape.diagonal_parity().is_some_and(|block| parity.contains(block)))
        };
        self.steps()
            .map(|step| match step {
                Step::Reconstruct { lost, from } => u32::from(from.len()) * sums(lost.union(from)),
                Step::Encode { parity } => u32::from(shape.data_blocks()) * sums(parity),
                Step::Subtract { changed, parity } => {
                    2 * u32::from(changed.len()) * u32::from(parity.len())
                }
            })
            .sum()
    }
}

/// More of a stripe is lost than its parity makes good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "data blocks {gone} are gone: of the {} blocks of a stripe {lost} are lost, and parity makes \
     good {}",
    .shape.blocks(),
    .shape.parity_blocks()
)]
pub struct DataLoss {
    /// The stripe.
    pub shape: StripeShape,
    /// Everything lost of it, parity included.
    pub lost: MemberSet,
    /// The data blocks that nothing brings back.
    pub gone: MemberSet,
}

impl StripeShape {
    /// The data blocks that nothing brings back when `lost` are lost: none while there are as
    /// many parity blocks as losses, else every data block among them.
    ///
    /// A lost block of parity counts as a loss, but holds no data: of a stripe with row-diagonal
    /// parity that has lost both parity blocks and one of data, that one is gone.
    #[inline]
    pub const fn gone(self, lost: MemberSet) -> MemberSet {
        if lost.intersection(self.members()).len() <= self.parity_blocks() {
            MemberSet::EMPTY
        } else {
            lost.intersection(self.data())
        }
    }

    /// How to read the blocks `wanted` while those of `lost` are lost: those that are left as
    /// they are, the lost ones from the rest of the stripe.
    ///
    /// A lost data block is brought back by row parity where it can be: it reads all other data
    /// blocks and row parity. Diagonal parity serves when row parity or a second data block is
    /// lost as well.
    ///
    /// # Errors
    ///
    /// [`DataLoss`] when a wanted block is gone. Blocks that are left can be read whatever is
    /// lost beside them.
    ///
    /// # Panics
    ///
    /// If `wanted` or `lost` has a member that the stripe does not.
    ///
    /// ```
    /// use strewn_raid::{Member, MemberSet, StripeCode, StripeShape};
    ///
    /// let shape = StripeShape::new(StripeCode::RowDiagonal, 4)?;
    /// let wanted = MemberSet::single(Member(2));
    ///
    /// assert_eq!(shape.plan_read(wanted, MemberSet::EMPTY)?.read.to_string(), "{2}");
    /// // Data 0, 1 and 3, and row parity.
    /// assert_eq!(shape.plan_read(wanted, wanted)?.read.to_string(), "{0, 1, 3, 4}");
    /// // Data 0 and 3, and both parities.
    /// let lost = wanted.with(Member(1));
    /// assert_eq!(shape.plan_read(wanted, lost)?.read.to_string(), "{0, 3, 4, 5}");
    ///
    /// let lost = lost.with(Member(0));
    /// assert_eq!(shape.plan_read(wanted, lost).unwrap_err().gone, lost);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan_read(self, wanted: MemberSet, lost: MemberSet) -> Result<StripePlan, DataLoss> {
        self.check_members(wanted.union(lost));
        let (read, reconstruct) = self.obtain(wanted, lost)?;
        Ok(StripePlan {
            method: None,
            changed: MemberSet::EMPTY,
            read,
            write: MemberSet::EMPTY,
            steps: [reconstruct, None],
        })
    }

    /// The cheapest way to change the data blocks `changed` while those of `lost` are lost: the
    /// one with the fewest blocks read and written. Where two are equal it is the one that brings
    /// no lost block back; where neither does, recalculation.
    ///
    /// With nothing lost this is what [`ParityGroup::plan_stripe`](crate::ParityGroup::plan_stripe)
    /// plans. A changed block that is lost is not written; parity takes it up, and it can be read
    /// back from there. A lost parity block is left out.
    ///
    /// Subtraction does without unchanged blocks, so it serves where one is lost; recalculation
    /// does without the old contents of changed ones, and serves where one of those is. With
    /// row-diagonal parity and one of each lost, all that is left is read, and the unchanged one
    /// brought back first. The same is cheapest where all blocks change but a lost one.
    ///
    /// No change is no work. Where all parity is lost nothing is read or computed.
    ///
    /// # Errors
    ///
    /// [`DataLoss`] when more blocks are lost than there are of parity: even new contents would
    /// have no place.
    ///
    /// # Panics
    ///
    /// If `changed` has a member that is no data block, or `lost` one that the stripe does not
    /// have.
    ///
    /// ```
    /// use strewn_raid::{Member, MemberSet, StripeCode, StripeShape, UpdateMethod};
    ///
    /// let shape = StripeShape::new(StripeCode::Row, 4)?;
    /// let changed = MemberSet::single(Member(0));
    /// let plan = shape.plan_update(changed, changed)?;
    /// assert_eq!(plan.method, Some(UpdateMethod::Recalculation));
    /// assert_eq!(plan.read.to_string(), "{1, 2, 3}");
    /// assert_eq!(plan.write.to_string(), "{4}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan_update(self, changed: MemberSet, lost: MemberSet) -> Result<StripePlan, DataLoss> {
        assert!(changed.is_subset(self.data()), "only data blocks change, not all of {changed}");
        self.check_members(lost);
        if changed == self.data() {
            return self.update(UpdateMethod::FullStripe, changed, lost);
        }
        let subtraction = self.update(UpdateMethod::Subtraction, changed, lost)?;
        let recalculation = self.update(UpdateMethod::Recalculation, changed, lost)?;
        let cost = |plan: &StripePlan| {
            (self.goes_in_circles(plan, lost), plan.commands(), plan.steps().count())
        };
        let subtract = changed.is_empty() || cost(&subtraction) < cost(&recalculation);
        Ok(if subtract { subtraction } else { recalculation })
    }

    /// A change of the data blocks `changed` by `method`, even where another would be cheaper.
    ///
    /// # Errors
    ///
    /// [`PlanError::DataLoss`] as [`plan_update`](Self::plan_update),
    /// [`PlanError::NotDataBlocks`] when `changed` has a member that is no data block,
    /// [`PlanError::PartialStripe`] when [`UpdateMethod::FullStripe`] is asked for and `changed`
    /// lacks a data block, and [`PlanError::NeedsLost`] when the method needs contents that are
    /// lost and would come back only by the other method.
    ///
    /// # Panics
    ///
    /// If `lost` has a member that the stripe does not have.
    pub fn plan_update_by(
        self,
        method: UpdateMethod,
        changed: MemberSet,
        lost: MemberSet,
    ) -> Result<StripePlan, PlanError> {
        self.check_members(lost);
        if !changed.is_subset(self.data()) {
            let extra = changed.difference(self.data());
            return Err(PlanError::NotDataBlocks { extra, shape: self });
        }
        if method == UpdateMethod::FullStripe && changed != self.data() {
            return Err(PlanError::PartialStripe {
                changed: changed.len(),
                data_spindles: self.data_blocks(),
            });
        }
        let plan = self.update(method, changed, lost)?;
        if self.goes_in_circles(&plan, lost) {
            let lost = self.old_contents(method, changed, lost).intersection(lost);
            return Err(PlanError::NeedsLost { method, lost });
        }
        Ok(plan)
    }

    /// How to bring back the blocks `rebuilt` of those `lost`, and write them to the spindles
    /// that replace theirs. With two spindles lost and one spare, `rebuilt` is one of the two.
    ///
    /// # Errors
    ///
    /// [`DataLoss`] when more blocks are lost than there are of parity, unless nothing is to be
    /// rebuilt.
    ///
    /// # Panics
    ///
    /// If `rebuilt` has a member that is not lost, or `lost` one that the stripe does not have.
    pub fn plan_rebuild(self, rebuilt: MemberSet, lost: MemberSet) -> Result<StripePlan, DataLoss> {
        assert!(rebuilt.is_subset(lost), "{rebuilt} are not all among the lost {lost}");
        let plan = self.plan_read(rebuilt, lost)?;
        Ok(StripePlan { write: rebuilt, ..plan })
    }

    fn update(
        self,
        method: UpdateMethod,
        changed: MemberSet,
        lost: MemberSet,
    ) -> Result<StripePlan, DataLoss> {
        let parity = self.parity().difference(lost);
        let mut plan = StripePlan {
            method: Some(method),
            changed,
            read: MemberSet::EMPTY,
            write: changed.union(parity).difference(lost),
            steps: [None, None],
        };
        if changed.is_empty() {
            plan.write = MemberSet::EMPTY;
            return Ok(plan);
        }
        let gone = self.gone(lost);
        if !gone.is_empty() {
            return Err(DataLoss { shape: self, lost, gone });
        }
        if parity.is_empty() {
            return Ok(plan);
        }
        let old_contents = self.old_contents(method, changed, lost);
        let (read, reconstruct) = self.obtain(old_contents, lost)?;
        let bring_up_to_date = match method {
            UpdateMethod::Subtraction => Step::Subtract { changed, parity },
            UpdateMethod::FullStripe | UpdateMethod::Recalculation => Step::Encode { parity },
        };
        plan.read = read;
        plan.steps = [reconstruct, Some(bring_up_to_date)];
        Ok(plan)
    }

    /// The blocks whose old contents a method computes parity from.
    fn old_contents(self, method: UpdateMethod, changed: MemberSet, lost: MemberSet) -> MemberSet {
        match method {
            UpdateMethod::FullStripe => MemberSet::EMPTY,
            UpdateMethod::Subtraction => changed.union(self.parity().difference(lost)),
            UpdateMethod::Recalculation => self.data().difference(changed),
        }
    }

    /// Whether a plan brings blocks back only to take them out again. The old contents of a
    /// changed block come back from all the others, with which parity could be recalculated.
    /// Those of an unchanged block come back from parity: where that is all the parity there is,
    /// the other reads cancel out, and subtraction is left.
    fn goes_in_circles(self, plan: &StripePlan, lost: MemberSet) -> bool {
        let reconstructs = plan.steps().any(|step| matches!(step, Step::Reconstruct { .. }));
        let changed_lost = !plan.changed.intersection(lost).is_empty();
        reconstructs
            && match plan.method {
                Some(UpdateMethod::Subtraction) => true,
                _ => !changed_lost && self.parity().difference(lost).is_subset(plan.read),
            }
    }

    /// The reads that give the blocks `wanted`, and the reconstruction if one is needed.
    fn obtain(
        self,
        wanted: MemberSet,
        lost: MemberSet,
    ) -> Result<(MemberSet, Option<Step>), DataLoss> {
        let wanted_lost = wanted.intersection(lost);
        if wanted_lost.is_empty() {
            return Ok((wanted, None));
        }
        let gone = self.gone(lost);
        if !gone.is_empty() {
            return Err(DataLoss { shape: self, lost, gone });
        }
        // One parity block for each data block that is lost, row parity first.
        let data_lost = self.data().intersection(lost).len();
        let parity_left = self.parity().difference(lost).iter();
        let parity_used: MemberSet = parity_left.take(usize::from(data_lost)).collect();
        let from = self.data().difference(lost).union(parity_used);
        let reconstruct = Step::Reconstruct { lost: wanted_lost, from };
        Ok((wanted.difference(lost).union(from), Some(reconstruct)))
    }

    fn check_members(self, named: MemberSet) {
        let extra = named.difference(self.members());
        assert!(extra.is_empty(), "a stripe of {self} has no blocks {extra}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Member, StripeCode};

    fn set(members: &[u8]) -> MemberSet {
        members.iter().copied().map(Member).collect()
    }

    fn shape(code: StripeCode, data_blocks: u16) -> StripeShape {
        StripeShape::new(code, data_blocks).unwrap()
    }

    #[test]
    fn data_loss_says_what_is_gone() {
        let raid_dp = shape(StripeCode::RowDiagonal, 18);
        let lost = set(&[3, 18, 19]);
        assert_eq!(raid_dp.gone(lost), set(&[3]));
        assert_eq!(
            raid_dp.plan_read(set(&[3]), lost).unwrap_err().to_string(),
            "data blocks {3} are gone: of the 20 blocks of a stripe {3, 18, 19} are lost, and \
             parity makes good 2"
        );
        // What is left can still be read, and both parities may go without loss.
        assert_eq!(raid_dp.plan_read(set(&[0, 7]), lost).unwrap().read, set(&[0, 7]));
        assert_eq!(raid_dp.gone(set(&[18, 19])), MemberSet::EMPTY);
        assert!(raid_dp.plan_update(set(&[0]), lost).is_err());
        assert!(raid_dp.plan_rebuild(set(&[18]), lost).is_err());

        let raid4 = shape(StripeCode::Row, 4);
        assert_eq!(raid4.gone(set(&[0, 1])), set(&[0, 1]));
        assert_eq!(raid4.gone(set(&[2, 4])), set(&[2]));
    }

    #[test]
    fn lost_blocks_come_by_the_fewest_reads() {
        let raid_dp = shape(StripeCode::RowDiagonal, 4);
        for (lost, rebuilt, read) in [
            (&[1][..], &[1][..], &[0, 2, 3, 4][..]),
            (&[4], &[4], &[0, 1, 2, 3]),
            (&[5], &[5], &[0, 1, 2, 3]),
            (&[1, 4], &[1, 4], &[0, 2, 3, 5]),
            (&[1, 4], &[4], &[0, 2, 3, 5]),
            (&[1, 5], &[1, 5], &[0, 2, 3, 4]),
            (&[1, 5], &[5], &[0, 2, 3, 4]),
            (&[4, 5], &[4, 5], &[0, 1, 2, 3]),
            (&[1, 3], &[1, 3], &[0, 2, 4, 5]),
            (&[1, 3], &[3], &[0, 2, 4, 5]),
        ] {
            let plan = raid_dp.plan_rebuild(set(rebuilt), set(lost)).unwrap();
            assert_eq!((plan.read, plan.write), (set(read), set(rebuilt)), "{lost:?}");
        }
    }

    #[test]
    fn degraded_updates() {
        use UpdateMethod::{FullStripe, Recalculation, Subtraction};
        let raid_dp = shape(StripeCode::RowDiagonal, 6);
        for (changed, lost, method, read, write) in [
            // A changed block is lost: the others are read, and parity takes it up.
            (&[0][..], &[0][..], Recalculation, &[1, 2, 3, 4, 5][..], &[6, 7][..]),
            // An unchanged block is lost: subtraction does without it.
            (&[0], &[1], Subtraction, &[0, 6, 7], &[0, 6, 7]),
            (&[0, 2, 3, 4], &[1], Subtraction, &[0, 2, 3, 4, 6, 7], &[0, 2, 3, 4, 6, 7]),
            // One of each: everything that is left is read.
            (&[0], &[0, 1], Recalculation, &[2, 3, 4, 5, 6, 7], &[6, 7]),
            (&[0, 2, 3, 4], &[0, 5], Recalculation, &[1, 2, 3, 4, 6, 7], &[2, 3, 4, 6, 7]),
            // Lost parity is neither read nor written.
            (&[0], &[6], Subtraction, &[0, 7], &[0, 7]),
            (&[0], &[7], Subtraction, &[0, 6], &[0, 6]),
            (&[0], &[6, 7], Recalculation, &[], &[0]),
            (&[0, 1, 2, 3, 4, 5], &[1, 6], FullStripe, &[], &[0, 2, 3, 4, 5, 7]),
        ] {
            let plan = raid_dp.plan_update(set(changed), set(lost)).unwrap();
            let expected = (Some(method), set(read), set(write));
            assert_eq!((plan.method, plan.read, plan.write), expected, "{changed:?} {lost:?}");
        }
    }

    #[test]
    fn steps_are_named_in_order() {
        let raid_dp = shape(StripeCode::RowDiagonal, 4);
        let plan = raid_dp.plan_update(set(&[0]), set(&[0, 1])).unwrap();
        let from = set(&[2, 3, 4, 5]);
        assert!(plan.steps().eq([
            Step::Reconstruct { lost: set(&[1]), from },
            Step::Encode { parity: set(&[4, 5]) }
        ]));
        assert_eq!(plan.blocks_added(raid_dp), 4 * 2 + 4 * 2);
        let plan =
            raid_dp.plan_update_by(UpdateMethod::Subtraction, set(&[0]), MemberSet::EMPTY).unwrap();
        assert!(plan.steps().eq([Step::Subtract { changed: set(&[0]), parity: set(&[4, 5]) }]));
        assert_eq!(plan.blocks_added(raid_dp), 4);
    }

    #[test]
    fn impossible_plans_are_errors() {
        let raid4 = shape(StripeCode::Row, 4);
        assert_eq!(
            raid4
                .plan_update_by(UpdateMethod::FullStripe, set(&[0, 1]), MemberSet::EMPTY)
                .unwrap_err()
                .to_string(),
            "a full-stripe write changes all 4 data blocks of a stripe; only 2 change"
        );
        assert_eq!(
            raid4
                .plan_update_by(UpdateMethod::Subtraction, set(&[4]), MemberSet::EMPTY)
                .unwrap_err()
                .to_string(),
            "blocks {4} hold no data: a stripe of 4+1 has data blocks 0 to 3"
        );
        for (method, changed, message) in [
            (UpdateMethod::Subtraction, 1, "subtraction needs blocks {1} as they were, which are"),
            (UpdateMethod::Recalculation, 0, "recalculation needs blocks {1} as they were, which"),
        ] {
            let error = raid4.plan_update_by(method, set(&[changed]), set(&[1])).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
        let lost = set(&[0, 1]);
        assert!(matches!(
            raid4.plan_update_by(UpdateMethod::Subtraction, set(&[2]), lost),
            Err(PlanError::DataLoss(DataLoss { gone, .. })) if gone == lost
        ));
    }

    #[test]
    #[should_panic(expected = "a stripe of 4+1 has no blocks {9}")]
    fn members_are_of_the_stripe() {
        let _ = shape(StripeCode::Row, 4).plan_read(set(&[0]), set(&[9]));
    }
}
