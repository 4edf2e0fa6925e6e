//! Where the LUN of an in-place array lies.

use strewn_raid::{
    ChunkLocation, Member, Raid5Error, Raid5Group, SpareSegments, SpindleIndex, Stripe,
    StripeMember, StripeShape, StripedLayout, VraidLayout,
};

/// Where the sectors of a LUN and their parity lie.
#[derive(Debug, Clone)]
pub enum LunLayout {
    /// Stripes of five spindles, dealt over redundancy sets.
    Vraid(VraidLayout),
    /// Stripes over all spindles.
    Raid5(Raid5Layout),
}

/// A RAID-5 group, and what is rebuilt of a spindle at a time.
///
/// Chunk `s` of every spindle is of stripe `s`, so that a segment of a spindle is made good from the same segment of all
/// others, as with VRAID-5. There is no room for what is lost but on a spindle that takes the place of the lost one.
#[derive(Debug, Clone)]
pub struct Raid5Layout {
    group: Raid5Group,
    segment_sectors: u64,
}

impl Raid5Layout {
    /// `spindles` of `bytes_per_spindle` each, dealt out in chunks of `chunk_bytes` and rebuilt in segments of
    /// `segment_bytes`, of which the latter is a power of two and a multiple of the former. What is left of a spindle after
    /// a multiple of a segment is not used.
    ///
    /// # Errors
    /// As [`Raid5Group::new`]; also where segments are not as said.
    pub fn new(
        spindles: u16,
        chunk_bytes: u64,
        segment_bytes: u64,
        bytes_per_spindle: u64,
    ) -> Result<Self, Raid5Error> {
        if !chunk_bytes.is_power_of_two() || !segment_bytes.is_power_of_two() {
            return Err(Raid5Error::Chunk { chunk_bytes });
        }
        if segment_bytes < chunk_bytes {
            return Err(Raid5Error::Chunk { chunk_bytes });
        }
        let used = bytes_per_spindle / segment_bytes * segment_bytes;
        let group = Raid5Group::new(spindles, chunk_bytes, used)?;
        Ok(Self { group, segment_sectors: segment_bytes / strewn_base::SECTOR_BYTES })
    }
}

impl From<VraidLayout> for LunLayout {
    fn from(layout: VraidLayout) -> Self {
        Self::Vraid(layout)
    }
}

impl From<Raid5Layout> for LunLayout {
    fn from(layout: Raid5Layout) -> Self {
        Self::Raid5(layout)
    }
}

/// Does the same with either layout.
macro_rules! of_either {
    ($layout:expr, $one:ident => $what:expr) => {
        match $layout {
            LunLayout::Vraid($one) => $what,
            LunLayout::Raid5(Raid5Layout { group: $one, .. }) => $what,
        }
    };
}

impl LunLayout {
    /// Sectors of the largest LUN that fits.
    #[must_use]
    pub fn lun_capacity_sectors(&self) -> u64 {
        of_either!(self, one => one.lun_capacity_sectors())
    }

    /// Where a sector of the LUN lies, and its parity.
    #[inline]
    #[must_use]
    pub fn locate(&self, lun_sector: u64) -> ChunkLocation {
        of_either!(self, one => one.locate(lun_sector))
    }

    /// What a sector of a spindle holds; nothing where the layout puts nothing.
    #[must_use]
    pub fn lun_sector_of(&self, spindle: SpindleIndex, sector: u64) -> Option<StripeMember> {
        of_either!(self, one => one.lun_sector_of(spindle, sector))
    }

    /// The stripe of a sector of the LUN, and the member that it is on.
    #[inline]
    #[must_use]
    pub fn stripe_of(&self, lun_sector: u64) -> (u64, Member) {
        let chunk = lun_sector / self.unit_sectors();
        let (stripe, member) = match self {
            // A number that is known here costs no division.
            Self::Vraid(_) => (chunk / 4, chunk % 4),
            Self::Raid5(_) => {
                let data = u64::from(self.shape().data_blocks());
                (chunk / data, chunk % data)
            }
        };
        (stripe, Member(member as u8))
    }

    /// Sectors of what is rebuilt of a spindle at a time: whole units, of stripes that follow each other.
    #[must_use]
    pub fn segment_sectors(&self) -> u64 {
        match self {
            Self::Vraid(layout) => layout.config().segment_sectors(),
            Self::Raid5(layout) => layout.segment_sectors,
        }
    }

    /// Segments that a LUN of so many sectors takes up on each spindle.
    #[must_use]
    pub fn segments_used(&self, lun_sectors: u64) -> u64 {
        match self {
            Self::Vraid(layout) => SpareSegments::new(layout, lun_sectors).segments_used(),
            Self::Raid5(layout) => {
                let segment_stripes = layout.segment_sectors / self.unit_sectors();
                let data = u64::from(self.shape().data_blocks());
                let stripes = lun_sectors.div_ceil(data * self.unit_sectors());
                stripes.div_ceil(segment_stripes)
            }
        }
    }

    /// Room for what is lost on spindles that are left, if the layout has any.
    #[must_use]
    pub fn spares(&self, lun_sectors: u64) -> Option<SpareSegments> {
        match self {
            Self::Vraid(layout) => Some(SpareSegments::new(layout, lun_sectors)),
            Self::Raid5(_) => None,
        }
    }
}

impl StripedLayout for LunLayout {
    fn spindles(&self) -> u16 {
        of_either!(self, one => StripedLayout::spindles(one))
    }

    #[inline]
    fn shape(&self) -> StripeShape {
        of_either!(self, one => one.shape())
    }

    fn stripes(&self) -> u64 {
        of_either!(self, one => one.stripes())
    }

    #[inline]
    fn unit_sectors(&self) -> u64 {
        of_either!(self, one => one.unit_sectors())
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Stripe {
        of_either!(self, one => one.stripe(stripe))
    }

    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)> {
        of_either!(self, one => one.stripe_on(spindle, sector))
    }
}
