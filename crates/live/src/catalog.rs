//! The catalog of a write-anywhere array: what its volumes, LUNs and snapshots are.
//!
//! It is TOML, in blocks that the superblock leads to. Numbers name things on the devices, and are never given again;
//! names are for people. As long as an array has only what it was created with, it has no catalog.

use serde::{Deserialize, Serialize};
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::write_anywhere::{BlockKeys, CatalogBlocks, VolumeConfig, WriteAnywhereConfig};
use strewn_array::{BlockContents, CATALOG_BLOCKS};
use strewn_raid::Vbn;
use strewn_volume::VolumeId;

use crate::device::BLOCK_BYTES;
use crate::format::DiskFormatError;
use crate::names::{FIRST_LUN_NAME, FIRST_VOLUME_NAME, SnapshotName, VolumeName};
use crate::toml_text;

const WHAT: &str = "catalog";

const MAGIC: &[u8; 4] = b"STCT";

/// Magic, number of the block, number of blocks, bytes of text in all, reserved.
const HEADER_BYTES: usize = 16;

const TEXT_BYTES: usize = BLOCK_BYTES - HEADER_BYTES;

/// Most bytes of a catalog's text.
pub const MAXIMUM_CATALOG_BYTES: usize = CATALOG_BLOCKS as usize * TEXT_BYTES;

/// What the volumes, LUNs and snapshots of an array are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// The number of the next LUN's file.
    pub next_file: u32,
    /// The number of the next volume.
    pub next_volume: u32,
    /// The volumes, in the order in which they were created.
    #[serde(rename = "volume", default)]
    pub volumes: Vec<CatalogVolume>,
}

/// A volume, as catalog blocks store it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogVolume {
    /// Number, never reused.
    pub number: u32,
    /// Name, unique in the array.
    pub name: String,
    /// Its size, in blocks: the most that its LUNs have together.
    pub blocks: u64,
    /// Whether it has no reservation: it may be larger than the aggregate.
    #[serde(default, skip_serializing_if = "is_false")]
    pub thin: bool,
    /// Numbers for its blocks. Fixed when it gets its size.
    pub numbers: u64,
    /// The snapshot that it was made from: the number of its volume, and its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<(u32, u32)>,
    /// Its LUNs, in the order in which they were created.
    #[serde(rename = "lun", default)]
    pub luns: Vec<CatalogLun>,
    /// Its snapshots, oldest first.
    #[serde(rename = "snapshot", default)]
    pub snapshots: Vec<CatalogSnapshot>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A LUN, as catalog blocks store it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogLun {
    /// The number of its file.
    pub file: u32,
    /// Name, unique in its volume.
    pub name: String,
    /// Its size, in blocks.
    pub blocks: u32,
}

/// A snapshot, as catalog blocks store it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogSnapshot {
    /// Its number. Those of a volume ascend.
    pub number: u32,
    /// Name, unique in its volume.
    pub name: String,
    /// When it was taken, in seconds since 1970 (UTC).
    pub taken_unix_seconds: u64,
    /// The consistency point of the last superblock when it was taken.
    pub consistency_point: u64,
    /// The volume's inode: VBN and CRC-32C; absent if nothing had ever been written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<(u64, u32)>,
    /// The LUNs that the volume had.
    #[serde(rename = "lun", default)]
    pub luns: Vec<CatalogLun>,
}

impl CatalogSnapshot {
    /// Returns a snapshot whose volume has this inode.
    #[must_use]
    pub fn new(
        number: u32,
        name: String,
        taken_unix_seconds: u64,
        consistency_point: u64,
        inode: Option<Pointer>,
        luns: Vec<CatalogLun>,
    ) -> Self {
        let inode = inode.map(|Pointer { vbn, checksum }| (vbn.0, checksum));
        Self { number, name, taken_unix_seconds, consistency_point, inode, luns }
    }

    /// Returns the pointer to the volume's inode; `None` if nothing had ever been written.
    #[must_use]
    pub fn inode(&self) -> Option<Pointer> {
        self.inode.map(|(vbn, checksum)| Pointer { vbn: Vbn(vbn), checksum })
    }

    /// Returns the keys that its blocks would have in an array of its own.
    #[must_use]
    pub fn keys(&self, config: &WriteAnywhereConfig) -> BlockKeys {
        let volume = volume_config(1, &self.luns);
        WriteAnywhereConfig { volumes: vec![volume], ..config.clone() }.block_keys()
    }
}

fn volume_config(numbers: u64, luns: &[CatalogLun]) -> VolumeConfig {
    VolumeConfig {
        files: luns.iter().map(|lun| lun.file).collect(),
        ..VolumeConfig::new(numbers, luns.iter().map(|lun| lun.blocks).collect())
    }
}

