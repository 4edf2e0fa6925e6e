//! Snapshots of an array's volumes: each volume has its own.
//!
//! A snapshot takes effect with a consistency point: all that is dirty when it is asked for is in it. That consistency
//! point writes the inodes, which the snapshot then shares. From then on, blocks that are overwritten stay where they
//! are until no snapshot holds them. Each consistency point continues deletions by a bounded step. The dead lists
//! themselves are not written.
//!
//! In the modelled format a snapshot holds all blocks of its volume, bitmaps included, since WAFL keeps a bitmap for
//! each snapshot, which is the volume's bitmap at that time. A block keeps its number in the volume, and the blocks
//! that a deletion frees join the delayed frees, which cost the blocks of container map and bitmap that they change.
//!
//! In the durable format a snapshot holds what its inode leads to. A block that only snapshots hold has no number in
//! its volume, and is freed by the consistency point that finds it. After a restart, a [`History`] tells which
//! snapshots hold which blocks.

use strewn_alloc::REGION_BLOCKS;
use strewn_raid::Vbn;
use strewn_volume::{Region, SnapshotId, SpaceSnapshots, VolumeId};

use crate::driver::Driver;
use crate::payload::Payload;
use crate::snapshot::{SnapshotMeasures, SnapshotRefusal};

use super::WriteAnywhere;
use super::consistency_point::ConsistencyPoint;
use super::history::{DeadBlock, History};
use super::metadata::Pointer;
use super::reservations::Reservations;
use super::restore::RestoreError;

/// Entries of dead lists that a consistency point visits for each block of data that it writes. One block overwritten
/// adds one entry at most, so deletions that visit more keep pace with a schedule of snapshots. An assumption: it sets
/// how soon the blocks of a deleted snapshot come back, and in how many consistency points their frees are done.
const ENTRIES_PER_DATA_BLOCK: u64 = 2;

/// What becomes of the place that a block has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftPlace {
    /// It is free.
    Free,
    /// Snapshots hold it.
    Held,
    /// It belongs to the volume that this one was cloned from.
    Borrowed,
}

/// The snapshots, from the first that was asked for; in an array with thin volumes from its start, since both count
/// what volumes may claim.
pub(super) struct Snapshots {
    pub(super) space: SpaceSnapshots,
    pub(super) reservations: Reservations,
    /// The next consistency point takes one of each of these volumes.
    pub(super) asked: Vec<VolumeId>,
    /// Whether any was ever asked for.
    pub(super) are_used: bool,
    /// Blocks that only deleted snapshots hold, in the durable format. They become free step by step.
    pub(super) doomed: u64,
}

impl Snapshots {
    pub(super) fn new(space: SpaceSnapshots, reservations: Reservations) -> Self {
        Self { space, reservations, asked: Vec::new(), are_used: false, doomed: 0 }
    }

    /// Whether a consistency point is to begin for a snapshot that has been asked for.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether a consistency point has something to do although nothing is dirty.
    pub(super) fn has_work(&self) -> bool {
        self.is_asked() || self.space.is_work_left()
    }

    /// Announces that block `key` gets a new place.
    #[inline]
    pub(super) fn prefetch(&self, key: u32) {
        self.space.prefetch(key);
    }

