//! A host's page cache: which pages it holds, which of them are dirty, and when these are to be written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use strewn_array::LunId;
use strewn_base::state::SavedValue;

use crate::host::HostError;

/// Sectors of a page: 4 KiB.
pub(crate) const PAGE_SECTORS: u64 = 8;

/// Bytes of a page.
const PAGE_BYTES: u64 = PAGE_SECTORS * strewn_base::SECTOR_BYTES;

/// A page cache between a host's applications and its LUNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCacheConfig {
    /// Its size, in bytes. It holds pages of 4 KiB, and replaces the least recently used clean one.
    pub bytes: u64,
    /// When it writes.
    pub writes: WritePolicy,
    /// The largest request that it makes, in bytes. Linux's `max_sectors_kb` was 512 KiB for long.
    pub largest_request_bytes: u64,
    /// A request that writes and could be longer ends at a multiple of so many bytes, so that it covers whole stripes
    /// of a file. A page for LUNs without any.
    pub stripe_bytes: u64,
    /// How many requests that write dirty pages are outstanding at most. Linux's `nr_requests` is 128.
    pub write_requests: u32,
    /// Time to copy a KiB between an application and the cache, in nanoseconds.
    pub copy_kib_ns: u64,
}

/// When a page cache writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePolicy {
    /// At once, and the application waits, as with Windows' `FILE_FLAG_WRITE_THROUGH` or `O_SYNC`.
    Through,
    /// Later, by the rules of Linux.
    Behind(WriteBehind),
}

/// Linux's rules of when dirty pages are written (Documentation/sysctl/vm.txt).
///
/// The defaults are today's. Linux 2.6 had 40 % and 10 % up to 2.6.21, and 10 % and 5 % from 2.6.22 up to 2.6.29.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteBehind {
    /// `dirty_ratio`: an application that writes waits while more than this share of the cache is dirty or being
    /// written, in percent.
    pub dirty_percent: u32,
    /// `dirty_background_ratio`: dirty pages are written until no more than this share of the cache is dirty, in
    /// percent. Half of `dirty_percent` if that is not more.
    pub background_percent: u32,
    /// `dirty_writeback_centisecs`: how often the cache looks for files that have been dirty for too long, in
    /// nanoseconds.
    pub wake_up_ns: u64,
    /// From when these times count.
    pub wake_ups: WakeUps,
    /// `dirty_expire_centisecs`: how long a file, here a LUN, may have dirty pages until all of them are written, in
    /// nanoseconds.
    pub expiry_ns: u64,
}

/// From when the times between two looks count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WakeUps {
    /// From the start of the run: up to Linux 2.6.35, whose `pdflush` had one timer for all.
    #[default]
    Periodic,
    /// From when a page becomes dirty and no other is: since Linux 2.6.36 (`wb_wakeup_delayed` of fs/fs-writeback.c).
    AfterFirstWrite,
}

impl Default for WriteBehind {
    fn default() -> Self {
        Self {
            dirty_percent: 20,
            background_percent: 10,
            wake_up_ns: 5_000_000_000,
            wake_ups: WakeUps::default(),
            expiry_ns: 30_000_000_000,
        }
    }
}

impl PageCacheConfig {
    /// A cache of `bytes` that writes by today's rules of Linux, and copies 4 GiB/s.
    #[must_use]
    pub fn write_behind(bytes: u64) -> Self {
        Self {
            bytes,
            writes: WritePolicy::Behind(WriteBehind::default()),
            largest_request_bytes: 512 << 10,
            stripe_bytes: PAGE_BYTES,
            write_requests: 128,
            copy_kib_ns: 250,
        }
    }

    /// A cache of `bytes` that writes at once, and copies 4 GiB/s.
    #[must_use]
    pub fn write_through(bytes: u64) -> Self {
        Self { writes: WritePolicy::Through, ..Self::write_behind(bytes) }
    }

    /// # Errors
    /// If a setting leaves no page to hold, to make dirty or to write.
    pub(crate) fn check(&self) -> Result<(), HostError> {
        if self.bytes < PAGE_BYTES || self.largest_request_bytes < PAGE_BYTES {
            return Err(HostError::NoPage);
        }
        if self.write_requests == 0 {
            return Err(HostError::NoRequest);
        }
        match self.writes {
            WritePolicy::Behind(WriteBehind { dirty_percent, .. })
                if !(1..=100).contains(&dirty_percent) =>
            {
                Err(HostError::DirtyShare(dirty_percent))
            }
            WritePolicy::Behind(WriteBehind { wake_up_ns: 0, .. }) => Err(HostError::NoWakeUp),
            _ => Ok(()),
        }
    }

