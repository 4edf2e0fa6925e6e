//! The ARC: which blocks are in memory.
//!
//! `arc.c` of OpenZFS: `arc_access`, `arc_evict`, `arc_evict_adj`, `arc_evict_hdr`, with the balances that 2.2 brought.
//! A block used once is in the MRU list, one that is used again in the MFU list. A block that is evicted leaves its key
//! on a ghost list. An access to a ghost says that the list it was evicted from is too small, so that list's share of
//! the memory grows. Metadata and data have lists of their own, and a balance between them.
//!
//! Blocks and ghosts have one size here, that in memory. OpenZFS counts a ghost as its size before compression, and its
//! own headers as part of the cache.

mod blocks;
mod l2arc;

use strewn_base::state::SavedValue;

use blocks::{Blocks, Entry, IN_FLIGHT, INDIRECT, METADATA, PREFETCHED, State, UNFIT, earlier};
use l2arc::L2arc;
pub use l2arc::{Extent, Feed, L2arcOptions};

/// A block used again within this time of its last use has not become frequent (`ARC_MINTIME`).
const LEAST_FREQUENT_MS: u32 = 62;

/// Blocks that were prefetched, and indirect blocks, are not evicted within this time of their last use
/// (`arc_min_prefetch`).
const LEAST_LIFE_MS: u32 = 1_000;

/// What a ghost of metadata counts against one of data, in percent (`zfs_arc_meta_balance`).
const METADATA_BALANCE_PERCENT: u64 = 500;

/// A share of one, as `arc_meta`, `arc_pd` and `arc_pm` are counted.
const WHOLE: u64 = 1 << 32;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Data of a file or volume.
    Data,
    /// Metadata, but for indirect blocks.
    Metadata,
    /// An indirect block: metadata that is kept for at least a second.
    Indirect,
}

impl Kind {
    fn flags(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Metadata => METADATA,
            Self::Indirect => METADATA | INDIRECT,
        }
    }
}

/// A block, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// What the caller knows it by.
    pub key: u64,
    /// Bytes that it takes in memory.
    pub bytes: u32,
    /// What it holds.
    pub kind: Kind,
}

/// Why a block is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// It is needed now.
    Demand,
    /// It may be needed soon.
    Prefetch,
}

/// What an access finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The block is in memory.
    Hit,
    /// The block is being read.
    InFlight,
    /// The block has to be read. It was evicted lately.
    GhostHit,
    /// The block has to be read.
    Miss,
}

/// How much memory there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct ArcOptions {
    /// Bytes that eviction returns to (`arc_c`, which grows to `zfs_arc_max` as long as memory is not short).
    pub limit_bytes: u64,
    /// Bytes beyond the limit that start eviction (`zfs_max_recordsize`).
    pub overflow_bytes: u64,
}

impl ArcOptions {
    /// A limit, with OpenZFS's default of 16 MiB beyond it.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, overflow_bytes: 16 << 20 }
    }
}

/// Bytes in each state, of data or of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArcSizes {
    /// Dirty blocks.
    pub anonymous: u64,
    /// Blocks used once, and those being read.
    pub mru: u64,
    /// Blocks used more than once.
    pub mfu: u64,
    /// What was evicted from the MRU list.
    pub mru_ghost: u64,
    /// What was evicted from the MFU list.
    pub mfu_ghost: u64,
}

/// The balances, in parts of 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct ArcShares {
    /// Metadata's share of the limit (`arc_meta`).
    pub metadata: u64,
    /// The MRU list's share of data (`arc_pd`).
    pub mru_data: u64,
    /// The MRU list's share of metadata (`arc_pm`).
    pub mru_metadata: u64,
}

/// Bytes of the MRU and of the MFU ghosts: of data, then of metadata.
#[derive(Debug, Clone, Copy, Default, SavedValue)]
struct GhostBytes {
    mru: [u64; 2],
    mfu: [u64; 2],
}

impl GhostBytes {
    fn of(&mut self, ghost: State, is_metadata: bool) -> &mut u64 {
        let lists = if ghost == State::MruGhost { &mut self.mru } else { &mut self.mfu };
        &mut lists[usize::from(is_metadata)]
    }
}

