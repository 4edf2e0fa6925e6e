//! Memory that a device can access directly.

use std::fmt;

/// Bytes of a block: every I/O is a multiple of it.
pub const BLOCK_BYTES: usize = strewn_base::BLOCK_BYTES as usize;

/// Whole blocks of memory, aligned for direct I/O.
#[derive(Default)]
pub struct Buffer {
    /// The blocks, after the bytes that align them: a vector of bytes may begin anywhere.
    memory: Vec<u8>,
    first: usize,
}

impl Buffer {
    /// Returns a buffer of `blocks` blocks of zeros.
    #[must_use]
    pub fn zeroed(blocks: usize) -> Self {
        if blocks == 0 {
            return Self::default();
        }
        // Zeroed memory costs nothing until it is used.
        let mut memory = vec![0; (blocks + 1) * BLOCK_BYTES];
        let first = memory.as_ptr().align_offset(BLOCK_BYTES);
        memory.truncate(first + blocks * BLOCK_BYTES);
        Self { memory, first }
    }

    /// Returns an empty buffer with room for `blocks` blocks, already aligned.
    fn with_room(blocks: usize) -> Self {
        let mut memory: Vec<u8> = Vec::with_capacity((blocks + 1) * BLOCK_BYTES);
        let first = memory.as_ptr().align_offset(BLOCK_BYTES);
        memory.resize(first, 0);
        Self { memory, first }
    }

    /// Makes room for `bytes` more without filling it. A vector that grew by itself might move its bytes to an
    /// address of a different alignment.
    fn reserve(&mut self, bytes: usize) {
        if self.memory.capacity() - self.memory.len() < bytes {
            let blocks = (self.bytes().len() + bytes).div_ceil(BLOCK_BYTES);
            let mut larger = Self::with_room(blocks.max(2 * self.blocks()));
            larger.memory.extend_from_slice(self.bytes());
            *self = larger;
        }
    }

    /// Writes `bytes` at offset `at`, at most the buffer's end. The buffer grows by as many blocks as needed, padded
    /// with zeros.
    ///
    /// # Panics
    /// If `at` is beyond the buffer's end.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        let room = self.bytes().len() - at;
        let (inside, behind) = bytes.split_at(bytes.len().min(room));
        self.bytes_mut()[at..at + inside.len()].copy_from_slice(inside);
        if !behind.is_empty() {
            let grown = behind.len().next_multiple_of(BLOCK_BYTES);
            self.reserve(grown);
            self.memory.extend_from_slice(behind);
            self.memory.resize(self.memory.len() + grown - behind.len(), 0);
        }
    }

    /// Removes all blocks, and keeps their memory for reuse.
    pub fn clear(&mut self) {
        self.memory.truncate(self.first);
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.bytes().len() / BLOCK_BYTES
    }

    /// Returns all bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.first..]
    }

    /// Returns all bytes, mutably.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..]
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::with_room(self.blocks());
        copy.memory.extend_from_slice(self.bytes());
        copy
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

    #[test]
    fn a_buffer_stays_aligned_as_it_grows_and_is_copied() {
        let is_aligned =
            |buffer: &Buffer| (buffer.bytes().as_ptr() as usize).is_multiple_of(BLOCK_BYTES);
        let mut buffer = Buffer::default();
        for blocks in 1..200 {
            buffer.put(buffer.bytes().len(), &[blocks as u8; BLOCK_BYTES]);
            assert_eq!(buffer.blocks(), blocks);
            assert!(is_aligned(&buffer) && is_aligned(&buffer.clone()));
        }
        for (block, bytes) in buffer.bytes().chunks(BLOCK_BYTES).enumerate() {
            assert_eq!(bytes, [block as u8 + 1; BLOCK_BYTES]);
        }
        assert_eq!(buffer.clone().bytes(), buffer.bytes());
        buffer.clear();
        assert_eq!(buffer.blocks(), 0);
    }
}
