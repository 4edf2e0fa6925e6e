//! One description of every layout with parity: the members of a stripe, and where they lie.

use strewn_base::state::SavedValue;

use crate::{BLOCK_BYTES, Parity, SECTOR_BYTES, StripeCode};
use crate::{Dbn, Member, MemberSet, ParityGroup, SpindleIndex, SpindleSet, StripeShape};

/// The members of a stripe whose locations are listed one by one: those of VRAID-5.
const LISTED: usize = 5;

/// Spindles cut into stripes of equal units, one unit on each of the spindles of a stripe.
///
/// RAID-4 and RAID-DP ([`ParityGroup`]), RAID-5 ([`Raid5Group`](crate::Raid5Group)), VRAID-5
/// ([`VraidLayout`](crate::VraidLayout)) and RAID-0 ([`Raid0Group`](crate::Raid0Group)) differ only
/// in where the members of a stripe lie. Plans are the same for all: they are made for the
/// [`shape`](Self::shape), by member, and [`stripe`](Self::stripe) gives the spindle of each member.
///
/// ```
/// use strewn_raid::{MemberSet, Parity, ParityGroup, Raid5Group, SpindleIndex, StripedLayout};
///
/// /// The spindles to read to reconstruct what spindle 1 held of a stripe.
/// fn rebuild_reads(layout: &impl StripedLayout, stripe: u64) -> Vec<u16> {
///     let stripe = layout.stripe(stripe);
///     let lost = stripe.members_on(|spindle| spindle == SpindleIndex(1));
///     let plan = stripe.shape().plan_rebuild(lost, lost).expect("one loss is made good");
///     plan.read.iter().map(|member| stripe.unit(member).spindle.0).collect()
/// }
///
/// let raid4 = ParityGroup::new(Parity::Raid4, 4, 1000)?;
/// assert_eq!(rebuild_reads(&raid4, 7), [0, 2, 3, 4]);
/// let raid5 = Raid5Group::new(5, 64 << 10, 1 << 30)?;
/// assert_eq!(rebuild_reads(&raid5, 7), [3, 4, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait StripedLayout {
    /// Spindles of the layout, parity included.
    fn spindles(&self) -> u16;

    /// The shape of every stripe.
    fn shape(&self) -> StripeShape;

    /// Stripes of the layout; they are numbered from 0 to one less.
    fn stripes(&self) -> u64;

    /// Sectors of a unit, the part of a stripe on one spindle.
    fn unit_sectors(&self) -> u64;

    /// Where the members of a stripe lie.
    ///
    /// # Panics
    ///
    /// If there is no such stripe.
    fn stripe(&self, stripe: u64) -> Stripe;

    /// The stripe and member of a sector of a spindle; `None` if the layout does not use the sector.
    /// A rebuild walks a spindle with this, one unit at a time.
    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)>;
}

/// Sectors of a chunk of `chunk_bytes`; `None` if they are not 1 to 2^32 - 1 whole ones.
pub(crate) fn chunk_sectors(chunk_bytes: u64) -> Option<u64> {
    let sectors = chunk_bytes / SECTOR_BYTES;
    let are_good =
        chunk_bytes.is_multiple_of(SECTOR_BYTES) && (1..=u64::from(u32::MAX)).contains(&sectors);
    are_good.then_some(sectors)
}

/// Where a member of a stripe lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct StripeUnit {
    /// The spindle that holds the unit.
    pub spindle: SpindleIndex,
    /// The first sector of the unit on that spindle.
    pub sector: u64,
}

/// Where the members of one stripe lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    shape: StripeShape,
    placement: Placement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// Member `i` is on spindle `(first + i) mod spindles`, all at the same sector.
    Around { first: u16, spindles: u16, sector: u64 },
    /// Each member has its own spindle and sector.
    Listed { spindles: [SpindleIndex; LISTED], sectors: [u64; LISTED] },
}

