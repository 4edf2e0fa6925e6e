//! Arrays that begin with nothing written, or where another left off.

use std::ops::Range;

use strewn_raid::SpindleIndex;

use crate::driver::{Direction, Driver, HostOperation, OperationId};
use crate::payload::Payload;

use super::metadata::Pointer;
use super::{BLOCK_SECTORS, WriteAnywhere, WriteAnywhereConfig, WriteAnywhereError};

/// Why an array cannot go on from what was read of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The array cannot be made at all.
    #[error(transparent)]
    Array(#[from] WriteAnywhereError),
    /// A pointer leads out of the aggregate, or to a place that another block has.
    #[error("block {key} lies at VBN {vbn}, which {problem}")]
    Place {
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
    /// The cache is empty, nothing is held back, and the volume's numbers are given anew, in file order.
    ///
    /// # Errors
    /// If the array cannot be made, or two blocks have one place.
    pub fn restored(
        config: WriteAnywhereConfig,
        blocks: impl IntoIterator<Item = (u32, Pointer)>,
    ) -> Result<Self, RestoreError> {
        let mut array = Self::empty(config)?;
        for (key, Pointer { vbn, checksum }) in blocks {
            if key >= array.keys.end() || vbn.0 >= array.aggregate.total_blocks() {
                let problem = "is not of this array";
                return Err(RestoreError::Place { key, vbn: vbn.0, problem });
            }
            array.aggregate.set_aside(vbn).map_err(|_| RestoreError::Place {
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
                let region = array.volume.allocate().map_err(|_| RestoreError::Place {
                    key,
                    vbn: vbn.0,
                    problem: "is one more than the volume has numbers",
                })?;
                array.regions[key as usize] = region;
            }
        }
        Ok(array)
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
    pub fn give_back(
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
            payload: P::from_bytes(vec![0; sectors as usize * strewn_raid::SECTOR_BYTES as usize]),
        };
        self.take_in(now_ns, host, true, driver);
        self.end_recoveries(now_ns, driver);
    }

    /// Whether block `block` of the file has a place, or will have one with the next consistency point.
    #[must_use]
    pub fn is_allocated(&self, block: u32) -> bool {
        let given_back =
            self.stored.as_ref().is_some_and(|stored| stored.given_back.contains(block.into()));
        !given_back && (self.map.get(block).is_some() || self.dirty.contains(block.into()))
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
