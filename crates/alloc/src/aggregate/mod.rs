//! An aggregate: the blocks of its parity groups, allocated and freed in consistency points.

mod after_commit;
mod allocate;
mod consistency_point;
mod error;
mod set_aside;
mod streams;
mod verify;

use std::collections::{BTreeMap, VecDeque};

use strewn_base::memory::check_reservable;
use strewn_base::state::SavedValue;
use strewn_raid::{BlockLocation, ParityGroup, ROW_STRIPES, SpindleSet, Vbn};

use crate::delayed_frees::{DelayedFrees, REGION_BLOCKS};
use crate::free_map::{FreeMap, MapPosition};
use crate::group_index::GroupIndex;
use crate::lifetime::WriteLifetime;
use crate::options::{AggregateError, AggregateOptions, MOST_BLOCKS};
use crate::pending_frees::PendingFrees;
use crate::policy::Policy;
use crate::saved_scores::{MountError, SavedScores};
use crate::tetris::{OpenTetris, Tetris};

pub use error::{
    AllocateError, ConsistencyPointError, FreeError, OutOfSpace, SetAsideError, SetPolicyError,
};
pub use verify::AggregateViolation;

/// Where a block of an aggregate lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AggregateLocation {
    /// Parity group, counted from 0.
    pub group: GroupIndex,
    /// The spindle and DBN within the group.
    pub location: BlockLocation,
}

/// The blocks of an aggregate by state. The other counts sum to `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// All data blocks.
    pub total: u64,
    /// Blocks that can be allocated now.
    pub free: u64,
    /// Blocks freed since the last commit: they become free with the next.
    pub freed_at_commit: u64,
    /// Delayed frees ([`AggregateOptions::delayed_frees`]).
    pub held_back: u64,
    /// Blocks in use.
    pub used: u64,
}

/// A parity group of the aggregate, with its allocation cursor.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) map: FreeMap,
    pub(crate) first_vbn: u64,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) cursor: Cursor,
    /// The spindles that the area of the cursor is filled on, if the policy chooses them.
    pub(crate) spindles: SpindleSet,
    /// Cursors and spindles of streams that have had blocks, by their number; that of the stream of the cursor is the
    /// one that the stream of blocks without a hint had.
    pub(crate) parked: Vec<(Cursor, SpindleSet)>,
}

/// The allocation cursor of a group: the next stripe to look at, and the window being filled.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) struct Cursor {
    /// First stripe after the area.
    pub(crate) area_end: u64,
    /// First stripe after the window.
    pub(crate) next_stripe: u64,
    /// The row of words that contains the window, and the stripes of the row that it covers.
    pub(crate) row: u64,
    pub(crate) window: u64,
    /// Free blocks in the window when it was opened.
    pub(crate) window_blocks: u64,
    /// The spindle of the current chunk, and how many others of the window have their turn after it.
    pub(crate) spindle: u16,
    pub(crate) spindles_left: u16,
    /// Free blocks of the current spindle in the window, not yet allocated.
    pub(crate) available: u64,
}

/// Blocks allocated by the open consistency point: those of `mask` in the word of `place`.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) struct Taken {
    pub(crate) place: MapPosition,
    pub(crate) mask: u64,
}

