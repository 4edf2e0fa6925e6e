//! The blocks and ghosts of the cache by key, and the lists that they are in.

use std::ops::{Index, IndexMut};

use strewn_base::memory;
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};

/// No entry.
const NONE: u32 = u32::MAX;

/// Entries that there is room for at first.
const LEAST_ENTRIES: usize = 1 << 10;

/// The block is metadata.
pub(super) const METADATA: u8 = 1;
/// The block is an indirect block.
pub(super) const INDIRECT: u8 = 2;
/// The last access to the block was a prefetch.
pub(super) const PREFETCHED: u8 = 4;
/// The block is being read, and in no list.
pub(super) const IN_FLIGHT: u8 = 8;
/// The block was read by a prefetch and not used since, so that no cache device gets it.
pub(super) const UNFIT: u8 = 16;

/// What has become of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
#[repr(u8)]
pub(super) enum State {
    /// Dirty, and in no list.
    Anonymous,
    /// Used once.
    Mru,
    /// Used more than once.
    Mfu,
    /// Evicted after one use.
    MruGhost,
    /// Evicted after more than one use.
    MfuGhost,
}

impl State {
    const COUNT: usize = 5;

    #[inline]
    pub(super) fn is_ghost(self) -> bool {
        matches!(self, Self::MruGhost | Self::MfuGhost)
    }

    /// What a block in this list becomes as it is evicted.
    pub(super) fn ghost(self) -> Self {
        if self == Self::Mru { Self::MruGhost } else { Self::MfuGhost }
    }
}

/// A block or ghost: 32 bytes, two of them in a cache line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    key: u64,
    pub(super) bytes: u32,
    /// Milliseconds of the last access.
    pub(super) accessed_ms: u32,
    newer: u32,
    older: u32,
    /// The next of the same chain, or the next that is unused.
    chained: u32,
    /// Transaction groups that the block is dirty in.
    pub(super) dirty: u16,
    pub(super) state: State,
    pub(super) flags: u8,
}

const _: () = assert!(size_of::<Entry>() == 32);

const BLANK: Entry = Entry::new(0, 0, State::Anonymous, 0, 0);

impl Entry {
    pub(super) const fn new(
        key: u64,
        bytes: u32,
        state: State,
        flags: u8,
        accessed_ms: u32,
    ) -> Self {
        let (newer, older, chained) = (NONE, NONE, NONE);
        Self { key, bytes, accessed_ms, newer, older, chained, dirty: 0, state, flags }
    }

    #[inline]
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// Whether it has any of the flags.
    #[inline]
    pub(super) fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    #[inline]
    fn list(&self) -> usize {
        list_of(self.state, self.is(METADATA))
    }

    /// Whether it is in a list, and not only counted with it.
    #[inline]
    fn is_listed(&self) -> bool {
        self.state != State::Anonymous && !self.is(IN_FLIGHT)
    }
}

#[inline]
fn list_of(state: State, is_metadata: bool) -> usize {
    2 * state as usize + usize::from(is_metadata)
}

/// A list, doubly linked through its entries.
#[derive(Debug, Clone, Copy)]
struct List {
    newest: u32,
    oldest: u32,
    /// Bytes in this state.
    bytes: u64,
    /// Those of entries in the list.
    listed_bytes: u64,
    /// Entries here are all prefetched or indirect blocks, accessed then or later; `None` if that is not known.
    spared_since_ms: Option<u32>,
}

const EMPTY: List =
    List { newest: NONE, oldest: NONE, bytes: 0, listed_bytes: 0, spared_since_ms: None };

/// All blocks and ghosts.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// A power of two of them, used or not.
    entries: Vec<Entry>,
    /// The first entry of each chain: as many chains as entries, so that a chain has one or fewer on average.
    chains: Vec<u32>,
    /// Entries that have ever been used: the first ones.
    touched: usize,
    /// The first of these that is no longer used.
    unused: u32,
    /// Entries in use.
    count: usize,
    lists: [List; 2 * State::COUNT],
    resident_bytes: u64,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            entries: memory::filled(BLANK, LEAST_ENTRIES),
            chains: memory::filled(NONE, LEAST_ENTRIES),
            touched: 0,
            unused: NONE,
            count: 0,
            lists: [EMPTY; 2 * State::COUNT],
            resident_bytes: 0,
        }
    }
}

