//! RAID-5: rotating parity.

use crate::layout_error::LayoutError;
use crate::reciprocal::Reciprocal;
use crate::stripe::chunk_sectors;
use crate::{ChunkLocation, Member, SpindleIndex, Stripe, StripeCode, StripeMember};
use crate::{StripeShape, StripedLayout};

/// A RAID-5 group with left-symmetric parity (Lee and Katz, "The Performance of Parity
/// Placements in Disk Arrays", 1993): a LUN laid out chunk by chunk over all spindles.
///
/// With `n` spindles, stripe `s` has its parity on spindle `n - 1 - s mod n`, and its data on the
/// spindles after that, wrapping around. Parity moves left from stripe to stripe, and any `n`
/// consecutive chunks of the LUN are on `n` different spindles:
///
/// | stripe | spindle 0 | 1 | 2 | 3 | 4 |
/// |---|---|---|---|---|---|
/// | 0 | 0 | 1 | 2 | 3 | P |
/// | 1 | 5 | 6 | 7 | P | 4 |
/// | 2 | 10 | 11 | P | 8 | 9 |
/// | 3 | 15 | P | 12 | 13 | 14 |
/// | 4 | P | 16 | 17 | 18 | 19 |
///
/// ```
/// use strewn_raid::{Raid5Group, SpindleIndex};
///
/// let group = Raid5Group::new(5, 64 << 10, 146_800_000_000)?;
/// // Chunk 4 of the table: stripe 1, spindle 4, parity on spindle 3.
/// let place = group.locate(4 * 128);
/// assert_eq!((place.spindle, place.parity_spindle), (SpindleIndex(4), SpindleIndex(3)));
/// assert_eq!(place.sector_on_spindle, 128);
/// # Ok::<(), strewn_raid::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid5Group {
    stripes: u64,
    spindles: Reciprocal,
    data_spindles: Reciprocal,
    chunk_sectors: Reciprocal,
}

impl Raid5Group {
    /// A group of `spindles` of `bytes_per_spindle` each, divided into chunks of `chunk_bytes`. A
    /// remainder of a spindle is not used.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if there are not 3 to 64 spindles, if a chunk is not a whole number of
    /// sectors, when a spindle does not hold one, and when the bytes of the group overflow.
    pub fn new(
        spindles: u16,
        chunk_bytes: u64,
        bytes_per_spindle: u64,
    ) -> Result<Self, LayoutError> {
        if !(3..=64).contains(&spindles) {
            return Err(LayoutError::Raid5Spindles { spindles });
        }
        let chunk_sectors = chunk_sectors(chunk_bytes).ok_or(LayoutError::Chunk { chunk_bytes })?;
        if bytes_per_spindle < chunk_bytes {
            return Err(LayoutError::SpindleBelowChunk { bytes_per_spindle, chunk_bytes });
        }
        if u64::from(spindles).checked_mul(bytes_per_spindle).is_none() {
            return Err(LayoutError::TooLarge { spindles, bytes_per_spindle });
        }
        Ok(Self {
            stripes: bytes_per_spindle / chunk_bytes,
            spindles: Reciprocal::new(u64::from(spindles)),
            data_spindles: Reciprocal::new(u64::from(spindles) - 1),
            chunk_sectors: Reciprocal::new(chunk_sectors),
        })
    }

    /// Sectors of the LUN that fills the group; they run from 0 to one less.
    #[inline]
    pub fn lun_capacity_sectors(&self) -> u64 {
        self.stripes * self.data_spindles.divisor() * self.chunk_sectors.divisor()
    }

    /// Where sector `lun_sector` of the LUN lies, and its parity.
    ///
    /// # Panics
    ///
    /// If `lun_sector` is past the end of the LUN.
    #[inline]
    pub fn locate(&self, lun_sector: u64) -> ChunkLocation {
        assert!(
            lun_sector < self.lun_capacity_sectors(),
            "sector {lun_sector} is past the end of the LUN"
        );
        let (chunk, sector_in_chunk) = self.chunk_sectors.divide(lun_sector);
        let (stripe, position) = self.data_spindles.divide(chunk);
        let parity_spindle = self.parity_spindle(stripe);
        let (_, spindle) = self.spindles.divide(parity_spindle + 1 + position);
        let sector = stripe * self.chunk_sectors.divisor() + sector_in_chunk;
        ChunkLocation {
            spindle: SpindleIndex(spindle as u16),
            sector_on_spindle: sector,
            parity_spindle: SpindleIndex(parity_spindle as u16),
            parity_sector: sector,
            sectors_left_in_chunk: (self.chunk_sectors.divisor() - sector_in_chunk) as u32,
        }
    }

    /// What sector `sector` of `spindle` holds, or `None` where the layout puts nothing.
    pub fn lun_sector_of(&self, spindle: SpindleIndex, sector: u64) -> Option<StripeMember> {
        let (stripe, member) = self.stripe_on(spindle, sector)?;
        let (_, sector_in_chunk) = self.chunk_sectors.divide(sector);
        if member == self.shape().row_parity() {
            let sector_in_chunk = sector_in_chunk as u32;
            return Some(StripeMember::Parity { stripe, sector_in_chunk });
        }
        let chunk = stripe * self.data_spindles.divisor() + u64::from(member.0);
        let lun_sector = chunk * self.chunk_sectors.divisor() + sector_in_chunk;
        Some(StripeMember::Data { lun_sector })
    }

