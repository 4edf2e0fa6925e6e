//! A pool: top-level vdevs whose metaslabs blocks are allocated from, and freed to.
//!
//! `metaslab.c` of OpenZFS: `metaslab_alloc_dva`, `metaslab_class`, and `spa_sync`'s order of passes.

use std::collections::BTreeMap;

use strewn_base::state::SavedValue;

use crate::allocation_class::{AllocationClass, ClassGroups, Contents, Spilled};
use crate::autotrim::{TrimTurn, Trimmed, trim};
use crate::changed::Changed;
use crate::dva::{Copies, Dva, MOST_COPIES, NoRoom, Piece};
use crate::fragmentation::Version;
use crate::metaslab_group::{MetaslabGroup, PlaceInGroup};
use crate::normal_space::NormalSpace;
use crate::vdev::{MetaslabSize, Vdev};

/// What is allocated from one data drive of a vdev before the next vdev has its turn (`metaslab_aliquot` of 2.3).
const ALIQUOT_BYTES: u64 = 1 << 20;

/// What is kept of the special class for metadata, in percent (`zfs_special_class_metadata_reserve_pct`).
pub const METADATA_RESERVE_PERCENT: u64 = 25;

/// What decides where blocks go, beside the vdevs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolOptions {
    /// The version of OpenZFS that is modelled.
    pub version: Version,
    /// Data blocks of at most so many bytes on disk go to the special class (`special_small_blocks`); 0 for none.
    pub special_small_bytes: u64,
    /// Whether freed space is collected to be trimmed (`autotrim`).
    pub autotrim: bool,
}

/// A top-level vdev and its metaslabs.
#[derive(Debug, Clone, SavedValue)]
struct Top {
    vdev: Vdev,
    class: AllocationClass,
    size: MetaslabSize,
    group: MetaslabGroup,
    /// Allocatable bytes of the group.
    bytes: u64,
    /// The metaslab that the intent log has for itself.
    log_metaslab: Option<u32>,
    /// What it is allocated before the next vdev has its turn, less than the aliquot if it is fuller than others.
    bias: i64,
    /// Bytes in use after the last transaction group.
    allocated: u64,
    /// Which metaslab is trimmed next.
    trim_turn: TrimTurn,
    /// Whether it may be allocated from: not before the transaction group is synced that has added it
    /// (`metaslab_init`).
    is_open: bool,
}

impl Top {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn free(&self) -> i64 {
        self.bytes() as i64 - self.allocated as i64
    }

    fn in_use(&self) -> u64 {
        self.group.allocated() << self.vdev.ashift
    }

    fn aliquot(&self) -> i64 {
        (ALIQUOT_BYTES * self.vdev.data_drives()) as i64
    }
}

/// The first transaction group (`TXG_INITIAL` is four).
const FIRST_TXG: u64 = 1;

/// A pool's space.
#[derive(Debug, Clone, SavedValue)]
pub struct Pool {
    tops: Vec<Top>,
    version: Version,
    special_small_bytes: u64,
    autotrim: bool,
    /// The vdevs of each class, and whose turn it is.
    classes: [ClassGroups; AllocationClass::COUNT],
    spilled: Spilled,
    /// That of the vdevs of the normal class.
    normal_space: NormalSpace,
    first_pass: bool,
    /// Vdevs that the transaction group has changed since its last sync pass, and before.
    changed: Changed,
    synced: Changed,
    txg: u64,
    /// Blocks in pieces, by the place of each copy of their header. The first has the pieces.
    pub(crate) gangs: BTreeMap<(u16, u64), Vec<Piece>>,
}

/// How room for a block is sought.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Search<'a> {
    /// In all metaslabs, those of other copies too, if it is not found soon. Others are rather divided than searched
    /// for at length.
    pub is_hard: bool,
    /// First on the vdevs of these, copy by copy.
    pub beside: &'a [Dva],
}

impl Search<'_> {
    /// In all metaslabs if need be.
    pub const HARD: Self = Self { is_hard: true, beside: &[] };
}

