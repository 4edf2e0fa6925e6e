//! Memory that a device can read from and write to directly.

use std::fmt;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Bytes of a block: what devices are asked for is a multiple of it.
pub const BLOCK_BYTES: usize = 4096;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES]);

/// Whole blocks of memory, aligned as direct I/O wants them.
#[derive(Clone, Default)]
pub struct Buffer {
    blocks: Vec<Block>,
}

impl Buffer {
    /// `blocks` blocks of zeros.
    #[must_use]
    pub fn zeroed(blocks: usize) -> Self {
        // An allocation of zeros costs nothing until it is used.
        let blocks = Block::new_vec_zeroed(blocks)
            .unwrap_or_else(|_| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Block>()));
        Self { blocks }
    }

    /// Its bytes, to be changed, when it has as many blocks as `bytes` take: those that it lacked are zeros.
    pub fn with_bytes(&mut self, bytes: usize) -> &mut [u8] {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        if self.blocks.len() < blocks {
            self.blocks.resize(blocks, Block([0; BLOCK_BYTES]));
        }
        self.bytes_mut()
    }

    /// Takes all blocks from it; their memory is used for what it takes next.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// How many blocks it holds.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.blocks.as_bytes()
    }

    /// All bytes, to be changed.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.blocks.as_mut_bytes()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Buffer of {} blocks", self.blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_zero_and_changes() {
        let mut buffer = Buffer::zeroed(3);
        assert_eq!(buffer.bytes().len(), 3 * BLOCK_BYTES);
        assert_eq!(buffer.bytes().as_ptr() as usize % BLOCK_BYTES, 0);
        assert!(buffer.bytes().iter().all(|byte| *byte == 0));
        buffer.bytes_mut()[BLOCK_BYTES] = 7;
        assert_eq!(buffer.bytes()[BLOCK_BYTES], 7);
    }
}
