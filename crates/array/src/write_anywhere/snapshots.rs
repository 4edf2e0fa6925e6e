//! Snapshots of a simulated array's volumes, all taken together.
//!
//! A snapshot takes effect with a consistency point: all that is dirty when it is asked for is in it. That consistency
//! point writes the inodes, which the snapshot then shares. From then on, blocks of volumes that are overwritten stay
//! where they are until no snapshot holds them, indirect blocks and bitmaps included. Each consistency point
//! continues deletions by a bounded step. The blocks that a deletion frees join the delayed frees, which cost
//! the blocks of container map and bitmap that they change. The dead lists themselves are not written: WAFL keeps a
//! bitmap for each snapshot, which is the volume's bitmap at that time.

use strewn_alloc::{REGION_BLOCKS, Region, SnapshotId, SpaceSnapshots};
use strewn_raid::Vbn;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::snapshot::{SnapshotMeasures, SnapshotRefusal};

use super::WriteAnywhere;
use super::checkpoint::Checkpoint;

/// Entries of dead lists that a consistency point visits for each block of data that it writes. One block overwritten
/// adds one entry at most, so deletions that visit more keep pace with a schedule of snapshots. An assumption: it sets
/// how soon the blocks of a deleted snapshot come back, and in how many consistency points their frees are done.
const ENTRIES_PER_DATA_BLOCK: u64 = 2;

/// The snapshots, from the first that was asked for.
pub(super) struct Snapshots {
    space: SpaceSnapshots,
    /// The next consistency point takes one.
    is_asked: bool,
}

impl Snapshots {
    /// Whether a consistency point is to begin for the snapshot that has been asked for.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether a consistency point has something to do although nothing is dirty.
    pub(super) fn has_work(&self) -> bool {
        self.is_asked || self.space.is_work_left()
    }

    /// Announces that block `key` gets a new place.
    #[inline]
    pub(super) fn prefetch(&self, key: u32) {
        self.space.prefetch(key);
    }

    /// As [`SpaceSnapshots::is_replaced`].
    #[inline]
    pub(super) fn is_replaced(&mut self, key: u32, before: Option<(Region, Vbn)>) -> bool {
        self.space.is_replaced(key, before)
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Asks for a snapshot: see [`Array::begin_snapshot`](crate::Array::begin_snapshot).
    pub(super) fn ask_for_snapshot(
        &mut self,
        now_ns: u64,
        driver: &mut impl Driver<P>,
    ) -> Result<SnapshotId, SnapshotRefusal> {
        if P::CARRIES_DATA && self.config.format.is_durable() {
            return Err(SnapshotRefusal::NotSimulated);
        }
        let blocks = self.keys.of_volumes().len();
        let is_first = self.snapshots.is_none();
        self.snapshots.get_or_insert_with(|| {
            Box::new(Snapshots { space: SpaceSnapshots::new(blocks), is_asked: false })
        });
        let next = self.next_snapshot();
        if let Err(refused) = next.and_then(|_| self.check_room_for_snapshot()) {
            self.counters.snapshots_refused += 1;
            if is_first {
                // Without snapshots, writes have the room that they would leave to them.
                self.snapshots = None;
            }
            return Err(refused);
        }
        self.note_room();
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.is_asked = true;
        }
        if self.checkpoint.is_none() {
            self.begin_checkpoint(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        }
        next
    }

    /// The number of the snapshot that the next consistency point takes.
    fn next_snapshot(&self) -> Result<SnapshotId, SnapshotRefusal> {
        let next = self.snapshots.as_ref().and_then(|snapshots| snapshots.space.next());
        let SnapshotId(next) = next.ok_or(SnapshotRefusal::TooMany)?;
        // The one in progress has the number that is next until it commits.
        let next = next + u32::from(self.takes_snapshot());
        match next <= SpaceSnapshots::MOST {
            true => Ok(SnapshotId(next)),
            false => Err(SnapshotRefusal::TooMany),
        }
    }

    /// Whether the consistency point in progress takes a snapshot.
    fn takes_snapshot(&self) -> bool {
        self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.takes_snapshot)
    }

    /// A snapshot that leaves no room to overwrite anything is refused: at worst, all metadata of the volumes is written
    /// again beside it.
    fn check_room_for_snapshot(&self) -> Result<(), SnapshotRefusal> {
        let metadata = self.metadata_of_all_volumes();
        let needed = u64::from(self.cache.dirty_blocks()) + metadata + 1;
        match needed.saturating_sub(self.room()) {
            0 => Ok(()),
            lacking => Err(SnapshotRefusal::NoSpace { lacking }),
        }
    }

    /// Deletes a snapshot: see [`Array::expire_snapshot`](crate::Array::expire_snapshot).
    pub(super) fn remove_snapshot(&mut self, snapshot: SnapshotId) -> bool {
        self.snapshots.as_mut().is_some_and(|snapshots| snapshots.space.delete(snapshot))
    }

    /// Whether the consistency point that begins takes a snapshot.
    pub(super) fn take_snapshot_request(&mut self) -> bool {
        let asked = self.snapshots.as_mut().map(|snapshots| &mut snapshots.is_asked);
        asked.is_some_and(std::mem::take)
    }

    /// Continues deletions: blocks that no snapshot holds any more join the volume's delayed frees.
    pub(super) fn continue_deletions(&mut self, checkpoint: &Checkpoint<P>) {
        let Some(snapshots) = &mut self.snapshots else { return };
        let most = (checkpoint.data.len() as u64 * ENTRIES_PER_DATA_BLOCK).max(REGION_BLOCKS);
        let before = snapshots.space.blocks();
        snapshots.space.delete_step(most, &mut self.volumes);
        self.counters.snapshot_blocks_freed += before - snapshots.space.blocks();
    }

    /// The consistency point that takes a snapshot is committed.
    pub(super) fn snapshot_is_committed(&mut self) {
        let taken = self.snapshots.as_mut().and_then(|snapshots| snapshots.space.take());
        assert!(taken.is_some(), "a snapshot was admitted that has no number");
        self.counters.snapshots_taken += 1;
    }

    /// What the snapshots hold now; `None` if none was ever asked for.
    pub(super) fn measure_snapshots(&self) -> Option<SnapshotMeasures> {
        let space = self.snapshots.as_ref().map(|snapshots| &snapshots.space);
        if space.is_none() && self.counters.snapshots_refused == 0 {
            return None;
        }
        let counts = self.aggregate.counts();
        Some(SnapshotMeasures {
            kept: space.map_or(0, |space| space.kept().count() as u32),
            blocks: space.map_or(0, SpaceSnapshots::blocks),
            used: 1.0 - counts.free as f64 / counts.total as f64,
        })
    }

    /// Each number of a volume in use is that of a block with a place, of one that snapshots hold, or of a delayed
    /// free.
    pub(super) fn assert_numbers_agree(&self) {
        let Some(snapshots) = &self.snapshots else { return };
        let regions = (0..self.volumes.regions()).map(|region| Region(region as u16));
        let used: u64 = regions.map(|region| u64::from(self.volumes.numbers_used(region))).sum();
        let with_places = self.keys.of_volumes().filter(|key| self.map.get(*key).is_some());
        let placed = with_places.count() as u64;
        let (held, delayed) = (snapshots.space.blocks(), self.volumes.held_back_blocks());
        assert_eq!(
            used,
            placed + held + delayed,
            "{placed} blocks of volumes have places, snapshots hold {held} more, {delayed} frees are delayed"
        );
    }
}
