//! The initialization map: which rows have had their checksum blocks written.

use std::ops::Range;

use strewn_array::crc32c;

use super::{DiskFormatError, FORMAT, Field, Identity, check_block};
use crate::device::Buffer;

const WHAT: &str = "initialization map";
const MAGIC_BYTES: &[u8; 8] = b"STREWNIM";

/// Zones that a map has room for.
pub const MAXIMUM_ZONES: u64 = BITS.bytes as u64 * 8;

/// The fewest rows of a zone of a new array: 4 MiB of each spindle.
const LEAST_ZONE_ROWS: u64 = 16;

/// The device blocks of the map's slots.
pub const INITIALIZATION_MAP_SLOTS: [u64; 2] = [3, 4];

const MAGIC: Field = Field::new("magic", 0, 8);
const MAJOR: Field = Field::new("version, major", 8, 2);
const MINOR: Field = Field::new("version, minor", 10, 2);
const RESERVED_1: Field = Field::new("reserved 1", 12, 4);
const ARRAY: Field = Field::new("array identity", 16, 16);
const SEQUENCE: Field = Field::new("map sequence", 32, 8);
const ROWS: Field = Field::new("rows", 40, 8);
const ZONE_ROWS: Field = Field::new("zone rows", 48, 8);
const RESERVED_2: Field = Field::new("reserved 2", 56, 8);
const BITS: Field = Field::new("zones", 64, 4000);
const RESERVED_3: Field = Field::new("reserved 3", 4064, 28);
const CRC: Field = Field::new("CRC-32C", 4092, 4);

pub(super) const FIELDS: &[Field] = &[
    MAGIC, MAJOR, MINOR, RESERVED_1, ARRAY, SEQUENCE, ROWS, ZONE_ROWS, RESERVED_2, BITS,
    RESERVED_3, CRC,
];

/// Which zones of an array are initialized. A zone is a run of rows, the same on all spindles. Before the first write
/// to a zone, every checksum block in it is written on every spindle, and then its bit here.
///
/// In an initialized zone an entry of zeros was erased; elsewhere nothing was ever written, whatever the device holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitializationMap {
    /// Identity of the array, which its labels have too.
    pub array: Identity,
    /// Raised by each write. Its parity selects the slot.
    pub sequence: u64,
    /// Rows of a spindle.
    pub rows: u64,
    /// Rows of a zone; the last one may have fewer.
    pub zone_rows: u64,
    bits: Vec<u8>,
}

impl InitializationMap {
    /// The map of a new array whose spindles have `rows` rows. No zone is initialized.
    #[must_use]
    pub fn new(array: Identity, rows: u64) -> Self {
        let zone_rows = rows.div_ceil(MAXIMUM_ZONES).max(LEAST_ZONE_ROWS);
        Self::with_zones_of(array, rows, zone_rows)
    }

    /// Like [`new`](Self::new), with zones of `zone_rows` rows.
    ///
    /// # Panics
    /// If these are too many zones for a map.
    #[must_use]
    pub fn with_zones_of(array: Identity, rows: u64, zone_rows: u64) -> Self {
        assert!(
            zone_rows > 0 && rows.div_ceil(zone_rows) <= MAXIMUM_ZONES,
            "a map has room for {MAXIMUM_ZONES} zones"
        );
        Self { array, sequence: 0, rows, zone_rows, bits: vec![0; BITS.bytes] }
    }

    /// The zone of a row.
    #[must_use]
    pub fn zone_of(&self, row: u64) -> u64 {
        row / self.zone_rows
    }

    /// The rows of a zone.
    #[must_use]
    pub fn rows_of(&self, zone: u64) -> Range<u64> {
        let first = zone * self.zone_rows;
        first..(first + self.zone_rows).min(self.rows)
    }

    /// Whether a zone is initialized.
    ///
    /// # Panics
    /// If the array has no such zone.
    #[must_use]
    pub fn is_initialized(&self, zone: u64) -> bool {
        self.bits[(zone / 8) as usize] >> (zone % 8) & 1 == 1
    }

    /// Marks a zone as initialized.
    ///
    /// # Panics
    /// If the array has no such zone.
    pub fn set_initialized(&mut self, zone: u64) {
        self.bits[(zone / 8) as usize] |= 1 << (zone % 8);
    }

    /// The device block it goes to.
    #[must_use]
    pub fn slot(&self) -> u64 {
        INITIALIZATION_MAP_SLOTS[(self.sequence % 2) as usize]
    }

    /// The union of all valid maps of `array` in the slots of its spindles: a zone is initialized if any copy says
    /// so, because no copy says so too early. `None` if no map is valid.
    pub fn union<'a>(slots: impl IntoIterator<Item = &'a [u8]>, array: Identity) -> Option<Self> {
        let maps = slots.into_iter().filter_map(|slot| Self::decode(slot).ok());
        maps.filter(|map| map.array == array).reduce(|mut all, map| {
            for (all, bits) in all.bits.iter_mut().zip(map.bits) {
                *all |= bits;
            }
            Self { sequence: all.sequence.max(map.sequence), ..all }
        })
    }

    /// The block with it.
    #[must_use]
    pub fn encode(&self) -> Buffer {
        let mut buffer = Buffer::zeroed(1);
        let block = buffer.bytes_mut();
        MAGIC.put(block, MAGIC_BYTES);
        MAJOR.put(block, &FORMAT.major.to_le_bytes());
        MINOR.put(block, &FORMAT.minor.to_le_bytes());
        ARRAY.put(block, &self.array.0);
        SEQUENCE.put(block, &self.sequence.to_le_bytes());
        ROWS.put(block, &self.rows.to_le_bytes());
        ZONE_ROWS.put(block, &self.zone_rows.to_le_bytes());
        BITS.put(block, &self.bits);
        let crc = crc32c(&block[..CRC.offset]);
        CRC.put(block, &crc.to_le_bytes());
        buffer
    }

    /// The map in a block of 4 KiB.
    ///
    /// # Errors
    /// Where there is none, or none that this program reads: see [`DiskFormatError`].
    pub fn decode(block: &[u8]) -> Result<Self, DiskFormatError> {
        check_block(WHAT, block, (MAGIC, MAGIC_BYTES), (MAJOR, MINOR), CRC)?;
        let (rows, zone_rows) = (ROWS.u64(block), ZONE_ROWS.u64(block));
        if zone_rows == 0 || rows.div_ceil(zone_rows) > MAXIMUM_ZONES {
            let (field, value) = (ZONE_ROWS.name, zone_rows.to_string());
            return Err(DiskFormatError::Invalid { what: WHAT, field, value });
        }
        Ok(Self {
            array: Identity(ARRAY.array(block)),
            sequence: SEQUENCE.u64(block),
            rows,
            zone_rows,
            bits: BITS.of(block).to_vec(),
        })
    }
}
