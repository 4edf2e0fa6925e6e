//! What requests cost on a drive: a closed loop over simulated spindles.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use strewn_spindle::{
    Cache, Command, Direction, Drive, Profile, ReadAhead, Scheduler, SimulatedSpindle,
};

use super::commands::{CommandCounts, merge_adjacent};
use super::contiguous::ContiguousPlacement;
use super::requests::{Request, RequestPlan};
use super::resolution::{FileCommands, Layout};
use crate::{FileError, Piece};

/// Commands that a drive chooses among.
const DEPTH: u32 = 32;

/// The cache that a drive uses for one sequential stream.
const STREAM_CACHE_BYTES: u64 = 64 << 20;

/// From an answer to a sequential reader until its next request: the copy of 1 MiB, about.
const HOST_NS: u64 = 50_000;

/// The shift of addresses is a multiple of this.
const SHIFT_BYTES: u64 = 1 << 20;

/// The kind of drive that requests are simulated on: one for each device of the file system.
///
/// - Commands are scheduled by SPTF among up to 32.
/// - **Random and mixed workloads** keep their number of requests outstanding. Every command goes to the platter, as in Strewn's
///   other simulations; the drive's cache is left out, because what it holds of a small file, the host's memory holds first. The
///   nearline profile gives 83 random 4 KiB reads a second one at a time and 175 with 16 outstanding over the whole drive.
/// - **Sequential workloads** use the drive's cache to read ahead, as one stream of 64 MiB that reads on until a command
///   elsewhere. As many requests as are outstanding are issued together, as a window of read-ahead, and the next ones 0.05 ms
///   after all of them are answered. A contiguous file then comes to within 3 % of the media rate of the nearline profile
///   (239 MB/s of 246, which is 261 on a track less the switches between tracks). With the profile's own segments, which end
///   with a track or two, it would be 167.
/// - A piece larger than a command is one command to the simulated drive: real drives transfer queued commands that follow each
///   other in one go.
///
/// It falls short in three ways. Sequential writes lose a revolution with each window (96 MB/s at 1 MiB), because the profile's
/// cache does not collect them. Sequential requests within a mixed workload lose one too. And writes of less than a sector are
/// not read first.
#[derive(Debug, Clone)]
pub struct SpindleModel {
    drive: Arc<Drive>,
    streaming: Arc<Drive>,
}

impl SpindleModel {
    /// Drives of a profile.
    ///
    /// # Errors
    ///
    /// If the profile is invalid.
    pub fn new(profile: &Profile) -> Result<Self, FileError> {
        let built = |profile: &Profile| {
            let drive = Drive::new(profile);
            drive.map(Arc::new).map_err(|error| {
                FileError::input(error.to_string(), "correct the profile, or use one of Strewn's")
            })
        };
        let mut streaming = profile.clone();
        let segment_sectors = STREAM_CACHE_BYTES / u64::from(profile.sector_bytes.max(1));
        let cache = streaming.cache.get_or_insert_with(|| Cache {
            segments: 1,
            segment_sectors: 1,
            read_ahead: ReadAhead::Segment,
            write_back: false,
            hit_overhead_ms: profile.overhead_ms,
        });
        cache.segment_sectors = cache.segment_sectors.max(segment_sectors as u32);
        cache.read_ahead = ReadAhead::Segment;
        Ok(Self { drive: built(profile)?, streaming: built(&streaming)? })
    }

    /// Drives of the shipped profile called `name`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn shipped(name: &str) -> Result<Self, FileError> {
        let profile = Profile::shipped(name).ok_or_else(|| {
            let names: Vec<&str> = Profile::shipped_names().collect();
            FileError::input(
                format!("no drive profile is called \"{name}\""),
                format!("use one of {}", names.join(", ")),
            )
        })?;
        Self::new(&profile)
    }

    /// The name of the profile.
    #[must_use]
    pub fn name(&self) -> &str {
        self.drive.name()
    }

    /// Bytes of one drive.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_sectors() * u64::from(self.drive.sector_bytes())
    }

    fn spindle(&self, sequential: bool) -> Result<SimulatedSpindle<u32>, FileError> {
        let spindle = match sequential {
            true => {
                SimulatedSpindle::with_cache(Arc::clone(&self.streaming), Scheduler::Sptf, DEPTH)
            }
            false => SimulatedSpindle::new(Arc::clone(&self.drive), Scheduler::Sptf, DEPTH),
        };
        spindle.map_err(|error| FileError::input(error.to_string(), "use another drive profile"))
    }
}

