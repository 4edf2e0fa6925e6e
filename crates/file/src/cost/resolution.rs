//! Where the bytes of requests lie: one pass over the extents of a file.

use std::collections::VecDeque;
use std::ops::Range;

use super::commands::{CommandCounts, RequestCost, Run, RunKind, pieces_of};
use super::contiguous::{Contiguous, ContiguousPlacement, FilePlaces};
use super::options::CostOptions;
use super::requests::RequestPlan;

use crate::{Address, AddressSpace, Extent, Piece, Place};

/// Most requests that are simulated.
const SIMULATED_REQUESTS: usize = 4096;

/// Most pieces of the simulated requests, as far as their mean tells: this bounds the time that a simulation takes.
const SIMULATED_PIECES: f64 = 131_072.0;

/// Fewest requests that are simulated of each stretch, if it has as many.
const SIMULATED_OF_STRETCH: usize = 16;

/// A pass over the extents of a file that finds what each request of a plan takes. Its memory depends on the requests,
/// not on the number of extents.
///
/// | what a request touches | what it takes |
/// |---|---|
/// | bytes at an address | their pieces of the devices; adjacent ones are one command, as the device's queue merges them ([`Merging`](crate::Merging)) |
/// | a block of a file system that reads whole blocks | all of it, once per request |
/// | an encoded extent | all of it, once per request: `stored_bytes`, or, if nobody says, at most its `bytes`, and no more than up to the next address that the request touches |
/// | a hole, reserved space, data in the inode | nothing |
/// | an unknown place | nothing; the request is [counted](FileCommands::unknown_requests) |
///
/// Writes go to where the blocks lie, as in a file system that updates in place: this is what the layout costs, not
/// what the file system's own policy makes of a write. A request takes its bytes; the file system's blocks and pages,
/// metadata, and what is in memory already are left out.
#[derive(Debug)]
pub struct CostPass<'a> {
    space: &'a AddressSpace,
    options: CostOptions,
    file_bytes: u64,
    plan: RequestPlan,
    /// The numbers of the requests, by offset.
    by_offset: Vec<u32>,
    /// How many of them have begun.
    begun: usize,
    active: VecDeque<Active>,
    next_offset: u64,
    places: FilePlaces,
    /// The address of the last extent if it is read whole, and where it begins in the file as it would be contiguous.
    last_whole: Option<(Address, u64)>,
    costs: Vec<RequestCost>,
    /// The pieces of requests that may be simulated.
    pieces: Vec<Option<Vec<Piece>>>,
    contiguous: Contiguous,
    scratch: Vec<Piece>,
}

/// A request of which some bytes are yet to come.
#[derive(Debug, Default)]
struct Active {
    request: u32,
    offset: u64,
    end: u64,
    runs: Vec<Run>,
    /// In the file as it would be contiguous: bytes from its beginning, and how many.
    contiguous: Vec<(u64, u64)>,
    unknown: bool,
}

impl<'a> CostPass<'a> {
    /// A pass for the requests of `plan`, drawn for the same `file_bytes`.
    #[must_use]
    pub fn new(
        plan: RequestPlan,
        file_bytes: u64,
        space: &'a AddressSpace,
        options: CostOptions,
    ) -> Self {
        let requests = plan.requests();
        let mut by_offset: Vec<u32> = (0..requests.len() as u32).collect();
        by_offset.sort_by_key(|&number| requests[number as usize].offset);
        let mut pieces = vec![None; requests.len()];
        let each = (SIMULATED_REQUESTS / plan.stretches().len().max(1)).max(1);
        for stretch in plan.stretches() {
            let end = stretch.end.min(stretch.start + each);
            pieces[stretch.start..end].fill(Some(Vec::new()));
        }
        Self {
            space,
            options,
            file_bytes,
            by_offset,
            begun: 0,
            active: VecDeque::new(),
            next_offset: 0,
            places: FilePlaces::default(),
            last_whole: None,
            costs: vec![RequestCost::default(); requests.len()],
            contiguous: Contiguous::new(requests.len()),
            pieces,
            plan,
            scratch: Vec::new(),
        }
    }

    /// The requests.
    #[must_use]
    pub fn plan(&self) -> &RequestPlan {
        &self.plan
    }

