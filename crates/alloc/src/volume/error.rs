//! Why something cannot be done with a volume.

use thiserror::Error;

use super::names::{FileId, SnapshotId, VolumeId};
use crate::aggregate::{CheckpointOpen, OutOfSpace};
use crate::options::AggregateError;

/// Why something cannot be done with a volume. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VolumeError {
    /// There is no such volume, or it is being destroyed.
    #[error("there is no {0}")]
    NoSuchVolume(VolumeId),
    /// There is no such file in the volume.
    #[error("there is no {1} in {0}")]
    NoSuchFile(VolumeId, FileId),
    /// There is no such snapshot of the volume, or it is being deleted.
    #[error("there is no {1} of {0}")]
    NoSuchSnapshot(VolumeId, SnapshotId),
    /// A consistency point is open, and this can be done only between them.
    #[error(transparent)]
    CheckpointOpen(#[from] CheckpointOpen),
    /// No consistency point is open, and this can be done only in one.
    #[error("no consistency point is open: begin one first")]
    NoCheckpoint,
    /// The write plan of the consistency point has been made.
    #[error("the consistency point is finished: commit or abandon it, then begin another")]
    Finished,
    /// Fewer blocks are free, and not promised to others, than are needed.
    #[error(transparent)]
    OutOfSpace(#[from] OutOfSpace),
    /// The volume has fewer block numbers left than are needed.
    #[error("{volume} is full: {needed} blocks are needed, it has room for {free}")]
    VolumeFull {
        /// The volume.
        volume: VolumeId,
        /// Blocks asked for.
        needed: u64,
        /// Blocks the volume has room for.
        free: u64,
    },
    /// Volumes were cloned from the snapshot.
    #[error("{1} of {0} is the origin of {2} clones")]
    HasClones(VolumeId, SnapshotId, u32),
    /// The volume has had as many snapshots as it can count.
    #[error("{0} has had 4194303 snapshots and can count no more")]
    TooManySnapshots(VolumeId),
    /// The volume cannot have so many blocks.
    #[error(transparent)]
    Size(#[from] AggregateError),
}
