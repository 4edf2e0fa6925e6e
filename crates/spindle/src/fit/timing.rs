//! Timed reads, and the revolution that they show.

use std::f64::consts::TAU;

use strewn_base::Rng;

use super::{FitError, MeasuredDrive, Progress, Stage, Stillness};

/// Reads of one sector in a row.
const REPEATS: usize = 300;

/// Reads of other sectors, each followed by a read of the first one.
const ANGLES: usize = 200;

/// A drive turns once in this many milliseconds: 600 to 60,000 rpm.
const REVOLUTION_MS: std::ops::RangeInclusive<f64> = 1.0..=100.0;

/// Least spread of response times, in revolutions, and least coherence of a drive that turns. Uniform angles spread
/// over 0.9 of a revolution; times without a period have a coherence of 0.07 on average.
const LEAST_SPREAD_REV: f64 = 0.5;
const LEAST_COHERENCE: f64 = 0.8;

/// When a read was issued and when it was done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// A drive under measurement.
pub(super) struct Timing<'a, D> {
    drive: &'a mut D,
    report: &'a mut dyn FnMut(Progress),
    revolution_ns: f64,
    reads: u64,
    first_ns: u64,
    last_ns: u64,
    rng: Rng,
}

impl<'a, D: MeasuredDrive> Timing<'a, D> {
    pub(super) fn new(drive: &'a mut D, report: &'a mut dyn FnMut(Progress)) -> Self {
        let (revolution_ns, reads, first_ns, last_ns) = (0.0, 0, 0, 0);
        Self { drive, report, revolution_ns, reads, first_ns, last_ns, rng: Rng::new(1) }
    }

    pub(super) fn capacity_sectors(&self) -> u64 {
        self.drive.capacity_sectors()
    }

    /// Nanoseconds of a revolution, once it has been found.
    pub(super) fn revolution_ns(&self) -> f64 {
        self.revolution_ns
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads
    }

    /// From the first read to the last.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    pub(super) fn report(&mut self, stage: Stage, done: f64) {
        (self.report)(Progress { stage, done, reads: self.reads });
    }

    /// A number below `limit`.
    pub(super) fn random(&mut self, limit: u64) -> u64 {
        self.rng.below(limit)
    }

    /// Reads one sector.
    pub(super) fn read(&mut self, lba: u64) -> Result<Times, FitError> {
        let (start_ns, end_ns) =
            self.drive.read(lba, 1).map_err(|source| FitError::Read { lba, source })?;
        if self.reads == 0 {
            self.first_ns = start_ns;
        }
        self.reads += 1;
        self.last_ns = end_ns;
        Ok(Times { start_ns, end_ns })
    }

    /// The angle from the sector of one read to that of a later one, in nanoseconds of rotation:
    /// at least 0 and less than a revolution.
    pub(super) fn angle_ns(&self, from: Times, to: Times) -> f64 {
        span_ns(from, to).rem_euclid(self.revolution_ns)
    }

    /// Brings an angle in nanoseconds within half a revolution of zero.
    pub(super) fn signed_ns(&self, angle_ns: f64) -> f64 {
        let half_ns = self.revolution_ns / 2.0;
        (angle_ns + half_ns).rem_euclid(self.revolution_ns) - half_ns
    }

    /// Finds the revolution, or that there is none.
    pub(super) fn find_revolution(&mut self) -> Result<(), FitError> {
        self.report(Stage::Rotation, 0.0);
        let lba = self.capacity_sectors() / 7;
        let mut repeats = Vec::with_capacity(REPEATS + 1);
        for _ in 0..=REPEATS {
            repeats.push(self.read(lba)?);
        }
        let intervals = repeats.windows(2).map(|two| span_ns(two[0], two[1])).collect();
        let repeat_ns = quantile(intervals, 0.5);

        // Sectors near by, at all angles: what differs between them is the rotation.
        let near_sectors = (self.capacity_sectors() / 64).min(1 << 16);
        let mut before = self.read(lba)?;
        let (mut responses, mut along, mut across) = (Vec::with_capacity(ANGLES), 0.0, 0.0);
        for _ in 0..ANGLES {
            let other = lba + 1 + self.random(near_sectors);
            let times = self.read(other)?;
            responses.push((times.end_ns.saturating_sub(times.start_ns)) as f64);
            let back = self.read(lba)?;
            let phase = TAU * span_ns(before, back) / repeat_ns.max(1.0);
            (along, across) = (along + phase.cos(), across + phase.sin());
            before = back;
        }
        let spread_ns = quantile(responses.clone(), 0.95) - quantile(responses, 0.05);
        let coherence = f64::hypot(along, across) / ANGLES as f64;
        let turns = REVOLUTION_MS.contains(&(repeat_ns / 1e6))
            && spread_ns >= LEAST_SPREAD_REV * repeat_ns
            && coherence >= LEAST_COHERENCE;
        if !turns {
            let (repeat_ms, spread_ms) = (repeat_ns / 1e6, spread_ns / 1e6);
            let stillness = Stillness { repeat_ms, spread_ms, coherence };
            // No platter brings a sector back so soon; behind a memory there may be one.
            let is_memory = repeat_ms < *REVOLUTION_MS.start() && spread_ms >= 1.0;
            return Err(if is_memory {
                FitError::CacheAnswers(stillness)
            } else {
                FitError::DoesNotRotate(stillness)
            });
        }
        self.revolution_ns = revolution_ns(&repeats, repeat_ns);
        self.report(Stage::Rotation, 1.0);
        Ok(())
    }
}

/// The revolution from reads of one sector, given what it is about: the median over spans of half
/// of them, so that a read that was late does not count. One that missed its sector took two.
fn revolution_ns(repeats: &[Times], about_ns: f64) -> f64 {
    let mut turns = 0.0;
    let mut turns_at = vec![0.0];
    for two in repeats.windows(2) {
        turns += (span_ns(two[0], two[1]) / about_ns).round();
        turns_at.push(turns);
    }
    let half = repeats.len() / 2;
    let later = repeats.iter().zip(&turns_at).skip(half);
    let spans =
        repeats.iter().zip(&turns_at).zip(later).map(|((from, from_turns), (to, to_turns))| {
            span_ns(*from, *to) / (to_turns - from_turns)
        });
    quantile(spans.collect(), 0.5)
}

/// From the end of one read to the end of a later one.
pub(super) fn span_ns(from: Times, to: Times) -> f64 {
    to.end_ns.saturating_sub(from.end_ns) as f64
}

/// The value below which the given part of `values` lies; 0 if there are none.
pub(super) fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((part * last as f64).round() as usize).copied().unwrap_or(0.0)
}