/// What simulated requests came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SimulatedFigures {
    /// Requests answered per second.
    pub iops: f64,
    /// Mean time from issue to answer, in milliseconds.
    pub response_ms: f64,
    /// The response time that 95 % of requests do not exceed, in milliseconds.
    pub response_95_ms: f64,
    /// 10^6 bytes that the application gets or gives per second, holes included.
    pub mb_per_s: f64,
    /// Requests that were measured, without those of the warm-up.
    pub measured_requests: u64,
    /// Commands per measured request, with pieces larger than a command as one.
    pub drive_commands_per_request: f64,
}

/// What requests take and cost of one layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayoutCost {
    /// The commands.
    pub counts: CommandCounts,
    /// What the simulation came to, or `None` if no request takes a command.
    pub simulated: Option<SimulatedFigures>,
}

/// Addresses of a device that were moved towards its beginning, to fit onto the simulated drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddressShift {
    /// The device.
    pub device: String,
    /// The bytes by which every address is lower than on the device. The media rate is that of the new place.
    pub bytes: u64,
}

/// What a workload costs of a file as it lies, and of the same file laid out contiguously.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileCost {
    /// The name of the workload.
    pub workload: String,
    /// Whether it is sequential.
    pub sequential: bool,
    /// The requests outstanding.
    pub outstanding: u32,
    /// The requests whose commands were counted.
    pub requests: u64,
    /// Those of them that touch bytes of which nobody says where they are.
    pub unknown_requests: u64,
    /// The file as it lies.
    pub as_it_lies: LayoutCost,
    /// The file laid out contiguously.
    pub contiguous: LayoutCost,
    /// Where that is.
    pub contiguous_at: ContiguousPlacement,
    /// The simulated drive.
    pub drive: String,
    /// Requests that were simulated: fewer than were counted, so that a simulation takes a fraction of a second.
    pub simulated_requests: u64,
    /// Devices whose addresses were moved.
    pub shifts: Vec<AddressShift>,
}

impl FileCommands {
    /// Simulates the requests on one drive per device, of the file as it lies and of the contiguous one.
    ///
    /// Both are asked for the same requests. At most 4,096 are simulated, and no more than take about 131,072 pieces: of 1 MiB in
    /// 256 pieces each, 512 requests, from the beginnings of 32 stretches. Byte addresses are addresses of the drive, rounded to
    /// its sectors. Each stretch is a closed loop of its own; the requests of its beginning, as many as are outstanding, are
    /// not measured, and neither is the end, when fewer are outstanding. Where there are less than four times as many requests
    /// as outstanding, all are measured, from the first one's issue on.
    ///
    /// # Errors
    ///
    /// If the file lies beyond the end of the drive, and would not fit on it if it began at its beginning.
    pub fn simulate(&self, model: &SpindleModel) -> Result<FileCost, FileError> {
        let shifts = self.shifts(model)?;
        let simulated = |layout: &Layout| {
            let run = Run { model, layout, requests: self.plan.requests(), shifts: &shifts };
            run.figures(&self.plan, &self.simulated)
        };
        let cost = |counts, layout: &Layout| {
            Ok::<_, FileError>(LayoutCost { counts, simulated: simulated(layout)? })
        };
        let moved = self.devices.iter().zip(&shifts).filter(|(_, bytes)| **bytes > 0);
        Ok(FileCost {
            workload: self.plan.workload().to_owned(),
            sequential: self.plan.is_sequential(),
            outstanding: self.plan.outstanding(),
            requests: self.plan.requests().len() as u64,
            unknown_requests: self.unknown_requests(),
            as_it_lies: cost(self.as_it_lies(), &self.as_it_lies)?,
            contiguous: cost(self.contiguous(), &self.contiguous)?,
            contiguous_at: self.contiguous_at(),
            drive: model.name().to_owned(),
            simulated_requests: self.simulated.iter().map(|stretch| stretch.len() as u64).sum(),
            shifts: moved
                .map(|(device, bytes)| AddressShift { device: device.clone(), bytes: *bytes })
                .collect(),
        })
    }