    pub(crate) fn largest_request_pages(&self) -> u64 {
        self.largest_request_bytes / PAGE_BYTES
    }

    pub(crate) fn copy_ns(&self, sectors: u32) -> u64 {
        u64::from(sectors) * strewn_base::SECTOR_BYTES * self.copy_kib_ns / 1024
    }

    pub(crate) fn behind(&self) -> Option<&WriteBehind> {
        match &self.writes {
            WritePolicy::Behind(behind) => Some(behind),
            WritePolicy::Through => None,
        }
    }
}

/// What a page cache did in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct PageCacheMeasures {
    /// Pages that applications read.
    pub pages_read: u64,
    /// Those of them that the cache held.
    pub pages_hit: u64,
    /// Bytes that the cache read from LUNs, for what applications read and for pages that they wrote a part of.
    pub bytes_filled: u64,
    /// Bytes that the cache wrote to LUNs.
    pub bytes_written: u64,
    /// Requests with which it wrote them.
    pub write_requests: u64,
    /// How long applications that wrote waited for pages to become clean, summed, in nanoseconds.
    pub throttled_ns: u64,
    /// Bytes dirty or being written at the end.
    pub bytes_dirty: u64,
}

/// A page: its LUN, and its place there.
pub(crate) type PageKey = (u16, u64);

/// What a page is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Page {
    /// Request so-and-so reads it.
    Filling(u32),
    /// As on its LUN; when it was last used, by a count of uses.
    Clean(u64),
    /// Newer than on its LUN.
    Dirty,
    /// Being written, and whether it has become dirty again since.
    Writing { again: bool },
}

/// The pages of a cache, and what is to be written. It has no clock and makes no requests.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct Pages {
    pages: BTreeMap<PageKey, Page>,
    /// Clean pages, the least recently used first.
    clean: BTreeMap<u64, PageKey>,
    dirty: BTreeSet<PageKey>,
    uses: u64,
    writing: u64,
    /// Since when each LUN has dirty pages.
    dirty_since: BTreeMap<u16, u64>,
    /// LUNs whose dirty pages are being written for their age, or for a sync, and where that has come to.
    flushed: BTreeMap<u16, u64>,
    /// Where writing for the number of dirty pages goes on.
    background_at: PageKey,
    capacity: u64,
    most_dirty: u64,
    most_background: u64,
    stripe: u64,
}

/// Pages of a LUN.
pub(crate) fn pages_of(first_sector: u64, sectors: u32) -> Range<u64> {
    first_sector / PAGE_SECTORS..(first_sector + u64::from(sectors)).div_ceil(PAGE_SECTORS)
}

impl Pages {
    pub(crate) fn new(settings: &PageCacheConfig) -> Self {
        let capacity = settings.bytes / PAGE_BYTES;
        let (mut most_dirty, mut most_background) = (capacity, capacity);
        if let Some(behind) = settings.behind() {
            let share = |percent: u32| capacity * u64::from(percent) / 100;
            most_dirty = share(behind.dirty_percent).max(1);
            most_background = share(behind.background_percent);
            if most_background >= most_dirty {
                most_background = most_dirty / 2;
            }
        }
        let stripe = (settings.stripe_bytes / PAGE_BYTES).max(1);
        Self { capacity, most_dirty, most_background, stripe, ..Self::default() }
    }

    /// The request that fills a page, if one does; `None` for a page that is not there either.
    pub(crate) fn filling(&self, page: PageKey) -> Option<u32> {
        match self.pages.get(&page) {
            Some(Page::Filling(request)) => Some(*request),
            _ => None,
        }
    }

    pub(crate) fn holds(&self, page: PageKey) -> bool {
        self.pages.contains_key(&page)
    }

    /// `request` begins to read a page.
    pub(crate) fn fill(&mut self, page: PageKey, request: u32) {
        self.pages.insert(page, Page::Filling(request));
        self.replace();
    }

    /// A page that was filled or written through is as on its LUN. One that has become dirty meanwhile stays so.
    pub(crate) fn clean(&mut self, page: PageKey) {
        if !matches!(self.pages.get(&page), Some(Page::Dirty | Page::Writing { .. })) {
            self.use_clean(page);
            self.replace();
        }
    }

    /// A page could not be filled.
    pub(crate) fn forget(&mut self, page: PageKey) {
        if matches!(self.pages.get(&page), Some(Page::Filling(_))) {
            self.pages.remove(&page);
        }
    }

    /// A page is read.
    pub(crate) fn touch(&mut self, page: PageKey) {
        if matches!(self.pages.get(&page), Some(Page::Clean(_))) {
            self.use_clean(page);
        }
    }

