//! Batches of blocks to relocate: each is read as far as the cache lacks it, held, and made dirty as a whole, so that
//! one consistency point writes all of it.

use strewn_base::state::SavedValue;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::units::BLOCK_SECTORS;

use super::super::super::context::{Context, Next};
use super::super::super::memory::Memory;
use super::super::super::space::{COMMAND_BLOCKS, Run, Space};
use super::super::super::tag::{Owner, TagFields};
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

    /// The keys of the blocks that a read asks for.
    pub(in super::super) fn keys_of_read(&self, fields: TagFields) -> Option<Vec<u32>> {
        let batch = self.batches.get(fields.slot as usize)?;
        let first = fields.first_key as usize;
        batch.keys.get(first..first + fields.blocks as usize).map(<[u32]>::to_vec)
    }

    /// Asks for `keys` to be relocated. Of metadata, which is only read, as well.
    pub(super) fn ask(&mut self, cause: Cause, keys: Vec<u32>, space: &Space) {
        let most = (most_relocated(space) as usize).clamp(1, MOST_BATCH_BLOCKS);
        let parts = keys.chunks(most).map(|keys| Request { cause, keys: keys.to_vec() });
        self.waiting.extend(parts);
    }

    /// Sends the reads that can be sent now, and begins and ends batches.
    pub(in super::super) fn advance<P: Payload>(
        &mut self,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let is_full = loop {
            let read = self.advance_batches(cx);
            for slot in &read {
                let batch = self.batches.remove(*slot);
                self.make_dirty(batch, cx);
            }
            let begins = self.begin_batch(cx.space, cx.memory);
            if read.is_empty() && begins != Begins::Now {
                break begins == Begins::OnceThereIsRoom && cx.memory.dirty.relocated() > 0;
            }
        };
        cx.then(Next::AfterRelocation(is_full));
    }

    /// Begins the next batch, if there is one and room for it.
    fn begin_batch<P: Payload>(&mut self, space: &Space, memory: &Memory<P>) -> Begins {
        if self.batches.len() >= MOST_BATCHES {
            return Begins::Later;
        }
        if self.waiting.is_empty() {
            self.ask_for_cleaning(space);
        }
        let Some(request) = self.waiting.front() else { return Begins::Later };
        let blocks = request.keys.len() as u64;
        let busy = memory.dirty.relocated() + self.in_batches;
        let dirty = u64::from(memory.cache.dirty_blocks()) + self.in_batches;
        if busy > 0 && busy + blocks > most_relocated(space)
            || dirty + blocks > space.room_blocks / 2
        {
            return Begins::OnceThereIsRoom;
        }
        let Some(Request { cause, keys }) = self.waiting.pop_front() else {
            return Begins::Later;
        };
        self.in_batches += blocks;
        self.batches.insert(Batch { cause, keys, next: 0, awaited: 0, held: Vec::new() });
        Begins::Now
    }

    /// Goes on with the batches. Returns those that have all that they can have.
    fn advance_batches<P: Payload>(
        &mut self,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Vec<usize> {
        let slots: Vec<usize> = self.batches.iter().map(|(slot, _)| slot).collect();
        for slot in &slots {
            let most = self.config.reads_in_flight.max(1);
            let batch = &mut self.batches[*slot];
            while batch.next < batch.keys.len() {
                let key = batch.keys[batch.next];
                let Some(run) = next_run(batch, cx.space, cx.memory) else {
                    batch.next += 1;
                    continue;
                };
                let Some(run) = run else {
                    cx.memory.cache.hold(key);
                    batch.held.push(key);
                    batch.next += 1;
                    continue;
                };
                if self.reads_out >= most {
                    break;
                }
                let first = batch.next;
                batch.next += run.blocks as usize;
                batch.awaited += 1;
                self.reads_out += 1;
                *reads_of(cx.counters, batch.cause) += 1;
                let fields = TagFields {
                    owner: Owner::Relocation,
                    slot: *slot as u32,
                    first_key: first as u32,
                    blocks: run.blocks,
                    epoch_parity: cx.memory.reads.sent(),
                };
                cx.send_read(fields, run);
            }
        }
        slots.into_iter().filter(|slot| self.batches[*slot].is_read()).collect()
    }

    /// A read of a batch has completed; without a payload its blocks are gone, and are left out.
    pub(in super::super) fn on_read<P: Payload>(
        &mut self,
        fields: TagFields,
        payload: Option<&P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        self.reads_out -= 1;
        let batch = &mut self.batches[fields.slot as usize];
        assert!(batch.awaited > 0, "a read has completed that its batch did not wait for");
        batch.awaited -= 1;
        if let Some(payload) = payload {
            for block in 0..fields.blocks {
                let key = batch.keys[(fields.first_key + block) as usize];
                let one = payload.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
                cx.memory.fill(key, 1, &one, true, &cx.space.map, cx.counters);
                batch.held.push(key);
            }
        }
        self.advance(cx);
    }

    /// Makes what a batch holds dirty, and releases it.
    fn make_dirty<P: Payload>(&mut self, batch: Batch, cx: &mut Context<'_, P, impl Driver<P>>) {
        self.in_batches -= batch.keys.len() as u64;
        let data = cx.space.keys.data();
        for key in batch.held {
            let (dirty, dirty_blocks) = (cx.memory.dirty.blocks(), cx.memory.cache.dirty_blocks());
            if data.contains(&key)
                && cx.space.map.get(key).is_some()
                && may_relocate(key, cx.space, cx.memory)
                && cx.space.has_room(key..=key, dirty, dirty_blocks)
            {
                if cx.space.snapshots.is_some() {
                    cx.space.note_growth(key..=key, dirty);
                }
                let (_, evicted) = cx.memory.cache.write(key);
                cx.memory.forget(evicted, cx.counters);
                cx.memory.dirty.on_relocated(key);
                *blocks_of(cx.counters, batch.cause) += 1;
            }
            cx.memory.release(key, cx.counters);
        }
    }
}

/// Most blocks that may be dirty or held for the sake of relocation: half of what may be dirty, and of what there is
/// room for. The rest is the hosts'.
fn most_relocated(space: &Space) -> u64 {
    (u64::from(space.config.dirty_limit_blocks) / 2).min(space.room_blocks / 2)
}

/// The blocks of a batch, from the next on, that lie one behind another and are not in the cache; `Some(None)` if the
/// next one is there. `None` if it has no place, or gets a new one anyway.
fn next_run<P: Payload>(batch: &Batch, space: &Space, memory: &Memory<P>) -> Option<Option<Run>> {
    let keys = &batch.keys[batch.next..];
    let key = keys[0];
    let vbn = space.map.get(key).filter(|_| may_relocate(key, space, memory))?;
    if memory.cache.contains(key) {
        return Some(None);
    }
    let most = keys.len().min(COMMAND_BLOCKS as usize) as u32;
    Some(Some(space.longest_run(vbn, 0..most, |next, behind| {
        let key = keys[next as usize];
        space.map.get(key) == Some(behind)
            && !memory.cache.contains(key)
            && may_relocate(key, space, memory)
    })))
}

/// Whether it makes sense to read or move `key`: it is not dirty, and nobody has unmapped it.
fn may_relocate<P: Payload>(key: u32, space: &Space, memory: &Memory<P>) -> bool {
    key >= space.keys.data().end || !(memory.dirty.contains(key) || memory.dirty.is_unmapped(key))
}
