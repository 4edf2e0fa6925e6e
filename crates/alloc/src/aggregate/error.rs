//! What an aggregate refuses.

use strewn_raid::Vbn;
use thiserror::Error;

/// Fewer blocks are free than are needed. Nothing was taken for what was asked last; what the open consistency point
/// took before is still its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no room: {needed} blocks are needed, {free} are free")]
pub struct OutOfSpace {
    /// Blocks asked for.
    pub needed: u64,
    /// Blocks that can be taken.
    pub free: u64,
}

/// A consistency point is open: commit or abandon it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a consistency point is open: commit or abandon it first")]
pub struct CheckpointOpen;

/// A block cannot be given back: it is not in use, or there is no such block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} is not in use")]
pub struct NotInUse(pub Vbn);

/// A block cannot be set aside: it is in use, or there is no such block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} is not free")]
pub struct NotFree(pub Vbn);
