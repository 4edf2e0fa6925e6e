//! VRAID-5: four chunks of data and one of parity, dealt over redundancy sets.

use strewn_base::state::SavedValue;

use crate::reciprocal::Reciprocal;
use crate::vraid_config::MEMBERS;
use crate::{LayoutError, StripedLayout, VraidConfig};
use crate::{Member, SECTOR_BYTES, SpindleIndex, Stripe, StripeCode, StripeShape, StripeUnit};

/// Chunks of data in a stripe.
const DATA_MEMBERS: u64 = MEMBERS as u64 - 1;

/// Where a sector of a LUN lies, with the parity that covers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct ChunkLocation {
    /// The spindle that holds the sector.
    pub spindle: SpindleIndex,
    /// The sector on that spindle.
    pub sector_on_spindle: u64,
    /// The spindle that holds the parity of the stripe. Without parity, `spindle`.
    pub parity_spindle: SpindleIndex,
    /// The sector on the parity spindle that covers this one: at the same offset within the
    /// parity chunk. Without parity, `sector_on_spindle`.
    pub parity_sector: u64,
    /// Sectors from this one to the end of its chunk, itself included. An access of more goes on
    /// elsewhere.
    pub sectors_left_in_chunk: u32,
}

/// What a sector of a spindle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StripeMember {
    /// A sector of the LUN.
    Data {
        /// Which sector of the LUN.
        lun_sector: u64,
    },
    /// Parity of one sector of the LUN from each data chunk of the stripe (four of them in
    /// VRAID-5), at the same offset within their chunks.
    Parity {
        /// The stripe, counted over the LUN; it covers the LUN's sectors from
        /// `stripe * data_chunks * chunk_sectors` on.
        stripe: u64,
        /// Sectors from the beginning of the parity chunk.
        sector_in_chunk: u32,
    },
}

/// A LUN laid out as VRAID-5 over the spindles of a disk group.
///
/// What is known of the EVA is kept: space is dealt in *segments* (PSEGs, 2 MiB on one spindle);
/// five segments on five spindles of one *redundancy set* (RSS) make an *RStore* of 8 MiB of
/// data, cut into 16 stripes of four data chunks and one parity chunk of 128 KiB; successive
/// RStores of a LUN go to the sets in turn; and every spindle carries a share of the LUN in
/// proportion to its capacity. Which five spindles of a set an RStore takes is not published. The
/// closed form here stands for it:
///
/// * RStores are dealt in *rounds*. In one round each spindle gives five segments and each set of
///   `n` spindles takes `n` RStores, spread evenly over the round: sets of equal size take turns,
///   a set of 12 comes twice as often as one of 6. No set fills up before another.
/// * In round `q`, RStore `r` of a set has its member `i` on spindle `(r + o_i) mod n` of the
///   set, in segment `5 q + i` of that spindle. The offsets `o` are five distinct numbers below
///   `n`, the first of them 0, and change from round to round through all `C(n - 1, 4)` choices;
///   then every combination of five spindles of the set has come up exactly five times.
/// * The parity of stripe `t` of an RStore is on member `t mod 5` and its data on the members
///   after, so that a fifth of what each spindle holds is parity in every round.
#[derive(Clone, Debug)]
pub struct VraidLayout {
    config: VraidConfig,
    rounds: u64,
    chunk_shift: u32,
    segment_shift: u32,
    rstores_per_round: Reciprocal,
    /// One entry for each RStore of a round.
    slots: Vec<Slot>,
    /// The slot of RStore `r` of a set, at the number of the set's `r`th spindle; so also a slot
    /// of the set that a spindle belongs to.
    slot_of_spindle: Vec<u16>,
    offsets: Vec<Offsets>,
}

/// Distances of the five members of an RStore from the spindle it is counted from. Padded to
/// eight bytes, so that one load fetches all.
type Offsets = [u8; 8];

/// An RStore of a round: its set, and its place there.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first_spindle: u16,
    spindles: u16,
    rotation: u16,
    first_offsets: u32,
    offsets: Reciprocal,
}