    #[inline]
    fn parity_spindle(&self, stripe: u64) -> u64 {
        let (_, turn) = self.spindles.divide(stripe);
        self.spindles.divisor() - 1 - turn
    }
}

/// A unit is a chunk, and stripe `s` is chunk `s` of every spindle.
impl StripedLayout for Raid5Group {
    fn spindles(&self) -> u16 {
        self.spindles.divisor() as u16
    }

    fn shape(&self) -> StripeShape {
        StripeShape::checked(StripeCode::Row, self.data_spindles.divisor() as u16)
    }

    fn stripes(&self) -> u64 {
        self.stripes
    }

    fn unit_sectors(&self) -> u64 {
        self.chunk_sectors.divisor()
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Stripe {
        assert!(stripe < self.stripes, "there is no stripe {stripe}");
        let (_, first) = self.spindles.divide(self.parity_spindle(stripe) + 1);
        Stripe::around(self.shape(), first as u16, stripe * self.chunk_sectors.divisor())
    }

    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)> {
        let (stripe, _) = self.chunk_sectors.divide(sector);
        let (spindle, spindles) = (u64::from(spindle.0), self.spindles.divisor());
        if stripe >= self.stripes || spindle >= spindles {
            return None;
        }
        let after_parity = spindle + spindles - self.parity_spindle(stripe) - 1;
        let (_, member) = self.spindles.divide(after_parity + spindles);
        Some((stripe, Member(member as u8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemberSet;
    use proptest::prelude::*;

    /// The table in Lee and Katz of five spindles.
    #[test]
    fn five_spindles() {
        let parity = u64::MAX;
        let group = Raid5Group::new(5, 1024, 5 * 1024).unwrap();
        for (stripe, chunks) in [
            [0, 1, 2, 3, parity],
            [5, 6, 7, parity, 4],
            [10, 11, parity, 8, 9],
            [15, parity, 12, 13, 14],
            [parity, 16, 17, 18, 19],
        ]
        .iter()
        .enumerate()
        {
            for (spindle, &chunk) in chunks.iter().enumerate() {
                let held = group.lun_sector_of(SpindleIndex(spindle as u16), stripe as u64 * 2 + 1);
                let expected = if chunk == parity {
                    StripeMember::Parity { stripe: stripe as u64, sector_in_chunk: 1 }
                } else {
                    StripeMember::Data { lun_sector: chunk * 2 + 1 }
                };
                assert_eq!(held, Some(expected), "stripe {stripe}, spindle {spindle}");
            }
        }
        assert_eq!(group.lun_capacity_sectors(), 40);
        assert_eq!(group.lun_sector_of(SpindleIndex(0), 10), None);
        assert_eq!(group.lun_sector_of(SpindleIndex(5), 0), None);
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let message = |spindles, chunk, bytes| {
            Raid5Group::new(spindles, chunk, bytes).unwrap_err().to_string()
        };
        assert_eq!(message(2, 512, 512), "a RAID-5 group has 3 to 64 spindles, not 2");
        assert_eq!(
            message(5, 700, 7000),
            "a chunk is 1 sector of 512 bytes or more, and less than 2 TiB, not 700 bytes"
        );
        assert_eq!(
            message(5, 1024, 512),
            "a spindle holds a chunk of 1024 bytes or more, not 512 bytes"
        );
        assert!(Raid5Group::new(64, 512, u64::MAX / 8).is_err());
        assert!(Raid5Group::new(64, 512, u64::MAX / 64).is_ok());
    }

    proptest! {
        #[test]
        fn there_and_back(
            spindles in 3..=64_u16, chunk_sectors in 1..300_u64, stripes in 1..5000_u64, at: u64,
        ) {
            let chunk_bytes = chunk_sectors * 512;
            let group = Raid5Group::new(spindles, chunk_bytes, stripes * chunk_bytes + 511).unwrap();
            let lun_sector = at % group.lun_capacity_sectors();
            let place = group.locate(lun_sector);
            prop_assert_eq!(
                group.lun_sector_of(place.spindle, place.sector_on_spindle),
                Some(StripeMember::Data { lun_sector })
            );
            let left = u64::from(place.sectors_left_in_chunk);
            prop_assert_eq!((lun_sector + left) % chunk_sectors, 0);

            let (number, member) = group.stripe_on(place.spindle, place.sector_on_spindle).unwrap();
            let stripe = group.stripe(number);
            prop_assert_eq!(stripe.unit(member).spindle, place.spindle);
            let parity = stripe.unit(stripe.shape().row_parity());
            prop_assert_eq!(parity.spindle, place.parity_spindle);
            prop_assert_eq!(parity.sector, place.parity_sector - (chunk_sectors - left));
            let all = stripe.units().map(|(_, unit)| unit.spindle);
            prop_assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), spindles.into());
            prop_assert_eq!(
                stripe.members_on(|spindle| spindle == place.spindle),
                MemberSet::single(member)
            );
        }
    }
}