    /// By device, what to subtract from addresses so that they fit onto the drive.
    fn shifts(&self, model: &SpindleModel) -> Result<Vec<u64>, FileError> {
        let capacity = model.capacity_bytes();
        let mut spans: Vec<(u64, u64)> = vec![(u64::MAX, 0); self.devices.len()];
        let pieces = self.as_it_lies.pieces.iter().chain(&self.contiguous.pieces).flatten();
        for piece in pieces {
            let device = usize::from(piece.device);
            if device >= spans.len() {
                spans.resize(device + 1, (u64::MAX, 0));
            }
            let (low, high) = &mut spans[device];
            *low = (*low).min(piece.byte);
            *high = (*high).max(piece.byte.saturating_add(piece.bytes));
        }
        let shift = |(device, &(low, high)): (usize, &(u64, u64))| {
            if high <= capacity {
                return Ok(0);
            }
            let low = low / SHIFT_BYTES * SHIFT_BYTES;
            if high - low <= capacity {
                return Ok(low);
            }
            let name = self.devices.get(device).map_or("?", String::as_str);
            Err(FileError::input(
                format!(
                    "the file lies in bytes {low} to {high} of {name}, and drive \"{}\" has {capacity}",
                    model.name()
                ),
                "simulate a larger drive, such as nearline-7200-16tb, or a profile of your own with \
                 more capacity_sectors",
            ))
        };
        spans.iter().enumerate().map(shift).collect()
    }
}

/// One simulation.
struct Run<'a> {
    model: &'a SpindleModel,
    layout: &'a Layout,
    requests: &'a [Request],
    shifts: &'a [u64],
}

/// A request that was answered.
#[derive(Clone, Copy)]
struct Answer {
    request: usize,
    at_ns: u64,
    response_ns: u64,
}

/// What was measured, of all stretches.
#[derive(Default)]
struct Measured {
    ns: u64,
    bytes: u64,
    commands: u64,
    response_ns: Vec<u64>,
}