impl VraidLayout {
    /// Lays out a LUN over all of a disk group whose spindles hold `bytes_per_spindle` each.
    /// What is left of a spindle after a multiple of five segments is not used.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if a redundancy set does not have 5 to 16 spindles, if a chunk or a
    /// segment is not a power of two of fitting size, when a spindle does not hold five
    /// segments, and when the bytes of the group overflow.
    pub fn new(config: VraidConfig, bytes_per_spindle: u64) -> Result<Self, LayoutError> {
        config.check()?;
        let spindles = config.spindles();
        if u64::from(spindles).checked_mul(bytes_per_spindle).is_none() {
            return Err(LayoutError::TooLarge { spindles, bytes_per_spindle });
        }
        let rounds = bytes_per_spindle / config.segment_bytes / u64::from(MEMBERS);
        if rounds == 0 {
            let segment_bytes = config.segment_bytes;
            return Err(LayoutError::SpindleBelowSegments { bytes_per_spindle, segment_bytes });
        }
        let (slots, offsets) = deal(&config.redundancy_sets);
        let mut slot_of_spindle = vec![0; usize::from(spindles)];
        for (position, slot) in slots.iter().enumerate() {
            let spindle = usize::from(slot.first_spindle + slot.rotation);
            slot_of_spindle[spindle] = position as u16;
        }
        Ok(Self {
            rounds,
            chunk_shift: config.chunk_sectors().trailing_zeros(),
            segment_shift: config.segment_sectors().trailing_zeros(),
            rstores_per_round: Reciprocal::new(u64::from(spindles)),
            slots,
            slot_of_spindle,
            offsets,
            config,
        })
    }

    /// The sizes the layout was made from.
    pub fn config(&self) -> &VraidConfig {
        &self.config
    }

    /// Spindles of the disk group.
    #[inline]
    pub fn spindles(&self) -> u16 {
        self.slots.len() as u16
    }

    /// Sectors of the largest LUN that fits; they run from 0 to one less.
    #[inline]
    pub fn lun_capacity_sectors(&self) -> u64 {
        (self.rounds * self.rstores_per_round.divisor()) << self.rstore_shift()
    }

    /// Bytes of the largest LUN that fits. Space reserved for rebuilds is not subtracted: see
    /// [`ProtectionLevel`](crate::ProtectionLevel).
    pub fn lun_capacity_bytes(&self) -> u64 {
        self.lun_capacity_sectors() * SECTOR_BYTES
    }

    /// Where sector `lun_sector` of the LUN lies, and its parity.
    ///
    /// # Panics
    ///
    /// If `lun_sector` is past the end of the LUN.
    #[inline(always)]
    pub fn locate(&self, lun_sector: u64) -> ChunkLocation {
        assert!(
            lun_sector < self.lun_capacity_sectors(),
            "sector {lun_sector} is past the end of the LUN"
        );
        let rstore = lun_sector >> self.rstore_shift();
        let sector_in_rstore = lun_sector & mask(self.rstore_shift());
        let stripe = sector_in_rstore >> self.stripe_shift();
        let position = (sector_in_rstore & mask(self.stripe_shift())) >> self.chunk_shift;
        let sector_in_chunk = sector_in_rstore & mask(self.chunk_shift);

        let (round, slot) = self.rstores_per_round.divide(rstore);
        let slot = &self.slots[slot as usize];
        let offsets = self.offsets_of(slot, round);

        let parity_member = stripe % u64::from(MEMBERS);
        let member = wrap(parity_member + 1 + position, u64::from(MEMBERS));
        let sector_in_segment = (stripe << self.chunk_shift) + sector_in_chunk;
        let first_segment = round * u64::from(MEMBERS);
        let sector_of =
            |member: u64| ((first_segment + member) << self.segment_shift) + sector_in_segment;
        ChunkLocation {
            spindle: slot.spindle_of(offsets, member),
            sector_on_spindle: sector_of(member),
            parity_spindle: slot.spindle_of(offsets, parity_member),
            parity_sector: sector_of(parity_member),
            sectors_left_in_chunk: ((1 << self.chunk_shift) - sector_in_chunk) as u32,
        }
    }