    /// Takes the next extent. Extents come in the order of the file; what an earlier extent covered is left out, and so
    /// is what lies behind the file's end.
    pub fn add(&mut self, extent: &Extent) {
        let Some(part) = extent.within(self.next_offset..self.file_bytes) else { return };
        self.next_offset = part.end();
        self.retire(part.offset);
        let requests = self.plan.requests();
        while let Some(&number) = self.by_offset.get(self.begun) {
            let request = requests[number as usize];
            if request.offset >= part.end() {
                break;
            }
            self.begun += 1;
            // Of a request within a hole nothing comes.
            if request.end() > part.offset {
                let (offset, end) = (request.offset, request.end());
                self.active.push_back(Active { request: number, offset, end, ..Active::default() });
            }
        }
        // All of what is read whole, even if only a part of it is left.
        let whole = if part.is_read_whole() { extent } else { &part };
        let at = part.place.address();
        // Two parts of one block or encoded extent have one place in the contiguous file.
        let from = match self.last_whole {
            Some((last, from)) if part.is_read_whole() && at == Some(last) => from,
            _ => {
                let from = self.places.placed_bytes();
                if let Some(at) = at {
                    self.places.add(at, whole.allocated_bytes());
                }
                self.last_whole = at.filter(|_| part.is_read_whole()).map(|at| (at, from));
                from
            }
        };
        for active in &mut self.active {
            active.touch(&part, whole.stored_bytes(), from);
        }
    }

    /// Finishes the requests that end at `offset` or before.
    fn retire(&mut self, offset: u64) {
        if !self.active.iter().any(|active| active.end <= offset) {
            return;
        }
        for mut active in std::mem::take(&mut self.active) {
            if active.end > offset {
                self.active.push_back(active);
                continue;
            }
            let number = active.request as usize;
            self.scratch.clear();
            let known =
                pieces_of(&mut active.runs, self.space, self.options.merging, &mut self.scratch);
            let unknown = active.unknown || !known;
            self.costs[number] =
                RequestCost::of(&self.scratch, self.options.max_command_bytes, unknown);
            self.scratch.iter().for_each(|piece| self.places.add_piece(piece));
            if let Some(pieces) = &mut self.pieces[number] {
                pieces.extend_from_slice(&self.scratch);
            }
            self.contiguous.set(number, &active.contiguous);
        }
    }

    /// What the requests take, after the last extent.
    #[must_use]
    pub fn finish(mut self) -> FileCommands {
        self.retire(u64::MAX);
        self.places.end_volume();
        let kept: Vec<bool> = self.pieces.iter().map(Option::is_some).collect();
        let laid_out = self.contiguous.lay_out(&self.places, self.space, &kept, self.options);
        let contiguous = Layout { costs: laid_out.costs, pieces: laid_out.pieces };
        let as_it_lies = Layout {
            costs: self.costs,
            pieces: self.pieces.into_iter().map(Option::unwrap_or_default).collect(),
        };
        let simulated = simulated(&self.plan, &kept, &as_it_lies.pieces);
        FileCommands {
            devices: self.space.devices().iter().map(|device| device.name.clone()).collect(),
            plan: self.plan,
            as_it_lies,
            contiguous,
            contiguous_at: laid_out.placement,
            simulated,
        }
    }
}

impl Active {
    /// Takes what the request touches of an extent. `stored` are the bytes that are read of an extent that is read
    /// whole, and `from` is where it begins in the file as it would be contiguous.
    fn touch(&mut self, extent: &Extent, stored: u64, from: u64) {
        let (offset, end) = (self.offset.max(extent.offset), self.end.min(extent.end()));
        if offset >= end {
            return;
        }
        let skipped = offset - extent.offset;
        let (run, contiguous) = match extent.place {
            Place::At(at) => {
                let bytes = end - offset;
                let run = Run { at: at.after(skipped), bytes, kind: RunKind::Plain };
                (run, (from + skipped, bytes))
            }
            Place::Encoded { at, stored_bytes } => {
                let kind = match stored_bytes {
                    Some(_) => RunKind::Whole,
                    None => RunKind::EncodedAtMost,
                };
                (Run { at, bytes: stored, kind }, (from, stored))
            }
            Place::Block { at, .. } => {
                (Run { at, bytes: stored, kind: RunKind::Whole }, (from, stored))
            }
            Place::Unwritten(_) | Place::Inline => return,
            Place::Unknown => {
                self.unknown = true;
                return;
            }
        };
        match self.runs.last_mut() {
            Some(last) if last.goes_on_with(&run) => last.bytes += run.bytes,
            _ => self.runs.push(run),
        }
        match self.contiguous.last_mut() {
            Some((start, bytes)) if *start + *bytes == contiguous.0 => *bytes += contiguous.1,
            // Another part of what is read whole.
            Some((start, bytes)) if *start + *bytes == contiguous.0 + contiguous.1 => {}
            _ => self.contiguous.push(contiguous),
        }
    }
}

