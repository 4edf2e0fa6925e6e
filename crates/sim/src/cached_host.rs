//! A host with a page cache.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::saved_state;
use strewn_base::state::SavedValue;

use crate::host::{Host, HostError, HostMeasures};
use crate::layered_host::{HostLayer, LayeredHost};
use crate::machine::{EventQueue, Requests};
use crate::page_cache::{
    PAGE_SECTORS, PageCacheConfig, PageCacheMeasures, Pages, WakeUps, pages_of,
};

/// A host whose applications, another [`Host`], reach their LUNs through a page cache; or several hosts, each with one.
///
/// What it measures is what applications see: an operation is answered when its pages are copied from or to the cache.
/// It is done when its applications are and everything dirty has been written, as if each called `fsync` at the end.
///
/// ```
/// use strewn_sim::{CachedHost, ClosedLoop, PageCacheConfig};
/// use strewn_workload::{AccessSpecification, AccessStream};
///
/// let accesses = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let applications = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 23, 1)?, 32);
/// let host = CachedHost::new(Box::new(applications), PageCacheConfig::write_behind(1 << 30), vec![1 << 23])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type CachedHost = LayeredHost<PageCaches>;

/// The page caches of a [`CachedHost`].
#[derive(Debug)]
pub struct PageCaches {
    settings: PageCacheConfig,
    /// Sectors of each LUN, so that no request goes past its end.
    lun_sectors: Vec<u64>,
    /// LUNs of each cache: the first so many have the first one.
    luns_per_cache: usize,
    caches: Vec<Cache>,
    /// Applications' operations in progress.
    operations: BTreeMap<u32, InProgress>,
    /// Operations that end at a time.
    ending: EventQueue<u32>,
    in_progress: Requests<Request>,
    next_wake_up_ns: u64,
    /// Requests that wrote dirty pages and were refused: nobody waits for them.
    lost_requests: u64,
    measures: PageCacheMeasures,
}

saved_state! {
    impl for PageCaches {
        parts:;
        values: caches, operations, ending, in_progress, next_wake_up_ns, lost_requests, measures;
        built: settings, lun_sectors, luns_per_cache;
    }
}

/// The cache of a host.
#[derive(Debug, Default, SavedValue)]
struct Cache {
    pages: Pages,
    /// Operations that wait until fewer pages are dirty, and since when.
    throttled: VecDeque<(OperationId, u64)>,
    /// Requests that write dirty pages in progress.
    writing_requests: u32,
}

/// An application's operation.
#[derive(Debug, Clone, Copy, SavedValue)]
struct InProgress {
    lun: LunId,
    direction: Direction,
    first_sector: u64,
    sectors: u32,
    /// Requests that it waits for.
    awaits: u32,
    /// Whether it has been written through.
    is_written: bool,
    is_refused: bool,
}

/// A request to a LUN.
#[derive(Debug, Clone, SavedValue)]
enum Request {
    /// Reads pages that operations wait for.
    Fills { lun: LunId, pages: Range<u64>, waiting: Vec<OperationId> },
    /// Writes dirty pages.
    Cleans { lun: LunId, pages: Range<u64> },
    /// Writes an operation's sectors.
    WritesThrough(OperationId),
}

impl PageCaches {
    /// Pages dirty or being written, of all caches.
    fn unwritten(&self) -> u64 {
        self.caches.iter().map(|cache| cache.pages.unwritten()).sum()
    }
}

impl LayeredHost<PageCaches> {
    /// Puts a page cache under `applications`, whose LUNs have so many sectors each.
    ///
    /// # Errors
    /// If there can be no cache with such settings.
    pub fn new(
        applications: Box<dyn Host>,
        settings: PageCacheConfig,
        lun_sectors: Vec<u64>,
    ) -> Result<Self, HostError> {
        Self::of_hosts(1, applications, settings, lun_sectors)
    }

