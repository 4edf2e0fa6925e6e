//! Batches of blocks to relocate: each is read as far as the cache lacks it, held, and made dirty as a whole, so that
//! one consistency point writes all of it.

use strewn_base::state::SavedValue;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::units::BLOCK_SECTORS;

use super::super::tag::{Owner, TagFields};
use super::super::{COMMAND_BLOCKS, WriteAnywhere};
use super::{Cause, Relocation, blocks_of, reads_of};

/// Batches in progress at once: while one waits for its last reads, the next begins.
const MOST_BATCHES: usize = 2;
/// Most blocks of a batch. The tag of a read says where in its batch it begins.
const MOST_BATCH_BLOCKS: usize = 512;

/// Blocks to relocate together, each once: in file order, or in the order of their places.
#[derive(Debug, SavedValue)]
pub(super) struct Request {
    pub(super) cause: Cause,
    pub(super) keys: Vec<u32>,
}

#[derive(Debug, SavedValue)]
pub(super) struct Batch {
    cause: Cause,
    keys: Vec<u32>,
    /// Of the keys: the first that has not been asked for.
    next: usize,
    awaited: u32,
    /// Blocks that it holds in the cache.
    held: Vec<u32>,
}

impl Batch {
    fn is_read(&self) -> bool {
        self.next == self.keys.len() && self.awaited == 0
    }
}

/// When the next batch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    Now,
    /// Once a batch has ended, or something is asked for.
    Later,
    OnceThereIsRoom,
}

impl Relocation {
    /// How many requests wait or are in progress for `cause`.
    pub(super) fn asked(&self, cause: Cause) -> usize {
        let waiting = self.waiting.iter().filter(|request| request.cause == cause);
        let in_progress = self.batches.iter().filter(|(_, batch)| batch.cause == cause);
        waiting.count() + in_progress.count()
    }

