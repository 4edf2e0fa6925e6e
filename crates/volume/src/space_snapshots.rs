//! Snapshots of volumes whose block numbers are known by region.

use std::collections::VecDeque;

use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use crate::dead_lists::{DeadLists, SnapshotDeletion};
use crate::virtual_space::Region;
use crate::{SnapshotId, VolumeId};

/// A block that snapshots hold and the active image does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
struct DeadBlock {
    /// An entry of a [`BlockMap`](strewn_alloc::BlockMap) has as many bits.
    vbn: u32,
    region: Region,
    birth: u16,
}

/// The snapshots of the volumes of a [`VirtualSpace`](crate::VirtualSpace): of each block's number they keep the
/// region.
///
/// The mechanism is that of [`Volumes`](crate::Volumes): [`DeadLists`], one for each volume. A block keeps its place in
/// the aggregate while a snapshot holds it. Nothing else of a snapshot is kept: whoever wants to read one must remember
/// what [`record_replacement`](Self::record_replacement) tells.
///
/// Memory: 2 bytes for each block of the volumes, touched as blocks are written; 8 bytes for each block that only
/// snapshots hold.
///
/// ```
/// use strewn_volume::{SpaceSnapshots, VirtualSpace, VolumeId};
/// use strewn_raid::Vbn;
///
/// let volume = VolumeId(0);
/// let mut space = VirtualSpace::new([1_000])?;
/// let (region, _) = space.allocate(volume)?;
/// let mut snapshots = SpaceSnapshots::new(1, 1);
/// let first = snapshots.take(volume).unwrap();
///
/// // Block 0 moves. The snapshot holds it where it was.
/// assert!(snapshots.record_replacement(volume, 0, Some((region, Vbn(7)))));
/// assert_eq!(snapshots.blocks(), 1);
///
/// // The snapshot is deleted, and the block's free is delayed like any other.
/// assert!(snapshots.delete(volume, first));
/// snapshots.delete_step(u64::MAX, |_, region, vbn| space.hold_back(region, vbn));
/// assert_eq!((snapshots.blocks(), space.held_back_blocks()), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SpaceSnapshots {
    births: Vec<u16>,
    /// By volume.
    lists: Vec<DeadLists<DeadBlock>>,
    deletions: VecDeque<(VolumeId, SnapshotDeletion)>,
}

impl SpaceSnapshots {
    /// Most snapshots of a volume that may ever be taken: births have 16 bits.
    pub const MOST: u32 = u16::MAX as u32 - 1;

    /// No snapshots yet, of so many volumes of `blocks` blocks in all.
    #[must_use]
    pub fn new(volumes: usize, blocks: usize) -> Self {
        Self {
            // Zeros take no memory until they are written. A birth of 0 is before any snapshot.
            births: vec![0; blocks],
            lists: vec![DeadLists::default(); volumes],
            deletions: VecDeque::new(),
        }
    }

    /// As [`new`](Self::new), with snapshots as read from storage: for each volume their numbers, ascending, and the
    /// number of the next one. The blocks that they hold follow by [`restore_birth`](Self::restore_birth) and
    /// [`restore_held`](Self::restore_held).
    #[must_use]
    pub fn restored<'s>(
        blocks: usize,
        volumes: impl IntoIterator<Item = (u32, &'s [SnapshotId])>,
    ) -> Self {
        let restored = volumes.into_iter().map(|(next, snapshots)| {
            let kept = snapshots.iter().map(|snapshot| (snapshot.0, false, ()));
            DeadLists::restored(next, kept).0
        });
        Self { lists: restored.collect(), ..Self::new(0, blocks) }
    }

    /// Block `block` was written between the snapshots before `birth` and that one.
    pub fn restore_birth(&mut self, block: u32, birth: u32) {
        self.births[block as usize] = birth as u16;
    }

    /// The snapshots of `volume` from number `birth` on and below `death` hold a block that the active image has not.
    /// False if no snapshot does.
    #[must_use]
    pub fn restore_held(&mut self, volume: VolumeId, [birth, death]: [u32; 2], vbn: Vbn) -> bool {
        let dead = DeadBlock { vbn: vbn.0 as u32, region: Region(0), birth: birth as u16 };
        self.lists[volume.0 as usize].restore(birth, death, dead)
    }

    /// The volumes become others, of `blocks` blocks in all: each is the one of `before`, with its snapshots, or new.
    /// Births are to be [restored](Self::restore_birth).
    pub fn renumber(&mut self, blocks: usize, before: &[Option<VolumeId>]) {
        let taken = |volume: &Option<VolumeId>| match volume {
            Some(volume) => std::mem::take(&mut self.lists[volume.0 as usize]),
            None => DeadLists::default(),
        };
        self.lists = before.iter().map(taken).collect();
        self.births = vec![0; blocks];
        let now = |volume| before.iter().position(|before| *before == Some(volume));
        let deletions = std::mem::take(&mut self.deletions).into_iter();
        self.deletions = deletions
            .filter_map(|(volume, deletion)| Some((VolumeId(now(volume)? as u32), deletion)))
            .collect();
    }

    /// Takes out all blocks that only snapshots of `volume` hold, which has none that is not being deleted.
    ///
    /// # Panics
    /// If it has.
    pub fn drain(&mut self, volume: VolumeId) -> Vec<Vbn> {
        assert_eq!(self.kept(volume).count(), 0, "a volume with snapshots is given up");
        self.deletions.retain(|(of, _)| *of != volume);
        let lists = std::mem::take(&mut self.lists[volume.0 as usize]);
        let blocks = lists.images().flat_map(|(_, dead)| dead);
        blocks.map(|dead| Vbn(dead.vbn.into())).collect()
    }

