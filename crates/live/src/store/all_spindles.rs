//! I/Os for all spindles: flushes, superblocks and initialization maps.

use strewn_raid::SpindleIndex;

use super::Store;
use super::api::{SpindleWriteError, Token};
use super::operation::{IoPurpose, Operation, OperationKind};
use crate::device::{BLOCK_BYTES, Buffer, IoRequest};
use crate::format::Superblock;

impl Store {
    /// Flushes all spindles that are present.
    pub(super) fn send_flushes(&mut self, token: Token) {
        let spindles = self.spindles_present();
        let failure = spindles.is_empty().then_some(SpindleWriteError::SpindleLost);
        self.send_to_all(&spindles, token, OperationKind::Flush, failure, || IoRequest::Flush);
    }

    /// Writes a superblock to all spindles that are present. Everything that it leads to must be durable.
    pub(super) fn send_superblock(&mut self, token: Token, superblock: &Superblock) {
        let kind = OperationKind::Superblock { written: 0 };
        let write = || durable_write(superblock.slot(), superblock.encode());
        let spindles = self.spindles_present();
        self.send_to_all(&spindles, token, kind, None, write);
    }

    /// Sends the same request to all of `spindles`, as one operation.
    pub(super) fn send_to_all(
        &mut self,
        spindles: &[SpindleIndex],
        token: Token,
        kind: OperationKind,
        failure: Option<SpindleWriteError>,
        request: impl Fn() -> IoRequest,
    ) {
        let operation = Operation { token, kind, remaining: spindles.len(), failure };
        let operation = self.operations.insert(operation);
        for &spindle in spindles {
            self.send(spindle, IoPurpose::AllSpindles(operation), request());
        }
        if spindles.is_empty() {
            self.finish(operation);
        }
    }
}

/// Returns the durable write of a device block.
pub(super) fn durable_write(block: u64, from: Buffer) -> IoRequest {
    IoRequest::Write { offset: block * BLOCK_BYTES as u64, from, durable: true }
}
