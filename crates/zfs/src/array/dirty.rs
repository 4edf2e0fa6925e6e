//! Blocks that hosts have written, and no transaction group yet has.

use strewn_base::memory;
use strewn_base::state::SavedValue;

/// Dirty blocks of one volume in one transaction group.
#[derive(Debug, Clone, SavedValue)]
pub struct DirtyBlocks {
    is_dirty: Vec<u64>,
    in_order: Vec<u32>,
}

impl DirtyBlocks {
    /// None of so many.
    pub fn new(blocks: u32) -> Self {
        Self { is_dirty: memory::zeroed_words(blocks.div_ceil(64) as usize), in_order: Vec::new() }
    }

    /// Announces that it will be asked for.
    #[inline]
    pub fn announce(&self, block: u32) {
        memory::prefetch(&self.is_dirty, (block / 64) as usize);
    }

    /// Whether a block is dirty.
    #[inline]
    pub fn contains(&self, block: u32) -> bool {
        self.is_dirty[(block / 64) as usize] & (1 << (block % 64)) != 0
    }

    /// Makes a block dirty. Returns whether it was not.
    #[inline]
    pub fn insert(&mut self, block: u32) -> bool {
        let is_new = !self.contains(block);
        if is_new {
            self.is_dirty[(block / 64) as usize] |= 1 << (block % 64);
            self.in_order.push(block);
        }
        is_new
    }

    /// Makes a block clean, which is taken.
    pub fn remove(&mut self, block: u32) {
        self.is_dirty[(block / 64) as usize] &= !(1 << (block % 64));
    }

    /// Takes all, in the order in which they were first written. They stay dirty.
    pub fn take(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.in_order)
    }
}
