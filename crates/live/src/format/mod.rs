//! The on-disk format of an array's devices: codecs without I/O.
//!
//! `docs/format.md` presents the format as tables, with the reasons; a test compares them with [`TABLES`]. All
//! numbers are little endian. Every structure begins with a magic number and a version and has a CRC-32C over itself,
//! except a checksum entry, which has 64 bytes and carries its array's tag.

use strewn_array::crc32c;

mod checksum;
mod field;
mod identity;
mod initialization;
mod label;
mod log_layout;
mod record;
mod redo;
mod spindle_layout;
mod stripe_sum;
mod superblock;

pub use checksum::{BadEntry, BlockAddress, BlockTag, ChecksumEntry, ENTRY_BYTES, EntryRead};
pub use field::Field;
pub use identity::{ArrayTag, Identity};
pub use initialization::{INITIALIZATION_MAP_SLOTS, InitializationMap, MAXIMUM_ZONES};
pub use label::{
    DeviceKind, DeviceRole, Label, MAXIMUM_CONFIGURATION_BYTES, MAXIMUM_GROUPS, MAXIMUM_MEMBERS,
    MIRRORED_LOGS, Member, MemberGroup, MemberState,
};
pub use log_layout::LogLayout;
pub use record::{RECORD_ALIGNMENT, RECORD_HEADER_BYTES, RecordHeader, RecordKind};
pub use redo::{
    REDO_DESCRIPTOR_BYTES, RedoBlock, RedoWrite, decode_redo, encode_redo, redo_data_bytes,
};
pub use spindle_layout::{
    FIRST_ROW_BLOCK, ROW_BLOCKS, ROW_DATA_BLOCKS, SUPERBLOCK_SLOTS, checksum_block, data_blocks,
    device_block, device_blocks_for, rows_of,
};
pub use stripe_sum::StripeSum;
pub use superblock::Superblock;

use std::fmt;

/// The version of the format that this program reads and writes.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// The incompatible feature of an array with an [initialization map](InitializationMap): a program that ignored it
/// would write to zones that are not initialized.
pub const FEATURE_INITIALIZATION_MAP: u64 = 2;

/// The incompatible feature of an array with a mirrored log: a program that ignored it would write its records to one
/// of the two devices, and trust the other after a crash.
pub const FEATURE_MIRRORED_LOG: u64 = 4;

/// The incompatible feature of an array with several parity groups: a program that ignored it would look for blocks of
/// all groups in the first.
pub const FEATURE_PARITY_GROUPS: u64 = 8;

/// The incompatible features that this program knows.
pub const KNOWN_INCOMPATIBLE_FEATURES: u64 =
    FEATURE_INITIALIZATION_MAP | FEATURE_MIRRORED_LOG | FEATURE_PARITY_GROUPS;

/// A version of the format. A program reads the versions of its own major number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Changes if a program that does not know the change would misread the array.
    pub major: u16,
    /// Changes if a program that does not know the change can ignore it.
    pub minor: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Checks that this program can read the version.
    ///
    /// # Errors
    /// [`DiskFormatError::OtherVersion`] if it cannot.
    fn check(self, what: &'static str) -> Result<(), DiskFormatError> {
        match self.major == FORMAT.major {
            true => Ok(()),
            false => Err(DiskFormatError::OtherVersion { what, found: self }),
        }
    }
}

/// Why bytes or a text are not what they should be, or a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiskFormatError {
    /// The magic number is different.
    #[error("there is no {what} of a Strewn array here")]
    NotOurs {
        /// Name of the structure.
        what: &'static str,
    },
    /// A program of another major version wrote it.
    #[error(
        "the {what} is of format {found}, and this program reads format {FORMAT}: use the version of Strewn that wrote it"
    )]
    OtherVersion {
        /// Name of the structure.
        what: &'static str,
        /// Version in its header.
        found: Version,
    },
    /// It has incompatible features that this program does not know.
    #[error(
        "the {what} has features that this program does not know (bits {unknown:#x}): use a newer Strewn"
    )]
    UnknownFeatures {
        /// Name of the structure.
        what: &'static str,
        /// A set bit for each unknown feature.
        unknown: u64,
    },
    /// The CRC-32C does not match the bytes.
    #[error("the {what} is damaged: it has CRC-32C {stored:08x}, its bytes have {computed:08x}")]
    Damaged {
        /// Name of the structure.
        what: &'static str,
        /// The CRC-32C stored in it.
        stored: u32,
        /// The CRC-32C of its bytes.
        computed: u32,
    },
    /// A text is not an identity.
    #[error("'{0}' is no UUID: 32 hexadecimal digits, with or without hyphens")]
    NotIdentity(String),
    /// A field has a value that no version of this major number writes, or that does not fit.
    #[error("the {what} has a {field} that cannot be: {value}")]
    Invalid {
        /// Name of the structure.
        what: &'static str,
        /// Name of the field, as docs/format.md has it.
        field: &'static str,
        /// Its value, as text.
        value: String,
    },
}

/// Every structure by the title of its table in `docs/format.md`, with its size in bytes and its fields in order.
pub const TABLES: &[(&str, usize, &[Field])] = &[
    ("Label", crate::device::BLOCK_BYTES, label::FIELDS),
    ("Superblock", crate::device::BLOCK_BYTES, superblock::FIELDS),
    ("Initialization map", crate::device::BLOCK_BYTES, initialization::FIELDS),
    ("Checksum entry", ENTRY_BYTES, checksum::FIELDS),
    ("Log record header", RECORD_HEADER_BYTES, record::FIELDS),
    ("Redo descriptor", REDO_DESCRIPTOR_BYTES, redo::FIELDS),
];

/// Checks the common head of a label and a superblock: magic, version and CRC, in this order, so that another version
/// is reported as such and not as damage.
fn check_block(
    what: &'static str,
    block: &[u8],
    magic: (Field, &[u8]),
    version: (Field, Field),
    crc: Field,
) -> Result<Version, DiskFormatError> {
    if block.len() != crate::device::BLOCK_BYTES || magic.0.of(block) != magic.1 {
        return Err(DiskFormatError::NotOurs { what });
    }
    let version = Version { major: version.0.u16(block), minor: version.1.u16(block) };
    version.check(what)?;
    let (stored, computed) = (crc.u32(block), crc32c(&block[..crc.offset]));
    if stored != computed {
        return Err(DiskFormatError::Damaged { what, stored, computed });
    }
    Ok(version)
}