    /// The key of a block of a read.
    pub(in super::super) fn key_of_read(&self, fields: TagFields, block: u32) -> Option<u32> {
        let batch = self.batches.get(fields.slot as usize)?;
        batch.keys.get((fields.first_key + block) as usize).copied()
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Asks for `keys` to be relocated. Of metadata, which is only read, as well.
    pub(super) fn ask(&self, relocation: &mut Relocation, cause: Cause, keys: Vec<u32>) {
        let most = (self.most_relocated() as usize).clamp(1, MOST_BATCH_BLOCKS);
        let parts = keys.chunks(most).map(|keys| Request { cause, keys: keys.to_vec() });
        relocation.waiting.extend(parts);
    }

    /// Most blocks that may be dirty or held for the sake of relocation: half of what may be dirty, and of what there
    /// is room for. The rest is the hosts'.
    pub(super) fn most_relocated(&self) -> u64 {
        (u64::from(self.config.dirty_limit_blocks) / 2).min(self.room_blocks / 2)
    }

    /// Sends the reads that can be sent now, and begins and ends batches.
    pub(super) fn advance_relocation(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let Some(mut relocation) = self.relocation.take() else { return };
        let is_full = loop {
            let read = self.advance_batches(&mut relocation, driver);
            for slot in &read {
                let batch = relocation.batches.remove(*slot);
                self.make_dirty(&mut relocation, batch);
            }
            let begins = self.begin_batch(&mut relocation);
            if read.is_empty() && begins != Begins::Now {
                break begins == Begins::OnceThereIsRoom && !relocation.dirty.is_empty();
            }
        };
        self.relocation = Some(relocation);
        // A consistency point makes the room that relocation waits for.
        if self.consistency_point.is_none() && (is_full || self.is_much_dirty()) {
            self.begin_consistency_point(now_ns, driver);
        }
    }

    /// Begins the next batch, if there is one and room for it.
    fn begin_batch(&mut self, relocation: &mut Relocation) -> Begins {
        if relocation.batches.len() >= MOST_BATCHES {
            return Begins::Later;
        }
        if relocation.waiting.is_empty() {
            self.ask_for_cleaning(relocation);
        }
        let Some(request) = relocation.waiting.front() else { return Begins::Later };
        let blocks = request.keys.len() as u64;
        let busy = relocation.dirty.count() + relocation.in_batches;
        let dirty = u64::from(self.cache.dirty_blocks()) + relocation.in_batches;
        if busy > 0 && busy + blocks > self.most_relocated()
            || dirty + blocks > self.room_blocks / 2
        {
            return Begins::OnceThereIsRoom;
        }
        let Some(Request { cause, keys }) = relocation.waiting.pop_front() else {
            return Begins::Later;
        };
        relocation.in_batches += blocks;
        relocation.batches.insert(Batch { cause, keys, next: 0, awaited: 0, held: Vec::new() });
        Begins::Now
    }

    /// Goes on with the batches. Returns those that have all that they can have.
    fn advance_batches(
        &mut self,
        relocation: &mut Relocation,
        driver: &mut impl Driver<P>,
    ) -> Vec<usize> {
        let slots: Vec<usize> = relocation.batches.iter().map(|(slot, _)| slot).collect();
        for slot in &slots {
            let most = relocation.config.reads_in_flight.max(1);
            let batch = &mut relocation.batches[*slot];
            while batch.next < batch.keys.len() {
                let key = batch.keys[batch.next];
                let Some(run) = self.run_in_batch(batch) else {
                    batch.next += 1;
                    continue;
                };
                if run == 0 {
                    self.cache.hold(key);
                    batch.held.push(key);
                    batch.next += 1;
                    continue;
                }
                if relocation.reads_out >= most {
                    break;
                }
                let first = batch.next;
                batch.next += run as usize;
                batch.awaited += 1;
                relocation.reads_out += 1;
                self.send_batch_read(batch.cause, (*slot, first), (key, run), driver);
            }
        }
        slots.into_iter().filter(|slot| relocation.batches[*slot].is_read()).collect()
    }

    /// How many blocks of a batch, from the next on, lie one behind another and are not in the cache; 0 if the next one
    /// is there. `None` if it has no place, or gets a new one anyway.
    fn run_in_batch(&self, batch: &Batch) -> Option<u32> {
        let keys = &batch.keys[batch.next..];
        let key = keys[0];
        let vbn = self.map.get(key).filter(|_| self.may_relocate(key))?;
        if self.cache.contains(key) {
            return Some(0);
        }
        let most = keys.len().min(COMMAND_BLOCKS as usize) as u32;
        let run = self.longest_run(vbn, 0..most, |next, behind| {
            let key = keys[next as usize];
            self.map.get(key) == Some(behind) && !self.cache.contains(key) && self.may_relocate(key)
        });
        Some(run.blocks)
    }

    /// Whether it makes sense to read or move `key`: it is not dirty, and nobody has unmapped it.
    fn may_relocate(&self, key: u32) -> bool {
        key >= self.keys.data().end || !(self.dirty.contains(key.into()) || self.is_unmapped(key))
    }

    fn send_batch_read(
        &mut self,
        cause: Cause,
        (slot, first): (usize, usize),
        (key, blocks): (u32, u32),
        driver: &mut impl Driver<P>,
    ) {
        let Some(vbn) = self.map.get(key) else { return };
        *reads_of(&mut self.counters, cause) += 1;
        let fields = TagFields {
            owner: Owner::Relocation,
            slot: slot as u32,
            first_key: first as u32,
            blocks,
            epoch_parity: self.reads.sent(),
        };
        let run = super::super::Run { blocks, ..self.run_at(vbn) };
        self.send_read(driver, fields, run);
    }

    /// A read of a batch has completed; without a payload its blocks are gone, and are left out.
    pub(in super::super) fn on_relocation_read(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        let consistency_point_may_wait = self.reads.came_back(fields.epoch_parity);
        let Some(mut relocation) = self.relocation.take() else {
            unreachable!("a read for a relocation has completed, and there is none")
        };
        relocation.reads_out -= 1;
        let batch = &mut relocation.batches[fields.slot as usize];
        assert!(batch.awaited > 0, "a read has completed that its batch did not wait for");
        batch.awaited -= 1;
        if let Some(payload) = payload {
            for block in 0..fields.blocks {
                let key = batch.keys[(fields.first_key + block) as usize];
                let one = payload.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
                self.fill(key, 1, &one, true);
                batch.held.push(key);
            }
        }
        self.relocation = Some(relocation);
        self.advance_relocation(now_ns, driver);
        if consistency_point_may_wait {
            self.advance_consistency_point(now_ns, driver);
        }
    }

    /// Makes what a batch holds dirty, and releases it.
    fn make_dirty(&mut self, relocation: &mut Relocation, batch: Batch) {
        relocation.in_batches -= batch.keys.len() as u64;
        let data = self.keys.data();
        for key in batch.held {
            if data.contains(&key)
                && self.map.get(key).is_some()
                && self.may_relocate(key)
                && self.has_room_to_relocate(key)
            {
                if self.snapshots.is_some() {
                    self.note_growth(key..=key);
                }
                let (_, evicted) = self.cache.write(key);
                self.forget(evicted);
                self.dirty.insert(key.into());
                relocation.dirty.insert(key.into());
                *blocks_of(&mut self.counters, batch.cause) += 1;
            }
            let evicted = self.cache.release(key);
            self.forget(evicted);
        }
    }

    fn has_room_to_relocate(&self, key: u32) -> bool {
        let dirty = u64::from(self.cache.dirty_blocks()) + 1;
        dirty <= self.room_blocks
            && (self.snapshots.is_none() || self.reservations_leave_room(key..=key, dirty))
    }
}
