//! An aggregate: the blocks of its parity groups, taken and given back in consistency points.

use std::collections::{BTreeMap, VecDeque};

use strewn_raid::{BlockLocation, ParityGroup, SpindleIndex, Vbn};
use thiserror::Error;

use crate::delayed_frees::{DelayedFrees, REGION_BLOCKS};
use crate::free_map::{BATCH, FreeMap, MapPlace, MapViolation, ROW_STRIPES};
use crate::options::{AggregateError, AggregateOptions, MOST_BLOCKS};
use crate::policy::Policy;
use crate::random::Random;
use crate::saved_scores::{MountError, SavedScores};
use crate::tetris::{GroupIndex, OpenTetris, Tetris, bits};

/// Fewer blocks are free than are needed. Nothing was taken for what was asked last; what the open consistency point
/// took before is still its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no room: {needed} blocks are needed, {free} are free")]
pub struct OutOfSpace {
    /// Blocks asked for.
    pub needed: u64,
    /// Blocks that can be taken.
    pub free: u64,
}

/// A consistency point is open: commit or abandon it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a consistency point is open: commit or abandon it first")]
pub struct CheckpointOpen;

/// A block cannot be given back: it is not in use, or there is no such block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} is not in use")]
pub struct NotInUse(pub Vbn);

/// A block cannot be set aside: it is in use, or there is no such block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} is not free")]
pub struct NotFree(pub Vbn);

/// A block, by group, spindle and place on the spindle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The parity group.
    pub group: GroupIndex,
    /// Spindle and DBN in the group.
    pub location: BlockLocation,
}

/// Blocks of an aggregate by what has become of them; they sum to `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// All data blocks.
    pub total: u64,
    /// Blocks that can be taken now.
    pub free: u64,
    /// Blocks given back since the last commit: free with the next.
    pub freed_at_commit: u64,
    /// Blocks given back and held back ([`AggregateOptions::delayed_frees`]).
    pub held_back: u64,
    /// All others.
    pub used: u64,
}

/// A parity group of the aggregate, and where its allocation stands.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) map: FreeMap,
    pub(crate) first_vbn: u64,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) cursor: Cursor,
}

/// Where allocation stands in a group: the next stripe to look at, and the window that is being filled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    /// First stripe after the area.
    pub(crate) area_end: u64,
    /// First stripe after the window.
    pub(crate) next_stripe: u64,
    /// The row of words that the window lies in, and which of its stripes it covers.
    pub(crate) row: u64,
    pub(crate) window: u64,
    pub(crate) spindle: u16,
    /// Free blocks of the current spindle in the window that are not given out yet.
    pub(crate) available: u64,
}

/// Blocks taken by the open consistency point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) group: GroupIndex,
    pub(crate) spindle: SpindleIndex,
    pub(crate) row: u64,
    pub(crate) mask: u64,
}

/// The blocks of one or more parity groups and the allocator that writes anywhere in them.
///
/// Blocks are taken between [`begin`](Self::begin) and [`commit`](Self::commit), each for something the caller names
/// by a `T`. The groups take turns, a tetris each; within a group the policy chooses the allocation area, and in it a
/// chunk of each spindle follows the other, so that what is given in file order lies in order on a spindle. What is
/// given back with [`free_at_commit`](Self::free_at_commit) can be taken again only after the commit: until then the
/// last consistency point still refers to it.
///
/// VBNs count the blocks of the first group spindle by spindle, then those of the next.
#[derive(Debug)]
pub struct Aggregate<T> {
    pub(crate) groups: Vec<Group>,
    pub(crate) options: AggregateOptions,
    /// The group whose turn it is.
    pub(crate) turn: usize,
    pub(crate) keeps_near: bool,
    /// The tetris being filled. Its blocks are taken from the map when it closes.
    pub(crate) open: Option<OpenTetris<T>>,
    pub(crate) open_blocks: u64,
    /// With a policy that keeps blocks near, every tetris stays open, by group and row, until the consistency point
    /// is finished; its blocks are taken from the map at once.
    pub(crate) scattered: BTreeMap<(GroupIndex, u64), OpenTetris<T>>,
    pub(crate) closed: VecDeque<Tetris<T>>,
    pub(crate) taken: Vec<Taken>,
    freed: Vec<MapPlace>,
    delayed: Option<DelayedFrees>,
    pub(crate) expected_blocks: u64,
    pub(crate) allocated_blocks: u64,
    consistency_points: u64,
}

