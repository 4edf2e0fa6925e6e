//! Room for what is written: a write is refused before it is logged if the next consistency point could not place it.
//!
//! A consistency point gives each dirty block a new place, and each metadata block that this changes, at worst all of
//! them. What it must not do is run out of places halfway: what was acknowledged would never get to the spindles.

use strewn_alloc::VolumeId;

use crate::driver::{Driver, Refusal};
use crate::payload::Payload;

use super::WriteAnywhere;

/// With snapshots, generations of the volumes' metadata for which room is kept: one that the latest snapshot holds, and
/// one whose frees are delayed until the next consistency point.
const KEPT_FOR_DELETIONS: u64 = 2;

impl<P: Payload> WriteAnywhere<P> {
    /// Notes how many blocks may be dirty when the next consistency point begins.
    pub(super) fn note_room(&mut self) {
        self.room_blocks = self.room();
    }

    /// How many these are. By then the consistency point in progress, if there is one, has freed what it frees.
    pub(super) fn room(&self) -> u64 {
        let counts = self.aggregate.counts();
        let metadata = self.metadata_blocks();
        // Blocks that snapshots hold come back only by a consistency point that deletes one. It must have room even if
        // those before it left none.
        let (generations, kept_places) = match self.snapshots.is_some() {
            false => (0, metadata),
            true => {
                let of_volumes = self.metadata_of_all_volumes();
                (KEPT_FOR_DELETIONS, 2 * metadata + KEPT_FOR_DELETIONS * of_volumes)
            }
        };
        let places = (counts.free + counts.freed_at_commit).saturating_sub(kept_places);
        // All that is dirty could belong to the volume with the fewest numbers.
        let volumes = (0..).map(VolumeId).zip(self.keys.metadata_of_volumes());
        let numbers = volumes.map(|(volume, metadata)| {
            let kept_numbers = (1 + generations) * u64::from(metadata);
            self.volumes.free_numbers(volume).saturating_sub(kept_numbers)
        });
        numbers.fold(places, u64::min)
    }

    /// Number of metadata blocks of all volumes: those that snapshots may hold.
    pub(super) fn metadata_of_all_volumes(&self) -> u64 {
        self.keys.metadata_of_volumes().into_iter().map(u64::from).sum()
    }

    /// Whether the next consistency point can place what is dirty and a waiting write.
    #[inline(always)]
    pub(super) fn has_room(&self, slot: u32) -> bool {
        let blocks = self.operations[slot as usize].blocks();
        let more = u64::from(blocks.end() - blocks.start()) + 1;
        u64::from(self.cache.dirty_blocks()) + more <= self.room_blocks
    }

    /// A write has no room. A consistency point may make some, since what it moves becomes free; then the write waits.
    /// With nothing to move, it is refused. Returns whether it is.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        now_ns: u64,
        slot: u32,
        driver: &mut impl Driver<P>,
    ) -> bool {
        if self.checkpoint.is_none() {
            self.begin_checkpoint(now_ns, driver);
        }
        if self.checkpoint.is_some() {
            return false;
        }
        let operation = self.operations.remove(slot as usize);
        self.release_partial_blocks(&operation);
        self.counters.refused_writes += 1;
        driver.refuse(operation.id(), Refusal::NoSpace);
        true
    }

    /// Frees of the volume that may stay delayed: none if room is short.
    pub(super) fn delayed_frees_allowed(&self) -> u64 {
        match self.room() <= self.config.dirty_limit_blocks.into() {
            true => 0,
            false => self.config.delayed_free_blocks,
        }
    }
}
