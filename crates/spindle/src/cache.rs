//! The drive's own cache: segments, read-ahead, writes acknowledged before they are on the medium.
//!
//! The rules follow the reference simulator's times for the Cheetah 15K.5:
//!
//! - A read within one segment costs its overhead and moves nothing. If a segment holds only its first sectors, the
//!   rest is read into that segment. Any other read goes to the medium whole and takes a segment of its own, the one
//!   used least recently.
//! - After reading the medium the drive reads ahead: to the end of the track of the read's last sector and, if the
//!   segment begins on an earlier track, to the end of the next track. Sectors beyond the segment's size replace its
//!   oldest, even if no command has asked for those. Any command but a read of that segment stops reading ahead, once
//!   the sector under the head has passed.
//! - With write-back, a write is acknowledged after its overhead and goes to the medium at once. Every other command
//!   waits for it, except a write that continues it. A power loss therefore costs one run of sectors.
//!
//! The scheduler ignores the cache.
//!
//! A drive that gathers writes ([`gathering`](CacheState::gathering)) has one more rule, which the reference simulator
//! does not have: a write that continues the command before it is held back until both are written together, so it
//! takes the time of its sectors alone, and the scheduler prefers it. What is held back is at most a segment.

use std::ops::Range;

use crate::geometry::Track;
use crate::mechanics::{Command, Drive, Transfer};
use crate::profile::{Cache, ReadAhead};
use crate::rotation::TICKS_PER_REVOLUTION;
use strewn_base::Direction;
use strewn_base::state::SavedValue;

/// Consecutive sectors in the cache.
#[derive(Clone, Copy, Debug, SavedValue)]
struct Segment {
    first_lba: u64,
    end_lba: u64,
}

impl Segment {
    fn holds(&self, first_lba: u64, end_lba: u64) -> bool {
        self.first_lba <= first_lba && end_lba <= self.end_lba
    }

    fn holds_sector(&self, lba: u64) -> bool {
        self.first_lba <= lba && lba < self.end_lba
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first_lba < other.end_lba && other.first_lba < self.end_lba
    }
}

/// Reading ahead into the segment used last.
#[derive(Clone, Copy, Debug, SavedValue)]
struct ReadingAhead {
    /// When the sector at `from_lba` starts to pass.
    from_ns: u64,
    from_lba: u64,
    end_lba: u64,
}

/// The arm's track and the direction of the last command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    pub(crate) track: Track,
    pub(crate) before: Direction,
}

/// How a command was served through the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// When the command completes for the host.
    pub(crate) completion_ns: u64,
    /// Whether it completed without the medium: a read hit, an accepted write.
    pub(crate) hit: bool,
    pub(crate) arm: Arm,
}

/// The cache of one spindle.
#[derive(Clone, Debug)]
pub(crate) struct CacheState {
    rules: Cache,
    /// By direction before and direction now, in nanoseconds.
    hit_overhead_ns: [[u64; 2]; 2],
    bus_ps_per_sector: u64,
    /// The one used least recently first.
    segments: Vec<Segment>,
    reading: Option<ReadingAhead>,
    /// When the write in progress is on the medium; in the past if there is none.
    written_ns: u64,
    /// Direction of the host's last command, which decides the overhead of a hit.
    host_before: Direction,
    /// Whether writes that continue one another are written together, however late they come.
    gathers: bool,
}

impl CacheState {
    /// The empty cache of `drive`, if it has one.
    pub(crate) fn empty(drive: &Drive) -> Option<Self> {
        let rules = drive.cache_rules()?.clone();
        let hit = &rules.hit_overhead_ms;
        let ns = |ms: f64| (ms * 1e6).round() as u64;
        Some(Self {
            hit_overhead_ns: [
                [ns(hit.read_after_read), ns(hit.write_after_read)],
                [ns(hit.read_after_write), ns(hit.write_after_write)],
            ],
            bus_ps_per_sector: drive.bus_ps_per_sector(),
            segments: Vec::with_capacity(rules.segments as usize),
            reading: None,
            written_ns: 0,
            host_before: Direction::Read,
            gathers: false,
            rules,
        })
    }

    /// The empty cache of `drive`, which gathers writes if it answers them at all before they are written. It does not
    /// read ahead: the scheduler, which ignores the cache, would have the arm leave what is being read.
    pub(crate) fn gathering(drive: &Drive) -> Option<Self> {
        let cache = Self::empty(drive)?;
        let rules = Cache { read_ahead: ReadAhead::None, ..cache.rules };
        Some(Self { gathers: rules.write_back, rules, ..cache })
    }

