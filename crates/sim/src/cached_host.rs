//! A host with a page cache.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};
use strewn_workload::Access;

use crate::host::{AccessesError, Host, HostMeasures, Moved};
use crate::page_cache::{
    PAGE_SECTORS, PageCacheError, PageCacheMeasures, PageCacheSettings, Pages, WakeUps, pages_of,
};

/// A host whose applications, another [`Host`], reach their LUNs through a page cache; or several hosts, each with one.
///
/// What it measures is what applications see: an operation is answered when its pages are copied from or to the cache. It
/// is done when its applications are and everything dirty has been written, as if each called `fsync` at the end.
///
/// ```
/// use strewn_sim::{CachedHost, ClosedLoop, PageCacheSettings};
/// use strewn_workload::{AccessSpecification, AccessStream};
///
/// let accesses = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let applications = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 23, 1)?, 32);
/// let host = CachedHost::new(applications, PageCacheSettings::write_behind(1 << 30), vec![1 << 23])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CachedHost<H> {
    applications: H,
    settings: PageCacheSettings,
    /// Sectors of each LUN, so that no request goes past its end.
    lun_sectors: Vec<u64>,
    /// LUNs of each cache: the first so many have the first one.
    luns_per_cache: usize,
    state: CacheState,
}

/// What changes while a [`CachedHost`] runs.
#[derive(Debug, Default, SavedValue)]
struct CacheState {
    caches: Vec<Cache>,
    /// Applications' operations in progress.
    operations: BTreeMap<u32, InProgress>,
    /// Operations that end at a time, the earliest first.
    ending: BinaryHeap<Reverse<(u64, u64, u32)>>,
    endings: u64,
    /// Requests to LUNs in progress.
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
    /// Requests to be issued.
    ready: VecDeque<HostOperation<()>>,
    now_ns: u64,
    next_wake_up_ns: u64,
    issued: Moved,
    /// Requests that wrote dirty pages and were refused: nobody waits for them.
    lost_requests: u64,
    measures: PageCacheMeasures,
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

impl CacheState {
    /// Pages dirty or being written, of all caches.
    fn unwritten(&self) -> u64 {
        self.caches.iter().map(|cache| cache.pages.unwritten()).sum()
    }
}

impl<H: Host> CachedHost<H> {
    /// Puts a page cache under `applications`, whose LUNs have so many sectors each.
    ///
    /// # Errors
    /// If there can be no cache with such settings.
    pub fn new(
        applications: H,
        settings: PageCacheSettings,
        lun_sectors: Vec<u64>,
    ) -> Result<Self, PageCacheError> {
        Self::of_hosts(1, applications, settings, lun_sectors)
    }

    /// Puts a page cache under the applications of each of `hosts`. The first one has the first `lun_sectors.len()` LUNs,
    /// the second one as many that follow, and so on, of the same sizes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_hosts(
        hosts: u16,
        applications: H,
        settings: PageCacheSettings,
        lun_sectors: Vec<u64>,
    ) -> Result<Self, PageCacheError> {
        settings.check()?;
        let cache = || Cache { pages: Pages::new(&settings), ..Cache::default() };
        let luns_per_cache = lun_sectors.len().max(1);
        let lun_sectors = lun_sectors.repeat(hosts.into());
        let state = CacheState {
            caches: (0..hosts).map(|_| cache()).collect(),
            next_wake_up_ns: settings.behind().map_or(u64::MAX, |behind| behind.wake_up_ns),
            ..CacheState::default()
        };
        Ok(Self { applications, settings, lun_sectors, luns_per_cache, state })
    }

    /// The cache of the host that has a LUN.
    fn cache(&mut self, lun: LunId) -> &mut Cache {
        &mut self.state.caches[usize::from(lun.0) / self.luns_per_cache]
    }

