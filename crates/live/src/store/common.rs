//! What all spindles do together: flushes and superblocks.

use super::Store;
use super::api::{Failure, Token};
use super::operation::{Kind, Operation, Purpose};
use crate::device::{BLOCK_BYTES, Request};
use crate::format::Superblock;

impl Store {
    /// Flushes all spindles.
    pub(super) fn send_flushes(&mut self, token: Token) {
        let spindles = self.spindles_present();
        let failure = spindles.is_empty().then_some(Failure::Gone);
        let operation = Operation { token, kind: Kind::Flush, left: spindles.len(), failure };
        let operation = self.operations.insert(operation);
        for &spindle in &spindles {
            self.send(spindle, Purpose::Common(operation), Request::Flush);
        }
        if spindles.is_empty() {
            self.finish(operation);
        }
    }

    /// Sends a superblock to all spindles: all that was written before is safe.
    pub(super) fn send_superblock(&mut self, token: Token, superblock: &Superblock) {
        let spindles = self.spindles_present();
        let kind = Kind::Superblock { written: 0 };
        let operation = Operation { token, kind, left: spindles.len(), failure: None };
        let operation = self.operations.insert(operation);
        let offset = superblock.slot() * BLOCK_BYTES as u64;
        for &spindle in &spindles {
            let request = Request::Write { offset, from: superblock.encode(), durable: true };
            self.send(spindle, Purpose::Common(operation), request);
        }
        if spindles.is_empty() {
            self.finish(operation);
        }
    }
}
