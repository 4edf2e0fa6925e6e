//! FRAG, as `zpool list` prints it: how small the pieces of free space are.
//!
//! Each size of free segment has a weight from 0 to 100. A metaslab's figure is the mean weight of its free bytes. The
//! table has changed with the versions of OpenZFS (`zfs_frag_table` of `metaslab.c`).

use strewn_base::state::SavedValue;

/// A version of OpenZFS, as far as the layout depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, SavedValue)]
pub enum Version {
    /// OpenZFS 2.2 and before.
    V2_2,
    /// OpenZFS 2.3 and later.
    #[default]
    V2_3,
}

/// Weights by binary logarithm of a segment's bytes, from 512 bytes on: to 16 MiB, and more.
const TABLE_2_2: [u64; 16] = [100, 100, 98, 95, 90, 80, 70, 60, 50, 40, 30, 20, 15, 10, 5, 0];

/// The same, to 512 MiB.
const TABLE_2_3: [u64; 21] =
    [100, 99, 97, 93, 88, 83, 77, 71, 64, 57, 50, 43, 36, 29, 23, 17, 12, 7, 3, 1, 0];

/// The number of free segments by the binary logarithm of their sectors.
pub type Histogram = [u32; 32];

impl Version {
    /// The fragmentation of a metaslab with these free segments in sectors of `1 << ashift` bytes, 0 to 100.
    #[must_use]
    pub fn fragmentation(self, free: &Histogram, ashift: u8) -> u64 {
        let table: &[u64] = match self {
            Self::V2_2 => &TABLE_2_2,
            Self::V2_3 => &TABLE_2_3,
        };
        let (mut sum, mut space) = (0, 0);
        for (log, count) in free.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bytes = u64::from(*count) << (log + usize::from(ashift));
            let at = (log + usize::from(ashift) - 9).min(table.len() - 1);
            space += bytes;
            sum += bytes * table[at];
        }
        sum.checked_div(space).unwrap_or(0)
    }
}
