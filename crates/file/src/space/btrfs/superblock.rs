//! The superblock of a btrfs device (struct `btrfs_super_block`, include/uapi/linux/btrfs_tree.h).

use super::fields::{array, u16_at, u32_at, u64_at};
use super::tree::{Key, TreeRoot};

/// Where the first superblock of a device begins.
pub const SUPERBLOCK_BYTE: u64 = 64 << 10;

/// Bytes of a superblock.
pub const SUPERBLOCK_BYTES: usize = 4096;

/// Where devices have copies of the superblock, if they are large enough; no chunk gives these 64 KiB out
/// (`btrfs_sb_offset`).
pub(super) const SUPERBLOCK_COPIES: [u64; 3] = [SUPERBLOCK_BYTE, 64 << 20, 256 << 30];

const MAGIC: &[u8; 8] = b"_BHRfS_M";
const SYSTEM_CHUNKS_AT: usize = 0x32b;
const MOST_SYSTEM_CHUNK_BYTES: usize = 2048;
const MOST_LEVEL: u8 = 7;

/// Incompatible features that change what is read here.
const METADATA_UUID: u64 = 1 << 10;
const EXTENT_TREE_V2: u64 = 1 << 13;
const RAID_STRIPE_TREE: u64 = 1 << 14;
const REMAP_TREE: u64 = 1 << 17;

/// What a superblock says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// The file system.
    pub fsid: [u8; 16],
    /// What tree blocks have as their file system: `fsid`, unless that was changed later.
    pub(super) metadata_uuid: [u8; 16],
    /// The last committed transaction.
    pub generation: u64,
    /// The number of devices.
    pub devices: u64,
    /// Bytes of a data block.
    pub sector_bytes: u32,
    /// Bytes of a tree block.
    pub(super) node_bytes: u32,
    /// The device that the superblock is on.
    pub device_id: u64,
    /// Bytes of that device.
    pub device_bytes: u64,
    pub(super) root: TreeRoot,
    pub(super) chunk_root: TreeRoot,
    /// Keys and chunks by which the chunk tree is found.
    pub(super) system_chunks: Vec<u8>,
}

impl Superblock {
    /// Bytes of a tree block.
    pub(crate) fn node_bytes(&self) -> u64 {
        u64::from(self.node_bytes)
    }

    /// Parses the bytes at [`SUPERBLOCK_BYTE`].
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        const SHORT: &str = "the superblock is incomplete";
        if array(bytes, 0x40).ok_or(SHORT)? != *MAGIC {
            return Err("there is no btrfs superblock".to_owned());
        }
        let u64_at = |at| u64_at(bytes, at).ok_or(SHORT);
        let u32_at = |at| u32_at(bytes, at).ok_or(SHORT);
        let level_at = |at: usize| match bytes.get(at) {
            Some(level) if *level <= MOST_LEVEL => Ok(*level),
            _ => Err("the superblock has a tree that is too high"),
        };
        let features = u64_at(0xbc)?;
        for (feature, name) in [
            (EXTENT_TREE_V2, "extent-tree-v2"),
            (RAID_STRIPE_TREE, "raid-stripe-tree"),
            (REMAP_TREE, "remap-tree"),
        ] {
            if features & feature != 0 {
                return Err(format!("it uses {name}, which is not supported"));
            }
        }
        let fsid = array(bytes, 0x20).ok_or(SHORT)?;
        let changed = features & METADATA_UUID != 0;
        let generation = u64_at(0x48)?;
        let (sector_bytes, node_bytes) = (u32_at(0x90)?, u32_at(0x94)?);
        let is_size = |bytes: u32| bytes.is_power_of_two() && (4096..=65_536).contains(&bytes);
        if !is_size(sector_bytes) || !is_size(node_bytes) {
            return Err(format!("blocks of {sector_bytes} and {node_bytes} bytes do not exist"));
        }
        let chunks = u32_at(0xa0)? as usize;
        let system_chunks = bytes.get(SYSTEM_CHUNKS_AT..SYSTEM_CHUNKS_AT.saturating_add(chunks));
        let system_chunks = match system_chunks {
            Some(chunks) if chunks.len() <= MOST_SYSTEM_CHUNK_BYTES => chunks.to_vec(),
            _ => return Err(format!("{chunks} bytes of system chunks do not fit")),
        };
        Ok(Self {
            fsid,
            metadata_uuid: if changed { array(bytes, 0x23b).ok_or(SHORT)? } else { fsid },
            generation,
            devices: u64_at(0x88)?,
            sector_bytes,
            node_bytes,
            device_id: u64_at(0xc9)?,
            device_bytes: u64_at(0xd1)?,
            root: TreeRoot { logical: u64_at(0x50)?, generation, level: level_at(0xc6)? },
            chunk_root: TreeRoot {
                logical: u64_at(0x58)?,
                generation: u64_at(0xa4)?,
                level: level_at(0xc7)?,
            },
            system_chunks,
        })
    }

    /// The chunks by which the chunk tree is found, each with its key.
    ///
    /// # Errors
    /// If they are not whole.
    pub(super) fn system_chunks(&self) -> Result<Vec<(Key, &[u8])>, String> {
        const SHORT: &str = "the system chunks of the superblock are incomplete";
        let mut found = Vec::new();
        let mut rest = self.system_chunks.as_slice();
        while !rest.is_empty() {
            let key = Key::parse(rest).ok_or(SHORT)?;
            let stripes = u16_at(rest, Key::BYTES + 44).ok_or(SHORT)?;
            let end = Key::BYTES + 48 + 32 * usize::from(stripes);
            found.push((key, rest.get(Key::BYTES..end).ok_or(SHORT)?));
            rest = &rest[end..];
        }
        Ok(found)
    }
}
