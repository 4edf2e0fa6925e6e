//! Snapshots of a write-anywhere array: taken, deleted and read.
//!
//! A snapshot is the LUN's inode at a consistency point, recorded in the superblock. Its blocks stay in use when the
//! LUN is overwritten: a snapshot costs nothing to take, and later one block for each block of the LUN that is
//! overwritten. A snapshot is taken only if the whole LUN can still be overwritten once more, so that an array never
//! fills up.

use strewn_alloc::{SnapshotId, VolumeId};
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_array::write_anywhere::metadata::Pointer;

use crate::configuration::Size;
use crate::device::{BLOCK_BYTES, Devices};
use crate::engine::{LiveArray, NoSnapshot};
use crate::format::{Label, MAXIMUM_SNAPSHOT_NAME_BYTES, MAXIMUM_SNAPSHOTS, Snapshot, Superblock};
use crate::offline::OfflineArray;
use crate::restart::{RestartError, read_snapshot};
use crate::running::RunningArray;

/// The on-disk format, version 1, has one volume.
const VOLUME: VolumeId = VolumeId(0);

/// Blocks of an image per read.
const BLOCKS_AT_ONCE: usize = 1024;

/// Why a snapshot cannot be taken, deleted or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// In-place arrays overwrite what a snapshot would reference.
    #[error("an array in place has no snapshots")]
    InPlace,
    #[error(
        "{0:?} is no name for a snapshot: it takes 1 to {MAXIMUM_SNAPSHOT_NAME_BYTES} bytes and no control characters"
    )]
    /// The name is empty, too long for a superblock, or has control characters.
    Name(String),
    /// A snapshot of this name exists.
    #[error("there is a snapshot {0:?} already")]
    Exists(String),
    /// No snapshot has this name.
    #[error("there is no snapshot {0:?}")]
    NoSuchSnapshot(String),
    /// The superblock has no room for another snapshot.
    #[error("the array has {MAXIMUM_SNAPSHOTS} snapshots, the most there can be")]
    TooMany,
    #[error(
        "with this snapshot all of the LUN could not be written over any more: {} are lacking",
        Size(*lacking_blocks * BLOCK_BYTES as u64)
    )]
    /// There would be too little room to overwrite the whole LUN once more.
    NoRoom {
        /// Blocks of 4 KiB that are missing.
        lacking_blocks: u64,
    },
    /// The array stopped.
    #[error("the array stopped: {0}")]
    Stopped(String),
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
            Self::Name(_) | Self::Exists(_) => "give it another name",
            Self::NoSuchSnapshot(_) => "`strewn array status` has the names of those there are",
            Self::TooMany => "delete one first",
            Self::NoRoom { .. } => {
                "delete a snapshot, if there is one, or create the array with as much more on its data spindles"
            }
            Self::Stopped(_) | Self::Restart(_) | Self::Gone(_) => {
                "`strewn array status` and `strewn array check` say what is wrong"
            }
            Self::Output(_) => "give a file on a disk that has room for it",
        }
    }
}

impl<D: Devices, A: LiveArray> RunningArray<D, A> {
    /// Takes a snapshot of all acknowledged data. No request may be in flight.
    ///
    /// # Errors
    /// See [`SnapshotError`]; the array goes on, unless it has stopped.
    pub fn take_snapshot(
        &mut self,
        name: &str,
        taken_unix_seconds: u64,
    ) -> Result<(), SnapshotError> {
        if name.is_empty()
            || name.len() > MAXIMUM_SNAPSHOT_NAME_BYTES
            || name.chars().any(char::is_control)
        {
            return Err(SnapshotError::Name(name.to_owned()));
        }
        self.catch_up().map_err(SnapshotError::Stopped)?;
        let superblock = self.engine().superblock();
        let (mut snapshots, checkpoint) = (superblock.snapshots.clone(), superblock.checkpoint);
        if position(&snapshots, name).is_ok() {
            return Err(SnapshotError::Exists(name.to_owned()));
        }
        if snapshots.len() >= MAXIMUM_SNAPSHOTS {
            return Err(SnapshotError::TooMany);
        }
        let taken = self.engine_mut().array_mut().take_snapshot(VOLUME);
        let (SnapshotId(number), inode) = taken.map_err(|error| match error {
            NoSnapshot::InPlace => SnapshotError::InPlace,
            NoSnapshot::NoRoom { lacking_blocks } => SnapshotError::NoRoom { lacking_blocks },
        })?;
        let name = name.to_owned();
        snapshots.push(Snapshot { number, name, checkpoint, taken_unix_seconds, inode });
        self.engine_mut().write_snapshots(snapshots, 0);
        self.catch_up().map_err(SnapshotError::Stopped)
    }

    /// Deletes a snapshot. The next consistency point frees the blocks that only it referenced. No request may be in
    /// flight.
    ///
    /// # Errors
    /// See [`SnapshotError`]; the array goes on, unless it has stopped.
    pub fn delete_snapshot(&mut self, name: &str) -> Result<(), SnapshotError> {
        self.catch_up().map_err(SnapshotError::Stopped)?;
        let mut snapshots = self.engine().superblock().snapshots.clone();
        let at = position(&snapshots, name)?;
        let number = SnapshotId(snapshots.remove(at).number);
        let let_go_blocks = self.engine_mut().array_mut().delete_snapshot(VOLUME, number);
        self.engine_mut().write_snapshots(snapshots, let_go_blocks);
        self.catch_up().map_err(SnapshotError::Stopped)
    }
}

fn position(snapshots: &[Snapshot], name: &str) -> Result<usize, SnapshotError> {
    let at = snapshots.iter().position(|snapshot| snapshot.name == name);
    at.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.to_owned()))
}

/// Reads the LUN image of a snapshot of an array that is not running. `block` is called for each block that was
/// written, in order, with its number and bytes; all other blocks are zeros.
///
/// # Errors
/// If there is no such snapshot, a block of it is lost, or `block` fails.
pub fn read_image<D: Devices>(
    devices: &mut D,
    label: &Label,
    config: &WriteAnywhereConfig,
    name: &str,
    block: impl FnMut(u32, &[u8]) -> std::io::Result<()>,
) -> Result<(), SnapshotError> {
    let (mut offline, Superblock { snapshots, .. }) = OfflineArray::as_restarted(devices, label)?;
    let snapshot = &snapshots[position(&snapshots, name)?];
    read_image_of(&mut offline, config, snapshot, block)
}

/// Reads an image as [`read_image`] does, for a snapshot that was already found.
pub(crate) fn read_image_of<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    snapshot: &Snapshot,
    mut block: impl FnMut(u32, &[u8]) -> std::io::Result<()>,
) -> Result<(), SnapshotError> {
    let data = config.block_keys().data();
    let mut blocks = read_snapshot(offline, config, snapshot)?;
    blocks.retain(|(key, _)| data.contains(key));
    blocks.sort_unstable_by_key(|(key, _)| *key);
    for blocks in blocks.chunks(BLOCKS_AT_ONCE) {
        let pointers: Vec<Pointer> = blocks.iter().map(|(_, pointer)| *pointer).collect();
        let read = offline.read_pointed(config.single_group(), &pointers);
        for ((key, _), bytes) in blocks.iter().zip(read) {
            block(*key, &bytes.ok_or(SnapshotError::Gone(*key))?)?;
        }
    }
    Ok(())
}