impl Pool {
    /// Whether more is free than is kept free.
    pub(crate) fn keeps_slop(&self) -> bool {
        self.bytes() - self.allocated() > self.normal_space.kept_free()
    }

    /// Bytes that may be allocated beside what is kept free.
    pub(crate) fn available(&self) -> u64 {
        self.bytes().saturating_sub(self.normal_space.kept_free() + self.allocated())
    }

    /// Creates an empty pool.
    ///
    /// # Panics
    /// If there is no vdev, or if one has fewer than two metaslabs.
    #[must_use]
    pub fn new(vdevs: &[Vdev], options: PoolOptions) -> Self {
        let mut pool = Self {
            tops: Vec::new(),
            version: options.version,
            special_small_bytes: options.special_small_bytes,
            autotrim: options.autotrim,
            classes: Default::default(),
            spilled: Spilled::default(),
            normal_space: NormalSpace::default(),
            changed: Changed::default(),
            synced: Changed::default(),
            first_pass: true,
            txg: FIRST_TXG,
            gangs: BTreeMap::new(),
        };
        vdevs.iter().for_each(|vdev| pool.add(*vdev, AllocationClass::Normal));
        assert!(!pool.tops.is_empty(), "a pool has a vdev");
        pool
    }

    /// Adds a top-level vdev, which has the next turn of its class (`metaslab_group_activate`). It may be allocated
    /// from at once if the pool is new, otherwise when the transaction group that is syncing, or would be next, is
    /// synced.
    ///
    /// # Panics
    /// If it has fewer than two metaslabs.
    pub fn add(&mut self, vdev: Vdev, class: AllocationClass) {
        let size = vdev.metaslabs();
        assert!(vdev.has_metaslabs(), "a vdev has two metaslabs");
        // The emptiest of a new vdev, which is the first. Only those of the normal class have one.
        let has_log = class == AllocationClass::Normal && vdev.log_metaslabs() > 0;
        let log_metaslab = has_log.then_some(0);
        let group = MetaslabGroup::new(&vdev, log_metaslab, self.autotrim);
        let bytes = vdev.class_bytes(class);
        self.tops.push(Top {
            vdev,
            class,
            size,
            group,
            bytes,
            log_metaslab,
            bias: 0,
            allocated: 0,
            trim_turn: TrimTurn::default(),
            is_open: false,
        });
        self.classes[class as usize].activate(self.tops.len() - 1);
        self.changed.add(self.tops.len() as u32 - 1);
        if self.txg == FIRST_TXG {
            self.open_new();
        }
    }

    /// New vdevs may be allocated from.
    fn open_new(&mut self) {
        for top in self.tops.iter_mut().filter(|top| !top.is_open) {
            top.is_open = true;
            if top.class == AllocationClass::Normal {
                self.normal_space.add(&top.vdev);
            }
        }
    }

    /// Nothing more is allocated on a vdev, which is gone (`metaslab_group_passivate`).
    pub(crate) fn passivate(&mut self, vdev: usize) {
        let class = self.tops[vdev].class;
        self.classes[class as usize].passivate(vdev);
    }

    /// Top-level vdevs that it has now.
    #[must_use]
    pub fn vdevs(&self) -> usize {
        self.tops.len()
    }

    /// The class of a vdev.
    #[must_use]
    pub fn class_of(&self, vdev: usize) -> AllocationClass {
        self.tops[vdev].class
    }

    /// Vdevs of a class that blocks are allocated on.
    #[must_use]
    pub fn vdevs_in(&self, class: AllocationClass) -> usize {
        self.classes[class as usize].vdevs().len()
    }

    /// Blocks that were meant for the special class and found no room there.
    #[must_use]
    pub fn spilled(&self) -> Spilled {
        self.spilled
    }

    /// Metaslabs of a vdev.
    pub(crate) fn metaslab_count(&self, vdev: usize) -> usize {
        self.tops[vdev].group.metaslabs().len()
    }

    fn of_class(&self, class: AllocationClass) -> impl Iterator<Item = &Top> {
        self.tops.iter().filter(move |top| top.class == class && top.is_open)
    }

