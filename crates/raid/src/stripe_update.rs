//! The update of a stripe of a parity group: what it reads and writes.
//!
//! If part of a stripe changes, there are two ways to update its parity. If all of it changes, the
//! update reads nothing. With `N` data blocks in a stripe, `d` of them changed, and `p`
//! parity blocks:
//!
//! | method | reads | writes |
//! |---|---|---|
//! | [subtraction](UpdateMethod::Subtraction) | `d + p` | `d + p` |
//! | [recalculation](UpdateMethod::Recalculation) | `N - d` | `d + p` |
//! | [full stripe](UpdateMethod::FullStripe), `d = N` | none | `N + p` |

use crate::update_method::UpdateMethod;
use crate::{DataLoss, MemberSet, Parity, ParityGroup, SpindleSet, StripePlan, StripeShape};
use std::error::Error;
use std::fmt;

/// The spindles to read, then the spindles to write: one block of the stripe on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StripeUpdate {
    /// How parity is computed.
    pub method: UpdateMethod,
    /// Spindles to read before anything is written.
    pub read: SpindleSet,
    /// Spindles to write: those changed and those of parity.
    pub write: SpindleSet,
    shape: StripeShape,
}

impl StripeUpdate {
    /// Blocks read and written: the number of spindle commands if none are merged with others.
    #[inline]
    pub const fn commands(&self) -> u32 {
        self.read.len() as u32 + self.write.len() as u32
    }

    /// The update as a plan that [`StripeBytes`](crate::StripeBytes) carries out. Equals
    /// [`StripeShape::plan_update_by`] with the same method, the same changes and nothing lost.
    ///
    /// # Panics
    ///
    /// If the sets were altered, so that they are no update of such a stripe by such a method.
    ///
    /// ```
    /// use strewn_raid::{Member, Parity, ParityGroup, SpindleSet, StripeBytes};
    ///
    /// let group = ParityGroup::new(Parity::Raid4, 4, 1000)?;
    /// let plan = group.plan_stripe(SpindleSet::first(3)).to_plan();
    /// assert_eq!(plan.read.to_string(), "{3}");
    ///
    /// let mut bytes = StripeBytes::new(group.stripe_shape(), 4096)?;
    /// for member in plan.read.iter() {
    ///     bytes.old_contents(member).fill(8); // from its spindle
    /// }
    /// for member in plan.changed.iter() {
    ///     bytes.new_contents(member).fill(1 << member.0);
    /// }
    /// bytes.carry_out(&plan)?;
    /// assert_eq!(bytes.block(Member(4)), Some(&[1 ^ 2 ^ 4 ^ 8; 4096][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_plan(&self) -> StripePlan {
        let shape = self.shape;
        let write = MemberSet(self.write.0);
        let plan = shape.update(self.method, write.intersection(shape.data()), MemberSet::EMPTY);
        match plan {
            Ok(plan) if plan.write == write && plan.read == MemberSet(self.read.0) => plan,
            _ => panic!("{self:?} is not an update of a stripe of {shape}"),
        }
    }
}

/// Why a stripe update cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A full-stripe write was requested, but part of the stripe does not change.
    PartialStripe {
        /// The data blocks that change.
        changed: u16,
        /// The data spindles of the group.
        data_spindles: u16,
    },
    /// A changed block holds no data.
    NotDataBlocks {
        /// The blocks that hold no data.
        extra: MemberSet,
        /// The stripe.
        shape: StripeShape,
    },
    /// The requested method needs lost contents.
    NeedsLost {
        /// The requested method.
        method: UpdateMethod,
        /// The lost blocks whose contents it needs.
        lost: MemberSet,
    },
    /// More blocks of the stripe are lost than its parity covers.
    DataLoss(DataLoss),
}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartialStripe { changed, data_spindles } => write!(
                formatter,
                "a full-stripe write changes all {data_spindles} data blocks of a stripe; only \
                 {changed} change"
            ),
            Self::NotDataBlocks { extra, shape } => write!(
                formatter,
                "blocks {extra} hold no data: a stripe of {shape} has data blocks 0 to {}",
                shape.data_blocks() - 1
            ),
            Self::NeedsLost { method, lost } => {
                let other = match method {
                    UpdateMethod::Recalculation => UpdateMethod::Subtraction,
                    _ => UpdateMethod::Recalculation,
                };
                write!(
                    formatter,
                    "{method} needs the old contents of blocks {lost}, which are lost; only {other} \
                     can supply them"
                )
            }
            Self::DataLoss(inner) => inner.fmt(formatter),
        }
    }
}

