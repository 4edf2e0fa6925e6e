//! Parity groups: RAID-4 and RAID-DP, with parity on dedicated spindles.

use crate::reciprocal::Reciprocal;
use crate::{BLOCK_BYTES, Dbn, SpindleIndex, SpindleSet, Vbn};
use std::fmt;
use thiserror::Error;

/// The kind of parity of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parity {
    /// One spindle of row parity. Survives the loss of one spindle.
    Raid4,
    /// One spindle of row parity and one of diagonal parity. Survives the loss of any two
    /// (row-diagonal parity: Corbett et al., FAST 2004).
    ///
    /// The diagonals run inside a block: each 4 KiB block is cut into the rows of one RDP
    /// stripe, so a change of one block changes exactly one block of each parity.
    RaidDp,
}

impl Parity {
    /// Spindles of a group that hold parity: 1 or 2.
    #[inline]
    pub const fn spindles(self) -> u16 {
        match self {
            Self::Raid4 => 1,
            Self::RaidDp => 2,
        }
    }

    /// The most spindles a group may have, parity included: 14 or 28, the limits of Data ONTAP 7
    /// for Fibre Channel drives.
    pub const fn most_spindles(self) -> u16 {
        match self {
            Self::Raid4 => 14,
            Self::RaidDp => 28,
        }
    }

    const fn holds(self) -> &'static str {
        match self {
            Self::Raid4 => "1 holds",
            Self::RaidDp => "2 hold",
        }
    }
}

impl fmt::Display for Parity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Raid4 => "RAID-4",
            Self::RaidDp => "RAID-DP",
        })
    }
}

/// Why a parity group cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// There are too few or too many data spindles for the kind of parity.
    #[error(
        "a {parity} group has {} to {} spindles, of which {} parity; {data_spindles} data \
         spindle{} make{} {}",
        .parity.spindles() + 1,
        .parity.most_spindles(),
        .parity.holds(),
        if *.data_spindles == 1 { "" } else { "s" },
        if *.data_spindles == 1 { "s" } else { "" },
        u32::from(*.data_spindles) + u32::from(.parity.spindles())
    )]
    SpindleCount {
        /// The kind of parity asked for.
        parity: Parity,
        /// The data spindles asked for.
        data_spindles: u16,
    },
    /// The spindles have no blocks.
    #[error("a spindle of a {parity} group has 1 block or more, not 0")]
    NoBlocks {
        /// The kind of parity asked for.
        parity: Parity,
    },
    /// The group has more bytes than 64 bits can count.
    #[error(
        "{data_spindles} data spindles of {blocks_per_spindle} blocks of 4 KiB are more bytes \
         than 64 bits can count"
    )]
    TooLarge {
        /// The data spindles asked for.
        data_spindles: u16,
        /// The blocks asked for on each spindle.
        blocks_per_spindle: u64,
    },
}

/// Where a block of a group lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockLocation {
    /// The data spindle that holds the block.
    pub spindle: SpindleIndex,
    /// The block on that spindle, which is also the number of its stripe.
    pub dbn: Dbn,
}

/// A RAID-4 or RAID-DP group: data spindles of equal size, then its parity spindles.
///
/// Blocks are numbered along a spindle first, as WAFL numbers them:
/// `vbn = data_spindle * blocks_per_spindle + dbn`. A run of VBNs is a run on one spindle, and
/// stripe `s` is the blocks with `dbn = s`.
///
/// Data spindles come first, `0` to `data_spindles - 1`, then row parity, then diagonal parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParityGroup {
    parity: Parity,
    data_spindles: u16,
    blocks_per_spindle: Reciprocal,
}

impl ParityGroup {
    /// A group of `data_spindles` and the spindles its parity needs, each of
    /// `blocks_per_spindle` blocks of 4 KiB.
    ///
    /// # Errors
    ///
    /// [`GeometryError`] if a RAID-4 group would not have 2 to 14 spindles or a RAID-DP group
    /// 3 to 28, when a spindle would have no block, and when the group's bytes overflow.
    pub fn new(
        parity: Parity,
        data_spindles: u16,
        blocks_per_spindle: u64,
    ) -> Result<Self, GeometryError> {
        let most_data_spindles = parity.most_spindles() - parity.spindles();
        if !(1..=most_data_spindles).contains(&data_spindles) {
            return Err(GeometryError::SpindleCount { parity, data_spindles });
        }
        if blocks_per_spindle == 0 {
            return Err(GeometryError::NoBlocks { parity });
        }
        if blocks_per_spindle > u64::MAX / BLOCK_BYTES / u64::from(data_spindles) {
            return Err(GeometryError::TooLarge { data_spindles, blocks_per_spindle });
        }
        Ok(Self { parity, data_spindles, blocks_per_spindle: Reciprocal::new(blocks_per_spindle) })
    }

