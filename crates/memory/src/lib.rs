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
    let words = vec![0; count];
    advise_large_pages(words.as_ptr(), count);
    words
}

/// `count` times `value`, in large pages where the kernel has them.
#[must_use]
pub fn filled<T: Copy>(value: T, count: usize) -> Vec<T> {
    let mut items = Vec::with_capacity(count);
    // Before they are written: pages that are there already stay small.
    advise_large_pages(items.as_ptr(), count);
    items.resize(count, value);
    items
}

/// Asks for large pages where `count` items from `first` on cover any whole. A table of 100 MiB takes 25,600 pages of
/// 4 KiB, for which no processor keeps the translations, or 50 of 2 MiB, for which all do.
fn advise_large_pages<T>(first: *const T, count: usize) {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    {
        use rustix::mm::{Advice, madvise};
        const LARGE_PAGE_BYTES: usize = 2 << 20;
        let start = first.addr().next_multiple_of(LARGE_PAGE_BYTES);
        let end = (first.addr() + count * size_of::<T>()) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
        if start < end {
            let start_at = first.with_addr(start).cast_mut().cast();
            // SAFETY: the pages belong to one allocation, and this advice leaves what they hold as it is. A kernel
            // that has no large pages says so, which changes nothing.
            let _ = unsafe { madvise(start_at, end - start, Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, count);
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
