//! The container map: from the block numbers of a volume to VBNs.

use strewn_alloc::{
    Aggregate, AggregateError, AggregateOptions, AllocateError, AllocationShape, REGION_BLOCKS,
    SummaryBitmap,
};
use strewn_raid::{Parity, ParityGroup, Vbn};

use super::metadata::CONTAINER_ENTRIES;
use super::names::VirtualVbn;

/// The latest time of a volume, which limits the number of its snapshots.
pub(crate) const LATEST_TIME: u32 = (1 << BIRTH_BITS) - 1;

const VBN_BITS: u32 = 40;
const BIRTH_BITS: u32 = 22;
const WRITTEN_NOW: u64 = 1 << VBN_BITS;
const MOVED_NOW: u64 = 1 << (VBN_BITS + 1);
const BIRTH_SHIFT: u32 = VBN_BITS + 2;

/// Where a block of a volume lies, and when it was written, in 8 bytes: 40 bits of VBN, a bit if the open consistency
/// point wrote it, a bit if it moved it, and 22 bits of birth. All zeros are no block, because births begin at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(u64);

impl Entry {
    pub(crate) fn written(vbn: Vbn, birth: u32) -> Self {
        Self(u64::from(birth) << BIRTH_SHIFT | WRITTEN_NOW | vbn.0)
    }

    pub(crate) fn vbn(self) -> Vbn {
        Vbn(self.0 & (WRITTEN_NOW - 1))
    }

    /// The time of the volume when the block was written. Snapshots taken from then on contain it.
    pub(crate) fn birth(self) -> u32 {
        (self.0 >> BIRTH_SHIFT) as u32
    }

    /// Whether the open consistency point wrote the block.
    pub(crate) fn is_written_now(self) -> bool {
        self.0 & WRITTEN_NOW != 0
    }

    /// Whether the block lies where the last commit left it.
    pub(crate) fn is_committed(self) -> bool {
        self.0 & (WRITTEN_NOW | MOVED_NOW) == 0
    }

    /// The same block, moved by the open consistency point.
    pub(crate) fn moved_to(self, vbn: Vbn) -> Self {
        Self(self.0 >> VBN_BITS << VBN_BITS | MOVED_NOW | vbn.0)
    }

    /// The same block back at `vbn`, where the last commit left it.
    pub(crate) fn back_at(self, vbn: Vbn) -> Self {
        self.moved_to(vbn).committed()
    }

    fn committed(self) -> Self {
        Self(self.0 & !(WRITTEN_NOW | MOVED_NOW))
    }

    /// The entry as it is after the commit, in 8 bytes.
    pub(crate) fn to_bits(self) -> u64 {
        self.committed().0
    }

    /// What [`to_bits`](Self::to_bits) gave; `None` for no block, and for bits that no entry has.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        let entry = Self(bits);
        (entry.is_committed() && entry.birth() > 0).then_some(entry)
    }
}

/// The block numbers of a volume, and the entry of each number in use.
///
/// Numbers are allocated like the blocks of an aggregate with one spindle, from the emptiest area of 32,768 numbers, so
/// that new blocks are neighbours in the container map however aged the volume is. Freed numbers become free with the
/// commit.
///
/// Memory: 8 bytes for each number of a region of 32,768 that was ever used, and a bit for each number of the volume.
/// In a persistent store, 4 bytes more for each number of a region in which a block of a snapshot has left the active
/// image.
#[derive(Debug)]
pub(crate) struct Container {
    /// The first number that the volume owns; lower numbers belong to the volume that it was cloned from.
    first: u64,
    numbers: Aggregate<()>,
    size: u64,
    regions: Vec<Vec<u64>>,
    blocks: u64,
    saved: Option<Saved>,
}

/// What a persistent store needs besides: a volume in memory alone does without.
#[derive(Debug)]
struct Saved {
    /// By region, empty until a block of the region dies: the time of the volume when each block left the active image;
    /// 0 if it has not.
    deaths: Vec<Vec<u32>>,
    /// Pages of the stored map that have changed since the last commit.
    changed_pages: SummaryBitmap,
}

/// A number counted from the first of the volume's own.
pub(crate) type Local = u64;