    /// Blocks that only deleted snapshots hold, in the durable format.
    pub(super) fn doomed(&self) -> u64 {
        self.doomed
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// The snapshots, which exist from now on.
    pub(super) fn snapshots_mut(&mut self) -> &mut Snapshots {
        let reservations = self.snapshots.is_none().then(|| self.count_reservations());
        let (volumes, blocks) = (self.config.volumes.len(), self.keys.of_volumes().len());
        self.snapshots.get_or_insert_with(|| {
            let reservations =
                reservations.unwrap_or_else(|| unreachable!("counted where there are none"));
            Box::new(Snapshots::new(SpaceSnapshots::new(volumes, blocks), reservations))
        })
    }

    pub(super) fn volume_ids(&self) -> impl Iterator<Item = VolumeId> + use<P> {
        (0..self.config.volumes.len() as u32).map(VolumeId)
    }

    /// Asks for snapshots: see [`Snapshots::begin_snapshots`](crate::Snapshots::begin_snapshots).
    pub(super) fn ask_for_snapshots(
        &mut self,
        now_ns: u64,
        volumes: &[VolumeId],
        driver: &mut impl Driver<P>,
    ) -> Result<Vec<(VolumeId, SnapshotId)>, SnapshotRefusal> {
        if P::CARRIES_DATA && self.config.format.is_durable() {
            return Err(SnapshotRefusal::NotSimulated);
        }
        let is_first = self.snapshots.is_none();
        self.snapshots_mut();
        let next = volumes.iter().map(|volume| Ok((*volume, self.next_snapshot(*volume)?)));
        let next = next.collect::<Result<Vec<_>, _>>();
        let next = next.and_then(|next| self.check_room_for_snapshots(volumes).map(|()| next));
        if next.is_err() {
            self.counters.snapshots_refused += volumes.len() as u64;
            if is_first {
                // Without snapshots, writes have the room that they would leave to them.
                self.snapshots = None;
            }
            return next;
        }
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.are_used = true;
            for volume in volumes {
                if !snapshots.asked.contains(volume) {
                    snapshots.asked.push(*volume);
                }
            }
        }
        self.ownership_changes(volumes);
        self.note_room();
        if self.consistency_point.is_none() {
            self.begin_consistency_point(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        }
        next
    }

    /// The number of the snapshot of `volume` that the next consistency point takes.
    fn next_snapshot(&self, volume: VolumeId) -> Result<SnapshotId, SnapshotRefusal> {
        let space = self.snapshots.as_ref().map(|snapshots| &snapshots.space);
        let next = space.and_then(|space| space.next(volume));
        let SnapshotId(next) = next.ok_or(SnapshotRefusal::TooMany)?;
        // The one in progress has the number that is next until it commits.
        let next = next + u32::from(self.takes_snapshot(volume));
        match next <= SpaceSnapshots::MOST {
            true => Ok(SnapshotId(next)),
            false => Err(SnapshotRefusal::TooMany),
        }
    }

    /// Whether the consistency point in progress takes a snapshot of `volume`.
    pub(super) fn takes_snapshot(&self, volume: VolumeId) -> bool {
        let in_progress = self.consistency_point.as_ref();
        in_progress
            .is_some_and(|consistency_point| consistency_point.snapshots_of.contains(&volume))
    }

    /// Snapshots that leave no room to overwrite all that is reserved are refused.
    fn check_room_for_snapshots(&self, volumes: &[VolumeId]) -> Result<(), SnapshotRefusal> {
        let Some(snapshots) = &self.snapshots else { return Ok(()) };
        let dirty = u64::from(self.cache.dirty_blocks());
        let (each, claims) = snapshots.reservations.claims_with_snapshots(volumes);
        let metadata = self.keys.metadata_of_volumes();
        let lacking_numbers = each.map(|(volume, claim)| {
            let numbers = self.numbers_for_dirty(volume, metadata[volume.0 as usize].into());
            (dirty + claim).saturating_sub(numbers)
        });
        let needed = dirty + claims + self.kept_beside_claims();
        let lacking_places = needed.saturating_sub(self.places_for_dirty());
        match lacking_numbers.fold(lacking_places, u64::max) {
            0 => Ok(()),
            lacking => Err(SnapshotRefusal::NoSpace { lacking }),
        }
    }

    /// Volumes own other blocks than before: snapshots of them are taken, or deleted.
    fn ownership_changes(&mut self, volumes: &[VolumeId]) {
        for volume in volumes {
            let own_from = self.own_from(*volume);
            if let Some(snapshots) = &mut self.snapshots {
                snapshots.reservations.own_from(*volume, own_from);
            }
        }
    }

    /// Deletes a snapshot of `volume`. Consistency points free the blocks that only it held, step by step. False if
    /// there is no such snapshot.
    pub fn delete_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        let Some(snapshots) = &mut self.snapshots else { return false };
        if self.config.format.is_durable() {
            snapshots.doomed += snapshots.space.held_by_alone(volume, snapshot).unwrap_or(0);
        }
        let is_deleted = snapshots.space.delete(volume, snapshot);
        self.ownership_changes(&[volume]);
        is_deleted
    }

    /// Takes a snapshot of `volume` as it is on the spindles, and returns its number. Nothing may be dirty, and no
    /// consistency point in progress. O(1), the first of all O(blocks of the volumes).
    ///
    /// # Errors
    /// If what the volumes reserve could then no longer be overwritten in full, or if the volume's snapshots can be
    /// counted no further.
    ///
    /// # Panics
    /// If the array is not clean.
    pub fn take_snapshot(&mut self, volume: VolumeId) -> Result<SnapshotId, SnapshotRefusal> {
        assert!(self.is_clean(), "a snapshot is taken of what is on the spindles");
        let is_first = self.snapshots.is_none();
        self.snapshots_mut();
        if let Err(refused) = self.check_room_for_snapshots(&[volume]) {
            if is_first {
                self.snapshots = None;
            }
            return Err(refused);
        }
        let snapshots = self.snapshots_mut();
        snapshots.are_used = true;
        let taken = snapshots.space.take(volume);
        let snapshot = taken.ok_or(SnapshotRefusal::TooMany)?;
        self.ownership_changes(&[volume]);
        self.note_room();
        Ok(snapshot)
    }