/// The cache. It holds no contents: it says what would be in memory.
#[derive(Debug, Clone, SavedValue)]
pub struct Arc {
    options: ArcOptions,
    blocks: Blocks,
    shares: ArcShares,
    /// Ghosts accessed since shares were last adapted.
    ghost_hits: GhostBytes,
    /// How large ghost lists may be, as of the last eviction.
    ghost_targets: GhostBytes,
    /// When eviction last failed to make room. It is tried again a millisecond later.
    stalled_ms: Option<u32>,
    /// Whether it has evicted anything. In OpenZFS it is warm when memory was first short.
    is_warm: bool,
    /// What is on a cache device.
    l2arc: Option<Box<L2arc>>,
}

impl Arc {
    /// An empty cache.
    #[must_use]
    pub fn new(options: ArcOptions) -> Self {
        Self {
            options,
            blocks: Blocks::default(),
            shares: ArcShares { metadata: WHOLE / 4, mru_data: WHOLE / 2, mru_metadata: WHOLE / 2 },
            ghost_hits: GhostBytes::default(),
            ghost_targets: GhostBytes::default(),
            stalled_ms: None,
            is_warm: false,
            l2arc: None,
        }
    }

    /// Announces that `key` will be asked for.
    #[inline]
    pub fn announce(&self, key: u64) {
        self.blocks.announce(key);
    }

    /// Whether a block is in memory, without using it. One that is being read is not.
    #[must_use]
    pub fn contains(&self, key: u64) -> bool {
        self.blocks.find(key).is_some_and(|at| {
            let entry = &self.blocks[at];
            !entry.state.is_ghost() && !entry.is(IN_FLIGHT)
        })
    }

