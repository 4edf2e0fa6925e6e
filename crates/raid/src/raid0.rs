//! RAID-0: striping without parity.

use crate::layout_error::LayoutError;
use crate::reciprocal::Reciprocal;
use crate::stripe::chunk_sectors;
use crate::{ChunkLocation, Member, SpindleIndex, Stripe, StripeCode, StripeMember};
use crate::{StripeShape, StripedLayout};

/// A RAID-0 group: a LUN laid out chunk by chunk over all spindles, without parity. A group of one
/// spindle is that spindle.
///
/// Without parity nothing joins the chunks of a row: each chunk is a stripe of its own, with one
/// member. Chunk `c` of `n` spindles is on spindle `c mod n`. A lost spindle is lost data.
///
/// ```
/// use strewn_raid::{Raid0Group, SpindleIndex};
///
/// let group = Raid0Group::new(2, 64 << 10, 146_800_000_000)?;
/// // Chunk 3: the second one of the second spindle.
/// let place = group.locate(3 * 128 + 5);
/// assert_eq!((place.spindle, place.sector_on_spindle), (SpindleIndex(1), 128 + 5));
/// # Ok::<(), strewn_raid::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raid0Group {
    chunks_per_spindle: u64,
    spindles: Reciprocal,
    chunk_sectors: Reciprocal,
}

impl Raid0Group {
    /// A group of `spindles` of `bytes_per_spindle` each, divided into chunks of `chunk_bytes`. A
    /// remainder of a spindle is not used.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if there are not 1 to 64 spindles, if a chunk is not a whole number of
    /// sectors, when a spindle does not hold one, and when the bytes of the group overflow.
    pub fn new(
        spindles: u16,
        chunk_bytes: u64,
        bytes_per_spindle: u64,
    ) -> Result<Self, LayoutError> {
        if !(1..=64).contains(&spindles) {
            return Err(LayoutError::Raid0Spindles { spindles });
        }
        let chunk_sectors = chunk_sectors(chunk_bytes).ok_or(LayoutError::Chunk { chunk_bytes })?;
        if bytes_per_spindle < chunk_bytes {
            return Err(LayoutError::SpindleBelowChunk { bytes_per_spindle, chunk_bytes });
        }
        if u64::from(spindles).checked_mul(bytes_per_spindle).is_none() {
            return Err(LayoutError::TooLarge { spindles, bytes_per_spindle });
        }
        Ok(Self {
            chunks_per_spindle: bytes_per_spindle / chunk_bytes,
            spindles: Reciprocal::new(u64::from(spindles)),
            chunk_sectors: Reciprocal::new(chunk_sectors),
        })
    }

    /// Sectors of the LUN that fills the group; they run from 0 to one less.
    #[inline]
    pub fn lun_capacity_sectors(&self) -> u64 {
        self.stripes() * self.chunk_sectors.divisor()
    }

    /// Where sector `lun_sector` of the LUN lies. There is no parity: its place is the sector's own.
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
        let (row, spindle) = self.spindles.divide(chunk);
        let spindle = SpindleIndex(spindle as u16);
        let sector = row * self.chunk_sectors.divisor() + sector_in_chunk;
        ChunkLocation {
            spindle,
            sector_on_spindle: sector,
            parity_spindle: spindle,
            parity_sector: sector,
            sectors_left_in_chunk: (self.chunk_sectors.divisor() - sector_in_chunk) as u32,
        }
    }

    /// What sector `sector` of `spindle` holds, or `None` where the layout puts nothing.
    pub fn lun_sector_of(&self, spindle: SpindleIndex, sector: u64) -> Option<StripeMember> {
        let (chunk, _) = self.stripe_on(spindle, sector)?;
        let (_, sector_in_chunk) = self.chunk_sectors.divide(sector);
        let lun_sector = chunk * self.chunk_sectors.divisor() + sector_in_chunk;
        Some(StripeMember::Data { lun_sector })
    }
}