    /// An application issues an operation.
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = *operation;
        let of_lun = self.lun_sectors.get(usize::from(lun.0)).copied().unwrap_or(0);
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
        match (direction, self.settings.behind()) {
            (Direction::Read, _) => {
                let (awaits, hits) = self.fill(id, lun, pages.clone());
                in_progress.awaits = awaits;
                self.state.measures.pages_read += pages.end - pages.start;
                self.state.measures.pages_hit += hits;
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
        self.state.operations.insert(id.0, in_progress);
        if goes_on {
            self.proceed(now_ns, id);
        }
    }

    /// Reads those of `pages` that are not there. Returns for how many requests `id` has to wait, and how many pages are
    /// there.
    fn fill(&mut self, id: OperationId, lun: LunId, pages: Range<u64>) -> (u32, u64) {
        let (mut awaits, mut at, mut hits) = (0, pages.start, 0);
        let mut joined = None;
        while at < pages.end {
            let page = (lun.0, at);
            if let Some(request) = self.cache(lun).pages.filling(page) {
                if joined != Some(request)
                    && let Some(Some(Request::Fills { waiting, .. })) =
                        self.state.requests.get_mut(request as usize)
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
                let most = self.settings.largest_request_pages().min(pages.end - at);
                let missing = (at..at + most)
                    .take_while(|page| !self.cache(lun).pages.holds((lun.0, *page)))
                    .count() as u64;
                let run = at..at + missing;
                let waiting = vec![id];
                let slot = self.request(Request::Fills { lun, pages: run.clone(), waiting });
                for page in run.clone() {
                    self.cache(lun).pages.fill((lun.0, page), slot);
                }
                let sectors = self.issue_pages(slot, lun, Direction::Read, run);
                self.state.measures.bytes_filled += sectors * strewn_base::SECTOR_BYTES;
                awaits += 1;
                at += missing;
            }
        }
        (awaits, hits)
    }

    /// An operation has every page that it waited for.
    fn proceed(&mut self, now_ns: u64, id: OperationId) {
        let Some(operation) = self.state.operations.get_mut(&id.0) else {
            unreachable!("{id:?} has ended")
        };
        let InProgress { lun, direction, first_sector, sectors, is_written, is_refused, .. } =
            *operation;
        let pages = pages_of(first_sector, sectors).map(|page| (lun.0, page));
        match (direction, self.settings.behind().copied()) {
            _ if is_refused => self.end_at(now_ns, id),
            (Direction::Read, _) => {
                pages.for_each(|page| self.cache(lun).pages.touch(page));
                self.end_after_copy(now_ns, id, sectors);
            }
            (Direction::Write, Some(behind)) => {
                if behind.wake_ups == WakeUps::AfterFirstWrite
                    && self.state.caches.iter().all(|cache| cache.pages.is_clean())
                {
                    self.state.next_wake_up_ns = now_ns + behind.wake_up_ns;
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
                let slot = self.request(Request::WritesThrough(id));
                self.state.measures.bytes_written += u64::from(sectors) * strewn_base::SECTOR_BYTES;
                self.state.measures.write_requests += 1;
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
        self.end_at(now_ns + self.settings.copy_ns(sectors), id);
    }

    fn end_at(&mut self, at_ns: u64, id: OperationId) {
        self.state.ending.push(Reverse((at_ns, self.state.endings, id.0)));
        self.state.endings += 1;
    }

    fn request(&mut self, request: Request) -> u32 {
        let state = &mut self.state;
        let slot = state.free.pop().unwrap_or_else(|| {
            state.requests.push(None);
            (state.requests.len() - 1) as u32
        });
        state.requests[slot as usize] = Some(request);
        slot
    }

    /// Issues a request of pages, and returns its sectors: the last page of a LUN may be shorter.
    fn issue_pages(
        &mut self,
        slot: u32,
        lun: LunId,
        direction: Direction,
        pages: Range<u64>,
    ) -> u64 {
        let end = (pages.end * PAGE_SECTORS).min(self.lun_sectors[usize::from(lun.0)]);
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
        self.state.issued.add(sectors);
        let operation = HostOperation { id, lun, direction, first_sector, sectors, payload: () };
        self.state.ready.push_back(operation);
    }

    /// Writes dirty pages as far as the rules want it and requests may be outstanding.
    fn write_dirty(&mut self, now_ns: u64) {
        let Some(behind) = self.settings.behind().copied() else { return };
        let age_ns = match self.applications.is_done() {
            true => Some(0),
            false => (now_ns >= self.state.next_wake_up_ns).then_some(behind.expiry_ns),
        };
        if let Some(age_ns) = age_ns {
            self.state.caches.iter_mut().for_each(|cache| cache.pages.flush(now_ns, age_ns));
        }
        if now_ns >= self.state.next_wake_up_ns {
            self.state.next_wake_up_ns = match behind.wake_ups {
                WakeUps::Periodic => (now_ns / behind.wake_up_ns + 1) * behind.wake_up_ns,
                WakeUps::AfterFirstWrite => now_ns + behind.wake_up_ns,
            };
        }
        let most = self.settings.largest_request_pages();
        for index in 0..self.state.caches.len() {
            while let cache = &mut self.state.caches[index]
                && cache.writing_requests < self.settings.write_requests
                && let Some((lun, pages)) = cache.pages.next_to_write(now_ns, most)
            {
                cache.writing_requests += 1;
                let slot = self.request(Request::Cleans { lun, pages: pages.clone() });
                let sectors = self.issue_pages(slot, lun, Direction::Write, pages);
                self.state.measures.bytes_written += sectors * strewn_base::SECTOR_BYTES;
                self.state.measures.write_requests += 1;
            }
        }
    }

    /// A request is answered, or refused.
    fn request_done(&mut self, now_ns: u64, id: OperationId, is_refused: bool) {
        let Some(request) = self.state.requests[id.0 as usize].take() else {
            unreachable!("request {} has ended", id.0)
        };
        self.state.free.push(id.0);
        match request {
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
                self.state.lost_requests += u64::from(is_refused);
                let cache = self.cache(lun);
                cache.writing_requests -= 1;
                cache.pages.written(now_ns, lun, pages);
                while let cache = self.cache(lun)
                    && !cache.pages.is_too_dirty()
                    && let Some((id, since_ns)) = cache.throttled.pop_front()
                {
                    self.state.measures.throttled_ns += now_ns - since_ns;
                    let sectors =
                        self.state.operations.get(&id.0).map_or(0, |operation| operation.sectors);
                    self.end_after_copy(now_ns, id, sectors);
                }
            }
            Request::WritesThrough(id) => self.awaits_one_less(now_ns, id, is_refused),
        }
    }

    fn awaits_one_less(&mut self, now_ns: u64, id: OperationId, is_refused: bool) {
        let Some(operation) = self.state.operations.get_mut(&id.0) else {
            unreachable!("{id:?} has ended")
        };
        operation.awaits -= 1;
        operation.is_refused |= is_refused;
        if operation.awaits == 0 {
            self.proceed(now_ns, id);
        }
    }

    /// Ends operations whose time has come. Applications may issue others in reply.
    fn end_due(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, _, id))) = self.state.ending.peek().copied()
            && at_ns <= now_ns
        {
            self.state.ending.pop();
            let ended = self.state.operations.remove(&id);
            let is_refused = ended.is_some_and(|operation| operation.is_refused);
            let reply = match is_refused {
                true => self.applications.refused(now_ns, OperationId(id)),
                false => self.applications.answered(now_ns, OperationId(id)),
            };
            if let Some(operation) = reply {
                self.begin(now_ns, &operation);
                // Others get their turn: with a cost of nothing, this could go on for ever.
                return;
            }
        }
    }

