//! What the free space of a pool costs the next writes, from its runs by length.

use serde::Serialize;

/// Sizes of writes that are looked at, bytes. Chosen: blocks of a database or a volume, of a file, and of a large one.
const SIZES: [u64; 3] = [8 << 10, 128 << 10, 1 << 20];

/// What becomes of writes of one size.
///
/// Places are taken from all free bytes alike, which is chosen: an allocator that looks for the longest runs first
/// does better as long as there are any.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NextWrites {
    /// Bytes of a write.
    pub bytes: u64,
    /// Share of the free bytes that is in runs at least that long, 0 to 1.
    pub whole_share: f64,
    /// Mean length of the runs that such a write gets, bytes: at most its own.
    pub run_bytes: f64,
    /// Pieces of a write: its bytes over those of a run.
    pub pieces: f64,
}

/// Returns what writes get of free runs, given as bytes of a run and their number.
pub(super) fn next_writes(runs: &[(u64, u64)]) -> Vec<NextWrites> {
    let free: f64 = runs.iter().map(|(bytes, count)| *bytes as f64 * *count as f64).sum();
    if free <= 0.0 {
        return Vec::new();
    }
    let of_size = |size: u64| {
        let (mut whole, mut weighted) = (0.0, 0.0);
        for (bytes, count) in runs {
            let share = *bytes as f64 * *count as f64 / free;
            whole += if *bytes >= size { share } else { 0.0 };
            weighted += share * (*bytes).min(size) as f64;
        }
        NextWrites {
            bytes: size,
            whole_share: whole,
            run_bytes: weighted,
            pieces: size as f64 / weighted,
        }
    };
    SIZES.map(of_size).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_whole_where_a_run_is_as_long() {
        // Half of the bytes are in runs of 4 KiB, half in one of 1 MiB.
        let writes = next_writes(&[(4096, 256), (1 << 20, 1)]);
        let shares: Vec<f64> = writes.iter().map(|write| write.whole_share).collect();
        assert_eq!(shares, [0.5, 0.5, 0.5]);
        assert_eq!(writes[0].run_bytes, 6144.0);
        assert_eq!(writes[0].pieces, 8192.0 / 6144.0);
        assert!(next_writes(&[]).is_empty());
    }
}
