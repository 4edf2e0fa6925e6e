//! Planning: what a stripe needs for a read, an update or a rebuild, whichever blocks are lost.

use crate::{DataLoss, MemberSet, PlanError, PlanStep, StripePlan, StripeShape, UpdateMethod};

impl StripeShape {
    /// The data blocks that cannot be reconstructed if `lost` are lost: none while losses do not
    /// exceed the parity blocks, otherwise every data block among them.
    ///
    /// A lost parity block counts as a loss, but holds no data: if a stripe with row-diagonal
    /// parity loses both parity blocks and one data block, only that data block is gone.
    #[inline]
    pub const fn gone(self, lost: MemberSet) -> MemberSet {
        if lost.intersection(self.members()).len() <= self.parity_blocks() {
            MemberSet::EMPTY
        } else {
            lost.intersection(self.data())
        }
    }

    /// Plans a read of the blocks `wanted` while the blocks `lost` are lost. Surviving blocks are
    /// read; lost ones are reconstructed from the rest of the stripe.
    ///
    /// A lost data block is reconstructed from all other data blocks and row parity if possible.
    /// Diagonal parity is used if row parity or a second data block is lost as well.
    ///
    /// # Errors
    ///
    /// [`DataLoss`] if a wanted block is gone. Surviving blocks can be read whatever else is lost.
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
        let plan = StripePlan {
            method: None,
            changed: MemberSet::EMPTY,
            read,
            write: MemberSet::EMPTY,
            steps: [reconstruct, None],
            shape: self,
        };
        self.assert_sound(&plan, lost);
        Ok(plan)
    }

    /// Plans an update of the data blocks `changed` while the blocks `lost` are lost, by the method
    /// that reads and writes the fewest blocks. On a tie, the method that reconstructs nothing
    /// wins; then recalculation.
    ///
    /// With nothing lost this equals [`ParityGroup::plan_stripe`](crate::ParityGroup::plan_stripe).
    /// A changed block that is lost is not written: parity absorbs it, and it can be reconstructed
    /// from there. A lost parity block is skipped.
    ///
    /// Subtraction does not need unchanged blocks, so it applies if one of those is lost.
    /// Recalculation does not need the old contents of changed blocks, so it applies if one of
    /// those is lost. With row-diagonal parity and one of each lost, the plan reads every surviving
    /// block and reconstructs the unchanged one first. That is also cheapest if all blocks change
    /// except a lost one.
    ///
    /// If nothing changes, the plan is empty. If all parity is lost, nothing is read or computed.
    ///
    /// # Errors
    ///
    /// [`DataLoss`] if more blocks are lost than there are parity blocks: parity could not absorb
    /// even the new contents.
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
            (self.cancels_out(plan, lost), plan.commands(), plan.steps().count())
        };
        let subtract = changed.is_empty() || cost(&subtraction) < cost(&recalculation);
        Ok(if subtract { subtraction } else { recalculation })
    }

    /// Plans an update of the data blocks `changed` by `method`, even if another is cheaper.
    ///
    /// # Errors
    ///
    /// [`PlanError::DataLoss`] as [`plan_update`](Self::plan_update);
    /// [`PlanError::NotDataBlocks`] if `changed` has a member that is no data block;
    /// [`PlanError::PartialStripe`] if `method` is [`UpdateMethod::FullStripe`] and `changed`
    /// lacks a data block; [`PlanError::NeedsLost`] if the method needs old contents that are lost
    /// and that only the other method could supply.
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
        if self.cancels_out(&plan, lost) {
            let lost = self.old_contents(method, changed, lost).intersection(lost);
            return Err(PlanError::NeedsLost { method, lost });
        }
        Ok(plan)
    }

    /// Plans the reconstruction of the blocks `rebuilt`, some or all of `lost`, and their write to
    /// replacement spindles. With two spindles lost and one spare, `rebuilt` is one of the two.
    ///
    /// # Errors
    ///
    /// [`DataLoss`] if more blocks are lost than there are parity blocks, unless `rebuilt` is empty.
    ///
    /// # Panics
    ///
    /// If `rebuilt` has a member that is not lost, or `lost` one that the stripe does not have.
    pub fn plan_rebuild(self, rebuilt: MemberSet, lost: MemberSet) -> Result<StripePlan, DataLoss> {
        assert!(rebuilt.is_subset(lost), "{rebuilt} are not all among the lost {lost}");
        let plan = self.plan_read(rebuilt, lost)?;
        // The only writes to lost blocks: of contents that the plan has reconstructed.
        Ok(StripePlan { write: rebuilt, ..plan })
    }

    pub(crate) fn update(
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
            shape: self,
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
            UpdateMethod::Subtraction => PlanStep::Subtract { changed, parity },
            UpdateMethod::FullStripe | UpdateMethod::Recalculation => PlanStep::Encode { parity },
        };
        plan.read = read;
        plan.steps = [reconstruct, Some(bring_up_to_date)];
        self.assert_sound(&plan, lost);
        Ok(plan)
    }

    /// The invariants of a plan that its caller relies on, and that a spindle could not report if
    /// they were broken: no lost spindle is read or written, every step has its operands, and
    /// parity is written whole.
    fn assert_sound(self, plan: &StripePlan, lost: MemberSet) {
        let StripePlan { method, changed, read, write, .. } = *plan;
        assert!(
            read.union(write).intersection(lost).is_empty(),
            "{plan:?} uses lost blocks {lost}"
        );
        let parity_left = self.parity().difference(lost);
        let written =
            if changed.is_empty() { MemberSet::EMPTY } else { changed.union(parity_left) };
        assert!(write == written.difference(lost), "{plan:?} writes other than what changes");
        let mut known = read;
        for step in plan.steps() {
            known = match step {
                PlanStep::Reconstruct { lost: rebuilt, from } => {
                    // As many equations as unknowns.
                    let sound = from.is_subset(read)
                        && rebuilt.is_subset(lost)
                        && from.len() == self.data_blocks();
                    assert!(sound, "{plan:?} reconstructs from too little");
                    known.union(rebuilt)
                }
                PlanStep::Encode { parity } => {
                    let sound = parity == parity_left
                        && self.data().difference(changed).is_subset(known)
                        && (method != Some(UpdateMethod::FullStripe) || read.is_empty());
                    assert!(sound, "{plan:?} encodes from too little");
                    known
                }
                PlanStep::Subtract { changed: subtracted, parity } => {
                    let sound = parity == parity_left
                        && subtracted == changed
                        && changed.union(parity).is_subset(known);
                    assert!(sound, "{plan:?} subtracts from too little");
                    known
                }
            };
        }
    }

    /// The blocks whose old contents a method needs to compute parity.
    fn old_contents(self, method: UpdateMethod, changed: MemberSet, lost: MemberSet) -> MemberSet {
        match method {
            UpdateMethod::FullStripe => MemberSet::EMPTY,
            UpdateMethod::Subtraction => changed.union(self.parity().difference(lost)),
            UpdateMethod::Recalculation => self.data().difference(changed),
        }
    }

    /// Whether a plan reconstructs blocks only to cancel them out again. The old contents of a
    /// changed block are reconstructed from all other blocks, which suffice to recalculate parity.
    /// The contents of an unchanged block are reconstructed from parity; if that takes all the
    /// parity there is, the other reads cancel out and subtraction remains.
    fn cancels_out(self, plan: &StripePlan, lost: MemberSet) -> bool {
        let reconstructs = plan.steps().any(|step| matches!(step, PlanStep::Reconstruct { .. }));
        let changed_lost = !plan.changed.intersection(lost).is_empty();
        reconstructs
            && match plan.method {
                Some(UpdateMethod::Subtraction) => true,
                _ => !changed_lost && self.parity().difference(lost).is_subset(plan.read),
            }
    }

    /// The reads that yield the blocks `wanted`, and the reconstruction if one is needed.
    fn obtain(
        self,
        wanted: MemberSet,
        lost: MemberSet,
    ) -> Result<(MemberSet, Option<PlanStep>), DataLoss> {
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
        let reconstruct = PlanStep::Reconstruct { lost: wanted_lost, from };
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
            "data blocks {3} are gone: blocks {3, 18, 19} of a stripe of 20 are lost, and its \
             parity covers 2"
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
            PlanStep::Reconstruct { lost: set(&[1]), from },
            PlanStep::Encode { parity: set(&[4, 5]) }
        ]));
        assert_eq!(plan.blocks_added(), 4 * 2 + 4 * 2);
        let plan =
            raid_dp.plan_update_by(UpdateMethod::Subtraction, set(&[0]), MemberSet::EMPTY).unwrap();
        assert!(plan.steps().eq([PlanStep::Subtract { changed: set(&[0]), parity: set(&[4, 5]) }]));
        assert_eq!(plan.blocks_added(), 4);
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
            (
                UpdateMethod::Subtraction,
                1,
                "subtraction needs the old contents of blocks {1}, which",
            ),
            (
                UpdateMethod::Recalculation,
                0,
                "recalculation needs the old contents of blocks {1}, which",
            ),
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
