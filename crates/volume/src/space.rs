//! Space accounting, exact at all times.

use strewn_alloc::OutOfSpace;

use super::container::{Entry, Local};
use super::error::VolumeError;
use super::names::{SnapshotId, VolumeId};
use super::volumes::Volumes;

/// The blocks of the aggregate by use: `active + snapshots + destroyed + metadata + elsewhere + pending_free + free`
/// is `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    /// All data blocks.
    pub total: u64,
    /// Blocks of the active images of volumes. Blocks that a clone shares with its origin count for the origin.
    pub active: u64,
    /// Blocks that only snapshots hold, including snapshots being deleted.
    pub snapshots: u64,
    /// Blocks of destroyed volumes that background steps have not freed yet.
    pub destroyed: u64,
    /// Blocks that hold the maps of a persistent store.
    pub metadata: u64,
    /// Blocks in use for none of these.
    pub elsewhere: u64,
    /// Freed blocks that cannot be allocated yet: free with the next commit, or delayed.
    pub pending_free: u64,
    /// Blocks that can be allocated.
    pub free: u64,
    /// The free blocks that are reserved for volumes.
    pub reserved: u64,
    /// The free blocks that a persistent store keeps for its maps, so that blocks can be freed when it is full. At most
    /// `free - reserved - metadata_reserve` blocks can be written, fewer if they are so far apart that their maps take
    /// more than is kept: [`Volumes::finish`] says so.
    pub metadata_reserve: u64,
}

/// The blocks of one volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeSpace {
    /// The number of blocks that the volume can own.
    pub size: u64,
    /// Blocks that it owns in its active image.
    pub active: u64,
    /// Blocks that it owns and only its snapshots hold, including snapshots being deleted.
    pub snapshots: u64,
    /// Blocks in its active image that the volume it was cloned from owns.
    pub inherited: u64,
    /// Free blocks of the aggregate reserved for it.
    pub reserved: u64,
    /// Room left: block numbers that can be allocated now, whether or not the aggregate has free blocks for them.
    pub free: u64,
}

impl Volumes {
    /// The blocks of the aggregate by use. O(volumes).
    #[must_use]
    pub fn space(&self) -> Space {
        let counts = self.aggregate.counts();
        let mut space = Space {
            total: counts.total,
            free: counts.free,
            pending_free: counts.freed_at_commit + counts.held_back,
            metadata: self.metadata_blocks(),
            elsewhere: counts.used - self.metadata_blocks(),
            reserved: self.reserved,
            metadata_reserve: self.metadata_reserve(),
            ..Space::default()
        };
        for volume in self.volumes.values() {
            let blocks = volume.container.blocks();
            space.elsewhere -= blocks;
            if volume.is_destroyed {
                space.destroyed += blocks;
            } else {
                space.snapshots += volume.snapshots.blocks();
                space.active += blocks - volume.snapshots.blocks();
            }
        }
        space
    }

    /// The blocks of `volume`. O(1).
    ///
    /// # Errors
    /// If there is no such volume.
    pub fn space_of(&self, volume: VolumeId) -> Result<VolumeSpace, VolumeError> {
        let volume = self.volume(volume)?;
        let active = volume.container.blocks() - volume.snapshots.blocks();
        Ok(VolumeSpace {
            size: volume.container.size(),
            active,
            snapshots: volume.snapshots.blocks(),
            inherited: volume.mapped - active,
            reserved: volume.reserved,
            free: volume.container.numbers().free_blocks(),
        })
    }

    /// How many blocks the deletion of `snapshot` frees. O(blocks dropped between it and the next snapshot).
    ///
    /// # Errors
    /// If there is no such snapshot.
    pub fn held_by_alone(&self, id: VolumeId, snapshot: SnapshotId) -> Result<u64, VolumeError> {
        let volume = self.volume(id)?;
        let birth_of = |local: &Local| volume.container.get(*local).map_or(0, Entry::birth);
        let held = volume.snapshots.held_by_alone(snapshot, birth_of);
        held.ok_or(VolumeError::NoSuchSnapshot(id, snapshot))
    }

    /// Reserves `blocks` free blocks for `volume`, replacing the rest of an earlier reservation. Every block that the
    /// volume writes uses one of them; other volumes and defragmentation cannot. The reservation is of writes, not of
    /// size: renew it after a commit.
    ///
    /// # Errors
    /// During a consistency point; if there is no such volume; [`VolumeError::OutOfSpace`] if fewer are free and not
    /// reserved for others, unless the earlier reservation is no smaller. The earlier reservation then stands.
    pub fn reserve(&mut self, volume: VolumeId, blocks: u64) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        let own = self.volume(volume)?.reserved;
        let others = self.reserved - own;
        let free = self.free_beyond(others);
        if blocks > free && blocks > own {
            return Err(OutOfSpace { needed: blocks, free }.into());
        }
        self.volume_mut(volume)?.reserved = blocks;
        self.reserved = others + blocks;
        Ok(())
    }
}
