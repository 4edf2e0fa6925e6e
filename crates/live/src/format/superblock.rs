//! The superblock: the last durable consistency point.

use strewn_array::CATALOG_BLOCKS;
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::{Root, crc32c};
use strewn_raid::Vbn;

use super::label::MAXIMUM_GROUPS;
use super::{DiskFormatError, FORMAT, Field, Identity, SUPERBLOCK_SLOTS, check_block};
use crate::device::Buffer;

/// Size of a pointer to a block of the catalog: VBN and CRC-32C.
const POINTER_BYTES: usize = 8;

const WHAT: &str = "superblock";
const MAGIC_BYTES: &[u8; 8] = b"STREWNSB";

const MAGIC: Field = Field::new("magic", 0, 8);
const MAJOR: Field = Field::new("version, major", 8, 2);
const MINOR: Field = Field::new("version, minor", 10, 2);
const CLEAN: Field = Field::new("clean", 12, 1);
const ROOT_PRESENT: Field = Field::new("root present", 13, 1);
const RESERVED_1: Field = Field::new("reserved 1", 14, 2);
const ARRAY: Field = Field::new("array identity", 16, 16);
const NUMBER: Field = Field::new("consistency point", 32, 8);
const LOG_START: Field = Field::new("log start", 40, 8);
const ROOT_VBN: Field = Field::new("root VBN", 48, 8);
const ROOT_CRC: Field = Field::new("root CRC-32C", 56, 4);
const RESERVED_2: Field = Field::new("reserved 2", 60, 4);
const HELD_BACK: Field = Field::new("held back blocks", 64, 8);
const LABEL_SEQUENCE: Field = Field::new("label sequence", 72, 8);
const REDO_START: Field = Field::new("redo start", 80, 8);
const RESERVED_3: Field = Field::new("reserved 3", 88, 3480);
const LOG_DURABLE: Field = Field::new("log durable", 3568, 8);
const MAP_SEQUENCE: Field = Field::new("map sequence", 3576, 8);
const CATALOG_COUNT: Field = Field::new("catalog blocks", 3584, 2);
const GROUPS: Field = Field::new("parity groups", 3586, 2);
const RESERVED_4: Field = Field::new("reserved 4", 3588, 4);
const CATALOG: Field = Field::new("catalog", 3592, CATALOG_BLOCKS as usize * POINTER_BYTES);
const ADDED_MAP_SEQUENCES: Field =
    Field::new("map sequences of added groups", 3720, (MAXIMUM_GROUPS - 1) * 8);
const RESERVED_5: Field = Field::new("reserved 5", 3776, 316);
const CRC: Field = Field::new("CRC-32C", 4092, 4);

pub(super) const FIELDS: &[Field] = &[
    MAGIC,
    MAJOR,
    MINOR,
    CLEAN,
    ROOT_PRESENT,
    RESERVED_1,
    ARRAY,
    NUMBER,
    LOG_START,
    ROOT_VBN,
    ROOT_CRC,
    RESERVED_2,
    HELD_BACK,
    LABEL_SEQUENCE,
    REDO_START,
    RESERVED_3,
    LOG_DURABLE,
    MAP_SEQUENCE,
    CATALOG_COUNT,
    GROUPS,
    RESERVED_4,
    CATALOG,
    ADDED_MAP_SEQUENCES,
    RESERVED_5,
    CRC,
];

/// A superblock. All spindles that are present have the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Identity of the array.
    pub array: Identity,
    /// The number of the consistency point: one more than the last. Its parity selects the slot.
    pub consistency_point: u64,
    /// The first host record in the log that it does not cover.
    pub log_start: u64,
    /// Every host record up to this number was durable. Those from `log_start` on must be in the log.
    pub log_durable: u64,
    /// The sequence of each parity group's newest durable initialization map when it was written; 0 without one. An
    /// in-place array has one map, the first.
    pub map_sequences: [u64; MAXIMUM_GROUPS],
    /// The first redo record in the log whose block writes it may not cover.
    pub redo_start: u64,
    /// The root, which leads to everything else.
    pub root: Root,
    /// The sequence of the labels when it was written.
    pub label_sequence: u64,
    /// Whether the array was shut down with it, so that nothing was written after it.
    pub clean: bool,
}