    /// The empty cache of the same drive.
    pub(crate) fn emptied(&self, drive: &Drive) -> Option<Self> {
        if self.gathers { Self::gathering(drive) } else { Self::empty(drive) }
    }

    /// When the arm is free for another command. A drive that gathers writes knows; the reference simulator's scheduler
    /// does not.
    pub(crate) fn free_ns(&self, now_ns: u64) -> u64 {
        if self.gathers { now_ns.max(self.written_ns) } else { now_ns }
    }

    /// Where a write begins that would be written together with the command before it.
    pub(crate) fn gathers_from(&self) -> Option<u64> {
        let continues = self.gathers && self.host_before == Direction::Write;
        self.segments.last().filter(|_| continues).map(|last| last.end_lba)
    }

    /// Serves a command from `now_ns` on. The command is within the drive.
    pub(crate) fn serve(
        &mut self,
        drive: &Drive,
        now_ns: u64,
        arm: Arm,
        command: &Command,
        transfer: &Transfer,
    ) -> Served {
        let bus_ns = u64::from(command.sectors) * self.bus_ps_per_sector / 1000;
        let hit_ns = self.hit_overhead_ns[self.host_before as usize][command.direction as usize];
        let hit_ns = hit_ns + bus_ns;
        let is_gathered =
            command.direction == Direction::Write && self.gathers_from() == Some(command.lba);
        self.host_before = command.direction;
        match command.direction {
            Direction::Read => self.read(drive, now_ns, hit_ns, arm, command, transfer),
            Direction::Write if is_gathered => {
                let sectors_ns = drive.rotation().ns(transfer.ticks);
                let written_ns = self.written_ns.max(now_ns) + sectors_ns;
                // It has room for a segment that is not written yet.
                let room_ns = u128::from(sectors_ns) * u128::from(self.rules.segment_sectors)
                    / u128::from(command.sectors);
                let room_ns = written_ns.saturating_sub(room_ns as u64);
                self.append(written_ns, room_ns.max(now_ns + hit_ns), command, transfer)
            }
            Direction::Write => self.write(drive, now_ns, hit_ns, arm, command, transfer),
        }
    }

    fn read(
        &mut self,
        drive: &Drive,
        now_ns: u64,
        hit_ns: u64,
        arm: Arm,
        command: &Command,
        transfer: &Transfer,
    ) -> Served {
        let (lba, end_lba) = (command.lba, command.lba + u64::from(command.sectors));
        let overhead = drive.overhead_ticks(arm.before)[Direction::Read as usize];
        // A write in progress comes first. A read that waits for it has the overhead of a miss meanwhile, even if it is
        // a hit.
        let start_ns = now_ns.max(self.written_ns);
        let hit_ns = if now_ns < self.written_ns {
            start_ns.max(now_ns + drive.rotation().ns(u64::from(overhead)))
        } else {
            now_ns + hit_ns
        };
        if let Some(buffered_ns) = self.buffered_ns(drive, start_ns, lba, end_lba) {
            return Served { completion_ns: hit_ns.max(buffered_ns), hit: true, arm };
        }
        let (at_ns, arm) = self.stop_reading(drive, start_ns, arm);
        let begun = self.latest(|held| held.holds_sector(lba));
        if begun.is_some()
            && let Some(found) = self.latest(|held| held.holds(lba, end_lba))
        {
            let segment = self.segments.remove(found);
            self.segments.push(segment);
            return Served { completion_ns: hit_ns, hit: true, arm };
        }
        if let Some(begun) = begun {
            let segment = self.segments.remove(begun);
            let sectors = (end_lba - segment.end_lba) as u32;
            let rest = Command { lba: segment.end_lba, sectors, ..*command };
            if let Ok(transfer) = drive.transfer(&rest) {
                let completion_ns =
                    medium_ns(drive, at_ns, overhead, arm, Direction::Read, &transfer);
                let read = lba..end_lba;
                return self.read_into(drive, segment.first_lba, read, completion_ns, &transfer);
            }
        }
        let completion_ns = medium_ns(drive, at_ns, overhead, arm, Direction::Read, transfer);
        self.read_into(drive, lba, lba..end_lba, completion_ns, transfer)
    }