impl Error for PlanError {}

impl From<DataLoss> for PlanError {
    fn from(inner: DataLoss) -> Self {
        Self::DataLoss(inner)
    }
}

impl ParityGroup {
    /// Plans an update of the blocks of a stripe on the spindles `changed`, by the method that reads
    /// and writes the fewest blocks.
    ///
    /// If subtraction and recalculation cost the same, recalculation wins: it reads other spindles
    /// than it writes, so no spindle has to rotate to the same sector a second time. With RAID-DP on
    /// 20 spindles, subtraction is used for up to 7 changed blocks and recalculation from 8.
    ///
    /// If nothing changes, nothing is read or written. Without parity nothing is read, and either
    /// method does the same.
    ///
    /// # Panics
    ///
    /// If `changed` has a spindle that is not a data spindle of the group.
    ///
    /// ```
    /// use strewn_raid::{Parity, ParityGroup, SpindleSet, UpdateMethod};
    ///
    /// let group = ParityGroup::new(Parity::Raid4, 7, 1000)?;
    /// let update = group.plan_stripe(SpindleSet::first(5));
    /// assert_eq!(update.method, UpdateMethod::Recalculation);
    /// assert_eq!(update.read.to_string(), "{5, 6}");
    /// assert_eq!(update.write.to_string(), "{0, 1, 2, 3, 4, 7}");
    /// # Ok::<(), strewn_raid::LayoutError>(())
    /// ```
    #[inline]
    pub fn plan_stripe(&self, changed: SpindleSet) -> StripeUpdate {
        let data = self.data_spindle_set();
        assert!(changed.is_subset(data), "only data spindles change, not all of {changed}");
        let subtraction_reads = changed.len() + self.parity().spindles();
        let recalculation_reads = self.data_spindles() - changed.len();
        let method = if changed == data {
            UpdateMethod::FullStripe
        } else if changed.is_empty()
            || (self.parity() != Parity::None && subtraction_reads < recalculation_reads)
        {
            UpdateMethod::Subtraction
        } else {
            UpdateMethod::Recalculation
        };
        self.update(method, changed)
    }

