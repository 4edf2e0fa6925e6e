//! Errors of an aggregate.

use std::error::Error;
use std::fmt;

use strewn_raid::Vbn;

use crate::group_index::GroupIndex;
use crate::score_mismatch::ScoreMismatch;

/// Fewer blocks are free than needed. The failed call allocated nothing; earlier allocations of the open consistency
/// point remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfSpace {
    /// Blocks asked for.
    pub needed: u64,
    /// Blocks that can be allocated.
    pub free: u64,
}

impl fmt::Display for OutOfSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no room: {} blocks are needed, {} are free", self.needed, self.free)
    }
}

impl Error for OutOfSpace {}

/// Why a consistency point, or what needs one or none, is refused. Nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsistencyPointError {
    /// A consistency point is open: commit or abandon it first.
    Open,
    /// No consistency point is open: begin one first.
    NotOpen,
    /// Part of the write plan was not taken, so it cannot have been written.
    PlanLeft {
        /// Tetrises not taken, including those being filled.
        tetrises: usize,
    },
}

impl fmt::Display for ConsistencyPointError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => {
                formatter.write_str("a consistency point is open: commit or abandon it first")
            }
            Self::NotOpen => formatter.write_str(NOT_OPEN),
            Self::PlanLeft { tetrises } => write!(
                formatter,
                "{tetrises} tetrises of the consistency point are not written: finish it and take \
                them (`next_tetris`), or discard the plan (`discard_plan`)"
            ),
        }
    }
}

impl Error for ConsistencyPointError {}

/// Why a group does not get another policy. Nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetPolicyError {
    /// The aggregate has no such group.
    NoSuchGroup(GroupIndex),
    /// A consistency point is open.
    ConsistencyPoint(ConsistencyPointError),
}

impl fmt::Display for SetPolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchGroup(group) => {
                write!(formatter, "there is no parity group {}, counted from 0", group.0)
            }
            Self::ConsistencyPoint(inner) => inner.fmt(formatter),
        }
    }
}

impl Error for SetPolicyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::ConsistencyPoint(inner) => inner.source(),
            Self::NoSuchGroup(_) => None,
        }
    }
}

impl From<ConsistencyPointError> for SetPolicyError {
    fn from(inner: ConsistencyPointError) -> Self {
        Self::ConsistencyPoint(inner)
    }
}

const NOT_OPEN: &str = "no consistency point is open: begin one first";

/// Why no block was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocateError {
    /// Fewer blocks are free than needed.
    OutOfSpace(OutOfSpace),
    /// No consistency point is open: begin one first.
    NoConsistencyPoint,
    /// The aggregate was mounted with scores that are not those of its maps.
    Scores(ScoreMismatch),
}

impl fmt::Display for AllocateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfSpace(inner) => inner.fmt(formatter),
            Self::NoConsistencyPoint => formatter.write_str(NOT_OPEN),
            Self::Scores(inner) => inner.fmt(formatter),
        }
    }
}

impl Error for AllocateError {}

impl From<OutOfSpace> for AllocateError {
    fn from(inner: OutOfSpace) -> Self {
        Self::OutOfSpace(inner)
    }
}

impl From<ScoreMismatch> for AllocateError {
    fn from(inner: ScoreMismatch) -> Self {
        Self::Scores(inner)
    }
}

/// Why a block cannot be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeError {
    /// It is not in use, or does not exist.
    NotInUse(Vbn),
    /// It has been freed already: in this consistency point, before it, or earlier with a delayed free.
    AlreadyFreed(Vbn),
}

impl fmt::Display for FreeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInUse(vbn) => write!(formatter, "{vbn} is not in use"),
            Self::AlreadyFreed(vbn) => write!(formatter, "{vbn} has been freed already"),
        }
    }
}

impl Error for FreeError {}

/// Why blocks cannot be set aside. None is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetAsideError {
    /// The block is in use, or does not exist.
    NotFree(Vbn),
    /// A consistency point is open.
    ConsistencyPoint(ConsistencyPointError),
    /// The share is not between 0 and 1.
    Share,
    /// The length of a run is not a power of two of at most 64 blocks.
    RunBlocks(u32),
}

impl fmt::Display for SetAsideError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFree(vbn) => write!(formatter, "{vbn} is not free"),
            Self::ConsistencyPoint(inner) => inner.fmt(formatter),
            Self::Share => formatter.write_str("a share of the free blocks is 0 to 1"),
            Self::RunBlocks(blocks) => {
                write!(formatter, "runs of {blocks} blocks: it takes a power of two, at most 64")
            }
        }
    }
}

impl Error for SetAsideError {}

impl From<ConsistencyPointError> for SetAsideError {
    fn from(inner: ConsistencyPointError) -> Self {
        Self::ConsistencyPoint(inner)
    }
}
