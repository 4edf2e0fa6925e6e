//! In which order the blocks of a transaction group get their places.
//!
//! OpenZFS issues the blocks of an object by indirect block, in the order in which they were written. Without the
//! allocation throttle they are placed in this order. With it (`zio_dva_throttle`, the default), only so many are under
//! way at once; the others wait sorted by number. Those under way first are placed as they come. Then each write that
//! completes takes the lowest of those that wait, and puts it at the front of a queue of work, from which threads take
//! the latest first (`zio_allocate_dispatch`). Neighbours on drives complete together, in waves. Of a wave, what a
//! thread takes before the next block comes is placed in ascending order, and the rest from the last to the first. How
//! long each wave is, and how much of it is taken at once, depends on timing: here it is drawn at random, as it was
//! measured on two kinds of drives ([`Waves`]; docs/zfs.md).

use strewn_base::Rng;
use strewn_base::state::SavedValue;

/// How long waves are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, SavedValue)]
#[repr(u8)]
pub enum Waves {
    /// As on drives that follow a stream of writes without loss: 30 % of waves are of all writes that may be under way,
    /// and the others of any length up to that, of which any share is taken at once. Up to three blocks come between.
    #[default]
    Long,
    /// As on drives that take time for each command, 50 us or more: up to 12 blocks, half of them taken at once. One
    /// block comes between.
    Short,
}

/// The longest of [`Waves::Short`].
const LONGEST_SHORT_WAVE: u64 = 12;

impl Waves {
    /// Length of the next wave, percent of it that are taken at once, and blocks between it and the one after it.
    fn draw(self, slots: u32, rng: &mut Rng) -> (u64, u64, u64) {
        let slots = u64::from(slots);
        match self {
            Self::Long => {
                let is_whole = rng.chance(30, 100);
                let length = if is_whole { slots } else { 1 + rng.below(slots) };
                let at_once = if is_whole { 0 } else { rng.below(101) };
                (length, at_once, 1 + rng.below(3))
            }
            Self::Short => (1 + rng.below(slots.min(LONGEST_SHORT_WAVE)), 50, 1),
        }
    }
}

/// How blocks of a transaction group are ordered.
#[derive(Debug, Clone, SavedValue)]
pub struct AllocationOrder {
    /// Writes under way at once with the throttle; `None` without it.
    slots: Option<u32>,
    waves: Waves,
    rng: Rng,
}

impl AllocationOrder {
    /// An order with a throttle of so many writes at once, in long waves, or without, and the seed of what timing
    /// decides.
    #[must_use]
    pub fn new(slots: Option<u32>, seed: u64) -> Self {
        let slots = slots.map(|slots| slots.max(1));
        Self { slots, waves: Waves::Long, rng: Rng::new(seed) }
    }

    /// The same in other waves.
    #[must_use]
    pub fn with_waves(self, waves: Waves) -> Self {
        Self { waves, ..self }
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
            let (length, taken_at_once_percent, between) = self.waves.draw(slots, &mut self.rng);
            let (queued, rest) = waiting.split_at(waiting.len().min(length as usize));
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
