//! Other volumes and LUNs for an array that has some: keys are given anew, and blocks stay where they are.

use std::ops::Range;

use strewn_raid::Vbn;
use strewn_volume::VolumeId;

use crate::lun_id::LunId;
use crate::root::CATALOG_BLOCKS;

use super::Space;
use super::checksums::WithoutKey;
use super::config::{VolumeConfig, WriteAnywhereConfig};
use super::metadata::Pointer;
use super::pending::Pending;
use super::reservations::Owned;
use super::restore_error::RestoreError;
use super::snapshots::{LeftPlace, Snapshots};
use super::view::View;

/// Volumes of an array, as they are to be.
#[derive(Debug, Clone)]
pub struct Reconfiguration {
    /// The volumes. A LUN that has a file of the array's keeps its blocks, as many as its new size has room for.
    pub volumes: Vec<VolumeConfig>,
    /// For each, the volume that it was so far.
    pub before: Vec<Option<VolumeId>>,
    /// LUNs that begin with what a snapshot has: their files, and what they are made from. Their volumes are clones.
    pub clones: Vec<(u32, View)>,
}

/// Why an array cannot be given other volumes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigurationError {
    /// The configuration is invalid.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// There is no room to write what changes.
    #[error("there is no room to write what changes: {lacking} more blocks must be free")]
    NoRoom {
        /// Blocks that must become free first.
        lacking: u64,
    },
}

/// New keys of blocks.
struct Renumbering {
    /// The first key, its new one, and how many keys follow each other, in ascending order.
    runs: Vec<(u32, u32, u32)>,
}

impl Renumbering {
    fn keys(&self) -> impl Iterator<Item = (u32, u32)> {
        let of_run = |&(from, into, count): &(u32, u32, u32)| {
            (0..count).map(move |at| (from + at, into + at))
        };
        self.runs.iter().flat_map(of_run)
    }

    fn new_key(&self, key: u32) -> Option<u32> {
        let behind = self.runs.partition_point(|(from, ..)| *from <= key);
        let (from, into, count) = *self.runs.get(behind.checked_sub(1)?)?;
        (key - from < count).then(|| into + key - from)
    }
}

/// Blocks of all metadata of an array, the catalog included.
fn most_metadata(config: &WriteAnywhereConfig) -> u64 {
    u64::from(config.block_keys().metadata_blocks()) + u64::from(CATALOG_BLOCKS)
}

impl Space {
    /// The same space with other volumes and LUNs, which takes the place of this one.
    ///
    /// # Errors
    /// If that cannot be. The space is as it was.
    pub(crate) fn reconfigured(
        &mut self,
        to: &Reconfiguration,
    ) -> Result<Self, ReconfigurationError> {
        let config = WriteAnywhereConfig { volumes: to.volumes.clone(), ..self.config.clone() };
        // At worst all of the new array's metadata is written, beside the old.
        let free = self.aggregate.counts().free;
        let metadata = most_metadata(&config);
        if free < 2 * metadata {
            return Err(ReconfigurationError::NoRoom { lacking: 2 * metadata - free });
        }
        let mut new = Self::empty(config, self.checksums.is_some()).map_err(RestoreError::Array)?;
        let renumbering = self.renumbering(&new, to);
        let abandoned = self.leave_behind(&renumbering, to);
        if let Err(error) = new.take_over(self, &renumbering, abandoned, to) {
            unreachable!("an array that was consistent is not: {error}");
        }
        Ok(new)
    }

    /// Blocks that the array lacks for the reservations of the volumes `to`; 0 if it can keep it. It is
    /// clean.
    ///
    /// # Errors
    /// If the configuration is invalid.
    pub(crate) fn lacking_for(&self, to: &Reconfiguration) -> Result<u64, RestoreError> {
        let config = WriteAnywhereConfig { volumes: to.volumes.clone(), ..self.config.clone() };
        let (needed, free) = (config.needed_blocks(), self.free_for_reservations(to));
        let lacking = needed.saturating_sub(free);
        if self.snapshots.is_none() && !config.volumes.iter().any(VolumeConfig::is_thin) {
            return Ok(lacking);
        }
        // So much metadata that its maps need not be built.
        let metadata = most_metadata(&config);
        if metadata > free {
            return Ok(lacking.max(metadata - free));
        }
        // Nothing in it has a place.
        let new = Self::bare(config, false)?;
        let claims = new.count_reservations().claims() + WriteAnywhereConfig::SUPERBLOCK_BLOCKS;
        let needed = claims + new.overwriting_reserve() + new.kept_places(true);
        Ok(lacking.max(needed.saturating_sub(free)))
    }