impl<T: Copy> Aggregate<T> {
    /// An empty aggregate of `groups`.
    ///
    /// # Errors
    /// If sizes do not fit each other, or there are no blocks or too many.
    pub fn new(
        groups: impl IntoIterator<Item = ParityGroup>,
        options: AggregateOptions,
    ) -> Result<Self, AggregateError> {
        options.shape.check()?;
        let mut aggregate = Self {
            groups: Vec::new(),
            turn: 0,
            keeps_near: false,
            open: None,
            open_blocks: 0,
            scattered: BTreeMap::new(),
            closed: VecDeque::new(),
            taken: Vec::new(),
            freed: Vec::new(),
            delayed: (options.delayed_frees > 0).then(|| DelayedFrees::new(0)),
            expected_blocks: 0,
            allocated_blocks: 0,
            consistency_points: 0,
            options,
        };
        for group in groups {
            aggregate.add_group(group)?;
        }
        if aggregate.groups.is_empty() {
            return Err(AggregateError::NoGroup);
        }
        Ok(aggregate)
    }

    /// Adds an empty parity group; the aggregate may be in use, also amid a consistency point.
    ///
    /// # Errors
    /// If the aggregate would have too many blocks, or the group does not fit the shape.
    pub fn add_group(&mut self, group: ParityGroup) -> Result<GroupIndex, AggregateError> {
        check_group(&group, &self.options)?;
        let area_stripes = self.options.shape.area_stripes;
        self.push(FreeMap::all_free(group, area_stripes, self.options.order))
    }

    /// An aggregate in use, from its groups with the words of their maps ([`FreeMap::words`]) and its areas' scores as
    /// they were saved at the same consistency point. Nothing is scanned: a 16 TiB aggregate is ready at once.
    ///
    /// # Errors
    /// If the scores are of another consistency point or other groups, or the words do not fit a group.
    pub fn mount(
        groups: impl IntoIterator<Item = (ParityGroup, Vec<u64>)>,
        options: AggregateOptions,
        consistency_points: u64,
        scores: SavedScores,
    ) -> Result<Self, MountError> {
        let groups: Vec<_> = groups.into_iter().collect();
        let areas = scores.for_groups(
            groups.iter().map(|(group, _)| group),
            options.shape.area_stripes,
            consistency_points,
        )?;
        let mut aggregate = Self::new(groups.iter().map(|(group, _)| *group).take(1), options)?;
        aggregate.groups.clear();
        for (index, ((group, words), scores)) in groups.into_iter().zip(areas).enumerate() {
            check_group(&group, &options)?;
            let needed = group.stripes().div_ceil(ROW_STRIPES) * u64::from(group.data_spindles());
            if words.len() as u64 != needed {
                return Err(MountError::Words { group: index, words: words.len() as u64, needed });
            }
            let area_stripes = options.shape.area_stripes;
            aggregate.push(FreeMap::mounted(group, area_stripes, options.order, words, scores))?;
        }
        aggregate.consistency_points = consistency_points;
        Ok(aggregate)
    }

    fn push(&mut self, map: FreeMap) -> Result<GroupIndex, AggregateError> {
        let index = u16::try_from(self.groups.len()).map_err(|_| AggregateError::TooManyGroups)?;
        let first_vbn = self.total_blocks();
        let total = first_vbn + map.group().total_blocks();
        if total > MOST_BLOCKS {
            return Err(AggregateError::TooManyBlocks(total));
        }
        if let Some(delayed) = &mut self.delayed {
            delayed.grow(total.div_ceil(REGION_BLOCKS) as u32);
        }
        let policy = self.options.policy.policy();
        self.keeps_near = policy.keeps_near();
        let spindle = map.group().data_spindles();
        let cursor =
            Cursor { area_end: 0, next_stripe: 0, row: 0, window: 0, spindle, available: 0 };
        self.groups.push(Group { map, first_vbn, policy, cursor });
        Ok(GroupIndex(index))
    }