/// The blocks of one or more parity groups, and the write-anywhere allocator over them.
///
/// Blocks are allocated between [`begin`](Self::begin) and [`commit`](Self::commit); a `T` of the caller names the
/// contents of each. The groups take turns, one tetris each. Within a group the policy chooses the allocation area, and
/// the area is filled in chunks, one spindle after the other, so that blocks given in file order lie in order on a
/// spindle. A consistency point begins behind the spindle on which the last one ended, so that a part of a file that is
/// often rewritten does not meet the same spindles each time. Blocks freed with
/// [`free_at_commit`](Self::free_at_commit) can be allocated again only after the commit: until then the previous
/// consistency point refers to them.
///
/// VBNs number the blocks of the first group spindle by spindle, then those of the next.
#[derive(Debug)]
pub struct Aggregate<T> {
    pub(crate) groups: Vec<Group>,
    pub(crate) options: AggregateOptions,
    /// The group whose turn it is.
    pub(crate) turn: usize,
    /// The same of blocks with hints, by their hint.
    pub(crate) turns: [usize; WriteLifetime::ALL.len()],
    pub(crate) keeps_near: bool,
    /// The hint of the blocks being allocated.
    pub(crate) lifetime: WriteLifetime,
    /// For each hint the first that all policies put in the same streams.
    pub(crate) representatives: [WriteLifetime; WriteLifetime::ALL.len()],
    /// The tetris being filled. The map marks its blocks as used when it closes.
    pub(crate) open: Option<OpenTetris<T>>,
    pub(crate) open_blocks: u64,
    /// With a policy that keeps blocks near or has streams, every tetris stays open, by group and row, until the
    /// consistency point is finished; the map marks its blocks as used at once.
    pub(crate) scattered: BTreeMap<(GroupIndex, u64), OpenTetris<T>>,
    pub(crate) closed: VecDeque<Tetris<T>>,
    pub(crate) taken: Vec<Taken>,
    /// Whether a consistency point is open.
    pub(crate) is_open: bool,
    /// Blocks that become free with the commit.
    freed: Vec<MapPosition>,
    /// How many of them were freed before the open consistency point began.
    freed_before: usize,
    /// Those and the delayed frees, to refuse a second free.
    pending: PendingFrees,
    delayed: Option<DelayedFrees>,
    pub(crate) expected_blocks: u64,
    pub(crate) allocated_blocks: u64,
    consistency_points: u64,
}

