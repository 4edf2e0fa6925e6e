//! The layout of a file over objects: RAID-5 computed by the file's clients.

use std::ops::Range;

use crate::{LayoutError, Raid5Group};
use crate::{Member, MemberSet, SECTOR_BYTES, StripeShape, StripedLayout};

/// How files are laid out over objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLayoutConfig {
    /// The blades: each has one object of a file.
    pub blades: u16,
    /// Objects of a parity group, that of parity included: 3 to 64, and no more than there are blades.
    pub width: u16,
    /// Bytes that go to one object before the next one has its turn.
    pub unit_bytes: u64,
    /// Stripes that go to a parity group before the next one has its turn.
    pub depth: u64,
}

impl ObjectLayoutConfig {
    /// The stripe unit of [`new`](Self::new): 64 KiB. Chosen.
    pub const DEFAULT_UNIT_BYTES: u64 = 64 << 10;

    /// Parity groups of `width` objects on `blades`, in units of 64 KiB, each with one stripe before the next has its
    /// turn.
    #[must_use]
    pub fn new(blades: u16, width: u16) -> Self {
        Self { blades, width, unit_bytes: Self::DEFAULT_UNIT_BYTES, depth: 1 }
    }

    /// Sets the [bytes of a stripe unit](Self::unit_bytes).
    #[must_use]
    pub fn with_unit_bytes(self, unit_bytes: u64) -> Self {
        Self { unit_bytes, ..self }
    }

    /// Sets the [stripes of a parity group](Self::depth).
    #[must_use]
    pub fn with_depth(self, depth: u64) -> Self {
        Self { depth, ..self }
    }
}

/// Where a stripe unit of a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectUnit {
    /// The blade whose object has it.
    pub blade: u16,
    /// Its first sector in that object.
    pub sector: u64,
}

/// A file laid out over objects, one on each blade, by the client that writes it.
///
/// The terms are those of RFC 5664 (object-based pNFS, by Panasas and others), section 5.3: a file is cut into *stripe
/// units*. A *parity group* is `width` objects, of which one holds a stripe's parity, rotated as in a left-symmetric
/// [`Raid5Group`]. After `depth` stripes, the next parity group has its turn. It takes the blades that follow, around
/// the end, so every blade gets the same share, whether or not the width divides their number.
///
/// An object holds its units without gaps, in the order of the file.
///
/// ```
/// use strewn_raid::{ObjectLayout, ObjectLayoutConfig, ObjectUnit};
///
/// // 8 data units and one of parity, on 10 blades.
/// let config = ObjectLayoutConfig::new(10, 9);
/// let layout = ObjectLayout::new(config, 0, 1 << 30)?;
/// assert_eq!(layout.stripe_sectors(), 8 * 128);
/// // The parity of stripe 0 is on blade 8, and that of stripe 1, which begins on blade 9, on blade 6.
/// let parity = layout.shape().row_parity();
/// assert_eq!(layout.unit(0, parity), ObjectUnit { blade: 8, sector: 0 });
/// assert_eq!(layout.unit(1, parity), ObjectUnit { blade: 6, sector: 128 });
/// # Ok::<(), strewn_raid::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// Parity within a group: its spindles are the group's objects.
    group: Raid5Group,
    width: u16,
    blades: u16,
    first_blade: u16,
    depth: u64,
    file_sectors: u64,
    /// Groups after which the same blades are in a group at the same places, and how many of them have a given blade.
    period: u64,
    per_period: u64,
    /// For each group of a period and each blade: the earlier groups of the period that have the blade.
    earlier: Vec<u16>,
}