    /// The contents of sector `sector` of `spindle`; `None` if the layout does not use it: past
    /// the last round, or on a spindle that the disk group does not have.
    pub fn lun_sector_of(&self, spindle: SpindleIndex, sector: u64) -> Option<StripeMember> {
        let segment = sector >> self.segment_shift;
        let (round, member) = (segment / u64::from(MEMBERS), segment % u64::from(MEMBERS));
        if round >= self.rounds {
            return None;
        }
        let in_set = &self.slots[usize::from(*self.slot_of_spindle.get(spindle.index())?)];
        let offset = u16::from(self.offsets_of(in_set, round)[member as usize]);
        let rotation =
            wrap(spindle.0 - in_set.first_spindle + in_set.spindles - offset, in_set.spindles);
        let slot = self.slot_of_spindle[usize::from(in_set.first_spindle + rotation)];
        let rstore = round * self.rstores_per_round.divisor() + u64::from(slot);

        let sector_in_segment = sector & mask(self.segment_shift);
        let stripe = sector_in_segment >> self.chunk_shift;
        let sector_in_chunk = sector_in_segment & mask(self.chunk_shift);
        let parity_member = stripe % u64::from(MEMBERS);
        let first_stripe = rstore << (self.segment_shift - self.chunk_shift);
        if member == parity_member {
            return Some(StripeMember::Parity {
                stripe: first_stripe + stripe,
                sector_in_chunk: sector_in_chunk as u32,
            });
        }
        let position = wrap(member + u64::from(MEMBERS) - parity_member, u64::from(MEMBERS)) - 1;
        let lun_sector = ((first_stripe + stripe) << self.stripe_shift())
            + (position << self.chunk_shift)
            + sector_in_chunk;
        Some(StripeMember::Data { lun_sector })
    }

    /// Segments of each spindle that a LUN of `lun_sectors` uses: five for each round that it
    /// begins.
    pub(crate) fn segments_used(&self, lun_sectors: u64) -> u64 {
        let round_sectors = self.rstores_per_round.divisor() << self.rstore_shift();
        lun_sectors.div_ceil(round_sectors) * u64::from(MEMBERS)
    }

    /// The spindles of the redundancy set that `spindle` belongs to.
    pub(crate) fn set_of(
        &self,
        spindle: SpindleIndex,
    ) -> impl Iterator<Item = SpindleIndex> + use<> {
        let slot = &self.slots[usize::from(self.slot_of_spindle[spindle.index()])];
        (slot.first_spindle..slot.first_spindle + slot.spindles).map(SpindleIndex)
    }

    #[inline]
    fn stripe_shift(&self) -> u32 {
        self.chunk_shift + DATA_MEMBERS.trailing_zeros()
    }

    #[inline]
    fn rstore_shift(&self) -> u32 {
        self.segment_shift + DATA_MEMBERS.trailing_zeros()
    }

    #[inline]
    fn offsets_of(&self, slot: &Slot, round: u64) -> &Offsets {
        let (_, choice) = slot.offsets.divide(round);
        &self.offsets[slot.first_offsets as usize + choice as usize]
    }
}

/// A unit is a chunk, and stripes are numbered along the LUN: an RStore has 16 of them with the
/// segment and chunk of an EVA.
impl StripedLayout for VraidLayout {
    fn spindles(&self) -> u16 {
        Self::spindles(self)
    }

    fn shape(&self) -> StripeShape {
        StripeShape::checked(StripeCode::Row, DATA_MEMBERS as u16)
    }

    fn stripes(&self) -> u64 {
        (self.rounds * self.rstores_per_round.divisor()) << (self.segment_shift - self.chunk_shift)
    }

