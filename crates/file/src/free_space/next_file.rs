//! How a file would lie that is written into the free space of a pool.

use strewn_base::Rng;

use super::pool::PoolFreeSpace;
use crate::extent::{Address, Extent, Place};

/// Runs that a file may have: they take a hundred megabytes.
const MOST_RUNS: u64 = 2 << 20;

impl PoolFreeSpace {
    /// Returns the extents of a file of `bytes`, or of all that is free if that is less, which is written in order into
    /// the free runs. None if the size of the whole is not known, nothing is free, or the file would have millions of
    /// runs.
    ///
    /// Three things are chosen: the file has of each class of runs its share of the free bytes, in an order drawn from
    /// `seed`; it takes them in order of their addresses; and allocated space lies between any two, as much as is the
    /// mean of the pool.
    #[must_use]
    pub fn next_file(&self, bytes: u64, seed: u64) -> Option<Vec<Extent>> {
        let free = self.histogram.iter().map(|class| class.from_bytes as f64 * class.runs as f64);
        let free = free.sum::<f64>();
        let whole = self.whole_bytes? as f64;
        let bytes = (bytes as f64).min(free);
        let unit = self.unit_bytes.max(1);
        let mut lengths = Vec::new();
        for class in &self.histogram {
            let share = class.from_bytes as f64 * class.runs as f64 / free;
            let own = (bytes * share) as u64;
            let (count, rest) = (own / class.from_bytes, own % class.from_bytes / unit * unit);
            if lengths.len() as u64 + count >= MOST_RUNS {
                return None;
            }
            lengths.extend((0..count).map(|_| class.from_bytes));
            lengths.extend(Some(rest).filter(|rest| *rest > 0));
        }
        let mut rng = Rng::new(seed);
        for last in (1..lengths.len()).rev() {
            lengths.swap(last, rng.below(last as u64 + 1) as usize);
        }
        let allocated = (whole - self.free_bytes as f64).max(0.0) / self.runs.max(1) as f64;
        let gap = ((allocated / unit as f64).ceil() as u64).saturating_mul(unit);
        let (mut offset, mut byte) = (0, 0u64);
        let extents = lengths.into_iter().map(|bytes| {
            let extent =
                Extent { offset, bytes, place: Place::At(Address::new(byte)), shared: false };
            offset += bytes;
            byte = byte.saturating_add(bytes).saturating_add(gap.max(unit));
            extent
        });
        let extents: Vec<Extent> = extents.collect();
        (!extents.is_empty()).then_some(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_of_each_class_its_share() {
        // Half of the bytes are in runs of 4 KiB, and as much is allocated as is free.
        let runs = [(4096, 256), (1 << 20, 1)];
        let pool = PoolFreeSpace {
            whole_bytes: Some(4 << 20),
            ..PoolFreeSpace::of_runs("test", 4096, &runs)
        };
        let file = pool.next_file(1 << 20, 1).unwrap();
        assert_eq!(file.iter().map(|extent| extent.bytes).sum::<u64>(), 1 << 20);
        assert_eq!(file.iter().filter(|extent| extent.bytes == 4096).count(), 128);
        assert_eq!(file.iter().map(|extent| extent.bytes).max(), Some(512 << 10));
        // 2 MiB between 257 runs, in whole blocks.
        let [first, second] = [0, 1].map(|at| file[at].place.address().unwrap().byte);
        assert_eq!(second - first - file[0].bytes, 8192);
        // All that is free is the most.
        let all = pool.next_file(1 << 40, 1).unwrap();
        assert_eq!(all.iter().map(|extent| extent.bytes).sum::<u64>(), 2 << 20);
        assert!(PoolFreeSpace::of_runs("test", 4096, &runs).next_file(4096, 1).is_none());
    }
}
