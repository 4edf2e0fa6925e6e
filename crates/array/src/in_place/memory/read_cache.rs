//! What a disk group has read and keeps: blocks read ahead of sequential streams, and with a read cache also those that
//! hosts have read.
//!
//! A block is here only as the spindles have it. Of the sectors that the write cache holds, the spindles have older
//! ones: their blocks are not read ahead, not kept, and dropped when they are written. What is written while it is on
//! its way is dropped as it comes.

use std::ops::Range;

use strewn_alloc::SummaryBitmap;
use strewn_base::BLOCK_SECTORS;

use crate::buffer_cache::{BufferCache, Evicted};
use crate::payload::{Contents, Payload};
use crate::read_ahead::{MOST_STREAMS, Waiters};

/// The blocks of a disk group that are kept or on their way. Blocks are numbered through the group, as its sectors are.
pub(crate) struct ReadCache<P: Payload> {
    blocks: BufferCache,
    contents: P::Contents,
    /// Whether what hosts have read is kept. If not, a block is dropped when a read has come to its end.
    keeps_reads: bool,
    on_their_way: SummaryBitmap,
    /// Those of them that have been written since.
    overwritten: SummaryBitmap,
    /// Reads that wait for blocks on their way.
    pub(crate) waiters: Waiters,
}

/// How a block can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Cached,
    OnItsWay,
    WriteCache,
    Spindle,
}

impl<P: Payload> ReadCache<P> {
    /// For a group of `group_sectors` with so many LUNs, whose streams are ahead by at most `window_sectors` each.
    /// `kept_sectors` is the size of the read cache, if there is one: what is read ahead is in it. Without one, there
    /// are buffers for what all streams read ahead. `None` if blocks of 4 KiB have no 32-bit numbers.
    pub(crate) fn new(
        group_sectors: u64,
        luns: usize,
        window_sectors: u64,
        kept_sectors: u64,
    ) -> Option<Self> {
        let blocks = group_sectors.div_ceil(BLOCK_SECTORS);
        let keys = u32::try_from(blocks).ok().filter(|keys| *keys < u32::MAX)?;
        let kept = kept_sectors / BLOCK_SECTORS;
        let buffers = match kept {
            // A stream has what it has been read ahead, and for a moment what it is being read.
            0 => 2 * (MOST_STREAMS * luns) as u64 * window_sectors.div_ceil(BLOCK_SECTORS),
            kept => kept,
        };
        let capacity = u32::try_from(buffers.clamp(1, blocks.max(1))).ok()?;
        let kept = kept.min(capacity.into());
        let mut cache = BufferCache::new(keys, capacity, (kept / 2) as u32);
        cache.read_ahead();
        Some(Self {
            blocks: cache,
            contents: P::Contents::default(),
            keeps_reads: kept > 0,
            on_their_way: SummaryBitmap::new(blocks),
            overwritten: SummaryBitmap::new(blocks),
            waiters: Waiters::default(),
        })
    }

    /// Whether a read can find anything.
    #[inline(always)]
    pub(crate) fn has_any(&self) -> bool {
        self.blocks.blocks() != 0 || !self.on_their_way.is_empty()
    }

    /// Whether blocks are on their way.
    pub(crate) fn is_reading(&self) -> bool {
        !self.on_their_way.is_empty()
    }

    pub(crate) fn keeps_reads(&self) -> bool {
        self.keeps_reads
    }

    /// Blocks that were read ahead and dropped without a use.
    pub(crate) fn dropped_unread(&self) -> u64 {
        self.blocks.dropped_unread()
    }

    pub(crate) fn source_of(&self, block: u32) -> Source {
        if self.blocks.contains(block) {
            Source::Cached
        } else if self.on_their_way.contains(block.into())
            && !self.overwritten.contains(block.into())
        {
            Source::OnItsWay
        } else {
            Source::Spindle
        }
    }