    /// Blocks that only snapshots of `volume` hold.
    #[must_use]
    pub fn held_blocks(&self, volume: VolumeId) -> u64 {
        self.snapshots.as_ref().map_or(0, |snapshots| snapshots.space.blocks_of(volume))
    }

    /// Blocks that become free if `snapshot` is deleted; `None` if there is no such snapshot.
    #[must_use]
    pub fn held_by_alone(&self, volume: VolumeId, snapshot: SnapshotId) -> Option<u64> {
        self.snapshots.as_ref()?.space.held_by_alone(volume, snapshot)
    }

    /// Makes the snapshots known that the histories of the volumes tell of, without their blocks.
    pub(super) fn restore_snapshots(&mut self, histories: &[Option<History>]) {
        let has_clone = self.config.volumes.iter().any(|volume| volume.is_clone);
        if !has_clone && histories.iter().all(Option::is_none) {
            return;
        }
        let of_volume = |history: &Option<History>| match history {
            Some(history) => {
                let numbers = history.snapshots().iter().map(|number| SnapshotId(*number));
                (history.image(), numbers.collect())
            }
            None => (1, Vec::new()),
        };
        let volumes: Vec<(u32, Vec<SnapshotId>)> = histories.iter().map(of_volume).collect();
        let volumes = volumes.iter().map(|(next, numbers)| (*next, numbers.as_slice()));
        let space = SpaceSnapshots::restored(self.keys.of_volumes().len(), volumes);
        let snapshots = self.snapshots_mut();
        snapshots.are_used = true;
        snapshots.space = space;
    }

    /// Makes the blocks known that snapshots of `volume` hold, and since when.
    pub(super) fn restore_history(
        &mut self,
        volume: VolumeId,
        history: &History,
    ) -> Result<(), RestoreError> {
        for (address, _, birth) in history.blocks() {
            let Some(key) = self.keys.key_of(volume, address) else { continue };
            let is_clone = self.is_clone(volume);
            if let Some(snapshots) = &mut self.snapshots
                // What a clone has borrowed has no birth.
                && (!is_clone || snapshots.space.birth(key) != 0)
            {
                snapshots.space.restore_birth(key, birth);
            }
        }
        for &DeadBlock { address, pointer, birth, death } in history.dead() {
            let is_borrowed = self.borrows(volume, address, pointer);
            if !is_borrowed {
                self.set_aside_held(address, pointer)?;
                let held = self.snapshots.as_mut().map(|snapshots| {
                    snapshots.space.restore_held(volume, [birth, death], pointer.vbn)
                });
                assert_eq!(held, Some(true), "the images of a history hold its blocks");
            }
            if let Some(stored) = &mut self.stored {
                let of_lun = (address.level == 0).then_some((address.file, address.index));
                stored.held.add(of_lun, [birth, death], pointer, is_borrowed);
            }
        }
        Ok(())
    }

    /// Block `key` of a volume gets a new place, or loses the one it has. Returns what becomes of that.
    #[inline]
    pub(super) fn record_replacement(
        &mut self,
        key: u32,
        before: Option<(Region, Vbn)>,
    ) -> LeftPlace {
        if self.config.format.is_durable() && key >= self.keys.indirect().end {
            if before.is_none() {
                self.record_first_placement(key);
            }
            return LeftPlace::Free;
        }
        let volume = self.keys.volume_of(key);
        let is_clone = self.is_clone(volume);
        let (is_metadata, has_place) = (key >= self.keys.data().end, self.map.get(key).is_some());
        let Some(snapshots) = &mut self.snapshots else { return LeftPlace::Free };
        let birth = snapshots.space.birth(key);
        let is_borrowed = birth == 0 && is_clone;
        let of_own = before.filter(|_| !is_borrowed);
        let is_held = snapshots.space.record_replacement(volume, key, of_own);
        let born_now = has_place.then(|| snapshots.space.birth(key));
        snapshots.reservations.record_replacement(
            volume,
            is_metadata,
            before.map(|_| birth),
            born_now,
        );
        if P::CARRIES_DATA
            && (is_held || is_borrowed)
            && let Some((_, vbn)) = before
        {
            let death = snapshots.space.birth(key);
            let pointer = Pointer { vbn, checksum: self.checksum_of(key) };
            let of_lun = self.keys.lun_block(key);
            if let Some(stored) = &mut self.stored {
                stored.held.add(of_lun, [birth, death], pointer, is_borrowed);
            }
        }
        match (is_held, is_borrowed) {
            (true, _) => LeftPlace::Held,
            (_, true) => LeftPlace::Borrowed,
            _ => LeftPlace::Free,
        }
    }

