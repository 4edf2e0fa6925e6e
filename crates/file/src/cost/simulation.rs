//! What requests cost on a drive: a closed loop over simulated spindles.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;
use strewn_spindle::{Direction, SimulatedSpindle};

use super::commands::{CommandCounts, merge_adjacent};
use super::contiguous::ContiguousPlacement;
use super::model::SpindleModel;
use super::requests::{Request, RequestPlan};
use super::resolution::{FileCommands, Layout};
use crate::{FileError, Piece};

/// The longest command that a stream is read with.
const STREAM_BYTES: u64 = 1 << 30;

/// A file of fewer requests is read repeatedly, so that its figures do not hang on one wait for a sector.
const FEW_REQUESTS: usize = 64;

/// Part of a revolution between repetitions: the golden ratio spreads them evenly.
const TURN: f64 = 0.618_034;

/// The shift of addresses is a multiple of this.
const SHIFT_BYTES: u64 = 1 << 20;

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
    /// Both are asked for the same requests. At most 4,096 are simulated, and no more than take about 131,072 pieces:
    /// of 1 MiB in 256 pieces each, 512 requests, from the beginnings of 32 stretches. Byte addresses are addresses of
    /// the drive, rounded to its sectors. Each stretch is a closed loop of its own; the requests of its beginning, as
    /// many as are outstanding, are not measured, and neither is the end, when fewer are outstanding. Where there are
    /// less than four times as many requests as outstanding, all are measured, from the first one's issue on, with the
    /// arm a third of the drive away; and they are repeated until 64 are measured.
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
                "simulate a larger drive: a profile of your own with more capacity_sectors will do",
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

