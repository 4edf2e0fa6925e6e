//! The layout of an in-place array's LUN.

use std::ops::Range;

use strewn_raid::{
    ChunkLocation, LayoutError, Member, Raid0Group, Raid5Group, SpareSegments, SpindleIndex,
    Stripe, StripeMember, StripeShape, StripedLayout, VraidLayout,
};

/// Sectors of a slice, unless a chunk is larger.
const SLICE_SECTORS: u64 = 512;

/// The layout of a LUN's sectors and their parity.
#[derive(Debug, Clone)]
pub enum LunLayout {
    /// VRAID-5: stripes of five spindles, distributed over redundancy sets.
    Vraid(VraidLayout),
    /// RAID-5: stripes over all spindles.
    Raid5(Raid5Layout),
    /// RAID-0: chunks over all spindles, without parity.
    Raid0(Raid0Layout),
}

/// A RAID-5 group, and the segments in which a spindle is rebuilt.
///
/// Chunk `s` of every spindle belongs to stripe `s`, so a segment is rebuilt from the same segment of all other
/// spindles, as with VRAID-5. There is no reserve: a lost spindle is rebuilt only onto its replacement.
#[derive(Debug, Clone)]
pub struct Raid5Layout {
    group: Raid5Group,
    segment_sectors: u64,
}

impl Raid5Layout {
    /// A layout over `spindles` of `bytes_per_spindle` each, in chunks of `chunk_bytes`, rebuilt in segments of
    /// `segment_bytes`. Both sizes are powers of two, and a segment is at least a chunk. The rest of a spindle after
    /// its last whole segment is unused.
    ///
    /// # Errors
    /// As [`Raid5Group::new`], and if a size is not a power of two or a segment is smaller than a chunk.
    pub fn new(
        spindles: u16,
        chunk_bytes: u64,
        segment_bytes: u64,
        bytes_per_spindle: u64,
    ) -> Result<Self, LayoutError> {
        let used = whole_segments(chunk_bytes, segment_bytes, bytes_per_spindle);
        let used = used.ok_or(LayoutError::Chunk { chunk_bytes })?;
        let group = Raid5Group::new(spindles, chunk_bytes, used)?;
        Ok(Self { group, segment_sectors: segment_bytes / strewn_base::SECTOR_BYTES })
    }
}

/// A RAID-0 group. A lost spindle is lost data, so a segment is only the unit in which a spindle's capacity is counted,
/// as with the other layouts.
#[derive(Debug, Clone)]
pub struct Raid0Layout {
    group: Raid0Group,
    segment_sectors: u64,
}

impl Raid0Layout {
    /// A layout over `spindles` of `bytes_per_spindle` each, in chunks of `chunk_bytes` and segments of
    /// `segment_bytes`. Both sizes are powers of two, and a segment is at least a chunk. The rest of a spindle after
    /// its last whole segment is unused.
    ///
    /// # Errors
    /// As [`Raid0Group::new`], and if a size is not a power of two or a segment is smaller than a chunk.
    pub fn new(
        spindles: u16,
        chunk_bytes: u64,
        segment_bytes: u64,
        bytes_per_spindle: u64,
    ) -> Result<Self, LayoutError> {
        let used = whole_segments(chunk_bytes, segment_bytes, bytes_per_spindle);
        let used = used.ok_or(LayoutError::Chunk { chunk_bytes })?;
        let group = Raid0Group::new(spindles, chunk_bytes, used)?;
        Ok(Self { group, segment_sectors: segment_bytes / strewn_base::SECTOR_BYTES })
    }
}