impl Stripe {
    /// A stripe over as many spindles as it has members, all at `sector`, from spindle `first`
    /// on and around.
    pub(crate) fn around(shape: StripeShape, first: u16, sector: u64) -> Self {
        let spindles = shape.blocks();
        debug_assert!(first < spindles);
        Self { shape, placement: Placement::Around { first, spindles, sector } }
    }

    /// A stripe of a single data unit, on one of `spindles`.
    pub(crate) fn single(spindle: u16, spindles: u16, sector: u64) -> Self {
        debug_assert!(spindle < spindles);
        let placement = Placement::Around { first: spindle, spindles, sector };
        Self { shape: StripeShape::checked(StripeCode::None, 1), placement }
    }

    /// A stripe of four data units and one of parity, in this order.
    pub(crate) fn listed(units: [StripeUnit; LISTED]) -> Self {
        Self {
            shape: StripeShape::checked(StripeCode::Row, LISTED as u16 - 1),
            placement: Placement::Listed {
                spindles: units.map(|unit| unit.spindle),
                sectors: units.map(|unit| unit.sector),
            },
        }
    }

    /// The shape of the stripe, for which plans are made.
    #[inline]
    pub const fn shape(&self) -> StripeShape {
        self.shape
    }

    /// Where a member lies.
    ///
    /// # Panics
    ///
    /// If the stripe has no such member.
    #[inline]
    pub fn unit(&self, member: Member) -> StripeUnit {
        assert!(self.shape.members().contains(member), "no {member} in a stripe of {}", self.shape);
        match self.placement {
            Placement::Around { first, spindles, sector } => {
                let around = first + u16::from(member.0);
                let spindle = if around < spindles { around } else { around - spindles };
                StripeUnit { spindle: SpindleIndex(spindle), sector }
            }
            Placement::Listed { spindles, sectors } => {
                StripeUnit { spindle: spindles[member.index()], sector: sectors[member.index()] }
            }
        }
    }

    /// All members with their locations: data, then parity.
    pub fn units(&self) -> impl Iterator<Item = (Member, StripeUnit)> + '_ {
        self.shape.members().iter().map(|member| (member, self.unit(member)))
    }

    /// The members on the spindles for which `chosen` returns true: for example, failed spindles.
    pub fn members_on(&self, mut chosen: impl FnMut(SpindleIndex) -> bool) -> MemberSet {
        self.units().filter(|(_, unit)| chosen(unit.spindle)).map(|(member, _)| member).collect()
    }
}

impl ParityGroup {
    /// The members of a group's stripes that lie on `spindles`: member `i` is on spindle `i`.
    ///
    /// # Panics
    ///
    /// If a spindle is not the group's.
    #[inline]
    pub fn members_on(&self, spindles: SpindleSet) -> MemberSet {
        let all = SpindleSet::first(self.spindles());
        assert!(spindles.is_subset(all), "not all of {spindles} are spindles of the group");
        MemberSet(spindles.0)
    }

    /// The spindles that hold `members` of a group's stripes: member `i` is on spindle `i`.
    ///
    /// # Panics
    ///
    /// If a member is not of the group's stripes.
    #[inline]
    pub fn spindles_of(&self, members: MemberSet) -> SpindleSet {
        let all = self.stripe_shape().members();
        assert!(members.is_subset(all), "not all of {members} are members of a stripe");
        SpindleSet(members.0)
    }

    /// The shape of the group's stripes.
    #[inline]
    pub const fn stripe_shape(&self) -> StripeShape {
        let code = match self.parity() {
            Parity::None => StripeCode::None,
            Parity::Raid4 => StripeCode::Row,
            Parity::RaidDp => StripeCode::RowDiagonal,
        };
        StripeShape::checked(code, self.data_spindles())
    }
}

/// A unit is a block of 4 KiB, and stripe `s` is block `s` of every spindle.
impl StripedLayout for ParityGroup {
    fn spindles(&self) -> u16 {
        Self::spindles(self)
    }

    fn shape(&self) -> StripeShape {
        self.stripe_shape()
    }

    fn stripes(&self) -> u64 {
        Self::stripes(self)
    }

