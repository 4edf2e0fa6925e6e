//! The reads of an operation: what the cache lacks, one command for each run of blocks that lie one behind another.

use std::ops::Range;

use strewn_raid::Vbn;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::units::BLOCK_BYTES;

use super::super::context::Context;
use super::super::memory::Memory;
use super::super::space::{Run, Space};
use super::super::tag::{Owner, TagFields};
use super::Host;
use super::operations::lay_block_run;

impl<P: Payload> Host<P> {
    /// Reads those of `blocks` that are not in the cache, and returns the number of commands. Cached blocks are copied
    /// into the answer at once, before they can be evicted; without `answer`, they are held.
    #[inline(always)]
    pub(super) fn read_missing(
        &mut self,
        slot: u32,
        blocks: Range<u32>,
        answer: bool,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> u64 {
        let (mut block, mut commands) = (blocks.start, 0);
        while block < blocks.end {
            if self.look_up(block, cx) {
                if answer {
                    let part = cx.memory.load(block);
                    lay_block_run(&mut self.operations[slot as usize], block, 1, &part);
                } else {
                    cx.memory.cache.hold(block);
                }
                block += 1;
                continue;
            }
            let Some(run) = self.run_from(block, blocks.end, cx.space, cx.memory) else {
                match answer {
                    true => self.answer_zeros(slot, block),
                    false => cx.memory.fill_zeros(block, cx.counters),
                }
                block += 1;
                continue;
            };
            if answer && self.is_on_its_way(block) {
                self.wait_for_read_ahead(slot, block);
                block += 1;
                continue;
            }
            cx.counters.cache_lookups += u64::from(run.blocks - 1);
            if answer && let Some(read_gaps) = &mut self.read_gaps {
                read_gaps.note_run(block, run);
            } else {
                self.read_run(slot, block, run, cx);
                commands += 1;
            }
            block += run.blocks;
        }
        if answer && self.read_gaps.is_some() {
            commands += self.read_noted_runs(slot, cx);
        }
        commands
    }

    /// A block without a place reads as zeros, without a command.
    #[cold]
    pub(super) fn answer_zeros(&mut self, slot: u32, block: u32) {
        let zeros = P::from_bytes(vec![0; BLOCK_BYTES]);
        lay_block_run(&mut self.operations[slot as usize], block, 1, &zeros);
    }

    /// The longest run of consecutive blocks, neither cached nor being read ahead, that starts at `block`, ends before
    /// `end` and fits one command. `None` if `block` was never written, or has been unmapped.
    #[inline(always)]
    pub(super) fn run_from(
        &self,
        block: u32,
        end: u32,
        space: &Space,
        memory: &Memory<P>,
    ) -> Option<Run> {
        let vbn = space.map.get(block).filter(|_| !memory.dirty.is_unmapped(block))?;
        // As in `Space::longest_run`, whose closure would not be inlined here.
        let (mut run, most) = space.first_of_run(vbn, end - block);
        while run.blocks < most {
            let (next, behind) = (block + run.blocks, Vbn(vbn.0 + u64::from(run.blocks)));
            if space.map.get(next) != Some(behind)
                || memory.cache.contains(next)
                || self.is_on_its_way(next)
                || memory.dirty.is_unmapped(next)
            {
                break;
            }
            run.blocks += 1;
        }
        Some(run)
    }

    #[inline(always)]
    pub(super) fn look_up(&mut self, key: u32, cx: &mut Context<'_, P, impl Driver<P>>) -> bool {
        let is_unread = cx.memory.cache.use_unread(key);
        cx.counters.read_ahead_used += u64::from(is_unread);
        let hit = is_unread || cx.memory.cache.touch(key);
        cx.counters.cache_lookups += 1;
        cx.counters.cache_hits += u64::from(hit);
        hit
    }

    /// Reads a block of metadata that the operation in `slot` needs.
    #[inline(always)]
    pub(super) fn read_metadata(
        &mut self,
        slot: u32,
        key: u32,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(vbn) = cx.space.map.get(key) {
            self.read_run(slot, key, cx.space.run_at(vbn), cx);
        }
        cx.counters.metadata_reads += 1;
    }

    #[inline(always)]
    pub(super) fn read_run(
        &mut self,
        slot: u32,
        first_key: u32,
        run: Run,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let (blocks, epoch_parity) = (run.blocks, cx.memory.reads.sent());
        let fields =
            TagFields { owner: Owner::HostOperation, slot, first_key, blocks, epoch_parity };
        self.operations[slot as usize].awaited += 1;
        cx.send_read(fields, run);
    }

    /// The operation in `slot` waits for block `key`, which is being read ahead.
    #[cold]
    pub(super) fn wait_for_read_ahead(&mut self, slot: u32, key: u32) {
        let Some(read_ahead) = &mut self.read_ahead else { return };
        read_ahead.waiters.add(slot, key..key + 1);
        self.operations[slot as usize].awaited += 1;
    }
}
