//! Buffers that are used again.

use rustc_hash::FxHashMap;

use crate::device::Buffer;

/// Blocks that are kept: 16 MiB.
const KEPT_BLOCKS: usize = 4096;

/// Buffers that came back, by their sizes.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    by_blocks: FxHashMap<usize, Vec<Buffer>>,
    kept_blocks: usize,
}

impl BufferPool {
    /// A buffer of so many blocks, with anything in it.
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
