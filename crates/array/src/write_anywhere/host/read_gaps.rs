//! Read-gap aggregation: runs of one host read that lie close together on one spindle are read with one command, which
//! reads the gaps between them as well and drops them.
//!
//! NetApp's name for reading a gap is a dummy read: "coalesced multi-block read", US 7,549,014 and US 7,827,349, filed
//! in 2005. To the operation, and to the consistency point that waits for late reads, an aggregated read is as many
//! reads as it has runs. So whatever becomes of a gap (it is overwritten, lost, unreadable or wrong) matters to nobody.

use strewn_base::Direction;
use strewn_base::state::SavedValue;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::slots::Slots;
use crate::units::BLOCK_SECTORS;

use super::super::context::{Context, Next};
use super::super::space::{COMMAND_BLOCKS, Run};
use super::super::tag::{Owner, TagFields};
use super::Host;

/// How reads are aggregated, and the aggregated reads in flight.
#[derive(SavedValue)]
pub(super) struct ReadGaps {
    /// Blocks of the largest gap that is read.
    most_gap_blocks: u32,
    /// The runs of the operation at hand; empty between operations.
    runs: Vec<Wanted>,
    in_flight: Slots<AggregatedRead>,
}

/// A run that an operation wants.
#[derive(Clone, Copy, SavedValue)]
struct Wanted {
    first_key: u32,
    run: Run,
}

/// A command for several runs and the gaps between them.
#[derive(SavedValue)]
struct AggregatedRead {
    /// Slot of the host operation.
    slot: u32,
    epoch_parity: bool,
    first_dbn: u64,
    blocks: u32,
    /// Ascending on the spindle.
    wanted: Vec<Wanted>,
}

impl AggregatedRead {
    /// The tag that a read of only `wanted` would have.
    fn fields_of(&self, wanted: &Wanted) -> TagFields {
        TagFields {
            owner: Owner::HostOperation,
            slot: self.slot,
            first_key: wanted.first_key,
            blocks: wanted.run.blocks,
            epoch_parity: self.epoch_parity,
        }
    }
}

impl ReadGaps {
    /// The operation at hand wants a run.
    pub(super) fn note_run(&mut self, first_key: u32, run: Run) {
        self.runs.push(Wanted { first_key, run });
    }
}

impl<P: Payload> Host<P> {
    /// Aggregates runs of a host read across gaps of at most `most_gap_blocks` blocks; never, if that is 0. A gap is
    /// what lies on a spindle between two runs that one operation wants.
    pub(crate) fn aggregate_reads(&mut self, most_gap_blocks: u32) {
        self.read_gaps = (most_gap_blocks > 0).then(|| {
            Box::new(ReadGaps { most_gap_blocks, runs: Vec::new(), in_flight: Slots::new() })
        });
    }