impl Index<u32> for Blocks {
    type Output = Entry;

    #[inline]
    fn index(&self, at: u32) -> &Entry {
        &self.entries[at as usize]
    }
}

/// For fields that decide neither the list of an entry nor its size.
impl IndexMut<u32> for Blocks {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut Entry {
        &mut self.entries[at as usize]
    }
}

impl Blocks {
    /// Fibonacci hashing.
    #[inline]
    fn chain_of(&self, key: u64) -> usize {
        let bits = self.chains.len().trailing_zeros();
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    #[inline]
    pub(super) fn announce(&self, key: u64) {
        memory::prefetch(&self.chains, self.chain_of(key));
    }

    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let mut at = self.chains[self.chain_of(key)];
        while at != NONE {
            let entry = &self[at];
            if entry.key == key {
                return Some(at);
            }
            at = entry.chained;
        }
        None
    }

    /// Bytes of blocks, ghosts excluded.
    #[inline]
    pub(super) fn resident_bytes(&self) -> u64 {
        self.resident_bytes
    }

    /// Bytes in a state.
    pub(super) fn bytes(&self, state: State, is_metadata: bool) -> u64 {
        self.lists[list_of(state, is_metadata)].bytes
    }

    /// Bytes in a list.
    pub(super) fn listed_bytes(&self, state: State, is_metadata: bool) -> u64 {
        self.lists[list_of(state, is_metadata)].listed_bytes
    }

    /// Since when entries of a list were accessed that are all prefetched or indirect blocks, if that is known.
    pub(super) fn spared_since_ms(&self, state: State, is_metadata: bool) -> Option<u32> {
        self.lists[list_of(state, is_metadata)].spared_since_ms
    }

    /// Notes that entries of a list are all prefetched or indirect blocks, accessed at `since_ms` or later.
    pub(super) fn note_spared(&mut self, state: State, is_metadata: bool, since_ms: Option<u32>) {
        self.lists[list_of(state, is_metadata)].spared_since_ms = since_ms;
    }

    pub(super) fn oldest(&self, state: State, is_metadata: bool) -> Option<u32> {
        some(self.lists[list_of(state, is_metadata)].oldest)
    }

    pub(super) fn newest(&self, state: State, is_metadata: bool) -> Option<u32> {
        some(self.lists[list_of(state, is_metadata)].newest)
    }

    pub(super) fn newer(&self, at: u32) -> Option<u32> {
        some(self[at].newer)
    }

    pub(super) fn older(&self, at: u32) -> Option<u32> {
        some(self[at].older)
    }

    /// Announces that an entry will be looked at.
    #[inline]
    pub(super) fn announce_entry(&self, at: u32) {
        memory::prefetch(&self.entries, at as usize);
    }

    /// Adds an entry whose key is new, as the newest of its list.
    pub(super) fn add(&mut self, entry: Entry) {
        if self.count == self.entries.len() {
            self.double();
        }
        let chain = self.chain_of(entry.key);
        let entry = Entry { chained: self.chains[chain], ..entry };
        let at = match some(self.unused) {
            Some(at) => {
                self.unused = self[at].chained;
                at
            }
            None => {
                self.touched += 1;
                (self.touched - 1) as u32
            }
        };
        self[at] = entry;
        self.chains[chain] = at;
        self.count += 1;
        self.enter(at);
    }

    pub(super) fn remove(&mut self, at: u32) {
        self.leave(at);
        let (chain, after) = (self.chain_of(self[at].key), self[at].chained);
        if self.chains[chain] == at {
            self.chains[chain] = after;
        } else {
            let mut before = self.chains[chain];
            while self[before].chained != at {
                before = self[before].chained;
            }
            self[before].chained = after;
        }
        self[at].chained = self.unused;
        self.unused = at;
        self.count -= 1;
    }

    /// Changes an entry, which is the newest of its list then.
    #[inline]
    pub(super) fn change(&mut self, at: u32, change: impl FnOnce(&mut Entry)) {
        self.leave(at);
        change(&mut self[at]);
        self.enter(at);
    }

