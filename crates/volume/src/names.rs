//! Identifiers of volumes, files, snapshots and blocks.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

/// Identifies a flexible volume of an aggregate. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct VolumeId(pub u32);

/// Identifies a file (or LUN) of a volume. Never reused within the volume. A clone starts with the files of its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// Bytes of a file's attributes.
pub const FILE_ATTRIBUTE_BYTES: usize = 64;

/// The most bytes that the name of a volume can have.
pub const MOST_NAME_BYTES: usize = 255;

/// A block of a file, counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fbn(pub u64);

/// A block of a volume. The map of a file leads to a virtual VBN, and the container map of the volume leads from there
/// to the VBN. A block can therefore move without a change to its file or to the snapshots that share it (Edwards et
/// al., "FlexVol: Flexible, Efficient File Volume Virtualization in WAFL", USENIX 2008).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualVbn(pub u64);

/// Identifies a snapshot of a volume. Never reused within the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct SnapshotId(pub u32);

/// A block of the active image of a volume, by file and position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockName {
    /// Volume that has the file.
    pub volume: VolumeId,
    /// File that has the block.
    pub file: FileId,
    /// The block within the file.
    pub fbn: Fbn,
}

/// The source of the bytes of a block in a write plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockSource {
    /// The bytes last written to this block of a file.
    Written(BlockName),
    /// The bytes at this VBN, which move from there. They stay readable until the consistency point is committed.
    Moved(Vbn),
    /// A page of the maps of a persistent store: [`Volumes::metadata_page`](crate::Volumes::metadata_page) returns its
    /// bytes.
    Metadata(MetadataPage),
}

/// A page of metadata in the write plan of the open consistency point, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetadataPage(pub u32);

/// A block to move from `from` to a place that the allocator chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// The volume that owns the block.
    pub volume: VolumeId,
    /// The block, by its number in the volume.
    pub number: VirtualVbn,
    /// Where the block lies. The move is void if the block lies elsewhere by then.
    pub from: Vbn,
}

/// A virtual VBN in a tree: its number plus one, so that an absent entry needs no extra room.
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

/// A tree node in storage: the number of its page, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) u64);

/// Where a tree node is stored, if it is: its [`NodeId`] plus one. A node never changes once it is stored, so a copy of
/// it, which is made to be changed, is not stored.
#[derive(Debug, Default)]
pub(crate) struct StoredAs(AtomicU64);

impl StoredAs {
    pub(crate) fn get(&self) -> Option<NodeId> {
        self.0.load(Ordering::Relaxed).checked_sub(1).map(NodeId)
    }

    pub(crate) fn set(&self, id: NodeId) {
        self.0.store(id.0 + 1, Ordering::Relaxed);
    }
}

impl From<NodeId> for StoredAs {
    fn from(id: NodeId) -> Self {
        Self(AtomicU64::new(id.0 + 1))
    }
}

impl Clone for StoredAs {
    fn clone(&self) -> Self {
        Self::default()
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
