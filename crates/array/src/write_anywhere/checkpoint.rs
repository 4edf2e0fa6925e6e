//! Consistency points: what was dirty goes out together, with the metadata that says where.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use slab::Slab;
use strewn_alloc::{GroupIndex, Region, SummaryBitmap, Tetris, bits, runs};
use strewn_raid::{SpindleIndex, Vbn};

use crate::driver::{Driver, Work};
use crate::payload::{BlockContents, Contents, Payload};
use strewn_base::Direction;

use super::block_keys::CONTAINER_BLOCKS_PER_REGION;
use super::degraded::ROW_STRIPES;
use super::prefetch::BLOCKS_AHEAD;
use super::stored::OldLocation;
use super::tag::{Owner, TagFields};
use super::tetris_bytes::{StripeReads, TetrisPayloads};
use super::{BLOCK_BYTES, BLOCK_SECTORS, NoRoom, Placed, Run, SUPERBLOCK, WriteAnywhere};

/// Metadata blocks that a consistency point reads at once.
const METADATA_READS_IN_FLIGHT: u32 = 32;

/// A consistency point in progress: it has its blocks placed, reads the metadata it changes where the cache lacks
/// it, then writes tetris after tetris, the superblock last.
pub(super) struct Checkpoint<P> {
    /// Data blocks, ascending.
    pub(super) data: Vec<u32>,
    /// Metadata blocks that are placed with it.
    pub(super) metadata: Vec<u32>,
    /// Metadata to read, where it lay before.
    to_read: VecDeque<(u32, Vbn)>,
    reads_out: u32,
    tetrises: VecDeque<Tetris<u32>>,
    in_flight: Slab<TetrisInFlight<P>>,
    superblock_written: bool,
    /// Whether the driver is making it safe.
    commit_asked: bool,
    /// What blocks held when the consistency point began, for those written to since; and its metadata.
    pub(super) frozen: BTreeMap<u32, P>,
    /// Where blocks lay before, in an array with bytes.
    pub(super) old_locations: BTreeMap<u32, OldLocation>,
    /// What it stops using, in an array with bytes.
    pub(super) freed: Vec<Vbn>,
}

/// A tetris on its way: first what parity needs is read, then all is written.
struct TetrisInFlight<P> {
    tetris: Tetris<u32>,
    reading: bool,
    awaited: u32,
    /// A spindle was lost under its reads: they do not do.
    again: bool,
    /// What its reads have brought.
    old: StripeReads<P>,
}

impl<P: Payload> Checkpoint<P> {
    /// What a read for a tetris has asked for.
    pub(super) fn read_of_tetris(&self, fields: TagFields) -> Option<Run> {
        let in_flight = self.in_flight.get(fields.slot as usize).filter(|one| one.reading)?;
        let (spindle, stripe) = StripeReads::<P>::named(fields);
        let dbn = in_flight.tetris.first_stripe + u64::from(stripe);
        Some(Run { spindle: SpindleIndex(spindle), dbn, blocks: fields.blocks })
    }

