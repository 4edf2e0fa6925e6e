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

use crate::snapshot::{SnapshotMeasures, SnapshotRefusal};

use super::Space;
use super::history::{DeadBlock, History};
use super::metadata::Pointer;
use super::reservations::Reservations;
use super::restore_error::RestoreError;

/// Entries of dead lists that a consistency point visits for each block of data that it writes. One block overwritten
/// adds one entry at most, so deletions that visit more keep pace with a schedule of snapshots. An assumption: it sets
/// how soon the blocks of a deleted snapshot come back, and in how many consistency points their frees are done.
const ENTRIES_PER_DATA_BLOCK: u64 = 2;

/// What becomes of the place that a block has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftPlace {
    /// It is free.
    Free,
    /// Snapshots hold it.
    Held,
    /// It belongs to the volume that this one was cloned from.
    Borrowed,
}

/// The snapshots, from the first that was asked for; in an array with thin volumes from its start, since both count
/// what volumes may claim.
pub(crate) struct Snapshots {
    pub(crate) space: SpaceSnapshots,
    pub(crate) reservations: Reservations,
    /// The next consistency point takes one of each of these volumes.
    pub(crate) asked: Vec<VolumeId>,
    /// The consistency point in progress takes one of each of these.
    taking: Vec<VolumeId>,
    /// Whether any was ever asked for.
    pub(crate) are_used: bool,
    /// Blocks that only deleted snapshots hold, in the durable format. They become free step by step.
    pub(crate) doomed: u64,
}

impl Snapshots {
    pub(crate) fn new(space: SpaceSnapshots, reservations: Reservations) -> Self {
        Self {
            space,
            reservations,
            asked: Vec::new(),
            taking: Vec::new(),
            are_used: false,
            doomed: 0,
        }
    }

    /// Whether a consistency point is to begin for a snapshot that has been asked for.
    pub(crate) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether a consistency point has something to do although nothing is dirty.
    pub(crate) fn has_work(&self) -> bool {
        self.is_asked() || self.space.is_work_left()
    }

    /// Announces that block `key` gets a new place.
    #[inline]
    pub(crate) fn prefetch(&self, key: u32) {
        self.space.prefetch(key);
    }

    /// Blocks that only deleted snapshots hold, in the durable format.
    pub(crate) fn doomed(&self) -> u64 {
        self.doomed
    }
}

impl Space {
    /// The snapshots, which exist from now on.
    pub(crate) fn snapshots_mut(&mut self) -> &mut Snapshots {
        let reservations = self.snapshots.is_none().then(|| self.count_reservations());
        let (volumes, blocks) = (self.config.volumes.len(), self.keys.of_volumes().len());
        self.snapshots.get_or_insert_with(|| {
            let reservations =
                reservations.unwrap_or_else(|| unreachable!("counted where there are none"));
            Box::new(Snapshots::new(SpaceSnapshots::new(volumes, blocks), reservations))
        })
    }