    /// Puts a policy of the caller's own in the place of the one chosen by name, for one group. `keeps_near` is the
    /// aggregate's: it follows the policy set last.
    ///
    /// # Errors
    /// If a consistency point is open.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn set_policy(
        &mut self,
        group: GroupIndex,
        policy: Box<dyn Policy>,
    ) -> Result<(), CheckpointOpen> {
        self.nothing_open()?;
        self.keeps_near = policy.keeps_near();
        self.groups[group.index()].policy = policy;
        Ok(())
    }

    /// Whether the policy keeps blocks near their neighbours, so that
    /// [`allocate_behind`](Self::allocate_behind) needs to know them.
    #[inline]
    #[must_use]
    pub fn keeps_near(&self) -> bool {
        self.keeps_near
    }

    /// How the aggregate was made.
    #[must_use]
    pub fn options(&self) -> &AggregateOptions {
        &self.options
    }

    /// The free maps of the groups, with the areas' scores, in the order of the groups.
    pub fn free_maps(&self) -> impl Iterator<Item = &FreeMap> {
        self.groups.iter().map(|group| &group.map)
    }

    /// The free map of `group`.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn free_map(&self, group: GroupIndex) -> &FreeMap {
        &self.groups[group.index()].map
    }

    /// Data blocks of all groups.
    #[must_use]
    pub fn total_blocks(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.first_vbn + group.map.group().total_blocks())
    }

    /// Blocks that can be taken now.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.free_maps().map(FreeMap::free_blocks).sum::<u64>() - self.open_blocks
    }

    /// Blocks by what has become of them.
    #[must_use]
    pub fn counts(&self) -> BlockCounts {
        let (total, free) = (self.total_blocks(), self.free_blocks());
        let freed_at_commit = self.freed.len() as u64;
        let held_back = self.delayed.as_ref().map_or(0, DelayedFrees::blocks);
        let used = total - free - freed_at_commit - held_back;
        BlockCounts { total, free, freed_at_commit, held_back, used }
    }

    /// Consistency points committed.
    #[must_use]
    pub fn consistency_points(&self) -> u64 {
        self.consistency_points
    }

    /// Where `vbn` lies; nothing if there is no such block.
    #[inline]
    #[must_use]
    pub fn locate(&self, vbn: Vbn) -> Option<Place> {
        (vbn.0 < self.total_blocks()).then(|| self.place_of(vbn))
    }

    /// Where `vbn` lies, of which there must be one.
    #[inline]
    fn place_of(&self, vbn: Vbn) -> Place {
        let index = match self.groups.len() {
            1 => 0,
            _ => self.groups.partition_point(|group| group.first_vbn <= vbn.0) - 1,
        };
        let group = &self.groups[index];
        let location = group.map.group().locate(Vbn(vbn.0 - group.first_vbn));
        Place { group: GroupIndex(index as u16), location }
    }

    /// The number of the block at `place`.
    ///
    /// # Panics
    /// If there is no such group.
    #[inline]
    #[must_use]
    pub fn vbn(&self, place: Place) -> Vbn {
        let group = &self.groups[place.group.index()];
        let BlockLocation { spindle, dbn } = place.location;
        Vbn(group.first_vbn + group.map.group().vbn(spindle, dbn).0)
    }

    /// Whether `vbn` can be taken.
    #[must_use]
    pub fn is_free(&self, vbn: Vbn) -> bool {
        self.locate(vbn).is_some_and(|place| !self.is_used(place))
    }

    fn is_used(&self, place: Place) -> bool {
        let dbn = place.location.dbn.0;
        !self.groups[place.group.index()].map.is_free(place.location)
            || self.open.as_ref().is_some_and(|open| {
                open.tetris.group == place.group
                    && open.row() == dbn / ROW_STRIPES
                    && open.holds(place.location.spindle, dbn % ROW_STRIPES)
            })
    }

    fn nothing_open(&self) -> Result<(), CheckpointOpen> {
        let idle = self.taken.is_empty() && self.open.is_none() && self.scattered.is_empty();
        idle.then_some(()).ok_or(CheckpointOpen)
    }

    /// Begins a consistency point that will take about `expected_blocks`: its last tetrises are made as shallow as
    /// what then remains, so that their stripes are full though they are not. Blocks given back since the last commit
    /// belong to it.
    ///
    /// # Errors
    /// If one is open.
    pub fn begin(&mut self, expected_blocks: u64) -> Result<(), CheckpointOpen> {
        self.nothing_open()?;
        self.expected_blocks = expected_blocks;
        self.allocated_blocks = 0;
        Ok(())
    }

    /// Gives back a block that the consistency point stops using; it becomes free with the commit, or later if frees
    /// are delayed. A block given back twice in one consistency point is freed once.
    ///
    /// # Errors
    /// If it is not in use.
    #[inline]
    pub fn free_at_commit(&mut self, vbn: Vbn) -> Result<(), NotInUse> {
        let place = self.locate(vbn).filter(|place| self.is_used(*place)).ok_or(NotInUse(vbn))?;
        self.freed.push(self.map_place(place));
        Ok(())
    }

    /// Gives back all of `blocks`, as [`free_at_commit`](Self::free_at_commit) does one; where there are many,
    /// faster.
    ///
    /// # Errors
    /// The first that is not in use. Then none is given back.
    pub fn free_all_at_commit(&mut self, blocks: &[Vbn]) -> Result<(), NotInUse> {
        let before = self.freed.len();
        let found = blocks.chunks(BATCH).try_for_each(|batch| self.give_back(batch));
        if found.is_err() {
            self.freed.truncate(before);
        }
        found
    }

    fn give_back(&mut self, batch: &[Vbn]) -> Result<(), NotInUse> {
        let before = self.freed.len();
        let first_unused = |aggregate: &Self| {
            let used = |vbn| aggregate.locate(vbn).is_some_and(|place| aggregate.is_used(place));
            batch.iter().find(|vbn| !used(**vbn)).map_or(Ok(()), |vbn| Err(NotInUse(*vbn)))
        };
        let total = self.total_blocks();
        if batch.iter().any(|vbn| vbn.0 >= total) {
            return first_unused(self);
        }
        let mut freed = std::mem::take(&mut self.freed);
        freed.extend(batch.iter().map(|vbn| self.map_place(self.place_of(*vbn))));
        self.freed = freed;
        let mut groups = self.freed[before..].chunk_by(|one, next| one.group() == next.group());
        if groups.all(|places| self.groups[places[0].group().index()].map.all_used(places)) {
            return Ok(());
        }
        // Some were taken for the tetris that is being filled, which the map does not know yet, or are not in use.
        first_unused(self)
    }

    #[inline]
    fn map_place(&self, place: Place) -> MapPlace {
        let BlockLocation { spindle, dbn } = place.location;
        let map = &self.groups[place.group.index()].map;
        MapPlace::new(place.group, map.word(spindle, dbn.0 / ROW_STRIPES), dbn.0 % ROW_STRIPES)
    }

    fn vbn_at(&self, place: MapPlace) -> Vbn {
        let location = self.groups[place.group().index()].map.location(place);
        self.vbn(Place { group: place.group(), location })
    }

    /// The next tetris that is complete, in the order in which they were filled.
    pub fn next_tetris(&mut self) -> Option<Tetris<T>> {
        self.closed.pop_front()
    }

    /// Ends allocation for the open consistency point: tetrises being filled are complete as they are.
    pub fn finish(&mut self) {
        self.close_tetris();
        for (_, open) in std::mem::take(&mut self.scattered) {
            self.closed.push_back(open.close());
        }
        for group in &mut self.groups {
            // Holes that the last chunk left stay free until their area is chosen again.
            group.cursor.available = 0;
            group.cursor.spindle = group.map.group().data_spindles();
        }
    }

    /// Makes the consistency point real: what it gave back is free, but for what is held back. Its tetrises are taken
    /// for written. Returns how many blocks became free.
    pub fn commit(&mut self) -> u64 {
        self.finish();
        self.closed.clear();
        self.taken.clear();
        self.consistency_points += 1;
        let mut freed = std::mem::take(&mut self.freed);
        let mut released = 0;
        match self.delayed.take() {
            None => {
                released = self.release_all(&freed);
                freed.clear();
            }
            Some(mut delayed) => {
                for place in freed.drain(..) {
                    let vbn = self.vbn_at(place);
                    delayed.hold_back((vbn.0 / REGION_BLOCKS) as u32, vbn);
                }
                while let Some((_, blocks)) = delayed.reclaim(self.options.delayed_frees) {
                    let places = blocks.iter().filter_map(|vbn| self.locate(*vbn));
                    freed.extend(places.map(|place| self.map_place(place)));
                    released += self.release_all(&freed);
                    freed.clear();
                }
                self.delayed = Some(delayed);
            }
        }
        // Its memory serves the next consistency point.
        self.freed = freed;
        released
    }

    /// Drops the open consistency point: what it took is free again, what it gave back is still used.
    pub fn abandon(&mut self) {
        self.finish();
        self.closed.clear();
        self.freed.clear();
        for Taken { group, spindle, row, mask } in std::mem::take(&mut self.taken) {
            self.groups[group.index()].map.release_mask(spindle, row, mask);
        }
    }

    /// Makes blocks free; how many were not.
    fn release_all(&mut self, places: &[MapPlace]) -> u64 {
        let groups = places.chunk_by(|one, next| one.group() == next.group());
        groups.map(|places| self.groups[places[0].group().index()].map.release_all(places)).sum()
    }

    /// Sets aside a block that something else uses, outside of any consistency point: a superblock, say.
    ///
    /// # Errors
    /// If it is in use or does not exist.
    pub fn set_aside(&mut self, vbn: Vbn) -> Result<(), NotFree> {
        let place = self.locate(vbn).ok_or(NotFree(vbn))?;
        if self.is_used(place) {
            return Err(NotFree(vbn));
        }
        let (row, bit) = (place.location.dbn.0 / ROW_STRIPES, place.location.dbn.0 % ROW_STRIPES);
        self.set_mask_aside(place.group, place.location.spindle, row, 1 << bit);
        Ok(())
    }

    /// Sets aside `share` (0 to 1, in steps of 1/65,536) of the free blocks at random: other data, scattered in runs
    /// of `run_blocks` (a power of two, at most 64) on a spindle. The same seed gives the same blocks. Returns how
    /// many.
    ///
    /// # Errors
    /// If a consistency point is open.
    pub fn set_aside_at_random(
        &mut self,
        share: f64,
        run_blocks: u32,
        seed: u64,
    ) -> Result<u64, CheckpointOpen> {
        self.nothing_open()?;
        let before = self.free_blocks();
        let mut random = Random::new(seed);
        for index in 0..self.groups.len() {
            let group = GroupIndex(index as u16);
            let (rows, spindles) = {
                let group = self.groups[index].map.group();
                (group.stripes().div_ceil(ROW_STRIPES), group.data_spindles())
            };
            for row in 0..rows {
                for spindle in (0..spindles).map(SpindleIndex) {
                    let mask = random.bits_in_runs(share, run_blocks)
                        & self.groups[index].map.free_word(spindle, row);
                    if mask != 0 {
                        self.set_mask_aside(group, spindle, row, mask);
                    }
                }
            }
        }
        Ok(before - self.free_blocks())
    }

    fn set_mask_aside(&mut self, group: GroupIndex, spindle: SpindleIndex, row: u64, mask: u64) {
        let Group { map, cursor, .. } = &mut self.groups[group.index()];
        map.take_mask(spindle, row, mask);
        map.blocks_taken(row, mask.count_ones());
        if cursor.row == row && cursor.spindle == spindle.0 {
            cursor.available &= !mask;
        }
    }

    /// Puts nothing into `area` of `group` from now on, so that it can be emptied; blocks that are nowhere else to be
    /// had are taken from it all the same.
    pub fn withhold_area(&mut self, group: GroupIndex, area: u32) {
        let Group { map, cursor, .. } = &mut self.groups[group.index()];
        map.areas_mut().withhold(area);
        // If it is being filled, that ends with the window.
        if cursor.area_end > 0 && map.area_of(cursor.area_end - 1) == area {
            cursor.area_end = 0;
        }
    }

    /// Puts blocks into `area` of `group` again.
    pub fn give_area_back(&mut self, group: GroupIndex, area: u32) {
        self.groups[group.index()].map.areas_mut().give_back(area);
    }

    /// The areas' scores as of the last commit, to be kept beside the maps so that [`mount`](Self::mount) need not
    /// scan them.
    ///
    /// # Errors
    /// If a consistency point is open.
    pub fn scores(&self) -> Result<SavedScores, CheckpointOpen> {
        self.nothing_open()?;
        Ok(SavedScores::of(self.consistency_points, self.free_maps()))
    }

    /// Bytes held for free maps, their levels and the areas' scores and order.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        self.free_maps().map(FreeMap::bytes).sum()
    }

    /// Proves that counts equal maps, that what the open consistency point took is in use, and that blocks given back
    /// are. Reads all maps.
    ///
    /// # Errors
    /// The first violation, with its place.
    pub fn verify(&self) -> Result<(), AggregateViolation> {
        for (index, group) in self.groups.iter().enumerate() {
            let index = GroupIndex(index as u16);
            group.map.verify().map_err(|found| AggregateViolation::of_map(index, found))?;
        }
        for Taken { group, spindle, row, mask } in &self.taken {
            let free = self.groups[group.index()].map.free_word(*spindle, *row) & mask;
            if let Some(bit) = bits(free).next() {
                let stripe = row * ROW_STRIPES + u64::from(bit);
                return Err(AggregateViolation::TakenIsFree {
                    group: *group,
                    spindle: *spindle,
                    stripe,
                });
            }
        }
        let held_back = self.delayed.iter().flat_map(DelayedFrees::iter);
        for vbn in self.freed.iter().map(|place| self.vbn_at(*place)).chain(held_back) {
            if self.is_free(vbn) {
                return Err(AggregateViolation::GivenBackIsFree(vbn));
            }
        }
        Ok(())
    }
}