/// Requests that a sequential workload issues together.
#[derive(Default)]
struct Window {
    pieces: Vec<(Piece, Direction)>,
    /// How long what later windows ask for takes to pass, of this window's pieces.
    of_later_ns: u64,
    /// How long what this window asks for takes to pass, of pieces of earlier windows.
    with_earlier_ns: u64,
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
        let spindles = self.shifts.iter().map(|_| self.model.spindle());
        let mut spindles = spindles.collect::<Result<Vec<_>, _>>()?;
        let outstanding = plan.outstanding() as usize;
        let mut measured = Measured::default();
        let mut now_ns = 0;
        for stretch in stretches {
            let warm_up = if stretch.len() < 4 * outstanding { 0 } else { outstanding };
            let repeats =
                if warm_up == 0 { (FEW_REQUESTS / stretch.len().max(1)).max(1) } else { 1 };
            for _ in 0..repeats {
                if warm_up == 0 {
                    self.move_away(&mut spindles, stretch, &mut now_ns)?;
                }
                let from_ns = now_ns;
                let answers = match sequential {
                    true => self.windows(&mut spindles, stretch, outstanding, &mut now_ns)?,
                    false => self.closed_loop(&mut spindles, stretch, outstanding, &mut now_ns)?,
                };
                // The end of a sequential stretch is like its middle.
                let end = answers.len() - if sequential { 0 } else { warm_up };
                let from_ns = if warm_up == 0 { from_ns } else { answers[warm_up - 1].at_ns };
                measured.add(&answers[warm_up..end], from_ns, self);
            }
        }
        Ok(measured.figures())
    }

    /// Moves the arms to where another file could be, a third of the drive away, and lets the platters turn by part of
    /// a revolution that is another one each time.
    fn move_away(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        stretch: &Range<usize>,
        now_ns: &mut u64,
    ) -> Result<(), FileError> {
        let pieces = self.layout.pieces[stretch.clone()].iter().flatten();
        let first = pieces.map(|piece| piece.byte - self.shifts[usize::from(piece.device)]).next();
        let capacity = self.model.capacity_bytes();
        let byte = (first.unwrap_or(0) + capacity / 3) % capacity;
        let bytes = self.model.sector_bytes();
        let command = self.model.command(byte / bytes * bytes, bytes, Direction::Read);
        for spindle in spindles.iter_mut() {
            let submitted = spindle.submit(*now_ns, command, 0);
            submitted.map_err(|error| {
                FileError::input(error.to_string(), "use another drive profile")
            })?;
        }
        for spindle in spindles.iter_mut() {
            while let Some(done) = spindle.complete() {
                *now_ns = done.at_ns.max(*now_ns);
            }
        }
        let revolution_ns = self.model.revolution_ns();
        *now_ns += (revolution_ns * TURN) as u64;
        Ok(())
    }

    /// Issues the requests of a stretch as windows of `outstanding`, each after the one before was answered. The times
    /// of answers are sums of response times.
    fn windows(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        stretch: &Range<usize>,
        outstanding: usize,
        now_ns: &mut u64,
    ) -> Result<Vec<Answer>, FileError> {
        let requests: Vec<usize> = stretch.clone().collect();
        let windows = self.streams(&requests, outstanding);
        let mut answers = Vec::with_capacity(stretch.len());
        let mut at_ns = *now_ns;
        for (window, requests) in windows.iter().zip(requests.chunks(outstanding)) {
            for (piece, direction) in &window.pieces {
                self.submit(spindles, *piece, *direction, *now_ns, 0)?;
            }
            let from_ns = *now_ns;
            for spindle in spindles.iter_mut() {
                while let Some(done) = spindle.complete() {
                    *now_ns = done.at_ns.max(*now_ns);
                }
            }
            let own_ns = (*now_ns - from_ns).saturating_sub(window.of_later_ns);
            let response_ns = own_ns + window.with_earlier_ns;
            at_ns += response_ns;
            let answer = |&request: &usize| Answer { request, at_ns, response_ns };
            answers.extend(requests.iter().map(answer));
        }
        Ok(answers)
    }

    /// The windows of sequential requests, with pieces that go on behind those of the window before moved there.
    fn streams(&self, requests: &[usize], outstanding: usize) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        // Pieces of the last window by device, end and direction: in which window they begin, and their index in it.
        let mut open: HashMap<(u16, u64, Direction), (usize, usize)> = HashMap::new();
        for (number, of_window) in requests.chunks(outstanding).enumerate() {
            let mut window = Window::default();
            let mut ends = HashMap::new();
            for direction in [Direction::Read, Direction::Write] {
                let same =
                    of_window.iter().filter(|one| self.requests[**one].direction == direction);
                let mut pieces: Vec<Piece> =
                    same.flat_map(|&one| self.layout.pieces[one].iter().copied()).collect();
                merge_adjacent(&mut pieces);
                for piece in pieces {
                    let end = (piece.device, piece.byte + piece.bytes, direction);
                    let begun = open.get(&(piece.device, piece.byte, direction)).copied();
                    let earlier = begun.and_then(|(earlier, index)| {
                        let (before, _) = windows[earlier].pieces.get_mut(index)?;
                        (before.bytes + piece.bytes <= STREAM_BYTES)
                            .then(|| before.bytes += piece.bytes)?;
                        Some((earlier, index))
                    });
                    if let Some((earlier, index)) = earlier {
                        let byte = piece.byte - self.shifts[usize::from(piece.device)];
                        let command = self.model.command(byte, piece.bytes, direction);
                        let ns = self.model.passing_ns(&command);
                        windows[earlier].of_later_ns += ns;
                        window.with_earlier_ns += ns;
                        ends.insert(end, (earlier, index));
                    } else {
                        ends.insert(end, (number, window.pieces.len()));
                        window.pieces.push((piece, direction));
                    }
                }
            }
            windows.push(window);
            open = ends;
        }
        windows
    }

    /// Keeps `outstanding` requests of a stretch at the spindles. A request is answered when all its commands are.
    fn closed_loop(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        stretch: &Range<usize>,
        outstanding: usize,
        now_ns: &mut u64,
    ) -> Result<Vec<Answer>, FileError> {
        let mut answers = Vec::with_capacity(stretch.len());
        let mut issued_ns = vec![0; stretch.len()];
        let mut left = vec![0usize; stretch.len()];
        let mut next = stretch.start;
        let mut free = outstanding;
        loop {
            while free > 0 && next < stretch.end {
                let (request, index) = (next, next - stretch.start);
                next += 1;
                let pieces = &self.layout.pieces[request];
                if pieces.is_empty() {
                    answers.push(Answer { request, at_ns: *now_ns, response_ns: 0 });
                    continue;
                }
                free -= 1;
                issued_ns[index] = *now_ns;
                left[index] = pieces.len();
                let direction = self.requests[request].direction;
                for &piece in pieces {
                    self.submit(spindles, piece, direction, *now_ns, index as u32)?;
                }
            }
            let first = spindles.iter_mut().min_by_key(|spindle| spindle.next_completion_ns());
            let Some(done) = first.and_then(SimulatedSpindle::complete) else { return Ok(answers) };
            *now_ns = done.at_ns;
            let index = done.tag as usize;
            left[index] -= 1;
            if left[index] == 0 {
                free += 1;
                let response_ns = *now_ns - issued_ns[index];
                answers.push(Answer {
                    request: stretch.start + index,
                    at_ns: *now_ns,
                    response_ns,
                });
            }
        }
    }

    fn submit(
        &self,
        spindles: &mut [SimulatedSpindle<u32>],
        piece: Piece,
        direction: Direction,
        now_ns: u64,
        tag: u32,
    ) -> Result<(), FileError> {
        let device = usize::from(piece.device);
        let byte = piece.byte - self.shifts[device];
        let command = self.model.command(byte, piece.bytes, direction);
        let submitted = spindles[device].submit(now_ns, command, tag);
        submitted.map_err(|error| FileError::input(error.to_string(), "simulate a larger drive"))
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
