//! A metaslab: a part of a top-level vdev with its own free space, from which blocks are allocated one behind the
//! other.
//!
//! `metaslab.c` of OpenZFS: `metaslab_df_alloc`, `metaslab_block_picker`, `metaslab_sync`, `metaslab_sync_done`,
//! `metaslab_segment_weight`. All metaslabs that have been written are loaded here: a pool that unloads them knows its
//! free segments less well until it loads them again.

use strewn_base::state::SavedValue;

use crate::autotrim::Ranges;
use crate::fragmentation::{Histogram, Version};
use crate::free_segments::FreeSegments;

/// Transaction groups after which a freed block may be allocated (`TXG_DEFER_SIZE`).
const DEFERRED: usize = 2;

/// Below this largest segment (`metaslab_df_alloc_threshold`), in bytes, or
const LEAST_FOR_FIRST_FIT: u64 = 128 << 10;

/// this share of free space in percent (`metaslab_df_free_pct`), blocks go where they fit best.
const LEAST_FREE_FOR_FIRST_FIT: u64 = 4;

/// An active metaslab stays so until its largest segments are so many powers of two smaller
/// (`zfs_metaslab_switch_threshold`).
const SWITCH_THRESHOLD: u8 = 2;

/// How much a metaslab is worth: the binary logarithm of its largest segments, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, SavedValue)]
pub struct Weight {
    /// Whether it was activated for a third copy, which no other rank keeps (`METASLAB_WEIGHT_CLAIM`).
    pub claimed: bool,
    /// Binary logarithm of the sectors of the largest free segments.
    pub log: u8,
    /// How many of them there are; 0 for a metaslab without free space.
    pub segments: u32,
}

/// What an active metaslab is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, SavedValue)]
pub enum Rank {
    /// First copies go here.
    Primary,
    /// Second copies on the same vdev go here.
    Secondary,
}

/// Freed sectors: start and number.
type Freed = Vec<(u32, u32)>;

/// A metaslab. Sectors are relative to its start.
#[derive(Debug, Clone, SavedValue)]
pub struct Metaslab {
    ashift: u8,
    /// The first that may be allocated.
    first: u32,
    sectors: u32,
    free: FreeSegments,
    /// Freed in the sync pass.
    freeing: Freed,
    /// Freed in earlier passes of the transaction group.
    freed: Freed,
    /// How many sectors they are.
    freed_sectors: u32,
    /// Freed before, by the parity of their transaction group.
    deferred: [Freed; DEFERRED],
    /// How many sectors they are.
    deferred_sectors: [u32; DEFERRED],
    /// In use as of the last sync pass that had a part here.
    allocated: u32,
    /// Allocated since.
    allocating: u32,
    /// In use after the last transaction group, deferred ones included.
    counted: u32,
    /// Where the next block goes, by the power of two that divides its bytes (`ms_lbas`).
    cursors: [u32; 64],
    /// What was free when the space map was last written, freed blocks included. None has been written at first.
    space_map: Option<Histogram>,
    /// Its FRAG, 0 to 100.
    fragmentation: u64,
    pub(crate) weight: Weight,
    /// None while it is inactive, or active for a third copy.
    pub(crate) active_as: Option<Rank>,
    /// Its weight when it was activated.
    activation: Option<Weight>,
    largest: u32,
    /// Freed, and not allocated or trimmed since (`ms_trim`); `None` in a pool that trims nothing.
    to_trim: Option<Ranges>,
}