fn check_group(group: &ParityGroup, options: &AggregateOptions) -> Result<(), AggregateError> {
    let area_stripes = options.shape.area_stripes;
    let data_spindles = group.data_spindles();
    let area_blocks = area_stripes.checked_mul(data_spindles.into());
    if area_blocks.is_none_or(|blocks| blocks > u64::from(u32::MAX)) {
        return Err(AggregateError::AreaTooLarge { area_stripes, data_spindles });
    }
    let areas = group.stripes().div_ceil(area_stripes);
    if areas > u64::from(u32::MAX) {
        return Err(AggregateError::TooManyAreas(areas));
    }
    if group.total_blocks() > MOST_BLOCKS {
        return Err(AggregateError::TooManyBlocks(group.total_blocks()));
    }
    Ok(())
}

/// What [`Aggregate::verify`] found wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AggregateViolation {
    /// A level of the map says that there is nothing free where there is.
    #[error("group {} at stripe {stripe}: marked full, but has a free block", .group.0)]
    MarkedFull {
        /// The group.
        group: GroupIndex,
        /// The first stripe that the mark covers.
        stripe: u64,
    },
    /// An area's score is not what its map holds.
    #[error("group {}, allocation area {area}: {counted} free blocks counted, its map holds {held}", .group.0)]
    AreaCount {
        /// The group.
        group: GroupIndex,
        /// The area.
        area: u32,
        /// What its score says.
        counted: u32,
        /// What its map says.
        held: u32,
    },
    /// A group's count is not the sum of its areas'.
    #[error("group {}: {counted} free blocks counted, its areas have {held}", .group.0)]
    GroupCount {
        /// The group.
        group: GroupIndex,
        /// What the group says.
        counted: u64,
        /// What the areas say.
        held: u64,
    },
    /// A block taken by the open consistency point is free.
    #[error("group {}, {spindle}, stripe {stripe}: taken by the open consistency point, but free", .group.0)]
    TakenIsFree {
        /// The group.
        group: GroupIndex,
        /// The spindle.
        spindle: SpindleIndex,
        /// The stripe (and DBN).
        stripe: u64,
    },
    /// A block that was given back and is not yet free, is.
    #[error("{0}: given back and not yet to be taken, but free")]
    GivenBackIsFree(Vbn),
}

impl AggregateViolation {
    fn of_map(group: GroupIndex, found: MapViolation) -> Self {
        match found {
            MapViolation::MarkedFull { stripe } => Self::MarkedFull { group, stripe },
            MapViolation::AreaCount { area, counted, held } => {
                Self::AreaCount { group, area, counted, held }
            }
            MapViolation::Total { counted, held } => Self::GroupCount { group, counted, held },
        }
    }
}
