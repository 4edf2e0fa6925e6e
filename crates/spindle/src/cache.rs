//! The drive's own cache: segments, read-ahead, writes acknowledged before they are on the medium.
//!
//! The rules are those that the reference simulator's times for the Cheetah 15K.5 show:
//!
//! - A read that lies in one segment costs its overhead and moves nothing. Any other read goes to
//!   the medium whole and takes the segment used least recently.
//! - After a read the drive reads on into the segment, until the track ends or the segment is
//!   full. Any command but a read of that segment stops it. A read that crosses to another track
//!   is not read on from.
//! - With write-back, a write is acknowledged when its overhead has passed and goes to the medium
//!   at once. The next write is acknowledged when the one before is on the medium, and so is a
//!   read. One write is under way at a time, therefore, and a failure of power loses no more.
//!
//! Which command goes next is decided without a look at the cache.

use crate::geometry::Track;
use crate::mechanics::{Command, Drive, Operation, Transfer};
use crate::profile::{Cache, ReadAhead};

/// Consecutive sectors that are in the cache.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first_lba: u64,
    end_lba: u64,
}

impl Segment {
    fn holds(&self, first_lba: u64, end_lba: u64) -> bool {
        self.first_lba <= first_lba && end_lba <= self.end_lba
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first_lba < other.end_lba && other.first_lba < self.end_lba
    }
}

/// Reading on into the segment used last.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// When the sector at `from_lba` starts to pass.
    from_ns: u64,
    from_lba: u64,
    end_lba: u64,
}

/// Where the heads are and what they did last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    pub(crate) track: Track,
    pub(crate) before: Operation,
}

/// How a command was served through the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// When the host has its answer.
    pub(crate) completion_ns: u64,
    /// Whether the host did not wait for the medium: a read found, a write taken.
    pub(crate) hit: bool,
    pub(crate) arm: Arm,
}

/// What the cache of one spindle holds.
#[derive(Clone, Debug)]
pub(crate) struct CacheState {
    rules: Cache,
    /// By operation before and operation now, in nanoseconds.
    hit_overhead_ns: [[u64; 2]; 2],
    bus_ps_per_sector: u64,
    /// Used least recently first.
    segments: Vec<Segment>,
    reading: Option<Reading>,
    /// When the write under way is on the medium; in the past when none is.
    written_ns: u64,
    /// The host's last command, which decides the overhead of a hit.
    host_before: Operation,
}

impl CacheState {
    pub(crate) fn new(rules: Cache, bus_ps_per_sector: u64) -> Self {
        let hit = &rules.hit_overhead_ms;
        let ns = |ms: f64| (ms * 1e6).round() as u64;
        Self {
            hit_overhead_ns: [
                [ns(hit.read_after_read), ns(hit.write_after_read)],
                [ns(hit.read_after_write), ns(hit.write_after_write)],
            ],
            bus_ps_per_sector,
            segments: Vec::with_capacity(rules.segments as usize),
            reading: None,
            written_ns: 0,
            host_before: Operation::Read,
            rules,
        }
    }

