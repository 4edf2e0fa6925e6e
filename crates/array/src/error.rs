//! Why there can be no such array.

use strewn_alloc::{AggregateError, GroupIndex, SetAsideError, TooManyBlocks};
use strewn_base::BLOCK_SECTORS;
use strewn_base::memory::OutOfMemory;
use strewn_volume::VolumeTooLarge;
use thiserror::Error;

use crate::first_spindles::FirstSpindles;

/// Why an array cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArrayConfigError {
    /// The system does not provide the memory for the maps.
    #[error("the array's maps: {0}")]
    OutOfMemory(#[from] OutOfMemory),
    /// In place: the LUNs of a disk group are larger than its layout has room for.
    #[error("LUNs of {lun_sectors} sectors do not fit a layout of {layout_sectors} sectors")]
    LunTooLarge {
        /// Sectors of the LUNs, up to the end of the last.
        lun_sectors: u64,
        /// Sectors the layout holds.
        layout_sectors: u64,
    },
    /// In place: bytes and the durable format need chunks of whole 4 KiB blocks; otherwise a bad block could belong to
    /// two stripes.
    #[error("a chunk of {chunk_bytes} bytes is not a multiple of the block size, 4096 bytes")]
    ChunkOfParts {
        /// Bytes of a chunk.
        chunk_bytes: u64,
    },
    /// In place: the durable format writes whole blocks of 4 KiB, so a LUN consists of them.
    #[error("a LUN of {lun_sectors} sectors is not a multiple of a block of {BLOCK_SECTORS}")]
    LunOfParts {
        /// Sectors of the LUN.
        lun_sectors: u64,
    },
    /// In place: there is no disk group, or there are too many.
    #[error("an array of {groups} disk groups: it has 1 to {}", FirstSpindles::MOST)]
    DiskGroupCount {
        /// The disk groups that it is to have.
        groups: usize,
    },
    /// In place: a LUN is in a disk group that does not exist.
    #[error("a LUN is in disk group {}, and the array has {groups}", group.0 + 1)]
    NoSuchGroup {
        /// The disk group of the LUN.
        group: GroupIndex,
        /// The array's disk groups.
        groups: usize,
    },
    /// There is no LUN.
    #[error("the array has no LUN: give it one")]
    NoLun,
    /// A size that must be at least one is zero.
    #[error("{0} is zero: it must be at least 1")]
    Zero(&'static str),
    /// The allocator refused its sizes.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// The aggregate is too large for the block map.
    #[error(transparent)]
    BlockMap(#[from] TooManyBlocks),
    /// The volume is too large.
    #[error(transparent)]
    Volume(#[from] VolumeTooLarge),
    /// The LUNs and what describes them do not fit.
    #[error(
        "LUNs of {lun_blocks} blocks and their metadata do not fit an aggregate of {aggregate_blocks} blocks"
    )]
    LunsDoNotFit {
        /// Blocks of the LUNs.
        lun_blocks: u64,
        /// Data blocks of the aggregate.
        aggregate_blocks: u64,
    },
    /// The LUNs of a volume and their metadata have more blocks than the volume has numbers.
    #[error(
        "volume {volume}: LUNs of {lun_blocks} blocks and their metadata do not fit its {volume_blocks} blocks"
    )]
    VolumeTooSmall {
        /// The volume, counted from 0.
        volume: u32,
        /// Block numbers that the volume has.
        volume_blocks: u64,
        /// Blocks of its LUNs.
        lun_blocks: u64,
    },
    /// A volume has more LUNs than its inode block has pointers.
    #[error("volume {volume} has {luns} LUNs: a volume takes at most {most}")]
    TooManyLuns {
        /// The volume, counted from 0.
        volume: u32,
        /// LUNs that the volume was to have.
        luns: usize,
        /// Most LUNs that its inode block has pointers for.
        most: usize,
    },
    /// Keys of 32 bits do not suffice.
    #[error("LUNs of {0} blocks and their metadata: an array takes less than 16 TiB of both")]
    TooManyKeys(u64),
    /// Other data leaves no room for what is overwritten. With little room, writes wait for it, or
    /// are refused ([`Refusal::NoSpace`](crate::Refusal::NoSpace)).
    #[error(
        "other data leaves {free} of the aggregate's blocks free; to overwrite anything takes {needed}"
    )]
    TooFull {
        /// Blocks left free.
        free: u64,
        /// The metadata that a consistency point may rewrite.
        needed: u64,
    },
    /// Other data cannot be scattered in such runs.
    #[error("other data: {0}")]
    OtherData(#[from] SetAsideError),
    /// The LUNs alone fill more than the other data is to fill with them.
    #[error(
        "the LUNs and their metadata take {used} blocks: with other data the aggregate cannot be only {asked} blocks full"
    )]
    FullerAlready {
        /// Blocks that the LUNs, their metadata and the superblock take.
        used: u64,
        /// Blocks in use that were asked for.
        asked: u64,
    },
    /// Thick volumes reserve more than what is laid out, and other data, leave free.
    #[error(
        "thick volumes reserve {reserved} blocks beside what they have, and {free} are left: make volumes smaller or thin"
    )]
    ReservedTooMuch {
        /// Blocks that thick volumes reserve beside those that are laid out.
        reserved: u64,
        /// Blocks left free, less those that metadata may take.
        free: u64,
    },
    /// A group has no parity.
    #[error("a write-anywhere array has parity: make its groups RAID-4 or RAID-DP, not RAID-0")]
    NoParity,
    /// There are too few or too many parity groups.
    #[error(
        "an aggregate has 1 to {most} parity groups, at least one of them from the start: not {groups}, {at_start} of \
         them from the start",
        most = FirstSpindles::MOST
    )]
    GroupCount {
        /// All parity groups.
        groups: usize,
        /// Those that the aggregate has from the start.
        at_start: usize,
    },
}