impl Superblock {
    /// Returns the next superblock, with the same contents, of a running array.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { consistency_point: self.consistency_point + 1, clean: false, ..self.clone() }
    }

    /// Returns the pointer to the root block, if there is one.
    #[must_use]
    pub fn root_pointer(&self) -> Option<Pointer> {
        self.root.block.map(|(vbn, checksum)| Pointer { vbn, checksum })
    }

    /// Returns the pointers to the blocks of the catalog.
    #[must_use]
    pub fn catalog_pointers(&self) -> Vec<Pointer> {
        let blocks = self.root.catalog.iter().map_while(|one| *one);
        blocks.map(|(vbn, checksum)| Pointer { vbn, checksum }).collect()
    }

    /// Returns how many parity groups the aggregate had when it was written: those that its bitmap covers.
    #[must_use]
    pub fn groups(&self) -> usize {
        // A new array has no root, and 0.
        usize::from(self.root.groups).max(1)
    }

    /// Returns whether a spindle is stale whose newest superblock this is, in an array whose newest is `newest`. Each
    /// superblock is durable on all spindles before the next is written, so a power loss leaves a spindle one behind. A
    /// spindle further behind was away, or is an old copy.
    #[must_use]
    pub fn is_stale_beside(&self, newest: &Self) -> bool {
        self.consistency_point.saturating_add(1) < newest.consistency_point
    }

    /// Returns the device block that it goes to.
    #[must_use]
    pub fn slot(&self) -> u64 {
        SUPERBLOCK_SLOTS[(self.consistency_point % 2) as usize]
    }

    /// Encodes it as a block.
    #[must_use]
    pub fn encode(&self) -> Buffer {
        let mut buffer = Buffer::zeroed(1);
        let block = buffer.bytes_mut();
        MAGIC.put(block, MAGIC_BYTES);
        MAJOR.put(block, &FORMAT.major.to_le_bytes());
        MINOR.put(block, &FORMAT.minor.to_le_bytes());
        CLEAN.put(block, &[u8::from(self.clean)]);
        ROOT_PRESENT.put(block, &[u8::from(self.root.block.is_some())]);
        ARRAY.put(block, &self.array.0);
        NUMBER.put(block, &self.consistency_point.to_le_bytes());
        LOG_START.put(block, &self.log_start.to_le_bytes());
        if let Some((vbn, crc)) = self.root.block {
            ROOT_VBN.put(block, &vbn.0.to_le_bytes());
            ROOT_CRC.put(block, &crc.to_le_bytes());
        }
        REDO_START.put(block, &self.redo_start.to_le_bytes());
        LOG_DURABLE.put(block, &self.log_durable.to_le_bytes());
        let [first, added @ ..] = self.map_sequences;
        MAP_SEQUENCE.put(block, &first.to_le_bytes());
        let (entries, _) = ADDED_MAP_SEQUENCES.of_mut(block).as_chunks_mut::<8>();
        for (entry, sequence) in entries.iter_mut().zip(added) {
            *entry = sequence.to_le_bytes();
        }
        GROUPS.put(block, &self.root.groups.to_le_bytes());
        HELD_BACK.put(block, &self.root.held_back_blocks.to_le_bytes());
        LABEL_SEQUENCE.put(block, &self.label_sequence.to_le_bytes());
        let catalog: Vec<(Vbn, u32)> = self.root.catalog.iter().map_while(|one| *one).collect();
        CATALOG_COUNT.put(block, &(catalog.len() as u16).to_le_bytes());
        for (entry, (vbn, crc)) in
            CATALOG.of_mut(block).chunks_exact_mut(POINTER_BYTES).zip(&catalog)
        {
            // A live array has VBNs of 32 bits.
            entry[..4].copy_from_slice(&(vbn.0 as u32).to_le_bytes());
            entry[4..].copy_from_slice(&crc.to_le_bytes());
        }
        let crc = crc32c(&block[..CRC.offset]);
        CRC.put(block, &crc.to_le_bytes());
        buffer
    }

    /// Decodes the superblock in a block of 4 KiB.
    ///
    /// # Errors
    /// If there is no superblock, or this program cannot read it: see [`DiskFormatError`].
    pub fn decode(block: &[u8]) -> Result<Self, DiskFormatError> {
        check_block(WHAT, block, (MAGIC, MAGIC_BYTES), (MAJOR, MINOR), CRC)?;
        let root =
            flag(ROOT_PRESENT, block)?.then(|| (Vbn(ROOT_VBN.u64(block)), ROOT_CRC.u32(block)));
        let catalog_count = usize::from(CATALOG_COUNT.u16(block));
        if catalog_count > CATALOG_BLOCKS as usize {
            let (field, value) = (CATALOG_COUNT.name, catalog_count.to_string());
            return Err(DiskFormatError::Invalid { what: WHAT, field, value });
        }
        let mut catalog = [None; CATALOG_BLOCKS as usize];
        let entries = CATALOG.of(block).chunks_exact(POINTER_BYTES);
        for (into, entry) in catalog.iter_mut().zip(entries).take(catalog_count) {
            let number = |at: usize| {
                u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            };
            *into = Some((Vbn(number(0).into()), number(4)));
        }
        let mut map_sequences = [MAP_SEQUENCE.u64(block); MAXIMUM_GROUPS];
        let (added, _) = ADDED_MAP_SEQUENCES.of(block).as_chunks::<8>();
        for (into, sequence) in map_sequences[1..].iter_mut().zip(added) {
            *into = u64::from_le_bytes(*sequence);
        }
        Ok(Self {
            array: Identity(ARRAY.array(block)),
            consistency_point: NUMBER.u64(block),
            log_start: LOG_START.u64(block),
            redo_start: REDO_START.u64(block),
            log_durable: LOG_DURABLE.u64(block),
            map_sequences,
            root: Root {
                held_back_blocks: HELD_BACK.u64(block),
                block: root,
                catalog,
                groups: GROUPS.u16(block),
            },
            label_sequence: LABEL_SEQUENCE.u64(block),
            clean: flag(CLEAN, block)?,
        })
    }

    /// Returns the newest valid superblock of `array` in the slots of its spindles.
    pub fn newest<'a>(slots: impl IntoIterator<Item = &'a [u8]>, array: Identity) -> Option<Self> {
        let good = slots.into_iter().filter_map(|slot| Self::decode(slot).ok());
        good.filter(|superblock| superblock.array == array)
            .max_by_key(|superblock| superblock.consistency_point)
    }
}

fn flag(field: Field, block: &[u8]) -> Result<bool, DiskFormatError> {
    match field.u8(block) {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(DiskFormatError::Invalid {
            what: WHAT,
            field: field.name,
            value: other.to_string(),
        }),
    }
}
