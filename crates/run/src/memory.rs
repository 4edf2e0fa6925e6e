//! Checks before a run that it fits the machine's memory.

use crate::{machine, parallel};
pub use strewn_base::memory::available_bytes;
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_scenario::{Array, ArrayLayout, Scenario, VolumeLuns};
use thiserror::Error;

/// Memory that the program needs besides its arrays, in bytes: code, drive tables, results.
const BASE_BYTES: u64 = 32 << 20;

/// The run needs more memory than the machine has available.
#[derive(Debug, Error)]
#[error(
    "the run needs about {} MiB of memory and the machine has {} MiB available; a smaller file or fewer arrays take \
     less, and so do fewer --jobs with --replicates (a write-anywhere array takes 6 bytes for each 4 KiB of its file, and up to 16 for each block that a snapshot \
     may hold)",
    needed_bytes >> 20,
    available_bytes >> 20
)]
pub struct NotEnoughMemory {
    /// Memory that the run needs, in bytes.
    pub needed_bytes: u64,
    /// Memory that the machine has available, in bytes.
    pub available_bytes: u64,
}

/// Returns about how much memory a run of `scenario` needs at its peak, in bytes, for all arrays at once.
#[must_use]
pub fn needed_bytes(scenario: &Scenario) -> u64 {
    BASE_BYTES + scenario.arrays.iter().map(|array| machine_bytes(scenario, array)).sum::<u64>()
}

/// Returns about how much memory a run of one array of `scenario` alone needs at its peak, in bytes.
#[must_use]
pub fn needed_bytes_of(scenario: &Scenario, array: &Array) -> u64 {
    BASE_BYTES + machine_bytes(scenario, array)
}

/// Returns the memory that an array needs, with a partner or other blades if it has some, in bytes.
fn machine_bytes(scenario: &Scenario, array: &Array) -> u64 {
    let page_cache_bytes = array.page_cache.map_or(0, |cache| cache.bytes / BLOCK_BYTES * 96);
    let (of_parts, parts) = (machine::of_parts(scenario, array), machine::parts(array));
    page_cache_bytes + parts.iter().map(|part| array_bytes(&of_parts, part)).sum::<u64>()
}

/// Returns the memory that one array needs, in bytes.
pub(crate) fn array_bytes(scenario: &Scenario, array: &Array) -> u64 {
    let file_bytes = scenario.file_bytes(array);
    match &array.layout {
        ArrayLayout::WriteAnywhere(layout) => {
            let file_blocks = file_bytes / BLOCK_BYTES;
            let volume_blocks = array.stored_lun_bytes() / BLOCK_BYTES;
            let data_spindles: u64 =
                layout.groups().iter().map(|group| u64::from(group.data_spindles)).sum();
            let aggregate_blocks = data_spindles * layout.right_sized_bytes / BLOCK_BYTES;
            // Block map and regions; dirty, rewritten and resident bits; the free map; delayed frees; buffers with
            // the queues of their uses.
            file_blocks * 6
                + file_blocks * 3 / 8
                + aggregate_blocks / 8
                + (volume_blocks as f64 * layout.delayed_free_percent / 100.0 * 8.0) as u64
                + layout.buffer_cache_bytes / BLOCK_BYTES * 128
                + snapshot_bytes(scenario, array, aggregate_blocks)
        }
        // Dirty and in-flight bits of every sector that the file covers; buffers of the read cache.
        ArrayLayout::InPlace(layout) => {
            file_bytes / SECTOR_BYTES / 4 + layout.read_cache_bytes / BLOCK_BYTES * 128
        }
    }
}

/// Returns the memory that snapshots need, and the count of what volumes may claim, in bytes.
fn snapshot_bytes(scenario: &Scenario, array: &Array, aggregate_blocks: u64) -> u64 {
    let length_ns = u64::from(scenario.segments).saturating_mul(scenario.segment_ns);
    let volumes = array.luns_by_volume();
    // An entry of eight bytes for each block that snapshots hold, at most the whole file for each of them and for one
    // being deleted, in lists that grow by doubling.
    let held = volumes.iter().filter_map(|volume| {
        let schedule = array.snapshots_of(volume)?;
        let taken = length_ns / schedule.every_ns.max(1);
        let images = (u64::from(schedule.keep) + 1).min(taken);
        let files = volume.luns.iter().map(|lun| scenario.file_bytes_of(array, lun) / BLOCK_BYTES);
        Some(images.saturating_mul(files.sum()))
    });
    match held.reduce(u64::saturating_add) {
        None if !volumes.iter().any(VolumeLuns::is_thin) => 0,
        // Births of all blocks.
        held => {
            scenario.file_bytes(array) / BLOCK_BYTES * 2
                + held.unwrap_or_default().min(aggregate_blocks) * 16
        }
    }
}

/// Checks that a run fits, with `further_bytes` beside it.
pub(crate) fn check(scenario: &Scenario, further_bytes: u64) -> Result<(), NotEnoughMemory> {
    check_bytes(needed_bytes(scenario) + further_bytes)
}

/// Without a figure of what is available, no run is refused.
fn check_bytes(needed_bytes: u64) -> Result<(), NotEnoughMemory> {
    match available_bytes() {
        Some(available_bytes) if needed_bytes > available_bytes => {
            Err(NotEnoughMemory { needed_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}

/// Checks the same for a run with several seeds. As many arrays as there are threads run at once.
pub(crate) fn check_replicates(
    scenario: &Scenario,
    further_bytes: u64,
    replicates: u32,
    jobs: usize,
) -> Result<(), NotEnoughMemory> {
    if replicates <= 1 {
        return check(scenario, further_bytes);
    }
    let at_once = at_once_bytes(scenario, replicates, parallel::threads(jobs));
    check_bytes(BASE_BYTES + at_once + further_bytes)
}

/// Returns the memory of the largest arrays that may run at once on this many threads, in bytes.
fn at_once_bytes(scenario: &Scenario, replicates: u32, threads: usize) -> u64 {
    let arrays = scenario.arrays.iter().map(|array| machine_bytes(scenario, array));
    let mut all: Vec<u64> =
        arrays.flat_map(|bytes| std::iter::repeat_n(bytes, replicates as usize)).collect();
    all.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
    all.iter().take(threads).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_arrays_as_threads_run_at_once() {
        let scenario = Scenario::default();
        let bytes: Vec<u64> =
            scenario.arrays.iter().map(|array| machine_bytes(&scenario, array)).collect();
        let largest = bytes.iter().copied().max().unwrap();
        assert_eq!(at_once_bytes(&scenario, 8, 1), largest);
        assert_eq!(at_once_bytes(&scenario, 8, 3), 3 * largest);
        assert_eq!(at_once_bytes(&scenario, 8, 1000), 8 * bytes.iter().sum::<u64>());
    }
}
