//! Free space of whole pools, from `zdb -mm`, `zdb -MMM`, and `ceph-bluestore-tool free-dump`.

use serde::Serialize;

use super::ceph_score::CephScores;
use super::next_writes::{NextWrites, next_writes};
use super::zpool_list::ZpoolFigures;

/// Runs of free bytes of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FreeBytesClass {
    /// The shortest run of the class in bytes, a power of two; the longest is less than twice as long.
    pub from_bytes: u64,
    /// The number of runs.
    pub runs: u64,
}

/// The free space of a top-level vdev of a ZFS pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VdevFreeSpace {
    /// Its number.
    pub vdev: u64,
    /// Its name, if `zpool list` was there to tell it.
    pub name: Option<String>,
    /// `log`, `special` or `dedup`; none if it is one of those that take data.
    pub class: Option<String>,
    /// Free bytes in the runs.
    pub free_bytes: u64,
    /// The number of runs.
    pub runs: u64,
    /// As of the pool.
    pub score: f64,
    /// FRAG as zdb has printed it, in percent.
    pub frag_percent: Option<u64>,
    /// FRAG by the table of OpenZFS 2.3, in percent.
    pub frag_percent_by_table: Option<u64>,
}

/// The free space of a pool or of a device of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolFreeSpace {
    /// The program whose output it is from.
    pub source: &'static str,
    /// The name of the pool or device, if the list has it.
    pub name: Option<String>,
    /// What the source does not know.
    pub caveats: Vec<String>,
    /// Bytes of the space that the runs are in, free or not, if the source tells.
    pub whole_bytes: Option<u64>,
    /// Free bytes in the runs.
    pub free_bytes: u64,
    /// The number of runs.
    pub runs: u64,
    /// Share of free blocks that directly follow another, in blocks of `unit_bytes`: 1 is one run.
    pub score: f64,
    /// Bytes of a block of the score.
    pub unit_bytes: u64,
    /// FRAG of a ZFS pool as zdb has printed it, in percent.
    pub frag_percent: Option<u64>,
    /// FRAG by the table of OpenZFS 2.3, from the histogram of each metaslab, in percent.
    pub frag_percent_by_table: Option<u64>,
    /// What `zpool list` says of a ZFS pool of this machine.
    pub zpool: Option<ZpoolFigures>,
    /// The top-level vdevs of a ZFS pool, if metaslabs are listed.
    pub vdevs: Vec<VdevFreeSpace>,
    /// Ceph's fragmentation score.
    pub ceph_score: Option<CephScores>,
    /// Runs by length.
    pub histogram: Vec<FreeBytesClass>,
    /// What the next writes get.
    pub next_writes: Vec<NextWrites>,
}

impl PoolFreeSpace {
    /// A pool with these free runs: bytes of a run, and how many there are.
    pub(super) fn of_runs(source: &'static str, unit_bytes: u64, runs: &[(u64, u64)]) -> Self {
        let count: u64 = runs.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
        let free_bytes = runs
            .iter()
            .fold(0u64, |sum, (bytes, count)| sum.saturating_add(bytes.saturating_mul(*count)));
        let mut classes = std::collections::BTreeMap::new();
        for (bytes, count) in runs.iter().filter(|(bytes, count)| *bytes > 0 && *count > 0) {
            *classes.entry(bytes.ilog2()).or_insert(0u64) += count;
        }
        Self {
            source,
            name: None,
            caveats: Vec::new(),
            whole_bytes: None,
            free_bytes,
            runs: count,
            score: score(free_bytes, count, unit_bytes),
            unit_bytes,
            frag_percent: None,
            frag_percent_by_table: None,
            zpool: None,
            vdevs: Vec::new(),
            ceph_score: None,
            histogram: classes
                .into_iter()
                .map(|(log, runs)| FreeBytesClass { from_bytes: 1 << log, runs })
                .collect(),
            next_writes: next_writes(runs),
        }
    }
}

/// Returns the share of free blocks of `unit_bytes` that directly follow another.
pub(super) fn score(free_bytes: u64, runs: u64, unit_bytes: u64) -> f64 {
    let blocks = free_bytes / unit_bytes.max(1);
    let breaks = runs.saturating_sub(1) as f64;
    (1.0 - breaks / blocks.saturating_sub(1).max(1) as f64).max(0.0)
}

/// What to give.
pub(super) const REMEDY: &str =
    "save the output of `zdb -mm POOL` (root), or of `ceph-bluestore-tool free-dump`";
