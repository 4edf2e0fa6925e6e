//! Snapshots of a pool's volumes, and the room that they leave.
//!
//! `zfs snapshot -r`: all volumes together, with one transaction group, which closes at once for it. What only a
//! deleted snapshot held is freed in the background, some with each transaction group, and one follows the other until
//! it is done (`dsl_scan_process_async_destroys`, `dsl_scan_async_block_should_pause`). What is left out: the blocks
//! that describe snapshots and their dead lists, and reading these lists.

use strewn_array::{Driver, SnapshotId, SnapshotMeasures, SnapshotRefusal, Snapshots, VolumeId};
use strewn_base::BLOCK_BYTES;

use super::sync::MANY_SEGMENTS;
use super::{Space, ZfsArray};
use crate::volume::{Volume, VolumeShape};

/// The volume that stands for all.
const ALL: VolumeId = VolumeId(0);

/// Blocks that a transaction group frees of deleted snapshots. OpenZFS goes on for a second (`zfs_free_min_time_ms`);
/// 5 us a block is chosen.
const MOST_FREES: u64 = 200_000;

impl Space {
    /// Takes a snapshot of all volumes, whose blocks of this transaction group are placed.
    pub(super) fn take_snapshots(&mut self) {
        for volume in &mut self.volumes {
            volume.take_snapshot(&self.pool);
        }
    }

    /// Frees some of what deleted snapshots held. Returns the blocks, and their bytes.
    pub(super) fn free_some(&mut self, dirty_bytes: u64) -> (u64, u64) {
        if !self.is_freeing() {
            return (0, 0);
        }
        // The log of what is freed must have room, too.
        let log = self.objects.most_bytes(&self.pool, MOST_FREES);
        let has_room =
            self.room_in(self.pool.allocatable()) > dirty_bytes + 4 * self.in_pieces(log);
        let most = if has_room { MOST_FREES } else { MANY_SEGMENTS };
        let (mut blocks, mut bytes) = (0, 0);
        for volume in &mut self.volumes {
            let freed = volume.snapshots_mut().free_some(&mut self.pool, most - blocks);
            (blocks, bytes) = (blocks + freed.0, bytes + freed.1);
        }
        (blocks, bytes)
    }

    /// Whether blocks of deleted snapshots wait to be freed.
    pub(super) fn is_freeing(&self) -> bool {
        self.volumes.iter().any(|volume| volume.snapshots().is_freeing())
    }

    /// Blocks that live volumes do not have any more.
    pub(super) fn held_blocks(&self) -> u64 {
        self.volumes.iter().map(|volume| volume.snapshots().held_blocks()).sum()
    }

    /// Whether snapshots hold anything, those that clones are made of included.
    pub(super) fn has_snapshots(&self) -> bool {
        self.volumes.iter().any(|volume| volume.snapshots().latest_txg() > 0)
    }

    /// Bytes of the pool that blocks of data take, with their share of indirect blocks.
    fn allocated_for(&self, volume: &Volume, blocks: u64) -> u64 {
        let VolumeShape { stored_bytes, .. } = volume.shape();
        let (_, indirect) = volume.indirect(1, 0);
        let indirect = 2 * self.pool.allocated_bytes(0, indirect.into());
        let pointers = u64::from(crate::POINTERS);
        blocks * self.pool.allocated_bytes(0, stored_bytes.into())
            + blocks.div_ceil(pointers) * indirect
    }

    /// Bytes that volumes have reserved and not used (`refreservation`): what overwriting all blocks that snapshots
    /// have would take.
    fn claimed(&self) -> u64 {
        let claimed = self.reserving().filter(|volume| volume.snapshots().latest_txg() > 0);
        let claimed = claimed.map(|volume| {
            let shared = u64::from(volume.shape().blocks) - volume.unshared_blocks();
            self.allocated_for(volume, shared)
        });
        claimed.sum()
    }

    /// Volumes that reserve room: `zfs clone` makes volumes that do not.
    fn reserving(&self) -> impl Iterator<Item = &Volume> {
        self.volumes.iter().filter(|volume| !volume.snapshots().is_clone())
    }

    /// Bytes that are lacking for one more snapshot (`dsl_dataset_snapshot_reserve_space`); 0 if there is room. What no
    /// snapshot has yet would be the snapshot's, and the volume would have to be able to write it once more.
    fn lacking_bytes(&self) -> u64 {
        let needed: u64 = self
            .reserving()
            .map(|volume| self.allocated_for(volume, volume.unshared_blocks()))
            .sum();
        needed.saturating_sub(self.pool.available().saturating_sub(self.claimed()))
    }
}

impl ZfsArray {
    /// Notes that deleted snapshots have given back so many bytes.
    pub(super) fn note_freed(&mut self, bytes: u64) {
        self.counters.snapshot_blocks_freed += bytes / BLOCK_BYTES;
    }
}

impl Snapshots<()> for ZfsArray {
    /// One, which stands for all: snapshots of a pool are recursive.
    fn snapshot_volumes(&self) -> Vec<VolumeId> {
        vec![ALL]
    }

    fn begin_snapshots(
        &mut self,
        now_ns: u64,
        volumes: &[VolumeId],
        driver: &mut impl Driver<()>,
    ) -> Result<Vec<(VolumeId, SnapshotId)>, SnapshotRefusal> {
        if volumes.is_empty() {
            return Ok(Vec::new());
        }
        let lacking = if self.config.reserves { self.space.lacking_bytes() } else { 0 };
        if lacking > 0 {
            self.counters.snapshots_refused += 1;
            return Err(SnapshotRefusal::NoSpace { lacking: lacking.div_ceil(BLOCK_BYTES) });
        }
        self.transactions.takes_snapshot = true;
        let id = self.space.volumes[0].snapshots().next_id();
        self.advance(now_ns, driver);
        Ok(vec![(ALL, SnapshotId(id))])
    }

    fn expire_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        let mut volumes = self.space.volumes.iter_mut();
        let is_deleted =
            volume == ALL && volumes.all(|volume| volume.snapshots_mut().delete(snapshot.0));
        self.transactions.frees |= is_deleted && self.space.is_freeing();
        is_deleted
    }

    fn snapshot_measures(&self) -> Option<SnapshotMeasures> {
        let snapshots = self.space.volumes[0].snapshots();
        let ever = snapshots.next_id() > 0 || self.counters.snapshots_refused > 0;
        let bytes: u64 =
            self.space.volumes.iter().map(|volume| volume.snapshots().held_bytes()).sum();
        let pool = &self.space.pool;
        ever.then(|| SnapshotMeasures {
            kept: snapshots.count() as u32,
            blocks: bytes.div_ceil(BLOCK_BYTES),
            used: pool.allocated() as f64 / pool.bytes() as f64,
        })
    }
}
