//! Empty arrays, arrays restored from their root, and what a live array needs beyond a simulated one.

use strewn_raid::SpindleIndex;

use crate::driver::{Driver, LunId};
use crate::payload::Payload;

use super::history::History;
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

    /// Restores an array from the pointers that its root leads to, by key, and from the history of its snapshots, if it
    /// has any. Blocks without a pointer have no place. The cache is empty, no frees are delayed, and the volume's numbers
    /// are assigned again in file order.
    ///
    /// # Errors
    /// If the configuration is invalid, or two blocks have the same place.
    pub fn restored(
        config: WriteAnywhereConfig,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        history: Option<&History>,
    ) -> Result<Self, RestoreError> {
        let mut array = Self::empty(config)?;
        for (key, pointer) in blocks {
            array.set_aside(key, pointer, array.keys.end(), "another block has as well")?;
            array.map.replace(key, pointer.vbn);
            array.set_checksum(key, pointer.checksum);
            if array.keys.of_volumes().contains(&key) {
                let number = array.volumes.allocate(array.keys.volume_of(key));
                let (region, _) = number.map_err(|_| RestoreError::Misplaced {
                    key,
                    vbn: pointer.vbn.0,
                    problem: "exceeds the numbers of its volume",
                })?;
                array.regions[key as usize] = region;
            }
        }
        if let Some(history) = history {
            array.restore_snapshots(history)?;
        }
        Ok(array)
    }

    /// Marks the place of block `key`, below `end`, as in use.
    pub(super) fn set_aside(
        &mut self,
        key: u32,
        Pointer { vbn, .. }: Pointer,
        end: u32,
        otherwise: &'static str,
    ) -> Result<(), RestoreError> {
        let misplaced = |problem| RestoreError::Misplaced { key, vbn: vbn.0, problem };
        if key >= end || vbn.0 >= self.aggregate.total_blocks() {
            return Err(misplaced("is outside this array"));
        }
        self.aggregate.set_aside(vbn).map_err(|_| misplaced(otherwise))?;
        if let Some(stored) = &mut self.stored {
            stored.is_placed(key, vbn);
        }
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
