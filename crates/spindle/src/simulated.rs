//! A drive in virtual time.
//!
//! The spindle owns no clock. The simulation keeps the time, submits commands in order of arrival, and takes out each
//! completion when it is due. That makes one event a command: an idle drive knows when it will be done as soon as a
//! command is submitted. If another one arrives earlier after all, the start is taken back.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::cache::{Arm, CacheState};
use crate::geometry::Track;
use crate::mechanics::{Command, CommandError, Drive, Positioning, Transfer};
use crate::queue::{Admitted, Heads, MAX_DEPTH, Queue};
use crate::scheduler::Scheduler;
use strewn_base::Direction;
use strewn_base::state::SavedValue;

/// Commands may arrive for 292 years; as long again is left for those outstanding by then.
const MAX_ARRIVAL_NS: u64 = 1 << 63;

/// Why a spindle cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpindleError {
    /// The depth of the queue is not in `1..=256`.
    #[error("a queue depth of {depth} is not in 1..=256")]
    Depth {
        /// The depth asked for.
        depth: u32,
    },
    /// The drive's profile describes no cache.
    #[error("the profile of this drive describes no cache")]
    NoCache,
}

/// A completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion<T> {
    /// The tag submitted with the command.
    pub tag: T,
    /// When the command completed, in nanoseconds.
    pub at_ns: u64,
    /// When the command arrived.
    pub arrived_ns: u64,
    /// Nanoseconds from the start of its service to its completion.
    pub service_ns: u64,
    /// Read or write.
    pub direction: Direction,
}

/// The commands of a failed drive.
#[derive(Clone, Debug)]
pub struct Replaced<T> {
    /// Commands that did not complete, each with its tag.
    pub commands: Vec<(Command, T)>,
    /// Nanoseconds spent on the command in service.
    pub served_ns: u64,
}

/// Totals since time zero. Times are in nanoseconds. All but residence count a command in full when its service starts;
/// residence counts it at completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SavedValue)]
pub struct Statistics {
    /// Reads started.
    pub reads: u64,
    /// Writes started.
    pub writes: u64,
    /// Sectors of the reads.
    pub read_sectors: u64,
    /// Sectors of the writes.
    pub write_sectors: u64,
    /// In service: the sum of the four parts below, less rounding of at most 1 ns a command.
    pub busy_ns: u64,
    /// From arrival to completion, summed over completed commands.
    pub residence_ns: u64,
    /// Before the heads move, and settling for writes.
    pub overhead_ns: u64,
    /// Moving the heads to the first sector's track.
    pub seek_ns: u64,
    /// Rotational delay: waiting for the first sector.
    pub rotation_ns: u64,
    /// From the start of the first sector to the end of the last, track crossings included.
    pub transfer_ns: u64,
    /// Reads that hit the drive's cache and writes that it accepted. With the cache in use, the four parts above stay
    /// 0.
    pub cache_hits: u64,
}

/// Totals in the units in which they accrue, to save a conversion for each command.
#[derive(Clone, Copy, Debug, Default, SavedValue)]
struct Counters {
    /// By direction.
    commands: [u64; 2],
    sectors: [u64; 2],
    busy_ns: u64,
    residence_ns: u64,
    overhead_ticks: u64,
    seek_ticks: u64,
    rotation_ticks: u64,
    transfer_ticks: u64,
    cache_hits: u64,
}

/// One simulated drive with its queue. `T` is the tag that a completion returns.
///
/// At time zero the arm is at cylinder 0, head 0, the platter is at angle 0, and the drive behaves as after a read.
/// From then on the rotation is exact.
///
/// # Panics
///
/// Every build checks, at each completion, that it precedes neither the command's arrival nor the completion before it,
/// that the arm is on the drive, that the drive was not busy for longer than the time that has passed, and that no
/// command was lost. A failure is a bug of this crate.
#[derive(Clone, Debug)]
pub struct SimulatedSpindle<T> {
    drive: Arc<Drive>,
    scheduler: Scheduler,
    /// When the command in service completes; `u64::MAX` when there is none.
    completion_ns: u64,
    service_ns: u64,
    in_service: Option<InService<T>>,
    track: Track,
    before: Direction,
    /// Where the arm was, and what it had done, before the command in service.
    started_from: (Track, Direction),
    admitted: Queue<T>,
    /// Commands that have not arrived yet or find the queue full, in order of arrival.
    waiting: VecDeque<Admitted<T>>,
    /// Commands submitted and neither completed nor returned.
    unfinished: usize,
    latest_arrival_ns: u64,
    latest_completion_ns: u64,
    counters: Counters,
    cache: Option<Box<CacheState>>,
}

