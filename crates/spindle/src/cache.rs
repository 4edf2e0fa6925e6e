//! The drive's own cache: segments, read-ahead, writes acknowledged before they are on the medium.
//!
//! The rules are those that the reference simulator's times for the Cheetah 15K.5 show, as far as
//! they show them:
//!
//! - A read that lies in one segment costs its overhead and moves nothing. Any other read goes to
//!   the medium whole, continues the segment that it continues in address, or else takes the one
//!   used least recently.
//! - After a read the drive reads on into the segment: until the track ends on which the read
//!   began, or the next one if the segment came from the track before, and no further than the
//!   segment's size from the read. Any command but a read of that segment stops it, when the sector
//!   under the head has passed.
//! - With write-back, a write is acknowledged when its overhead has passed, and goes to the medium
//!   at once. Anything but a write that continues it waits until it is there. A failure of power
//!   loses one run of sectors, therefore.
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

    /// Whether sectors from `lba` on would continue it.
    fn reaches(&self, lba: u64) -> bool {
        self.first_lba <= lba && lba <= self.end_lba
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
        let hit_ns = hit_ns + bus_ns;
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
        // What is on its way to the medium goes there first.
        let start_ns = now_ns.max(self.written_ns);
        let hit_ns = start_ns + hit_ns;
        if let Some(buffered_ns) = self.buffered_ns(drive, start_ns, command.lba, end_lba) {
            return Served { completion_ns: hit_ns.max(buffered_ns), hit: true, arm };
        }
        let (start_ns, arm) = self.stop_reading(drive, start_ns, arm);
        let found = self.segments.iter().position(|held| held.holds(command.lba, end_lba));
        if let Some(found) = found {
            let mut segment = self.segments.remove(found);
            segment.first_lba = command.lba;
            self.segments.push(segment);
            let arm = self.resume_reading(drive, start_ns, arm, command.lba);
            return Served { completion_ns: hit_ns, hit: true, arm };
        }
        let overhead = drive.overhead_ticks(arm.before)[Operation::Read as usize];
        let completion_ns = medium_ns(drive, start_ns, overhead, arm, Operation::Read, transfer);
        let stream = self.segments.iter().position(|held| held.reaches(command.lba));
        let first_lba = stream.map_or(command.lba, |stream| self.segments[stream].first_lba);
        self.insert(Segment { first_lba, end_lba });
        let ahead_lba = self.ahead_lba(drive, first_lba, command.lba);
        self.reading = (ahead_lba > end_lba).then_some(Reading {
            from_ns: completion_ns,
            from_lba: end_lba,
            end_lba: ahead_lba,
        });
        let arm = Arm { track: transfer.end_track, before: Operation::Read };
        Served { completion_ns, hit: false, arm }
    }

    /// Where reading on ends after a read at `lba` into a segment that starts at `first_lba`.
    fn ahead_lba(&self, drive: &Drive, first_lba: u64, lba: u64) -> u64 {
        let capacity_sectors = drive.capacity_sectors();
        let full_lba = (lba + u64::from(self.rules.segment_sectors)).min(capacity_sectors);
        match self.rules.read_ahead {
            ReadAhead::None => lba,
            ReadAhead::Segment => full_lba,
            ReadAhead::Track => {
                let track = drive.track_sectors(lba);
                let end_lba = if first_lba < track.start && track.end < capacity_sectors {
                    drive.track_sectors(track.end).end
                } else {
                    track.end
                };
                end_lba.min(full_lba)
            }
        }
    }

    /// Reads on from the end of the segment used last, after a read at `lba` that was found in it.
    fn resume_reading(&mut self, drive: &Drive, now_ns: u64, arm: Arm, lba: u64) -> Arm {
        let Some(&segment) = self.segments.last() else { return arm };
        let end_lba = self.ahead_lba(drive, segment.first_lba, lba);
        if end_lba <= segment.end_lba {
            return arm;
        }
        let rotation = drive.rotation();
        let from = drive.locate(segment.end_lba);
        let [overhead, _] = drive.overhead_ticks(arm.before);
        let angle = rotation.angle_at(now_ns);
        let way = drive.positioning(overhead, arm.track, angle, from);
        self.reading = Some(Reading {
            from_ns: now_ns + rotation.ns(u64::from(way.ticks())),
            from_lba: segment.end_lba,
            end_lba,
        });
        Arm { track: from.track, before: Operation::Read }
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
        let appends = self.segments.last().is_some_and(|last| last.end_lba == command.lba);
        if self.rules.write_back && appends && now_ns < self.written_ns {
            self.extend(end_lba);
            self.written_ns += passing_ns(drive, command.lba, end_lba);
            let arm = Arm { track: transfer.end_track, before: Operation::Write };
            return Served { completion_ns: now_ns + hit_ns, hit: true, arm };
        }
        let start_ns = now_ns.max(self.written_ns);
        let (start_ns, from) = self.stop_reading(drive, start_ns, arm);
        self.insert(Segment { first_lba: command.lba, end_lba });
        let arm = Arm { track: transfer.end_track, before: Operation::Write };
        if self.rules.write_back {
            // The overhead of the answer is that of the writing too.
            let answer_ns = start_ns.max(now_ns + hit_ns);
            self.written_ns = medium_ns(drive, answer_ns, 0, from, Operation::Write, transfer);
            return Served { completion_ns: answer_ns, hit: true, arm };
        }
        let overhead = drive.overhead_ticks(from.before)[Operation::Write as usize];
        self.written_ns = medium_ns(drive, start_ns, overhead, from, Operation::Write, transfer);
        Served { completion_ns: self.written_ns, hit: false, arm }
    }

    /// When the sectors will all be in the cache, if the first of them is there and the segment
    /// being read on into will hold the rest.
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
        (passed_ns(first_lba + 1) <= now_ns).then(|| passed_ns(end_lba))
    }

    /// Stops reading on at `now_ns`, or when the sector under way has passed, and says when that
    /// is; what has passed whole stays in the segment.
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
        let mut stop_ns = now_ns;
        if read_lba < reading.end_lba {
            read_lba += 1;
            stop_ns = passed_ns(read_lba).max(now_ns);
        }
        self.extend(read_lba);
        (stop_ns, Arm { track: drive.locate(read_lba - 1).track, ..arm })
    }

    /// Lengthens the segment used last; it keeps no more than its size, from the end.
    fn extend(&mut self, end_lba: u64) {
        let kept = u64::from(self.rules.segment_sectors);
        if let Some(segment) = self.segments.last_mut() {
            segment.end_lba = segment.end_lba.max(end_lba);
            segment.first_lba = segment.first_lba.max(segment.end_lba.saturating_sub(kept));
        }
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
    overhead: u32,
    arm: Arm,
    operation: Operation,
    transfer: &Transfer,
) -> u64 {
    let rotation = drive.rotation();
    let angle = rotation.angle_at(start_ns);
    let (positioning, ticks) = drive.service(overhead, arm.track, angle, operation, transfer);
    start_ns + rotation.ns(u64::from(positioning.ticks()) + ticks)
}

/// Nanoseconds in which the sectors pass under the heads. They are within the drive.
fn passing_ns(drive: &Drive, first_lba: u64, end_lba: u64) -> u64 {
    let sectors = (end_lba - first_lba) as u32;
    let command = Command { lba: first_lba, sectors, operation: Operation::Read };
    drive.transfer(&command).map_or(0, |transfer| drive.rotation().ns(transfer.ticks))
}
