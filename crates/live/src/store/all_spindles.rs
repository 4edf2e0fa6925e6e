//! I/Os for all spindles: flushes and superblocks.

use super::Store;
use super::api::{StoreError, Token};
use super::operation::{IoPurpose, Operation, OperationKind};
use crate::device::{BLOCK_BYTES, IoRequest};
use crate::format::Superblock;

impl Store {
    /// Flushes all spindles that are present.
    pub(super) fn send_flushes(&mut self, token: Token) {
        let spindles = self.spindles_present();
        let failure = spindles.is_empty().then_some(StoreError::SpindleLost);
        let operation =
            Operation { token, kind: OperationKind::Flush, remaining: spindles.len(), failure };
        let operation = self.operations.insert(operation);
        for &spindle in &spindles {
            self.send(spindle, IoPurpose::AllSpindles(operation), IoRequest::Flush);
        }
        if spindles.is_empty() {
            self.finish(operation);
        }
    }

    /// Writes a superblock to all spindles that are present. Everything that it leads to must be durable.
    pub(super) fn send_superblock(&mut self, token: Token, superblock: &Superblock) {
        let spindles = self.spindles_present();
        let kind = OperationKind::Superblock { written: 0 };
        let operation = Operation { token, kind, remaining: spindles.len(), failure: None };
        let operation = self.operations.insert(operation);
        let offset = superblock.slot() * BLOCK_BYTES as u64;
        for &spindle in &spindles {
            let request = IoRequest::Write { offset, from: superblock.encode(), durable: true };
            self.send(spindle, IoPurpose::AllSpindles(operation), request);
        }
        if spindles.is_empty() {
            self.finish(operation);
        }
    }
}