impl ObjectLayout {
    /// Lays out a file of `file_bytes`, rounded up to whole stripes, whose first object is on `first_blade`.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if a parity group has not 3 to 64 objects or more than there are blades, if a stripe unit is
    /// not whole sectors, or a size is zero.
    ///
    /// # Panics
    ///
    /// If there is no such blade.
    pub fn new(
        config: ObjectLayoutConfig,
        first_blade: u16,
        file_bytes: u64,
    ) -> Result<Self, LayoutError> {
        let ObjectLayoutConfig { blades, width, unit_bytes, depth } = config;
        for (size, what) in [
            (depth, "the depth of a parity group"),
            (file_bytes, "a file"),
            (unit_bytes, "a stripe unit"),
        ] {
            if size == 0 {
                return Err(LayoutError::Zero(what));
            }
        }
        if width > blades {
            return Err(LayoutError::Blades { width, blades });
        }
        assert!(first_blade < blades, "there is no blade {first_blade}");
        let data_units = file_bytes.div_ceil(unit_bytes);
        let stripes = data_units.div_ceil(u64::from(width.saturating_sub(1).max(1)));
        let group = Raid5Group::new(width, unit_bytes, stripes.saturating_mul(unit_bytes))?;
        let common = greatest_common_divisor(blades, width);
        let period = u64::from(blades / common);
        let mut earlier = Vec::new();
        let mut so_far = vec![0; usize::from(blades)];
        for number in 0..period {
            earlier.extend_from_slice(&so_far);
            let start = (number * u64::from(width) + u64::from(first_blade)) % u64::from(blades);
            for position in 0..u64::from(width) {
                so_far[((start + position) % u64::from(blades)) as usize] += 1;
            }
        }
        Ok(Self {
            group,
            width,
            blades,
            first_blade,
            depth,
            file_sectors: file_bytes.div_ceil(SECTOR_BYTES),
            period,
            per_period: u64::from(width / common),
            earlier,
        })
    }

    /// The blades.
    pub fn blades(&self) -> u16 {
        self.blades
    }

    /// The shape of every stripe.
    pub fn shape(&self) -> StripeShape {
        self.group.shape()
    }

    /// Sectors of a stripe unit.
    pub fn unit_sectors(&self) -> u64 {
        self.group.unit_sectors()
    }

    /// Sectors of data in a stripe.
    pub fn stripe_sectors(&self) -> u64 {
        u64::from(self.shape().data_blocks()) * self.unit_sectors()
    }

    /// Stripes of the file.
    pub fn stripes(&self) -> u64 {
        self.group.stripes()
    }

    /// Sectors of the file.
    pub fn file_sectors(&self) -> u64 {
        self.file_sectors
    }

    /// The stripes that hold some of the file's `sectors`.
    pub fn stripes_of(&self, sectors: &Range<u64>) -> Range<u64> {
        let stripe_sectors = self.stripe_sectors();
        sectors.start / stripe_sectors..sectors.end.div_ceil(stripe_sectors)
    }

    /// Where a member of a stripe lies.
    ///
    /// # Panics
    ///
    /// If there is no such stripe, or it has no such member.
    pub fn unit(&self, stripe: u64, member: Member) -> ObjectUnit {
        let in_group = self.group.stripe(stripe).unit(member).spindle;
        let (number, stripe_of_group) = (stripe / self.depth, stripe % self.depth);
        let blades = u64::from(self.blades);
        let start = u64::from(self.first_blade) + number % self.period * u64::from(self.width);
        let blade = (start + u64::from(in_group.0)) % blades;
        let earlier = self.earlier[(number % self.period * blades + blade) as usize];
        let groups_before = number / self.period * self.per_period + u64::from(earlier);
        ObjectUnit {
            blade: blade as u16,
            sector: (groups_before * self.depth + stripe_of_group) * self.unit_sectors(),
        }
    }

    /// The members of a stripe that are on a blade.
    pub fn members_on(&self, stripe: u64, blade: u16) -> MemberSet {
        let members = self.shape().members().iter();
        members.filter(|member| self.unit(stripe, *member).blade == blade).collect()
    }

    /// Sectors of the longest object of the file.
    pub fn object_sectors(&self) -> u64 {
        // The last groups that have a blade end its object.
        let last = (self.stripes() - 1) / self.depth;
        let first_stripe = last.saturating_sub(self.period) * self.depth;
        let ends = (first_stripe..self.stripes()).flat_map(|stripe| {
            let members = self.shape().members().iter();
            members.map(move |member| self.unit(stripe, member).sector + self.unit_sectors())
        });
        ends.max().unwrap_or(0)
    }
}