/// A unit is a chunk, and so is a stripe.
impl StripedLayout for Raid0Group {
    fn spindles(&self) -> u16 {
        self.spindles.divisor() as u16
    }

    fn shape(&self) -> StripeShape {
        StripeShape::checked(StripeCode::None, 1)
    }

    fn stripes(&self) -> u64 {
        self.chunks_per_spindle * self.spindles.divisor()
    }

    fn unit_sectors(&self) -> u64 {
        self.chunk_sectors.divisor()
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Stripe {
        assert!(stripe < self.stripes(), "there is no stripe {stripe}");
        let (row, spindle) = self.spindles.divide(stripe);
        let spindles = self.spindles.divisor() as u16;
        Stripe::single(spindle as u16, spindles, row * self.chunk_sectors.divisor())
    }

    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)> {
        let (row, _) = self.chunk_sectors.divide(sector);
        let (spindle, spindles) = (u64::from(spindle.0), self.spindles.divisor());
        let is_used = row < self.chunks_per_spindle && spindle < spindles;
        is_used.then_some((row * spindles + spindle, Member(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemberSet;
    use proptest::prelude::*;

    #[test]
    fn chunks_go_round_the_spindles() {
        let group = Raid0Group::new(3, 1024, 4 * 1024 + 512).unwrap();
        assert_eq!(group.lun_capacity_sectors(), 3 * 4 * 2);
        let places: Vec<(u16, u64)> = (0..6)
            .map(|chunk| group.locate(chunk * 2))
            .map(|place| (place.spindle.0, place.sector_on_spindle))
            .collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 0), (0, 2), (1, 2), (2, 2)]);
        assert_eq!(group.lun_sector_of(SpindleIndex(0), 8), None);
        assert_eq!(group.lun_sector_of(SpindleIndex(3), 0), None);
    }

    #[test]
    fn a_lost_spindle_is_lost_data() {
        let group = Raid0Group::new(2, 1024, 1 << 20).unwrap();
        let lost = group.stripe(7).members_on(|spindle| spindle == SpindleIndex(1));
        assert_eq!(group.shape().gone(lost), MemberSet::first(1));
        assert!(group.stripe(6).members_on(|spindle| spindle == SpindleIndex(1)).is_empty());
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let message = |spindles, chunk, bytes| {
            Raid0Group::new(spindles, chunk, bytes).unwrap_err().to_string()
        };
        assert_eq!(message(0, 512, 512), "a RAID-0 group has 1 to 64 spindles, not 0");
        assert_eq!(
            message(2, 700, 7000),
            "a chunk is 1 sector of 512 bytes or more, and less than 2 TiB, not 700 bytes"
        );
        assert_eq!(
            message(2, 1024, 512),
            "a spindle holds a chunk of 1024 bytes or more, not 512 bytes"
        );
        assert!(Raid0Group::new(64, 512, u64::MAX / 8).is_err());
    }

    proptest! {
        #[test]
        fn there_and_back(
            spindles in 1..=64_u16, chunk_sectors in 1..300_u64, rows in 1..5000_u64, at: u64,
        ) {
            let chunk_bytes = chunk_sectors * 512;
            let group = Raid0Group::new(spindles, chunk_bytes, rows * chunk_bytes + 511).unwrap();
            let lun_sector = at % group.lun_capacity_sectors();
            let place = group.locate(lun_sector);
            prop_assert_eq!(
                group.lun_sector_of(place.spindle, place.sector_on_spindle),
                Some(StripeMember::Data { lun_sector })
            );
            let left = u64::from(place.sectors_left_in_chunk);
            prop_assert_eq!((lun_sector + left) % chunk_sectors, 0);
            let (number, member) = group.stripe_on(place.spindle, place.sector_on_spindle).unwrap();
            let unit = group.stripe(number).unit(member);
            prop_assert_eq!(unit.spindle, place.spindle);
            prop_assert_eq!(unit.sector, place.sector_on_spindle - (chunk_sectors - left));
        }
    }
}