    fn use_clean(&mut self, page: PageKey) {
        self.uses += 1;
        if let Some(Page::Clean(used)) = self.pages.insert(page, Page::Clean(self.uses)) {
            self.clean.remove(&used);
        }
        self.clean.insert(self.uses, page);
    }

    /// A page is written by an application.
    pub(crate) fn soil(&mut self, now_ns: u64, page: PageKey) {
        self.dirty_since.entry(page.0).or_insert(now_ns);
        match self.pages.get_mut(&page) {
            Some(Page::Dirty) => {}
            Some(Page::Writing { again }) => *again = true,
            before => {
                if let Some(Page::Clean(used)) = before {
                    self.clean.remove(used);
                }
                self.pages.insert(page, Page::Dirty);
                self.dirty.insert(page);
                self.replace();
            }
        }
    }

    /// Drops clean pages that there is no room for. Dirty ones stay, whatever the cache's size.
    fn replace(&mut self) {
        while self.pages.len() as u64 > self.capacity {
            let Some((_, page)) = self.clean.pop_first() else { return };
            self.pages.remove(&page);
        }
    }

    /// Whether applications that write have to wait.
    pub(crate) fn is_too_dirty(&self) -> bool {
        self.unwritten() > self.most_dirty
    }

    /// Whether no page waits to be written.
    pub(crate) fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    /// Pages dirty or being written.
    pub(crate) fn unwritten(&self) -> u64 {
        self.dirty.len() as u64 + self.writing
    }

    /// Lets LUNs be written that have been dirty for `age_ns`.
    pub(crate) fn flush(&mut self, now_ns: u64, age_ns: u64) {
        for (lun, since_ns) in &self.dirty_since {
            if now_ns - since_ns >= age_ns {
                self.flushed.entry(*lun).or_insert(0);
            }
        }
    }

    /// The next run of dirty pages to be written, of at most `most` pages, which is then being written.
    pub(crate) fn next_to_write(&mut self, now_ns: u64, most: u64) -> Option<(LunId, Range<u64>)> {
        while let Some((lun, at)) = self.flushed.first_key_value().map(|(lun, at)| (*lun, *at)) {
            match self.dirty.range((lun, at)..=(lun, u64::MAX)).next().copied() {
                Some(first) => {
                    let run = self.write(now_ns, first, most);
                    self.flushed.insert(lun, run.1.end);
                    return Some(run);
                }
                None => {
                    self.flushed.remove(&lun);
                    self.age_from(now_ns, lun);
                }
            }
        }
        if self.dirty.len() as u64 <= self.most_background {
            return None;
        }
        let ahead = self.dirty.range(self.background_at..).next();
        let first = *ahead.or_else(|| self.dirty.first())?;
        let run = self.write(now_ns, first, most);
        self.background_at = (first.0, run.1.end);
        Some(run)
    }

    /// A LUN's dirty pages have all been looked at: what is dirty now counts as dirty from now on.
    fn age_from(&mut self, now_ns: u64, lun: u16) {
        match self.dirty.range((lun, 0)..=(lun, u64::MAX)).next() {
            Some(_) => self.dirty_since.insert(lun, now_ns),
            None => self.dirty_since.remove(&lun),
        };
    }

    fn write(&mut self, now_ns: u64, first: PageKey, most: u64) -> (LunId, Range<u64>) {
        let (lun, start) = first;
        let longest = start + most;
        let whole = longest - longest % self.stripe.max(1);
        let limit = if whole > start { whole } else { longest };
        let mut end = start;
        while end < limit && self.dirty.remove(&(lun, end)) {
            self.pages.insert((lun, end), Page::Writing { again: false });
            end += 1;
        }
        self.writing += end - start;
        if !self.flushed.contains_key(&lun)
            && self.dirty.range((lun, 0)..=(lun, u64::MAX)).next().is_none()
        {
            self.age_from(now_ns, lun);
        }
        (LunId(lun), start..end)
    }

    /// Pages have been written.
    pub(crate) fn written(&mut self, now_ns: u64, lun: LunId, pages: Range<u64>) {
        self.writing -= pages.end - pages.start;
        for page in pages.map(|page| (lun.0, page)) {
            match self.pages.get(&page) {
                Some(Page::Writing { again: true }) => {
                    self.pages.insert(page, Page::Dirty);
                    self.dirty.insert(page);
                    self.dirty_since.entry(page.0).or_insert(now_ns);
                }
                Some(Page::Writing { again: false }) => self.use_clean(page),
                other => unreachable!("page {page:?} was being written, and is {other:?}"),
            }
        }
        self.replace();
    }
}