    /// Reads the runs that the operation in `slot` wants, those that lie close together with one command. Returns the
    /// number of commands.
    pub(super) fn read_noted_runs(
        &mut self,
        slot: u32,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> u64 {
        let Some(state) = &mut self.read_gaps else { return 0 };
        let (most_gap_blocks, mut runs) = (state.most_gap_blocks, std::mem::take(&mut state.runs));
        let place = |wanted: &Wanted| (wanted.run.group, wanted.run.spindle, wanted.run.dbn);
        runs.sort_unstable_by_key(place);
        let commands = runs
            .chunk_by(|one, next| is_close(&one.run, &next.run, most_gap_blocks))
            .map(|close| self.read_close(slot, close, cx))
            .sum();
        runs.clear();
        if let Some(state) = &mut self.read_gaps {
            state.runs = runs;
        }
        commands
    }

    /// Reads runs that lie close together. Returns the number of commands.
    fn read_close(
        &mut self,
        slot: u32,
        mut close: &[Wanted],
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> u64 {
        let mut commands = 0;
        while let Some(first) = close.first() {
            let end_of = |wanted: &Wanted| wanted.run.end();
            let fits =
                |wanted: &&Wanted| end_of(wanted) - first.run.dbn <= u64::from(COMMAND_BLOCKS);
            let count = close.iter().take_while(fits).count().max(1);
            let (together, others) = close.split_at(count);
            close = others;
            let whole = together.last().map_or(first.run, |last| Run {
                blocks: (end_of(last) - first.run.dbn) as u32,
                ..first.run
            });
            if together.len() == 1 || cx.space.is_lost(whole) {
                for wanted in together {
                    self.read_run(slot, wanted.first_key, wanted.run, cx);
                }
                commands += together.len() as u64;
            } else {
                self.send_aggregated(slot, together, whole, cx);
                commands += 1;
            }
        }
        commands
    }

    fn send_aggregated(
        &mut self,
        slot: u32,
        wanted: &[Wanted],
        whole: Run,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        self.operations[slot as usize].awaited += wanted.len() as u32;
        let parities: Vec<bool> = wanted.iter().map(|_| cx.memory.reads.sent()).collect();
        let Some(state) = &mut self.read_gaps else { return };
        let read = AggregatedRead {
            slot,
            epoch_parity: parities.last().copied().unwrap_or_default(),
            first_dbn: whole.dbn,
            blocks: whole.blocks,
            wanted: wanted.to_vec(),
        };
        let wanted_blocks: u32 = wanted.iter().map(|wanted| wanted.run.blocks).sum();
        let fields = TagFields {
            owner: Owner::AggregatedRead,
            slot: state.in_flight.insert(read) as u32,
            first_key: wanted.first().map_or(0, |wanted| wanted.first_key),
            blocks: whole.blocks,
            epoch_parity: false,
        };
        cx.counters.aggregated_reads += 1;
        cx.counters.gap_blocks += u64::from(whole.blocks - wanted_blocks);
        cx.send(fields, Direction::Read, whole, P::default());
    }

    /// An aggregated read has completed: each run that it has read is, to the operation, a read that is done.
    pub(crate) fn on_aggregated_read(
        &mut self,
        fields: TagFields,
        payload: &P,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let Some(read) = self.take_read(fields) else { return };
        for wanted in &read.wanted {
            let first_block = (wanted.run.dbn - read.first_dbn) as u32;
            let part =
                payload.slice(first_block * BLOCK_SECTORS, wanted.run.blocks * BLOCK_SECTORS);
            cx.then(Next::Arrived(read.fields_of(wanted), part));
        }
    }

    /// An aggregated read has failed with its spindle: each run is recovered by itself.
    #[cold]
    pub(crate) fn read_runs_apart(
        &mut self,
        fields: TagFields,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let Some(read) = self.take_read(fields) else { return };
        // Each run counts as a read of its own, since each is recovered.
        cx.counters.data_reads += read.wanted.len() as u64 - 1;
        for wanted in &read.wanted {
            cx.then(Next::Recover(read.fields_of(wanted), wanted.run));
        }
    }

    /// Some blocks of an aggregated read are unreadable. Those that are wanted are noted, and each run is read by
    /// itself.
    #[cold]
    pub(crate) fn on_bad_in_aggregated(
        &mut self,
        fields: TagFields,
        bad: &[bool],
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let slot = fields.slot as usize;
        let read = self.read_gaps.as_ref().and_then(|state| state.in_flight.get(slot));
        for Wanted { run, .. } in read.iter().flat_map(|read| &read.wanted) {
            let first = read.map_or(run.dbn, |read| read.first_dbn);
            let is_bad = |dbn: &u64| bad.get((dbn - first) as usize) == Some(&true);
            let blocks = (run.dbn..run.end()).filter(is_bad).map(|dbn| (dbn, run.spindle));
            if let Some(losses) = cx.space.losses_of_mut(run.group) {
                cx.counters.bad_blocks += losses.add_bad(blocks);
            }
        }
        self.read_runs_apart(fields, cx);
    }

    fn take_read(&mut self, fields: TagFields) -> Option<AggregatedRead> {
        let state = self.read_gaps.as_mut()?;
        let read = state.in_flight.remove(fields.slot as usize);
        debug_assert_eq!(read.blocks, fields.blocks, "a tag names another command");
        Some(read)
    }
}

/// Whether `next` lies behind `one` on the same spindle, with a gap of at most `most_gap_blocks` between them.
fn is_close(one: &Run, next: &Run, most_gap_blocks: u32) -> bool {
    let end = one.end();
    (one.group, one.spindle) == (next.group, next.spindle)
        && next.dbn >= end
        && next.dbn - end <= u64::from(most_gap_blocks)
}
