//! The free space of a ZFS pool, as `zdb -mm` and `zdb -MMM` list it: histograms of free segments by the binary
//! logarithm of their bytes, of each metaslab, each vdev and the pool (`dump_metaslab` and `dump_metaslab_groups` of
//! `zdb.c`).

use strewn_zfs::{Histogram, Version};

use super::pool::{PoolFreeSpace, REMEDY, VdevFreeSpace, score};
use super::zdb_complete;
use super::zdb_list::{FIRST_LOG, MetaslabList, Printed, Vdev};
use crate::error::FileError;

/// Bytes of a block of the score. Chosen: the sectors of most pools; zdb does not list them here.
const UNIT_BYTES: u64 = 4096;

/// Parses such an output.
pub(super) fn parse_metaslab_list(name: &str, text: &str) -> Result<PoolFreeSpace, FileError> {
    let list = MetaslabList::parse(name, text)?;
    zdb_complete::check(name, &list)?;
    let MetaslabList { vdevs, groups, pool, pool_name, .. } = list;
    let mut caveats = vec![
        "segments are told by powers of two, and counted as of the shortest length of their class"
            .to_owned(),
    ];
    let has_metaslabs = vdevs.iter().any(|vdev| !vdev.metaslabs.is_empty());
    let normal: Vec<&Vdev> = vdevs.iter().filter(|vdev| vdev.class.is_none()).collect();
    let mut runs: Vec<(u64, u64)> = normal.iter().flat_map(|vdev| vdev.runs()).collect();
    if !has_metaslabs {
        runs.extend(pool.iter().flat_map(Printed::runs));
        caveats.push(
            "metaslabs that were never written are in no histogram: there is more free space"
                .to_owned(),
        );
    }
    if runs.is_empty() {
        return Err(FileError::input(
            format!("{name}: no histogram of free segments in it"),
            REMEDY,
        ));
    }
    if normal.len() < vdevs.len() {
        caveats.push("vdevs of log, special and dedup classes are left out of the sums".to_owned());
    }
    let whole_bytes = normal.iter().fold(0u64, |sum, vdev| sum.saturating_add(vdev.bytes()));
    let group = |vdev: &Vdev| groups.iter().find(|(number, _)| *number == vdev.number);
    let source = if has_metaslabs { "zdb -mm" } else { "zdb -MMM" };
    Ok(PoolFreeSpace {
        name: pool_name,
        caveats,
        whole_bytes: Some(whole_bytes).filter(|bytes| *bytes > 0),
        frag_percent: pool.and_then(|pool| pool.frag_percent),
        frag_percent_by_table: frag_of_pool(&normal),
        vdevs: vdevs
            .iter()
            .map(|vdev| {
                let printed = group(vdev).and_then(|(_, printed)| printed.frag_percent);
                vdev.free_space(printed)
            })
            .collect(),
        ..PoolFreeSpace::of_runs(source, UNIT_BYTES, &runs)
    })
}

impl Printed {
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let runs = self.runs.iter().filter(|(_, count)| *count > 0);
        runs.map(|(log, count)| (1u64 << log, *count))
    }
}

impl Vdev {
    /// The bytes of a metaslab, if there are two.
    pub(super) fn metaslab_bytes(&self) -> Option<u64> {
        let [first, second, ..] = self.metaslabs.as_slice() else { return None };
        second.offset.checked_sub(first.offset).filter(|bytes| *bytes > 0)
    }

    /// The bytes of all metaslabs; 0 if it is not known.
    fn bytes(&self) -> u64 {
        self.metaslab_bytes().unwrap_or(0).saturating_mul(self.metaslabs.len() as u64)
    }

    /// Free runs: one in a metaslab that was never written.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bytes = self.metaslab_bytes();
        self.metaslabs.iter().flat_map(move |metaslab| {
            let whole = bytes.filter(|_| metaslab.is_untouched);
            metaslab.printed.iter().flat_map(Printed::runs).chain(whole.map(|bytes| (bytes, 1)))
        })
    }

    fn free_space(&self, frag_percent: Option<u64>) -> VdevFreeSpace {
        let (mut free_bytes, mut runs) = (0u64, 0u64);
        for (bytes, count) in self.runs() {
            free_bytes = free_bytes.saturating_add(bytes.saturating_mul(count));
            runs = runs.saturating_add(count);
        }
        VdevFreeSpace {
            vdev: self.number,
            name: None,
            class: self.class.clone(),
            free_bytes,
            runs,
            score: score(free_bytes, runs, UNIT_BYTES),
            frag_percent,
            frag_percent_by_table: self.frag_by_table(),
        }
    }

    /// FRAG by the table: the mean of the metaslabs by free bytes (`metaslab_group_fragmentation` of `metaslab.c`). The
    /// metaslab of the embedded log counts too here, since zdb does not say which it is.
    fn frag_by_table(&self) -> Option<u64> {
        let free_bytes: u128 = self.metaslabs.iter().map(|one| u128::from(one.free_bytes)).sum();
        let frags = self.metaslabs.iter().map(|metaslab| {
            let mut free: Histogram = [0; 32];
            for (log, count) in metaslab.printed.iter().flat_map(|printed| &printed.runs) {
                free[*log as usize - FIRST_LOG] = u32::try_from(*count).unwrap_or(u32::MAX);
            }
            let frag = Version::V2_3.fragmentation(&free, FIRST_LOG as u8);
            u128::from(frag) * u128::from(metaslab.free_bytes)
        });
        (!self.metaslabs.is_empty()).then(|| (frags.sum::<u128>() / free_bytes.max(1)) as u64)
    }
}

/// Returns FRAG by the table of a pool: the mean of its vdevs by space (`metaslab_class_fragmentation`).
fn frag_of_pool(vdevs: &[&Vdev]) -> Option<u64> {
    let (mut sum, mut space) = (0u128, 0u128);
    for (vdev, frag) in vdevs.iter().filter_map(|vdev| Some((vdev, vdev.frag_by_table()?))) {
        let bytes = u128::from(vdev.bytes().max(1));
        sum += u128::from(frag) * bytes;
        space += bytes;
    }
    (space > 0).then(|| (sum / space) as u64)
}