    /// The kind of parity.
    #[inline]
    pub const fn parity(&self) -> Parity {
        self.parity
    }

    /// Spindles that hold data.
    #[inline]
    pub const fn data_spindles(&self) -> u16 {
        self.data_spindles
    }

    /// Spindles in all, parity included.
    #[inline]
    pub const fn spindles(&self) -> u16 {
        self.data_spindles + self.parity.spindles()
    }

    /// Blocks on each spindle.
    #[inline]
    pub fn blocks_per_spindle(&self) -> u64 {
        self.blocks_per_spindle.divisor()
    }

    /// Stripes in the group: as many as a spindle has blocks.
    #[inline]
    pub fn stripes(&self) -> u64 {
        self.blocks_per_spindle()
    }

    /// Data blocks in the group; VBNs run from 0 to one less.
    #[inline]
    pub fn total_blocks(&self) -> u64 {
        u64::from(self.data_spindles) * self.blocks_per_spindle()
    }

    /// Bytes of data that the group holds, without parity. The reserve of a file system is not
    /// subtracted.
    #[inline]
    pub fn usable_bytes(&self) -> u64 {
        self.total_blocks() * BLOCK_BYTES
    }

    /// The data spindles as a set.
    #[inline]
    pub fn data_spindle_set(&self) -> SpindleSet {
        SpindleSet::first(self.data_spindles)
    }

    /// The parity spindles: row parity, and for RAID-DP diagonal parity after it.
    #[inline]
    pub fn parity_spindles(&self) -> SpindleSet {
        SpindleSet::first(self.spindles()).difference(self.data_spindle_set())
    }

    /// The spindle of row parity: the first after the data.
    #[inline]
    pub const fn row_parity_spindle(&self) -> SpindleIndex {
        SpindleIndex(self.data_spindles)
    }

    /// The spindle of diagonal parity: the last of a RAID-DP group, none of a RAID-4 group.
    #[inline]
    pub const fn diagonal_parity_spindle(&self) -> Option<SpindleIndex> {
        match self.parity {
            Parity::Raid4 => None,
            Parity::RaidDp => Some(SpindleIndex(self.data_spindles + 1)),
        }
    }

    /// The VBN of block `dbn` of data spindle `spindle`.
    ///
    /// # Panics
    ///
    /// In debug builds, if `spindle` is not a data spindle or `dbn` is past its end.
    #[inline]
    pub fn vbn(&self, spindle: SpindleIndex, dbn: Dbn) -> Vbn {
        debug_assert!(spindle.0 < self.data_spindles, "{spindle} holds no data");
        debug_assert!(dbn.0 < self.blocks_per_spindle(), "{dbn} is past the end of a spindle");
        Vbn(u64::from(spindle.0) * self.blocks_per_spindle() + dbn.0)
    }