    /// The rows that tetrises are at work on.
    pub(super) fn rows_in_flight(&self) -> Vec<u64> {
        self.in_flight.iter().map(|(_, one)| one.tetris.first_stripe / ROW_STRIPES).collect()
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Begins a consistency point with all that is dirty now. None may be in progress.
    #[inline(never)]
    pub(super) fn begin_checkpoint(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.checkpoint_due_ns = now_ns + self.config.checkpoint_interval_ns;
        driver.set_timer(self.checkpoint_due_ns);
        if self.dirty.is_empty() {
            return;
        }
        let before = driver.turn_to(Work::WriteBack);
        self.log.switch();
        driver.checkpoint_begins();
        self.reads.begin_epoch();
        let mut data = Vec::with_capacity(self.dirty.count() as usize);
        self.dirty.drain(|block| data.push(block as u32));
        for (index, &block) in data.iter().enumerate() {
            self.prefetch_buffer_ahead(&data, index);
            if let Some(&coming) = data.get(index + BLOCKS_AHEAD) {
                self.rewritten.prefetch(coming.into());
            }
            self.cache.begin_flush(block);
            self.rewritten.insert(u64::from(block));
        }
        let mut checkpoint = Checkpoint {
            data,
            metadata: Vec::new(),
            to_read: VecDeque::new(),
            reads_out: 0,
            tetrises: VecDeque::new(),
            in_flight: Slab::new(),
            superblock_written: false,
            commit_asked: false,
            frozen: BTreeMap::new(),
            old_locations: BTreeMap::new(),
            freed: Vec::new(),
        };
        if let Err(full) = self.place_all(&mut checkpoint) {
            // Whoever makes the array leaves room for what a file of constant size needs: its metadata, the frees held
            // back and two generations of dirty blocks (`WriteAnywhereConfig::volume_blocks_for`).
            panic!("{full} during a consistency point, though its file does not grow");
        }
        self.seal(&mut checkpoint);
        self.checkpoint = Some(checkpoint);
        self.advance_checkpoint(now_ns, driver);
        driver.turn_to(before);
    }

    /// Keeps what `block` holds for the consistency point that is writing it, before it is overwritten in memory.
    pub(super) fn freeze_for_checkpoint(&mut self, block: u32) {
        let sector = u64::from(block) * u64::from(BLOCK_SECTORS);
        if P::CARRIES_DATA
            && self.map.get(block).is_some()
            && let Some(checkpoint) = &mut self.checkpoint
        {
            let contents = &self.contents;
            checkpoint.frozen.entry(block).or_insert_with(|| contents.load(sector, BLOCK_SECTORS));
        }
    }

    /// Places the data in file order, then all metadata that this changes, which changes more metadata: each block
    /// is placed once, and what is changed after it was placed goes out with it all the same.
    #[inline(always)]
    fn place_all(&mut self, checkpoint: &mut Checkpoint<P>) -> Result<(), NoRoom> {
        let metadata = self.keys.indirect().start..self.keys.end();
        let mut changed = MetadataSet::new(metadata.clone());
        // A quarter of metadata on top is what a random workload sees; a poor guess costs a shallow tetris.
        self.aggregate.begin(checkpoint.data.len() as u64 * 5 / 4)?;
        for index in 0..checkpoint.data.len() {
            let key = checkpoint.data[index];
            self.prefetch_place_ahead(&checkpoint.data, index);
            changed.insert(self.keys.indirect_of(key));
            if P::CARRIES_DATA && self.take_unmapped(key) {
                self.unplace(key, checkpoint, &mut changed);
            } else {
                self.place_in(key, checkpoint, &mut changed)?;
            }
        }
        while let Some((region, blocks)) = self.volume.reclaim(self.config.delayed_free_blocks) {
            let first = self.keys.container_of(region, 0);
            for key in first..first + CONTAINER_BLOCKS_PER_REGION {
                changed.insert(key);
            }
            for vbn in blocks {
                changed.insert(self.keys.aggregate_bitmap_of(vbn));
                self.stop_using(vbn, checkpoint);
            }
        }
        if P::CARRIES_DATA {
            self.free_unpinned(checkpoint, &mut changed);
        }
        let mut placed = MetadataSet::new(metadata);
        while let Some(key) = changed.take_first() {
            if let Some(next) = changed.first_from(key) {
                self.prefetch_metadata(next);
            }
            if !placed.insert(key) {
                continue;
            }
            if let Some(parent) = self.keys.parent_of(key) {
                changed.insert(parent);
            }
            let before = self.place_in(key, checkpoint, &mut changed)?;
            checkpoint.metadata.push(key);
            if !self.cache.touch(key) {
                let evicted = self.cache.insert(key);
                self.forget(evicted);
                checkpoint.to_read.extend(before.map(|before| (key, before)));
            }
            // Until it is written it is nowhere but in memory.
            self.cache.hold(key);
        }
        self.aggregate.finish();
        checkpoint.tetrises.extend(std::iter::from_fn(|| self.aggregate.next_tetris()));
        Ok(())
    }

    /// Places one block and notes which metadata that changes; where it lay before.
    #[inline(always)]
    fn place_in(
        &mut self,
        key: u32,
        checkpoint: &mut Checkpoint<P>,
        changed: &mut MetadataSet,
    ) -> Result<Option<Vbn>, NoRoom> {
        self.remember(key, &mut checkpoint.old_locations);
        let Placed { vbn, before, region } = self.place(key)?;
        changed.insert_as_before(0, self.keys.aggregate_bitmap_of(vbn));
        match region {
            Some((now, was)) => {
                let position = self.volume.position_in_region().saturating_sub(1);
                changed.insert_as_before(1, self.keys.volume_bitmap_of(now));
                changed.insert_as_before(2, self.keys.container_of(now, position));
                if let Some(before) = before {
                    changed.insert(self.keys.volume_bitmap_of(was));
                    self.leave(was, before);
                }
            }
            None => {
                if let Some(before) = before {
                    changed.insert(self.keys.aggregate_bitmap_of(before));
                    self.stop_using(before, checkpoint);
                }
            }
        }
        Ok(before)
    }

    /// Takes from a block of the file, which was given back, the place it has, and notes which metadata that changes.
    fn unplace(&mut self, key: u32, checkpoint: &mut Checkpoint<P>, changed: &mut MetadataSet) {
        self.remember(key, &mut checkpoint.old_locations);
        if let Some(before) = self.map.remove(key) {
            let was = self.regions[key as usize];
            changed.insert(self.keys.volume_bitmap_of(was));
            self.leave(was, before);
        }
    }

    /// A block of the volume lies elsewhere from now on: what it leaves is held back, or a snapshot's alone.
    #[inline]
    fn leave(&mut self, region: Region, before: Vbn) {
        match self.pinned_checksum(before) {
            None => self.volume.hold_back(region, before),
            Some(_) => self.volume.release(region),
        }
    }

    /// Frees what snapshots have let go, and notes which blocks of the aggregate's bitmap are to be written for that and for
    /// what was free since a restart.
    fn free_unpinned(&mut self, checkpoint: &mut Checkpoint<P>, changed: &mut MetadataSet) {
        let Some(stored) = &mut self.stored else { return };
        let (unpinned, stale) =
            (std::mem::take(&mut stored.unpinned), std::mem::take(&mut stored.stale));
        for key in stale {
            changed.insert(key);
        }
        for vbn in unpinned {
            changed.insert(self.keys.aggregate_bitmap_of(vbn));
            self.stop_using(vbn, checkpoint);
        }
    }

    fn stop_using(&mut self, vbn: Vbn, checkpoint: &mut Checkpoint<P>) {
        self.aggregate.free_at_commit(vbn).expect("a block that the map named is in use");
        if P::CARRIES_DATA {
            checkpoint.freed.push(vbn);
        }
    }

    /// A block of metadata that the consistency point changes has been read, or cannot be.
    pub(super) fn on_metadata_read(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        if let Some(payload) = payload {
            self.fill(fields.first_key, fields.blocks, payload, false);
        }
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.reads_out -= 1;
        }
        self.advance_checkpoint(now_ns, driver);
    }

