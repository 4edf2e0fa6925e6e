//! Room for what is written: a write is refused before it is logged if the next consistency point could not place it.
//!
//! A consistency point gives each dirty block a new place, and each metadata block that this changes, at worst all of
//! them. What it must not do is run out of places halfway: what was acknowledged would never get to the spindles.

use std::ops::RangeInclusive;

use strewn_alloc::SummaryBitmap;
use strewn_volume::VolumeId;

use super::Space;

/// With snapshots, generations of the volumes' metadata for which room is kept: one that the latest snapshot holds, and
/// one whose frees are delayed until the next consistency point.
const KEPT_FOR_DELETIONS: u64 = 2;

impl Space {
    /// Notes how many blocks may be dirty when the next consistency point begins.
    pub(crate) fn note_room(&mut self) {
        if self.snapshots.is_some() {
            self.room_blocks = self.places_for_dirty();
            return self.note_reservations(self.room_blocks);
        }
        self.room_blocks = self.room();
    }

    /// How many these are if all of them belong to the volume with the fewest numbers.
    fn room(&self) -> u64 {
        let volumes = self.volume_ids().zip(self.keys.metadata_of_volumes());
        let numbers =
            volumes.map(|(volume, metadata)| self.numbers_for_dirty(volume, metadata.into()));
        numbers.fold(self.places_for_dirty(), u64::min)
    }

    /// How many these are for the sake of their places. By then the consistency point in progress, if there is one, has
    /// freed what it frees.
    pub(crate) fn places_for_dirty(&self) -> u64 {
        let counts = self.aggregate.counts();
        let kept = self.kept_places(self.snapshots.is_some());
        (counts.free + counts.freed_at_commit).saturating_sub(kept)
    }

    /// Places kept for metadata in an array that has snapshots, or has none.
    pub(crate) fn kept_places(&self, has_snapshots: bool) -> u64 {
        let metadata = self.metadata_blocks();
        // Blocks that snapshots hold come back only by a consistency point that deletes one. It must have room even if
        // those before it left none.
        match has_snapshots {
            false => metadata,
            true => 2 * metadata + KEPT_FOR_DELETIONS * self.metadata_of_all_volumes(),
        }
    }

    /// How many these are for the sake of the numbers of `volume`, which has so many metadata blocks.
    pub(crate) fn numbers_for_dirty(&self, volume: VolumeId, metadata: u64) -> u64 {
        let generations = match self.snapshots.is_some() {
            false => 0,
            true => KEPT_FOR_DELETIONS,
        };
        self.volumes.free_numbers(volume).saturating_sub((1 + generations) * metadata)
    }

    /// Number of metadata blocks of all volumes: those that snapshots may hold.
    pub(crate) fn metadata_of_all_volumes(&self) -> u64 {
        self.keys.metadata_of_volumes().into_iter().map(u64::from).sum()
    }

    /// Whether the next consistency point can place what is dirty and a write of `blocks`.
    #[inline(always)]
    pub(crate) fn has_room(
        &self,
        blocks: RangeInclusive<u32>,
        dirty: &SummaryBitmap,
        dirty_blocks: u32,
    ) -> bool {
        let more = u64::from(blocks.end() - blocks.start()) + 1;
        let dirty_blocks = u64::from(dirty_blocks) + more;
        dirty_blocks <= self.room_blocks
            && (self.snapshots.is_none()
                || self.reservations_leave_room(blocks, dirty, dirty_blocks))
    }

    /// Frees of the volume that may stay delayed: none if room is short.
    pub(crate) fn delayed_frees_allowed(&self) -> u64 {
        let of_reservations = match &self.snapshots {
            Some(snapshots) => snapshots.reservations.claims() + self.kept_beside_claims(),
            None => 0,
        };
        match self.room() <= u64::from(self.config.dirty_limit_blocks) + of_reservations {
            true => 0,
            false => self.config.delayed_free_blocks,
        }
    }
}
