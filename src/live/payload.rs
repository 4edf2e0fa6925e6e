//! Bytes to write: different each time, and cheap.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Random bytes that are drawn once: more than any cache of a device finds again by itself.
const POOL_BYTES: usize = 4 << 20;

/// Bytes of operations one after another. Each begins somewhere else in the same random bytes, and every block of 4 KiB of
/// it has the operation's number, so that no two blocks are alike.
pub(super) struct Payload {
    pool: Vec<u8>,
    operations: u64,
}

impl Payload {
    pub(super) fn new(seed: u64) -> Self {
        let mut pool = vec![0; POOL_BYTES];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut pool);
        Self { pool, operations: 0 }
    }

    /// The next operation's `bytes` bytes.
    pub(super) fn next(&mut self, bytes: usize) -> Vec<u8> {
        self.operations += 1;
        // An odd number of sectors: all places of the pool have their turn.
        let mut at = (self.operations as usize).wrapping_mul(512 * 2_053) % POOL_BYTES;
        let mut data = Vec::with_capacity(bytes);
        while data.len() < bytes {
            let part = (bytes - data.len()).min(POOL_BYTES - at);
            data.extend_from_slice(&self.pool[at..at + part]);
            at = 0;
        }
        for (block, chunk) in data.chunks_mut(4096).enumerate() {
            let number = (self.operations << 20) + block as u64;
            // A sector is the least that is written.
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
