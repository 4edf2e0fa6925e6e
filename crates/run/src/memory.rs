//! Checks before a run that it fits the machine's memory.

use crate::parallel;
use strewn_base::BLOCK_BYTES;
pub use strewn_base::memory::available_bytes;
use strewn_scenario::build::machine;
use strewn_scenario::{Array, Scenario};
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
    let of_arrays = scenario.arrays.iter().map(|array| machine_bytes(scenario, array));
    of_arrays.fold(BASE_BYTES, u64::saturating_add)
}

/// Returns about how much memory a run of one array of `scenario` alone needs at its peak, in bytes.
#[must_use]
pub fn needed_bytes_of(scenario: &Scenario, array: &Array) -> u64 {
    BASE_BYTES.saturating_add(machine_bytes(scenario, array))
}

/// Returns the memory that an array needs, with a partner or other blades if it has some, in bytes.
fn machine_bytes(scenario: &Scenario, array: &Array) -> u64 {
    let page_cache_bytes = array.page_cache.map_or(0, |cache| cache.bytes / BLOCK_BYTES * 96);
    let (of_parts, parts) = (machine::of_parts(scenario, array), machine::parts(array));
    let of_parts = parts.iter().map(|part| array_bytes(&of_parts, part));
    of_parts.fold(page_cache_bytes, u64::saturating_add)
}

/// Returns the memory that one array needs, in bytes.
pub(crate) fn array_bytes(scenario: &Scenario, array: &Array) -> u64 {
    array.layout.memory_bytes(scenario, array)
}

/// Checks that a run fits, with `further_bytes` beside it.
pub(crate) fn check(scenario: &Scenario, further_bytes: u64) -> Result<(), NotEnoughMemory> {
    check_bytes(needed_bytes(scenario).saturating_add(further_bytes))
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
    check_bytes(BASE_BYTES.saturating_add(at_once).saturating_add(further_bytes))
}

/// Returns the memory of the largest arrays that may run at once on this many threads, in bytes.
fn at_once_bytes(scenario: &Scenario, replicates: u32, threads: usize) -> u64 {
    let arrays = scenario.arrays.iter().map(|array| machine_bytes(scenario, array));
    let mut all: Vec<u64> =
        arrays.flat_map(|bytes| std::iter::repeat_n(bytes, replicates as usize)).collect();
    all.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
    all.iter().take(threads).fold(0, |sum, bytes| sum.saturating_add(*bytes))
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
