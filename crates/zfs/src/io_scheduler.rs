//! The queue of one drive: which request it gets next, and which others go with it.
//!
//! `vdev_queue.c` of OpenZFS: `vdev_queue_class_to_issue`, `vdev_queue_io_to_issue`, `vdev_queue_aggregate`,
//! `vdev_queue_pending_add`, `vdev_queue_pending_remove`. Each class of requests may have so many active on the drive.
//! Synchronous ones go in the order in which they came, others in the order of their sectors, and all are joined with
//! neighbours.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use strewn_array::Slots;
use strewn_base::state::SavedValue;
use strewn_base::{Direction, SECTOR_BYTES};

use crate::sorted::Sorted;

/// Most requests active on a drive (`zfs_vdev_max_active`).
const MOST_ACTIVE: u32 = 1_000;

/// Requests of a background class to complete without interactive ones before there may be more than its minimum
/// (`zfs_vdev_nia_delay`).
const QUIET_BEFORE_MORE: u32 = 5;

/// Background requests between two interactive ones that complete (`zfs_vdev_nia_credit`).
const BACKGROUND_CREDIT: u32 = 5;

/// Dirty data in percent of its limit (`zfs_vdev_async_write_active_min_dirty_percent` and `_max_`): asynchronous
/// writes have their minimum below the first, their maximum above the second.
const DIRTY_PERCENT: (u32, u32) = (30, 60);

/// No request is longer (`SPA_MAXBLOCKSIZE`).
const MOST_BYTES: u64 = 16 << 20;

/// Reads are joined across gaps of at most this size, which are read too (`zfs_vdev_read_gap_limit`).
const READ_GAP_BYTES: u64 = 32 << 10;

/// Optional writes are issued to join two others that are no further apart (`zfs_vdev_write_gap_limit`).
const WRITE_GAP_BYTES: u64 = 4 << 10;

/// Requests that came within 2^29 ns, half a second, are in the order of their sectors (`VDQ_T_SHIFT`).
const TURN_SHIFT: u32 = 29;

/// What a request is for, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, SavedValue)]
#[repr(u8)]
pub enum Class {
    /// A read that an operation waits for.
    SyncRead,
    /// A write that an operation waits for: the intent log's.
    SyncWrite,
    /// A prefetch.
    AsyncRead,
    /// A write of a transaction group.
    AsyncWrite,
    /// A scrub or a resilver.
    Scrub,
    /// A sequential rebuild.
    Rebuild,
}

impl Class {
    /// All classes, in the order of precedence.
    pub const ALL: [Self; 6] = [
        Self::SyncRead,
        Self::SyncWrite,
        Self::AsyncRead,
        Self::AsyncWrite,
        Self::Scrub,
        Self::Rebuild,
    ];

    /// Requests of a class that may be active: whatever others do, and if no other has a claim.
    fn limits(self) -> (u32, u32) {
        match self {
            Self::SyncRead | Self::SyncWrite => (10, 10),
            Self::AsyncWrite => (2, 10),
            Self::AsyncRead | Self::Scrub | Self::Rebuild => (1, 3),
        }
    }

    /// Whether its requests go in the order in which they came (`vdev_queue_class_fifo`).
    fn is_fifo(self) -> bool {
        matches!(self, Self::SyncRead | Self::SyncWrite)
    }

    fn is_interactive(self) -> bool {
        !matches!(self, Self::Scrub | Self::Rebuild)
    }

    /// The class in which a request is queued: reads are in no class of writes, nor writes in one of reads.
    fn queued_as(self, direction: Direction) -> Self {
        match (direction, self) {
            (Direction::Read, Self::SyncWrite | Self::AsyncWrite) => Self::AsyncRead,
            (Direction::Write, Self::SyncRead | Self::AsyncRead | Self::Scrub) => Self::AsyncWrite,
            _ => self,
        }
    }
}

/// A request to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Request {
    /// What the caller knows it by.
    pub owner: u32,
    /// Its first sector.
    pub first_sector: u64,
    /// Its length in sectors.
    pub sectors: u32,
    /// Whether it reads or writes.
    pub direction: Direction,
    /// What it is for.
    pub class: Class,
    /// Whether it is a write of a skip sector, which has no data. If it joins no others, it is dropped without notice.
    pub is_optional: bool,
}

/// A command for the drive: one request, or several and what is between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    /// Its first sector.
    pub first_sector: u64,
    /// Its length in sectors.
    pub sectors: u32,
    /// Whether it reads or writes.
    pub direction: Direction,
    /// What it counts as until it is [`completed`](IoScheduler::completed).
    pub class: Class,
}

/// What depends on the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct SchedulerOptions {
    /// Bytes in a sector.
    pub sector_bytes: u64,
    /// Bytes that requests are joined up to: 0 to join none (`zfs_vdev_aggregation_limit`, and
    /// `zfs_vdev_aggregation_limit_non_rotating`, which is 128 KiB).
    pub aggregation_bytes: u64,
}

