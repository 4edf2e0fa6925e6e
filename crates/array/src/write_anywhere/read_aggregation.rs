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

use super::tag::{Owner, TagFields};
use super::{COMMAND_BLOCKS, Run, WriteAnywhere};

/// How reads are aggregated, and the aggregated reads in flight.
#[derive(SavedValue)]
pub(super) struct ReadAggregation {
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

impl ReadAggregation {
    /// The operation at hand wants a run.
    pub(super) fn note_run(&mut self, first_key: u32, run: Run) {
        self.runs.push(Wanted { first_key, run });
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Aggregates runs of a host read across gaps of at most `most_gap_blocks` blocks; never, if that is 0. A gap is
    /// what lies on a spindle between two runs that one operation wants.
    #[must_use]
    pub fn with_read_gap_aggregation(self, most_gap_blocks: u32) -> Self {
        let read_aggregation = (most_gap_blocks > 0).then(|| {
            Box::new(ReadAggregation { most_gap_blocks, runs: Vec::new(), in_flight: Slots::new() })
        });
        Self { read_aggregation, ..self }
    }

    /// Reads the runs that the operation in `slot` wants, those that lie close together with one command. Returns the
    /// number of commands.
    pub(super) fn read_noted_runs(&mut self, slot: u32, driver: &mut impl Driver<P>) -> u64 {
        let Some(state) = &mut self.read_aggregation else { return 0 };
        let (most_gap_blocks, mut runs) = (state.most_gap_blocks, std::mem::take(&mut state.runs));
        let place = |wanted: &Wanted| (wanted.run.group, wanted.run.spindle, wanted.run.dbn);
        runs.sort_unstable_by_key(place);
        let commands = runs
            .chunk_by(|one, next| is_close(&one.run, &next.run, most_gap_blocks))
            .map(|close| self.read_close(slot, close, driver))
            .sum();
        runs.clear();
        if let Some(state) = &mut self.read_aggregation {
            state.runs = runs;
        }
        commands
    }

    /// Reads runs that lie close together. Returns the number of commands.
    fn read_close(&mut self, slot: u32, mut close: &[Wanted], driver: &mut impl Driver<P>) -> u64 {
        let mut commands = 0;
        while let Some(first) = close.first() {
            let end_of = |wanted: &Wanted| wanted.run.dbn + u64::from(wanted.run.blocks);
            let fits =
                |wanted: &&Wanted| end_of(wanted) - first.run.dbn <= u64::from(COMMAND_BLOCKS);
            let count = close.iter().take_while(fits).count().max(1);
            let (together, others) = close.split_at(count);
            close = others;
            let whole = together.last().map_or(first.run, |last| Run {
                blocks: (end_of(last) - first.run.dbn) as u32,
                ..first.run
            });
            if together.len() == 1 || self.is_lost(whole) {
                for wanted in together {
                    self.read_run_for(slot, wanted.first_key, wanted.run, driver);
                }
                commands += together.len() as u64;
            } else {
                self.send_aggregated(slot, together, whole, driver);
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
        driver: &mut impl Driver<P>,
    ) {
        let parities: Vec<bool> = wanted.iter().map(|_| self.awaits_read(slot)).collect();
        let Some(state) = &mut self.read_aggregation else { return };
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
        self.counters.aggregated_reads += 1;
        self.counters.gap_blocks += u64::from(whole.blocks - wanted_blocks);
        self.send(driver, fields, Direction::Read, whole, P::default());
    }

    /// An aggregated read has completed: each run that it has read is, to the operation, a read that is done.
    pub(super) fn on_aggregated_read(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: P,
        driver: &mut impl Driver<P>,
    ) {
        let Some(read) = self.take_read(fields) else { return };
        for wanted in &read.wanted {
            let of_run = read.fields_of(wanted);
            let first_block = (wanted.run.dbn - read.first_dbn) as u32;
            let part =
                payload.slice(first_block * BLOCK_SECTORS, wanted.run.blocks * BLOCK_SECTORS);
            if P::CARRIES_DATA
                && let Some((run, wrong)) = self.wrong_read(of_run, &part)
            {
                self.on_bad_blocks(now_ns, of_run.pack(), run, &wrong, part, driver);
            } else {
                self.on_operation_command_done(now_ns, of_run, &part, driver);
            }
        }
    }

    /// An aggregated read has failed with its spindle: each run is recovered by itself.
    #[cold]
    pub(super) fn read_runs_apart(&mut self, fields: TagFields, driver: &mut impl Driver<P>) {
        let Some(read) = self.take_read(fields) else { return };
        if self.degraded.is_none() {
            self.degraded = Some(self.no_longer_whole());
        }
        // Each run counts as a read of its own, since each is recovered.
        self.counters.data_reads += read.wanted.len() as u64 - 1;
        for wanted in &read.wanted {
            self.recover(read.fields_of(wanted).pack(), wanted.run, driver);
        }
    }

    /// Some blocks of an aggregated read are unreadable. Those that are wanted are noted, and each run is read by
    /// itself.
    #[cold]
    pub(super) fn on_bad_in_aggregated(
        &mut self,
        fields: TagFields,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let mut degraded = self.degraded.take().unwrap_or_else(|| self.no_longer_whole());
        let slot = fields.slot as usize;
        let read = self.read_aggregation.as_ref().and_then(|state| state.in_flight.get(slot));
        for Wanted { run, .. } in read.iter().flat_map(|read| &read.wanted) {
            let known = &mut degraded.groups[run.group.index()].bad;
            let before = known.len();
            let first = read.map_or(run.dbn, |read| read.first_dbn);
            let dbns = run.dbn..run.dbn + u64::from(run.blocks);
            let is_bad = |dbn: &u64| bad.get((dbn - first) as usize) == Some(&true);
            known.extend(dbns.filter(is_bad).map(|dbn| (dbn, run.spindle)));
            self.counters.bad_blocks += (known.len() - before) as u64;
        }
        self.degraded = Some(degraded);
        self.read_runs_apart(fields, driver);
    }

    fn take_read(&mut self, fields: TagFields) -> Option<AggregatedRead> {
        let state = self.read_aggregation.as_mut()?;
        let read = state.in_flight.remove(fields.slot as usize);
        debug_assert_eq!(read.blocks, fields.blocks, "a tag names another command");
        Some(read)
    }
}

/// Whether `next` lies behind `one` on the same spindle, with a gap of at most `most_gap_blocks` between them.
fn is_close(one: &Run, next: &Run, most_gap_blocks: u32) -> bool {
    let end = one.dbn + u64::from(one.blocks);
    (one.group, one.spindle) == (next.group, next.spindle)
        && next.dbn >= end
        && next.dbn - end <= u64::from(most_gap_blocks)
}
