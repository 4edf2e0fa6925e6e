//! The data of a redo record: block writes, first their descriptors, then their bytes.

use strewn_raid::{Dbn, SpindleIndex};

use super::{BlockTag, Field};
use crate::device::BLOCK_BYTES;

/// Size of the descriptor of one block of a redo record.
pub const REDO_DESCRIPTOR_BYTES: usize = 32;

const SPINDLE: Field = Field::new("spindle", 0, 2);
const KIND: Field = Field::new("kind", 2, 1);
const SUM_PRESENT: Field = Field::new("stripe sum present", 3, 1);
const FILE: Field = Field::new("file", 4, 4);
const DBN: Field = Field::new("DBN", 8, 8);
const NUMBER: Field = Field::new("number", 16, 8);
const RESERVED: Field = Field::new("reserved", 24, 8);

pub(super) const FIELDS: &[Field] = &[SPINDLE, KIND, SUM_PRESENT, FILE, DBN, NUMBER, RESERVED];

/// A write of consecutive whole blocks on a spindle, for a redo record.
#[derive(Debug, Clone)]
pub struct RedoWrite<'a> {
    /// Spindle that is written.
    pub spindle: SpindleIndex,
    /// First block that is written.
    pub first: Dbn,
    /// The tag of each block, except the record number, which is this record's.
    pub block_tags: &'a [BlockTag],
    /// The data, in parts: 4096 bytes for each of `block_tags`.
    pub bytes: Vec<&'a [u8]>,
}

/// A block read from a redo record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedoBlock {
    /// Spindle that it belongs on.
    pub spindle: SpindleIndex,
    /// The block on the spindle.
    pub dbn: Dbn,
    /// What the block contains, for its checksum entry.
    pub block_tag: BlockTag,
    /// Its 4096 bytes.
    pub bytes: Vec<u8>,
}

/// Returns the data size of a redo record of `blocks` blocks, in bytes.
#[must_use]
pub const fn redo_data_bytes(blocks: usize) -> usize {
    blocks * (REDO_DESCRIPTOR_BYTES + BLOCK_BYTES)
}

/// Appends the data of a redo record to `into`.
pub fn encode_redo(writes: &[RedoWrite<'_>], into: &mut Vec<u8>) {
    for write in writes {
        for (dbn, block_tag) in (write.first.0..).zip(write.block_tags) {
            let (kind, file, number, has_sum) = block_tag.to_numbers();
            let mut descriptor = [0; REDO_DESCRIPTOR_BYTES];
            SPINDLE.put(&mut descriptor, &write.spindle.0.to_le_bytes());
            KIND.put(&mut descriptor, &[kind]);
            SUM_PRESENT.put(&mut descriptor, &[u8::from(has_sum)]);
            FILE.put(&mut descriptor, &file.to_le_bytes());
            DBN.put(&mut descriptor, &dbn.to_le_bytes());
            NUMBER.put(&mut descriptor, &number.to_le_bytes());
            into.extend_from_slice(&descriptor);
        }
    }
    for write in writes {
        let before = into.len();
        write.bytes.iter().for_each(|part| into.extend_from_slice(part));
        assert_eq!(into.len() - before, write.block_tags.len() * BLOCK_BYTES);
    }
}

/// Decodes the blocks of redo record `record`; returns `None` if `data` is invalid.
#[must_use]
pub fn decode_redo(record: u64, data: &[u8]) -> Option<Vec<RedoBlock>> {
    if !data.len().is_multiple_of(redo_data_bytes(1)) {
        return None;
    }
    let blocks = data.len() / redo_data_bytes(1);
    let (descriptors, bytes) = data.split_at(blocks * REDO_DESCRIPTOR_BYTES);
    let blocks =
        descriptors.chunks_exact(REDO_DESCRIPTOR_BYTES).zip(bytes.chunks_exact(BLOCK_BYTES));
    let blocks = blocks.map(|(descriptor, bytes)| {
        let has_sum = SUM_PRESENT.u8(descriptor) != 0;
        let (kind, file) = (KIND.u8(descriptor), FILE.u32(descriptor));
        let block_tag = BlockTag::of_numbers(kind, file, NUMBER.u64(descriptor), has_sum)?;
        Some(RedoBlock {
            spindle: SpindleIndex(SPINDLE.u16(descriptor)),
            dbn: Dbn(DBN.u64(descriptor)),
            block_tag: BlockTag { redo: record, ..block_tag },
            bytes: bytes.to_vec(),
        })
    });
    blocks.collect()
}
