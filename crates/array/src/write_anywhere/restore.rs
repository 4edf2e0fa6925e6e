//! Empty arrays, arrays restored from their root, and what a live array needs beyond a simulated one.

use strewn_raid::SpindleIndex;

use crate::driver::{Driver, LunId};
use crate::payload::Payload;

use super::metadata::Pointer;
use super::{WriteAnywhere, WriteAnywhereConfig, WriteAnywhereError};

/// Why an array cannot be restored from its metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The configuration is invalid.
    #[error(transparent)]
    Array(#[from] WriteAnywhereError),
    /// A pointer leads outside the aggregate, or to a block that is already in use.
    #[error("block {key} lies at VBN {vbn}, which {problem}")]
    Misplaced {
        /// The block.
        key: u32,
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
    pub fn empty(config: WriteAnywhereConfig) -> Result<Self, WriteAnywhereError> {
        let mut array = Self::bare(config)?;
        array.place_superblock().map_err(|full| array.does_not_fit(&full))?;
        let aggregate_blocks = array.aggregate.total_blocks();
        if array.config.needed_blocks() > aggregate_blocks {
            let lun_blocks = array.config.lun_blocks();
            return Err(WriteAnywhereError::LunsDoNotFit { lun_blocks, aggregate_blocks });
        }
        Ok(array)
    }

    /// Restores an array from the pointers that its root leads to, by key. Blocks without a pointer have no place. The
    /// cache is empty, no frees are delayed, and the volume's numbers are assigned again in file order. `pins` lists
    /// the blocks of each snapshot, which the active file may share.
    ///
    /// # Errors
    /// If the configuration is invalid, or two blocks have the same place.
    pub fn restored(
        config: WriteAnywhereConfig,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        pins: &[Vec<(u32, Pointer)>],
    ) -> Result<Self, RestoreError> {
        let mut array = Self::empty(config)?;
        for (key, Pointer { vbn, checksum }) in blocks {
            if key >= array.keys.end() || vbn.0 >= array.aggregate.total_blocks() {
                let problem = "is outside this array";
                return Err(RestoreError::Misplaced { key, vbn: vbn.0, problem });
            }
            array.aggregate.set_aside(vbn).map_err(|_| RestoreError::Misplaced {
                key,
                vbn: vbn.0,
                problem: "another block has as well",
            })?;
            array.map.replace(key, vbn);
            array.set_checksum(key, checksum);
            if let Some(stored) = &mut array.stored {
                stored.is_placed(key, vbn);
            }
            if array.keys.of_volumes().contains(&key) {
                let number = array.volumes.allocate(array.keys.volume_of(key));
                let (region, _) = number.map_err(|_| RestoreError::Misplaced {
                    key,
                    vbn: vbn.0,
                    problem: "exceeds the numbers of its volume",
                })?;
                array.regions[key as usize] = region;
            }
        }
        for (snapshot, blocks) in (0..).zip(pins) {
            array.pin(snapshot, blocks)?;
        }
        Ok(array)
    }

    /// Pins a snapshot's blocks where their pointers say.
    fn pin(&mut self, snapshot: u32, blocks: &[(u32, Pointer)]) -> Result<(), RestoreError> {
        let Some(stored) = &mut self.stored else { return Ok(()) };
        for &(key, Pointer { vbn, .. }) in blocks {
            let problem = |problem| Err(RestoreError::Misplaced { key, vbn: vbn.0, problem });
            if key >= self.keys.indirect().end || vbn.0 >= self.aggregate.total_blocks() {
                return problem("cannot belong to a snapshot");
            }
            if self.aggregate.set_aside(vbn).is_ok() {
                stored.is_placed(key, vbn);
            } else if stored.key_at(vbn) != Some(key) {
                return problem("another block has too");
            }
        }
        stored.pins.pin(snapshot, blocks.iter().copied());
        Ok(())
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

    /// Takes snapshot `snapshot`, numbered one above the highest so far, of the file as it is on the spindles. Returns
    /// the file's inode. Nothing may be dirty, and no consistency point in progress.
    ///
    /// # Errors
    /// If the file could then no longer be overwritten in full: the number of blocks lacking.
    pub fn take_snapshot(&mut self, snapshot: u32) -> Result<Option<Pointer>, u64> {
        let keys = 0..self.keys.indirect().end;
        let inode = self.pointer(keys.end - 1);
        let blocks: Vec<_> = keys.filter_map(|key| Some((key, self.pointer(key)?))).collect();
        let total_blocks = self.aggregate.total_blocks();
        let Some(stored) = &mut self.stored else { return Ok(None) };
        let mut pins = stored.pins.clone();
        pins.pin(snapshot, blocks);
        let needed = self.config.needed_blocks() + pins.len() + stored.unpinned.len() as u64;
        if needed > total_blocks {
            return Err(needed - total_blocks);
        }
        stored.pins = pins;
        Ok(inode)
    }

    /// Deletes snapshot `snapshot`, renumbers later ones, and returns the number of blocks that only it referenced. The
    /// next consistency point frees them.
    pub fn delete_snapshot(&mut self, snapshot: u32) -> u64 {
        let Some(stored) = &mut self.stored else { return 0 };
        let map = &self.map;
        let unpinned = stored.pins.unpin(snapshot).into_iter();
        let of_nobody = unpinned.filter(|(vbn, key)| map.get(*key) != Some(*vbn));
        let before = stored.unpinned.len();
        stored.unpinned.extend(of_nobody.map(|(vbn, _)| vbn));
        (stored.unpinned.len() - before) as u64
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

    /// Whether block `block` of `lun` has a place, or will have one at the next consistency point.
    #[must_use]
    pub fn is_allocated(&self, lun: LunId, block: u32) -> bool {
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
        if self.checkpoint.is_none() {
            self.begin_checkpoint(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        }
    }

    /// Whether everything acknowledged is on the spindles.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let has_unmapped = self.stored.as_ref().is_some_and(|stored| !stored.unmapped.is_empty());
        self.checkpoint.is_none() && self.dirty.is_empty() && !has_unmapped
    }
}
