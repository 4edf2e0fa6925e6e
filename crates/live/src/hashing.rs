//! Hashing of numbers that nobody chose to collide: slots, blocks, names of I/Os.

use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers of our own.
pub(crate) type NumberMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Multiplies by an odd number with bits everywhere, and folds: numbers that follow each other go far apart.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = u128::from(self.0 ^ number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (mixed >> 64) as u64 ^ mixed as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_order_do_not_fall_together() {
        let hash = |number: u64| {
            let mut hasher = NumberHasher::default();
            hasher.write_u64(number);
            hasher.finish()
        };
        // What a table of 4096 places looks at.
        for step in [1u64, 8, 256, 1 << 20] {
            let places: std::collections::HashSet<u64> =
                (0..4_096).map(|at| hash(at * step) & 4_095).collect();
            assert!(places.len() > 2_000, "{} of 4096 in steps of {step}", places.len());
        }
    }
}