    #[inline]
    fn enter(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        let list = &mut self.lists[entry.list()];
        let bytes = u64::from(entry.bytes);
        list.bytes += bytes;
        if !entry.state.is_ghost() {
            self.resident_bytes += bytes;
        }
        if !entry.is_listed() {
            return;
        }
        list.listed_bytes += bytes;
        if let Some(since_ms) = list.spared_since_ms {
            let is_spared = entry.is(PREFETCHED | INDIRECT);
            list.spared_since_ms = is_spared.then(|| earlier(since_ms, entry.accessed_ms));
        }
        (entry.newer, entry.older) = (NONE, list.newest);
        match some(list.newest) {
            Some(newest) => self.entries[newest as usize].newer = at,
            None => list.oldest = at,
        }
        list.newest = at;
    }

    #[inline]
    fn leave(&mut self, at: u32) {
        let entry = &self.entries[at as usize];
        let list = &mut self.lists[entry.list()];
        let bytes = u64::from(entry.bytes);
        list.bytes -= bytes;
        if !entry.state.is_ghost() {
            self.resident_bytes -= bytes;
        }
        if !entry.is_listed() {
            return;
        }
        list.listed_bytes -= bytes;
        let (newer, older) = (entry.newer, entry.older);
        match some(newer) {
            Some(newer) => self.entries[newer as usize].older = older,
            None => list.newest = older,
        }
        match some(older) {
            Some(older) => self.entries[older as usize].newer = newer,
            None => list.oldest = newer,
        }
    }

    #[cold]
    fn double(&mut self) {
        let room = 2 * self.entries.len();
        let old = std::mem::replace(&mut self.entries, memory::filled(BLANK, room));
        self.entries[..old.len()].copy_from_slice(&old);
        self.chains = memory::filled(NONE, room);
        // All are in use.
        for at in 0..self.count as u32 {
            let chain = self.chain_of(self[at].key);
            self[at].chained = self.chains[chain];
            self.chains[chain] = at;
        }
    }

    /// The entries of a list, the oldest first.
    fn list(&self, list: &List) -> impl Iterator<Item = &Entry> {
        std::iter::successors(some(list.oldest), |at| self.newer(*at)).map(|at| &self[at])
    }

    /// Keys in a list, the oldest first.
    #[cfg(test)]
    pub(super) fn keys(&self, state: State, is_metadata: bool) -> Vec<u64> {
        let list = &self.lists[list_of(state, is_metadata)];
        self.list(list).map(|entry| entry.key).collect()
    }

    /// Those in no list, by key.
    fn unlisted(&self) -> Vec<&Entry> {
        let chains = self.chains.iter().flat_map(|first| {
            std::iter::successors(some(*first), |at| some(self[*at].chained)).map(|at| &self[at])
        });
        let mut unlisted: Vec<&Entry> = chains.filter(|entry| !entry.is_listed()).collect();
        unlisted.sort_unstable_by_key(|entry| entry.key);
        unlisted
    }
}

/// The earlier of two times on a clock that comes round.
#[inline]
pub(super) fn earlier(one_ms: u32, other_ms: u32) -> u32 {
    if (other_ms.wrapping_sub(one_ms) as i32) < 0 { other_ms } else { one_ms }
}

#[inline]
fn some(at: u32) -> Option<u32> {
    (at != NONE).then_some(at)
}

/// As the entries of each list in their order, then those in no list: where they lie changes nothing.
impl SavedValue for Blocks {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.count)?;
        let listed = self.lists.iter().flat_map(|list| self.list(list));
        listed.chain(self.unlisted()).try_for_each(|entry| {
            let Entry { key, bytes, accessed_ms, dirty, state, flags, .. } = entry;
            to.value(key)?;
            to.value(&(*bytes, *accessed_ms, *dirty, *flags))?;
            to.value(state)
        })
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let mut blocks = Self::default();
        let count: usize = from.value()?;
        for _ in 0..count {
            let key = from.value()?;
            let (bytes, accessed_ms, dirty, flags) = from.value()?;
            let state = from.value()?;
            if blocks.find(key).is_some() || (state == State::Anonymous) != (dirty > 0) {
                return Err(StateError::inconsistent(format!("block {key} cannot be in the ARC")));
            }
            blocks.add(Entry { dirty, ..Entry::new(key, bytes, state, flags, accessed_ms) });
        }
        Ok(blocks)
    }
}
