//! Hints about memory that will be used: to the processor, which can fetch it ahead, and to the kernel, which can map it
//! with large pages.
//!
//! The maps of an array are tens of megabytes, and every host operation looks at other places of them. Each look is a
//! wait for memory of some 100 ns, unless it was announced. Hints change nothing but time; where there are none to be
//! had, these functions do nothing.
//!
//! The only `unsafe` code of the workspace is here, because the two hints are unsafe functions of the standard library
//! and of the kernel. Both take an address and neither reads, writes nor unmaps anything there.
//!
//! ```
//! let words = strewn_memory::zeroed_words(1 << 20);
//! strewn_memory::prefetch(&words, 4_711);
//! assert_eq!(words[4_711], 0);
//! ```

/// Has the cache line that holds `slice[index]` fetched. An index past the end does no harm.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch accesses nothing: of an address that is not mapped the processor drops it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// As many words, all zero. They take no memory until they are written, 2 MiB at a time where the kernel has large
/// pages.
#[must_use]
pub fn zeroed_words(count: usize) -> Vec<u64> {
    let mut words = vec![0; whole_pages::<u64>(count)];
    advise_large_pages(&words);
    words.truncate(count);
    words
}

/// `count` times `value`, in large pages where the kernel has them.
#[must_use]
pub fn filled<T: Copy>(value: T, count: usize) -> Vec<T> {
    let mut items = Vec::with_capacity(whole_pages::<T>(count));
    // Before they are written: pages that are there already stay small.
    advise_large_pages(&items);
    items.resize(count, value);
    items
}

const LARGE_PAGE_BYTES: usize = 2 << 20;

/// What an allocator may put before an allocation that has pages of its own.
const HEADER_BYTES: usize = 64;

/// `count`, and as many more as fill the last large page together with the allocator's header: mappings of whole large
/// pages are aligned by the kernel, others lose a page. What is not written takes no memory.
fn whole_pages<T>(count: usize) -> usize {
    let bytes = count * size_of::<T>();
    if bytes < LARGE_PAGE_BYTES / 2 {
        return count;
    }
    ((bytes + HEADER_BYTES).next_multiple_of(LARGE_PAGE_BYTES) - HEADER_BYTES) / size_of::<T>()
}

/// Asks for large pages for what `items` may hold. A table of 100 MiB takes 25,600 pages of 4 KiB, for which no
/// processor keeps the translations, or 50 of 2 MiB, for which all do.
fn advise_large_pages<T>(items: &Vec<T>) {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    {
        use rustix::mm::{Advice, madvise};
        const PAGE_BYTES: usize = 4 << 10;
        let bytes = items.capacity() * size_of::<T>();
        if bytes < LARGE_PAGE_BYTES / 2 {
            return;
        }
        // The allocator's header is on the first page.
        let before = items.as_ptr().addr() % PAGE_BYTES;
        let first = items.as_ptr().cast::<u8>().wrapping_sub(before).cast_mut();
        // SAFETY: the advice leaves what the pages hold as it is. A kernel that does not take it says so, and nothing
        // has changed.
        let _ = unsafe { madvise(first.cast(), before + bytes, Advice::LinuxHugepage) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

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
