//! Memory that a device can access directly.

use std::fmt;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Bytes of a block: every I/O is a multiple of it.
pub const BLOCK_BYTES: usize = strewn_base::BLOCK_BYTES as usize;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES]);

/// Whole blocks of memory, aligned for direct I/O.
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

    /// Writes `bytes` at offset `at`, at most the buffer's end. The buffer grows by as many blocks as needed, padded
    /// with zeros.
    ///
    /// # Panics
    /// If `at` is behind its end.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        let room = self.blocks.len() * BLOCK_BYTES - at;
        let (inside, behind) = bytes.split_at(bytes.len().min(room));
        self.bytes_mut()[at..at + inside.len()].copy_from_slice(inside);
        // Not filled with zeros first.
        let (whole, rest) = behind.as_chunks();
        self.blocks.extend(whole.iter().map(|block| Block(*block)));
        if !rest.is_empty() {
            let mut last = Block([0; BLOCK_BYTES]);
            last.0[..rest.len()].copy_from_slice(rest);
            self.blocks.push(last);
        }
    }

    /// Removes all blocks. Their memory is reused.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// The number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.blocks.as_bytes()
    }

    /// All bytes, mutably.
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
    fn what_is_put_behind_the_end_is_followed_by_zeros() {
        let bytes: Vec<u8> = (0..3 * BLOCK_BYTES).map(|at| 1 + (at % 250) as u8).collect();
        for (at, length) in [(0, 64), (0, 4096), (0, 9_000), (64, 4_032), (64, 9_000), (4_096, 5)] {
            let mut buffer = Buffer::default();
            buffer.put(0, &vec![7; at]);
            buffer.put(at, &bytes[..length]);
            let mut expected = vec![7; at];
            expected.extend_from_slice(&bytes[..length]);
            expected.resize(expected.len().next_multiple_of(BLOCK_BYTES), 0);
            assert_eq!(buffer.bytes(), expected, "{length} bytes at {at}");
        }
    }

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
