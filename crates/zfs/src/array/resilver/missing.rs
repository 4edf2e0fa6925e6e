//! What a new drive does not hold yet.

use strewn_base::state::SavedValue;

/// A block that a scan has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, SavedValue)]
pub(super) struct ListedBlock {
    /// In its vdev.
    pub(super) offset: u64,
    /// What finds it again: its `BlockKey`.
    pub(super) key: u64,
}

/// The blocks that a new drive lacked when it came, in the order of their places, and what has become of them.
#[derive(Debug, Clone, SavedValue)]
pub struct MissingBlocks {
    /// Tells the drive from one before it in the same place.
    pub(super) serial: u32,
    pub(super) blocks: Vec<ListedBlock>,
    /// Whether the drive is trusted for nothing before all is there, not even for what was written since: a distributed
    /// spare while it is rebuilt (`vdev_draid_missing`).
    is_hidden: bool,
    resilvered: Vec<u64>,
    /// Places that have another block now.
    replaced: Vec<u64>,
    /// Blocks that are resilvered or need not be.
    pub(super) done: u64,
}

impl MissingBlocks {
    pub(super) fn new(serial: u32, blocks: Vec<ListedBlock>, is_hidden: bool) -> Self {
        let none = vec![0; blocks.len().div_ceil(64)];
        Self { serial, is_hidden, resilvered: none.clone(), replaced: none, blocks, done: 0 }
    }

    fn position(&self, offset: u64) -> Option<usize> {
        self.blocks.binary_search_by_key(&offset, |block| block.offset).ok()
    }

    /// Whether the drive holds a block: one that was written since it came or, if those are trusted, is resilvered.
    pub fn holds(&self, offset: u64, trusts_resilvered: bool) -> bool {
        let is_there =
            |at| self.is_replaced(at) || trusts_resilvered && is_set(&self.resilvered, at);
        (trusts_resilvered || !self.is_hidden) && self.position(offset).is_none_or(is_there)
    }

    /// Whether the block's place has another one now.
    pub(super) fn is_replaced(&self, at: usize) -> bool {
        is_set(&self.replaced, at)
    }

    /// Another block gets this place.
    pub fn on_placed(&mut self, offset: u64) {
        if let Some(at) = self.position(offset) {
            set(&mut self.replaced, at);
        }
    }

    pub(super) fn on_resilvered(&mut self, at: usize) {
        set(&mut self.resilvered, at);
        self.done += 1;
    }

    /// The scan begins again. What it has written stays.
    pub(super) fn begin_again(&mut self) {
        self.done = 0;
    }
}

fn is_set(bits: &[u64], at: usize) -> bool {
    bits[at / 64] & (1 << (at % 64)) != 0
}

fn set(bits: &mut [u64], at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}
