//! Unmapped blocks: they read as zeros at once, and lose their places at the next consistency point.
//!
//! They take no room in the cache, so that their records alone bound how many there are between two consistency points.
//! A block that a read in flight brings all the same is not what the block is now.

use std::ops::{Range, RangeInclusive};

use strewn_base::Direction;

use crate::driver::{Driver, HostOperation, OperationId};
use crate::lun_id::LunId;
use crate::payload::{Contents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::WriteAnywhere;

impl<P: Payload> WriteAnywhere<P> {
    /// Unmaps blocks of `lun`: they read as zeros from now on, and the next consistency point frees their places. An
    /// unmap costs what its record does, which has no data.
    ///
    /// # Panics
    /// If the format is not the durable one.
    pub fn unmap(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        lun: LunId,
        blocks: Range<u32>,
        driver: &mut impl Driver<P>,
    ) {
        assert!(self.config.format.is_durable(), "only the durable format unmaps blocks");
        let host = HostOperation {
            id: operation,
            lun,
            direction: Direction::Write,
            first_sector: self.first_sector_of(lun)
                + u64::from(blocks.start) * u64::from(BLOCK_SECTORS),
            sectors: (blocks.end - blocks.start) * BLOCK_SECTORS,
            payload: P::default(),
        };
        self.admit(now_ns, host, true, driver);
        self.end_recoveries(now_ns, driver);
    }

    /// Unmaps blocks that the log has taken.
    pub(super) fn unmap_blocks(&mut self, blocks: RangeInclusive<u32>) {
        for block in blocks {
            let Some(stored) = &mut self.stored else { return };
            stored.unmapped.insert(block.into());
            self.dirty.remove(block.into());
            if let Some(relocation) = &mut self.relocation {
                relocation.on_written(block);
            }
            if !self.cache.contains(block) {
                continue;
            }
            if P::CARRIES_DATA && self.cache.is_flushing(block) {
                self.freeze_for_consistency_point(block);
            }
            let sector = u64::from(block) * u64::from(BLOCK_SECTORS);
            if self.cache.discard(block) {
                self.contents.forget(sector, BLOCK_SECTORS);
            } else {
                // A consistency point is writing it, or a write is about to.
                let zeros = P::from_bytes(vec![0; BLOCK_BYTES]);
                self.contents.store(sector, BLOCK_SECTORS, &zeros);
            }
        }
    }

    /// Whether a block of the file has been unmapped since the last consistency point began, and not written since.
    #[inline(always)]
    pub(super) fn is_unmapped(&self, block: u32) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.unmapped.contains(block.into()))
    }

    /// Whether some of these blocks have been unmapped since a read of them was sent.
    pub(super) fn are_unmapped(&self, first_key: u32, blocks: u32) -> bool {
        first_key < self.keys.data().end
            && (first_key..first_key + blocks)
                .any(|key| self.map.get(key).is_none() || self.is_unmapped(key))
    }

    /// Inserts blocks that were just read into the cache, some of which were unmapped meanwhile. Those are dropped, or
    /// with `hold` contain zeros.
    #[cold]
    pub(super) fn fill_unmapped(&mut self, first_key: u32, blocks: u32, payload: &P, hold: bool) {
        for block in 0..blocks {
            let key = first_key + block;
            if !self.are_unmapped(key, 1) {
                let one = payload.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
                self.fill_mapped(key, 1, &one, hold);
            } else if hold {
                self.fill_mapped(key, 1, &P::from_bytes(vec![0; BLOCK_BYTES]), true);
            }
        }
    }
}