impl Default for SchedulerOptions {
    /// A rotating drive with sectors of 512 bytes.
    fn default() -> Self {
        Self { sector_bytes: SECTOR_BYTES, aggregation_bytes: 1 << 20 }
    }
}

/// A request that waits.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Queued {
    request: Request,
    /// The class that it came with. Scrubs and rebuilds are joined with their like only.
    origin: Class,
    /// Where its class has it: its number, or the half second in which it came.
    turn: u64,
    has_data: bool,
}

impl Queued {
    fn end(&self) -> u64 {
        self.request.first_sector + u64::from(self.request.sectors)
    }

    fn in_class(&self, id: u32) -> InClass {
        let by_sector = !self.request.class.is_fifo();
        (self.turn, if by_sector { self.request.first_sector } else { 0 }, id)
    }

    fn joins(&self, other: &Self) -> bool {
        self.origin == other.origin || self.origin.is_interactive() && other.origin.is_interactive()
    }
}

/// Turn, first sector if that decides, and place.
type InClass = (u64, u64, u32);

/// First sector and place.
type OnDrive = (u64, u32);

/// The queue of one drive.
#[derive(Debug, Clone, SavedValue)]
pub struct IoScheduler {
    options: SchedulerOptions,
    queued: Slots<Queued>,
    by_class: [Sorted<InClass>; 6],
    /// Reads and writes of all classes.
    by_sector: [Sorted<OnDrive>; 2],
    /// Prefetches by owner, first sector and place.
    prefetches: BTreeSet<(u32, u64, u32)>,
    active: [u32; 6],
    active_in_all: u32,
    active_interactive: u32,
    background_credit: u32,
    /// The class after that of the last request.
    next_class: u8,
    /// Where the last request ends.
    last_sector: u64,
    pushed: u64,
}

impl IoScheduler {
    /// An empty queue.
    #[must_use]
    pub fn new(options: SchedulerOptions) -> Self {
        Self {
            options,
            queued: Slots::new(),
            by_class: Default::default(),
            by_sector: Default::default(),
            prefetches: BTreeSet::new(),
            active: [0; 6],
            active_in_all: 0,
            active_interactive: 0,
            background_credit: 0,
            next_class: 0,
            last_sector: 0,
            pushed: 0,
        }
    }

    /// Commands on the drive, which decide between mirrors (`vdev_queue_length`).
    #[must_use]
    pub fn active(&self) -> u32 {
        self.active_in_all
    }

