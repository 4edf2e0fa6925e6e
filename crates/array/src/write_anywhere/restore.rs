//! Arrays that begin with nothing written, or where another left off.

use std::ops::Range;

use strewn_base::Direction;
use strewn_raid::SpindleIndex;

use crate::driver::{Driver, HostOperation, OperationId};
use crate::payload::Payload;
use crate::units::BLOCK_SECTORS;

use super::metadata::Pointer;
use super::{WriteAnywhere, WriteAnywhereConfig, WriteAnywhereError};

/// Why an array cannot go on from what was read of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The array cannot be made at all.
    #[error(transparent)]
    Array(#[from] WriteAnywhereError),
    /// A pointer leads out of the aggregate, or to a place that another block has.
    #[error("block {key} lies at VBN {vbn}, which {problem}")]
    Misplaced {
        /// The block.
        key: u32,
        /// Where it is said to lie.
        vbn: u64,
        /// What is wrong with that.
        problem: &'static str,
    },
}

impl<P: Payload> WriteAnywhere<P> {
    /// An array none of whose blocks was ever written: they read as zeros and lie nowhere, until a consistency point
    /// gives them a place.
    ///
    /// # Errors
    /// If a size is zero, or the whole file would not fit.
    pub fn empty(config: WriteAnywhereConfig) -> Result<Self, WriteAnywhereError> {
        let mut array = Self::bare(config)?;
        array.place_superblock().map_err(|full| array.does_not_fit(&full))?;
        let aggregate_blocks = array.aggregate.total_blocks();
        if array.config.needed_blocks() > aggregate_blocks {
            let file_blocks = array.config.file_blocks.into();
            return Err(WriteAnywhereError::FileDoesNotFit { file_blocks, aggregate_blocks });
        }
        Ok(array)
    }

    /// An array whose blocks lie where the pointers say that lead to them from its root, by key; all others lie nowhere.
    /// The cache is empty, nothing is held back, and the volume's numbers are given anew, in file order. `held` is what
    /// each snapshot holds, which may be the array's as well.
    ///
    /// # Errors
    /// If the array cannot be made, or two blocks have one place.
    pub fn restored(
        config: WriteAnywhereConfig,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
        pins: &[Vec<(u32, Pointer)>],
    ) -> Result<Self, RestoreError> {
        let mut array = Self::empty(config)?;
        for (key, Pointer { vbn, checksum }) in blocks {
            if key >= array.keys.end() || vbn.0 >= array.aggregate.total_blocks() {
                let problem = "is not of this array";
                return Err(RestoreError::Misplaced { key, vbn: vbn.0, problem });
            }
            array.aggregate.set_aside(vbn).map_err(|_| RestoreError::Misplaced {
                key,
                vbn: vbn.0,
                problem: "another block has too",
            })?;
            array.map.replace(key, vbn);
            array.set_checksum(key, checksum);
            if let Some(stored) = &mut array.stored {
                stored.is_placed(key, vbn);
            }
            if array.keys.volume().contains(&key) {
                let region = array.volume.allocate().map_err(|_| RestoreError::Misplaced {
                    key,
                    vbn: vbn.0,
                    problem: "is one more than the volume has numbers",
                })?;
                array.regions[key as usize] = region;
            }
        }
        for (snapshot, blocks) in (0..).zip(pins) {
            array.pin(snapshot, blocks)?;
        }
        Ok(array)
    }

    /// Has a snapshot hold blocks, which lie where they say.
    fn pin(&mut self, snapshot: u32, blocks: &[(u32, Pointer)]) -> Result<(), RestoreError> {
        let Some(stored) = &mut self.stored else { return Ok(()) };
        for &(key, Pointer { vbn, .. }) in blocks {
            let problem = |problem| Err(RestoreError::Misplaced { key, vbn: vbn.0, problem });
            if key >= self.keys.indirect().end || vbn.0 >= self.aggregate.total_blocks() {
                return problem("is not of a snapshot");
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

    /// What a block of the aggregate's bitmap holds, or that it is not known: if that is not what is in use, the next
    /// consistency point writes it. A restored array is told of those that may have in use what is free by now.
    pub fn bitmap_is(&mut self, key: u32, bytes: Option<&[u8]>) {
        let is_right = bytes == Some(&self.metadata_block(key, &[]));
        if let Some(stored) = &mut self.stored
            && !is_right
        {
            stored.stale.push(key);
        }
    }

    /// Has snapshot `snapshot`, the highest number so far and one more, hold the file as it is on the spindles; its inode.
    /// Nothing may be dirty, and no consistency point in progress.
    ///
    /// # Errors
    /// If there would not be room any more to write all of the file once again: how many blocks are lacking.
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

    /// Has snapshot `snapshot` hold nothing any more, and those above it have the numbers one lower; how many blocks are in use
    /// until the next consistency point that only it held.
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

    /// Where block `key` lies, and its checksum, which is 0 if it is not known; nothing if it lies nowhere.
    #[must_use]
    pub fn pointer(&self, key: u32) -> Option<Pointer> {
        let vbn = self.map.get(key)?;
        Some(Pointer { vbn, checksum: self.checksum_of(key) })
    }

    /// The host gives blocks back: they read as zeros from now on, and the next consistency point gives them no place. It
    /// is logged and acknowledged like a write, takes as much of the log, and covers whole blocks.
    pub fn unmap(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        blocks: Range<u32>,
        driver: &mut impl Driver<P>,
    ) {
        let sectors = (blocks.end - blocks.start) * BLOCK_SECTORS;
        let host = HostOperation {
            id: operation,
            direction: Direction::Write,
            first_sector: u64::from(blocks.start) * u64::from(BLOCK_SECTORS),
            sectors,
            payload: P::from_bytes(vec![0; sectors as usize * crate::units::SECTOR_BYTES]),
        };
        self.admit(now_ns, host, true, driver);
        self.end_recoveries(now_ns, driver);
    }

    /// Whether block `block` of the file has a place, or will have one with the next consistency point.
    #[must_use]
    pub fn is_allocated(&self, block: u32) -> bool {
        let is_unmapped =
            self.stored.as_ref().is_some_and(|stored| stored.unmapped.contains(block.into()));
        !is_unmapped && (self.map.get(block).is_some() || self.dirty.contains(block.into()))
    }

    /// A blank spindle has taken the place of one that is lost: it is rebuilt.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        if let Some(lost) = degraded.lost.iter_mut().find(|lost| lost.spindle == spindle) {
            lost.on_spare = true;
            degraded.failures[lost.failure].rebuild_began_ns = Some(now_ns);
            // Steps under way do not write to it: they begin anew.
            degraded.steps.give_up();
        }
        self.advance_rebuild(driver);
        self.end_recoveries(now_ns, driver);
    }

    /// Begins a consistency point if there is something for it to write and none is in progress: an array that is shut
    /// down leaves nothing to the log.
    pub fn bring_to_spindles(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if self.checkpoint.is_none() {
            self.begin_checkpoint(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        }
    }

    /// Whether all that was acknowledged is on the spindles.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.checkpoint.is_none() && self.dirty.is_empty()
    }
}
