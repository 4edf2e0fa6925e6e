//! Relocation: blocks are read and made dirty without a log record, and the next consistency point writes them to new
//! places in file order.
//!
//! One mechanism ([`batch`]) with three clients:
//!
//! - read reallocation ([`read_streams`]) relocates what a host has just read in order, if it lay scattered;
//! - a reallocation scan ([`scan`]) goes through all LUNs in order and relocates what lies worse than a threshold;
//! - the cleaning of free space ([`cleaning`]) empties allocation areas, so that full stripes come back.
//!
//! A relocated block is dirty and not in the log. Its old place stays valid until the consistency point commits, so a
//! crash loses nothing. An array without relocation has none of this state.

mod batch;
mod cleaning;
mod layout;
mod read_streams;
mod scan;

use std::collections::VecDeque;

use crate::counters::Counters;
use crate::driver::Driver;
use crate::payload::Payload;
use crate::scan_progress::ScanProgress;
use crate::slots::Slots;

use super::super::context::Context;
use batch::{Batch, Request};
use cleaning::Cleaner;
use read_streams::ReadStreams;
use scan::Scan;
use strewn_base::state::SavedValue;

pub use scan::ReallocationScan;

/// Most requests of host reads that wait. Later ones are dropped: the blocks leave the cache, and the next read in
/// order asks again.
const MOST_WAITING: usize = 16;

/// What an array relocates, and how hard it works on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelocationConfig {
    /// Whether blocks that a host reads in order are relocated if they lie scattered.
    pub after_reads: bool,
    /// The scan that reallocates the LUNs.
    pub scan: Option<ReallocationScan>,
    /// Most blocks that the cleaning of free space relocates for each consistency point; `None` if nothing is cleaned.
    pub cleaned_blocks: Option<u32>,
    /// Most reads in flight, of all spindles together: they are the background's priority.
    pub reads_in_flight: u32,
}

impl RelocationConfig {
    /// Nothing is relocated.
    pub const NONE: Self =
        Self { after_reads: false, scan: None, cleaned_blocks: None, reads_in_flight: 8 };

    fn is_none(&self) -> bool {
        !self.after_reads && self.scan.is_none() && self.cleaned_blocks.is_none()
    }
}

impl Default for RelocationConfig {
    fn default() -> Self {
        Self::NONE
    }
}

/// Why blocks are relocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Cause {
    AfterRead,
    Scan,
    Cleaning,
}

/// Spindle reads for `cause`.
fn reads_of(counters: &mut Counters, cause: Cause) -> &mut u64 {
    match cause {
        Cause::AfterRead => &mut counters.read_reallocation_reads,
        Cause::Scan => &mut counters.scan_reads,
        Cause::Cleaning => &mut counters.cleaning_reads,
    }
}

/// Blocks relocated for `cause`.
fn blocks_of(counters: &mut Counters, cause: Cause) -> &mut u64 {
    match cause {
        Cause::AfterRead => &mut counters.read_reallocation_blocks,
        Cause::Scan => &mut counters.scan_blocks,
        Cause::Cleaning => &mut counters.cleaning_blocks,
    }
}

/// What relocation is doing.
pub(crate) struct Relocation {
    config: RelocationConfig,
    batches: Slots<Batch>,
    /// Blocks of all batches in progress.
    in_batches: u64,
    reads_out: u32,
    waiting: VecDeque<Request>,
    streams: ReadStreams,
    scan: Scan,
    cleaner: Cleaner,
    /// The length of run that blocks written now can expect; `None` if a commit has changed that.
    expected_run: Option<f64>,
}

impl Relocation {
    /// What relocates as `config` says; `None` if that is nothing.
    pub(super) fn new(config: RelocationConfig) -> Option<Self> {
        (!config.is_none()).then(|| Self {
            batches: Slots::new(),
            in_batches: 0,
            reads_out: 0,
            waiting: VecDeque::new(),
            streams: ReadStreams::default(),
            scan: Scan::default(),
            cleaner: Cleaner::default(),
            expected_run: None,
            config,
        })
    }

    /// A consistency point takes all that is dirty: so many blocks of data, of which some are only relocated.
    pub(super) fn on_consistency_point(&mut self, data_blocks: u64, relocated: u64) {
        if let Some(most) = self.config.cleaned_blocks {
            self.cleaner.allow(data_blocks, relocated, most.into());
        }
    }

    /// Whether nothing is being relocated.
    pub(super) fn is_idle(&self) -> bool {
        self.batches.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn scan_progress(&self, data_blocks: u32) -> Option<ScanProgress> {
        self.config.scan.map(|_| self.scan.progress(data_blocks))
    }

    /// Begins scans when the array starts.
    pub(super) fn start(&mut self, now_ns: u64) {
        if let Some(scan) = self.config.scan {
            self.scan.starts(now_ns.saturating_add(scan.begins_ns));
        }
    }

    /// When a reallocation scan goes on, if there is one.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.scan.due_ns()
    }

    /// A host has read `blocks`, the first and the last one.
    #[inline(never)]
    pub(super) fn note_host_read<P: Payload>(
        &mut self,
        (first, last): (u32, u32),
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if !self.config.after_reads {
            return;
        }
        let Some(blocks) = self.streams.read(first..last + 1) else { return };
        if self.waiting.len() < MOST_WAITING
            && self.is_scattered(blocks.clone(), read_streams::THRESHOLD, cx.space)
        {
            self.ask(Cause::AfterRead, blocks.collect(), cx.space);
            self.advance(cx);
        }
    }

    /// A consistency point has been committed.
    pub(super) fn on_commit<P: Payload>(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        self.expected_run = None;
        self.plan_cleaning(cx.space);
        self.advance(cx);
    }
}

strewn_base::saved_state! {
    impl for Relocation {
        parts:;
        values: batches, in_batches, reads_out, waiting, streams, scan, cleaner, expected_run;
        built: config;
    }
}
