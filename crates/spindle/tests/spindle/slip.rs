//! The slip of the reference's platter: how far it falls behind the reference's own clock.
//!
//! DiskSim keeps the angle of the platter and turns it forward at each event: before and after the arm moves, at the
//! first sector, and for each sector that passes while it serves a command or reads ahead. The time since the last
//! event, cut to whole picoseconds, becomes an angle cut to 2^-24 revolution (`dm_rotate` in diskmodel's `mech_g1.c`).
//! So every event loses less than one such step, and the platter only falls behind. A sector's time is a whole number
//! of steps, less what was cut: most sectors lose nearly a whole step.
//!
//! The slip is estimated from the times of the reference and checked against the number of events, which follows
//! from the commands alone.

use strewn_spindle::{Command, Direction, Drive};

use crate::reference::TraceRow;

/// Most that an event loses, in nanoseconds: 2^-24 of a revolution at 15,020 rpm, and a picosecond.
const STEP_NS: f64 = 60e9 / 15_020.0 / (1 << 24) as f64 + 0.001;

/// Events for each track of a command beside its sectors: before the seek, after it, on the track, and at the first
/// sector.
const EVENTS_PER_TRACK: u32 = 4;

/// Most sectors on a track, which is how many pass in a revolution.
const TRACK_SECTORS: u32 = 1200;

/// Requests whose angles are compared for one point of the slip.
const REQUESTS_PER_POINT: usize = 250;

/// Commands answered from the cache end at the same time in both, wherever the platter is: nearer ends than this are
/// not compared.
const SAME_MS: f64 = 1e-5;

/// Most events that serving `command` takes. With the cache off these are
///
/// - for a read, its sectors;
/// - for a write, the sectors of a revolution on each track: a head that lands behind the first sector waits for it
///   sector by sector.
///
/// With the cache on, the drive also reads ahead, to the end of the next track at most.
fn events(drive: &Drive, command: &Command, cached: bool) -> u32 {
    let transfer = drive.transfer(command).unwrap();
    // A command of the traces is shorter than a track.
    let tracks = 1 + u32::from(transfer.start.track != transfer.end_track);
    let sectors = match command.direction {
        Direction::Read => command.sectors,
        Direction::Write => tracks * TRACK_SECTORS,
    };
    match cached {
        false => sectors + tracks * EVENTS_PER_TRACK,
        true => sectors + 2 * TRACK_SECTORS + (tracks + 2) * EVENTS_PER_TRACK,
    }
}

/// The slip by the time of the trace.
pub struct Slip(Vec<Point>);

struct Point {
    at_ns: f64,
    slip_ns: f64,
    /// Most slip that the events up to here explain.
    explained_ns: f64,
}

impl Slip {
    /// No slip, at points of so many requests each.
    pub fn none(drive: &Drive, rows: &[TraceRow], cached: bool) -> Self {
        let mut points = vec![Point { at_ns: 0.0, slip_ns: 0.0, explained_ns: 0.0 }];
        let mut explained_ns = 0.0;
        for near in rows.chunks(REQUESTS_PER_POINT) {
            let at_ns = near[near.len() / 2].arrival_ns as f64;
            let events = near.iter().map(|row| events(drive, &row.command, cached)).sum::<u32>();
            explained_ns += f64::from(events) * STEP_NS;
            points.push(Point { at_ns, slip_ns: 0.0, explained_ns });
        }
        Self(points)
    }

    /// Adds the slip that is left between the reference's times and ours.
    ///
    /// The ends of requests are compared as angles, because a request that waited for another is late by whole
    /// revolutions.
    pub fn refine(&mut self, drive: &Drive, ours_ms: &[f64], reference_ms: &[f64]) {
        let revolution_ms = drive.rotation().revolution_ms();
        let wrap = |turns: f64| turns - turns.round();
        let mut left_rev = 0.0;
        let times = ours_ms.chunks(REQUESTS_PER_POINT).zip(reference_ms.chunks(REQUESTS_PER_POINT));
        for (point, (ours_ms, reference_ms)) in self.0[1..].iter_mut().zip(times) {
            let off_ms = reference_ms.iter().zip(ours_ms).map(|(reference, ours)| reference - ours);
            let mut off_rev: Vec<f64> = off_ms
                .filter(|off_ms| off_ms.abs() > SAME_MS)
                .map(|off_ms| wrap(off_ms / revolution_ms - left_rev))
                .collect();
            off_rev.sort_by(f64::total_cmp);
            left_rev += off_rev.get(off_rev.len() / 2).unwrap_or(&0.0);
            point.slip_ns += left_rev * revolution_ms * 1e6;
        }
    }

    /// The slip at `at_ns` on the clock, in nanoseconds, no more than is explained: linear between points, and with the
    /// last slope beyond them.
    pub fn at(&self, at_ns: f64) -> f64 {
        let above = self.0.partition_point(|point| point.at_ns <= at_ns).clamp(1, self.0.len() - 1);
        let (low, high) = (&self.0[above - 1], &self.0[above]);
        let part = (at_ns - low.at_ns) / (high.at_ns - low.at_ns);
        let slip_ns = low.slip_ns + (high.slip_ns - low.slip_ns) * part;
        slip_ns.min(high.explained_ns)
    }

    /// At the last point, in milliseconds.
    pub fn last_ms(&self) -> f64 {
        self.0[self.0.len() - 1].slip_ns / 1e6
    }

    /// Most slip that the events of the whole trace explain, in milliseconds.
    pub fn explained_ms(&self) -> f64 {
        self.0[self.0.len() - 1].explained_ns / 1e6
    }

    /// Whether every point has no less slip than none and no more than the events up to it explain.
    pub fn is_explained(&self) -> bool {
        self.0.iter().all(|point| (0.0..=point.explained_ns).contains(&point.slip_ns))
    }
}
