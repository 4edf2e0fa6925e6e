//! How many different blocks a trace touches, in memory that is bounded.

use rustc_hash::FxHashMap;

/// Blocks of a chunk, whose bits are kept together: 2 MiB.
const CHUNK_BLOCKS: u64 = 512;
const CHUNK_WORDS: usize = (CHUNK_BLOCKS / 64) as usize;
/// A chunk's three bitmaps, its key, and the room that a hash table leaves.
const CHUNK_BYTES: usize = 2 * (3 * 8 * CHUNK_WORDS + 16);
/// Memory of exact counts. Chosen; 2.3 million chunks, or 4.4 TiB in whole chunks.
pub(super) const EXACT_BYTES: usize = 1 << 30;

/// Registers of a sketch: 2^16, for a standard error of 1.04 / 2^8 (Flajolet et al., 2007).
const REGISTER_BITS: u32 = 16;
const REGISTERS: usize = 1 << REGISTER_BITS;

/// What a block was touched by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Any,
    Read,
    Write,
}

const TOUCHES: [Touch; 3] = [Touch::Any, Touch::Read, Touch::Write];

/// Counts different blocks that are touched, read and written: exactly as long as they fit, then by sketches.
#[derive(Debug)]
pub(super) struct DistinctBlocks {
    exact: Option<Exact>,
    sketches: [Sketch; 3],
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Exact {
    chunks: FxHashMap<(u32, u64), Box<[[u64; CHUNK_WORDS]; 3]>>,
    counts: [u64; 3],
}

impl DistinctBlocks {
    /// Counts exactly in at most so many bytes.
    pub(super) fn within(most_bytes: usize) -> Self {
        let sketches = std::array::from_fn(|_| Sketch::default());
        Self { exact: Some(Exact::default()), sketches, most_bytes }
    }

    /// Adds blocks `first` to `last` of a volume.
    pub(super) fn add(&mut self, volume: u32, first: u64, last: u64, writes: bool) {
        let by = [Touch::Any, if writes { Touch::Write } else { Touch::Read }];
        let Some(exact) = &mut self.exact else {
            for block in first..=last {
                let hash = hash_of(volume, block);
                by.iter().for_each(|touch| self.sketches[*touch as usize].add(hash));
            }
            return;
        };
        let mut at = first;
        while at <= last {
            let chunk = at / CHUNK_BLOCKS;
            let end = last.min(chunk * CHUNK_BLOCKS + CHUNK_BLOCKS - 1);
            let words = exact.chunks.entry((volume, chunk)).or_default();
            for word in at % CHUNK_BLOCKS / 64..=end % CHUNK_BLOCKS / 64 {
                let base = chunk * CHUNK_BLOCKS + word * 64;
                let low = at.max(base) - base;
                let high = end.min(base + 63) - base;
                let mask = (u64::MAX >> (63 - (high - low))) << low;
                for touch in by {
                    let bits = &mut words[touch as usize][word as usize];
                    exact.counts[touch as usize] += u64::from((mask & !*bits).count_ones());
                    *bits |= mask;
                }
            }
            at = end + 1;
        }
        if exact.chunks.len() * CHUNK_BYTES > self.most_bytes {
            self.sketch();
        }
    }

    /// Goes over to sketches, with what was counted so far.
    fn sketch(&mut self) {
        let Some(exact) = self.exact.take() else { return };
        for ((volume, chunk), bitmaps) in exact.chunks {
            for touch in TOUCHES {
                for (word, bits) in bitmaps[touch as usize].iter().enumerate() {
                    let mut left = *bits;
                    while left != 0 {
                        let bit = u64::from(left.trailing_zeros());
                        let block = chunk * CHUNK_BLOCKS + word as u64 * 64 + bit;
                        self.sketches[touch as usize].add(hash_of(volume, block));
                        left &= left - 1;
                    }
                }
            }
        }
    }

    /// Returns how many different blocks were touched so.
    pub(super) fn count(&self, touch: Touch) -> u64 {
        match &self.exact {
            Some(exact) => exact.counts[touch as usize],
            None => self.sketches[touch as usize].count(),
        }
    }

    /// Returns the standard error of the counts; 0 if they are exact.
    pub(super) fn error(&self) -> f64 {
        if self.exact.is_some() { 0.0 } else { 1.04 / (REGISTERS as f64).sqrt() }
    }
}

/// Mixes a block's place into 64 bits (the finalizer of SplitMix64, after Stafford).
fn hash_of(volume: u32, block: u64) -> u64 {
    let mut bits =
        (block ^ (u64::from(volume) << 32).rotate_left(17)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A HyperLogLog sketch of how many different hashes were added.
#[derive(Debug, Default)]
struct Sketch {
    registers: Vec<u8>,
}

impl Sketch {
    fn add(&mut self, hash: u64) {
        if self.registers.is_empty() {
            self.registers = vec![0; REGISTERS];
        }
        let register = (hash >> (64 - REGISTER_BITS)) as usize;
        // The first bits chose the register; a one after the others bounds the count.
        let rank = ((hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1))).leading_zeros() as u8 + 1;
        self.registers[register] = self.registers[register].max(rank);
    }

    fn count(&self) -> u64 {
        if self.registers.is_empty() {
            return 0;
        }
        let registers = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|rank| (-f64::from(*rank)).exp2()).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let zeros = self.registers.iter().filter(|rank| **rank == 0).count();
        // Few of many are counted by the registers that have none.
        if estimate <= 2.5 * registers && zeros > 0 {
            return (registers * (registers / zeros as f64).ln()).round() as u64;
        }
        estimate.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn counts_are_exact_as_long_as_they_fit_and_near_afterwards() {
        let mut rng = strewn_base::Rng::new(7);
        let mut exact = DistinctBlocks::within(EXACT_BYTES);
        let mut near = DistinctBlocks::within(1 << 16);
        let mut sets: [HashSet<(u32, u64)>; 3] = Default::default();
        for number in 0..60_000_u64 {
            let volume = rng.below(3) as u32;
            let first = if number < 40_000 { rng.below(1 << 22) } else { rng.below(500) };
            let last = first + rng.below(40) * rng.below(20);
            let writes = rng.below(3) == 0;
            exact.add(volume, first, last, writes);
            near.add(volume, first, last, writes);
            for block in first..=last {
                sets[Touch::Any as usize].insert((volume, block));
                let by = if writes { Touch::Write } else { Touch::Read };
                sets[by as usize].insert((volume, block));
            }
        }
        assert_eq!(exact.error(), 0.0);
        assert!((0.0040..0.0042).contains(&near.error()));
        for touch in TOUCHES {
            let expected = sets[touch as usize].len() as u64;
            assert_eq!(exact.count(touch), expected, "{touch:?}");
            let off = near.count(touch) as f64 / expected as f64 - 1.0;
            // Three standard errors, of a seed that is the same each time.
            assert!(off.abs() < 3.0 * near.error(), "{touch:?}: {off}");
        }
    }

    #[test]
    fn a_sketch_of_few_counts_them() {
        let mut sketch = Sketch::default();
        assert_eq!(sketch.count(), 0);
        for block in 0..100 {
            sketch.add(hash_of(1, block));
            sketch.add(hash_of(1, block));
        }
        assert!((99..=101).contains(&sketch.count()), "{}", sketch.count());
    }
}