/// The bytes of a spindle that are whole segments; `None` if such chunks and segments cannot be.
fn whole_segments(chunk_bytes: u64, segment_bytes: u64, bytes_per_spindle: u64) -> Option<u64> {
    let are_powers = chunk_bytes.is_power_of_two() && segment_bytes.is_power_of_two();
    (are_powers && chunk_bytes <= segment_bytes)
        .then(|| bytes_per_spindle / segment_bytes * segment_bytes)
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

impl From<Raid0Layout> for LunLayout {
    fn from(layout: Raid0Layout) -> Self {
        Self::Raid0(layout)
    }
}

/// Does the same with any layout.
macro_rules! of_any {
    ($layout:expr, $one:ident => $what:expr) => {
        match $layout {
            LunLayout::Vraid($one) => $what,
            LunLayout::Raid5(Raid5Layout { group: $one, .. }) => $what,
            LunLayout::Raid0(Raid0Layout { group: $one, .. }) => $what,
        }
    };
}

impl LunLayout {
    /// Sectors of the largest LUN that fits.
    #[must_use]
    pub fn lun_capacity_sectors(&self) -> u64 {
        of_any!(self, one => one.lun_capacity_sectors())
    }

    /// Locates a sector of the LUN and its parity.
    #[inline(always)]
    #[must_use]
    pub fn locate(&self, lun_sector: u64) -> ChunkLocation {
        of_any!(self, one => one.locate(lun_sector))
    }

    /// What a sector of a spindle holds; `None` if the layout does not use it.
    #[must_use]
    pub fn lun_sector_of(&self, spindle: SpindleIndex, sector: u64) -> Option<StripeMember> {
        of_any!(self, one => one.lun_sector_of(spindle, sector))
    }

    /// The stripe of a sector of the LUN, and the member that it is on.
    #[inline]
    #[must_use]
    pub fn stripe_of(&self, lun_sector: u64) -> (u64, Member) {
        let chunk = lun_sector / self.unit_sectors();
        let (stripe, member) = match self {
            // A constant divisor costs no division.
            Self::Vraid(_) => (chunk / 4, chunk % 4),
            Self::Raid5(_) => {
                let data = u64::from(self.shape().data_blocks());
                (chunk / data, chunk % data)
            }
            Self::Raid0(_) => (chunk, 0),
        };
        (stripe, Member(member as u8))
    }

    /// Sectors of data in a stripe.
    pub(crate) fn stripe_sectors(&self) -> u64 {
        u64::from(self.shape().data_blocks()) * self.unit_sectors()
    }

    /// The sectors of the LUN in a stripe.
    pub(crate) fn sectors_of_stripe(&self, stripe: u64) -> Range<u64> {
        let stripe_sectors = self.stripe_sectors();
        stripe * stripe_sectors..(stripe + 1) * stripe_sectors
    }

    /// The sectors of the LUN in the unit of a stripe that holds `member`, which is data.
    pub(crate) fn sectors_of_unit(&self, stripe: u64, member: Member) -> Range<u64> {
        let first = self.sectors_of_stripe(stripe).start;
        let first = first + u64::from(member.0) * self.unit_sectors();
        first..first + self.unit_sectors()
    }

    /// Whether stripes have parity.
    #[inline(always)]
    #[must_use]
    pub fn has_parity(&self) -> bool {
        !matches!(self, Self::Raid0(_))
    }

    /// Whether a member of a stripe is parity.
    #[inline(always)]
    #[must_use]
    pub fn is_parity(&self, member: Member) -> bool {
        u16::from(member.0) >= self.shape().data_blocks()
    }

    /// Sectors of a rebuild segment: whole units of consecutive stripes.
    #[must_use]
    pub fn segment_sectors(&self) -> u64 {
        match self {
            Self::Vraid(layout) => layout.config().segment_sectors(),
            Self::Raid5(layout) => layout.segment_sectors,
            Self::Raid0(layout) => layout.segment_sectors,
        }
    }

    /// Sectors of a segment that are rebuilt at a time: a *slice*.
    pub(crate) fn slice_sectors(&self) -> u64 {
        SLICE_SECTORS.max(self.unit_sectors()).min(self.segment_sectors())
    }

    /// Segments that a LUN of `lun_sectors` sectors takes on each spindle.
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
            Self::Raid0(layout) => {
                let chunks = lun_sectors.div_ceil(self.unit_sectors());
                let rows = chunks.div_ceil(u64::from(layout.group.spindles()));
                rows.div_ceil(layout.segment_sectors / self.unit_sectors())
            }
        }
    }

    /// The distributed reserve, if the layout has any.
    #[must_use]
    pub fn spares(&self, lun_sectors: u64) -> Option<SpareSegments> {
        match self {
            Self::Vraid(layout) => Some(SpareSegments::new(layout, lun_sectors)),
            Self::Raid5(_) | Self::Raid0(_) => None,
        }
    }
}

impl StripedLayout for LunLayout {
    fn spindles(&self) -> u16 {
        of_any!(self, one => StripedLayout::spindles(one))
    }

    #[inline]
    fn shape(&self) -> StripeShape {
        of_any!(self, one => one.shape())
    }

    fn stripes(&self) -> u64 {
        of_any!(self, one => one.stripes())
    }

    #[inline]
    fn unit_sectors(&self) -> u64 {
        of_any!(self, one => one.unit_sectors())
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Stripe {
        of_any!(self, one => one.stripe(stripe))
    }

    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)> {
        of_any!(self, one => one.stripe_on(spindle, sector))
    }
}