    /// Blocks that one more thick volume could reserve, the metadata of that volume aside. The array is clean.
    pub(crate) fn blocks_to_reserve(&self) -> u64 {
        let volumes = self.config.volumes.clone();
        let before = self.volume_ids().map(Some).collect();
        let as_it_is = Reconfiguration { volumes, before, clones: Vec::new() };
        let free = self.free_for_reservations(&as_it_is);
        let claimed = match &self.snapshots {
            Some(_) => {
                let kept = self.kept_places(true) + self.overwriting_reserve();
                let counts = self.aggregate.counts();
                counts.free.saturating_sub(self.claimed_blocks() + kept)
            }
            None => u64::MAX,
        };
        free.saturating_sub(self.config.needed_blocks()).min(claimed)
    }

    /// Blocks that are free, or are in use for what the volumes `to` reserve, for metadata and for the superblock. The
    /// others are data of thin volumes, and blocks that snapshots hold, also if LUNs have them too.
    fn free_for_reservations(&self, to: &Reconfiguration) -> u64 {
        let counts = self.aggregate.counts();
        let owned = self.owned();
        let kept = |(volume, before): (&VolumeConfig, &Option<VolumeId>)| {
            let own = before.map_or(Owned::default(), |before| owned[before.0 as usize]);
            own.data.min(volume.reservation()) + own.metadata
        };
        let kept: u64 = to.volumes.iter().zip(&to.before).map(kept).sum();
        let of_array = WriteAnywhereConfig::SUPERBLOCK_BLOCKS + self.placed_metadata_of_array();
        counts.free + self.volumes.held_back_blocks() + kept + of_array
    }

    /// The keys of the blocks that stay, and their keys in `new`.
    fn renumbering(&self, new: &Self, to: &Reconfiguration) -> Renumbering {
        let mut runs = Vec::new();
        let mut add = |from: Range<u32>, into: Range<u32>| {
            runs.push((from.start, into.start, from.len().min(into.len()) as u32));
        };
        for volume in 0..to.volumes.len() as u32 {
            let Some(before) = to.before[volume as usize] else { continue };
            for lun in new.keys.luns_of(VolumeId(volume)).map(LunId) {
                let Some(old) = self.keys.lun_with_file(new.keys.file_of(lun)) else { continue };
                for (from, into) in self.keys.levels_of(old).zip(new.keys.levels_of(lun)) {
                    add(from, into);
                }
            }
            let (inode, new_inode) =
                (self.keys.inode_of(before), new.keys.inode_of(VolumeId(volume)));
            add(inode..inode + 1, new_inode..new_inode + 1);
            let regions = self.keys.regions_of(before).zip(new.keys.regions_of(VolumeId(volume)));
            for (old, region) in regions {
                let blocks = self.keys.blocks_of_region(old).zip(new.keys.blocks_of_region(region));
                blocks.for_each(|(from, into)| add(from..from + 1, into..into + 1));
            }
        }
        add(self.keys.aggregate_bitmap(), new.keys.aggregate_bitmap());
        add(self.keys.catalog(), new.keys.catalog());
        runs.sort_unstable();
        Renumbering { runs }
    }

    /// Takes their places from the blocks that do not move, and returns those places that nothing holds.
    fn leave_behind(&mut self, renumbering: &Renumbering, to: &Reconfiguration) -> Vec<Vbn> {
        let mut abandoned = std::mem::take(&mut self.pending.abandoned);
        for key in (0..self.keys.end()).filter(|key| renumbering.new_key(*key).is_none()) {
            let Some(vbn) = self.map.get(key) else { continue };
            let left = match self.snapshots.is_some() && key < self.keys.indirect().end {
                true => self.record_replacement(key, Some((self.regions[key as usize], vbn))),
                false => LeftPlace::Free,
            };
            self.map.remove(key);
            if left == LeftPlace::Free {
                abandoned.push(vbn);
                let (holds, checksum) = (self.keys.holds(key), self.checksum_of(key));
                if let Some(checksums) = &mut self.checksums {
                    checksums.record_without_key(vbn, WithoutKey { holds, checksum });
                }
            }
        }
        // Frees that the volumes have delayed.
        while let Some((_, blocks)) = self.volumes.reclaim(0) {
            abandoned.extend(blocks);
        }
        // What deleted snapshots of volumes that are gone hold.
        let gone = self.gone_volumes(to);
        if let Some(snapshots) = &mut self.snapshots {
            for volume in gone {
                let dead = snapshots.space.drain(volume);
                snapshots.doomed -= dead.len() as u64;
                if let Some(checksums) = &mut self.checksums {
                    dead.iter().for_each(|vbn| checksums.held.remove(*vbn));
                }
                abandoned.extend(dead);
            }
        }
        abandoned
    }

    /// The volumes that are not to be any more.
    fn gone_volumes(&self, to: &Reconfiguration) -> Vec<VolumeId> {
        let volumes = (0..self.config.volumes.len() as u32).map(VolumeId);
        volumes.filter(|volume| !to.before.contains(&Some(*volume))).collect()
    }

