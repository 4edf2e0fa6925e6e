//! The tetrises of a consistency point: each reads what parity needs, then writes.

use strewn_alloc::{Tetris, bits, runs};
use strewn_base::state::SavedValue;
use strewn_base::{Direction, ROW_STRIPES};
use strewn_raid::SpindleIndex;

use crate::driver::Driver;
use crate::payload::{BlockContents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::super::context::{Context, Next};
use super::super::space::{Run, SUPERBLOCK, Space};
use super::super::tag::{Owner, TagFields};
use super::bytes::{self, StripeReads, TetrisPayloads};
use super::{ConsistencyPoint, ConsistencyPoints, costs};

/// A tetris in flight: it reads what parity needs, then writes.
#[derive(SavedValue)]
pub(super) struct TetrisInFlight<P> {
    pub(super) tetris: Tetris<u32>,
    reading: bool,
    awaited: u32,
    /// A spindle failed during its reads: they are sent again.
    again: bool,
    /// Blocks XORed into its parities, if that costs anything.
    xored_blocks: u64,
    /// What its reads have brought: contents that parity is computed from.
    old: StripeReads<P>,
}

impl<P: Payload> ConsistencyPoints<P> {
    /// The run that a tetris's read asked for.
    pub(crate) fn read_of_tetris(&self, fields: TagFields) -> Option<Run> {
        let in_flight = self.in_progress.as_ref()?.in_flight.get(fields.slot as usize)?;
        let (spindle, stripe) = StripeReads::<P>::named(fields);
        let dbn = in_flight.tetris.first_stripe + u64::from(stripe);
        let (group, spindle) = (in_flight.tetris.group, SpindleIndex(spindle));
        in_flight.reading.then_some(Run { group, spindle, dbn, blocks: fields.blocks })
    }

    /// A command of a tetris has completed, or failed. The parity that the tetris writes covers the contents of a
    /// failed write.
    pub(crate) fn on_tetris_command_done(
        &mut self,
        fields: TagFields,
        outcome: Option<&P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let Some(consistency_point) = &mut self.in_progress else {
            unreachable!("a tetris has a command out, and no consistency point is in progress")
        };
        let slot = fields.slot as usize;
        let tetris = &mut consistency_point.in_flight[slot];
        assert!(tetris.awaited > 0, "a command has completed that its tetris did not wait for");
        tetris.awaited -= 1;
        let was_reading = tetris.reading;
        tetris.again |= was_reading && outcome.is_none();
        if let Some(payload) = outcome
            && P::CARRIES_DATA
            && was_reading
        {
            tetris.old.take(fields, payload);
        }
        if tetris.awaited > 0 {
            return;
        }
        if std::mem::take(&mut tetris.again) {
            consistency_point.read_for_tetris(fields.slot, cx);
        } else if was_reading {
            consistency_point.write_tetris(fields.slot, cx);
        } else {
            let written = consistency_point.in_flight.remove(slot);
            cx.space.on_tetris_written(&written.tetris);
            cx.then(Next::AdvanceConsistencyPoint);
            if cx.space.losses.is_some() {
                cx.then(Next::RowsFree(written.tetris.group));
            }
        }
    }
}

impl<P: Payload> ConsistencyPoint<P> {
    /// Begins a tetris with the reads that parity needs for its partial stripes, or with its writes if there are none.
    pub(super) fn begin_tetris(
        &mut self,
        tetris: Tetris<u32>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        assert_places_are_its_own(&tetris, cx.space);
        let touched = tetris.stripes_touched();
        let full = tetris.stripes_full();
        cx.counters.stripes_written += u64::from(touched.count_ones());
        cx.counters.full_stripes += u64::from(full.count_ones());
        self.charge_placement(&tetris, cx);
        let in_flight = TetrisInFlight {
            tetris,
            reading: true,
            awaited: 0,
            again: false,
            xored_blocks: 0,
            old: StripeReads::default(),
        };
        let slot = self.in_flight.insert(in_flight) as u32;
        self.read_for_tetris(slot, cx);
    }

    /// Sends the reads that parity needs, or the writes if there are none.
    fn read_for_tetris(&mut self, slot: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        let in_flight = &mut self.in_flight[slot as usize];
        let tetris = &in_flight.tetris;
        let (index, first_stripe) = (tetris.group, tetris.first_stripe);
        let space = &*cx.space;
        let group = space.group(index);
        // A tetris lies in one row, in which a spindle is lost entirely or not at all.
        let lost = space.lost_at(index, first_stripe);
        let mut read = vec![0u64; group.spindles().into()];
        in_flight.old = StripeReads::default();
        let computes_parity = space.config.processor.write_back.parity_sector_ps > 0;
        in_flight.xored_blocks =
            if computes_parity { costs::xored_in_full_stripes(group, tetris) } else { 0 };
        for stripe in bits(tetris.stripes_touched() & !tetris.stripes_full()) {
            let bad = space.bad_at(index, first_stripe + u64::from(stripe));
            let changed = tetris.changed_in(stripe);
            let dbn = first_stripe + u64::from(stripe);
            let update =
                match space.is_durable() && !bytes::is_used_beside(space, index, dbn, changed) {
                    true => bytes::plan_of_beginning(group, changed, lost, bad),
                    false => bytes::plan_of_update(group, changed, lost, bad, space.is_durable()),
                };
            let read_here = group.spindles_of(update.read(group.stripe_shape()));
            for spindle in read_here.iter() {
                read[spindle.index()] |= 1 << stripe;
            }
            if computes_parity {
                in_flight.xored_blocks += costs::xored_in_stripe(group, changed, read_here);
            }
            if P::CARRIES_DATA {
                in_flight.old.updates.insert(stripe, update);
            }
        }
        let mut commands = 0;
        for (spindle, mask) in read.into_iter().enumerate() {
            for (bit, blocks) in runs(mask) {
                let first_key = StripeReads::<P>::name(spindle, bit);
                let fields = TagFields {
                    owner: Owner::Tetris,
                    slot,
                    first_key,
                    blocks,
                    epoch_parity: false,
                };
                let spindle = SpindleIndex(spindle as u16);
                let dbn = first_stripe + u64::from(bit);
                let run = Run { group: index, spindle, dbn, blocks };
                cx.send(fields, Direction::Read, run, P::default());
                commands += 1;
            }
        }
        cx.counters.parity_update_reads += u64::from(commands);
        in_flight.awaited = commands;
        if commands == 0 {
            self.write_tetris(slot, cx);
        }
    }

    /// Writes a tetris: one command for each run of blocks on each working spindle, parity included.
    fn write_tetris(&mut self, slot: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        let in_flight = &mut self.in_flight[slot as usize];
        in_flight.reading = false;
        let xored_blocks = std::mem::take(&mut in_flight.xored_blocks);
        let Tetris { group: index, first_stripe, .. } = in_flight.tetris;
        let touched = in_flight.tetris.stripes_touched();
        let mut written = in_flight.tetris.written.clone();
        for (stripe, update) in &in_flight.old.updates {
            // Member i is on spindle i; a block that the tetris does not contain is written as zeros.
            for member in update.zeroed.iter() {
                written[member.index()] |= 1 << stripe;
            }
        }
        if xored_blocks > 0 {
            costs::charge_parity(xored_blocks * u64::from(BLOCK_SECTORS), cx);
        }
        let mut payloads = payloads_of(in_flight, cx);
        let all_or_none =
            bytes::leaves_blocks_beside(cx.space, index, first_stripe, touched, &written);
        let group = *cx.space.group(index);
        let lost = cx.space.lost_at(index, first_stripe);
        let parity = (group.data_spindles()..group.spindles()).map(|_| touched);
        let mut commands = 0;
        for (spindle, mask) in written.into_iter().chain(parity).enumerate() {
            let spindle = SpindleIndex(spindle as u16);
            if lost.contains(spindle) {
                continue;
            }
            let is_data = spindle.0 < group.data_spindles();
            for (bit, blocks) in runs(mask & !payloads.left_out(spindle)) {
                let dbn = first_stripe + u64::from(bit);
                let run = Run { group: index, spindle, dbn, blocks };
                let payload = payloads.run(run);
                cx.space.on_rewritten(run);
                let fields = TagFields {
                    owner: Owner::Tetris,
                    slot,
                    first_key: 0,
                    blocks,
                    epoch_parity: false,
                };
                cx.send_with(fields, Direction::Write, run, payload, all_or_none);
                commands += 1;
                cx.counters.data_writes += u64::from(is_data);
                cx.counters.parity_writes += u64::from(!is_data);
            }
        }
        in_flight.awaited = commands;
    }
}

/// A tetris writes one block to each of its places, and each place is taken in the free map. The allocator could give a
/// free place to another block as well.
fn assert_places_are_its_own(tetris: &Tetris<u32>, space: &Space) {
    let free_map = space.aggregate.free_map(tetris.group);
    let row = tetris.first_stripe / ROW_STRIPES;
    let shift = tetris.first_stripe % ROW_STRIPES;
    let mut blocks = 0;
    for (spindle, written) in (0..).map(SpindleIndex).zip(&tetris.written) {
        let free = free_map.free_word(spindle, row) >> shift;
        assert_eq!(
            free & written,
            0,
            "a tetris at stripe {} writes free places",
            tetris.first_stripe
        );
        blocks += written.count_ones() as usize;
    }
    assert_eq!(blocks, tetris.contents.len(), "a tetris has as many blocks as places");
}

/// The blocks of a tetris by place, as of the beginning of the consistency point, and their parity.
fn payloads_of<P: Payload>(
    in_flight: &mut TetrisInFlight<P>,
    cx: &mut Context<'_, P, impl Driver<P>>,
) -> TetrisPayloads<P> {
    let mut payloads = TetrisPayloads::default();
    if !P::CARRIES_DATA {
        return payloads;
    }
    // Nothing else needs what was read.
    let mut old = std::mem::take(&mut in_flight.old);
    let tetris = &in_flight.tetris;
    bytes::compute_unreadable(cx.space, (tetris.group, tetris.first_stripe), &mut old);
    let superblock = (tetris.contents.contains(&SUPERBLOCK)).then_some(cx.space.superblock);
    for vbn in superblock.into_iter().flatten() {
        let zeros = P::from_bytes(vec![0; BLOCK_BYTES]);
        payloads.put(cx.space.run_at(vbn), zeros, BlockContents::Nothing);
    }
    for &key in tetris.contents.iter().filter(|key| **key != SUPERBLOCK) {
        let Some(vbn) = cx.space.map.get(key) else { continue };
        let payload = cx.memory.take_frozen(key);
        payloads.put(cx.space.run_at(vbn), payload, cx.space.keys.holds(key));
    }
    payloads.add_parity(cx.space.group(tetris.group), tetris, &old);
    payloads
}