    fn normal(&self) -> impl Iterator<Item = &Top> {
        self.of_class(AllocationClass::Normal)
    }

    /// The class that a block goes to if there is room (`spa_preferred_class`).
    fn preferred_class(&self, contents: Contents, bytes: u64) -> AllocationClass {
        let is_small = contents == Contents::Data && bytes <= self.special_small_bytes;
        if self.of_class(AllocationClass::Special).next().is_none()
            || !(contents == Contents::Metadata || is_small)
        {
            return AllocationClass::Normal;
        }
        AllocationClass::Special
    }

    /// Whether the special class has room for data beside what is kept for metadata, as of the last transaction group.
    fn has_special_room_for_data(&self) -> bool {
        let special = || self.of_class(AllocationClass::Special);
        let bytes: u64 = special().map(Top::bytes).sum();
        let allocated: u64 = special().map(|top| top.allocated).sum();
        allocated < bytes * (100 - METADATA_RESERVE_PERCENT) / 100
    }

    /// Allocates a block of `bytes` on disk where its contents belong, or where there is room (`zio_dva_allocate`): in
    /// the special class, then in the normal one, then in pieces. Returns its copies, and whether these are the header
    /// of a block in pieces.
    ///
    /// # Errors
    /// If there is no room, not even in pieces.
    ///
    /// # Panics
    /// As [`allocate`](Self::allocate).
    pub fn place(
        &mut self,
        contents: Contents,
        bytes: u64,
        copies: usize,
    ) -> Result<(Copies, bool), NoRoom> {
        if self.preferred_class(contents, bytes) == AllocationClass::Special {
            let may = contents == Contents::Metadata || self.has_special_room_for_data();
            let special = AllocationClass::Special;
            match may.then(|| self.allocate_in(special, bytes, copies, Search::default())) {
                Some(Ok(placed)) => return Ok((placed, false)),
                _ => self.spilled.add(contents),
            }
        }
        match self.allocate(bytes, copies) {
            Ok(placed) => Ok((placed, false)),
            Err(_) => self.allocate_in_pieces(bytes, copies).map(|placed| (placed, true)),
        }
    }

    /// Allocates a block of the intent log on a log vdev (`zio_alloc_zil`); `None` if there is none with room.
    pub(crate) fn allocate_log(&mut self, bytes: u64) -> Option<Dva> {
        let class = AllocationClass::Log;
        let placed = *self.allocate_in(class, bytes, 1, Search::HARD).ok()?.first()?;
        // Each goes to the next vdev (`METASLAB_ZIL`).
        self.classes[class as usize].end_turn_of(placed.vdev.into());
        Some(placed)
    }

    /// The transaction group that is syncing, or would be next.
    #[must_use]
    pub fn txg(&self) -> u64 {
        self.txg
    }

    /// Allocates a block of `bytes` on disk with so many copies, on different vdevs if there are.
    ///
    /// # Errors
    /// If no vdev has room for it in one piece. Nothing is allocated then.
    ///
    /// # Panics
    /// If a block has more than three copies, or none.
    pub fn allocate(&mut self, bytes: u64, copies: usize) -> Result<Copies, NoRoom> {
        self.allocate_normal(bytes, copies, Search::default())
    }

    pub(crate) fn allocate_normal(
        &mut self,
        bytes: u64,
        copies: usize,
        search: Search<'_>,
    ) -> Result<Copies, NoRoom> {
        self.allocate_in(AllocationClass::Normal, bytes, copies, search)
    }

    fn allocate_in(
        &mut self,
        class: AllocationClass,
        bytes: u64,
        copies: usize,
        search: Search<'_>,
    ) -> Result<Copies, NoRoom> {
        assert!((1..=MOST_COPIES).contains(&copies));
        let mut placed = Copies::NONE;
        for _ in 0..copies {
            match self.allocate_copy(class, bytes, &placed, search) {
                Some(dva) => placed.push(dva),
                None => {
                    placed.iter().for_each(|dva| self.unallocate(*dva));
                    return Err(NoRoom { bytes });
                }
            }
        }
        Ok(placed)
    }