    /// A command of a tetris has completed, or failed. A write that fails has its contents in the parity that the same
    /// tetris writes.
    pub(super) fn on_tetris_command_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        outcome: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        let slot = fields.slot as usize;
        let tetris = &mut checkpoint.in_flight[slot];
        tetris.awaited -= 1;
        let was_reading = tetris.reading;
        tetris.again |= was_reading && outcome.is_none();
        if let Some(payload) = outcome
            && P::CARRIES_DATA
            && was_reading
        {
            tetris.old.take(fields, payload);
        }
        let all_done = tetris.awaited == 0;
        if all_done && std::mem::take(&mut tetris.again) {
            self.read_for_tetris(&mut checkpoint, fields.slot, driver);
        } else if all_done && was_reading {
            self.write_tetris(&mut checkpoint, fields.slot, driver);
        } else if all_done {
            let written = checkpoint.in_flight.remove(slot);
            self.has_written(written.tetris.first_stripe);
        }
        self.checkpoint = Some(checkpoint);
        if all_done && !was_reading {
            self.advance_checkpoint(now_ns, driver);
            self.rows_are_free(now_ns, driver);
        }
    }

    /// Sends what the consistency point can send now, and commits it when nothing is left and no read is on its way
    /// to what the commit frees.
    #[inline(never)]
    pub(super) fn advance_checkpoint(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        while checkpoint.reads_out < METADATA_READS_IN_FLIGHT {
            let Some((key, vbn)) = checkpoint.to_read.pop_front() else { break };
            let fields = TagFields {
                owner: Owner::CheckpointRead,
                slot: 0,
                first_key: key,
                blocks: 1,
                epoch_parity: false,
            };
            self.send_read(driver, fields, self.run_at(vbn));
            self.counters.metadata_reads += 1;
            checkpoint.reads_out += 1;
        }
        if checkpoint.reads_out == 0 {
            while checkpoint.in_flight.len() < self.config.tetrises_in_flight as usize {
                let Some(next) = checkpoint.tetrises.front() else { break };
                if !self.may_write(next.first_stripe) {
                    break;
                }
                let Some(tetris) = checkpoint.tetrises.pop_front() else { break };
                self.begin_tetris(&mut checkpoint, tetris, driver);
            }
            if checkpoint.in_flight.is_empty() && checkpoint.tetrises.is_empty() {
                if !checkpoint.superblock_written {
                    if driver.commit(self.root()) {
                        checkpoint.superblock_written = true;
                        checkpoint.commit_asked = true;
                        self.checkpoint = Some(checkpoint);
                        return;
                    }
                    let superblock = self.superblock_tetris();
                    if self.may_write(superblock.first_stripe) {
                        checkpoint.superblock_written = true;
                        self.begin_tetris(&mut checkpoint, superblock, driver);
                    }
                } else if self.reads.are_back() && !checkpoint.commit_asked {
                    self.commit(now_ns, checkpoint, driver);
                    return;
                }
            }
        }
        self.checkpoint = Some(checkpoint);
    }

    /// The driver has made the consistency point safe.
    pub(super) fn is_committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.commit_asked = false;
        }
        self.advance_checkpoint(now_ns, driver);
    }

    /// The superblock's two copies, as a tetris of one stripe.
    fn superblock_tetris(&self) -> Tetris<u32> {
        let mut written = vec![0; self.group().data_spindles().into()];
        let first_stripe = self.run_at(self.superblock[0]).dbn;
        for block in self.superblock {
            let run = self.run_at(block);
            written[run.spindle.index()] |= 1 << (run.dbn - first_stripe);
        }
        let contents = vec![SUPERBLOCK; self.superblock.len()];
        Tetris { group: GroupIndex(0), first_stripe, written, contents }
    }

    /// Reads what parity needs for the stripes of `tetris` that are written in part; if nothing, writes at once.
    fn begin_tetris(
        &mut self,
        checkpoint: &mut Checkpoint<P>,
        tetris: Tetris<u32>,
        driver: &mut impl Driver<P>,
    ) {
        let touched = tetris.stripes_touched();
        let full = tetris.stripes_full();
        self.counters.stripes_written += u64::from(touched.count_ones());
        self.counters.full_stripes += u64::from(full.count_ones());
        let old = StripeReads::default();
        let in_flight = TetrisInFlight { tetris, reading: true, awaited: 0, again: false, old };
        let slot = checkpoint.in_flight.insert(in_flight) as u32;
        self.read_for_tetris(checkpoint, slot, driver);
    }

    /// Reads what parity needs; if nothing, writes at once.
    fn read_for_tetris(
        &mut self,
        checkpoint: &mut Checkpoint<P>,
        slot: u32,
        driver: &mut impl Driver<P>,
    ) {
        let in_flight = &mut checkpoint.in_flight[slot as usize];
        let tetris = &in_flight.tetris;
        let first_stripe = tetris.first_stripe;
        // A tetris lies in one row, in which the same spindles are lost from end to end.
        let lost = self.lost_at(first_stripe);
        let mut read = vec![0u64; self.group().spindles().into()];
        in_flight.old = StripeReads::default();
        for stripe in bits(tetris.stripes_touched() & !tetris.stripes_full()) {
            let bad = self.bad_at(first_stripe + u64::from(stripe));
            let changed = tetris.changed_in(stripe);
            let dbn = first_stripe + u64::from(stripe);
            let update = match P::CARRIES_DATA && !self.is_used_beside(dbn, changed) {
                true => self.plan_of_beginning(changed, lost, bad),
                false => self.plan_of_update(changed, lost, bad),
            };
            for spindle in self.group().spindles_of(update.read()).iter() {
                read[spindle.index()] |= 1 << stripe;
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
                let run = Run { spindle, dbn: first_stripe + u64::from(bit), blocks };
                self.send(driver, fields, Direction::Read, run, P::default());
                commands += 1;
            }
        }
        self.counters.parity_update_reads += u64::from(commands);
        checkpoint.in_flight[slot as usize].awaited = commands;
        if commands == 0 {
            self.write_tetris(checkpoint, slot, driver);
        }
    }

    /// Writes a tetris: one command for each run of blocks on each spindle that is there, parity included.
    fn write_tetris(
        &mut self,
        checkpoint: &mut Checkpoint<P>,
        slot: u32,
        driver: &mut impl Driver<P>,
    ) {
        let in_flight = &mut checkpoint.in_flight[slot as usize];
        in_flight.reading = false;
        let Tetris { first_stripe, .. } = in_flight.tetris;
        let touched = in_flight.tetris.stripes_touched();
        let mut written = in_flight.tetris.written.clone();
        for (stripe, update) in &in_flight.old.updates {
            // Member i is on spindle i; what is not among the contents of the tetris is written as zeros.
            for member in update.zeroed.iter() {
                written[member.index()] |= 1 << stripe;
            }
        }
        let mut payloads = self.payloads_of(checkpoint, slot);
        let all_or_none = self.leaves_blocks_beside(first_stripe, touched, &written);
        let group = *self.group();
        let lost = self.lost_at(first_stripe);
        let parity = (group.data_spindles()..group.spindles()).map(|_| touched);
        let mut commands = 0;
        for (spindle, mask) in written.into_iter().chain(parity).enumerate() {
            let spindle = SpindleIndex(spindle as u16);
            if lost.contains(spindle) {
                continue;
            }
            let is_data = spindle.0 < group.data_spindles();
            for (bit, blocks) in runs(mask & !payloads.left_out(spindle)) {
                let run = Run { spindle, dbn: first_stripe + u64::from(bit), blocks };
                let payload = payloads.run(run);
                self.is_rewritten(run);
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
        checkpoint.in_flight[slot as usize].awaited = commands;
    }

    /// What the blocks of a tetris hold, by place: as it was when the consistency point began; and their parity.
    fn payloads_of(&self, checkpoint: &mut Checkpoint<P>, slot: u32) -> TetrisPayloads<P> {
        let mut payloads = TetrisPayloads::default();
        if !P::CARRIES_DATA {
            return payloads;
        }
        let in_flight = &mut checkpoint.in_flight[slot as usize];
        let TetrisInFlight { tetris, old, .. } = in_flight;
        let superblock = (tetris.contents.contains(&SUPERBLOCK)).then_some(self.superblock);
        for vbn in superblock.into_iter().flatten() {
            payloads.put(
                self.run_at(vbn),
                P::from_bytes(vec![0; BLOCK_BYTES]),
                BlockContents::Nothing,
            );
        }
        for &key in tetris.contents.iter().filter(|key| **key != SUPERBLOCK) {
            let Some(vbn) = self.map.get(key) else { continue };
            let payload = checkpoint.frozen.remove(&key).unwrap_or_else(|| {
                self.contents.load(u64::from(key) * u64::from(BLOCK_SECTORS), BLOCK_SECTORS)
            });
            payloads.put(self.run_at(vbn), payload, self.keys.holds(key));
        }
        payloads.add_parity(self.group(), tetris, old);
        payloads
    }

    /// Everything is on the spindles, the superblock last: what the consistency point stopped using is free.
    fn commit(&mut self, now_ns: u64, checkpoint: Checkpoint<P>, driver: &mut impl Driver<P>) {
        self.aggregate.commit();
        for (index, &block) in checkpoint.data.iter().enumerate() {
            self.prefetch_buffer_ahead(&checkpoint.data, index);
            let evicted = self.cache.end_flush(block);
            self.forget(evicted);
        }
        for (index, &metadata) in checkpoint.metadata.iter().enumerate() {
            self.prefetch_buffer_ahead(&checkpoint.metadata, index);
            let evicted = self.cache.release(metadata);
            self.forget(evicted);
        }
        self.counters.checkpoints += 1;
        self.counters.checkpoint_blocks +=
            (checkpoint.data.len() + checkpoint.metadata.len()) as u64;
        self.counters.checkpoint_data_blocks += checkpoint.data.len() as u64;
        self.log.release();
        self.admit_waiting(now_ns, driver);
        let over_limit = self.cache.dirty_blocks() > self.config.dirty_limit_blocks;
        if self.checkpoint.is_some() {
            self.counters.back_to_back_checkpoints += 1;
        } else if now_ns >= self.checkpoint_due_ns || over_limit {
            self.begin_checkpoint(now_ns, driver);
        }
    }
}

/// Keys of metadata, in ascending order.
struct MetadataSet {
    first_key: u32,
    keys: SummaryBitmap,
    /// What each place of the program that inserts the same for block after block inserted last.
    last: [u32; 3],
}

impl MetadataSet {
    fn new(keys: Range<u32>) -> Self {
        let set = SummaryBitmap::new(keys.len() as u64);
        Self { first_key: keys.start, keys: set, last: [u32::MAX; 3] }
    }

    /// Inserts `key`, unless it is what was inserted `from` the same place before: three in five are. One that was taken
    /// out meanwhile is not put in again, which makes no difference: it has been placed.
    #[inline(always)]
    fn insert_as_before(&mut self, from: usize, key: u32) {
        if self.last[from] != key {
            self.last[from] = key;
            self.insert(key);
        }
    }

    /// Whether `key` was new.
    #[inline(always)]
    fn insert(&mut self, key: u32) -> bool {
        self.keys.insert((key - self.first_key).into())
    }

    #[inline(always)]
    fn take_first(&mut self) -> Option<u32> {
        let first = self.keys.next_member(0)?;
        self.keys.remove(first);
        Some(first as u32 + self.first_key)
    }

    #[inline(always)]
    fn first_from(&self, key: u32) -> Option<u32> {
        let first = self.keys.next_member((key - self.first_key).into())?;
        Some(first as u32 + self.first_key)
    }
}
