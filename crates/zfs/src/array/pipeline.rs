//! Threads that blocks pass on their way to drives' queues and back.
//!
//! `zio.c` of OpenZFS: `zio_taskqs`, `zio_dva_allocate`, `zio_interrupt`; `dmu_zfetch_run` for reads. A thread takes
//! one block after the other, so blocks come to the queues one by one. A drive that is idle gets the first alone,
//! which it would get with others if they came at once.

use std::collections::VecDeque;

use strewn_array::Driver;
use strewn_base::state::SavedValue;

use super::ZfsArray;
use super::drives::{BlockIo, Purpose};
use super::host::Fetch;
use crate::block::BlockWrite;

/// Blocks that wait for a thread, each with the time when it is done with it.
#[derive(Debug, Clone, SavedValue)]
struct Thread<T> {
    blocks: VecDeque<(u64, T)>,
    free_ns: u64,
}

impl<T> Thread<T> {
    const fn new() -> Self {
        Self { blocks: VecDeque::new(), free_ns: 0 }
    }

    fn push(&mut self, now_ns: u64, cost_ns: u64, block: T) {
        self.free_ns = self.free_ns.max(now_ns) + cost_ns;
        self.blocks.push_back((self.free_ns, block));
    }

    fn next_ns(&self) -> Option<u64> {
        self.blocks.front().map(|(at_ns, _)| *at_ns)
    }

    fn take(&mut self, now_ns: u64) -> Option<T> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        self.blocks.pop_front().map(|(_, block)| block)
    }
}

/// The threads of a pool.
#[derive(Debug, Clone, SavedValue)]
pub struct Pipeline {
    reads: Thread<Fetch>,
    issue: Thread<BlockWrite>,
    completion: Thread<BlockIo>,
}

impl Pipeline {
    pub fn new() -> Self {
        Self { reads: Thread::new(), issue: Thread::new(), completion: Thread::new() }
    }

    /// When a thread is done with a block next.
    pub fn next_ns(&self) -> Option<u64> {
        let Self { reads, issue, completion } = self;
        [reads.next_ns(), issue.next_ns(), completion.next_ns()].into_iter().flatten().min()
    }

    /// A block that is written in full, and has passed its thread.
    pub fn next_done(&mut self, now_ns: u64) -> Option<BlockIo> {
        self.completion.take(now_ns)
    }
}

impl ZfsArray {
    /// Gives a block to its drives' queues, or to the thread that does so.
    pub(super) fn issue_block(
        &mut self,
        now_ns: u64,
        write: BlockWrite,
        driver: &mut impl Driver<()>,
    ) {
        match self.config.pipeline.issue_ns {
            0 => self.queue_block(now_ns, write, driver),
            cost_ns => self.pipeline.issue.push(now_ns, cost_ns, write),
        }
    }

    /// Asks drives for a block, or the thread that does so.
    pub(super) fn read_from_pool(
        &mut self,
        now_ns: u64,
        fetch: Fetch,
        driver: &mut impl Driver<()>,
    ) {
        match self.config.pipeline.read_ns {
            0 => self.queue_read(now_ns, fetch, driver),
            cost_ns => self.pipeline.reads.push(now_ns, cost_ns, fetch),
        }
    }

    /// Gives drives' queues the blocks that the threads are done with.
    pub(super) fn go_on_issuing(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        while let Some(fetch) = self.pipeline.reads.take(now_ns) {
            self.queue_read(now_ns, fetch, driver);
        }
        while let Some(write) = self.pipeline.issue.take(now_ns) {
            self.queue_block(now_ns, write, driver);
        }
    }

    /// All drives are done with a block. Returns it if it costs nothing more.
    pub(super) fn complete_block(&mut self, now_ns: u64, io: BlockIo) -> Option<BlockIo> {
        match self.config.pipeline.completion_ns {
            cost_ns if cost_ns > 0 && io.purpose == Purpose::Sync => {
                self.pipeline.completion.push(now_ns, cost_ns, io);
                None
            }
            _ => Some(io),
        }
    }
}