    /// The update of the data blocks `changed` by `method`, even if another is cheaper.
    #[inline]
    pub(crate) fn update(&self, method: UpdateMethod, changed: SpindleSet) -> StripeUpdate {
        let shape = self.stripe_shape();
        if changed.is_empty() {
            let none = SpindleSet::EMPTY;
            return StripeUpdate { method, read: none, write: none, shape };
        }
        let write = changed.union(self.parity_spindles());
        if self.parity() == Parity::None {
            return StripeUpdate { method, read: SpindleSet::EMPTY, write, shape };
        }
        let read = match method {
            UpdateMethod::FullStripe => SpindleSet::EMPTY,
            UpdateMethod::Subtraction => write,
            UpdateMethod::Recalculation => self.data_spindle_set().difference(changed),
        };
        // Subtraction reads exactly what it writes; recalculation reads only what it does not write.
        let overlap = read.intersection(write);
        assert!(
            if method == UpdateMethod::Subtraction { overlap == write } else { overlap.is_empty() },
            "{method} of {changed} reads {read} and writes {write}"
        );
        StripeUpdate { method, read, write, shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SpindleIndex;
    use proptest::prelude::*;

    fn group(parity: Parity, data_spindles: u16) -> ParityGroup {
        ParityGroup::new(parity, data_spindles, 64).unwrap()
    }

    /// The cross-over for 18 data spindles and 2 of parity.
    #[test]
    fn cross_over_of_twenty_spindles() {
        use UpdateMethod::{FullStripe, Recalculation, Subtraction};
        let group = group(Parity::RaidDp, 18);
        for (changed, method, reads, writes) in [
            (1, Subtraction, 3, 3),
            (2, Subtraction, 4, 4),
            (3, Subtraction, 5, 5),
            (4, Subtraction, 6, 6),
            (5, Subtraction, 7, 7),
            (6, Subtraction, 8, 8),
            (7, Subtraction, 9, 9),
            (8, Recalculation, 10, 10),
            (9, Recalculation, 9, 11),
            (10, Recalculation, 8, 12),
            (11, Recalculation, 7, 13),
            (12, Recalculation, 6, 14),
            (13, Recalculation, 5, 15),
            (14, Recalculation, 4, 16),
            (15, Recalculation, 3, 17),
            (16, Recalculation, 2, 18),
            (17, Recalculation, 1, 19),
            (18, FullStripe, 0, 20),
        ] {
            let update = group.plan_stripe(SpindleSet::first(changed));
            assert_eq!(update.method, method, "{changed} changed");
            assert_eq!((update.read.len(), update.write.len()), (reads, writes), "{changed}");
        }
    }

    #[test]
    fn cross_over_of_eight_spindles_with_raid4() {
        use UpdateMethod::{FullStripe, Recalculation, Subtraction};
        let group = group(Parity::Raid4, 7);
        let methods = (1..=7).map(|count| group.plan_stripe(SpindleSet::first(count)).method);
        assert!(methods.eq([
            Subtraction,
            Subtraction,
            Recalculation,
            Recalculation,
            Recalculation,
            Recalculation,
            FullStripe
        ]));
    }

    #[test]
    fn no_change_is_no_work() {
        let group = group(Parity::RaidDp, 18);
        assert_eq!(group.plan_stripe(SpindleSet::EMPTY).commands(), 0);
        for method in [UpdateMethod::Subtraction, UpdateMethod::Recalculation] {
            assert_eq!(group.update(method, SpindleSet::EMPTY).commands(), 0);
        }
    }

    #[test]
    #[should_panic(expected = "only data spindles change")]
    fn parity_is_not_changed_by_hand() {
        group(Parity::RaidDp, 18).plan_stripe(SpindleSet::single(SpindleIndex(18)));
    }

    proptest! {
        #[test]
        fn cheapest_and_no_read_in_vain(
            raid_dp: bool, data in 1..=26_u16, bits: u64,
        ) {
            let (parity, data) =
                if raid_dp { (Parity::RaidDp, data) } else { (Parity::Raid4, data.min(13)) };
            let group = group(parity, data);
            let all = group.data_spindle_set();
            let changed = SpindleSet(bits).intersection(all);
            let update = group.plan_stripe(changed);

            for method in
                [UpdateMethod::FullStripe, UpdateMethod::Subtraction, UpdateMethod::Recalculation]
            {
                if method != UpdateMethod::FullStripe || changed == all {
                    let other = group.update(method, changed);
                    prop_assert!(update.commands() <= other.commands());
                    if method == update.method {
                        prop_assert_eq!(update, other);
                    }
                }
            }
            if changed.is_empty() {
                return Ok(());
            }
            prop_assert_eq!(update.write, changed.union(group.parity_spindles()));
            match update.method {
                UpdateMethod::FullStripe => prop_assert!(update.read.is_empty()),
                UpdateMethod::Subtraction => prop_assert_eq!(update.read, update.write),
                UpdateMethod::Recalculation => {
                    prop_assert!(update.read.intersection(update.write).is_empty());
                    prop_assert_eq!(update.read.union(changed), all);
                }
            }
        }
    }
}