    /// Puts a page cache under the applications of each of `hosts`. The first one has the first `lun_sectors.len()`
    /// LUNs, the second one as many that follow, and so on, of the same sizes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_hosts(
        hosts: u16,
        applications: Box<dyn Host>,
        settings: PageCacheConfig,
        lun_sectors: Vec<u64>,
    ) -> Result<Self, HostError> {
        settings.check()?;
        let cache = || Cache { pages: Pages::new(&settings), ..Cache::default() };
        let luns_per_cache = lun_sectors.len().max(1);
        let lun_sectors = lun_sectors.repeat(hosts.into());
        let layer = PageCaches {
            settings,
            lun_sectors,
            luns_per_cache,
            caches: (0..hosts).map(|_| cache()).collect(),
            operations: BTreeMap::new(),
            ending: EventQueue::default(),
            in_progress: Requests::default(),
            next_wake_up_ns: settings.behind().map_or(u64::MAX, |behind| behind.wake_up_ns),
            lost_requests: 0,
            measures: PageCacheMeasures::default(),
        };
        Ok(Self::of(applications, layer))
    }

    /// The cache of the host that has a LUN.
    fn cache(&mut self, lun: LunId) -> &mut Cache {
        &mut self.layer.caches[usize::from(lun.0) / self.layer.luns_per_cache]
    }

    /// Reads those of `pages` that are not there. Returns for how many requests `id` has to wait, and how many pages
    /// are there.
    fn fill(&mut self, id: OperationId, lun: LunId, pages: Range<u64>) -> (u32, u64) {
        let (mut awaits, mut at, mut hits) = (0, pages.start, 0);
        let mut joined = None;
        while at < pages.end {
            let page = (lun.0, at);
            if let Some(request) = self.cache(lun).pages.filling(page) {
                if joined != Some(request)
                    && let Request::Fills { waiting, .. } = self.layer.in_progress.get_mut(request)
                {
                    joined = Some(request);
                    waiting.push(id);
                    awaits += 1;
                }
                at += 1;
            } else if self.cache(lun).pages.holds(page) {
                hits += 1;
                at += 1;
            } else {
                let most = self.layer.settings.largest_request_pages().min(pages.end - at);
                let missing = (at..at + most)
                    .take_while(|page| !self.cache(lun).pages.holds((lun.0, *page)))
                    .count() as u64;
                let run = at..at + missing;
                let waiting = vec![id];
                let slot = self.layer.in_progress.insert(Request::Fills {
                    lun,
                    pages: run.clone(),
                    waiting,
                });
                for page in run.clone() {
                    self.cache(lun).pages.fill((lun.0, page), slot);
                }
                let sectors = self.issue_pages(slot, lun, Direction::Read, run);
                self.layer.measures.bytes_filled += sectors * strewn_base::SECTOR_BYTES;
                awaits += 1;
                at += missing;
            }
        }
        (awaits, hits)
    }

    /// An operation has every page that it waited for.
    fn proceed(&mut self, now_ns: u64, id: OperationId) {
        let Some(operation) = self.layer.operations.get_mut(&id.0) else {
            unreachable!("{id:?} has ended")
        };
        let InProgress { lun, direction, first_sector, sectors, is_written, is_refused, .. } =
            *operation;
        let pages = pages_of(first_sector, sectors).map(|page| (lun.0, page));
        match (direction, self.layer.settings.behind().copied()) {
            _ if is_refused => self.end_at(now_ns, id),
            (Direction::Read, _) => {
                pages.for_each(|page| self.cache(lun).pages.touch(page));
                self.end_after_copy(now_ns, id, sectors);
            }
            (Direction::Write, Some(behind)) => {
                if behind.wake_ups == WakeUps::AfterFirstWrite
                    && self.layer.caches.iter().all(|cache| cache.pages.is_clean())
                {
                    self.layer.next_wake_up_ns = now_ns + behind.wake_up_ns;
                }
                let cache = self.cache(lun);
                pages.for_each(|page| cache.pages.soil(now_ns, page));
                if cache.pages.is_too_dirty() {
                    cache.throttled.push_back((id, now_ns));
                } else {
                    self.end_after_copy(now_ns, id, sectors);
                }
            }
            (Direction::Write, None) if !is_written => {
                operation.is_written = true;
                operation.awaits = 1;
                let slot = self.layer.in_progress.insert(Request::WritesThrough(id));
                self.layer.measures.bytes_written += u64::from(sectors) * strewn_base::SECTOR_BYTES;
                self.layer.measures.write_requests += 1;
                self.issue(slot, lun, direction, first_sector, sectors);
            }
            (Direction::Write, None) => {
                // Pages that were written in part are not there, unless they were before.
                let end_sector = first_sector + u64::from(sectors);
                let whole = first_sector.div_ceil(PAGE_SECTORS)..end_sector / PAGE_SECTORS;
                whole.for_each(|page| self.cache(lun).pages.clean((lun.0, page)));
                self.end_after_copy(now_ns, id, sectors);
            }
        }
    }

    fn end_after_copy(&mut self, now_ns: u64, id: OperationId, sectors: u32) {
        self.end_at(now_ns + self.layer.settings.copy_ns(sectors), id);
    }

    fn end_at(&mut self, at_ns: u64, id: OperationId) {
        self.layer.ending.schedule(at_ns, id.0);
    }

    /// Issues a request of pages, and returns its sectors: the last page of a LUN may be shorter.
    fn issue_pages(
        &mut self,
        slot: u32,
        lun: LunId,
        direction: Direction,
        pages: Range<u64>,
    ) -> u64 {
        let end = (pages.end * PAGE_SECTORS).min(self.layer.lun_sectors[usize::from(lun.0)]);
        let first_sector = pages.start * PAGE_SECTORS;
        self.issue(slot, lun, direction, first_sector, (end - first_sector) as u32);
        end - first_sector
    }

    fn issue(
        &mut self,
        slot: u32,
        lun: LunId,
        direction: Direction,
        first_sector: u64,
        sectors: u32,
    ) {
        let id = OperationId(slot);
        let request = HostOperation { id, lun, direction, first_sector, sectors, payload: () };
        self.requests.push(request);
    }

    fn awaits_one_less(&mut self, now_ns: u64, id: OperationId, is_refused: bool) {
        let Some(operation) = self.layer.operations.get_mut(&id.0) else {
            unreachable!("{id:?} has ended")
        };
        operation.awaits -= 1;
        operation.is_refused |= is_refused;
        if operation.awaits == 0 {
            self.proceed(now_ns, id);
        }
    }
}