impl Run<'_> {
    fn figures(
        &self,
        plan: &RequestPlan,
        stretches: &[Range<usize>],
    ) -> Result<Option<SimulatedFigures>, FileError> {
        let sequential = plan.is_sequential();
        let spindles = self.shifts.iter().map(|_| self.model.spindle(sequential));
        let mut spindles = spindles.collect::<Result<Vec<_>, _>>()?;
        let outstanding = plan.outstanding() as usize;
        let mut measured = Measured::default();
        let mut now_ns = 0;
        for stretch in stretches {
            let from_ns = now_ns;
            let answers = match sequential {
                true => self.windows(&mut spindles, stretch, outstanding, now_ns)?,
                false => self.closed_loop(&mut spindles, stretch, outstanding, now_ns)?,
            };
            now_ns = answers.last().map_or(now_ns, |answer| answer.at_ns);
            let warm_up = if stretch.len() < 4 * outstanding { 0 } else { outstanding };
            // The end of a sequential stretch is like its middle.
            let end = answers.len() - if sequential { 0 } else { warm_up };
            let from_ns = if warm_up == 0 { from_ns } else { answers[warm_up - 1].at_ns };
            measured.add(&answers[warm_up..end], from_ns, self);
        }
        Ok(measured.figures())
    }

    /// Issues the requests of a stretch as windows of `outstanding`, each after the one before was answered.
    fn windows(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        stretch: &Range<usize>,
        outstanding: usize,
        from_ns: u64,
    ) -> Result<Vec<Answer>, FileError> {
        let mut answers = Vec::with_capacity(stretch.len());
        let mut now_ns = from_ns;
        let mut pieces = Vec::new();
        let all: Vec<usize> = stretch.clone().collect();
        for window in all.chunks(outstanding) {
            for direction in [Direction::Read, Direction::Write] {
                pieces.clear();
                for &request in window {
                    if self.requests[request].direction == direction {
                        pieces.extend_from_slice(&self.layout.pieces[request]);
                    }
                }
                merge_adjacent(&mut pieces);
                self.submit(spindles, &pieces, direction, now_ns, 0)?;
            }
            let mut at_ns = now_ns;
            for spindle in spindles.iter_mut() {
                while let Some(done) = spindle.complete() {
                    at_ns = at_ns.max(done.at_ns);
                }
            }
            let response_ns = at_ns - now_ns;
            answers.extend(window.iter().map(|&request| Answer { request, at_ns, response_ns }));
            now_ns = at_ns + HOST_NS;
        }
        Ok(answers)
    }

    /// Keeps `outstanding` requests of a stretch at the spindles. A request is answered when all its commands are.
    fn closed_loop(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        stretch: &Range<usize>,
        outstanding: usize,
        from_ns: u64,
    ) -> Result<Vec<Answer>, FileError> {
        let mut answers = Vec::with_capacity(stretch.len());
        let mut issued_ns = vec![0; stretch.len()];
        let mut left = vec![0usize; stretch.len()];
        let mut next = stretch.start;
        let mut now_ns = from_ns;
        let mut free = outstanding;
        loop {
            while free > 0 && next < stretch.end {
                let (request, index) = (next, next - stretch.start);
                next += 1;
                let pieces = &self.layout.pieces[request];
                if pieces.is_empty() {
                    answers.push(Answer { request, at_ns: now_ns, response_ns: 0 });
                    continue;
                }
                free -= 1;
                issued_ns[index] = now_ns;
                left[index] = pieces.len();
                let direction = self.requests[request].direction;
                self.submit(spindles, pieces, direction, now_ns, index as u32)?;
            }
            let first = spindles.iter_mut().min_by_key(|spindle| spindle.next_completion_ns());
            let Some(done) = first.and_then(SimulatedSpindle::complete) else { return Ok(answers) };
            now_ns = done.at_ns;
            let index = done.tag as usize;
            left[index] -= 1;
            if left[index] == 0 {
                free += 1;
                let response_ns = now_ns - issued_ns[index];
                answers.push(Answer { request: stretch.start + index, at_ns: now_ns, response_ns });
            }
        }
    }

    fn submit(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        pieces: &[Piece],
        direction: Direction,
        now_ns: u64,
        tag: u32,
    ) -> Result<(), FileError> {
        for piece in pieces {
            let device = usize::from(piece.device);
            let spindle = &mut spindles[device];
            let sector_bytes = u64::from(spindle.drive().sector_bytes());
            let byte = piece.byte - self.shifts[device];
            let lba = byte / sector_bytes;
            let sectors = (byte + piece.bytes).div_ceil(sector_bytes) - lba;
            let command =
                Command { lba, sectors: u32::try_from(sectors).unwrap_or(u32::MAX), direction };
            spindle
                .submit(now_ns, command, tag)
                .map_err(|error| FileError::input(error.to_string(), "simulate a larger drive"))?;
        }
        Ok(())
    }
}

impl Measured {
    fn add(&mut self, answers: &[Answer], from_ns: u64, run: &Run<'_>) {
        let Some(last) = answers.last() else { return };
        self.ns += last.at_ns - from_ns;
        for answer in answers {
            self.bytes += run.requests[answer.request].bytes;
            self.commands += run.layout.pieces[answer.request].len() as u64;
            self.response_ns.push(answer.response_ns);
        }
    }

    fn figures(mut self) -> Option<SimulatedFigures> {
        if self.ns == 0 || self.commands == 0 {
            return None;
        }
        self.response_ns.sort_unstable();
        let count = self.response_ns.len();
        let seconds = self.ns as f64 / 1e9;
        let index_95 = (count * 95).div_ceil(100).saturating_sub(1);
        Some(SimulatedFigures {
            iops: count as f64 / seconds,
            response_ms: self.response_ns.iter().sum::<u64>() as f64 / count as f64 / 1e6,
            response_95_ms: self.response_ns[index_95] as f64 / 1e6,
            mb_per_s: self.bytes as f64 / 1e6 / seconds,
            measured_requests: count as u64,
            drive_commands_per_request: self.commands as f64 / count as f64,
        })
    }
}