    /// The volumes of which the consistency point that begins takes a snapshot. Nothing is dirty any more.
    pub(super) fn take_snapshot_request(&mut self) -> Vec<VolumeId> {
        let Some(snapshots) = &mut self.snapshots else { return Vec::new() };
        snapshots.reservations.reset_growth();
        std::mem::take(&mut snapshots.asked)
    }

    /// Block `key`, which no snapshot ever holds, gets its first place.
    pub(super) fn record_first_placement(&mut self, key: u32) {
        if let Some(snapshots) = &mut self.snapshots
            && !self.keys.catalog().contains(&key)
        {
            snapshots.reservations.record_first_placement();
        }
    }

    /// Continues deletions: in the modelled format, blocks that no snapshot holds any more join the volume's delayed
    /// frees; in the durable format they are returned, to become free with this consistency point.
    pub(super) fn continue_deletions(
        &mut self,
        consistency_point: &ConsistencyPoint<P>,
    ) -> Vec<Vbn> {
        let Some(snapshots) = &mut self.snapshots else { return Vec::new() };
        let most =
            (consistency_point.data.len() as u64 * ENTRIES_PER_DATA_BLOCK).max(REGION_BLOCKS);
        let before = snapshots.space.blocks();
        let mut free = Vec::new();
        let is_durable = self.config.format.is_durable();
        let (volumes, stored) = (&mut self.volumes, &mut self.stored);
        snapshots.space.delete_step(most, |_, region, vbn| {
            if P::CARRIES_DATA
                && let Some(stored) = stored
            {
                stored.held.remove(vbn);
            }
            match is_durable {
                true => free.push(vbn),
                false => volumes.hold_back(region, vbn),
            }
        });
        snapshots.doomed -= free.len() as u64;
        self.counters.snapshot_blocks_freed += before - snapshots.space.blocks();
        free
    }

    /// The consistency point that takes snapshots of these volumes is committed.
    pub(super) fn on_snapshots_committed(&mut self, volumes: &[VolumeId]) {
        let Some(snapshots) = &mut self.snapshots else { return };
        for volume in volumes {
            let taken = snapshots.space.take(*volume);
            assert!(taken.is_some(), "a snapshot was admitted that has no number");
        }
        self.counters.snapshots_taken += volumes.len() as u64;
    }

    /// What the snapshots hold now; `None` if none was ever asked for.
    pub(super) fn measure_snapshots(&self) -> Option<SnapshotMeasures> {
        let used = self.snapshots.as_ref().filter(|snapshots| snapshots.are_used);
        if used.is_none() && self.counters.snapshots_refused == 0 {
            return None;
        }
        let space = self.snapshots.as_ref().map(|snapshots| &snapshots.space);
        let kept = |space: &SpaceSnapshots| {
            self.volume_ids().map(|volume| space.kept(volume).count() as u32).sum()
        };
        let counts = self.aggregate.counts();
        Some(SnapshotMeasures {
            kept: space.map_or(0, kept),
            blocks: space.map_or(0, SpaceSnapshots::blocks),
            used: 1.0 - counts.free as f64 / counts.total as f64,
        })
    }

    /// Each number of a volume in use is that of a block with a place, of a delayed free, or in the modelled format of
    /// a block that snapshots hold.
    pub(super) fn assert_numbers_agree(&self) {
        let Some(snapshots) = &self.snapshots else { return };
        let regions = (0..self.volumes.regions()).map(|region| Region(region as u16));
        let used: u64 = regions.map(|region| u64::from(self.volumes.numbers_used(region))).sum();
        let with_places = self.keys.of_volumes().filter(|key| self.map.get(*key).is_some());
        let placed = with_places.count() as u64;
        let held = match self.config.format.is_durable() {
            true => 0,
            false => snapshots.space.blocks(),
        };
        let delayed = self.volumes.held_back_blocks();
        assert_eq!(
            used,
            placed + held + delayed,
            "{placed} blocks of volumes have places, snapshots hold {held} more, {delayed} frees are delayed"
        );
        if P::CARRIES_DATA
            && let Some(stored) = &self.stored
        {
            assert_eq!(stored.held.len(), snapshots.space.blocks(), "blocks that snapshots hold");
        }
    }
}

strewn_base::saved_state! {
    impl for Snapshots {
        parts: space;
        values: reservations, asked, are_used, doomed;
        built:;
    }
}