impl Run {
    fn goes_on_with(&self, next: &Self) -> bool {
        let end: Address = self.at.after(self.bytes);
        self.kind == RunKind::Plain && next.kind == RunKind::Plain && end == next.at
    }
}

/// What requests take of a layout.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) costs: Vec<RequestCost>,
    /// The merged pieces of requests that may be simulated; of others none.
    pub(crate) pieces: Vec<Vec<Piece>>,
}

/// The stretches of requests to simulate: as many as keep the simulation short.
fn simulated(plan: &RequestPlan, kept: &[bool], pieces: &[Vec<Piece>]) -> Vec<Range<usize>> {
    let (all, of_all) = kept
        .iter()
        .zip(pieces)
        .filter(|(kept, _)| **kept)
        .fold((0usize, 0usize), |(all, of_all), (_, pieces)| (all + 1, of_all + pieces.len()));
    let mean = (of_all as f64 / all.max(1) as f64).max(1.0);
    let requests = ((SIMULATED_PIECES / mean) as usize).clamp(1, SIMULATED_REQUESTS);
    let stretches = plan.stretches();
    let most = (requests / SIMULATED_OF_STRETCH).clamp(1, stretches.len().max(1));
    let each = requests / most;
    let chosen = (0..most).map(|number| stretches.get(number * stretches.len() / most));
    chosen
        .flatten()
        .map(|stretch| {
            let candidates = kept[stretch.clone()].iter().take_while(|kept| **kept).count();
            stretch.start..stretch.start + candidates.min(each)
        })
        .collect()
}

/// What the requests of a plan take, of the file as it lies and of the same file laid out contiguously.
#[derive(Debug, Clone)]
pub struct FileCommands {
    pub(crate) devices: Vec<String>,
    pub(crate) plan: RequestPlan,
    pub(crate) as_it_lies: Layout,
    pub(crate) contiguous: Layout,
    contiguous_at: ContiguousPlacement,
    /// The requests to simulate.
    pub(crate) simulated: Vec<Range<usize>>,
}

impl FileCommands {
    /// The requests.
    #[must_use]
    pub fn plan(&self) -> &RequestPlan {
        &self.plan
    }

    /// The commands of each request, in the order of issue, for the file as it lies.
    pub fn commands(&self) -> impl Iterator<Item = u32> {
        self.as_it_lies.costs.iter().map(|cost| cost.commands)
    }

    /// The commands of each request, in the order of issue, for the file laid out contiguously.
    pub fn contiguous_commands(&self) -> impl Iterator<Item = u32> {
        self.contiguous.costs.iter().map(|cost| cost.commands)
    }

    /// How many commands the requests take, as the file lies.
    #[must_use]
    pub fn as_it_lies(&self) -> CommandCounts {
        self.counts(&self.as_it_lies)
    }

    /// How many commands the requests take, with the file laid out contiguously.
    #[must_use]
    pub fn contiguous(&self) -> CommandCounts {
        self.counts(&self.contiguous)
    }

    fn counts(&self, layout: &Layout) -> CommandCounts {
        CommandCounts::new(&layout.costs, self.plan.stretches(), !self.plan.covers_file())
    }

    /// Where the contiguous file was laid out.
    #[must_use]
    pub fn contiguous_at(&self) -> ContiguousPlacement {
        self.contiguous_at
    }

    /// Requests that touch bytes of which nobody says where they are.
    #[must_use]
    pub fn unknown_requests(&self) -> u64 {
        self.as_it_lies.costs.iter().filter(|cost| cost.unknown).count() as u64
    }
}
