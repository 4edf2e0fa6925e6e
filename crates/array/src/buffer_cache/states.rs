//! The states of blocks, by key.

use strewn_base::memory::{prefetch, zeroed_numbers};

/// The state of a block that is not here.
pub(super) const ABSENT: u16 = 0;

/// Bits of a state that say where a block's last use is.
pub(super) const PLACE_BITS: u32 = 14;

/// States that are looked at together.
const CHUNK: usize = 64;

/// A state for each key. The blocks of an operation, which come and go together, have theirs in one or two cache lines.
/// They take no memory before a block comes.
#[derive(Debug)]
pub(super) struct States {
    /// By key; none before a block comes.
    states: Vec<u16>,
    keys: u32,
}

impl States {
    /// All blocks with keys below `keys` are absent.
    pub(super) fn new(keys: u32) -> Self {
        Self { states: Vec::new(), keys }
    }

    /// Number of keys.
    pub(super) fn keys(&self) -> u32 {
        self.keys
    }

    /// Announces that a state will be looked up.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: u32) {
        prefetch(&self.states, key as usize);
    }

    #[inline(always)]
    pub(super) fn get(&self, key: u32) -> u16 {
        self.states.get(key as usize).copied().unwrap_or(ABSENT)
    }

    /// A block comes, whose state is not [`ABSENT`] from now on.
    #[inline(always)]
    pub(super) fn of_new(&mut self, key: u32) -> &mut u16 {
        if self.states.is_empty() {
            self.states = zeroed_numbers(self.keys as usize);
        }
        self.of(key)
    }

    /// The state of a block that is here or comes.
    #[inline(always)]
    pub(super) fn of(&mut self, key: u32) -> &mut u16 {
        &mut self.states[key as usize]
    }

    /// A block that was here is not any more.
    #[inline(always)]
    pub(super) fn clear(&mut self, key: u32) {
        *self.of(key) = ABSENT;
    }

    /// The states that are not [`ABSENT`], in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u16)> {
        let is_empty = |chunk: &[u16]| chunk.iter().fold(0, |all, state| all | state) == ABSENT;
        let chunks = self.states.chunks(CHUNK).zip((0_u32..).step_by(CHUNK));
        let chunks = chunks.filter(move |(chunk, _)| !is_empty(chunk));
        let states = chunks.flat_map(|(chunk, first)| (first..).zip(chunk.iter().copied()));
        states.filter(|(_, state)| *state != ABSENT)
    }
}