impl Container {
    /// A map of `size` numbers, 1 or more.
    pub(crate) fn new(first: u64, size: u64) -> Result<Self, AggregateError> {
        let group = ParityGroup::new(Parity::None, 1, size);
        let group = group.map_err(|_| AggregateError::TooManyBlocks(size))?;
        let shape = AllocationShape { area_stripes: REGION_BLOCKS, ..Default::default() };
        let numbers = Aggregate::new([group], AggregateOptions { shape, ..Default::default() })?;
        Ok(Self { first, numbers, size, regions: Vec::new(), blocks: 0, saved: None })
    }

    /// Records from now on what a persistent store must save.
    pub(crate) fn record_changes(&mut self) {
        let changed_pages = SummaryBitmap::new(self.size.div_ceil(CONTAINER_ENTRIES));
        self.saved = Some(Saved { deaths: Vec::new(), changed_pages });
    }

    #[inline]
    fn mark_changed(&mut self, local: Local) {
        if let Some(saved) = &mut self.saved {
            saved.changed_pages.insert(local / CONTAINER_ENTRIES);
        }
    }

    /// The pages of the stored map that have changed since the last commit.
    pub(crate) fn changed_pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.saved.iter().flat_map(|saved| saved.changed_pages.iter())
    }

    /// The map as it is now is saved.
    pub(crate) fn forget_changes(&mut self) {
        if let Some(saved) = &mut self.saved {
            saved.changed_pages.clear();
        }
    }

    /// The time of the volume when a block left the active image; 0 if it has not. Recorded for a persistent store
    /// only.
    pub(crate) fn death(&self, local: Local) -> u32 {
        let deaths = self.saved.as_ref().and_then(|saved| {
            saved
                .deaths
                .get((local / REGION_BLOCKS) as usize)?
                .get((local % REGION_BLOCKS) as usize)
        });
        deaths.copied().unwrap_or(0)
    }

    /// Records that a block has left the active image at `time`, or with 0, that it is in it.
    pub(crate) fn set_death(&mut self, local: Local, time: u32) {
        let region_slots = self.region_slots(local / REGION_BLOCKS);
        let Some(saved) = &mut self.saved else { return };
        let (region, slot) = ((local / REGION_BLOCKS) as usize, (local % REGION_BLOCKS) as usize);
        if saved.deaths.len() <= region {
            saved.deaths.resize(region + 1, Vec::new());
        }
        let deaths = &mut saved.deaths[region];
        if deaths.is_empty() {
            deaths.resize(region_slots, 0);
        }
        deaths[slot] = time;
        self.mark_changed(local);
    }

    fn region_slots(&self, region: u64) -> usize {
        (self.size - region * REGION_BLOCKS).min(REGION_BLOCKS) as usize
    }

    /// Puts the entry of a block as read from storage, and when it left the active image (0 if it has not). Returns
    /// whether there is such a number and nothing was there.
    pub(crate) fn restore(&mut self, local: Local, entry: Entry, death: u32) -> bool {
        if self.numbers.set_aside(Vbn(local)).is_err() {
            return false;
        }
        self.put(local, entry);
        if death > 0 {
            self.set_death(local, death);
        }
        true
    }

    /// The first number that the volume owns.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The first number after those that the volume owns.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.size
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Blocks that the volume owns.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(crate) fn numbers(&self) -> &Aggregate<()> {
        &self.numbers
    }

    /// The index of `number` among those that the volume owns; `None` if it is inherited.
    pub(crate) fn local(&self, number: VirtualVbn) -> Option<Local> {
        number.0.checked_sub(self.first)
    }

    pub(crate) fn number(&self, local: Local) -> VirtualVbn {
        VirtualVbn(self.first + local)
    }

    #[inline]
    pub(crate) fn get(&self, local: Local) -> Option<Entry> {
        let region = self.regions.get((local / REGION_BLOCKS) as usize)?;
        let entry = *region.get((local % REGION_BLOCKS) as usize)?;
        (entry != 0).then_some(Entry(entry))
    }

    #[inline]
    pub(crate) fn put(&mut self, local: Local, entry: Entry) {
        let region = (local / REGION_BLOCKS) as usize;
        self.mark_changed(local);
        while self.regions.len() <= region {
            self.regions.push(vec![0; self.region_slots(self.regions.len() as u64)]);
        }
        let slot = &mut self.regions[region][(local % REGION_BLOCKS) as usize];
        self.blocks += u64::from(*slot == 0);
        *slot = entry.0;
    }

    #[inline]
    pub(crate) fn remove(&mut self, local: Local) -> Option<Entry> {
        let entry = self.get(local)?;
        self.regions[(local / REGION_BLOCKS) as usize][(local % REGION_BLOCKS) as usize] = 0;
        self.blocks -= 1;
        if self.death(local) > 0 {
            self.set_death(local, 0);
        }
        self.mark_changed(local);
        Some(entry)
    }

    /// Scans at most `most` slots from `local`: the entries in use, and where to continue if there are more.
    pub(crate) fn scan(
        &self,
        local: Local,
        most: u64,
    ) -> (impl Iterator<Item = (Local, Entry)> + '_, Option<Local>) {
        let left = self.scannable(local);
        let end = local + left.min(most);
        let found = (local..end).filter_map(|local| Some((local, self.get(local)?)));
        (found, (left > most).then_some(end))
    }

    /// Slots that a scan from `local` has to visit.
    pub(crate) fn scannable(&self, local: Local) -> u64 {
        let mapped = (self.regions.len() as u64 * REGION_BLOCKS).min(self.size);
        mapped.saturating_sub(local)
    }

    pub(crate) fn begin(&mut self) {
        // Every consistency point that begins is committed or abandoned.
        let begun = self.numbers.begin(0);
        assert!(begun.is_ok(), "block numbers: {begun:?}");
    }

    /// Allocates `count` numbers and calls `taken` with each.
    pub(crate) fn take_numbers(
        &mut self,
        count: usize,
        mut taken: impl FnMut(Local),
    ) -> Result<(), AllocateError> {
        // Exactly as many as needed: numbers skipped would stay unused until their area is chosen again.
        self.numbers.expect_more(count as u64);
        self.numbers.allocate_all(&vec![(); count], |(), number| taken(number.0))
    }

    /// Frees the number `local` with the commit.
    pub(crate) fn free_number(&mut self, local: Local) {
        // The caller has just removed it from the map.
        let freed = self.numbers.free_at_commit(Vbn(local));
        assert!(freed.is_ok(), "block number: {freed:?}");
    }

    /// Whether numbers were freed since the last commit.
    pub(crate) fn has_freed(&self) -> bool {
        self.numbers.counts().freed_at_commit > 0
    }

    /// Commits the numbers, `placed` of which the consistency point has written or moved.
    pub(crate) fn commit(&mut self, placed: impl Iterator<Item = Local>) {
        for local in placed {
            if let Some(entry) = self.get(local) {
                self.put(local, entry.committed());
            }
        }
        // Numbers are not written.
        self.numbers.discard_plan();
        let committed = self.numbers.commit();
        assert!(committed.is_ok(), "block numbers: {committed:?}");
        let (mapped, used) = (self.blocks, self.numbers.counts().used);
        assert!(mapped == used, "{mapped} blocks in the container map, {used} numbers in use");
    }

    pub(crate) fn abandon(&mut self) {
        let abandoned = self.numbers.abandon();
        assert!(abandoned.is_ok(), "block numbers: {abandoned:?}");
    }
}

/// Frees a block of the aggregate that has just been removed from a container map.
pub(crate) fn free_owned_block<T: Copy>(aggregate: &mut Aggregate<T>, vbn: Vbn) {
    let freed = aggregate.free_at_commit(vbn);
    assert!(freed.is_ok(), "block of a volume: {freed:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_holds_the_last_block_and_the_last_birth() {
        let last = Vbn(strewn_alloc::MOST_BLOCKS - 1);
        let entry = Entry::written(last, LATEST_TIME);
        assert_eq!((entry.vbn(), entry.birth(), entry.is_written_now()), (last, LATEST_TIME, true));
        let moved = entry.committed().moved_to(Vbn(7));
        assert_eq!((moved.vbn(), moved.birth()), (Vbn(7), LATEST_TIME));
        assert!(!moved.is_written_now() && !moved.is_committed() && !entry.is_committed());
        assert_eq!(moved.back_at(last), entry.committed());
        assert_eq!(Entry::written(Vbn(0), 1).committed().vbn(), Vbn(0));
    }
}