    /// Bytes in memory, what is dirty or being read included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks.resident_bytes()
    }

    /// Bytes in each state.
    #[must_use]
    pub fn sizes(&self, is_metadata: bool) -> ArcSizes {
        let bytes = |state| self.blocks.bytes(state, is_metadata);
        ArcSizes {
            anonymous: bytes(State::Anonymous),
            mru: bytes(State::Mru),
            mfu: bytes(State::Mfu),
            mru_ghost: bytes(State::MruGhost),
            mfu_ghost: bytes(State::MfuGhost),
        }
    }

    /// The balances.
    #[must_use]
    pub fn shares(&self) -> ArcShares {
        self.shares
    }

    /// Accesses a block. If it has to be read, it takes its room from now on, and cannot be evicted before
    /// [`on_read_done`](Self::on_read_done).
    ///
    /// A dirty block is a hit that changes nothing. A prefetch of a block in memory counts as a use, and the demand
    /// that follows it then does not.
    pub fn access(&mut self, now_ns: u64, block: Block, intent: Intent) -> Found {
        let now_ms = milliseconds(now_ns);
        let prefetched = if intent == Intent::Prefetch { PREFETCHED } else { 0 };
        let Some(at) = self.blocks.find(block.key) else {
            let flags = block.kind.flags() | prefetched | IN_FLIGHT;
            self.note_listed(block.key, true);
            self.blocks.add(Entry::new(block.key, block.bytes, State::Mru, flags, now_ms));
            self.make_room(now_ms);
            return Found::Miss;
        };
        let state = self.blocks[at].state;
        match state {
            State::Anonymous => Found::Hit,
            State::Mru | State::Mfu => self.use_resident(at, prefetched, now_ms),
            State::MruGhost | State::MfuGhost => {
                let Entry { bytes, .. } = self.blocks[at];
                let is_metadata = self.blocks[at].is(METADATA);
                *self.ghost_hits.of(state, is_metadata) += u64::from(bytes);
                let was_prefetched = self.blocks[at].is(PREFETCHED);
                let is_recent = state == State::MruGhost && was_prefetched;
                self.blocks.change(at, |entry| {
                    entry.state = if is_recent { State::Mru } else { State::Mfu };
                    entry.bytes = block.bytes;
                    entry.flags = entry.flags & !(PREFETCHED | UNFIT) | prefetched | IN_FLIGHT;
                    entry.accessed_ms = now_ms;
                });
                self.make_room(now_ms);
                Found::GhostHit
            }
        }
    }

    fn use_resident(&mut self, at: u32, prefetched: u8, now_ms: u32) -> Found {
        let entry = &mut self.blocks[at];
        let was_prefetched = entry.is(PREFETCHED);
        let in_flight = entry.is(IN_FLIGHT);
        entry.flags = entry.flags & !(PREFETCHED | UNFIT) | prefetched;
        // The prefetch has already counted this use.
        let may_promote = entry.state == State::Mru && !in_flight && !was_prefetched;
        let age_ms = now_ms.wrapping_sub(entry.accessed_ms);
        let promotes = may_promote && age_ms > LEAST_FREQUENT_MS;
        if promotes || !may_promote {
            entry.accessed_ms = now_ms;
        }
        if promotes {
            self.blocks.change(at, |entry| entry.state = State::Mfu);
        } else if prefetched == 0 && !in_flight {
            // Demand takes the block from its list while it copies the data. A prefetch does not.
            self.blocks.change(at, |_| ());
        }
        if in_flight { Found::InFlight } else { Found::Hit }
    }

    /// A block that was missed has been read. Ignored if it was dirtied meanwhile.
    pub fn on_read_done(&mut self, key: u64) {
        if let Some(at) = self.blocks.find(key)
            && self.blocks[at].is(IN_FLIGHT)
        {
            let is_unfit = self.blocks[at].is(PREFETCHED) && !self.caches_prefetched();
            let unfit = if is_unfit { UNFIT } else { 0 };
            self.blocks.change(at, |entry| entry.flags = entry.flags & !IN_FLIGHT | unfit);
        }
    }

    /// A transaction group has a new version of a block, which cannot be evicted before
    /// [`on_written`](Self::on_written). To be called once for each transaction group that the block is dirty in.
    ///
    /// The new version starts without a history: it is of no list, and the old one's ghost is forgotten.
    pub fn make_dirty(&mut self, now_ns: u64, block: Block) {
        let now_ms = milliseconds(now_ns);
        let flags = block.kind.flags();
        self.forget_on_device(block.key);
        match self.blocks.find(block.key) {
            Some(at) => self.blocks.change(at, |entry| {
                let others = if entry.state == State::Anonymous { entry.dirty } else { 0 };
                entry.state = State::Anonymous;
                entry.dirty = others + 1;
                entry.bytes = block.bytes;
                entry.flags = flags;
            }),
            None => {
                let mut entry = Entry::new(block.key, block.bytes, State::Anonymous, flags, now_ms);
                entry.dirty = 1;
                self.blocks.add(entry);
            }
        }
        self.make_room(now_ms);
    }

    /// A transaction group has written its version of a dirty block. If no other has one, the block is in the MRU list
    /// as after a first use. Ignored if the block was removed meanwhile.
    pub fn on_written(&mut self, now_ns: u64, key: u64) {
        let Some(at) = self.blocks.find(key) else { return };
        let entry = &mut self.blocks[at];
        if entry.state != State::Anonymous {
            return;
        }
        entry.dirty -= 1;
        if entry.dirty == 0 {
            self.blocks.change(at, |entry| {
                entry.state = State::Mru;
                entry.accessed_ms = milliseconds(now_ns);
            });
        }
    }

    /// A block was freed: it and its ghost are forgotten (`arc_freed`). One that is being read stays until it is
    /// evicted.
    pub fn remove(&mut self, key: u64) {
        self.forget_on_device(key);
        if let Some(at) = self.blocks.find(key)
            && !self.blocks[at].is(IN_FLIGHT)
        {
            self.blocks.remove(at);
        }
    }

    /// A block comes into a list, or leaves the last one.
    #[inline]
    fn note_listed(&mut self, key: u64, is_listed: bool) {
        if let Some(l2arc) = &mut self.l2arc {
            l2arc.note_listed(key, is_listed);
        }
    }

    /// Removes what is in a list.
    #[inline]
    fn remove_listed(&mut self, at: u32) {
        self.note_listed(self.blocks[at].key(), false);
        self.blocks.remove(at);
    }

    /// Forgets all blocks that are neither dirty nor being read, and all ghosts (`arc_flush`).
    pub fn forget_clean(&mut self) {
        for state in [State::Mru, State::Mfu, State::MruGhost, State::MfuGhost] {
            for is_metadata in [false, true] {
                while let Some(at) = self.blocks.oldest(state, is_metadata) {
                    self.remove_listed(at);
                }
            }
        }
    }

    /// Evicts if the cache is too large. Nothing but an access that brings a block in asks for it, as in OpenZFS.
    #[inline]
    fn make_room(&mut self, now_ms: u32) {
        let most = self.limit_bytes() + self.options.overflow_bytes;
        if self.blocks.resident_bytes() > most && self.stalled_ms != Some(now_ms) {
            self.evict(now_ms);
        }
    }

    #[cold]
    fn evict(&mut self, now_ms: u32) {
        self.is_warm = true;
        self.adapt();
        while self.evict_once(now_ms) > 0 && self.over() > 0 {}
        self.stalled_ms = (self.over() > 0).then_some(now_ms);
    }

    /// Bytes above the limit.
    fn over(&self) -> i64 {
        self.blocks.resident_bytes() as i64 - self.limit_bytes() as i64
    }

    /// What blocks may have: headers of those on a cache device take their part.
    #[inline]
    fn limit_bytes(&self) -> u64 {
        let headers = self.l2arc.as_ref().map_or(0, |l2arc| l2arc.header_bytes());
        self.options.limit_bytes.saturating_sub(headers)
    }

    /// Moves the shares toward the lists whose ghosts were accessed.
    fn adapt(&mut self) {
        let hits = std::mem::take(&mut self.ghost_hits);
        let ghosts = self.ghost_targets;
        let of =
            |kind: usize| (ghosts.mru[kind] + ghosts.mfu[kind], hits.mru[kind], hits.mfu[kind]);
        let (data, mru_data, mfu_data) = of(0);
        let (metadata, mru_metadata, mfu_metadata) = of(1);
        let ArcShares { metadata: share, mru_data: share_of_data, mru_metadata: share_of_metadata } =
            self.shares;
        let (up, down) = (mru_metadata + mfu_metadata, mru_data + mfu_data);
        self.shares = ArcShares {
            metadata: adapted(share, data + metadata, up, down, METADATA_BALANCE_PERCENT),
            mru_data: adapted(share_of_data, data, mru_data, mfu_data, 100),
            mru_metadata: adapted(share_of_metadata, metadata, mru_metadata, mfu_metadata, 100),
        };
    }

    /// Bytes of the MRU list and of dirty blocks, which count as its own.
    fn recent_bytes(&self, is_metadata: bool) -> u64 {
        let bytes = |state| self.blocks.bytes(state, is_metadata);
        bytes(State::Mru) + bytes(State::Anonymous)
    }

    fn resident_bytes(&self, is_metadata: bool) -> u64 {
        self.recent_bytes(is_metadata) + self.blocks.bytes(State::Mfu, is_metadata)
    }

    /// Evicts from each list what it has beyond its share, metadata first, and from frequent data what is left. Returns
    /// the bytes evicted.
    fn evict_once(&mut self, now_ms: u32) -> u64 {
        let limit = self.limit_bytes();
        let ArcShares { metadata, mru_data, mru_metadata } = self.shares;
        let before = self.blocks.resident_bytes();

        let target = share_of(share_of(limit, metadata), mru_metadata);
        let excess = self.recent_bytes(true) as i64 - target as i64;
        self.evict_from(State::Mru, true, excess.min(self.over()), now_ms);

        let excess = self.resident_bytes(true) as i64 - share_of(limit, metadata) as i64;
        self.evict_from(State::Mfu, true, excess.min(self.over()), now_ms);

        let target = share_of(limit.saturating_sub(self.resident_bytes(true)), mru_data);
        let excess = self.recent_bytes(false) as i64 - target as i64;
        self.evict_from(State::Mru, false, excess.min(self.over()), now_ms);

        self.evict_from(State::Mfu, false, self.over(), now_ms);

        self.forget_ghosts(now_ms);
        before - self.blocks.resident_bytes()
    }

    /// A ghost list says what its list could become by taking from the three others: it may be half as large as they
    /// are.
    fn forget_ghosts(&mut self, now_ms: u32) {
        let all = self.blocks.resident_bytes();
        for is_metadata in [false, true] {
            let frequent = self.blocks.bytes(State::Mfu, is_metadata);
            let lists =
                [(State::MruGhost, self.recent_bytes(is_metadata)), (State::MfuGhost, frequent)];
            for (ghost, own) in lists {
                let target = (all - own) / 2;
                *self.ghost_targets.of(ghost, is_metadata) = target;
                let excess = self.blocks.bytes(ghost, is_metadata) as i64 - target as i64;
                self.evict_from(ghost, is_metadata, excess, now_ms);
            }
        }
    }

    /// Evicts at least so many bytes from the old end of a list, if it has them.
    fn evict_from(&mut self, state: State, is_metadata: bool, bytes: i64, now_ms: u32) {
        let is_young = |accessed_ms: u32| now_ms.wrapping_sub(accessed_ms) < LEAST_LIFE_MS;
        // A list of young indirect blocks is not gone through again for each block that comes.
        if self.blocks.spared_since_ms(state, is_metadata).is_some_and(is_young) {
            return;
        }
        let mut spared_since_ms: Option<u32> = None;
        let listed = self.blocks.listed_bytes(state, is_metadata);
        let mut left = bytes.min(listed as i64);
        let mut next = self.blocks.oldest(state, is_metadata);
        while left > 0
            && let Some(at) = next
        {
            next = self.blocks.newer(at);
            if let Some(next) = next {
                self.blocks.announce_entry(next);
            }
            let entry = &self.blocks[at];
            let accessed_ms = entry.accessed_ms;
            let evicted = i64::from(entry.bytes);
            if state.is_ghost() {
                self.remove_listed(at);
            } else if entry.is(PREFETCHED | INDIRECT) && is_young(accessed_ms) {
                let since_ms = spared_since_ms.unwrap_or(accessed_ms);
                spared_since_ms = Some(earlier(since_ms, accessed_ms));
                continue;
            } else {
                self.blocks.change(at, |entry| entry.state = entry.state.ghost());
            }
            left -= evicted;
        }
        if next.is_none() {
            self.blocks.note_spared(state, is_metadata, spared_since_ms);
        }
    }
}