    fn next_ready(&mut self, now_ns: u64) -> Option<HostOperation<()>> {
        self.state.now_ns = now_ns;
        self.write_dirty(now_ns);
        self.state.ready.pop_front()
    }
}

impl<H: Host> Host for CachedHost<H> {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        self.applications.begin_segment(now_ns, index);
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        loop {
            if let Some(operation) = self.next_ready(0) {
                return Some(operation);
            }
            let operation = self.applications.first()?;
            self.begin(0, &operation);
        }
    }

    fn next_issue_ns(&self) -> u64 {
        let state = &self.state;
        if !state.ready.is_empty() {
            return state.now_ns;
        }
        let ending_ns = state.ending.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
        let wake_up_ns = if state.unwritten() > 0 { state.next_wake_up_ns } else { u64::MAX };
        self.applications.next_issue_ns().min(ending_ns).min(wake_up_ns)
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        if let Some(operation) = self.state.ready.pop_front() {
            return Ok(Some(operation));
        }
        self.end_due(now_ns);
        if self.applications.next_issue_ns() <= now_ns
            && let Some(operation) = self.applications.issue_due(now_ns)?
        {
            self.begin(now_ns, &operation);
        }
        Ok(self.next_ready(now_ns))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, false);
        self.next_ready(now_ns)
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, true);
        self.next_ready(now_ns)
    }

    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        None
    }

    fn is_done(&self) -> bool {
        self.applications.is_done()
            && self.state.operations.is_empty()
            && self.state.unwritten() == 0
    }

    fn issued(&self) -> Moved {
        self.state.issued
    }

    fn answered_in_segment(&self) -> u64 {
        self.applications.answered_in_segment()
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        let mut host = self.applications.end_segment(start_ns, end_ns);
        host.refused += std::mem::take(&mut self.state.lost_requests);
        let bytes_dirty = self.state.unwritten() * PAGE_SECTORS * strewn_base::SECTOR_BYTES;
        let measures = std::mem::take(&mut self.state.measures);
        host.page_cache = Some(Box::new(PageCacheMeasures { bytes_dirty, ..measures }));
        host
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.state)?;
        self.applications.save_state(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.state = from.value()?;
        self.applications.restore_state(from)
    }
}
