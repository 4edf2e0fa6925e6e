//! Empty arrays, arrays restored from their root, and what a live array needs beyond a simulated one.

use strewn_alloc::SetAsideError;
use strewn_raid::{SpindleIndex, Vbn};
use strewn_volume::VolumeId;

use crate::driver::Driver;
use crate::error::ArrayConfigError;
use crate::lun_id::LunId;
use crate::payload::Payload;

use super::block_keys::{BlockAddress, BlockKeys};
use super::history::History;
use super::metadata::Pointer;
use super::stored::{CatalogBlocks, Stored, WithoutKey};
use super::{WriteAnywhere, WriteAnywhereConfig};

/// Why an array cannot be restored from its metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The configuration is invalid.
    #[error(transparent)]
    Array(#[from] ArrayConfigError),
    /// A block is no pointer block: it does not begin with the magic number of one, or its count of pointers is
    /// impossible.
    #[error("metadata block {0} is not a pointer block")]
    NotPointers(BlockAddress),
    /// A pointer block is a different one.
    #[error("metadata block {expected} identifies itself as block {found}")]
    OtherBlock {
        /// The block that belongs there.
        expected: BlockAddress,
        /// The address in its header.
        found: BlockAddress,
    },
    /// A pointer leads outside the aggregate, or to a block that is already in use.
    #[error("block {key} lies at VBN {vbn}, which {problem}")]
    Misplaced {
        /// Key of the block that the pointer is of.
        key: u32,
        /// The VBN in its pointer.
        vbn: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The same of a block that snapshots hold.
    #[error("a block of snapshots, {address}, lies at VBN {vbn}, which {problem}")]
    HeldMisplaced {
        /// Address that the block had in the active image.
        address: BlockAddress,
        /// The VBN in its pointer.
        vbn: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl<P: Payload> WriteAnywhere<P> {
    /// An array whose blocks have never been written. They read as zeros, and have no place until a consistency point
    /// allocates one.
    ///
    /// # Errors
    /// If a size is zero, or the whole file would not fit.
    pub fn empty(config: WriteAnywhereConfig) -> Result<Self, ArrayConfigError> {
        let mut array = Self::bare(config)?;
        array.place_superblock().map_err(|full| array.does_not_fit(&full))?;
        let aggregate_blocks = array.aggregate.total_blocks();
        if array.config.needed_blocks() > aggregate_blocks {
            let lun_blocks = array.config.lun_blocks();
            return Err(ArrayConfigError::LunsDoNotFit { lun_blocks, aggregate_blocks });
        }
        array.begin_to_count();
        Ok(array)
    }

    /// Restores an array from the pointers that its root leads to, by key; from its catalog, empty without one; and
    /// from the histories of the volumes, if they have snapshots. Blocks without a pointer have no place. The cache is
    /// empty, no frees are delayed, and the volumes' numbers are assigned again in file order.
    ///
    /// # Errors
    /// If the configuration is invalid, or two blocks have the same place.
    pub fn restored(
        config: WriteAnywhereConfig,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        catalog: CatalogBlocks,
        histories: &[Option<History>],
    ) -> Result<Self, RestoreError> {
        let mut array = Self::empty(config)?;
        array.restore_catalog(catalog);
        array.restore_snapshots(histories);
        let (mut own, mut of_clones) = (Vec::new(), Vec::new());
        for block in blocks {
            let is_of_volume = array.keys.of_volumes().contains(&block.0);
            let volume = is_of_volume.then(|| array.keys.volume_of(block.0));
            match volume {
                Some(volume) if array.is_clone(volume) => {
                    of_clones.push((volume, block));
                }
                _ => own.push(block),
            }
        }
        // What a clone has borrowed is known as such once all blocks of its origin are there. A clone follows its
        // origin.
        for (key, pointer) in own {
            array.restore_block(key, pointer, false)?;
        }
        let volumes = (0..).map(VolumeId).zip(histories);
        let (clones, others): (Vec<_>, Vec<_>) =
            volumes.partition(|(volume, _)| array.is_clone(*volume));
        for (volume, history) in others {
            if let Some(history) = history {
                array.restore_history(volume, history)?;
            }
        }
        for (volume, history) in clones {
            let blocks = of_clones.iter().filter(|(of, _)| *of == volume);
            for &(_, (key, pointer)) in blocks {
                let address = array.keys.address_of(key);
                let is_borrowed =
                    address.is_some_and(|address| array.borrows(volume, address, pointer));
                array.restore_block(key, pointer, is_borrowed)?;
                if !is_borrowed && let Some(snapshots) = &mut array.snapshots {
                    snapshots.space.restore_birth(key, 1);
                }
            }
            if let Some(history) = history {
                array.restore_history(volume, history)?;
            }
        }
        array.count_again();
        Ok(array)
    }

    /// Restores an array that has been given parity groups since its root was written. `blocks` go by the keys that the
    /// array had then, `before`. The next consistency point writes what leads to the bitmap of the new groups, and
    /// that.
    ///
    /// # Errors
    /// As [`restored`](Self::restored).
    pub fn restored_with_added_groups(
        config: WriteAnywhereConfig,
        before: &BlockKeys,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        catalog: CatalogBlocks,
        histories: &[Option<History>],
    ) -> Result<Self, RestoreError> {
        // More groups make the bitmap longer; what comes behind it in the numbering has other keys then.
        let keys = config.block_keys();
        let (mut kept, mut directory) = (Vec::new(), Vec::new());
        for (key, pointer) in blocks {
            if let Some(block) = key.checked_sub(before.catalog().start) {
                kept.push((keys.catalog().start + block, pointer));
            } else if key < before.aggregate_bitmap().end {
                kept.push((key, pointer));
            } else {
                directory.push((key, pointer));
            }
        }
        let mut array = Self::restored(config, kept, catalog, histories)?;
        for (key, Pointer { vbn, checksum }) in directory {
            array.set_aside(vbn, None).map_err(|_| RestoreError::Misplaced {
                key,
                vbn: vbn.0,
                problem: "another block has as well",
            })?;
            let holds = before.holds(key);
            if let Some(stored) = &mut array.stored {
                stored.abandoned.push(vbn);
                stored.without_key.insert(vbn.0 as u32, WithoutKey { holds, checksum });
            }
        }
        let added = before.aggregate_bitmap().end..keys.aggregate_bitmap().end;
        if let Some(stored) = &mut array.stored {
            stored.stale.extend(keys.directory_leaves().chain(added));
            stored.has_changed = true;
        }
        Ok(array)
    }

    /// Whether the operations to come are those of a log: they have been admitted before, so that what is reserved for
    /// others is not held against them.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.is_replaying = replaying;
    }

    /// Gives block `key` its place, and a number if it is of a volume.
    pub(super) fn restore_block(
        &mut self,
        key: u32,
        pointer: Pointer,
        is_borrowed: bool,
    ) -> Result<(), RestoreError> {
        let misplaced = |problem| RestoreError::Misplaced { key, vbn: pointer.vbn.0, problem };
        if key >= self.keys.end() || pointer.vbn.0 >= self.aggregate.total_blocks() {
            return Err(misplaced("is outside this array"));
        }
        if !is_borrowed {
            self.set_aside(pointer.vbn, Some(key))
                .map_err(|_| misplaced("another block has as well"))?;
        }
        self.map.replace(key, pointer.vbn);
        self.set_checksum(key, pointer.checksum);
        if self.keys.of_volumes().contains(&key) {
            let number = self.volumes.allocate(self.keys.volume_of(key));
            let (region, _) = number.map_err(|_| misplaced("exceeds the numbers of its volume"))?;
            self.regions[key as usize] = region;
        }
        Ok(())
    }

    /// Marks the place of a block that snapshots hold as in use.
    pub(super) fn set_aside_held(
        &mut self,
        address: BlockAddress,
        Pointer { vbn, .. }: Pointer,
    ) -> Result<(), RestoreError> {
        let misplaced = |problem| RestoreError::HeldMisplaced { address, vbn: vbn.0, problem };
        if vbn.0 >= self.aggregate.total_blocks() {
            return Err(misplaced("is outside this array"));
        }
        let key = (0..self.config.volumes.len() as u32)
            .find_map(|volume| self.keys.key_of(VolumeId(volume), address));
        self.set_aside(vbn, key).map_err(|_| misplaced("another block has too"))?;
        if let (Some(stored), None) = (&mut self.stored, key) {
            let holds = address.holds();
            stored.without_key.insert(vbn.0 as u32, WithoutKey { holds, checksum: 0 });
        }
        Ok(())
    }

    fn set_aside(&mut self, vbn: Vbn, key: Option<u32>) -> Result<(), SetAsideError> {
        self.aggregate.set_aside(vbn)?;
        if let Some((stored, key)) = self.stored.as_mut().zip(key) {
            stored.record_placement(key, vbn);
        }
        Ok(())
    }

    /// Whether `volume` was made from a snapshot of another.
    #[inline]
    pub(super) fn is_clone(&self, volume: VolumeId) -> bool {
        self.config.volumes[volume.0 as usize].is_clone
    }

    /// Whether a block of a clone is one of the volume that it was cloned from: then it is in use already.
    pub(super) fn borrows(
        &self,
        volume: VolumeId,
        address: BlockAddress,
        Pointer { vbn, .. }: Pointer,
    ) -> bool {
        self.is_clone(volume)
            && address.level == 0
            && vbn.0 < self.aggregate.total_blocks()
            && !self.aggregate.is_free(vbn)
    }

    /// Compares a stored block of the aggregate's bitmap with what is in use; `None` if it could not be read. If they
    /// differ, the next consistency point rewrites it. After a restore, the stored bitmap may mark free blocks as in
    /// use.
    pub fn bitmap_is(&mut self, key: u32, bytes: Option<&[u8]>) {
        let is_right = bytes == Some(&self.metadata_block(key, &[]));
        if let Some(stored) = &mut self.stored
            && !is_right
        {
            stored.stale.push(key);
        }
    }

    /// The array's configuration.
    #[must_use]
    pub fn config(&self) -> &WriteAnywhereConfig {
        &self.config
    }

    /// Blocks of `lun` that have a place.
    #[must_use]
    pub fn allocated_blocks(&self, lun: LunId) -> u64 {
        self.keys.blocks_of(lun).filter(|key| self.map.get(*key).is_some()).count() as u64
    }

    /// One more than the last block of `lun` that has a place; 0 if none has.
    #[must_use]
    pub fn allocated_end(&self, lun: LunId) -> u32 {
        let keys = self.keys.blocks_of(lun);
        let last = keys.clone().rev().find(|key| self.map.get(*key).is_some());
        last.map_or(0, |last| last - keys.start + 1)
    }

    /// The numbering of the array's blocks.
    #[must_use]
    pub fn keys(&self) -> &super::BlockKeys {
        &self.keys
    }

    /// Where block `key` lies, and its checksum, 0 if unknown; `None` if it has no place.
    #[must_use]
    pub fn pointer(&self, key: u32) -> Option<Pointer> {
        let vbn = self.map.get(key)?;
        Some(Pointer { vbn, checksum: self.checksum_of(key) })
    }

    /// Whether block `block` of `lun`, or of a view, has a place, or will have one at the next consistency point.
    #[must_use]
    pub fn is_allocated(&self, lun: LunId, block: u32) -> bool {
        if let Some(view) = self.view(lun) {
            return self.block_in_view(view, block).is_some();
        }
        let key = self.keys.blocks_of(lun).start + block;
        !self.is_unmapped(key) && (self.map.get(key).is_some() || self.dirty.contains(key.into()))
    }

    /// A blank device has replaced a failed spindle: rebuilds onto it.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<P>) {
        let (group, spindle) = self.first_spindles.in_group(spindle);
        let Some(degraded) = &mut self.degraded else { return };
        let of_group = &mut degraded.groups[group.index()];
        if let Some(lost) = of_group.lost.iter_mut().find(|lost| lost.spindle == spindle) {
            lost.on_spare = true;
            degraded.failures[lost.failure].rebuild_began_ns = Some(now_ns);
            // Steps in flight do not write to it: they start over.
            of_group.steps.give_up();
        }
        self.advance_rebuild(group, driver);
        self.end_recoveries(now_ns, driver);
    }

    /// Begins a consistency point, unless one is in progress or nothing is dirty. A shutdown calls it so that nothing
    /// is left to replay from the log.
    pub fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if self.consistency_point.is_none() {
            self.begin_consistency_point(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        }
    }

    /// Whether everything acknowledged is on the spindles.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let has_more = |stored: &Stored| !stored.unmapped.is_empty() || stored.has_changed;
        let has_more = self.stored.as_ref().is_some_and(has_more);
        let is_relocating = self.relocation.as_ref().is_some_and(|one| !one.is_idle());
        self.consistency_point.is_none() && self.dirty.is_empty() && !has_more && !is_relocating
    }
}
