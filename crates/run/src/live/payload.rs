//! Data to write: different in each block, and cheap to produce.

use strewn_base::{BLOCK_BYTES, Rng, SECTOR_BYTES};

/// Size of the pool of random bytes, drawn once: large enough that a deduplicating device finds no duplicates.
const POOL_BYTES: usize = 4 << 20;
/// Distance in the pool between the starts of successive operations. It is an odd number of sectors, so that every
/// place in the pool is used.
const STEP_BYTES: usize = 2_053 * SECTOR_BYTES as usize;

/// The data of successive operations. Each operation starts at a different place in the same random bytes, and each
/// of its blocks carries the operation's number, so that no two blocks are equal.
pub(super) struct Payload {
    pool: Vec<u8>,
    operations: u64,
}

impl Payload {
    pub(super) fn new(seed: u64) -> Self {
        let mut pool = vec![0; POOL_BYTES];
        Rng::new(seed).fill(&mut pool);
        Self { pool, operations: 0 }
    }

    /// Returns the next operation's data, of `bytes` bytes.
    pub(super) fn next(&mut self, bytes: usize) -> Vec<u8> {
        self.operations += 1;
        let mut at = (self.operations as usize).wrapping_mul(STEP_BYTES) % POOL_BYTES;
        let mut data = Vec::with_capacity(bytes);
        while data.len() < bytes {
            let part = (bytes - data.len()).min(POOL_BYTES - at);
            data.extend_from_slice(&self.pool[at..at + part]);
            at = 0;
        }
        for (block, chunk) in data.chunks_mut(BLOCK_BYTES as usize).enumerate() {
            let number = (self.operations << 20) + block as u64;
            // The number fits: the smallest write is a sector.
            chunk[..8].copy_from_slice(&number.to_le_bytes());
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_blocks_are_alike_and_none_is_of_zeros() {
        let mut payload = Payload::new(1);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..20 {
            let data = payload.next(3 << 18);
            assert_eq!(data.len(), 3 << 18);
            for block in data.chunks(4096) {
                assert!(block.iter().any(|byte| *byte != 0));
                assert!(seen.insert(block.to_vec()));
            }
        }
        assert_eq!(payload.next(512).len(), 512);
    }
}