impl<T: Copy> Aggregate<T> {
    /// An empty aggregate of `groups`.
    ///
    /// # Errors
    /// [`AggregateError`] if the options contradict each other, or there are no blocks or too many.
    pub fn new(
        groups: impl IntoIterator<Item = ParityGroup>,
        options: AggregateOptions,
    ) -> Result<Self, AggregateError> {
        options.shape.check()?;
        let mut aggregate = Self {
            groups: Vec::new(),
            turn: 0,
            turns: [0; WriteLifetime::ALL.len()],
            keeps_near: false,
            lifetime: WriteLifetime::NotSet,
            representatives: [WriteLifetime::NotSet; WriteLifetime::ALL.len()],
            open: None,
            open_blocks: 0,
            scattered: BTreeMap::new(),
            closed: VecDeque::new(),
            taken: Vec::new(),
            is_open: false,
            freed: Vec::new(),
            freed_before: 0,
            pending: PendingFrees::default(),
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
        // After the last group it is the first one's turn, so that the first blocks of an aggregate lie there.
        aggregate.turn = aggregate.groups.len() - 1;
        aggregate.turns.fill(aggregate.turn);
        Ok(aggregate)
    }

    /// Adds an empty parity group, at any time: also while a consistency point is open.
    ///
    /// # Errors
    /// [`AggregateError`] if the aggregate would have too many blocks, the group does not fit the allocation shape, or
    /// the system does not provide the memory for its maps.
    pub fn add_group(&mut self, group: ParityGroup) -> Result<GroupIndex, AggregateError> {
        check_group(&group, self.total_blocks(), &self.options)?;
        check_reservable(FreeMap::bytes_for(&group, self.options.shape.area_stripes))
            .map_err(AggregateError::OutOfMemory)?;
        let area_stripes = self.options.shape.area_stripes;
        self.push(FreeMap::all_free(group, area_stripes, self.options.order))
    }

    /// Mounts an aggregate from its groups, the words of their maps ([`FreeMap::words`]) and the scores of its areas,
    /// all saved at the same consistency point. Nothing is scanned: an aggregate of any size mounts at once.
    ///
    /// So the scores are not compared with the words here. Each area's is when the allocator enters the area, and
    /// [`AllocateError::Scores`] refuses one that differs; [`verify`](Self::verify) compares all.
    ///
    /// Delayed frees are in use in the maps: hand them back with
    /// [`resume_delayed_frees`](Self::resume_delayed_frees).
    ///
    /// # Errors
    /// [`MountError`] if the scores are of another consistency point or of other groups, a score is higher than its
    /// area has blocks, or the number of words does not match a group.
    pub fn mount(
        groups: impl IntoIterator<Item = (ParityGroup, Vec<u64>)>,
        options: AggregateOptions,
        consistency_points: u64,
        scores: SavedScores,
    ) -> Result<Self, MountError> {
        options.shape.check()?;
        let groups: Vec<_> = groups.into_iter().collect();
        let areas = scores.for_groups(
            groups.iter().map(|(group, _)| group),
            options.shape.area_stripes,
            consistency_points,
        )?;
        let mut aggregate = Self::new(groups.iter().map(|(group, _)| *group).take(1), options)?;
        aggregate.groups.clear();
        for (index, ((group, words), scores)) in groups.into_iter().zip(areas).enumerate() {
            check_group(&group, aggregate.total_blocks(), &options)?;
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
        if let Some(delayed) = &mut self.delayed {
            delayed.grow(total.div_ceil(REGION_BLOCKS) as u32);
        }
        let policy = self.options.policy.policy();
        self.keeps_near = policy.keeps_near();
        // The first chunk goes to spindle 0.
        let spindle = map.group().data_spindles() - 1;
        let (cursor, spindles) = (Cursor::before(spindle), streams::EVERY_SPINDLE);
        self.groups.push(Group { map, first_vbn, policy, cursor, spindles, parked: Vec::new() });
        Ok(GroupIndex(index))
    }

    /// Replaces the policy of one group with your own. [`keeps_near`](Self::keeps_near) of the whole aggregate follows
    /// the policy set last. Streams of the policy before are forgotten.
    ///
    /// # Errors
    /// If a consistency point is open, or there is no such group.
    pub fn set_policy(
        &mut self,
        group: GroupIndex,
        policy: Box<dyn Policy>,
    ) -> Result<(), SetPolicyError> {
        self.nothing_open()?;
        let of_group = self.groups.get_mut(group.index());
        let of_group = of_group.ok_or(SetPolicyError::NoSuchGroup(group))?;
        self.keeps_near = policy.keeps_near();
        of_group.policy = policy;
        of_group.parked.clear();
        of_group.spindles = streams::EVERY_SPINDLE;
        self.representatives = WriteLifetime::ALL.map(|lifetime| {
            let same = |first: &WriteLifetime| {
                let mut policies = self.groups.iter().map(|group| &group.policy);
                policies.all(|policy| policy.stream(*first) == policy.stream(lifetime))
            };
            WriteLifetime::ALL.into_iter().find(same).unwrap_or_default()
        });
        Ok(())
    }

    /// Whether the policy places blocks near their neighbours, so that
    /// [`allocate_behind`](Self::allocate_behind) needs to know the neighbour.
    #[inline]
    #[must_use]
    pub fn keeps_near(&self) -> bool {
        self.keeps_near
    }

    /// The options that the aggregate was created with.
    #[must_use]
    pub fn options(&self) -> &AggregateOptions {
        &self.options
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The free maps of the groups, in the order of the groups.
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

    /// Blocks that can be allocated now.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.free_maps().map(FreeMap::free_blocks).sum::<u64>() - self.open_blocks
    }

    /// The blocks by state.
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

    /// Where `vbn` lies; `None` if there is no such block.
    #[inline]
    #[must_use]
    pub fn locate(&self, vbn: Vbn) -> Option<AggregateLocation> {
        (vbn.0 < self.total_blocks()).then(|| self.place_of(vbn))
    }

    /// Where `vbn` lies, which must exist. As fast with a single group as the group's own
    /// [`locate`](ParityGroup::locate).
    ///
    /// # Panics
    /// If there is no such block.
    #[inline(always)]
    #[must_use]
    pub fn place_of(&self, vbn: Vbn) -> AggregateLocation {
        let index = group_of(&self.groups, vbn);
        let group = &self.groups[index.index()];
        let location = group.map.group().locate(Vbn(vbn.0 - group.first_vbn));
        AggregateLocation { group: index, location }
    }

    /// The VBN of the block at `place`.
    ///
    /// # Panics
    /// If there is no such group, or no such block in it.
    #[inline]
    #[must_use]
    pub fn vbn(&self, place: AggregateLocation) -> Vbn {
        let group = &self.groups[place.group.index()];
        let BlockLocation { spindle, dbn } = place.location;
        Vbn(group.first_vbn + group.map.group().vbn(spindle, dbn).0)
    }

    /// The blocks that `tetris` writes, and the contents of each: by spindle, then by ascending DBN.
    ///
    /// # Panics
    /// If the tetris is of another aggregate, which lacks its blocks.
    pub fn blocks_of<'a>(&'a self, tetris: &'a Tetris<T>) -> impl Iterator<Item = (Vbn, T)> + 'a {
        let group = &self.groups[tetris.group.index()];
        tetris.runs().flat_map(move |run| {
            let first = group.first_vbn + group.map.group().vbn(run.spindle, run.first).0;
            (first..).map(Vbn).zip(run.contents.iter().copied())
        })
    }

    /// Whether `vbn` exists and can be allocated.
    #[must_use]
    pub fn is_free(&self, vbn: Vbn) -> bool {
        self.locate(vbn).is_some_and(|place| !self.is_used(place))
    }

    fn is_used(&self, place: AggregateLocation) -> bool {
        let dbn = place.location.dbn.0;
        !self.groups[place.group.index()].map.is_free(place.location)
            || self.open.as_ref().is_some_and(|open| {
                open.tetris.group == place.group
                    && open.row() == dbn / ROW_STRIPES
                    && open.holds(place.location.spindle, dbn % ROW_STRIPES)
            })
    }

    fn nothing_open(&self) -> Result<(), ConsistencyPointError> {
        if self.is_open { Err(ConsistencyPointError::Open) } else { Ok(()) }
    }

    /// The delayed frees: blocks in use in the maps that nothing refers to any more. A store makes this list durable
    /// with the maps of each commit, and after a mount hands it to
    /// [`resume_delayed_frees`](Self::resume_delayed_frees).
    pub fn delayed_frees(&self) -> impl Iterator<Item = Vbn> + '_ {
        self.delayed.iter().flat_map(DelayedFrees::iter)
    }

    /// Withholds `area` of `group` from allocation, so that it can be emptied. Its blocks are still allocated if no
    /// others are free.
    ///
    /// # Panics
    /// If there is no such group or area.
    pub fn withhold_area(&mut self, group: GroupIndex, area: u32) {
        let Group { map, cursor, parked, .. } = &mut self.groups[group.index()];
        map.areas_mut().withhold(area);
        // If the area is being filled, it is left with the end of the window.
        for cursor in parked.iter_mut().map(|(cursor, _)| cursor).chain([cursor]) {
            if cursor.area_end > 0 && map.area_of(cursor.area_end - 1) == area {
                cursor.area_end = 0;
            }
        }
    }

    /// Allows allocation from a withheld `area` of `group` again.
    ///
    /// # Panics
    /// If there is no such group or area.
    pub fn release_area(&mut self, group: GroupIndex, area: u32) {
        self.groups[group.index()].map.areas_mut().release(area);
    }

    /// Whether the area of `vbn` is withheld from allocation.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn is_withheld(&self, vbn: Vbn) -> bool {
        let AggregateLocation { group, location } = self.place_of(vbn);
        let map = &self.groups[group.index()].map;
        map.areas().is_withheld(map.area_of(location.dbn.0))
    }

