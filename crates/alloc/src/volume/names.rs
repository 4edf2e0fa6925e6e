//! What volumes, files, snapshots and blocks are called.

use std::fmt;
use std::num::NonZeroU64;

use strewn_raid::Vbn;

/// A flexible volume of an aggregate; never given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeId(pub u32);

/// A file (or LUN) of a volume; never given to another file of the volume. A clone has the files of its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// A block of a file, counted from its first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fbn(pub u64);

/// A block of a volume: what a file's map leads to. The volume's container map leads on from there to the VBN, so a
/// block can move without its file, and the snapshots that share it, being touched (Edwards et al., "FlexVol: Flexible,
/// Efficient File Volume Virtualization in WAFL", USENIX 2008).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualVbn(pub u64);

/// A snapshot of a volume; never given to another one of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(pub u32);

/// A block of the active image of a volume, as files know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockName {
    /// The volume.
    pub volume: VolumeId,
    /// The file.
    pub file: FileId,
    /// The block in the file.
    pub fbn: Fbn,
}

/// What a block of a write plan holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockSource {
    /// What was written to this block of a file.
    Written(BlockName),
    /// What lies at this VBN and moves from there. It stays readable until the consistency point is committed.
    Moved(Vbn),
}

/// A block to be moved: read at `from`, written wherever it is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// The volume that owns the block.
    pub volume: VolumeId,
    /// The block, by its number there.
    pub number: VirtualVbn,
    /// Where it lies. If it does not any more, the move is void.
    pub from: Vbn,
}

/// A virtual VBN as trees hold it: one more than its number, so that no entry takes no room of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(NonZeroU64);

impl From<VirtualVbn> for Slot {
    fn from(number: VirtualVbn) -> Self {
        // Numbers stay below 2^41 or so: a volume has at most 2^40 of them, and what a clone inherits comes before.
        Self(NonZeroU64::MIN.saturating_add(number.0))
    }
}

impl From<Slot> for VirtualVbn {
    fn from(slot: Slot) -> Self {
        Self(slot.0.get() - 1)
    }
}

impl fmt::Display for VolumeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "volume {}", self.0)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "file {}", self.0)
    }
}

impl fmt::Display for Fbn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FBN {}", self.0)
    }
}

impl fmt::Display for VirtualVbn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "virtual VBN {}", self.0)
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "snapshot {}", self.0)
    }
}