    fn allocate_copy(
        &mut self,
        class: AllocationClass,
        bytes: u64,
        others: &[Dva],
        search: Search<'_>,
    ) -> Option<Dva> {
        let groups = &self.classes[class as usize];
        let count = groups.vdevs().len();
        let vdev = |dva: &Dva| usize::from(dva.vdev);
        let first = match search.beside.get(others.len()) {
            Some(leader) => groups.place_beside(vdev(leader)),
            None => groups.first_for(others.last().map(vdev)),
        };
        for try_hard in [false, true] {
            if try_hard && !search.is_hard && bytes > self.sector_bytes() {
                break;
            }
            for turn in 0..count {
                let at = (first + turn) % count;
                let placed = self.allocate_on(class, at, bytes, others, try_hard);
                if placed.is_some() {
                    return placed;
                }
                self.classes[class as usize].end_turn_at(at);
            }
        }
        None
    }

    /// Allocates on the vdev at a place of its class.
    fn allocate_on(
        &mut self,
        class: AllocationClass,
        place: usize,
        bytes: u64,
        others: &[Dva],
        hard: bool,
    ) -> Option<Dva> {
        let groups = &mut self.classes[class as usize];
        let at = groups.vdevs()[place];
        let first_pass = self.first_pass;
        let top = &mut self.tops[at];
        if !top.is_open {
            return None;
        }
        let (ashift, shift) = (top.vdev.ashift, top.size.shift);
        let (mut here, mut count) = ([0; MOST_COPIES], 0);
        for dva in others.iter().filter(|dva| usize::from(dva.vdev) == at) {
            here[count] = (dva.offset >> shift) as u32;
            count += 1;
        }
        let allocated_bytes = top.vdev.allocated_bytes(bytes);
        let sectors = (allocated_bytes >> ashift) as u32;
        let PlaceInGroup { metaslab, sector } =
            top.group.allocate(sectors, &here[..count], first_pass, hard)?;
        self.changed.add(at as u32);
        // A vdev that is emptier than the others, for its size, has a longer turn.
        if groups.turn() == 0 {
            let open =
                groups.vdevs().iter().map(|vdev| &self.tops[*vdev]).filter(|top| top.is_open);
            let (count, free_in_all) =
                open.fold((0, 0), |(count, free), top| (count + 1, free + top.free()));
            let top = &mut self.tops[at];
            let ratio = top.free() * count * 100 / (free_in_all + 1);
            top.bias = (ratio - 100) * top.aliquot() / 100;
        }
        let top = &self.tops[at];
        groups.take(place, allocated_bytes, top.aliquot() + top.bias);
        let offset = (u64::from(metaslab) << shift) + (u64::from(sector) << ashift);
        Some(Dva { vdev: at as u16, offset, allocated_bytes })
    }

    /// Bytes of a sector of the first vdev.
    #[must_use]
    pub fn sector_bytes(&self) -> u64 {
        1 << self.tops[0].vdev.ashift
    }

    /// The most bytes that a block of `bytes` takes on a vdev of the normal class, parity included.
    pub(crate) fn most_allocated_bytes(&self, bytes: u64) -> u64 {
        self.normal().map(|top| top.vdev.allocated_bytes(bytes)).max().unwrap_or(bytes)
    }

    /// Bytes that a block of `bytes` takes on a vdev, parity included.
    #[must_use]
    pub fn allocated_bytes(&self, vdev: u16, bytes: u64) -> u64 {
        self.tops[usize::from(vdev)].vdev.allocated_bytes(bytes)
    }

    /// Frees a copy of a block in the transaction group that is syncing. It may be allocated again three later.
    pub fn free(&mut self, dva: Dva) {
        self.changed.add(dva.vdev.into());
        let top = &mut self.tops[usize::from(dva.vdev)];
        let ashift = top.vdev.ashift;
        top.group.free(dva.offset >> ashift, (dva.allocated_bytes >> ashift) as u32);
    }