    fn unit_sectors(&self) -> u64 {
        1 << self.chunk_shift
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Stripe {
        assert!(stripe < self.stripes(), "there is no stripe {stripe}");
        let stripes_shift = self.segment_shift - self.chunk_shift;
        let (round, slot) = self.rstores_per_round.divide(stripe >> stripes_shift);
        let slot = &self.slots[slot as usize];
        let offsets = self.offsets_of(slot, round);
        let stripe_in_rstore = stripe & mask(stripes_shift);
        let parity_member = stripe_in_rstore % u64::from(MEMBERS);
        // Data is on the members after parity, so parity is last, and the RStore's members are
        // gone through once.
        Stripe::listed(std::array::from_fn(|position| {
            let around = parity_member + 1 + position as u64;
            let member = wrap(around, u64::from(MEMBERS));
            let segment = round * u64::from(MEMBERS) + member;
            StripeUnit {
                spindle: slot.spindle_of(offsets, member),
                sector: (segment << self.segment_shift) + (stripe_in_rstore << self.chunk_shift),
            }
        }))
    }

    fn stripe_on(&self, spindle: SpindleIndex, sector: u64) -> Option<(u64, Member)> {
        Some(match self.lun_sector_of(spindle, sector)? {
            StripeMember::Parity { stripe, .. } => (stripe, self.shape().row_parity()),
            StripeMember::Data { lun_sector } => {
                let position = (lun_sector & mask(self.stripe_shift())) >> self.chunk_shift;
                (lun_sector >> self.stripe_shift(), Member(position as u8))
            }
        })
    }
}

impl Slot {
    #[inline]
    fn spindle_of(&self, offsets: &Offsets, member: u64) -> SpindleIndex {
        let in_set = wrap(self.rotation + u16::from(offsets[member as usize]), self.spindles);
        SpindleIndex(self.first_spindle + in_set)
    }
}

/// `value mod modulus` of a value below twice the modulus.
#[inline]
fn wrap<T>(value: T, modulus: T) -> T
where
    T: Copy + PartialOrd + std::ops::Sub<Output = T>,
{
    if value >= modulus { value - modulus } else { value }
}

#[inline]
fn mask(shift: u32) -> u64 {
    (1 << shift) - 1
}

/// The RStores of a round in the order in which a LUN takes them, and the offsets that the
/// rounds go through.
fn deal(redundancy_sets: &[u16]) -> (Vec<Slot>, Vec<Offsets>) {
    let mut slots = Vec::new();
    let mut offsets = Vec::new();
    let mut first_spindle = 0;
    let mut offsets_by_size = [None; VraidConfig::MOST_SET as usize + 1];
    for &spindles in redundancy_sets {
        let (first_offsets, count) =
            *offsets_by_size[usize::from(spindles)].get_or_insert_with(|| {
                let choices = offset_choices(spindles as u8);
                let first = offsets.len() as u32;
                offsets.extend_from_slice(&choices);
                (first, choices.len() as u64)
            });
        slots.extend((0..spindles).map(|rotation| Slot {
            first_spindle,
            spindles,
            rotation,
            first_offsets,
            offsets: Reciprocal::new(count),
        }));
        first_spindle += spindles;
    }
    // RStore r of a set of n belongs at the fraction (r + 1/2) / n of the round. Fractions are
    // compared by cross-multiplication, and the sort is stable: at a tie the lower set goes first.
    slots.sort_by_key(|slot| {
        // 720720 is the least common multiple of 1 to 16, hence of every size a set may have.
        (2 * u64::from(slot.rotation) + 1) * (720_720 / u64::from(slot.spindles))
    });
    (slots, offsets)
}

/// All sets of five offsets below `spindles` that contain 0, each once.
///
/// Neighbours in lexicographic order differ in one member, so they are taken in strides of about
/// the golden section of their number: even a small LUN meets many different combinations.
fn offset_choices(spindles: u8) -> Vec<Offsets> {
    let mut ascending = Vec::new();
    for second in 1..spindles {
        for third in second + 1..spindles {
            for fourth in third + 1..spindles {
                for fifth in fourth + 1..spindles {
                    ascending.push([0, second, third, fourth, fifth, 0, 0, 0]);
                }
            }
        }
    }
    let count = ascending.len();
    let golden = (count as f64 * 0.618_033_988_75) as usize;
    let stride = (golden.max(1)..).find(|&stride| greatest_common_divisor(stride, count) == 1);
    let stride = stride.unwrap_or(1);
    (0..count).map(|position| ascending[position * stride % count]).collect()
}

fn greatest_common_divisor(first: usize, second: usize) -> usize {
    if second == 0 { first } else { greatest_common_divisor(second, first % second) }
}
