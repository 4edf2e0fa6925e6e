//! The entry of a checksum block, which identifies and verifies a data block.

use strewn_array::{BlockContents, crc32c};
use strewn_raid::{Dbn, SpindleIndex};

use super::{ArrayTag, Field, StripeSum};

/// Size of an entry. Eight entries fill a sector, so that in a torn checksum block each entry is old or new.
pub const ENTRY_BYTES: usize = 64;

/// The version of the entry's layout; a new one comes with an incompatible feature or a new major version.
const ENTRY_VERSION: u8 = 1;

/// The kind of an entry whose block was never written, in an initialized zone.
const NEVER_WRITTEN: u8 = 6;

const DATA_CRC: Field = Field::new("data CRC-32C", 0, 4);
const SPINDLE: Field = Field::new("spindle", 4, 2);
const KIND: Field = Field::new("kind", 6, 1);
const VERSION: Field = Field::new("version", 7, 1);
const DBN: Field = Field::new("DBN", 8, 8);
const NUMBER: Field = Field::new("number", 16, 8);
const FILE: Field = Field::new("file", 24, 4);
const SUM_PRESENT: Field = Field::new("stripe sum present", 28, 1);
const RESERVED_1: Field = Field::new("reserved 1", 29, 3);
const CONSISTENCY_POINT: Field = Field::new("consistency point", 32, 8);
const TAG: Field = Field::new("array tag", 40, 8);
const REDO: Field = Field::new("redo record", 48, 8);
const RESERVED_2: Field = Field::new("reserved 2", 56, 4);
const CRC: Field = Field::new("CRC-32C", 60, 4);

pub(super) const FIELDS: &[Field] = &[
    DATA_CRC,
    SPINDLE,
    KIND,
    VERSION,
    DBN,
    NUMBER,
    FILE,
    SUM_PRESENT,
    RESERVED_1,
    CONSISTENCY_POINT,
    TAG,
    REDO,
    RESERVED_2,
    CRC,
];

/// The address of a block. If its entry states another, it was meant for another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockAddress {
    /// Short identity of the array.
    pub tag: ArrayTag,
    /// Spindle by its position, counted from 0.
    pub spindle: SpindleIndex,
    /// The block of the spindle.
    pub dbn: Dbn,
}

/// Metadata that a writer stores with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockTag {
    /// The block's contents.
    pub holds: BlockContents,
    /// The number of the redo record that it was written with; 0 if there was none. In place, parity that was written
    /// without one has the number of a record at least as new as everything that it covers, and data that of its
    /// parity.
    pub redo: u64,
    /// The sum of its stripe, for in-place parity, if known.
    pub stripe_sum: Option<StripeSum>,
}

impl From<BlockContents> for BlockTag {
    fn from(holds: BlockContents) -> Self {
        Self { holds, redo: 0, stripe_sum: None }
    }
}

impl BlockTag {
    /// Encodes as kind, file, number, and whether there is a stripe sum.
    pub(super) fn to_numbers(self) -> (u8, u32, u64, bool) {
        let (kind, file, number) = holds_to_numbers(self.holds);
        match self.stripe_sum {
            Some(StripeSum(sum)) if self.holds == BlockContents::Parity => (kind, file, sum, true),
            _ => (kind, file, number, false),
        }
    }

    /// Decodes kind, file and number; returns `None` if they are invalid.
    pub(super) fn of_numbers(kind: u8, file: u32, number: u64, has_sum: bool) -> Option<Self> {
        let number_of_holds = if has_sum { 0 } else { number };
        let holds = holds_of_numbers(kind, file, number_of_holds)?;
        Some(Self { holds, redo: 0, stripe_sum: has_sum.then_some(StripeSum(number)) })
    }
}

/// The metadata stored for a data block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChecksumEntry {
    /// CRC-32C of its 4096 bytes.
    pub data_crc: u32,
    /// Where the writer meant it to lie.
    pub place: BlockAddress,
    /// The metadata that its writer stored with it.
    pub block_tag: BlockTag,
    /// The newest consistency point when it was written.
    pub consistency_point: u64,
}

/// A valid entry, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRead {
    /// All zeros: the block was never written or, in an initialized zone, its entry was erased.
    Zeros,
    /// The block was never written, says an entry.
    NeverWritten,
    /// The block was written.
    Written(ChecksumEntry),
}

/// Why an entry is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// Its CRC-32C does not match.
    #[error("the checksum entry is damaged")]
    Damaged,
    /// It belongs to another array.
    #[error("the block is of another array")]
    OtherArray,
    /// It belongs to another place in this array.
    #[error("the block belongs elsewhere: {0}, {1}")]
    OtherPlace(SpindleIndex, Dbn),
    /// Its version or kind is unknown.
    #[error("the checksum entry is of a kind that is not known")]
    Unknown,
}