    /// The most recently used of the `suitable` segments.
    fn latest(&self, suitable: impl Fn(&Segment) -> bool) -> Option<usize> {
        self.segments.iter().rposition(suitable)
    }

    /// Finishes a read of the medium into the segment that begins at `first_lba`, and starts reading ahead.
    fn read_into(
        &mut self,
        drive: &Drive,
        first_lba: u64,
        read: Range<u64>,
        completion_ns: u64,
        transfer: &Transfer,
    ) -> Served {
        let ahead_lba = self.ahead_lba(drive, first_lba, &read);
        let end_lba = read.end;
        self.insert(Segment { first_lba, end_lba });
        self.reading = (ahead_lba > end_lba).then_some(ReadingAhead {
            from_ns: completion_ns,
            from_lba: end_lba,
            end_lba: ahead_lba,
        });
        let arm = Arm { track: transfer.end_track, before: Direction::Read };
        Served { completion_ns, hit: false, arm }
    }

    /// Where reading ahead ends after a read into a segment that begins at `first_lba`.
    fn ahead_lba(&self, drive: &Drive, first_lba: u64, read: &Range<u64>) -> u64 {
        let capacity_sectors = drive.capacity_sectors();
        match self.rules.read_ahead {
            ReadAhead::None => read.end,
            ReadAhead::Segment => {
                (read.start + u64::from(self.rules.segment_sectors)).min(capacity_sectors)
            }
            ReadAhead::Track => {
                let track = drive.track_sectors(read.end - 1);
                if first_lba < track.start && track.end < capacity_sectors {
                    drive.track_sectors(track.end).end
                } else {
                    track.end
                }
            }
        }
    }

    fn write(
        &mut self,
        drive: &Drive,
        now_ns: u64,
        hit_ns: u64,
        arm: Arm,
        command: &Command,
        transfer: &Transfer,
    ) -> Served {
        let end_lba = command.lba + u64::from(command.sectors);
        let written = Segment { first_lba: command.lba, end_lba };
        let appends = self.segments.last().is_some_and(|last| last.end_lba == command.lba);
        if self.rules.write_back && appends && now_ns < self.written_ns {
            let written_ns = appended_ns(drive, self.written_ns, arm.track, transfer);
            return self.append(written_ns, now_ns + hit_ns, command, transfer);
        }
        let start_ns = now_ns.max(self.written_ns);
        let (start_ns, from) = self.stop_reading(drive, start_ns, arm);
        self.forget(&written);
        self.insert(written);
        let arm = Arm { track: transfer.end_track, before: Direction::Write };
        if self.rules.write_back {
            // Acknowledging and writing share one overhead.
            let answer_ns = start_ns.max(now_ns + hit_ns);
            self.written_ns = medium_ns(drive, answer_ns, 0, from, Direction::Write, transfer);
            return Served { completion_ns: answer_ns, hit: true, arm };
        }
        let overhead = drive.overhead_ticks(from.before)[Direction::Write as usize];
        self.written_ns = medium_ns(drive, start_ns, overhead, from, Direction::Write, transfer);
        Served { completion_ns: self.written_ns, hit: false, arm }
    }

    /// Accepts a write that continues the one before.
    fn append(
        &mut self,
        written_ns: u64,
        completion_ns: u64,
        command: &Command,
        transfer: &Transfer,
    ) -> Served {
        let end_lba = command.lba + u64::from(command.sectors);
        self.forget(&Segment { first_lba: command.lba, end_lba });
        self.extend(end_lba);
        self.written_ns = written_ns;
        let arm = Arm { track: transfer.end_track, before: Direction::Write };
        Served { completion_ns, hit: true, arm }
    }

    /// When all sectors will be in the cache, if the first is there and reading ahead will bring the rest.
    fn buffered_ns(&self, drive: &Drive, now_ns: u64, first_lba: u64, end_lba: u64) -> Option<u64> {
        let reading = self.reading?;
        let segment = self.segments.last()?;
        let will_hold = Segment { first_lba: segment.first_lba, end_lba: reading.end_lba };
        if !will_hold.holds(first_lba, end_lba) {
            return None;
        }
        let passed_ns = |lba: u64| {
            if lba <= reading.from_lba {
                return 0;
            }
            reading.from_ns + passing_ns(drive, reading.from_lba, lba)
        };
        // The first sector has passed, and later ones have not replaced it.
        let kept = u64::from(self.rules.segment_sectors);
        let replaced_by_lba = first_lba + kept + 1;
        let replaced = replaced_by_lba <= reading.end_lba && passed_ns(replaced_by_lba) <= now_ns;
        (passed_ns(first_lba + 1) <= now_ns && !replaced).then(|| passed_ns(end_lba))
    }