    /// Takes back an allocation of this transaction group (`metaslab_unalloc_dva`).
    pub(crate) fn unallocate(&mut self, dva: Dva) {
        let top = &mut self.tops[usize::from(dva.vdev)];
        let ashift = top.vdev.ashift;
        top.group.unallocate(dva.offset >> ashift, (dva.allocated_bytes >> ashift) as u32);
    }

    /// A sync pass is written.
    pub fn sync_pass(&mut self) {
        while let Some(at) = self.changed.pop() {
            self.tops[at as usize].group.sync();
            self.synced.add(at);
        }
        self.first_pass = false;
    }

    /// The transaction group is synced.
    pub fn sync_done(&mut self) {
        self.sync_pass();
        // Close to full, freed blocks are not kept back. How full it is changes with each metaslab, and is known with
        // parity, where what is kept free is without (`metaslab_sync_done`).
        let before: u64 = self.normal().map(|top| top.allocated).sum();
        let kept_free = self.normal_space.kept_free_for_data();
        let mut spare = self.bytes() as i64 - before as i64 - kept_free as i64;
        let (txg, version) = (self.txg, self.version);
        while let Some(at) = self.synced.pop() {
            let top = &mut self.tops[at as usize];
            let (is_normal, ashift) = (top.class == AllocationClass::Normal, top.vdev.ashift);
            top.group.sync_done(txg, version, |more_sectors| {
                spare -= if is_normal { more_sectors << ashift } else { 0 };
                spare > 0
            });
            top.allocated = top.group.allocated() << ashift;
            if top.group.is_changed() {
                self.changed.add(at);
            }
        }
        self.first_pass = true;
        self.txg += 1;
        self.open_new();
    }

    /// Trims what each vdev's turn has of freed space, but for drives of `is_skipped` (`vdev_autotrim_kick`). To be
    /// called when a transaction group is synced.
    pub(crate) fn autotrim(&mut self, is_skipped: impl Fn(usize, u8) -> bool) -> Trimmed {
        let mut all = Trimmed::default();
        if !self.autotrim {
            return all;
        }
        for (number, top) in self.tops.iter_mut().enumerate() {
            let metaslabs = top.group.metaslabs();
            let has_ranges = |metaslab: u32| metaslabs[metaslab as usize].has_ranges_to_trim();
            if let Some(metaslab) = top.trim_turn.next(metaslabs.len() as u32, has_ranges) {
                let ranges = top.group.take_ranges_to_trim(metaslab);
                let trimmed =
                    trim(&top.vdev, ranges.into_iter(), |drive| is_skipped(number, drive));
                all.ranges += trimmed.ranges;
                all.bytes += trimmed.bytes;
                all.skipped_bytes += trimmed.skipped_bytes;
            }
        }
        all
    }

    /// Bytes of the normal class that may be allocated now, parity included: freed blocks may be later.
    #[must_use]
    pub fn allocatable(&self) -> u64 {
        self.normal().map(|top| top.group.allocatable() << top.vdev.ashift).sum()
    }

    /// Bytes of the normal class that are freed and not to be allocated yet, parity included.
    #[must_use]
    pub fn deferred(&self) -> u64 {
        self.normal().map(|top| top.group.deferred() << top.vdev.ashift).sum()
    }