#[derive(Clone, Copy, Debug, SavedValue)]
struct InService<T> {
    arrival_ns: u64,
    lba: u64,
    sectors: u32,
    direction: Direction,
    tag: T,
}

fn admitted<T>(arrival_ns: u64, command: Command, transfer: Transfer, tag: T) -> Admitted<T> {
    let Command { lba, sectors, direction } = command;
    Admitted { transfer, arrival_ns, lba, sectors, direction, tag }
}

impl<T: Copy> SimulatedSpindle<T> {
    /// An idle spindle at time zero. It schedules among up to `depth` commands, not counting the one in service; the
    /// rest wait in order of arrival.
    ///
    /// # Errors
    ///
    /// `depth` is not in `1..=256`.
    pub fn new(drive: Arc<Drive>, scheduler: Scheduler, depth: u32) -> Result<Self, SpindleError> {
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(SpindleError::Depth { depth });
        }
        Ok(Self {
            drive,
            scheduler,
            completion_ns: u64::MAX,
            service_ns: 0,
            in_service: None,
            track: Track::new(0, 0),
            before: Direction::Read,
            started_from: (Track::new(0, 0), Direction::Read),
            admitted: Queue::new(depth),
            waiting: VecDeque::new(),
            unfinished: 0,
            latest_arrival_ns: 0,
            latest_completion_ns: 0,
            counters: Counters::default(),
            cache: None,
        })
    }

    /// Like [`SimulatedSpindle::new`], with the cache that the drive's profile describes.
    ///
    /// # Errors
    ///
    /// `depth` is not in `1..=256`, or the profile describes no cache.
    pub fn with_cache(
        drive: Arc<Drive>,
        scheduler: Scheduler,
        depth: u32,
    ) -> Result<Self, SpindleError> {
        let cache = CacheState::empty(&drive).ok_or(SpindleError::NoCache)?;
        let mut spindle = Self::new(drive, scheduler, depth)?;
        spindle.cache = Some(Box::new(cache));
        Ok(spindle)
    }

    /// Like [`SimulatedSpindle::with_cache`], if the profile describes a cache, with one that gathers writes: a write
    /// that continues the command before it takes the time of its sectors alone, however late it comes, and is
    /// preferred to others. So do drives that hold writes back for a while, which the reference simulator's does not.
    /// It does not read ahead.
    ///
    /// # Errors
    ///
    /// `depth` is not in `1..=256`.
    pub fn gathering_writes(
        drive: Arc<Drive>,
        scheduler: Scheduler,
        depth: u32,
    ) -> Result<Self, SpindleError> {
        let cache = CacheState::gathering(&drive).map(Box::new);
        Ok(Self { cache, ..Self::new(drive, scheduler, depth)? })
    }

    /// The simulated drive.
    pub fn drive(&self) -> &Arc<Drive> {
        &self.drive
    }

    /// Submits a command that arrives at `arrival_ns`, which may lie ahead. An idle spindle starts it on arrival.
    ///
    /// # Errors
    ///
    /// The command is empty, reaches past the end, arrives before one submitted earlier, or arrives after 2⁶³ ns. The
    /// spindle is then unchanged.
    #[inline(always)]
    pub fn submit(
        &mut self,
        arrival_ns: u64,
        command: Command,
        tag: T,
    ) -> Result<(), CommandError> {
        if !(self.latest_arrival_ns..=MAX_ARRIVAL_NS).contains(&arrival_ns) {
            let latest_ns = self.latest_arrival_ns;
            return Err(match arrival_ns < latest_ns {
                true => CommandError::ArrivalDecreases { arrival_ns, latest_ns },
                false => CommandError::ArrivalTooLate { arrival_ns },
            });
        }
        let transfer = self.drive.transfer(&command)?;
        self.latest_arrival_ns = arrival_ns;
        self.unfinished += 1;
        let command = admitted(arrival_ns, command, transfer, tag);
        if self.in_service.is_none() {
            self.start(arrival_ns.max(self.latest_completion_ns), command);
        } else if arrival_ns <= self.completion_ns
            && self.waiting.is_empty()
            && !self.admitted.is_full()
        {
            self.admitted.admit(command);
        } else {
            self.waiting.push_back(command);
        }
        Ok(())
    }

    /// Submits a command that may arrive before commands submitted earlier. It overtakes those that arrive later, and
    /// an idle drive that waits for one of them serves it first.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit), but only an arrival before the last completion is refused. A drive with its cache
    /// in use takes a command after those that came before it.
    pub fn submit_overtaking(
        &mut self,
        arrival_ns: u64,
        command: Command,
        tag: T,
    ) -> Result<(), CommandError> {
        let in_order = arrival_ns >= self.latest_arrival_ns;
        if in_order || arrival_ns < self.latest_completion_ns {
            return self.submit(arrival_ns, command, tag);
        }
        if self.cache.is_some() {
            return self.submit(self.latest_arrival_ns, command, tag);
        }
        let transfer = self.drive.transfer(&command)?;
        self.unfinished += 1;
        let command = admitted(arrival_ns, command, transfer, tag);
        while let Some(later) = self.admitted.take_last_after(arrival_ns) {
            self.waiting.push_front(later);
        }
        if self.in_service.is_some() && self.completion_ns - self.service_ns > arrival_ns {
            self.take_back_start();
            self.start(arrival_ns, command);
        } else {
            let at = self.waiting.partition_point(|one| one.arrival_ns <= arrival_ns);
            self.waiting.insert(at, command);
        }
        Ok(())
    }

    /// Undoes the start of the command in service, which has not arrived yet: it is the first to wait again.
    fn take_back_start(&mut self) {
        let Some(InService { arrival_ns, lba, sectors, direction, tag }) = self.in_service.take()
        else {
            return;
        };
        let now_ns = self.completion_ns - self.service_ns;
        assert_eq!(now_ns, arrival_ns, "a command whose service has begun cannot be taken back");
        (self.track, self.before) = self.started_from;
        let command = Command { lba, sectors, direction };
        let transfer = self.drive.transfer(&command).expect("it was accepted before");
        let (positioning, transfer_ticks) = self.service_of(now_ns, direction, &transfer);
        let counters = &mut self.counters;
        counters.commands[direction as usize] -= 1;
        counters.sectors[direction as usize] -= u64::from(sectors);
        counters.busy_ns -= self.service_ns;
        counters.overhead_ticks -= u64::from(positioning.overhead);
        counters.seek_ticks -= u64::from(positioning.seek);
        counters.rotation_ticks -= u64::from(positioning.rotation);
        counters.transfer_ticks -= transfer_ticks;
        self.completion_ns = u64::MAX;
        self.waiting.push_front(admitted(arrival_ns, command, transfer, tag));
    }

    /// When the command in service will complete, in nanoseconds; `u64::MAX` when idle.
    #[inline]
    pub fn next_completion_ns(&self) -> u64 {
        self.completion_ns
    }

    /// The tag of the command in service.
    #[inline]
    pub fn in_service(&self) -> Option<&T> {
        self.in_service.as_ref().map(|command| &command.tag)
    }

    /// Commands submitted and not yet completed, the one in service included.
    #[inline]
    pub fn outstanding(&self) -> usize {
        usize::from(self.in_service.is_some()) + self.admitted.len() + self.waiting.len()
    }

    /// Completes the command in service and starts the next: the scheduler's choice among those that have arrived by
    /// then, or the first to arrive. None when the spindle is idle.
    #[inline(always)]
    pub fn complete(&mut self) -> Option<Completion<T>> {
        self.check_invariants();
        let done = self.in_service.take()?;
        let at_ns = self.completion_ns;
        self.unfinished -= 1;
        let service_ns = self.service_ns;
        self.completion_ns = u64::MAX;
        self.latest_completion_ns = at_ns;
        self.counters.residence_ns += at_ns - done.arrival_ns;
        self.start_next(at_ns);
        Some(Completion {
            tag: done.tag,
            at_ns,
            arrived_ns: done.arrival_ns,
            service_ns,
            direction: done.direction,
        })
    }

    /// Checks the command in service and the queue as its completion is taken out. All of it is O(1).
    #[inline(always)]
    fn check_invariants(&self) {
        assert_eq!(self.outstanding(), self.unfinished, "a command was lost or made up");
        let Some(done) = &self.in_service else { return };
        let at_ns = self.completion_ns;
        assert!(at_ns >= done.arrival_ns, "a command completes before it arrives");
        assert!(
            at_ns >= self.latest_completion_ns,
            "a command completes before the one ahead of it"
        );
        assert!(self.counters.busy_ns <= at_ns, "the spindle was busy for longer than it has run");
        assert!(self.track.cylinder() < self.drive.cylinders(), "the arm has left the drive");
    }

    #[inline(always)]
    fn start_next(&mut self, now_ns: u64) {
        while let Some(next) = self.waiting.front() {
            if next.arrival_ns > now_ns || self.admitted.is_full() {
                break;
            }
            if let Some(next) = self.waiting.pop_front() {
                self.admitted.admit(next);
            }
        }
        let heads = Heads { now_ns, track: self.track, before: self.before };
        let next = match self.cache.is_some() {
            true => self.take_cached(heads),
            false => self.admitted.take(self.scheduler, &self.drive, heads),
        };
        if let Some(next) = next {
            self.start(now_ns, next);
        } else if let Some(next) = self.waiting.pop_front() {
            // None had arrived, or it would have been admitted.
            self.start(next.arrival_ns, next);
        }
    }

    /// The next command of a drive with its cache in use.
    #[cold]
    fn take_cached(&mut self, mut heads: Heads) -> Option<Admitted<T>> {
        let cache = self.cache.as_ref()?;
        heads.now_ns = cache.free_ns(heads.now_ns);
        let gathered = cache.gathers_from().and_then(|lba| self.admitted.take_write_at(lba));
        gathered.or_else(|| self.admitted.take(self.scheduler, &self.drive, heads))
    }

    #[inline(always)]
    fn start(&mut self, now_ns: u64, command: Admitted<T>) {
        if self.cache.is_some() {
            self.start_cached(now_ns, command);
            return;
        }
        let transfer = command.transfer;
        let (positioning, transfer_ticks) = self.service_of(now_ns, command.direction, &transfer);
        let service_ns = self.drive.rotation().ns(u64::from(positioning.ticks()) + transfer_ticks);
        self.started_from = (self.track, self.before);
        self.service_ns = service_ns;
        self.completion_ns = now_ns + service_ns;
        self.track = transfer.end_track;
        self.before = command.direction;

        let counters = &mut self.counters;
        counters.commands[command.direction as usize] += 1;
        counters.sectors[command.direction as usize] += u64::from(command.sectors);
        counters.busy_ns += service_ns;
        counters.overhead_ticks += u64::from(positioning.overhead);
        counters.seek_ticks += u64::from(positioning.seek);
        counters.rotation_ticks += u64::from(positioning.rotation);
        counters.transfer_ticks += transfer_ticks;
        self.in_service = Some(InService {
            arrival_ns: command.arrival_ns,
            lba: command.lba,
            sectors: command.sectors,
            direction: command.direction,
            tag: command.tag,
        });
    }

    /// The positioning of a command that starts at `now_ns`, and the ticks of its transfer.
    #[inline(always)]
    fn service_of(
        &self,
        now_ns: u64,
        direction: Direction,
        transfer: &Transfer,
    ) -> (Positioning, u64) {
        let angle = self.drive.rotation().angle_at(now_ns);
        let overhead = self.drive.overhead_ticks(self.before)[direction as usize];
        self.drive.service(overhead, self.track, angle, direction, transfer)
    }

    #[cold]
    fn start_cached(&mut self, now_ns: u64, admitted: Admitted<T>) {
        let Some(cache) = &mut self.cache else { return };
        let Admitted { transfer, arrival_ns, lba, sectors, direction, tag } = admitted;
        let arm = Arm { track: self.track, before: self.before };
        let command = Command { lba, sectors, direction };
        let served = cache.serve(&self.drive, now_ns, arm, &command, &transfer);
        self.service_ns = served.completion_ns - now_ns;
        self.completion_ns = served.completion_ns;
        self.track = served.arm.track;
        self.before = served.arm.before;

        let counters = &mut self.counters;
        counters.commands[direction as usize] += 1;
        counters.sectors[direction as usize] += u64::from(sectors);
        counters.busy_ns += self.service_ns;
        counters.cache_hits += u64::from(served.hit);
        self.in_service = Some(InService { arrival_ns, lba, sectors, direction, tag });
    }

    /// Replaces the drive, which fails at `now_ns`, with a new one of its kind: idle, its arm at cylinder 0. Returns
    /// every command that the old one had not completed. The totals go on as those of one spindle.
    pub fn replace(&mut self, now_ns: u64) -> Replaced<T> {
        let served_ns = match self.in_service {
            Some(_) => {
                let ahead_ns = self.completion_ns.saturating_sub(now_ns).min(self.service_ns);
                self.counters.busy_ns -= ahead_ns;
                self.service_ns - ahead_ns
            }
            None => 0,
        };
        let in_service = self.in_service.take().map(|command| {
            let InService { lba, sectors, direction, tag, .. } = command;
            (Command { lba, sectors, direction }, tag)
        });
        let mut commands: Vec<_> = in_service.into_iter().collect();
        let heads = Heads { now_ns, track: self.track, before: self.before };
        let admitted =
            std::iter::from_fn(|| self.admitted.take(Scheduler::Fcfs, &self.drive, heads));
        commands.extend(admitted.chain(self.waiting.drain(..)).map(|command| {
            let Admitted { lba, sectors, direction, tag, .. } = command;
            (Command { lba, sectors, direction }, tag)
        }));
        assert_eq!(commands.len(), self.unfinished, "a command was lost or made up");
        self.unfinished = 0;
        self.completion_ns = u64::MAX;
        self.latest_completion_ns = now_ns;
        // The commands that had yet to arrive are gone with the others.
        self.latest_arrival_ns = self.latest_arrival_ns.min(now_ns);
        self.track = Track::new(0, 0);
        self.before = Direction::Read;
        self.cache = self.cache.take().and_then(|cache| cache.emptied(&self.drive)).map(Box::new);
        Replaced { commands, served_ns }
    }

    /// Totals since time zero.
    pub fn statistics(&self) -> Statistics {
        let counters = &self.counters;
        let rotation = self.drive.rotation();
        Statistics {
            reads: counters.commands[Direction::Read as usize],
            writes: counters.commands[Direction::Write as usize],
            read_sectors: counters.sectors[Direction::Read as usize],
            write_sectors: counters.sectors[Direction::Write as usize],
            busy_ns: counters.busy_ns,
            residence_ns: counters.residence_ns,
            overhead_ns: rotation.ns(counters.overhead_ticks),
            seek_ns: rotation.ns(counters.seek_ticks),
            rotation_ns: rotation.ns(counters.rotation_ticks),
            transfer_ns: rotation.ns(counters.transfer_ticks),
            cache_hits: counters.cache_hits,
        }
    }

    /// Nanoseconds in service up to `now_ns`, which is not before the last completion taken out. The command in service
    /// counts only up to `now_ns`.
    pub fn busy_ns_until(&self, now_ns: u64) -> u64 {
        let ahead_ns = match self.in_service {
            Some(_) => self.completion_ns.saturating_sub(now_ns).min(self.service_ns),
            None => 0,
        };
        let busy_ns = self.counters.busy_ns - ahead_ns;
        // Services do not overlap, so the utilization of a segment between two such times is at most 1 too.
        assert!(busy_ns <= now_ns, "the spindle was busy for {busy_ns} ns of {now_ns} ns");
        busy_ns
    }

    /// Nanoseconds spent on the command in service up to `now_ns`, which is not before the last completion taken out; 0
    /// when the spindle is idle or the command has not arrived.
    pub fn served_ns_until(&self, now_ns: u64) -> u64 {
        if self.in_service.is_none() {
            return 0;
        }
        self.service_ns.saturating_sub(self.completion_ns.saturating_sub(now_ns))
    }
}

strewn_base::saved_state! {
    impl [T: SavedValue] for SimulatedSpindle<T> {
        parts: admitted, cache;
        values: completion_ns, service_ns, in_service, track, before, started_from, waiting, unfinished,
            latest_arrival_ns, latest_completion_ns, counters;
        built: drive, scheduler;
    }
}