    /// Stops reading ahead once the sector under the head at `now_ns` has passed. Returns when that is, and the arm.
    /// The segment keeps the sectors that had passed whole by `now_ns`.
    fn stop_reading(&mut self, drive: &Drive, now_ns: u64, arm: Arm) -> (u64, Arm) {
        let Some(reading) = self.reading.take() else { return (now_ns, arm) };
        if now_ns < reading.from_ns {
            return (now_ns, arm);
        }
        let passed_ns = |lba| reading.from_ns + passing_ns(drive, reading.from_lba, lba);
        let (mut read_lba, mut unread_lba) = (reading.from_lba, reading.end_lba + 1);
        while unread_lba - read_lba > 1 {
            let middle_lba = read_lba + (unread_lba - read_lba) / 2;
            if passed_ns(middle_lba) <= now_ns {
                read_lba = middle_lba;
            } else {
                unread_lba = middle_lba;
            }
        }
        self.extend(read_lba);
        let let_pass_lba = (read_lba + 1).min(reading.end_lba);
        let at_ns = passed_ns(let_pass_lba).max(now_ns);
        let arm = Arm { track: drive.locate(let_pass_lba - 1).track, ..arm };
        (at_ns, arm)
    }

    /// Drops the segments that a write has made stale.
    fn forget(&mut self, written: &Segment) {
        self.segments.retain(|held| !held.overlaps(written));
    }

    /// Extends the segment used last. It keeps no more than its size, from the end.
    fn extend(&mut self, end_lba: u64) {
        let kept = u64::from(self.rules.segment_sectors);
        if let Some(segment) = self.segments.last_mut() {
            segment.end_lba = segment.end_lba.max(end_lba);
            segment.first_lba = segment.first_lba.max(segment.end_lba.saturating_sub(kept));
        }
    }

    /// Adds a segment as the one used last. If all are in use, it replaces the one used least recently. A segment keeps
    /// no more than its size, from the end.
    fn insert(&mut self, mut segment: Segment) {
        let kept = u64::from(self.rules.segment_sectors);
        segment.first_lba = segment.first_lba.max(segment.end_lba.saturating_sub(kept));
        if self.segments.len() >= self.rules.segments as usize {
            self.segments.remove(0);
        }
        self.segments.push(segment);
    }
}

/// When a write is on the medium that continues the one finished at `written_ns`.
///
/// The drive starts it when the sectors before it have passed, too late for its first: on the same track it waits a
/// revolution.
fn appended_ns(drive: &Drive, written_ns: u64, from: Track, transfer: &Transfer) -> u64 {
    let rotation = drive.rotation();
    let way = drive.positioning(0, from, rotation.angle_at(written_ns), transfer.start);
    let missed = if from == transfer.start.track { TICKS_PER_REVOLUTION } else { 0 };
    written_ns + rotation.ns(u64::from(way.ticks() + missed) + transfer.ticks)
}

/// When a transfer that starts at `start_ns` is done.
fn medium_ns(
    drive: &Drive,
    start_ns: u64,
    overhead: u32,
    arm: Arm,
    direction: Direction,
    transfer: &Transfer,
) -> u64 {
    let rotation = drive.rotation();
    let angle = rotation.angle_at(start_ns);
    let (positioning, ticks) = drive.service(overhead, arm.track, angle, direction, transfer);
    start_ns + rotation.ns(u64::from(positioning.ticks()) + ticks)
}

/// Nanoseconds that the sectors take to pass under the head. They are within the drive.
fn passing_ns(drive: &Drive, first_lba: u64, end_lba: u64) -> u64 {
    let sectors = (end_lba - first_lba) as u32;
    let command = Command { lba: first_lba, sectors, direction: Direction::Read };
    drive.transfer(&command).map_or(0, |transfer| drive.rotation().ns(transfer.ticks))
}

strewn_base::saved_state! {
    impl for CacheState {
        parts:;
        values: segments, reading, written_ns, host_before;
        built: rules, hit_overhead_ns, bus_ps_per_sector, gathers;
    }
}
