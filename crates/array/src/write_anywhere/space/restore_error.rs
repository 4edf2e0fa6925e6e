//! Why an array cannot be restored from its metadata.

use crate::error::ArrayConfigError;

use super::address::BlockAddress;

/// Why an array cannot be restored from its metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The configuration is invalid.
    #[error(transparent)]
    Array(#[from] ArrayConfigError),
    /// A block is no pointer block: it does not begin with the magic number of one, or its count of pointers is
    /// impossible.
    #[error("metadata block {0} is not a pointer block")]
    NotPointers(BlockAddress),
    /// A pointer block is a different one.
    #[error("metadata block {expected} identifies itself as block {found}")]
    OtherBlock {
        /// The block that belongs there.
        expected: BlockAddress,
        /// The address in its header.
        found: BlockAddress,
    },
    /// A pointer leads outside the aggregate, or to a block that is already in use.
    #[error("block {key} lies at VBN {vbn}, which {problem}")]
    Misplaced {
        /// Key of the block that the pointer is of.
        key: u32,
        /// The VBN in its pointer.
        vbn: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The same of a block that snapshots hold.
    #[error("a block of snapshots, {address}, lies at VBN {vbn}, which {problem}")]
    HeldMisplaced {
        /// Address that the block had in the active image.
        address: BlockAddress,
        /// The VBN in its pointer.
        vbn: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}