    /// The scores of all areas as of the last commit, to be saved with the maps so that [`mount`](Self::mount) need not
    /// scan them.
    ///
    /// # Errors
    /// If a consistency point is open.
    pub fn scores(&self) -> Result<SavedScores, ConsistencyPointError> {
        self.nothing_open()?;
        Ok(SavedScores::of(self.consistency_points, self.free_maps()))
    }

    /// Memory of the free maps, their summary levels and the areas, in bytes.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        self.free_maps().map(FreeMap::bytes).sum()
    }
}

/// The group of `vbn`, which must exist.
#[inline(always)]
fn group_of(groups: &[Group], vbn: Vbn) -> GroupIndex {
    match groups.len() {
        1 => GroupIndex(0),
        _ => GroupIndex((groups.partition_point(|group| group.first_vbn <= vbn.0) - 1) as u16),
    }
}

/// Checks a group that is to follow `before` blocks of others.
fn check_group(
    group: &ParityGroup,
    before: u64,
    options: &AggregateOptions,
) -> Result<(), AggregateError> {
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
    let total = before.saturating_add(group.total_blocks());
    if total > MOST_BLOCKS {
        return Err(AggregateError::TooManyBlocks(total));
    }
    Ok(())
}

strewn_base::saved_state! {
    impl for Aggregate<u32> {
        parts: groups, delayed;
        values: turn, keeps_near, open, open_blocks, scattered, closed, taken, is_open, freed, freed_before, pending,
            expected_blocks, allocated_blocks, consistency_points;
        built: options, turns, lifetime, representatives;
    }
}

strewn_base::saved_state! {
    impl for Group {
        parts: map, policy;
        values: cursor;
        // Policies that use them are not saved.
        built: first_vbn, spindles, parked;
    }
}
