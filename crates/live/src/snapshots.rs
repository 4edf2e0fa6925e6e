//! Reading snapshots of a write-anywhere array that is not running.
//!
//! A snapshot is a volume's inode at a consistency point, recorded in the catalog. Its blocks stay in use when LUNs are
//! overwritten: a snapshot costs nothing to take, and later one block for each block that is overwritten. A snapshot is
//! taken only if all that volumes reserve can still be overwritten once more.

use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_array::write_anywhere::metadata::Pointer;

use crate::administration::SnapshotName;
use crate::catalog::CatalogSnapshot;
use crate::device::{BLOCK_BYTES, Devices};
use crate::format::Label;
use crate::offline::OfflineArray;
use crate::restart::{RestartError, read_catalog, read_snapshot};

/// Blocks of an image per read.
const BLOCKS_AT_ONCE: usize = 1024;

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// In-place arrays overwrite what a snapshot would reference.
    #[error("an array in place has no snapshots")]
    InPlace,
    /// No snapshot has this name, or it has no such LUN.
    #[error("there is no {0}")]
    NoSuchSnapshot(String),
    /// Metadata cannot be read.
    #[error(transparent)]
    Restart(#[from] RestartError),
    /// A block can be neither read nor recomputed.
    #[error("block {0} of the LUN can be neither read nor computed from the rest of its stripe")]
    Gone(u32),
    /// The image cannot be written.
    #[error("the image cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl SnapshotError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::InPlace => {
                "create a write-anywhere array for that: --layout raid-dp or --layout raid-4"
            }
            Self::NoSuchSnapshot(_) => "`strewn array snapshot list DIR` has those there are",
            Self::Restart(_) | Self::Gone(_) => {
                "`strewn array status` and `strewn array check` say what is wrong"
            }
            Self::Output(_) => "give a file on a disk that has room for it",
        }
    }
}

/// Reads LUN `lun` as it is in a snapshot of an array that is not running. `block` is called for each block that was
/// written, in order, with its number and bytes; all other blocks are zeros. `begin` is called before with the LUN's
/// size in bytes.
///
/// # Errors
/// If there is no such snapshot or LUN, a block of it is lost, or `block` fails.
pub fn read_image<D: Devices>(
    devices: &mut D,
    label: &Label,
    config: &WriteAnywhereConfig,
    (name, lun): (&SnapshotName, &str),
    begin: impl FnOnce(u64) -> std::io::Result<()>,
    block: impl FnMut(u32, &[u8]) -> std::io::Result<()>,
) -> Result<(), SnapshotError> {
    let (mut offline, superblock) = OfflineArray::as_restarted(devices, label)?;
    let (catalog, _) = read_catalog(&mut offline, config, &superblock)?;
    let config = catalog.config(config);
    let missing = || SnapshotError::NoSuchSnapshot(name.of_lun(lun));
    let (volume, at) = catalog.find_snapshot(name).ok_or_else(missing)?;
    let snapshot = &catalog.volumes[volume].snapshots[at];
    let of_lun = snapshot.luns.iter().find(|one| one.name == lun).ok_or_else(missing)?;
    begin(u64::from(of_lun.blocks) * BLOCK_BYTES as u64)?;
    read_image_of(&mut offline, &config, snapshot, of_lun.file, block)
}

/// Reads an image as [`read_image`] does, of the LUN with this file, in a snapshot that was already found.
pub fn read_image_of<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    snapshot: &CatalogSnapshot,
    file: u32,
    mut block: impl FnMut(u32, &[u8]) -> std::io::Result<()>,
) -> Result<(), SnapshotError> {
    let groups = config.placed_groups();
    let mut blocks = read_snapshot(offline, config, snapshot)?;
    blocks.retain(|(address, _)| address.file == file && address.level == 0);
    blocks.sort_unstable_by_key(|(address, _)| *address);
    for blocks in blocks.chunks(BLOCKS_AT_ONCE) {
        let pointers: Vec<Pointer> = blocks.iter().map(|(_, pointer)| *pointer).collect();
        let read = offline.read_pointed(&groups, &pointers);
        for ((address, _), bytes) in blocks.iter().zip(read) {
            block(address.index, &bytes.ok_or(SnapshotError::Gone(address.index))?)?;
        }
    }
    Ok(())
}