    /// Bytes of the vdevs of the normal class, parity included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.normal_space.bytes
    }

    /// Bytes of the normal class in use, parity included, as of the last sync pass.
    #[must_use]
    pub fn allocated(&self) -> u64 {
        self.normal().map(Top::in_use).sum()
    }

    /// FRAG, as `zpool list` prints it: that of the normal class (`metaslab_class_fragmentation`).
    #[must_use]
    pub fn fragmentation(&self) -> u64 {
        let weighted = |top: &Top| top.group.fragmentation(self.version) * top.bytes();
        self.normal().map(weighted).sum::<u64>() / self.bytes()
    }

    /// Bytes of a vdev that blocks may have, parity included.
    #[must_use]
    pub fn bytes_of(&self, vdev: usize) -> u64 {
        self.tops[vdev].bytes()
    }

    /// Free segments of a metaslab, counted over all vdevs.
    pub(crate) fn free_segments_of(&self, metaslab: usize) -> u64 {
        let mut all = self.tops.iter().flat_map(|top| top.group.metaslabs());
        all.nth(metaslab).map_or(0, |metaslab| metaslab.free().count())
    }

    /// The most free segments of a metaslab.
    pub(crate) fn most_free_segments(&self) -> u64 {
        let all = self.tops.iter().flat_map(|top| top.group.metaslabs());
        all.map(|metaslab| metaslab.free().count()).max().unwrap_or(0)
    }

    /// Bytes of the metaslab that a vdev, which begins with it, has for the intent log; `None` if it has none.
    pub(crate) fn log_metaslab_bytes(&self, vdev: usize) -> Option<u64> {
        let top = self.tops.get(vdev)?;
        top.log_metaslab.map(|_| 1 << top.size.shift)
    }

    /// Tells the bytes of each free segment of the normal class that may be allocated.
    pub fn for_each_free_segment(&self, mut tell: impl FnMut(u64)) {
        for top in self.normal() {
            for metaslab in top.group.metaslabs() {
                let segments = metaslab.free().segments();
                segments.for_each(|(start, end)| tell(u64::from(end - start) << top.vdev.ashift));
            }
        }
    }

    /// What is in use of a vdev's metaslab: the first byte of each range and the one after its last, in order. Freed
    /// blocks that may not be allocated yet count as in use.
    #[must_use]
    pub fn ranges_in_use(&self, vdev: u16, metaslab: u32) -> Vec<(u64, u64)> {
        let top = &self.tops[usize::from(vdev)];
        let first_byte = u64::from(metaslab) << top.size.shift;
        let in_bytes = |sector: u32| first_byte + (u64::from(sector) << top.vdev.ashift);
        let metaslab = &top.group.metaslabs()[metaslab as usize];
        let (first, sectors) = metaslab.sectors();
        let (start, end) = (in_bytes(first), in_bytes(first + sectors));
        let free = metaslab.free().segments();
        let mut ranges = Vec::new();
        let mut from = start;
        for (first, after) in free {
            if in_bytes(first) > from {
                ranges.push((from, in_bytes(first)));
            }
            from = in_bytes(after);
        }
        if from < end {
            ranges.push((from, end));
        }
        ranges
    }

    /// Whether a byte of a vdev is in use, or freed and not to be allocated yet.
    pub(crate) fn is_in_use(&self, vdev: u16, offset: u64) -> bool {
        let top = &self.tops[usize::from(vdev)];
        let (metaslab, byte) = (offset >> top.size.shift, offset & ((1 << top.size.shift) - 1));
        let sector = (byte >> top.vdev.ashift) as u32;
        !top.group.metaslabs()[metaslab as usize].free().contains(sector)
    }

    /// FRAG of a vdev.
    #[must_use]
    pub fn fragmentation_of(&self, vdev: usize) -> u64 {
        self.tops[vdev].group.fragmentation(self.version)
    }

    /// Bytes of a vdev that are in use, or freed and not to be allocated yet.
    #[must_use]
    pub fn allocated_on(&self, vdev: usize) -> u64 {
        self.tops[vdev].in_use()
    }

    /// The bytes in use in each metaslab of a vdev, and its FRAG.
    pub fn metaslabs_of(&self, vdev: usize) -> impl Iterator<Item = (u64, u64)> {
        let top = &self.tops[vdev];
        let ashift = top.vdev.ashift;
        top.group.metaslabs().iter().map(move |metaslab| {
            (u64::from(metaslab.allocated()) << ashift, metaslab.fragmentation())
        })
    }

    /// Metaslabs with anything in use, and all, of each vdev.
    pub fn metaslabs_in_use(&self) -> impl Iterator<Item = (usize, usize)> {
        self.tops.iter().map(|top| {
            let metaslabs = top.group.metaslabs();
            let in_use = metaslabs.iter().filter(|metaslab| metaslab.allocated() > 0);
            (in_use.count(), metaslabs.len())
        })
    }
}
