//! Parity groups: RAID-4 and RAID-DP, with parity on dedicated spindles, and striping without parity.

use crate::layout_error::LayoutError;
use crate::parity::Parity;
use crate::reciprocal::Reciprocal;
use crate::{BLOCK_BYTES, Dbn, SpindleIndex, SpindleSet, Vbn};
use strewn_base::state::SavedValue;

/// Where a block of a group lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct BlockLocation {
    /// The data spindle that holds the block.
    pub spindle: SpindleIndex,
    /// The block on that spindle, which is also the number of its stripe.
    pub dbn: Dbn,
}

/// A RAID-4, RAID-DP or RAID-0 group: data spindles of equal size, then its parity spindles.
///
/// Blocks are numbered along a spindle first, as WAFL numbers them:
/// `vbn = data_spindle * blocks_per_spindle + dbn`. A run of VBNs is a run on one spindle, and
/// stripe `s` is the blocks with `dbn = s`.
///
/// Data spindles come first, `0` to `data_spindles - 1`, then row parity, then diagonal parity.
///
/// A block is 4 KiB, as in WAFL: the unit of a VBN, of a DBN and of a stripe. A device with larger
/// or smaller blocks is described in these. [`StripeCodec`](crate::StripeCodec) computes parity
/// over blocks of any size.
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
    /// [`LayoutError`] if a RAID-4 group would not have 2 to 14 spindles, a RAID-DP group 3 to
    /// 28 or a RAID-0 group 1 to 64 (see [`Parity::most_spindles`]), when a spindle would have no
    /// block, and when the group's bytes overflow.
    pub fn new(
        parity: Parity,
        data_spindles: u16,
        blocks_per_spindle: u64,
    ) -> Result<Self, LayoutError> {
        let most_data_spindles = parity.most_spindles() - parity.spindles();
        if !(1..=most_data_spindles).contains(&data_spindles) {
            return Err(LayoutError::ParitySpindles { parity, data_spindles });
        }
        Self::wide(parity, data_spindles, blocks_per_spindle)
    }

    /// The same without the limits of Data ONTAP: up to 64 spindles, parity included.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if the group would have no data spindle or more than 64 spindles, when a
    /// spindle would have no block, and when the group's bytes overflow.
    pub fn wide(
        parity: Parity,
        data_spindles: u16,
        blocks_per_spindle: u64,
    ) -> Result<Self, LayoutError> {
        if !(1..=SpindleSet::CAPACITY - parity.spindles()).contains(&data_spindles) {
            return Err(LayoutError::WideParitySpindles { parity, data_spindles });
        }
        if blocks_per_spindle == 0 {
            return Err(LayoutError::NoBlocks { parity });
        }
        if blocks_per_spindle > u64::MAX / BLOCK_BYTES / u64::from(data_spindles) {
            return Err(LayoutError::TooManyBlocks { data_spindles, blocks_per_spindle });
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

    /// The VBN of block `dbn` of data spindle `spindle`.
    ///
    /// # Panics
    ///
    /// If `spindle` is not a data spindle or `dbn` is past its end.
    #[inline]
    pub fn vbn(&self, spindle: SpindleIndex, dbn: Dbn) -> Vbn {
        assert!(spindle.0 < self.data_spindles, "{spindle} holds no data");
        assert!(dbn.0 < self.blocks_per_spindle(), "{dbn} is past the end of a spindle");
        Vbn(u64::from(spindle.0) * self.blocks_per_spindle() + dbn.0)
    }

    /// Where `vbn` lies.
    ///
    /// # Panics
    ///
    /// If `vbn` is [`total_blocks`](Self::total_blocks) or above.
    #[inline]
    pub fn locate(&self, vbn: Vbn) -> BlockLocation {
        assert!(vbn.0 < self.total_blocks(), "{vbn} is past the end of the group");
        let (spindle, dbn) = self.blocks_per_spindle.divide(vbn.0);
        BlockLocation { spindle: SpindleIndex(spindle as u16), dbn: Dbn(dbn) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BlockChange, CodecError, Member, MemberSet, ScrubFinding, StripeBytes, StripeCode,
        StripeCodec, StripeShape, UpdateMethod,
    };
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
        assert_eq!(raid4.parity_spindles().to_string(), "{7}");

        let raid_dp = ParityGroup::new(Parity::RaidDp, 18, 1).unwrap();
        assert_eq!(raid_dp.parity_spindles().to_string(), "{18, 19}");
        assert_eq!(raid_dp.spindles(), 20);
    }

    #[test]
    fn a_group_without_parity_loses_data_with_any_spindle() {
        let group = ParityGroup::new(Parity::None, 64, 100).unwrap();
        assert_eq!((group.spindles(), group.total_blocks()), (64, 6_400));
        assert!(group.parity_spindles().is_empty());
        let shape = group.stripe_shape();
        assert_eq!((shape.to_string(), shape.parity()), ("64+0".to_owned(), MemberSet::EMPTY));
        let one = MemberSet::single(Member(5));
        assert_eq!(shape.plan_read(one, one).unwrap_err().gone, one);
        assert_eq!(shape.plan_update(one, one).unwrap_err().gone, one);
        assert_eq!(shape.plan_read(one, MemberSet::EMPTY).unwrap().read, one);
        // An update writes what changes and reads nothing, by whatever method.
        let changed = SpindleSet::single(SpindleIndex(5));
        for method in [UpdateMethod::Subtraction, UpdateMethod::Recalculation] {
            let update = group.update(method, changed);
            assert_eq!((update.read, update.write), (SpindleSet::EMPTY, changed));
            let plan = shape.plan_update_by(method, one, MemberSet::EMPTY).unwrap();
            assert_eq!(update.to_plan(), plan);
        }
        assert_eq!(group.plan_stripe(group.data_spindle_set()).method, UpdateMethod::FullStripe);
        assert!(ParityGroup::new(Parity::None, 65, 100).is_err());
        assert!(ParityGroup::new(Parity::None, 0, 100).is_err());

        // Bytes: nothing to compute, nothing to check, and nothing to reconstruct from.
        let two = StripeShape::new(StripeCode::None, 2).unwrap();
        let codec = StripeCodec::for_shape(two, 512).unwrap();
        assert_eq!((codec.code(), codec.blocks()), (StripeCode::None, 2));
        let mut blocks = [vec![1; 512], vec![2; 512]];
        codec.encode(&blocks, &mut [] as &mut [Vec<u8>]).unwrap();
        assert!(codec.check(&blocks).unwrap().holds());
        let changed = [BlockChange { block: 0, old: &[1; 512], new: &[3; 512] }];
        codec.subtract(&changed, &mut [] as &mut [Vec<u8>]).unwrap();
        let lost = CodecError::TooManyLost { lost: vec![1], parity_blocks: 0 };
        assert_eq!(codec.reconstruct(&mut blocks, &[1]), Err(lost));
        let finding = codec.scrub(&blocks, |block, _| Some(block == 0)).unwrap();
        assert_eq!(finding, ScrubFinding::ChecksumsDiffer { blocks: vec![1] });
        let mut bytes = StripeBytes::new(two, 512).unwrap();
        let plan = two.plan_update(MemberSet::single(Member(1)), MemberSet::EMPTY).unwrap();
        bytes.new_contents(Member(1)).fill(9);
        bytes.carry_out(&plan).unwrap();
        assert_eq!(bytes.block(Member(1)), Some(&[9; 512][..]));
    }

    #[test]
    fn a_wide_group_has_up_to_64_spindles() {
        for parity in [Parity::None, Parity::Raid4, Parity::RaidDp] {
            let most = 64 - parity.spindles();
            let group = ParityGroup::wide(parity, most, 10).unwrap();
            assert_eq!((group.spindles(), group.stripe_shape().blocks()), (64, 64));
            let lost: MemberSet = (0..parity.spindles()).map(|lost| Member(lost as u8)).collect();
            let codec = StripeCodec::for_shape(group.stripe_shape(), 4096).unwrap();
            let mut blocks: Vec<Vec<u8>> = (0..64).map(|block| vec![block; 4096]).collect();
            let (data, parities) = blocks.split_at_mut(most.into());
            codec.encode(data, parities).unwrap();
            let whole = blocks.clone();
            lost.iter().for_each(|lost| blocks[lost.index()].fill(0));
            let lost: Vec<usize> = lost.iter().map(Member::index).collect();
            codec.reconstruct(&mut blocks, &lost).unwrap();
            assert!(blocks == whole, "{parity}");
            assert!(ParityGroup::wide(parity, most + 1, 10).is_err());
            assert!(ParityGroup::wide(parity, 0, 10).is_err());
        }
        assert_eq!(
            ParityGroup::wide(Parity::RaidDp, 63, 1).unwrap_err().to_string(),
            "a wide RAID-DP group has 3 to 64 spindles, of which 2 hold parity; 63 data spindles \
             make 65"
        );
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