impl Catalog {
    /// Returns the catalog of an array that has what it was created with.
    #[must_use]
    pub fn first(config: &WriteAnywhereConfig) -> Self {
        let volume = &config.volumes[0];
        let blocks = volume.luns[0];
        let file = BlockContents::FIRST_FILE;
        let luns = vec![CatalogLun { file, name: FIRST_LUN_NAME.to_owned(), blocks }];
        let volume = CatalogVolume {
            number: 1,
            name: FIRST_VOLUME_NAME.to_owned(),
            blocks: blocks.into(),
            thin: false,
            numbers: volume.blocks,
            origin: None,
            snapshots: Vec::new(),
            luns,
        };
        Self { next_file: file + 1, next_volume: 2, volumes: vec![volume] }
    }

    /// Returns the volumes' part of the array's configuration.
    #[must_use]
    pub fn volumes(&self) -> Vec<VolumeConfig> {
        let of = |volume: &CatalogVolume| VolumeConfig {
            reservation_blocks: Some(if volume.thin { 0 } else { volume.blocks }),
            is_clone: volume.origin.is_some(),
            ..volume_config(volume.numbers, &volume.luns)
        };
        self.volumes.iter().map(of).collect()
    }

    /// Returns the configuration of the array that has this catalog; `config` is that which it was created with.
    #[must_use]
    pub fn config(&self, config: &WriteAnywhereConfig) -> WriteAnywhereConfig {
        WriteAnywhereConfig { volumes: self.volumes(), ..config.clone() }
    }

    /// Returns the catalog as blocks, or `None` if it is longer than [`MAXIMUM_CATALOG_BYTES`].
    #[must_use]
    pub fn encode(&self) -> Option<CatalogBlocks> {
        let text = toml::to_string(self).ok().filter(|text| text.len() <= MAXIMUM_CATALOG_BYTES)?;
        let parts: Vec<&[u8]> = text.as_bytes().chunks(TEXT_BYTES).collect();
        let block = |(number, part): (usize, &&[u8])| {
            let mut block = vec![0; BLOCK_BYTES];
            block[..4].copy_from_slice(MAGIC);
            block[4..6].copy_from_slice(&(number as u16).to_le_bytes());
            block[6..8].copy_from_slice(&(parts.len() as u16).to_le_bytes());
            block[8..12].copy_from_slice(&(text.len() as u32).to_le_bytes());
            block[HEADER_BYTES..HEADER_BYTES + part.len()].copy_from_slice(part);
            block.into_boxed_slice()
        };
        Some(parts.iter().enumerate().map(block).collect())
    }

    /// Reads a catalog from its blocks.
    ///
    /// # Errors
    /// If they are not those of a catalog.
    pub fn decode(blocks: &[Box<[u8]>]) -> Result<Self, DiskFormatError> {
        let invalid = |value| DiskFormatError::Invalid { what: WHAT, field: "text", value };
        let mut bytes = Vec::new();
        let mut length = 0;
        for (number, block) in blocks.iter().enumerate() {
            let is_ours = block.len() == BLOCK_BYTES
                && block[..4] == *MAGIC
                && block[4..6] == (number as u16).to_le_bytes()
                && block[6..8] == (blocks.len() as u16).to_le_bytes();
            if !is_ours {
                return Err(DiskFormatError::NotOurs { what: WHAT });
            }
            length = u32::from_le_bytes([block[8], block[9], block[10], block[11]]) as usize;
            bytes.extend_from_slice(&block[HEADER_BYTES..]);
        }
        let text = bytes.get(..length).and_then(|text| std::str::from_utf8(text).ok());
        let text = text.ok_or_else(|| invalid("not UTF-8".to_owned()))?;
        toml_text::read(text).map_err(invalid)
    }

    /// Returns the number by which the array knows a volume.
    #[must_use]
    pub fn index_of(&self, number: u32) -> Option<VolumeId> {
        let at = self.volumes.iter().position(|volume| volume.number == number)?;
        Some(VolumeId(at as u32))
    }

    /// Returns the LUNs of all volumes, in the order in which the array numbers them.
    pub fn luns(&self) -> impl Iterator<Item = &CatalogLun> {
        self.volumes.iter().flat_map(|volume| &volume.luns)
    }

    /// Returns each snapshot, with its volume.
    pub fn snapshots(&self) -> impl Iterator<Item = (&CatalogVolume, &CatalogSnapshot)> {
        self.volumes
            .iter()
            .flat_map(|volume| volume.snapshots.iter().map(move |snapshot| (volume, snapshot)))
    }

    /// Returns the index of a volume.
    #[must_use]
    pub fn find_volume(&self, name: &VolumeName) -> Option<usize> {
        self.volumes.iter().position(|volume| volume.name == name.as_str())
    }

    /// Returns the indices of a snapshot's volume, and of the snapshot in it.
    #[must_use]
    pub fn find_snapshot(&self, name: &SnapshotName) -> Option<(usize, usize)> {
        let volume = self.find_volume(name.volume())?;
        let snapshots = &self.volumes[volume].snapshots;
        let at = snapshots.iter().position(|snapshot| snapshot.name == name.snapshot())?;
        Some((volume, at))
    }
}
