//! What has become of every block: exact at all times.

use super::error::VolumeError;
use super::names::{SnapshotId, VolumeId};
use super::volumes::Volumes;
use crate::aggregate::OutOfSpace;

/// The blocks of the aggregate by who holds them: `active + snapshots + destroyed + elsewhere + pending_free + free` is
/// `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    /// All data blocks.
    pub total: u64,
    /// Blocks of the active images of volumes. What a clone shares with its origin counts there.
    pub active: u64,
    /// Blocks that snapshots alone hold, also those of snapshots that are being deleted.
    pub snapshots: u64,
    /// Blocks of destroyed volumes that the background has not yet come to.
    pub destroyed: u64,
    /// Blocks in use that belong to no volume.
    pub elsewhere: u64,
    /// Blocks given back that cannot be taken yet: free with the next commit, or held back.
    pub pending_free: u64,
    /// Blocks that can be taken.
    pub free: u64,
    /// Of the free ones, those promised to volumes.
    pub reserved: u64,
}

/// The blocks of one volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeSpace {
    /// Room for blocks of its own.
    pub size: u64,
    /// Blocks of its own in its active image.
    pub active: u64,
    /// Blocks of its own that its snapshots alone hold, also those that are being deleted.
    pub snapshots: u64,
    /// Blocks in its active image that belong to the volume it was cloned from.
    pub inherited: u64,
    /// Free blocks of the aggregate promised to it.
    pub reserved: u64,
    /// Room left: numbers that can be taken now, whether the aggregate has blocks for them or not.
    pub free: u64,
}

impl Volumes {
    /// The blocks of the aggregate by who holds them. O(volumes).
    #[must_use]
    pub fn space(&self) -> Space {
        let counts = self.aggregate.counts();
        let mut space = Space {
            total: counts.total,
            free: counts.free,
            pending_free: counts.freed_at_commit + counts.held_back,
            elsewhere: counts.used,
            reserved: self.promised,
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

    /// How many blocks come back if `snapshot` of `volume` is deleted. O(blocks that died between it and the next).
    ///
    /// # Errors
    /// If there is no such snapshot.
    pub fn held_by_alone(&self, id: VolumeId, snapshot: SnapshotId) -> Result<u64, VolumeError> {
        let volume = self.volume(id)?;
        let no_such_snapshot = VolumeError::NoSuchSnapshot(id, snapshot);
        let found = volume.snapshot(snapshot).and_then(|_| volume.index_of(snapshot));
        let index = found.ok_or(no_such_snapshot)?;
        let kept_before = volume.kept_before(index);
        // Lists of snapshots that are being deleted have not been joined to the next one's yet.
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

    /// Promises `blocks` free blocks to `volume`, in place of what is left of an earlier promise. Every block it
    /// writes uses one of them up; other volumes, and mending, leave them alone. The promise is of writes, not of
    /// size: renew it after a commit.
    ///
    /// # Errors
    /// Amid a consistency point; if there is no such volume; [`VolumeError::OutOfSpace`] if fewer are free and not
    /// promised to others: the earlier promise holds then.
    pub fn reserve(&mut self, volume: VolumeId, blocks: u64) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        let others = self.promised - self.volume(volume)?.promised;
        let free = self.aggregate.free_blocks() - others;
        if blocks > free {
            return Err(OutOfSpace { needed: blocks, free }.into());
        }
        self.volume_mut(volume)?.promised = blocks;
        self.promised = others + blocks;
        Ok(())
    }
}
