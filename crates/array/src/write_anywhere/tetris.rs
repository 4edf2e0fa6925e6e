//! The tetrises of a consistency point: each reads what parity needs, then writes.

use strewn_alloc::{Tetris, bits, runs};
use strewn_base::{Direction, ROW_STRIPES};
use strewn_raid::SpindleIndex;

use crate::driver::Driver;
use crate::payload::{BlockContents, Contents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::consistency_point::{ConsistencyPoint, TetrisInFlight};
use super::tag::{Owner, TagFields};
use super::tetris_bytes::{StripeReads, TetrisPayloads};
use super::{Run, SUPERBLOCK, WriteAnywhere, costs};

impl<P: Payload> WriteAnywhere<P> {
    /// A command of a tetris has completed, or failed. The parity that the tetris writes covers the contents of a
    /// failed write.
    pub(super) fn on_tetris_command_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        outcome: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        let Some(mut consistency_point) = self.consistency_point.take() else {
            unreachable!("a tetris has a command out, and no consistency point is in progress")
        };
        let slot = fields.slot as usize;
        let tetris = &mut consistency_point.in_flight[slot];
        assert!(tetris.awaited > 0, "a command has completed that its tetris did not wait for");
        tetris.awaited -= 1;
        let (group, was_reading) = (tetris.tetris.group, tetris.reading);
        tetris.again |= was_reading && outcome.is_none();
        if let Some(payload) = outcome
            && P::CARRIES_DATA
            && was_reading
        {
            tetris.old.take(fields, payload);
        }
        let all_done = tetris.awaited == 0;
        if all_done && std::mem::take(&mut tetris.again) {
            self.read_for_tetris(&mut consistency_point, fields.slot, driver);
        } else if all_done && was_reading {
            self.write_tetris(&mut consistency_point, fields.slot, driver);
        } else if all_done {
            let written = consistency_point.in_flight.remove(slot);
            self.on_tetris_written(&written.tetris);
        }
        self.consistency_point = Some(consistency_point);
        if all_done && !was_reading {
            self.advance_consistency_point(now_ns, driver);
            self.on_rows_free(now_ns, group, driver);
        }
    }

    /// The superblock's two copies, as a tetris of one stripe.
    pub(super) fn superblock_tetris(&self) -> Tetris<u32> {
        let Run { group, dbn: first_stripe, .. } = self.run_at(self.superblock[0]);
        let mut written = vec![0; self.group(group).data_spindles().into()];
        for block in self.superblock {
            let run = self.run_at(block);
            written[run.spindle.index()] |= 1 << (run.dbn - first_stripe);
        }
        let contents = vec![SUPERBLOCK; self.superblock.len()];
        Tetris { group, first_stripe, written, contents }
    }

    /// Begins a tetris with the reads that parity needs for its partial stripes, or with its writes if there are none.
    pub(super) fn begin_tetris(
        &mut self,
        consistency_point: &mut ConsistencyPoint<P>,
        tetris: Tetris<u32>,
        driver: &mut impl Driver<P>,
    ) {
        self.assert_places_are_its_own(&tetris);
        let touched = tetris.stripes_touched();
        let full = tetris.stripes_full();
        self.counters.stripes_written += u64::from(touched.count_ones());
        self.counters.full_stripes += u64::from(full.count_ones());
        let old = StripeReads::default();
        self.charge_placement(consistency_point, &tetris, driver);
        let in_flight = TetrisInFlight {
            tetris,
            reading: true,
            awaited: 0,
            again: false,
            xored_blocks: 0,
            old,
        };
        let slot = consistency_point.in_flight.insert(in_flight) as u32;
        self.read_for_tetris(consistency_point, slot, driver);
    }

    /// A tetris writes one block to each of its places, and each place is taken in the free map. The allocator could
    /// give a free place to another block as well.
    fn assert_places_are_its_own(&self, tetris: &Tetris<u32>) {
        let free_map = self.aggregate.free_map(tetris.group);
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

    /// Sends the reads that parity needs, or the writes if there are none.
    fn read_for_tetris(
        &mut self,
        consistency_point: &mut ConsistencyPoint<P>,
        slot: u32,
        driver: &mut impl Driver<P>,
    ) {
        let in_flight = &mut consistency_point.in_flight[slot as usize];
        let tetris = &in_flight.tetris;
        let (index, first_stripe) = (tetris.group, tetris.first_stripe);
        let group = self.group(index);
        // A tetris lies in one row, in which a spindle is lost entirely or not at all.
        let lost = self.lost_at(index, first_stripe);
        let mut read = vec![0u64; group.spindles().into()];
        in_flight.old = StripeReads::default();
        let computes_parity = self.config.processor.write_back.parity_sector_ps > 0;
        in_flight.xored_blocks =
            if computes_parity { costs::xored_in_full_stripes(group, tetris) } else { 0 };
        for stripe in bits(tetris.stripes_touched() & !tetris.stripes_full()) {
            let bad = self.bad_at(index, first_stripe + u64::from(stripe));
            let changed = tetris.changed_in(stripe);
            let dbn = first_stripe + u64::from(stripe);
            let is_durable = self.config.format.is_durable();
            let update = match is_durable && !self.is_used_beside(index, dbn, changed) {
                true => self.plan_of_beginning(group, changed, lost, bad),
                false => self.plan_of_update(group, changed, lost, bad),
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
                self.send(driver, fields, Direction::Read, run, P::default());
                commands += 1;
            }
        }
        self.counters.parity_update_reads += u64::from(commands);
        consistency_point.in_flight[slot as usize].awaited = commands;
        if commands == 0 {
            self.write_tetris(consistency_point, slot, driver);
        }
    }

    /// Writes a tetris: one command for each run of blocks on each working spindle, parity included.
    fn write_tetris(
        &mut self,
        consistency_point: &mut ConsistencyPoint<P>,
        slot: u32,
        driver: &mut impl Driver<P>,
    ) {
        let in_flight = &mut consistency_point.in_flight[slot as usize];
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
            self.charge_parity(xored_blocks * u64::from(BLOCK_SECTORS), driver);
        }
        let mut payloads = self.payloads_of(consistency_point, slot);
        let all_or_none = self.leaves_blocks_beside(index, first_stripe, touched, &written);
        let group = *self.group(index);
        let lost = self.lost_at(index, first_stripe);
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
                self.on_rewritten(run);
                let fields = TagFields {
                    owner: Owner::Tetris,
                    slot,
                    first_key: 0,
                    blocks,
                    epoch_parity: false,
                };
                self.send_with(driver, fields, Direction::Write, run, payload, all_or_none);
                commands += 1;
                self.counters.data_writes += u64::from(is_data);
                self.counters.parity_writes += u64::from(!is_data);
            }
        }
        consistency_point.in_flight[slot as usize].awaited = commands;
    }

    /// The blocks of a tetris by place, as of the beginning of the consistency point, and their parity.
    fn payloads_of(
        &self,
        consistency_point: &mut ConsistencyPoint<P>,
        slot: u32,
    ) -> TetrisPayloads<P> {
        let mut payloads = TetrisPayloads::default();
        if !P::CARRIES_DATA {
            return payloads;
        }
        let Tetris { group, first_stripe, .. } = consistency_point.in_flight[slot as usize].tetris;
        // Nothing else needs what was read.
        let mut old = std::mem::take(&mut consistency_point.in_flight[slot as usize].old);
        self.compute_unreadable(consistency_point, (group, first_stripe), &mut old);
        let tetris = &consistency_point.in_flight[slot as usize].tetris;
        let superblock = (tetris.contents.contains(&SUPERBLOCK)).then_some(self.superblock);
        for vbn in superblock.into_iter().flatten() {
            let zeros = P::from_bytes(vec![0; BLOCK_BYTES]);
            payloads.put(self.run_at(vbn), zeros, BlockContents::Nothing);
        }
        for &key in tetris.contents.iter().filter(|key| **key != SUPERBLOCK) {
            let Some(vbn) = self.map.get(key) else { continue };
            let payload = consistency_point.frozen.remove(&key).unwrap_or_else(|| {
                self.contents.load(u64::from(key) * u64::from(BLOCK_SECTORS), BLOCK_SECTORS)
            });
            payloads.put(self.run_at(vbn), payload, self.keys.holds(key));
        }
        payloads.add_parity(self.group(group), tetris, &old);
        payloads
    }
}