impl Metaslab {
    /// An empty metaslab of `sectors` allocatable sectors of `1 << ashift` bytes, from `first` on.
    pub fn new((first, sectors): (u32, u32), ashift: u8) -> Self {
        Self {
            ashift,
            first,
            sectors,
            free: FreeSegments::new(first, sectors, ashift),
            freeing: Vec::new(),
            freed: Vec::new(),
            freed_sectors: 0,
            deferred: [Vec::new(), Vec::new()],
            deferred_sectors: [0; DEFERRED],
            allocated: 0,
            allocating: 0,
            counted: 0,
            cursors: [0; 64],
            space_map: None,
            fragmentation: 0,
            // By space, until the first transaction group is synced: features are enabled only after the metaslabs
            // are made (`metaslab_space_weight`, of flash). Only dRAID has metaslabs that differ.
            weight: Weight { claimed: false, log: sectors.ilog2() as u8, segments: sectors },
            active_as: None,
            activation: None,
            largest: sectors,
            to_trim: None,
        }
    }

    /// The same, in a pool that trims what is freed.
    pub fn that_trims(self) -> Self {
        Self { to_trim: Some(Ranges::default()), ..self }
    }

    /// Whether there is anything to trim.
    pub fn has_ranges_to_trim(&self) -> bool {
        self.to_trim.as_ref().is_some_and(|ranges| !ranges.is_empty())
    }

    /// Takes what is to be trimmed, all of which is free.
    pub fn take_ranges_to_trim(&mut self) -> Ranges {
        let ranges = self.to_trim.as_mut().map(std::mem::take).unwrap_or_default();
        let are_free = ranges.iter().all(|(start, end)| self.free.has(start, end));
        assert!(are_free, "what is trimmed may be allocated");
        ranges
    }

    /// Allocatable sectors: the first, and how many.
    pub fn sectors(&self) -> (u32, u32) {
        (self.first, self.sectors)
    }

    /// Sectors in use, as of the last sync pass.
    pub fn allocated(&self) -> u32 {
        self.allocated
    }

    /// Its FRAG, 0 to 100.
    pub fn fragmentation(&self) -> u64 {
        self.fragmentation
    }

    /// Free segments that may be allocated.
    pub fn free(&self) -> &FreeSegments {
        &self.free
    }

    /// Whether a block of `sectors` has room in its largest segment.
    pub fn has_room(&self, sectors: u32) -> bool {
        self.largest >= sectors
    }

    /// Whether it is active, or was activated for a third copy.
    pub fn is_active(&self) -> bool {
        self.activation.is_some()
    }

    /// Allocates `sectors` consecutive ones. Returns the first.
    pub fn allocate(&mut self, sectors: u32) -> Option<u32> {
        let bytes = u64::from(sectors) << self.ashift;
        let cursor = bytes.trailing_zeros() as usize;
        let free_percent = u64::from(self.free.free()) * 100 / u64::from(self.sectors);
        let largest = u64::from(self.free.largest()) << self.ashift;
        let by_place = largest >= LEAST_FOR_FIRST_FIT && free_percent >= LEAST_FREE_FOR_FIRST_FIT;
        let found = by_place.then(|| self.free.first_fit(self.cursors[cursor], sectors)).flatten();
        if by_place && found.is_none() {
            self.cursors[cursor] = 0;
        }
        let found = found.or_else(|| self.free.best_fit(sectors));
        if let Some(start) = found {
            self.free.take(start, sectors);
            if let Some(ranges) = &mut self.to_trim {
                ranges.clear(start, sectors);
            }
            self.cursors[cursor] = start + sectors;
            self.allocating += sectors;
        }
        self.largest = self.free.largest();
        found
    }

    /// Frees sectors in the transaction group that is syncing.
    pub fn free_at(&mut self, start: u32, sectors: u32) {
        self.freeing.push((start, sectors));
    }

    /// Takes back an allocation of the transaction group that is syncing: it may be allocated at once.
    pub fn unallocate(&mut self, start: u32, sectors: u32) {
        self.free.add(start, sectors);
        self.allocating -= sectors;
    }

    /// Its weight as of now.
    pub fn weight_now(&self) -> Weight {
        let histogram = self.free.histogram();
        let log = histogram.iter().rposition(|count| *count > 0);
        log.map_or(Weight::default(), |log| Weight {
            claimed: false,
            log: log as u8,
            segments: histogram[log],
        })
    }

