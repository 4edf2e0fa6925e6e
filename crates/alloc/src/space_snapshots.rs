//! Snapshots of volumes whose block numbers are known by region.

use std::collections::VecDeque;

use strewn_raid::Vbn;

use crate::dead_lists::{DeadLists, SnapshotDeletion};
use crate::virtual_space::{Region, VirtualSpace};
use crate::volume::SnapshotId;

/// A block that snapshots hold and the active image does not.
#[derive(Debug, Clone, Copy)]
struct DeadBlock {
    /// An entry of a [`BlockMap`](crate::BlockMap) has as many bits.
    vbn: u32,
    region: Region,
    birth: u16,
}

/// The snapshots of the volumes of a [`VirtualSpace`], all taken together: of each block's number it keeps the region.
///
/// The mechanism is that of [`Volumes`](crate::Volumes): [`DeadLists`]. A block keeps its number in the volume and its
/// place in the aggregate while a snapshot holds it. Nothing else of a snapshot is kept, so its blocks cannot be read.
///
/// Memory: 2 bytes for each block of the volumes, touched as blocks are written; 8 bytes for each block that only
/// snapshots hold.
///
/// ```
/// use strewn_alloc::{SpaceSnapshots, VirtualSpace, VolumeId};
/// use strewn_raid::Vbn;
///
/// let mut space = VirtualSpace::new([1_000])?;
/// let (region, _) = space.allocate(VolumeId(0))?;
/// let mut snapshots = SpaceSnapshots::new(1);
/// let first = snapshots.take().unwrap();
///
/// // Block 0 moves. The snapshot holds it where it was.
/// assert!(snapshots.is_replaced(0, Some((region, Vbn(7)))));
/// assert_eq!(snapshots.blocks(), 1);
///
/// // The snapshot is deleted, and the block's free is delayed like any other.
/// assert!(snapshots.delete(first));
/// snapshots.delete_step(u64::MAX, &mut space);
/// assert_eq!((snapshots.blocks(), space.held_back_blocks()), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SpaceSnapshots {
    births: Vec<u16>,
    lists: DeadLists<DeadBlock>,
    deletions: VecDeque<SnapshotDeletion>,
}

impl SpaceSnapshots {
    /// Most snapshots that may ever be taken: births have 16 bits.
    pub const MOST: u32 = u16::MAX as u32 - 1;

    /// No snapshots yet, of volumes of `blocks` blocks in all.
    #[must_use]
    pub fn new(blocks: usize) -> Self {
        // Zeros take no memory until they are written. A birth of 0 is before any snapshot.
        Self { births: vec![0; blocks], lists: DeadLists::default(), deletions: VecDeque::new() }
    }

    /// The number of the next snapshot; `None` if [`MOST`](Self::MOST) have been taken.
    #[must_use]
    pub fn next(&self) -> Option<SnapshotId> {
        let time = self.lists.time();
        (time <= Self::MOST).then_some(SnapshotId(time))
    }

    /// Takes a snapshot of the volumes as they are. O(1). `None` if [`MOST`](Self::MOST) have been taken.
    pub fn take(&mut self) -> Option<SnapshotId> {
        self.next()?;
        Some(self.lists.take(()))
    }

    /// Announces an [`is_replaced`](Self::is_replaced) of `block`.
    #[inline]
    pub fn prefetch(&self, block: u32) {
        strewn_memory::prefetch(&self.births, block as usize);
    }

    /// Block `block` gets a new place, or loses the one it has: `before`, in that region. Returns whether
    /// a snapshot holds it there. If not, the caller frees it.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub fn is_replaced(&mut self, block: u32, before: Option<(Region, Vbn)>) -> bool {
        // Times stay below `MOST` + 2.
        let now = self.lists.time() as u16;
        let birth = std::mem::replace(&mut self.births[block as usize], now);
        let Some((region, vbn)) = before else { return false };
        let dead = DeadBlock { vbn: vbn.0 as u32, region, birth };
        self.lists.leave(birth.into(), dead).is_none()
    }

    /// Deletes a snapshot. It disappears at once; [`delete_step`](Self::delete_step) frees what only it held. False if
    /// there is no such snapshot.
    pub fn delete(&mut self, snapshot: SnapshotId) -> bool {
        let deletion = self.lists.delete(snapshot);
        self.deletions.extend(deletion);
        deletion.is_some()
    }

    /// Continues deleting snapshots. Visits at most `most` blocks, delays the frees of those that nothing holds any
    /// more, and returns how many it visited: 0 if nothing is left to do.
    pub fn delete_step(&mut self, most: u64, space: &mut VirtualSpace) -> u64 {
        let mut left = most;
        while left > 0
            && let Some(deletion) = self.deletions.front_mut()
        {
            let (used, gone) = self.lists.delete_step(
                deletion,
                left,
                |block| block.birth.into(),
                |block| space.hold_back(block.region, Vbn(block.vbn.into())),
            );
            left -= used.min(left);
            if gone.is_some() {
                self.deletions.pop_front();
            }
        }
        most - left
    }

    /// Whether [`delete_step`](Self::delete_step) has anything left to do.
    #[must_use]
    pub fn is_work_left(&self) -> bool {
        !self.deletions.is_empty()
    }

    /// The snapshots, oldest first, except those being deleted.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = SnapshotId> {
        self.lists.kept().map(|(snapshot, ())| snapshot)
    }

    /// Blocks that only snapshots hold, including snapshots being deleted.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.lists.blocks()
    }
}
