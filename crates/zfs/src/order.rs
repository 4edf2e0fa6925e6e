//! In which order the blocks of a transaction group get their places.
//!
//! OpenZFS issues the blocks of an object by indirect block, in the order in which they were written. Without the
//! allocation throttle they are placed in this order. With it (`zio_dva_throttle`, the default), only so many are under
//! way at once; the others wait sorted by number. Those under way first are placed as they come. Then each write that
//! completes takes the lowest of those that wait, and puts it at the front of a queue of work, from which threads take
//! the latest first (`zio_allocate_dispatch`). Neighbours on drives complete together, in waves. Of a wave, what a
//! thread takes before the next block comes is placed in ascending order, and the rest from the last to the first. How
//! long each wave is, and how much of it is taken at once, depends on timing: here it is drawn at random, the lengths
//! from those that were measured on slow drives (docs/zfs.md).

use strewn_base::Rng;
use strewn_base::state::SavedValue;

/// Waves of all writes that may be under way, in percent of all waves. The others have any length up to that.
const WHOLE_WAVES_PERCENT: u64 = 30;

/// Blocks that are placed in their order between two waves, at most.
const MOST_BETWEEN_WAVES: u64 = 3;

/// How blocks of a transaction group are ordered.
#[derive(Debug, Clone, SavedValue)]
pub struct AllocationOrder {
    /// Writes under way at once with the throttle; `None` without it.
    slots: Option<u32>,
    rng: Rng,
}

impl AllocationOrder {
    /// An order with a throttle of so many writes at once, or without, and the seed of what timing decides.
    #[must_use]
    pub fn new(slots: Option<u32>, seed: u64) -> Self {
        Self { slots: slots.map(|slots| slots.max(1)), rng: Rng::new(seed) }
    }

    /// Another number of writes may be under way, as the pool has more vdevs.
    pub(crate) fn set_slots(&mut self, slots: Option<u32>) {
        self.slots = slots.map(|slots| slots.max(1));
    }

    /// Puts `blocks`, which are in the order in which they were written, in the order in which they get their places.
    /// `pointers` is the number of blocks below an indirect block.
    pub fn apply(&mut self, blocks: &mut Vec<u32>, pointers: u32) {
        by_indirect_block(blocks, pointers);
        let Some(slots) = self.slots else { return };
        let mut waiting = blocks.split_off(blocks.len().min(slots as usize));
        waiting.sort_unstable();
        let mut waiting = &waiting[..];
        let mut front = Vec::new();
        while !waiting.is_empty() {
            let is_whole = self.rng.chance(WHOLE_WAVES_PERCENT, 100);
            let wave = if is_whole { slots } else { 1 + self.rng.below(slots.into()) as u32 };
            let taken_at_once_percent = if is_whole { 0 } else { self.rng.below(101) };
            let between = 1 + self.rng.below(MOST_BETWEEN_WAVES);
            let (queued, rest) = waiting.split_at(waiting.len().min(wave as usize));
            for block in queued {
                if self.rng.chance(taken_at_once_percent, 100) {
                    blocks.push(*block);
                } else {
                    front.push(*block);
                }
            }
            blocks.extend(front.drain(..).rev());
            let (ascending, rest) = rest.split_at(rest.len().min(between as usize));
            blocks.extend(ascending);
            waiting = rest;
        }
    }
}

/// Groups blocks by their indirect block, which come in the order of their first block.
fn by_indirect_block(blocks: &mut [u32], pointers: u32) {
    let Some(last) = blocks.iter().max() else { return };
    let mut first = vec![u32::MAX; (last / pointers + 1) as usize];
    for (position, block) in (0u32..).zip(&*blocks) {
        let of_indirect = &mut first[(block / pointers) as usize];
        *of_indirect = (*of_indirect).min(position);
    }
    blocks.sort_by_key(|block| first[(block / pointers) as usize]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_throttle_blocks_stay_in_the_order_of_their_writes() {
        let mut blocks = vec![9, 1_030, 3, 2_000, 1];
        AllocationOrder::new(None, 1).apply(&mut blocks, 1_024);
        assert_eq!(blocks, [9, 3, 1, 1_030, 2_000]);
    }

    #[test]
    fn with_it_each_is_placed_once_and_not_far_from_its_turn() {
        for seed in 0..100 {
            let mut blocks: Vec<u32> = (0..2_000).rev().collect();
            AllocationOrder::new(Some(32), seed).apply(&mut blocks, 1_024);
            let mut sorted = blocks.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, Vec::from_iter(0..2_000), "seed {seed}");
            let near = blocks[32..].iter().enumerate();
            let near = near.filter(|(at, block)| at.abs_diff(**block as usize) <= 64);
            assert!(near.count() > 1_000, "seed {seed}");
        }
    }
}