    /// Makes it active for such copies, or for a third one. Returns whether it can be.
    pub fn activate(&mut self, rank: Option<Rank>) -> bool {
        if self.is_active() {
            return true;
        }
        if self.weight.segments == 0 {
            return false;
        }
        self.activation = Some(self.weight);
        self.active_as = rank;
        self.weight.claimed = rank.is_none();
        true
    }

    /// Makes it inactive, with a new weight.
    pub fn passivate(&mut self, weight: Weight) {
        assert!(self.activation.take().is_some(), "it is active");
        self.active_as = None;
        self.weight = weight;
    }

    /// Whether an active metaslab has become worse than it need be, so that another may have its turn.
    pub fn may_passivate(&mut self) -> bool {
        let Some(activation) = self.activation else { return false };
        // A new one is filled as long as its end is most of what is free.
        if u64::from(self.free.largest()) > u64::from(self.free.free()) * 15 / 16 {
            return false;
        }
        self.weight_now().log + SWITCH_THRESHOLD <= activation.log
    }

    /// Its part of a sync pass is written to the space map.
    pub fn sync(&mut self) {
        if self.allocating == 0 && self.freeing.is_empty() {
            return;
        }
        let freed: u32 = self.freeing.iter().map(|(_, sectors)| sectors).sum();
        self.allocated = self.allocated + std::mem::take(&mut self.allocating) - freed;
        let mut space_map = *self.free.histogram();
        for set in self.deferred.iter_mut().chain([&mut self.freed, &mut self.freeing]) {
            add_joined(set, &mut space_map);
        }
        self.freed.append(&mut self.freeing);
        self.freed_sectors += freed;
        self.space_map = Some(space_map);
    }

    /// Sectors that are freed, but may not be allocated yet.
    pub fn deferred(&self) -> u32 {
        self.deferred_sectors.iter().sum()
    }

    /// The transaction group is synced. What was freed two before may be allocated. Returns how many more sectors it
    /// has in use than after the transaction group before, deferred ones included.
    pub fn sync_done(&mut self, txg: u64, version: Version, defers: bool) -> i64 {
        let parity = txg as usize % DEFERRED;
        let slot = &mut self.deferred[parity];
        if let Some(ranges) = &mut self.to_trim {
            let at_once = if defers { &[][..] } else { &self.freed };
            slot.iter().chain(at_once).for_each(|(start, sectors)| ranges.add(*start, *sectors));
        }
        for (start, sectors) in slot.drain(..) {
            self.free.add(start, sectors);
        }
        std::mem::swap(slot, &mut self.freed);
        self.deferred_sectors[parity] = std::mem::take(&mut self.freed_sectors);
        if !defers {
            self.deferred_sectors[parity] = 0;
            for (start, sectors) in slot.drain(..) {
                self.free.add(start, sectors);
            }
        }
        if let Some(space_map) = &self.space_map {
            self.fragmentation = version.fragmentation(space_map, self.ashift);
        }
        self.largest = self.free.largest();
        let claimed = self.weight.claimed;
        self.weight = if self.allocated == 0 {
            Weight { claimed: false, log: self.sectors.ilog2() as u8, segments: 1 }
        } else if self.allocated == self.sectors {
            Weight::default()
        } else {
            self.weight_now()
        };
        self.weight.claimed = claimed;
        let now = self.allocated + self.deferred();
        i64::from(now) - i64::from(std::mem::replace(&mut self.counted, now))
    }
}

/// Sorts freed sectors, joins neighbours, and adds the segments to a histogram.
fn add_joined(freed: &mut Freed, histogram: &mut Histogram) {
    freed.sort_unstable();
    let mut segments = freed.iter().copied().peekable();
    while let Some((start, mut sectors)) = segments.next() {
        while let Some((_, more)) = segments.next_if(|next| next.0 == start + sectors) {
            sectors += more;
        }
        histogram[sectors.ilog2() as usize] += 1;
    }
}
