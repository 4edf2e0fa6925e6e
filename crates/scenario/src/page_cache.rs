//! A page cache of the hosts of an array.

use std::ops::RangeInclusive;

use strewn_base::BLOCK_BYTES;

use crate::fields::{Fields, Scales, Table, Words, choice, count, size, time, whole_percent};
use crate::setting_value::SettingValue;

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

impl Words for WakeUps {
    const WORDS: &'static [(&'static str, Self)] =
        &[("periodic", Self::Periodic), ("after-first-write", Self::AfterFirstWrite)];
}

/// Whether a page cache writes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Behind,
    Through,
}

impl Words for When {
    const WORDS: &'static [(&'static str, Self)] =
        &[("behind", Self::Behind), ("through", Self::Through)];
}

/// Linux counts in hundredths of a second.
const WAKE_UPS_NS: RangeInclusive<u64> = 10_000_000..=3_600_000_000_000;

impl PageCache {
    /// The key of the table.
    pub(crate) const KEY: &str = "page_cache";
}

impl Default for PageCache {
    fn default() -> Self {
        let writes = CacheWrites::Behind {
            dirty_percent: 0,
            background_percent: 0,
            wake_up_ns: 0,
            expiry_ns: 0,
            wake_ups: WakeUps::Periodic,
        };
        Self { bytes: 0, writes, largest_request_bytes: 0, write_requests: 0, copy_kib_ns: 0 }
    }
}

impl Table for PageCache {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            size("size", "Its size.")
                .positive()
                .required("\"4 GiB\"")
                .refusing(refuse_less_than_a_page)
                .scales(Scales::Whole, "page cache of the hosts of {}"),
            &mut self.bytes,
        );
        self.writes.fields(f);
        f.value(
            size(
                "largest_request",
                "The largest request that the cache makes: Linux's max_sectors_kb.",
            )
            .positive()
            .default("\"512 KiB\"", "Linux")
            .refusing(refuse_less_than_a_page),
            &mut self.largest_request_bytes,
        );
        f.value(
            count(
                "write_requests",
                "Requests outstanding that write dirty pages: Linux's nr_requests.",
            )
            .default("128", "Linux"),
            &mut self.write_requests,
        );
        f.value(
            time("copy_per_kib", "What copying a KiB between an application and the cache takes.")
                .default("\"250 ns\"", "chosen: 4 GB/s"),
            &mut self.copy_kib_ns,
        );
    }
}

impl Table for CacheWrites {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let mut when = match self {
            Self::Through => When::Through,
            Self::Behind { .. } => When::Behind,
        };
        f.value(
            choice::<When>(
                "writes",
                "When the array gets a write: behind, later, by the rules of Linux; through, at once, and the application waits.",
            )
            .default("\"behind\"", "Linux"),
            &mut when,
        );
        if when == When::Through && !f.describes() {
            let help = "leave it out";
            let message = "a cache that writes through has no dirty pages";
            let keys =
                ["dirty_percent", "dirty_background_percent", "wake_up", "expiry", "wake_ups"];
            keys.into_iter().for_each(|key| f.refuses(key, message, help));
            *self = Self::Through;
            return;
        }
        let (mut dirty_percent, mut background_percent) = (0, 0);
        let (mut wake_up_ns, mut expiry_ns, mut wake_ups) = (0, 0, WakeUps::Periodic);
        if let Self::Behind {
            dirty_percent: dirty,
            background_percent: background,
            wake_up_ns: wake_up,
            expiry_ns: expiry,
            wake_ups: from,
        } = *self
        {
            (dirty_percent, background_percent) = (dirty, background);
            (wake_up_ns, expiry_ns, wake_ups) = (wake_up, expiry, from);
        }
        f.value(
            whole_percent(
                "dirty_percent",
                "Share that may be dirty before applications wait that write: Linux's dirty_ratio. Only of a cache that \
                 writes behind.",
            )
            .positive()
            .default("20", "Linux")
            .refusing(refuse_nothing_dirty),
            &mut dirty_percent,
        );
        f.value(
            whole_percent(
                "dirty_background_percent",
                "Share above which dirty pages are written: Linux's dirty_background_ratio. Only of a cache that writes \
                 behind.",
            )
            .default("10", "Linux"),
            &mut background_percent,
        );
        f.value(
            time(
                "wake_up",
                "Time between two looks for LUNs that have been dirty for too long: Linux's dirty_writeback_centisecs. \
                 Only of a cache that writes behind.",
            )
            .within(WAKE_UPS_NS)
            .default("\"5 s\"", "Linux")
            .scales(Scales::Whole, "wake-up of the page cache of the hosts of {}"),
            &mut wake_up_ns,
        );
        f.value(
            time(
                "expiry",
                "How long a LUN may be dirty until all its dirty pages are written: Linux's dirty_expire_centisecs. Only \
                 of a cache that writes behind.",
            )
            .default("\"30 s\"", "Linux")
            .scales(Scales::Whole, "expiry in the page cache of the hosts of {}"),
            &mut expiry_ns,
        );
        f.value(
            choice::<WakeUps>(
                "wake_ups",
                "From when the time between two looks counts: from the start of the run, as in Linux up to 2.6.35, or \
                 from when a page becomes dirty and no other is. Only of a cache that writes behind.",
            )
            .default("\"periodic\"", "Linux up to 2.6.35")
            .unless_default(),
            &mut wake_ups,
        );
        *self = Self::Behind { dirty_percent, background_percent, wake_up_ns, expiry_ns, wake_ups };
    }
}

fn refuse_less_than_a_page(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(bytes) = *value else { return None };
    let (message, help) = ("is less than a page".to_owned(), "give at least 4 KiB".to_owned());
    (bytes < BLOCK_BYTES).then_some((message, help))
}

fn refuse_nothing_dirty(value: &SettingValue) -> Option<(String, String)> {
    let help = "give at least 1 %, or writes = \"through\"";
    (*value == SettingValue::Count(0)).then(|| ("is 0 %".to_owned(), help.to_owned()))
}