impl HostLayer for CachedHost {
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = *operation;
        let of_lun = self.layer.lun_sectors.get(usize::from(lun.0)).copied().unwrap_or(0);
        assert!(
            first_sector + u64::from(sectors) <= of_lun,
            "{id:?} ends past its LUN's {of_lun} sectors"
        );
        let mut in_progress = InProgress {
            lun,
            direction,
            first_sector,
            sectors,
            awaits: 0,
            is_written: false,
            is_refused: false,
        };
        let pages = pages_of(first_sector, sectors);
        match (direction, self.layer.settings.behind()) {
            (Direction::Read, _) => {
                let (awaits, hits) = self.fill(id, lun, pages.clone());
                in_progress.awaits = awaits;
                self.layer.measures.pages_read += pages.end - pages.start;
                self.layer.measures.pages_hit += hits;
            }
            (Direction::Write, Some(_)) => {
                // A page that is written in part is read first, if it is not there.
                let end_sector = first_sector + u64::from(sectors);
                let last = pages.end - 1;
                let ends_inside = end_sector % PAGE_SECTORS != 0 && end_sector != of_lun;
                if first_sector % PAGE_SECTORS != 0 || (pages.start == last && ends_inside) {
                    in_progress.awaits += self.fill(id, lun, pages.start..pages.start + 1).0;
                }
                if last > pages.start && ends_inside {
                    in_progress.awaits += self.fill(id, lun, last..pages.end).0;
                }
            }
            (Direction::Write, None) => {}
        }
        let goes_on = in_progress.awaits == 0;
        self.layer.operations.insert(id.0, in_progress);
        if goes_on {
            self.proceed(now_ns, id);
        }
    }

    fn request_done(&mut self, now_ns: u64, id: OperationId, is_refused: bool) {
        match self.layer.in_progress.remove(id.0) {
            Request::Fills { lun, pages, waiting } => {
                for page in pages.map(|page| (lun.0, page)) {
                    match is_refused {
                        true => self.cache(lun).pages.forget(page),
                        false => self.cache(lun).pages.clean(page),
                    }
                }
                waiting.into_iter().for_each(|id| self.awaits_one_less(now_ns, id, is_refused));
            }
            Request::Cleans { lun, pages } => {
                self.layer.lost_requests += u64::from(is_refused);
                let cache = self.cache(lun);
                cache.writing_requests -= 1;
                cache.pages.written(now_ns, lun, pages);
                while let cache = self.cache(lun)
                    && !cache.pages.is_too_dirty()
                    && let Some((id, since_ns)) = cache.throttled.pop_front()
                {
                    self.layer.measures.throttled_ns += now_ns - since_ns;
                    let sectors =
                        self.layer.operations.get(&id.0).map_or(0, |operation| operation.sectors);
                    self.end_after_copy(now_ns, id, sectors);
                }
            }
            Request::WritesThrough(id) => self.awaits_one_less(now_ns, id, is_refused),
        }
    }

    fn next_due_ns(&self) -> u64 {
        let Self { layer, .. } = self;
        let wake_up_ns = if layer.unwritten() > 0 { layer.next_wake_up_ns } else { u64::MAX };
        layer.ending.next_ns().min(wake_up_ns)
    }

    /// Ends operations whose time has come. Applications may issue others in reply.
    fn run_due(&mut self, now_ns: u64) {
        while self.layer.ending.next_ns() <= now_ns
            && let Some(id) = self.layer.ending.take()
        {
            let ended = self.layer.operations.remove(&id);
            let is_refused = ended.is_some_and(|operation| operation.is_refused);
            if self.end(now_ns, OperationId(id), is_refused) {
                // Others get their turn: with a cost of nothing, this could go on for ever.
                return;
            }
        }
    }

    /// Writes dirty pages as far as the rules want it and requests may be outstanding.
    fn before_issue(&mut self, now_ns: u64) {
        let Some(behind) = self.layer.settings.behind().copied() else { return };
        let age_ns = match self.applications.is_done() {
            true => Some(0),
            false => (now_ns >= self.layer.next_wake_up_ns).then_some(behind.expiry_ns),
        };
        if let Some(age_ns) = age_ns {
            self.layer.caches.iter_mut().for_each(|cache| cache.pages.flush(now_ns, age_ns));
        }
        if now_ns >= self.layer.next_wake_up_ns {
            self.layer.next_wake_up_ns = match behind.wake_ups {
                WakeUps::Periodic => (now_ns / behind.wake_up_ns + 1) * behind.wake_up_ns,
                WakeUps::AfterFirstWrite => now_ns + behind.wake_up_ns,
            };
        }
        let most = self.layer.settings.largest_request_pages();
        for index in 0..self.layer.caches.len() {
            while let cache = &mut self.layer.caches[index]
                && cache.writing_requests < self.layer.settings.write_requests
                && let Some((lun, pages)) = cache.pages.next_to_write(now_ns, most)
            {
                cache.writing_requests += 1;
                let slot =
                    self.layer.in_progress.insert(Request::Cleans { lun, pages: pages.clone() });
                let sectors = self.issue_pages(slot, lun, Direction::Write, pages);
                self.layer.measures.bytes_written += sectors * strewn_base::SECTOR_BYTES;
                self.layer.measures.write_requests += 1;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.layer.operations.is_empty() && self.layer.unwritten() == 0
    }

    fn writes_behind(&self) -> bool {
        self.layer.unwritten() > 0
    }

    fn measure(&mut self, _end_ns: u64, measures: &mut HostMeasures) {
        let layer = &mut self.layer;
        measures.refused += std::mem::take(&mut layer.lost_requests);
        let bytes_dirty = layer.unwritten() * PAGE_SECTORS * strewn_base::SECTOR_BYTES;
        let of_caches = std::mem::take(&mut layer.measures);
        measures.page_cache = Some(Box::new(PageCacheMeasures { bytes_dirty, ..of_caches }));
    }
}