    /// Asks for snapshots, each of a volume, of what is dirty and on the spindles now. Returns their numbers.
    pub(crate) fn ask_for_snapshots(
        &mut self,
        volumes: &[VolumeId],
        dirty_blocks: u32,
    ) -> Result<Vec<(VolumeId, SnapshotId)>, SnapshotRefusal> {
        if self.checksums.is_some() && self.is_durable() {
            return Err(SnapshotRefusal::NotSimulated);
        }
        let is_first = self.snapshots.is_none();
        self.snapshots_mut();
        let next = volumes.iter().map(|volume| Ok((*volume, self.next_snapshot(*volume)?)));
        let next = next.collect::<Result<Vec<_>, _>>();
        let next = next.and_then(|next| {
            self.check_room_for_snapshots(volumes, dirty_blocks.into()).map(|()| next)
        });
        if next.is_err() {
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
    pub(crate) fn takes_snapshot(&self, volume: VolumeId) -> bool {
        self.snapshots.as_ref().is_some_and(|snapshots| snapshots.taking.contains(&volume))
    }

    /// Snapshots that leave no room to overwrite all that is reserved are refused.
    fn check_room_for_snapshots(
        &self,
        volumes: &[VolumeId],
        dirty: u64,
    ) -> Result<(), SnapshotRefusal> {
        let Some(snapshots) = &self.snapshots else { return Ok(()) };
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
    pub(crate) fn delete_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        let is_durable = self.is_durable();
        let Some(snapshots) = &mut self.snapshots else { return false };
        if is_durable {
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
    pub(crate) fn take_snapshot(
        &mut self,
        volume: VolumeId,
    ) -> Result<SnapshotId, SnapshotRefusal> {
        let is_first = self.snapshots.is_none();
        self.snapshots_mut();
        if let Err(refused) = self.check_room_for_snapshots(&[volume], 0) {
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
    pub(crate) fn held_blocks(&self, volume: VolumeId) -> u64 {
        self.snapshots.as_ref().map_or(0, |snapshots| snapshots.space.blocks_of(volume))
    }

    /// Blocks that become free if `snapshot` is deleted; `None` if there is no such snapshot.
    pub(crate) fn held_by_alone(&self, volume: VolumeId, snapshot: SnapshotId) -> Option<u64> {
        self.snapshots.as_ref()?.space.held_by_alone(volume, snapshot)
    }

    /// Makes the snapshots known that the histories of the volumes tell of, without their blocks.
    pub(crate) fn restore_snapshots(&mut self, histories: &[Option<History>]) {
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
    pub(crate) fn restore_history(
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
            if let Some(checksums) = &mut self.checksums {
                let of_lun = (address.level == 0).then_some((address.file, address.index));
                checksums.held.add(of_lun, [birth, death], pointer, is_borrowed);
            }
        }
        Ok(())
    }

    /// Block `key` of a volume gets a new place, or loses the one it has. Returns what becomes of that.
    #[inline]
    pub(crate) fn record_replacement(
        &mut self,
        key: u32,
        before: Option<(Region, Vbn)>,
    ) -> LeftPlace {
        if self.is_durable() && key >= self.keys.indirect().end {
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
        if self.checksums.is_some()
            && (is_held || is_borrowed)
            && let Some((_, vbn)) = before
        {
            let death = snapshots.space.birth(key);
            let pointer = Pointer { vbn, checksum: self.checksum_of(key) };
            let of_lun = self.keys.lun_block(key);
            if let Some(checksums) = &mut self.checksums {
                checksums.held.add(of_lun, [birth, death], pointer, is_borrowed);
            }
        }
        match (is_held, is_borrowed) {
            (true, _) => LeftPlace::Held,
            (_, true) => LeftPlace::Borrowed,
            _ => LeftPlace::Free,
        }
    }

    /// The consistency point that begins takes the snapshots that were asked for. Nothing is dirty any more.
    pub(crate) fn begin_snapshots(&mut self) {
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.reservations.reset_growth();
            snapshots.taking = std::mem::take(&mut snapshots.asked);
        }
    }

    /// The volumes of which the consistency point in progress takes a snapshot.
    pub(crate) fn snapshots_being_taken(&self) -> &[VolumeId] {
        self.snapshots.as_ref().map_or(&[], |snapshots| &snapshots.taking)
    }

    /// Block `key`, which no snapshot ever holds, gets its first place.
    pub(crate) fn record_first_placement(&mut self, key: u32) {
        if let Some(snapshots) = &mut self.snapshots
            && !self.keys.catalog().contains(&key)
        {
            snapshots.reservations.record_first_placement();
        }
    }

    /// Continues deletions, beside `data_blocks` of data that the consistency point writes: in the modelled format,
    /// blocks that no snapshot holds any more join the volume's delayed frees; in the durable format they are returned,
    /// to become free with this consistency point. Also returns how many blocks no snapshot holds any more.
    pub(crate) fn continue_deletions(&mut self, data_blocks: u64) -> (Vec<Vbn>, u64) {
        let is_durable = self.is_durable();
        let Some(snapshots) = &mut self.snapshots else { return (Vec::new(), 0) };
        let most = (data_blocks * ENTRIES_PER_DATA_BLOCK).max(REGION_BLOCKS);
        let before = snapshots.space.blocks();
        let mut free = Vec::new();
        let (volumes, checksums) = (&mut self.volumes, &mut self.checksums);
        snapshots.space.delete_step(most, |_, region, vbn| {
            if let Some(checksums) = checksums {
                checksums.held.remove(vbn);
            }
            match is_durable {
                true => free.push(vbn),
                false => volumes.hold_back(region, vbn),
            }
        });
        snapshots.doomed -= free.len() as u64;
        (free, before - snapshots.space.blocks())
    }

    /// The consistency point in progress is committed, and with it its snapshots. Returns their number.
    pub(crate) fn on_snapshots_committed(&mut self) -> u64 {
        let Some(snapshots) = &mut self.snapshots else { return 0 };
        let volumes = std::mem::take(&mut snapshots.taking);
        for volume in &volumes {
            let taken = snapshots.space.take(*volume);
            assert!(taken.is_some(), "a snapshot was admitted that has no number");
        }
        volumes.len() as u64
    }

    /// What the snapshots hold now; `None` if none was ever asked for, or refused.
    pub(crate) fn measure_snapshots(&self, were_refused: bool) -> Option<SnapshotMeasures> {
        let used = self.snapshots.as_ref().filter(|snapshots| snapshots.are_used);
        if used.is_none() && !were_refused {
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
    pub(crate) fn assert_numbers_agree(&self) {
        let Some(snapshots) = &self.snapshots else { return };
        let regions = (0..self.volumes.regions()).map(|region| Region(region as u16));
        let used: u64 = regions.map(|region| u64::from(self.volumes.numbers_used(region))).sum();
        let with_places = self.keys.of_volumes().filter(|key| self.map.get(*key).is_some());
        let placed = with_places.count() as u64;
        let held = match self.is_durable() {
            true => 0,
            false => snapshots.space.blocks(),
        };
        let delayed = self.volumes.held_back_blocks();
        assert_eq!(
            used,
            placed + held + delayed,
            "{placed} blocks of volumes have places, snapshots hold {held} more, {delayed} frees are delayed"
        );
        if let Some(checksums) = &self.checksums {
            assert_eq!(
                checksums.held.len(),
                snapshots.space.blocks(),
                "blocks that snapshots hold"
            );
        }
    }
}

strewn_base::saved_state! {
    impl for Snapshots {
        parts: space;
        values: reservations, asked, taking, are_used, doomed;
        built:;
    }
}
