//! Unmapped blocks: they read as zeros at once, and lose their places at the next consistency point.
//!
//! They take no room in the cache, so that their records alone bound how many there are between two consistency points.
//! A block that a read in flight brings all the same is not what the block is now.

use std::ops::Range;

use strewn_base::Direction;

use crate::driver::{Driver, HostOperation, OperationId};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::units::BLOCK_SECTORS;

use super::super::context::Context;
use super::Host;

impl<P: Payload> Host<P> {
    /// Unmaps blocks of `lun`: they read as zeros from now on, and the next consistency point frees their places. An
    /// unmap costs what its record does, which has no data.
    pub(crate) fn unmap(
        &mut self,
        operation: OperationId,
        lun: LunId,
        blocks: Range<u32>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let host = HostOperation {
            id: operation,
            lun,
            direction: Direction::Write,
            first_sector: cx.space.first_sector_of(lun)
                + u64::from(blocks.start) * u64::from(BLOCK_SECTORS),
            sectors: (blocks.end - blocks.start) * BLOCK_SECTORS,
            payload: P::default(),
        };
        self.admit(host, true, cx);
    }
}
