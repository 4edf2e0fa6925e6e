//! Buffers for reuse.

use rustc_hash::FxHashMap;

use crate::device::Buffer;

/// Blocks kept at most: 16 MiB.
const KEPT_BLOCKS: usize = 4096;

/// Unused buffers, by size in blocks.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    by_blocks: FxHashMap<usize, Vec<Buffer>>,
    kept_blocks: usize,
}

impl BufferPool {
    /// Returns a buffer of this many blocks with arbitrary contents.
    pub(super) fn take(&mut self, blocks: usize) -> Buffer {
        match self.by_blocks.get_mut(&blocks).and_then(Vec::pop) {
            Some(buffer) => {
                self.kept_blocks -= blocks;
                buffer
            }
            None => Buffer::zeroed(blocks),
        }
    }

    pub(super) fn recycle(&mut self, buffer: Buffer) {
        let blocks = buffer.blocks();
        if blocks > 0 && self.kept_blocks + blocks <= KEPT_BLOCKS {
            self.kept_blocks += blocks;
            self.by_blocks.entry(blocks).or_default().push(buffer);
        }
    }
}
