//! Records of the log.

use strewn_array::crc32c_of_parts;
use strewn_base::SECTOR_BYTES;

use super::{ArrayTag, FORMAT, Field};

/// Size of a record's header; its data follows.
pub const RECORD_HEADER_BYTES: usize = 64;

/// Records begin at multiples of this many bytes, with zeros in between.
pub const RECORD_ALIGNMENT: usize = 64;

const MAGIC_BYTES: &[u8; 4] = b"SLOG";

const MAGIC: Field = Field::new("magic", 0, 4);
const MAJOR: Field = Field::new("version, major", 4, 2);
const KIND: Field = Field::new("kind", 6, 2);
const TAG: Field = Field::new("array tag", 8, 8);
const SEQUENCE: Field = Field::new("sequence", 16, 8);
const FOLLOWS: Field = Field::new("follows", 24, 8);
const FIRST: Field = Field::new("first sector", 32, 8);
const SECOND: Field = Field::new("sectors and file, or needed from", 40, 8);
const LENGTH: Field = Field::new("data length", 48, 4);
const DURABLE: Field = Field::new("durable", 52, 8);
const CRC: Field = Field::new("CRC-32C", 60, 4);

pub(super) const FIELDS: &[Field] =
    &[MAGIC, MAJOR, KIND, TAG, SEQUENCE, FOLLOWS, FIRST, SECOND, LENGTH, DURABLE, CRC];

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A host write. Its data follows.
    Write {
        /// The number of the LUN's file.
        file: u32,
        /// The first sector (of 512 bytes) of the LUN.
        first_sector: u64,
        /// Number of sectors.
        sectors: u32,
    },
    /// An unmap of a range of the LUN, which reads as zeros from then on. It has no data.
    Unmap {
        /// The number of the LUN's file.
        file: u32,
        /// The first sector (of 512 bytes) of the LUN.
        first_sector: u64,
        /// Number of sectors.
        sectors: u32,
    },
    /// Block writes that must be atomic. The data is encoded by [`encode_redo`](super::encode_redo).
    Redo {
        /// The first redo record that is still needed: the writes of earlier ones are durable.
        needed_from: u64,
    },
}

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// Its number in its stream (host records or redo records): starts at 1, rises, and is never reused.
    pub sequence: u64,
    /// The number of the previous record of its stream: one less, unless a recovery lies between.
    pub follows: u64,
    /// All records of its stream up to this number were durable when it was created. If one of them is missing that
    /// no superblock covers, the device has lost it.
    pub durable: u64,
    /// What it records, and for which sectors or blocks.
    pub kind: RecordKind,
    /// Size of its data.
    pub data_bytes: u32,
}

impl RecordHeader {
    /// Returns the size of a record on the log device, padded to a multiple of [`RECORD_ALIGNMENT`].
    #[must_use]
    pub fn record_bytes(data_bytes: usize) -> usize {
        RECORD_HEADER_BYTES + data_bytes.next_multiple_of(RECORD_ALIGNMENT)
    }

    /// Encodes the header, with the CRC-32C of itself and of `data`, whose length must match.
    #[must_use]
    pub fn encode(&self, tag: ArrayTag, data: &[u8]) -> [u8; RECORD_HEADER_BYTES] {
        assert_eq!(self.data_bytes as usize, data.len());
        let (kind, first, second): (u16, u64, u64) = match self.kind {
            RecordKind::Write { file, first_sector, sectors } => {
                (1, first_sector, u64::from(file) << 32 | u64::from(sectors))
            }
            RecordKind::Unmap { file, first_sector, sectors } => {
                (2, first_sector, u64::from(file) << 32 | u64::from(sectors))
            }
            RecordKind::Redo { needed_from } => (3, 0, needed_from),
        };
        let mut header = [0; RECORD_HEADER_BYTES];
        MAGIC.put(&mut header, MAGIC_BYTES);
        MAJOR.put(&mut header, &FORMAT.major.to_le_bytes());
        KIND.put(&mut header, &kind.to_le_bytes());
        TAG.put(&mut header, &tag.0);
        SEQUENCE.put(&mut header, &self.sequence.to_le_bytes());
        FOLLOWS.put(&mut header, &self.follows.to_le_bytes());
        FIRST.put(&mut header, &first.to_le_bytes());
        SECOND.put(&mut header, &second.to_le_bytes());
        LENGTH.put(&mut header, &self.data_bytes.to_le_bytes());
        DURABLE.put(&mut header, &self.durable.to_le_bytes());
        let crc = crc32c_of_parts([&header[..CRC.offset], data]);
        CRC.put(&mut header, &crc.to_le_bytes());
        header
    }

    /// Decodes the header of a record of the array `tag`; returns `None` if there is none. Only
    /// [`is_whole`](Self::is_whole) tells whether the record is complete.
    #[must_use]
    pub fn decode(header: &[u8; RECORD_HEADER_BYTES], tag: ArrayTag) -> Option<Self> {
        let is_ours = MAGIC.of(header) == MAGIC_BYTES
            && MAJOR.u16(header) == FORMAT.major
            && TAG.of(header) == tag.0;
        let (first, second) = (FIRST.u64(header), SECOND.u64(header));
        let data_bytes = LENGTH.u32(header);
        let file = (second >> 32) as u32;
        let sectors = second as u32;
        let kind = match KIND.u16(header) {
            1 if u64::from(sectors) * SECTOR_BYTES == u64::from(data_bytes) => {
                RecordKind::Write { file, first_sector: first, sectors }
            }
            2 if data_bytes == 0 => RecordKind::Unmap { file, first_sector: first, sectors },
            3 if first == 0 => RecordKind::Redo { needed_from: second },
            _ => return None,
        };
        let (sequence, follows) = (SEQUENCE.u64(header), FOLLOWS.u64(header));
        let durable = DURABLE.u64(header);
        let in_order = follows < sequence && durable < sequence;
        (is_ours && in_order).then_some(Self { sequence, follows, durable, kind, data_bytes })
    }

    /// Returns whether `header` has the CRC-32C of itself and `data`, so that the whole record was written.
    #[must_use]
    pub fn is_whole(header: &[u8; RECORD_HEADER_BYTES], data: &[u8]) -> bool {
        CRC.u32(header) == crc32c_of_parts([&header[..CRC.offset], data])
    }
}