    /// Requests that wait, optional ones included.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queued.len()
    }

    /// The sector after the last command, which decides between mirrors too (`vdev_queue_last_offset`).
    #[must_use]
    pub fn last_sector(&self) -> u64 {
        self.last_sector
    }

    /// A request comes.
    pub fn push(&mut self, now_ns: u64, request: Request) {
        let id = self.push_into_class(now_ns, request);
        self.by_sector[request.direction as usize].insert((request.first_sector, id));
    }

    /// A request comes, or comes again that has stayed among those by sector. Returns its place.
    fn push_into_class(&mut self, now_ns: u64, request: Request) -> u32 {
        let class = request.class.queued_as(request.direction);
        self.pushed += 1;
        let queued = Queued {
            request: Request { class, ..request },
            origin: request.class,
            turn: if class.is_fifo() { self.pushed } else { now_ns >> TURN_SHIFT },
            has_data: !request.is_optional,
        };
        let id = self.queued.insert(queued) as u32;
        self.by_class[class as usize].insert(queued.in_class(id));
        if request.class == Class::AsyncRead {
            self.prefetches.insert((request.owner, request.first_sector, id));
        }
        id
    }

    /// Changes the class of an owner's prefetches that wait, as if they came now: an operation waits for them
    /// (`vdev_queue_change_io_priority`).
    pub fn change_class(&mut self, now_ns: u64, owner: u32, class: Class) {
        let of_owner = self.prefetches.range((owner, 0, 0)..=(owner, u64::MAX, u32::MAX));
        let ids: Vec<u32> = of_owner.map(|(_, _, id)| *id).collect();
        for id in ids {
            let queued = self.remove_from_class(id);
            // The place that became free is the next to be used.
            let place = self.push_into_class(now_ns, Request { class, ..queued.request });
            assert_eq!(place, id, "it has stayed where it was");
        }
    }

    /// Takes out all requests that wait: the drive has failed.
    pub fn take_waiting(&mut self) -> Vec<Request> {
        let waiting: Vec<u32> =
            self.by_sector.iter().flat_map(Sorted::iter).map(|(_, id)| id).collect();
        waiting.into_iter().map(|id| self.remove(id).request).collect()
    }

    /// The next command for the drive, if it may have another. `dirty_percent` is the pool's dirty data in percent of
    /// its limit. `members` becomes the requests that the command carries out, in the order of their sectors.
    pub fn pop(&mut self, dirty_percent: u32, members: &mut Vec<Request>) -> Option<Issued> {
        members.clear();
        loop {
            let class = self.class_to_issue(dirty_percent)?;
            let chosen = self.choose(class)?;
            if let Some(positions) = self.aggregate(chosen) {
                let direction = self.queued[chosen as usize].request.direction;
                self.take(direction, positions, members);
            } else {
                let Queued { request, has_data, .. } = self.remove(chosen);
                if !has_data {
                    continue;
                }
                members.push(request);
            }
            return Some(self.issue(class, members));
        }
    }

    /// A command is done.
    ///
    /// # Panics
    /// If there is no command of that class on the drive.
    pub fn completed(&mut self, class: Class) {
        let active = &mut self.active[class as usize];
        assert!(*active > 0, "a command of class {class:?} is active");
        *active -= 1;
        self.active_in_all -= 1;
        if class.is_interactive() {
            self.active_interactive -= 1;
            self.background_credit =
                if self.active_interactive == 0 { 0 } else { BACKGROUND_CREDIT };
        } else if self.active_interactive == 0 {
            self.background_credit += 1;
        }
    }

    /// Commands that a class may have whatever others do.
    fn least_active(&self, class: Class) -> u32 {
        let (least, _) = class.limits();
        match class.is_interactive() || self.active_interactive == 0 {
            true => least,
            false => self.background_credit.min(least),
        }
    }

    /// Commands that a class may have if no other is below its minimum.
    fn most_active(&self, class: Class, dirty_percent: u32) -> u32 {
        let (least, most) = class.limits();
        if class == Class::AsyncWrite {
            let (from, to) = DIRTY_PERCENT;
            return least + (dirty_percent.clamp(from, to) - from) * (most - least) / (to - from);
        }
        if class.is_interactive() {
            most
        } else if self.active_interactive > 0 || self.background_credit < QUIET_BEFORE_MORE {
            self.least_active(class)
        } else {
            most
        }
    }

    /// The class to issue from: in turns, one that is below its minimum, or else the first below its maximum.
    fn class_to_issue(&mut self, dirty_percent: u32) -> Option<Class> {
        if self.active_in_all >= MOST_ACTIVE || self.queued.is_empty() {
            return None;
        }
        let waits = |class: &Class| !self.by_class[*class as usize].is_empty();
        let active = |class: Class| self.active[class as usize];
        let (earlier, later) = Class::ALL.split_at(usize::from(self.next_class));
        let below_least =
            |class: &Class| waits(class) && active(*class) < self.least_active(*class);
        let below_most = |class: &Class| {
            waits(class) && active(*class) < self.most_active(*class, dirty_percent)
        };
        let in_turns = later.iter().chain(earlier).copied().find(below_least);
        let class = in_turns.or_else(|| Class::ALL.into_iter().find(below_most));
        self.next_class = class.map_or(0, |class| (class as u8 + 1) % Class::ALL.len() as u8);
        class
    }

    /// The oldest request; or, in the order of sectors, the next one after the last command that came within the same
    /// half second as the oldest.
    fn choose(&self, class: Class) -> Option<u32> {
        let set = &self.by_class[class as usize];
        let (turn, first_sector, oldest) = set.first()?;
        if class.is_fifo() || first_sector >= self.last_sector {
            return Some(oldest);
        }
        let next = set.get(set.position((turn, self.last_sector, 0)));
        next.filter(|next| next.0 == turn).map(|next| next.2).or(Some(oldest))
    }

    /// The requests to issue together with `chosen`, as their positions by sector; `None` if there are no others.
    ///
    /// An optional write may be inside, and at the end if it fills the gap to a write that no longer fits.
    fn aggregate(&mut self, chosen: u32) -> Option<RangeInclusive<usize>> {
        let sectors = |bytes: u64| bytes / self.options.sector_bytes;
        let chosen_one = self.queued[chosen as usize];
        let direction = chosen_one.request.direction;
        let limit = sectors(self.options.aggregation_bytes.min(MOST_BYTES));
        let set = &self.by_sector[direction as usize];
        if limit == 0 || set.len() == 1 {
            return None;
        }
        let gap = if direction == Direction::Read { sectors(READ_GAP_BYTES) } else { 0 };
        let queued = |(_, id): OnDrive| &self.queued[id as usize];
        let is_optional = |on_drive: OnDrive| queued(on_drive).request.is_optional;
        let at = set.position((chosen_one.request.first_sector, chosen));

        let (mut first, mut last) = (at, at);
        let mut first_sector = chosen_one.request.first_sector;
        let mut mandatory = (!is_optional((first_sector, chosen))).then_some(at);
        while let Some(before) = first.checked_sub(1).and_then(|position| set.get(position)) {
            let is_within = chosen_one.end() - before.0 <= limit;
            let is_near = is_within && follows_within(queued(before).end(), first_sector, gap);
            if !(is_near && queued(before).joins(&chosen_one)) {
                break;
            }
            first -= 1;
            first_sector = before.0;
            mandatory = mandatory.or((!is_optional(before)).then_some(first));
        }
        // An optional write begins nothing, unless it is the one whose turn it is.
        let is_needed = |position: &usize| set.get(*position).is_some_and(|one| !is_optional(one));
        first = (first..at).find(is_needed).unwrap_or(at);
        first_sector = set.get(first).map_or(0, |first| first.0);

        let mut end = chosen_one.end();
        while let Some(after) = set.get(last + 1) {
            if !follows_within(end, after.0, gap) {
                break;
            }
            let span = queued(after).end() - first_sector;
            let is_within = span <= limit || is_optional(after) && span <= sectors(MOST_BYTES);
            if !(is_within && queued(after).joins(&chosen_one)) {
                break;
            }
            last += 1;
            end = queued(after).end();
            mandatory = if is_optional(after) { mandatory } else { Some(last) };
        }
        match self.next_if_bridged(direction, mandatory, last) {
            // What follows begins the next command, so that the drive can join both.
            Some(next) => self.queued[next as usize].request.is_optional = false,
            None => last = mandatory.unwrap_or(first),
        }
        (first != last).then_some(first..=last)
    }

    /// The request after `last`, if optional writes lead from the last mandatory write, past `last`, to another one
    /// close by.
    fn next_if_bridged(
        &self,
        direction: Direction,
        mandatory: Option<usize>,
        last: usize,
    ) -> Option<u32> {
        if direction != Direction::Write {
            return None;
        }
        let set = &self.by_sector[direction as usize];
        let queued = |(_, id): OnDrive| &self.queued[id as usize];
        let end_of = |position: usize| set.get(position).map(|one| queued(one).end());
        let gap = WRITE_GAP_BYTES / self.options.sector_bytes;
        let mandatory_end = end_of(mandatory?)?;
        let mut end = end_of(last)?;
        let mut next = None;
        for after in (last + 1..).map_while(|position| set.get(position)) {
            if after.0 != end || !follows_within(mandatory_end, after.0, gap) {
                return None;
            }
            next = next.or(Some(after.1));
            if !queued(after).request.is_optional {
                return next;
            }
            end = queued(after).end();
        }
        None
    }

    /// Takes the requests at these positions by sector out of the queue.
    fn take(
        &mut self,
        direction: Direction,
        positions: RangeInclusive<usize>,
        members: &mut Vec<Request>,
    ) {
        for _ in positions.clone() {
            let removed = self.by_sector[direction as usize].remove_at(*positions.start());
            members.extend(removed.map(|(_, id)| self.remove_from_class(id).request));
        }
    }

    fn remove(&mut self, id: u32) -> Queued {
        let Request { direction, first_sector, .. } = self.queued[id as usize].request;
        self.by_sector[direction as usize].remove((first_sector, id));
        self.remove_from_class(id)
    }

    /// Takes a request out of the queue that is no longer among those by sector.
    fn remove_from_class(&mut self, id: u32) -> Queued {
        let queued = self.queued.remove(id as usize);
        let Request { class, first_sector, .. } = queued.request;
        self.by_class[class as usize].remove(queued.in_class(id));
        if queued.origin == Class::AsyncRead {
            self.prefetches.remove(&(queued.request.owner, first_sector, id));
        }
        let is_optional = !queued.has_data;
        Queued { request: Request { is_optional, ..queued.request }, ..queued }
    }

    /// Makes a command of adjacent or nearby requests.
    fn issue(&mut self, class: Class, members: &[Request]) -> Issued {
        let first_sector = members.first().map_or(0, |first| first.first_sector);
        let last = members.last().map_or(0, |last| last.first_sector + u64::from(last.sectors));
        let direction = members.first().map_or(Direction::Read, |first| first.direction);
        self.active[class as usize] += 1;
        self.active_in_all += 1;
        if class.is_interactive() {
            self.active_interactive += 1;
            if self.active_interactive == 1 {
                self.background_credit = 1;
            }
        } else if self.active_interactive > 0 {
            self.background_credit -= 1;
        }
        self.last_sector = last;
        Issued { first_sector, sectors: (last - first_sector) as u32, direction, class }
    }
}

/// Whether what begins at `start` lies behind `end`, by no more than `gap`. What overlaps does not.
fn follows_within(end: u64, start: u64, gap: u64) -> bool {
    start.checked_sub(end).is_some_and(|between| between <= gap)
}

#[cfg(test)]
mod tests;
