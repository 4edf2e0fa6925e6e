//! A superblock's entry for a snapshot: its name, and the root of its blocks.

use strewn_array::write_anywhere::metadata::Pointer;
use strewn_raid::Vbn;

use super::{Field, FormatError};

const WHAT: &str = "snapshot";

/// Most snapshots of an array.
pub const MAXIMUM_SNAPSHOTS: usize = 31;

/// Longest name of a snapshot, in bytes.
pub const MAXIMUM_SNAPSHOT_NAME_BYTES: usize = 64;

/// Size of an entry, in bytes.
pub(super) const ENTRY_BYTES: usize = 112;

const NAME: Field = Field::new("name", 0, MAXIMUM_SNAPSHOT_NAME_BYTES);
const CHECKPOINT: Field = Field::new("consistency point taken at", 64, 8);
const TAKEN: Field = Field::new("taken", 72, 8);
const INODE_VBN: Field = Field::new("inode VBN", 80, 8);
const INODE_CRC: Field = Field::new("inode CRC-32C", 88, 4);
const INODE_PRESENT: Field = Field::new("inode present", 92, 1);
const RESERVED: Field = Field::new("reserved", 93, 19);

pub(super) const FIELDS: &[Field] =
    &[NAME, CHECKPOINT, TAKEN, INODE_VBN, INODE_CRC, INODE_PRESENT, RESERVED];

/// The LUN as of a consistency point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number: those of later snapshots are higher. It is not stored: a restart numbers the snapshots from 1.
    pub number: u32,
    /// Its name, of at most [`MAXIMUM_SNAPSHOT_NAME_BYTES`] bytes.
    pub name: String,
    /// The consistency point of the last superblock when it was taken.
    pub checkpoint: u64,
    /// When it was taken, in seconds since 1970 (UTC).
    pub taken_unix_seconds: u64,
    /// The pointer to its inode; `None` for a LUN that was never written.
    pub inode: Option<Pointer>,
}

impl Snapshot {
    pub(super) fn put(&self, entry: &mut [u8]) {
        // The creator of the snapshot has checked the name.
        let name = self.name.as_bytes();
        let length = name.len().min(MAXIMUM_SNAPSHOT_NAME_BYTES);
        NAME.of_mut(entry)[..length].copy_from_slice(&name[..length]);
        CHECKPOINT.put(entry, &self.checkpoint.to_le_bytes());
        TAKEN.put(entry, &self.taken_unix_seconds.to_le_bytes());
        if let Some(Pointer { vbn, checksum }) = self.inode {
            INODE_VBN.put(entry, &vbn.0.to_le_bytes());
            INODE_CRC.put(entry, &checksum.to_le_bytes());
            INODE_PRESENT.put(entry, &[1]);
        }
    }

    pub(super) fn get(number: u32, entry: &[u8]) -> Result<Self, FormatError> {
        let invalid = |field: Field, value: String| FormatError::Invalid {
            what: WHAT,
            field: field.name,
            value,
        };
        let name = NAME.of(entry).split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8(name.to_vec());
        let pointer = Pointer { vbn: Vbn(INODE_VBN.u64(entry)), checksum: INODE_CRC.u32(entry) };
        Ok(Self {
            number,
            name: name.map_err(|error| invalid(NAME, error.to_string()))?,
            checkpoint: CHECKPOINT.u64(entry),
            taken_unix_seconds: TAKEN.u64(entry),
            inode: match INODE_PRESENT.u8(entry) {
                0 => None,
                1 => Some(pointer),
                other => return Err(invalid(INODE_PRESENT, other.to_string())),
            },
        })
    }
}
