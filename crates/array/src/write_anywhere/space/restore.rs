//! Empty arrays, arrays restored from their root, and what a live array needs beyond a simulated one.

use strewn_alloc::SetAsideError;
use strewn_raid::Vbn;
use strewn_volume::VolumeId;

use crate::error::ArrayConfigError;

use super::address::BlockAddress;
use super::checksums::WithoutKey;
use super::history::History;
use super::keys::BlockKeys;
use super::metadata::Pointer;
use super::pending::CatalogBlocks;
use super::restore_error::RestoreError;
use super::{Space, WriteAnywhereConfig};

impl Space {
    /// An array whose blocks have never been written. They read as zeros, and have no place until a consistency point
    /// allocates one.
    ///
    /// # Errors
    /// If a size is zero, or the whole file would not fit.
    pub(crate) fn empty(
        config: WriteAnywhereConfig,
        bytes: bool,
    ) -> Result<Self, ArrayConfigError> {
        let mut space = Self::bare(config, bytes)?;
        space.place_superblock().map_err(|full| space.does_not_fit(&full))?;
        let aggregate_blocks = space.aggregate.total_blocks();
        if space.config.needed_blocks() > aggregate_blocks {
            let lun_blocks = space.config.lun_blocks();
            return Err(ArrayConfigError::LunsDoNotFit { lun_blocks, aggregate_blocks });
        }
        space.begin_to_count();
        Ok(space)
    }

    /// Restores an array from the pointers that its root leads to, by key; from its catalog, empty without one; and
    /// from the histories of the volumes, if they have snapshots. Blocks without a pointer have no place. The cache is
    /// empty, no frees are delayed, and the volumes' numbers are assigned again in file order.
    ///
    /// # Errors
    /// If the configuration is invalid, or two blocks have the same place.
    pub(crate) fn restored(
        config: WriteAnywhereConfig,
        bytes: bool,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        catalog: CatalogBlocks,
        histories: &[Option<History>],
    ) -> Result<Self, RestoreError> {
        let mut space = Self::empty(config, bytes)?;
        space.pending.catalog = catalog;
        space.restore_snapshots(histories);
        let (mut own, mut of_clones) = (Vec::new(), Vec::new());
        for block in blocks {
            let is_of_volume = space.keys.of_volumes().contains(&block.0);
            let volume = is_of_volume.then(|| space.keys.volume_of(block.0));
            match volume {
                Some(volume) if space.is_clone(volume) => {
                    of_clones.push((volume, block));
                }
                _ => own.push(block),
            }
        }
        // What a clone has borrowed is known as such once all blocks of its origin are there. A clone follows its
        // origin.
        for (key, pointer) in own {
            space.restore_block(key, pointer, false)?;
        }
        let volumes = (0..).map(VolumeId).zip(histories);
        let (clones, others): (Vec<_>, Vec<_>) =
            volumes.partition(|(volume, _)| space.is_clone(*volume));
        for (volume, history) in others {
            if let Some(history) = history {
                space.restore_history(volume, history)?;
            }
        }
        for (volume, history) in clones {
            let blocks = of_clones.iter().filter(|(of, _)| *of == volume);
            for &(_, (key, pointer)) in blocks {
                let address = space.keys.address_of(key);
                let is_borrowed =
                    address.is_some_and(|address| space.borrows(volume, address, pointer));
                space.restore_block(key, pointer, is_borrowed)?;
                if !is_borrowed && let Some(snapshots) = &mut space.snapshots {
                    snapshots.space.restore_birth(key, 1);
                }
            }
            if let Some(history) = history {
                space.restore_history(volume, history)?;
            }
        }
        space.count_again();
        Ok(space)
    }

    /// Restores an array that has been given parity groups since its root was written. `blocks` go by the keys that the
    /// array had then, `before`. The next consistency point writes what leads to the bitmap of the new groups, and
    /// that.
    ///
    /// # Errors
    /// As [`restored`](Self::restored).
    pub(crate) fn restored_with_added_groups(
        config: WriteAnywhereConfig,
        bytes: bool,
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
        let mut space = Self::restored(config, bytes, kept, catalog, histories)?;
        for (key, Pointer { vbn, checksum }) in directory {
            space.set_aside(vbn, None).map_err(|_| RestoreError::Misplaced {
                key,
                vbn: vbn.0,
                problem: "another block has as well",
            })?;
            let holds = before.holds(key);
            space.pending.abandoned.push(vbn);
            if let Some(checksums) = &mut space.checksums {
                checksums.record_without_key(vbn, WithoutKey { holds, checksum });
            }
        }
        let added = before.aggregate_bitmap().end..keys.aggregate_bitmap().end;
        space.pending.stale.extend(keys.directory_leaves().chain(added));
        space.pending.has_changed = true;
        Ok(space)
    }

    /// Gives block `key` its place, and a number if it is of a volume.
    pub(crate) fn restore_block(
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
    pub(crate) fn set_aside_held(
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
        if let (Some(checksums), None) = (&mut self.checksums, key) {
            checksums.record_without_key(vbn, WithoutKey { holds: address.holds(), checksum: 0 });
        }
        Ok(())
    }

    fn set_aside(&mut self, vbn: Vbn, key: Option<u32>) -> Result<(), SetAsideError> {
        self.aggregate.set_aside(vbn)?;
        if let Some((checksums, key)) = self.checksums.as_mut().zip(key) {
            checksums.record_placement(key, vbn);
        }
        Ok(())
    }

    /// Whether `volume` was made from a snapshot of another.
    #[inline]
    pub(crate) fn is_clone(&self, volume: VolumeId) -> bool {
        self.config.volumes[volume.0 as usize].is_clone
    }

    /// Whether a block of a clone is one of the volume that it was cloned from: then it is in use already.
    pub(crate) fn borrows(
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
    pub(crate) fn compare_bitmap(&mut self, key: u32, bytes: Option<&[u8]>) {
        if bytes != Some(&self.metadata_block(key, &[])) {
            self.pending.stale.push(key);
        }
    }
}
