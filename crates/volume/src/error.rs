//! Errors of volumes.

use std::error::Error;
use std::fmt;

use strewn_alloc::{
    AggregateError, AllocateError, ConsistencyPointError, OutOfSpace, ScoreMismatch, SetPolicyError,
};

use super::names::{FileId, SnapshotId, VolumeId};

/// Why an operation on a volume failed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumeError {
    /// There is no such volume, or it is being destroyed.
    NoSuchVolume(VolumeId),
    /// There is no such file in the volume.
    NoSuchFile(VolumeId, FileId),
    /// There is no such snapshot of the volume, or it is being deleted.
    NoSuchSnapshot(VolumeId, SnapshotId),
    /// A group does not get another policy.
    SetPolicy(SetPolicyError),
    /// A consistency point is open, and the operation is allowed only between consistency points.
    ConsistencyPointOpen,
    /// No consistency point is open, and the operation needs one.
    NoConsistencyPoint,
    /// The consistency point is finished: its write plan has been returned.
    Finished,
    /// The store is persistent, and the consistency point was not finished: its metadata has no places.
    NotFinished,
    /// The store is not persistent: it has no root.
    NotPersistent,
    /// Part of the write plan of the consistency point was not taken, so it cannot have been written.
    PlanLeft {
        /// Tetrises not taken, including those being filled.
        tetrises: usize,
    },
    /// The aggregate refuses a consistency point for a reason that no other variant names.
    ConsistencyPoint(ConsistencyPointError),
    /// The aggregate allocates no block for a reason that no other variant names.
    Allocate(AllocateError),
    /// Fewer blocks are free and not reserved for others than are needed.
    OutOfSpace(OutOfSpace),
    /// The aggregate was mounted with scores that are not those of its maps.
    Scores(ScoreMismatch),
    /// The volume has fewer block numbers left than are needed.
    VolumeFull {
        /// Volume that has run out of block numbers.
        volume: VolumeId,
        /// Block numbers needed.
        needed: u64,
        /// Block numbers free.
        free: u64,
    },
    /// Volumes were cloned from the snapshot.
    HasClones(VolumeId, SnapshotId, u32),
    /// The volume has used up its snapshot numbers.
    TooManySnapshots(VolumeId),
    /// A volume cannot have so many blocks, or none.
    VolumeBlocks(u64),
    /// A volume's name cannot have so many bytes, or none.
    NameBytes(usize),
    /// This volume has the name already.
    NameTaken(VolumeId),
    /// The blocks are too small for a page of metadata, 4 KiB.
    BlockTooSmall {
        /// Bytes of a block.
        bytes: u64,
    },
    /// The block numbers of a volume cannot be mapped.
    Size(AggregateError),
}

impl fmt::Display for VolumeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchVolume(volume) => write!(formatter, "there is no {volume}"),
            Self::NoSuchFile(volume, file) => write!(formatter, "there is no {file} in {volume}"),
            Self::NoSuchSnapshot(volume, snapshot) => {
                write!(formatter, "there is no {snapshot} of {volume}")
            }
            Self::SetPolicy(inner) => inner.fmt(formatter),
            Self::ConsistencyPointOpen => {
                formatter.write_str("a consistency point is open: commit or abandon it first")
            }
            Self::NoConsistencyPoint => {
                formatter.write_str("no consistency point is open: begin one first")
            }
            Self::Finished => formatter.write_str(
                "the consistency point is finished: commit or abandon it, then begin \
                another",
            ),
            Self::NotFinished => formatter.write_str(
                "the maps of a persistent store are not written: `finish` the consistency point, \
                or abandon it",
            ),
            Self::NotPersistent => formatter.write_str(
                "the store keeps its maps in memory only: create it with `Volumes::persistent`",
            ),
            Self::PlanLeft { tetrises } => write!(
                formatter,
                "{tetrises} tetrises of the consistency point are not written: `finish` returns \
                them, `discard_plan` drops them"
            ),
            Self::ConsistencyPoint(inner) => inner.fmt(formatter),
            Self::Allocate(inner) => inner.fmt(formatter),
            Self::OutOfSpace(inner) => inner.fmt(formatter),
            Self::Scores(inner) => inner.fmt(formatter),
            Self::VolumeFull { volume, needed, free } => write!(
                formatter,
                "{volume} is full: {needed} blocks are needed, it has room for {free}"
            ),
            Self::HasClones(volume, snapshot, clones) => {
                write!(formatter, "{snapshot} of {volume} is the origin of {clones} clones")
            }
            Self::TooManySnapshots(volume) => {
                write!(formatter, "{volume} has had 4194303 snapshots and can count no more")
            }
            Self::VolumeBlocks(blocks) => {
                write!(formatter, "a volume of {blocks} blocks: it takes 1 to 1099511627776 (2^40)")
            }
            Self::NameBytes(bytes) => {
                write!(formatter, "a volume's name of {bytes} bytes: it takes 1 to 255")
            }
            Self::NameTaken(volume) => write!(formatter, "{volume} has this name already"),
            Self::BlockTooSmall { bytes } => write!(
                formatter,
                "blocks of {bytes} bytes: a persistent store writes pages of 4096 bytes, and needs \
                blocks as large"
            ),
            Self::Size(inner) => inner.fmt(formatter),
        }
    }
}

impl Error for VolumeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Size(inner) => inner.source(),
            Self::SetPolicy(inner) => inner.source(),
            Self::ConsistencyPoint(inner) => inner.source(),
            Self::Allocate(inner) => inner.source(),
            _ => None,
        }
    }
}

impl From<ConsistencyPointError> for VolumeError {
    fn from(inner: ConsistencyPointError) -> Self {
        match inner {
            ConsistencyPointError::Open => Self::ConsistencyPointOpen,
            ConsistencyPointError::NotOpen => Self::NoConsistencyPoint,
            ConsistencyPointError::PlanLeft { tetrises } => Self::PlanLeft { tetrises },
            other => Self::ConsistencyPoint(other),
        }
    }
}

impl From<SetPolicyError> for VolumeError {
    fn from(inner: SetPolicyError) -> Self {
        match inner {
            SetPolicyError::ConsistencyPoint(inner) => inner.into(),
            other => Self::SetPolicy(other),
        }
    }
}

impl From<OutOfSpace> for VolumeError {
    fn from(inner: OutOfSpace) -> Self {
        Self::OutOfSpace(inner)
    }
}

impl From<AllocateError> for VolumeError {
    fn from(inner: AllocateError) -> Self {
        match inner {
            AllocateError::OutOfSpace(inner) => Self::OutOfSpace(inner),
            AllocateError::NoConsistencyPoint => Self::NoConsistencyPoint,
            AllocateError::Scores(inner) => Self::Scores(inner),
            other => Self::Allocate(other),
        }
    }
}

impl From<AggregateError> for VolumeError {
    fn from(inner: AggregateError) -> Self {
        Self::Size(inner)
    }
}
