//! Memory hints for programs that read large tables at unrelated addresses: announce an access before it happens, and
//! map a table with large pages.
//!
//! The maps of a storage array take tens of megabytes, and every host operation reads them somewhere else. Each such
//! read waits some 100 ns for memory, unless it was announced. A table of 100 MiB takes 25,600 pages of 4 KiB, more
//! than any processor holds translations for, or 50 pages of 2 MiB, which fit.
//!
//! Hints change the time a program takes, never its results. On a processor or kernel that has no such hints, these
//! functions do nothing more than allocate.
//!
//! ```
//! use strewn_base::memory;
//!
//! // 8 MiB of zeros; they take no memory until written.
//! let words = memory::zeroed_words(1 << 20);
//!
//! // Which entries will be read is known a few steps before they are.
//! const AHEAD: usize = 8;
//! let indexes: Vec<usize> = (0..1_000_usize).map(|step| step * 7_919 % words.len()).collect();
//! let mut sum = 0;
//! for (step, &index) in indexes.iter().enumerate() {
//!     if let Some(&later) = indexes.get(step + AHEAD) {
//!         memory::prefetch(&words, later);
//!     }
//!     sum += words[index];
//! }
//! assert_eq!(sum, 0);
//! ```
//!
//! The only unsafe code of this crate is here: an instruction of the processor, and a function of the C library
//! (`madvise`). Each takes an address; neither reads, writes or unmaps anything there.
#![allow(unsafe_code)]

use std::error::Error;
use std::fmt;

/// The system does not provide this much memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes of memory are needed, and not available", self.bytes)
    }
}

impl Error for OutOfMemory {}

/// Checks that the system provides `bytes` in one allocation: reserves them, and gives them back. An allocation that
/// fails ends the process, so whoever is about to build large maps checks their size first.
///
/// # Errors
/// If it does not. A system that promises more than it has may grant memory and lack it later: see
/// [`available_bytes`].
pub fn check_reservable(bytes: u64) -> Result<(), OutOfMemory> {
    let refused = |_| OutOfMemory { bytes };
    let count = usize::try_from(bytes).map_err(|_| OutOfMemory { bytes })?;
    let mut reserved: Vec<u8> = Vec::new();
    reserved.try_reserve_exact(count).map_err(refused)?;
    // An allocation without a use may be left out.
    std::hint::black_box(&reserved);
    Ok(())
}

/// Returns the available memory that Linux reports, or `None` without `/proc/meminfo`.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Asks the processor to fetch the cache line that holds `slice[index]`. Any index is allowed, also one past the end.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch accesses nothing; the processor drops it if the address is not mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// `count` words, all zero. They take no memory until they are written: then 2 MiB at a time if the kernel has large
/// pages.
///
/// # Panics
/// If the system does not provide them.
#[must_use]
pub fn zeroed_words(count: usize) -> Vec<u64> {
    zeroed(count)
}

/// `count` small numbers, all zero, as [`zeroed_words`] are.
///
/// # Panics
/// If the system does not provide them.
#[must_use]
pub fn zeroed_numbers(count: usize) -> Vec<u16> {
    zeroed(count)
}

/// Zeros of a type whose default is zero.
fn zeroed<T: Copy + Default>(count: usize) -> Vec<T> {
    provide::<T>(count);
    let mut items = vec![T::default(); whole_pages::<T>(count)];
    advise_large_pages(&items);
    items.truncate(count);
    items
}

/// `count` copies of `value`, in large pages if the kernel has them.
///
/// # Panics
/// If the system does not provide the memory.
#[must_use]
pub fn filled<T: Copy>(value: T, count: usize) -> Vec<T> {
    provide::<T>(count);
    let mut items = Vec::with_capacity(whole_pages::<T>(count));
    // Advise before writing: pages that exist already stay small.
    advise_large_pages(&items);
    items.resize(count, value);
    items
}

/// Panics unless the system provides memory for `count` items: a panic can be caught and named, a failed allocation
/// cannot.
fn provide<T>(count: usize) {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    if bytes >= LARGE_PAGE_BYTES as u64
        && let Err(error) = check_reservable(bytes)
    {
        panic!("{error}");
    }
}

const LARGE_PAGE_BYTES: usize = 2 << 20;

/// What an allocator may put in front of an allocation that has its own pages.
const HEADER_BYTES: usize = 64;

/// `count`, rounded up so that the items and the allocator's header fill whole large pages: the kernel aligns a mapping
/// of whole large pages, and any other loses one. What is not written takes no memory.
fn whole_pages<T>(count: usize) -> usize {
    let bytes = count * size_of::<T>();
    if bytes < LARGE_PAGE_BYTES / 2 {
        return count;
    }
    ((bytes + HEADER_BYTES).next_multiple_of(LARGE_PAGE_BYTES) - HEADER_BYTES) / size_of::<T>()
}

/// Asks the kernel to back the capacity of `items` with large pages.
fn advise_large_pages<T>(items: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};
        // The standard library links the C library anyway.
        unsafe extern "C" {
            fn madvise(address: *mut c_void, bytes: usize, advice: c_int) -> c_int;
        }
        const MADV_HUGEPAGE: c_int = 14;
        const PAGE_BYTES: usize = 4 << 10;
        let bytes = items.capacity() * size_of::<T>();
        if bytes < LARGE_PAGE_BYTES / 2 {
            return;
        }
        // The allocator's header is on the first page, so that the mapping starts below the items.
        let before = items.as_ptr().addr() % PAGE_BYTES;
        let first = items.as_ptr().cast::<u8>().wrapping_sub(before).cast_mut();
        // SAFETY: the advice does not change what the pages hold. A kernel that rejects it returns an error and
        // changes nothing.
        let _ = unsafe { madvise(first.cast(), before + bytes, MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_system_has_is_refused_with_its_size() {
        assert_eq!(check_reservable(u64::MAX), Err(OutOfMemory { bytes: u64::MAX }));
        let refused = check_reservable(1 << 62).unwrap_err();
        assert!(
            refused.to_string().starts_with("4611686018427387904 bytes of memory"),
            "{refused}"
        );
        assert_eq!(check_reservable(0), Ok(()));
        assert_eq!(check_reservable(1 << 20), Ok(()));
    }

    #[test]
    #[should_panic(expected = "bytes of memory are needed")]
    fn tables_that_no_system_can_hold_are_a_panic_that_names_their_size() {
        let _ = filled(0_u32, 1 << 60);
    }

    #[test]
    fn hints_change_nothing() {
        let words = zeroed_words(3 << 18);
        let filled = filled(7_u16, 5 << 20);
        for index in [0, words.len() - 1, words.len(), usize::MAX] {
            prefetch(&words, index);
            prefetch(&filled, index);
        }
        assert!(words.iter().all(|word| *word == 0));
        assert!(filled.len() == 5 << 20 && filled.iter().all(|item| *item == 7));
        assert!(zeroed_words(0).is_empty());
    }
}