/// Encodes a [`BlockContents`] as kind, file and number. No kind is 0, so that no entry is all zeros.
fn holds_to_numbers(holds: BlockContents) -> (u8, u32, u64) {
    match holds {
        BlockContents::Nothing => (1, 0, 0),
        BlockContents::Lun { file, block } => (2, file, block),
        BlockContents::Metadata(key) => (3, 0, u64::from(key)),
        BlockContents::Parity => (4, 0, 0),
        BlockContents::Gone => (5, 0, 0),
    }
}

/// Decodes a [`BlockContents`] from kind, file and number; returns `None` if they are invalid.
fn holds_of_numbers(kind: u8, file: u32, number: u64) -> Option<BlockContents> {
    match (kind, file) {
        (1, 0) => Some(BlockContents::Nothing),
        (2, 1..) => Some(BlockContents::Lun { file, block: number }),
        (3, 0) => u32::try_from(number).ok().map(BlockContents::Metadata),
        (4, 0) => Some(BlockContents::Parity),
        (5, 0) => Some(BlockContents::Gone),
        _ => None,
    }
}

impl ChecksumEntry {
    /// The bytes of the entry of a block in an initialized zone that was never written.
    #[must_use]
    pub fn never_written(place: BlockAddress) -> [u8; ENTRY_BYTES] {
        let mut entry = [0; ENTRY_BYTES];
        SPINDLE.put(&mut entry, &place.spindle.0.to_le_bytes());
        KIND.put(&mut entry, &[NEVER_WRITTEN]);
        VERSION.put(&mut entry, &[ENTRY_VERSION]);
        DBN.put(&mut entry, &place.dbn.0.to_le_bytes());
        TAG.put(&mut entry, &place.tag.0);
        let crc = crc32c(&entry[..CRC.offset]);
        CRC.put(&mut entry, &crc.to_le_bytes());
        entry
    }

    /// Returns its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let (kind, file, number, has_sum) = self.block_tag.to_numbers();
        let mut entry = [0; ENTRY_BYTES];
        DATA_CRC.put(&mut entry, &self.data_crc.to_le_bytes());
        SPINDLE.put(&mut entry, &self.place.spindle.0.to_le_bytes());
        KIND.put(&mut entry, &[kind]);
        VERSION.put(&mut entry, &[ENTRY_VERSION]);
        DBN.put(&mut entry, &self.place.dbn.0.to_le_bytes());
        NUMBER.put(&mut entry, &number.to_le_bytes());
        FILE.put(&mut entry, &file.to_le_bytes());
        SUM_PRESENT.put(&mut entry, &[u8::from(has_sum)]);
        REDO.put(&mut entry, &self.block_tag.redo.to_le_bytes());
        CONSISTENCY_POINT.put(&mut entry, &self.consistency_point.to_le_bytes());
        TAG.put(&mut entry, &self.place.tag.0);
        let crc = crc32c(&entry[..CRC.offset]);
        CRC.put(&mut entry, &crc.to_le_bytes());
        entry
    }

    /// Decodes the entry of the block at `place`.
    ///
    /// # Errors
    /// If the entry is invalid, or belongs to a place other than `place`.
    pub fn decode(entry: &[u8; ENTRY_BYTES], place: BlockAddress) -> Result<EntryRead, BadEntry> {
        if entry == &[0; ENTRY_BYTES] {
            return Ok(EntryRead::Zeros);
        }
        if CRC.u32(entry) != crc32c(&entry[..CRC.offset]) {
            return Err(BadEntry::Damaged);
        }
        if TAG.of(entry) != place.tag.0 {
            return Err(BadEntry::OtherArray);
        }
        let (spindle, dbn) = (SpindleIndex(SPINDLE.u16(entry)), Dbn(DBN.u64(entry)));
        if (spindle, dbn) != (place.spindle, place.dbn) {
            return Err(BadEntry::OtherPlace(spindle, dbn));
        }
        if (KIND.u8(entry), VERSION.u8(entry)) == (NEVER_WRITTEN, ENTRY_VERSION) {
            return Ok(EntryRead::NeverWritten);
        }
        let has_sum = SUM_PRESENT.u8(entry) != 0;
        let numbers = (KIND.u8(entry), FILE.u32(entry), NUMBER.u64(entry));
        match BlockTag::of_numbers(numbers.0, numbers.1, numbers.2, has_sum) {
            Some(block_tag) if VERSION.u8(entry) == ENTRY_VERSION => Ok(EntryRead::Written(Self {
                data_crc: DATA_CRC.u32(entry),
                place,
                block_tag: BlockTag { redo: REDO.u64(entry), ..block_tag },
                consistency_point: CONSISTENCY_POINT.u64(entry),
            })),
            _ => Err(BadEntry::Unknown),
        }
    }
}
