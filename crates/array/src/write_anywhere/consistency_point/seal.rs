//! What a consistency point writes, fixed once its blocks are placed: its checksums and its metadata.

use crate::driver::Driver;
use crate::payload::Payload;

use super::super::context::Context;
use super::super::space::metadata;
use super::ConsistencyPoint;

impl<P: Payload> ConsistencyPoint<P> {
    /// Fixes what a consistency point with placed blocks will write: the checksums of its data, then its metadata from
    /// the bottom up, since each block contains the checksums of the blocks that it points to.
    pub(super) fn seal(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if !P::CARRIES_DATA {
            return;
        }
        for &key in &self.data {
            let sum = metadata::checksum(cx.memory.load(key).bytes());
            cx.space.set_checksum(key, sum);
        }
        for &key in &self.unmapped {
            cx.space.set_checksum(key, 0);
        }
        self.freed.sort_unstable();
        let mut keys = self.metadata.clone();
        keys.sort_unstable();
        for key in keys {
            let bytes = cx.space.metadata_block(key, &self.freed);
            cx.space.set_checksum(key, metadata::checksum(&bytes));
            cx.memory.frozen.insert(key, P::from_bytes(bytes));
        }
    }
}
