//! A page cache of the hosts of an array.

use std::ops::RangeInclusive;

use crate::section::Section;
use crate::value;

/// A page cache between the workload and the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCache {
    /// Its size, in bytes.
    pub bytes: u64,
    /// When it writes.
    pub writes: CacheWrites,
    /// The largest request that it makes, in bytes.
    pub largest_request_bytes: u64,
    /// Requests outstanding that write dirty pages.
    pub write_requests: u32,
    /// What copying a KiB between an application and the cache takes, in nanoseconds.
    pub copy_kib_ns: u64,
}

/// When a page cache writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheWrites {
    /// At once, and the application waits.
    Through,
    /// Later, by the rules of Linux.
    Behind {
        /// Share that may be dirty before applications wait that write, in percent.
        dirty_percent: u8,
        /// Share above which dirty pages are written, in percent.
        background_percent: u8,
        /// Time between two looks for files that have been dirty for too long, in nanoseconds.
        wake_up_ns: u64,
        /// How long a file may be dirty, in nanoseconds.
        expiry_ns: u64,
        /// From when the time between two looks counts.
        wake_ups: WakeUps,
    },
}

/// From when the times between two looks of a page cache count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeUps {
    /// From the start of the run.
    Periodic,
    /// From when a page becomes dirty and no other is.
    AfterFirstWrite,
}

/// The words for [`WakeUps`].
pub(crate) const WAKE_UPS: [(&str, WakeUps); 2] =
    [("periodic", WakeUps::Periodic), ("after-first-write", WakeUps::AfterFirstWrite)];

/// The words for [`CacheWrites`]: whether they are behind.
const WRITES: [(&str, bool); 2] = [("behind", true), ("through", false)];

/// Linux counts in hundredths of a second.
const WAKE_UPS_NS: RangeInclusive<u64> = 10_000_000..=3_600_000_000_000;

/// The keys that only a cache has that writes behind.
const BEHIND_KEYS: [&str; 5] =
    ["dirty_percent", "dirty_background_percent", "wake_up", "expiry", PageCache::WAKE_UPS];

impl PageCache {
    /// The key of the table.
    pub(crate) const KEY: &str = "page_cache";
    /// The key of [`WakeUps`].
    pub(crate) const WAKE_UPS: &str = "wake_ups";

    /// Reads `[array.page_cache]`.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Self> {
        let s = &mut section;
        let bytes = s.required("size", "\"4 GiB\"", value::positive_bytes);
        let is_behind = s.optional_or("writes", true, |v| value::choice(v, &WRITES));
        let dirty_percent = s.optional_or("dirty_percent", 20, value::whole_percent);
        let background_percent =
            s.optional_or("dirty_background_percent", 10, value::whole_percent);
        let wake_up_ns =
            s.optional_or("wake_up", 5_000_000_000, |v| value::nanoseconds_of(v, &WAKE_UPS_NS));
        let expiry_ns = s.optional_or("expiry", 30_000_000_000, value::nanoseconds);
        let wake_ups =
            s.optional_or(Self::WAKE_UPS, WakeUps::Periodic, |v| value::choice(v, &WAKE_UPS));
        let largest_request_bytes =
            s.optional_or("largest_request", 512 << 10, value::positive_bytes);
        let write_requests = s.optional_or("write_requests", 128, value::positive_count);
        let copy_kib_ns = s.optional_or("copy_per_kib", 250, value::nanoseconds);
        for (key, bytes) in [("size", bytes), ("largest_request", largest_request_bytes)] {
            if bytes.is_some_and(|bytes| bytes < strewn_base::BLOCK_BYTES) {
                s.problem(key, "is less than a page", "give at least 4 KiB");
            }
        }
        if dirty_percent == Some(0) {
            s.problem("dirty_percent", "is 0 %", "give at least 1 %, or writes = \"through\"");
        }
        let misplaced = BEHIND_KEYS.into_iter().find(|key| s.has(key));
        if let (Some(false), Some(key)) = (is_behind, misplaced) {
            s.problem(key, "a cache that writes through has no dirty pages", "leave it out");
        }
        section.finish();
        Some(Self {
            bytes: bytes?,
            writes: match is_behind? {
                false => CacheWrites::Through,
                true => CacheWrites::Behind {
                    dirty_percent: dirty_percent?,
                    background_percent: background_percent?,
                    wake_up_ns: wake_up_ns?,
                    expiry_ns: expiry_ns?,
                    wake_ups: wake_ups?,
                },
            },
            largest_request_bytes: largest_request_bytes?,
            write_requests: write_requests?,
            copy_kib_ns: copy_kib_ns?,
        })
    }
}