/// The clock of the cache, which comes round after 49 days.
#[inline]
fn milliseconds(now_ns: u64) -> u32 {
    (now_ns / 1_000_000) as u32
}

fn share_of(bytes: u64, share: u64) -> u64 {
    ((u128::from(bytes) * u128::from(share)) >> 32) as u64
}

/// A share after ghosts of `up` and of `down` bytes were accessed, which say that it is too small and too large
/// (`arc_evict_adj`). `ghosts` is the size of the ghost lists, which would move it from one end to the other.
fn adapted(share: u64, ghosts: u64, up: u64, down: u64, balance_percent: u64) -> u64 {
    if ghosts < 32 || up + down == 0 {
        return share;
    }
    // All at once moves it by a 32nd, or what is below a 16th.
    let slowdown = if up + down < ghosts / 16 { 1 } else { (up + down) / (ghosts / 32) };
    let rest = WHOLE - share;
    // The closer it is to one end, the slower it gets closer.
    let braked = |bytes: u64, ahead: u64, behind: u64| {
        if behind < 4 * ahead { bytes } else { bytes / (behind / (2 * ahead + 1)) }
    };
    let part = |bytes: u64| ((u128::from(bytes) << 32) / u128::from(ghosts)) as u64;
    let up = part(braked(up / slowdown, rest, share));
    let down = part(braked(down / slowdown, share, rest)) * 100 / balance_percent;
    (share + up).saturating_sub(down).min(WHOLE)
}

#[cfg(test)]
mod tests;