    /// Whether reading `block` ahead would bring something new.
    pub(crate) fn lacks(&self, block: u32) -> bool {
        !self.blocks.contains(block) && !self.on_their_way.contains(block.into())
    }

    /// `blocks` are being read ahead.
    pub(crate) fn on_reads_sent(&mut self, blocks: &Range<u32>) {
        self.on_their_way.insert_range(blocks.start.into()..blocks.end.into());
    }

    /// Block `block` is overwritten while it is on its way: what comes is old.
    pub(crate) fn on_overwritten(&mut self, block: u32) {
        self.overwritten.insert(block.into());
    }

    /// Block `block`, which is here, is read. Returns whether that is its first use since it was read ahead.
    pub(crate) fn use_block(&mut self, block: u32) -> bool {
        let is_first = self.blocks.use_unread(block);
        if !is_first && self.keeps_reads {
            self.blocks.touch(block);
        }
        is_first
    }

    /// Sectors that are here.
    pub(crate) fn load(&self, sectors: &Range<u64>) -> P {
        self.contents.load(sectors.start, (sectors.end - sectors.start) as u32)
    }

    /// A host has read `sectors` out of the cache: those of its blocks that it has read to the end make room, unless
    /// they are kept.
    pub(crate) fn on_host_read(&mut self, sectors: &Range<u64>) {
        if !self.keeps_reads {
            for block in sectors.start / BLOCK_SECTORS..sectors.end / BLOCK_SECTORS {
                self.discard(block as u32);
            }
        }
    }

    /// A block that was on its way has come, with `contents` unless it could not be read. Returns false if it is not
    /// wanted any more.
    pub(crate) fn on_block_read(&mut self, block: u32, contents: Option<&P>) -> bool {
        self.on_their_way.remove(block.into());
        let is_overwritten = self.overwritten.remove(block.into());
        let Some(contents) = contents.filter(|_| !is_overwritten) else {
            self.blocks.count_dropped_unread(1);
            return false;
        };
        self.insert(block, contents);
        self.blocks.mark_unread(block);
        true
    }

    /// Keeps a block that a host has read.
    pub(crate) fn keep(&mut self, block: u32, contents: &P) {
        // What is on its way would be put in a second time.
        if self.lacks(block) {
            self.insert(block, contents);
        }
    }

    fn insert(&mut self, block: u32, contents: &P) {
        if let Evicted(Some(evicted)) = self.blocks.insert(block) {
            self.contents.forget(first_sector(evicted), BLOCK_SECTORS as u32);
        }
        self.contents.store(first_sector(block), BLOCK_SECTORS as u32, contents);
    }

    /// `blocks` are written: what is here of them, or comes, is old.
    pub(crate) fn on_written(&mut self, blocks: Range<u64>) {
        let has_some_on_their_way = self.on_their_way.count_range(blocks.clone()) > 0;
        for block in blocks {
            self.discard(block as u32);
            if has_some_on_their_way && self.on_their_way.contains(block) {
                self.overwritten.insert(block);
            }
        }
    }

    fn discard(&mut self, block: u32) {
        if self.blocks.contains(block) && self.blocks.discard(block) {
            self.contents.forget(first_sector(block), BLOCK_SECTORS as u32);
        }
    }

    /// Drops all that is here.
    pub(crate) fn clear(&mut self) {
        for block in self.blocks.discard_clean() {
            self.contents.forget(first_sector(block), BLOCK_SECTORS as u32);
        }
    }

    pub(crate) fn assert_invariants(&self) {
        self.blocks.assert_invariants();
        let waits_for_nothing = self.on_their_way.is_empty() && !self.waiters.is_empty();
        assert!(!waits_for_nothing, "a read waits for blocks, and none is on its way");
    }
}

fn first_sector(block: u32) -> u64 {
    u64::from(block) * BLOCK_SECTORS
}

strewn_base::saved_state! {
    impl for ReadCache<()> {
        parts: blocks, on_their_way, overwritten;
        values: waiters;
        built: contents, keeps_reads;
    }
}