    /// Where `vbn` lies.
    ///
    /// # Panics
    ///
    /// In debug builds, if `vbn` is [`total_blocks`](Self::total_blocks) or above.
    #[inline]
    pub fn locate(&self, vbn: Vbn) -> BlockLocation {
        debug_assert!(vbn.0 < self.total_blocks(), "{vbn} is past the end of the group");
        let (spindle, dbn) = self.blocks_per_spindle.divide(vbn.0);
        BlockLocation { spindle: SpindleIndex(spindle as u16), dbn: Dbn(dbn) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_group() -> impl Strategy<Value = ParityGroup> {
        let most_blocks = u64::MAX / BLOCK_BYTES / 26;
        prop_oneof![(Just(Parity::Raid4), 1..=13_u16), (Just(Parity::RaidDp), 1..=26_u16)]
            .prop_flat_map(move |(parity, data)| {
                (Just(parity), Just(data), prop_oneof![1..5000_u64, 1..=most_blocks])
            })
            .prop_map(|(parity, data, blocks)| ParityGroup::new(parity, data, blocks).unwrap())
    }

    #[test]
    fn limits_of_both_kinds() {
        for (parity, most_data) in [(Parity::Raid4, 13), (Parity::RaidDp, 26)] {
            assert!(ParityGroup::new(parity, 0, 10).is_err());
            assert!(ParityGroup::new(parity, 1, 10).is_ok());
            assert!(ParityGroup::new(parity, most_data, 10).is_ok());
            assert!(ParityGroup::new(parity, most_data + 1, 10).is_err());
            assert!(ParityGroup::new(parity, u16::MAX, 10).is_err());
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let message = |parity, data_spindles, blocks| {
            ParityGroup::new(parity, data_spindles, blocks).unwrap_err().to_string()
        };
        assert_eq!(
            message(Parity::RaidDp, 27, 1),
            "a RAID-DP group has 3 to 28 spindles, of which 2 hold parity; 27 data spindles make 29"
        );
        assert_eq!(
            message(Parity::Raid4, 0, 1),
            "a RAID-4 group has 2 to 14 spindles, of which 1 holds parity; 0 data spindles make 1"
        );
        assert_eq!(
            message(Parity::RaidDp, 18, 0),
            "a spindle of a RAID-DP group has 1 block or more, not 0"
        );
        assert_eq!(
            message(Parity::RaidDp, 2, 1 << 51),
            "2 data spindles of 2251799813685248 blocks of 4 KiB are more bytes than 64 bits can \
             count"
        );
    }

    #[test]
    fn parity_follows_the_data() {
        let raid4 = ParityGroup::new(Parity::Raid4, 7, 1).unwrap();
        assert_eq!(raid4.row_parity_spindle(), SpindleIndex(7));
        assert_eq!(raid4.diagonal_parity_spindle(), None);
        assert_eq!(raid4.parity_spindles().to_string(), "{7}");

        let raid_dp = ParityGroup::new(Parity::RaidDp, 18, 1).unwrap();
        assert_eq!(raid_dp.row_parity_spindle(), SpindleIndex(18));
        assert_eq!(raid_dp.diagonal_parity_spindle(), Some(SpindleIndex(19)));
        assert_eq!(raid_dp.parity_spindles().to_string(), "{18, 19}");
        assert_eq!(raid_dp.spindles(), 20);
    }

    /// 18 data spindles right-sized to 136,000 MiB: 2390.6 GiB before the file system's reserve.
    #[test]
    fn capacity_of_the_twenty_spindle_group() {
        let group = ParityGroup::new(Parity::RaidDp, 18, 136_000 * 256).unwrap();
        assert_eq!(group.usable_bytes(), 18 * 136_000 * (1 << 20));
        assert_eq!(group.stripes(), 34_816_000);
    }

    #[test]
    fn every_block_of_small_groups_has_one_place() {
        for (parity, data_spindles) in [(Parity::Raid4, 3), (Parity::RaidDp, 26)] {
            let group = ParityGroup::new(parity, data_spindles, 37).unwrap();
            let places = (0..group.total_blocks())
                .map(|vbn| {
                    let place = group.locate(Vbn(vbn));
                    assert!(place.spindle.0 < data_spindles && place.dbn.0 < 37);
                    assert_eq!(group.vbn(place.spindle, place.dbn), Vbn(vbn));
                    place
                })
                .collect::<std::collections::BTreeSet<_>>();
            assert_eq!(places.len() as u64, group.total_blocks());
        }
    }

    proptest! {
        #[test]
        fn blocks_map_there_and_back(group in any_group(), anywhere: u64) {
            let last = group.total_blocks() - 1;
            for vbn in [0, anywhere % (last + 1), last].map(Vbn) {
                let place = group.locate(vbn);
                prop_assert_eq!(u64::from(place.spindle.0), vbn.0 / group.blocks_per_spindle());
                prop_assert_eq!(place.dbn.0, vbn.0 % group.blocks_per_spindle());
                prop_assert_eq!(group.vbn(place.spindle, place.dbn), vbn);
            }
        }
    }
}