fn greatest_common_divisor(one: u16, other: u16) -> u16 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn layout(blades: u16, width: u16, depth: u64, stripes: u64, first_blade: u16) -> ObjectLayout {
        let config = ObjectLayoutConfig { blades, width, unit_bytes: 1024, depth };
        let file_bytes = stripes * u64::from(width - 1) * 1024;
        ObjectLayout::new(config, first_blade, file_bytes).unwrap()
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let config = ObjectLayoutConfig { blades: 8, width: 9, unit_bytes: 65_536, depth: 1 };
        let message =
            |config| ObjectLayout::new(config, 0, 1 << 20).map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            message(config),
            "a parity group of 9 objects needs as many blades, and there are 8"
        );
        let narrow = ObjectLayoutConfig { width: 2, ..config };
        assert_eq!(message(narrow), "a RAID-5 group has 3 to 64 spindles, not 2");
        let flat = ObjectLayoutConfig { width: 8, depth: 0, ..config };
        assert_eq!(message(flat), "the depth of a parity group is zero: it must be at least 1");
    }

    #[test]
    fn as_many_blades_as_objects_are_a_raid_5_group() {
        let layout = layout(5, 5, 3, 40, 0);
        let group = Raid5Group::new(5, 1024, 40 * 1024).unwrap();
        for stripe in 0..40 {
            for (member, unit) in group.stripe(stripe).units() {
                let here = layout.unit(stripe, member);
                assert_eq!((here.blade, here.sector), (unit.spindle.0, unit.sector));
            }
        }
        assert_eq!(layout.object_sectors(), 80);
    }

    /// Over whole periods of groups and of their rotation, each blade has the same share of data and of parity.
    #[test]
    fn rotation_spreads_data_and_parity_evenly() {
        for (blades, width, depth) in [(10, 9, 1), (10, 9, 4), (30, 9, 1), (12, 8, 2), (9, 9, 1)] {
            let layout = layout(blades, width, depth, u64::from(blades * width) * depth, 3);
            let mut of_blade = BTreeMap::new();
            for stripe in 0..layout.stripes() {
                for member in layout.shape().members().iter() {
                    let is_parity = member == layout.shape().row_parity();
                    let blade = layout.unit(stripe, member).blade;
                    *of_blade.entry((blade, is_parity)).or_insert(0_u64) += 1;
                }
            }
            let counts = |parity: bool| {
                let of = of_blade.iter().filter(move |((_, is_parity), _)| *is_parity == parity);
                of.map(|(_, count)| *count).collect::<Vec<_>>()
            };
            let each = layout.stripes() / u64::from(blades);
            assert_eq!(counts(true), vec![each; blades.into()], "{blades} {width} {depth}");
            assert_eq!(counts(false), vec![each * u64::from(width - 1); blades.into()]);
        }
    }

    proptest! {
        /// Objects have their units without gaps, and in the order of the file.
        #[test]
        fn objects_are_dense(
            width in 3..=12_u16, more in 0..20_u16, depth in 1..6_u64, stripes in 1..200_u64, first: u16,
        ) {
            let blades = width + more;
            let layout = layout(blades, width, depth, stripes, first % blades);
            let mut ends = vec![0; usize::from(blades)];
            for stripe in 0..layout.stripes() {
                for member in layout.shape().members().iter() {
                    let unit = layout.unit(stripe, member);
                    let end = &mut ends[usize::from(unit.blade)];
                    prop_assert_eq!(unit.sector, *end, "stripe {}, {}", stripe, member);
                    *end += layout.unit_sectors();
                    prop_assert_eq!(layout.members_on(stripe, unit.blade), MemberSet::single(member));
                }
            }
            prop_assert_eq!(layout.object_sectors(), ends.into_iter().max().unwrap());
        }
    }
}
