//! Space accounting, exact at all times.

use super::error::VolumeError;
use super::names::{SnapshotId, VolumeId};
use super::volumes::Volumes;
use crate::aggregate::OutOfSpace;

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
    /// The free blocks that are promised to volumes.
    pub reserved: u64,
    /// The free blocks that a persistent store keeps for its maps, so that blocks can be freed when it is full. It can
    /// write `free - reserved - metadata_reserve` blocks.
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
    /// Free blocks of the aggregate promised to it.
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
            reserved: self.promised,
            metadata_reserve: self.metadata_reserve(),
            ..Space::default()
        };
        for volume in self.volumes.values() {
            let blocks = volume.container.blocks();
            space.elsewhere -= blocks;
            if volume.is_destroyed {
                space.destroyed += blocks;
            } else {
                space.snapshots += volume.dead_blocks;
                space.active += blocks - volume.dead_blocks;
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
        let active = volume.container.blocks() - volume.dead_blocks;
        Ok(VolumeSpace {
            size: volume.container.size(),
            active,
            snapshots: volume.dead_blocks,
            inherited: volume.mapped - active,
            reserved: volume.promised,
            free: volume.container.numbers().free_blocks(),
        })
    }

    /// How many blocks the deletion of `snapshot` frees. O(blocks dropped between it and the next snapshot).
    ///
    /// # Errors
    /// If there is no such snapshot.
    pub fn held_by_alone(&self, id: VolumeId, snapshot: SnapshotId) -> Result<u64, VolumeError> {
        let volume = self.volume(id)?;
        let no_such_snapshot = VolumeError::NoSuchSnapshot(id, snapshot);
        let found = volume.snapshot(snapshot).and_then(|_| volume.index_of(snapshot));
        let index = found.ok_or(no_such_snapshot)?;
        let kept_before = volume.kept_before(index);
        // The lists of snapshots being deleted have not been joined to the next list yet.
        let mut lists = vec![volume.dead_list(index + 1)];
        for (later, doomed) in volume.snapshots.iter().enumerate().skip(index + 1) {
            if !doomed.is_deleted {
                break;
            }
            lists.push(volume.dead_list(later + 1));
        }
        let births = lists.into_iter().flatten().filter_map(|local| volume.container.get(*local));
        let held = births.map(|entry| entry.birth());
        Ok(held.filter(|birth| *birth > kept_before && *birth <= snapshot.0).count() as u64)
    }

    /// Promises `blocks` free blocks to `volume`, replacing the rest of an earlier promise. Every block that the volume
    /// writes uses one of them; other volumes and defragmentation cannot. The promise is of writes, not of size: renew
    /// it after a commit.
    ///
    /// # Errors
    /// During a consistency point; if there is no such volume; [`VolumeError::OutOfSpace`] if fewer are free and not
    /// promised to others. The earlier promise then stands.
    pub fn reserve(&mut self, volume: VolumeId, blocks: u64) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        let others = self.promised - self.volume(volume)?.promised;
        let free = self.free_beyond(others);
        if blocks > free {
            return Err(OutOfSpace { needed: blocks, free }.into());
        }
        self.volume_mut(volume)?.promised = blocks;
        self.promised = others + blocks;
        Ok(())
    }
}