    fn of(&self, volume: VolumeId) -> &DeadLists<DeadBlock> {
        &self.lists[volume.0 as usize]
    }

    /// The number of the next snapshot of `volume`; `None` if [`MOST`](Self::MOST) have been taken.
    #[must_use]
    pub fn next(&self, volume: VolumeId) -> Option<SnapshotId> {
        let time = self.of(volume).time();
        (time <= Self::MOST).then_some(SnapshotId(time))
    }

    /// Takes a snapshot of `volume` as it is. O(1). `None` if [`MOST`](Self::MOST) have been taken.
    pub fn take(&mut self, volume: VolumeId) -> Option<SnapshotId> {
        self.next(volume)?;
        Some(self.lists[volume.0 as usize].take(()))
    }

    /// Announces a [`record_replacement`](Self::record_replacement) of `block`.
    #[inline]
    pub fn prefetch(&self, block: u32) {
        strewn_base::memory::prefetch(&self.births, block as usize);
    }

    /// The number of the first snapshot that could hold `block`: one that was taken when it had been written.
    #[inline]
    #[must_use]
    pub fn birth(&self, block: u32) -> u32 {
        self.births[block as usize].into()
    }

    /// Block `block` of `volume` gets a new place, or loses the one it has: `before`, in that region. Returns whether
    /// a snapshot holds it there. If not, the caller frees it.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub fn record_replacement(
        &mut self,
        volume: VolumeId,
        block: u32,
        before: Option<(Region, Vbn)>,
    ) -> bool {
        let lists = &mut self.lists[volume.0 as usize];
        // Times stay below `MOST` + 2.
        let now = lists.time() as u16;
        let birth = std::mem::replace(&mut self.births[block as usize], now);
        let Some((region, vbn)) = before else { return false };
        let dead = DeadBlock { vbn: vbn.0 as u32, region, birth };
        lists.leave(birth.into(), dead).is_none()
    }

    /// Deletes a snapshot. It disappears at once; [`delete_step`](Self::delete_step) frees what only it held. False if
    /// there is no such snapshot.
    pub fn delete(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        let deletion = self.lists[volume.0 as usize].delete(snapshot);
        self.deletions.extend(deletion.map(|deletion| (volume, deletion)));
        deletion.is_some()
    }

    /// Continues deleting snapshots. Visits at most `most` blocks, calls `free` with each that nothing holds any more
    /// (its volume, the region of its number, and its place), and returns how many it visited: 0 if nothing is left to
    /// do.
    pub fn delete_step(&mut self, most: u64, mut free: impl FnMut(VolumeId, Region, Vbn)) -> u64 {
        let mut left = most;
        while left > 0
            && let Some((volume, deletion)) = self.deletions.front_mut()
        {
            let (used, gone) = self.lists[volume.0 as usize].delete_step(
                deletion,
                left,
                |block| block.birth.into(),
                |block| free(*volume, block.region, Vbn(block.vbn.into())),
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

    /// The snapshots of `volume`, oldest first, except those being deleted.
    pub fn kept(&self, volume: VolumeId) -> impl DoubleEndedIterator<Item = SnapshotId> {
        self.of(volume).kept().map(|(snapshot, ())| snapshot)
    }

    /// Blocks that only snapshots hold, including snapshots being deleted.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.lists.iter().map(DeadLists::blocks).sum()
    }

    /// The same of one volume.
    #[must_use]
    pub fn blocks_of(&self, volume: VolumeId) -> u64 {
        self.of(volume).blocks()
    }

    /// Blocks that `snapshot` alone holds: those that its deletion frees. `None` if there is no such snapshot.
    /// O(blocks dropped between it and the next one).
    #[must_use]
    pub fn held_by_alone(&self, volume: VolumeId, snapshot: SnapshotId) -> Option<u64> {
        self.of(volume).held_by_alone(snapshot, |block| block.birth.into())
    }
}

strewn_base::saved_state! {
    impl for SpaceSnapshots {
        parts: births, lists;
        values: deletions;
        built:;
    }
}

strewn_base::saved_value!(DeadLists<DeadBlock>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_have_snapshots_of_their_own() {
        let (one, other) = (VolumeId(0), VolumeId(1));
        let mut snapshots = SpaceSnapshots::new(2, 2);
        let first = snapshots.take(one).unwrap();
        let at = |vbn| Some((Region(0), Vbn(vbn)));
        assert!(snapshots.record_replacement(one, 0, at(7)));
        assert!(!snapshots.record_replacement(other, 1, at(8)), "no snapshot of its volume");
        assert_eq!((snapshots.birth(0), snapshots.birth(1)), (2, 1));
        assert_eq!((snapshots.blocks_of(one), snapshots.blocks_of(other)), (1, 0));
        assert_eq!(snapshots.held_by_alone(one, first), Some(1));
        assert_eq!(snapshots.held_by_alone(other, first), None);
        assert!(!snapshots.delete(other, first) && snapshots.delete(one, first));
        let mut freed = Vec::new();
        snapshots.delete_step(100, |volume, _, vbn| freed.push((volume, vbn)));
        assert_eq!(freed, [(one, Vbn(7))]);
        assert!(!snapshots.is_work_left());
    }
}