    /// Serves a command to which the drive turns at `now_ns`. The command is within the drive.
    pub(crate) fn serve(
        &mut self,
        drive: &Drive,
        now_ns: u64,
        arm: Arm,
        command: &Command,
        transfer: &Transfer,
    ) -> Served {
        let bus_ns = u64::from(command.sectors) * self.bus_ps_per_sector / 1000;
        let hit_ns = self.hit_overhead_ns[self.host_before as usize][command.operation as usize];
        let hit_ns = now_ns + hit_ns + bus_ns;
        self.host_before = command.operation;
        match command.operation {
            Operation::Read => self.read(drive, now_ns, hit_ns, arm, command, transfer),
            Operation::Write => self.write(drive, now_ns, hit_ns, arm, command, transfer),
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
        let end_lba = command.lba + u64::from(command.sectors);
        let start_ns = now_ns.max(self.written_ns);
        if let Some(buffered_ns) = self.buffered_ns(drive, command.lba, end_lba) {
            let completion_ns = hit_ns.max(buffered_ns).max(start_ns);
            return Served { completion_ns, hit: true, arm };
        }
        let arm = self.stop_reading(drive, start_ns, arm);
        if let Some(found) = self.segments.iter().position(|held| held.holds(command.lba, end_lba))
        {
            let segment = self.segments.remove(found);
            self.segments.push(segment);
            return Served { completion_ns: hit_ns.max(start_ns), hit: true, arm };
        }
        let completion_ns = medium_ns(drive, start_ns, arm, Operation::Read, transfer);
        self.insert(Segment { first_lba: command.lba, end_lba });
        let track_end_lba = drive.track_end_lba(command.lba);
        let full_lba = command.lba + u64::from(self.rules.segment_sectors.max(command.sectors));
        let ahead_lba = match self.rules.read_ahead {
            ReadAhead::None => end_lba,
            ReadAhead::Track => full_lba.min(track_end_lba),
            ReadAhead::Segment => full_lba.min(drive.capacity_sectors()),
        };
        if ahead_lba > end_lba {
            self.reading =
                Some(Reading { from_ns: completion_ns, from_lba: end_lba, end_lba: ahead_lba });
        }
        let arm = Arm { track: transfer.end_track, before: Operation::Read };
        Served { completion_ns, hit: false, arm }
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
        let start_ns = now_ns.max(self.written_ns);
        let arm = self.stop_reading(drive, start_ns, arm);
        let end_lba = command.lba + u64::from(command.sectors);
        self.insert(Segment { first_lba: command.lba, end_lba });
        self.written_ns = medium_ns(drive, start_ns, arm, Operation::Write, transfer);
        let arm = Arm { track: transfer.end_track, before: Operation::Write };
        if self.rules.write_back {
            return Served { completion_ns: hit_ns.max(start_ns), hit: true, arm };
        }
        Served { completion_ns: self.written_ns, hit: false, arm }
    }

    /// When the sectors will all be in the cache, if the segment being read on into holds them or
    /// will.
    fn buffered_ns(&self, drive: &Drive, first_lba: u64, end_lba: u64) -> Option<u64> {
        let reading = self.reading?;
        let segment = self.segments.last()?;
        let will_hold = Segment { first_lba: segment.first_lba, end_lba: reading.end_lba };
        if !will_hold.holds(first_lba, end_lba) {
            return None;
        }
        if end_lba <= reading.from_lba {
            return Some(0);
        }
        Some(reading.from_ns + passing_ns(drive, reading.from_lba, end_lba))
    }

    /// Stops reading on at `now_ns`; what has passed whole stays in the segment.
    fn stop_reading(&mut self, drive: &Drive, now_ns: u64, arm: Arm) -> Arm {
        let Some(reading) = self.reading.take() else { return arm };
        let (mut read_lba, mut unread_lba) = (reading.from_lba, reading.end_lba + 1);
        while unread_lba - read_lba > 1 {
            let middle_lba = read_lba + (unread_lba - read_lba) / 2;
            let passed_ns = reading.from_ns + passing_ns(drive, reading.from_lba, middle_lba);
            if passed_ns <= now_ns {
                read_lba = middle_lba;
            } else {
                unread_lba = middle_lba;
            }
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.end_lba = segment.end_lba.max(read_lba);
        }
        Arm { track: drive.locate(read_lba - 1).track, ..arm }
    }

    /// Adds a segment as the one used last, in place of what it makes stale and, when all are in
    /// use, of the one used first. A segment keeps no more than its size, from the end.
    fn insert(&mut self, mut segment: Segment) {
        let kept = u64::from(self.rules.segment_sectors);
        segment.first_lba = segment.first_lba.max(segment.end_lba.saturating_sub(kept));
        self.segments.retain(|held| !held.overlaps(&segment));
        if self.segments.len() >= self.rules.segments as usize {
            self.segments.remove(0);
        }
        self.segments.push(segment);
    }
}

/// When a transfer that the drive turns to at `start_ns` is done.
fn medium_ns(
    drive: &Drive,
    start_ns: u64,
    arm: Arm,
    operation: Operation,
    transfer: &Transfer,
) -> u64 {
    let rotation = drive.rotation();
    let angle = rotation.angle_at(start_ns);
    let (positioning, ticks) = drive.service(arm.before, arm.track, angle, operation, transfer);
    start_ns + rotation.ns(u64::from(positioning.ticks()) + ticks)
}

/// Nanoseconds in which the sectors pass under the heads. They are within the drive.
fn passing_ns(drive: &Drive, first_lba: u64, end_lba: u64) -> u64 {
    let sectors = (end_lba - first_lba) as u32;
    let command = Command { lba: first_lba, sectors, operation: Operation::Read };
    drive.transfer(&command).map_or(0, |transfer| drive.rotation().ns(transfer.ticks))
}