    /// Becomes what `old` was, except for its volumes.
    fn take_over(
        &mut self,
        old: &mut Self,
        renumbering: &Renumbering,
        abandoned: Vec<Vbn>,
        to: &Reconfiguration,
    ) -> Result<(), RestoreError> {
        let mut borrowed = Vec::new();
        for (file, view) in &to.clones {
            let Some(lun) = self.keys.lun_with_file(*file) else { continue };
            let first = self.keys.blocks_of(lun).start;
            let blocks = (0..view.blocks)
                .filter_map(|block| Some((first + block, old.block_in_view(*view, block)?)));
            borrowed.extend(blocks);
        }
        // Blocks stay where they are. What is abandoned is in use until the consistency point.
        std::mem::swap(&mut self.aggregate, &mut old.aggregate);
        self.superblock = old.superblock;
        let with_place = |(from, key)| Some((key, from, old.pointer(from)?));
        let mut placed: Vec<(u32, u32, Pointer)> =
            renumbering.keys().filter_map(with_place).collect();
        placed.sort_unstable_by_key(|(key, ..)| *key);
        let stale = self.stale_after(old, &borrowed);
        if let Some(snapshots) = old.snapshots.take() {
            self.snapshots = Some(self.renumbered(snapshots, &placed, to));
        }
        let gone = old.gone_volumes(to);
        let keys_before = &old.keys;
        if let (Some(before), Some(checksums)) = (&mut old.checksums, &mut self.checksums) {
            let aggregate = &self.aggregate;
            checksums.take_over(
                before,
                |key| renumbering.new_key(key),
                |vbn, key| (!aggregate.is_free(vbn)).then(|| keys_before.holds(key)),
            );
            // Versions that a clone which is gone had borrowed are on no list.
            let gone: Vec<u32> = gone
                .into_iter()
                .flat_map(|volume| keys_before.luns_of(volume))
                .map(|lun| keys_before.file_of(LunId(lun)))
                .collect();
            checksums.held.forget_files(|file| gone.contains(&file));
        }
        let catalog = std::mem::take(&mut old.pending.catalog);
        self.pending = Pending { stale, abandoned, catalog, has_changed: true };
        for (key, _, pointer) in placed {
            self.restore_block(key, pointer, true)?;
            // A block that a clone has borrowed goes by the key that it has in its own volume.
            if !self.is_borrowed(key)
                && let Some(checksums) = &mut self.checksums
            {
                checksums.record_placement(key, pointer.vbn);
            }
        }
        for (key, pointer) in borrowed {
            self.restore_block(key, pointer, true)?;
        }
        self.losses = old.losses.take();
        self.note_room();
        self.count_again();
        Ok(())
    }

    /// The snapshots of the volumes that stay. `placed` has the blocks with a place: their keys now and before. Blocks
    /// that are borrowed have no birth.
    fn renumbered(
        &self,
        mut snapshots: Box<Snapshots>,
        placed: &[(u32, u32, Pointer)],
        to: &Reconfiguration,
    ) -> Box<Snapshots> {
        let of_volumes = self.keys.of_volumes();
        let births = placed.iter().filter(|(key, ..)| of_volumes.contains(key));
        let births: Vec<(u32, u32)> =
            births.map(|(key, from, _)| (*key, snapshots.space.birth(*from))).collect();
        snapshots.space.renumber(of_volumes.len(), &to.before);
        for (key, birth) in births {
            snapshots.space.restore_birth(key, birth);
        }
        snapshots
    }

    /// The metadata blocks that are to be written since they point to others than before: inodes and directory, pointer
    /// blocks above blocks that are borrowed, and those at the ends of LUNs of another size. What is above them
    /// follows.
    fn stale_after(&self, old: &Self, borrowed: &[(u32, Pointer)]) -> Vec<u32> {
        let mut stale: Vec<u32> = self.keys.inodes().chain(self.keys.directory_leaves()).collect();
        for lun in (0..self.keys.luns()).map(LunId) {
            let Some(before) = old.keys.lun_with_file(self.keys.file_of(lun)) else { continue };
            if old.keys.blocks_of(before).len() != self.keys.blocks_of(lun).len() {
                let levels = self.keys.levels_of(lun).skip(1);
                stale.extend(levels.flat_map(|level| [level.start, level.end - 1]));
            }
        }
        // Blocks of the bitmap that were out of date before.
        let of_bitmap = |key: &u32| key.checked_sub(old.keys.aggregate_bitmap().start);
        let before = old.pending.stale.iter().filter_map(of_bitmap);
        let bitmap = self.keys.aggregate_bitmap();
        stale.extend(before.map(|at| bitmap.start + at).filter(|key| bitmap.contains(key)));
        stale.extend(borrowed.iter().map(|(key, _)| self.keys.indirect_of(*key)));
        stale.sort_unstable();
        stale.dedup();
        stale
    }

    /// Whether a clone has borrowed block `key`.
    fn is_borrowed(&self, key: u32) -> bool {
        let is_of_clone =
            self.keys.of_volumes().contains(&key) && self.is_clone(self.keys.volume_of(key));
        is_of_clone && self.snapshots.as_ref().is_some_and(|all| all.space.birth(key) == 0)
    }
}