    fn unit_sectors(&self) -> u64 {
        BLOCK_BYTES / SECTOR_BYTES
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Stripe {
        assert!(stripe < self.blocks_per_spindle(), "no stripe at {}", Dbn(stripe));
        Stripe::around(self.stripe_shape(), 0, stripe * self.unit_sectors())
    }

    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)> {
        let stripe = sector / self.unit_sectors();
        (spindle.0 < Self::spindles(self) && stripe < self.blocks_per_spindle())
            .then_some((stripe, Member(spindle.0 as u8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Raid5Group, Vbn, VraidConfig, VraidLayout};

    #[test]
    fn a_parity_group_keeps_its_members_in_order() {
        let group = ParityGroup::new(Parity::RaidDp, 4, 100).unwrap();
        let stripe = group.stripe(99);
        for (member, unit) in stripe.units() {
            assert_eq!(unit, StripeUnit { spindle: SpindleIndex(member.0.into()), sector: 792 });
            assert_eq!(group.stripe_on(unit.spindle, unit.sector + 7), Some((99, member)));
        }
        assert_eq!(group.stripe_on(SpindleIndex(0), 800), None);
        assert_eq!(group.stripe_on(SpindleIndex(6), 0), None);
        let spindles = SpindleSet::first(2).with(SpindleIndex(5));
        let members = group.members_on(spindles);
        assert_eq!(group.spindles_of(members), spindles);
        assert_eq!(stripe.members_on(|spindle| spindles.contains(spindle)), members);
    }

    #[test]
    fn what_is_past_the_end_is_refused_in_every_build() {
        use std::hint::black_box;
        let panics =
            |what: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).is_err();
        let group = ParityGroup::new(Parity::RaidDp, 4, 100).unwrap();
        let raid5 = Raid5Group::new(5, 1 << 16, 1 << 24).unwrap();
        let vraid = VraidLayout::new(VraidConfig::new(vec![6]), 1 << 30).unwrap();
        let (raid5_end, vraid_end) = (raid5.lun_capacity_sectors(), vraid.lun_capacity_sectors());
        let past_the_end: [&dyn Fn(); 9] = [
            &|| _ = black_box(group.locate(Vbn(400))),
            &|| _ = black_box(group.vbn(SpindleIndex(4), Dbn(0))),
            &|| _ = black_box(group.vbn(SpindleIndex(0), Dbn(100))),
            &|| _ = black_box(group.stripe(100).unit(Member(0))),
            &|| _ = black_box(group.stripe(99).unit(Member(6))),
            &|| _ = black_box(raid5.locate(raid5_end)),
            &|| _ = black_box(raid5.stripe(raid5.stripes())),
            &|| _ = black_box(vraid.locate(vraid_end)),
            &|| _ = black_box(vraid.stripe(vraid.stripes())),
        ];
        for (index, what) in past_the_end.iter().enumerate() {
            assert!(panics(what), "case {index}");
        }
        assert!(!panics(&|| _ = (raid5.locate(raid5_end - 1), vraid.locate(vraid_end - 1))));
    }

    #[test]
    fn plans_without_loss_are_the_group_s_own() {
        let kinds = [(Parity::None, 6), (Parity::Raid4, 7), (Parity::RaidDp, 11)];
        for (parity, data_spindles) in kinds {
            let group = ParityGroup::new(parity, data_spindles, 64).unwrap();
            for bits in 0..1 << data_spindles {
                let changed = SpindleSet(bits);
                let own = group.plan_stripe(changed);
                let shape = group.stripe_shape();
                let plan = shape.plan_update(group.members_on(changed), MemberSet::EMPTY).unwrap();
                assert_eq!(plan.method, Some(own.method), "{changed}");
                assert_eq!(group.spindles_of(plan.read), own.read, "{changed}");
                assert_eq!(group.spindles_of(plan.write), own.write, "{changed}");
                let by_method = shape.plan_update_by(own.method, plan.changed, MemberSet::EMPTY);
                assert_eq!(Ok(own.to_plan()), by_method, "{changed}");
            }
        }
    }
}
