//! An aggregate against a model of plain sets, through random histories of consistency points.
//!
//! `STREWN_HISTORIES=10000 cargo test --release -p strewn-alloc --test alloc model::` runs that many; 192 without it.

mod history;

use std::collections::{BTreeMap, BTreeSet};

use history::{Action, End, Expectation, History, any_history};
use proptest::prelude::*;
use proptest::sample::Index;
use strewn_alloc::{
    Aggregate, AggregateLocation, AggregateOptions, AllocateError, AllocationShape, AreaOrder,
    Areas, FreeError, FreeMap, GroupIndex, OutOfSpace, Policy, PolicyName, SavedScores,
    SetAsideError, SpindleChoice, StreamIndex, Tetris, WriteLifetime,
};
use strewn_raid::{BlockLocation, Dbn, ParityGroup, SpindleIndex, SpindleSet, Vbn};

/// A policy in three streams, which leaves out other spindles, or all, each time.
#[derive(Debug)]
struct Apart {
    inner: Box<dyn Policy>,
    choices: u64,
}

impl Policy for Apart {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        self.inner.next_area(areas)
    }

    fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
        StreamIndex(match lifetime {
            WriteLifetime::NotSet | WriteLifetime::Medium => 1,
            WriteLifetime::Short => 3,
            _ => 0,
        })
    }

    fn chooses_spindles(&self) -> bool {
        true
    }

    fn spindles(&mut self, choice: &SpindleChoice<'_>) -> SpindleSet {
        self.choices += 1;
        let left_out = self.choices % 5 + u64::from(choice.stream.0);
        choice.with_free().iter().filter(|spindle| u64::from(spindle.0) % 5 != left_out).collect()
    }

    fn keeps_near(&self) -> bool {
        self.inner.keeps_near()
    }
}

/// The aggregate, and what it must look like from outside. What a block holds is named by a number that is never used
/// again.
struct Modelled {
    aggregate: Aggregate<u32>,
    groups: Vec<ParityGroup>,
    options: AggregateOptions,
    /// In use since the last commit, and not given back before.
    used: BTreeSet<u64>,
    /// Given back before the last commit, but held back.
    held_back: BTreeSet<u64>,
    /// Taken by the open consistency point: what for, in order.
    taken: Vec<(u32, u64)>,
    taken_set: BTreeSet<u64>,
    freed: BTreeSet<u64>,
    /// What came out with a tetris.
    in_tetrises: BTreeSet<u32>,
    next_name: u32,
    keeps_apart: bool,
    withheld: BTreeSet<(u16, u32)>,
    /// The allocation area of the block taken last.
    area: Option<u64>,
    /// Whether every area so far was to be the emptiest.
    emptiest_only: bool,
}

impl Modelled {
    fn new(history: &History) -> Self {
        let mut modelled = Self {
            aggregate: Aggregate::new(history.groups.iter().copied(), history.options).unwrap(),
            groups: history.groups.clone(),
            options: history.options,
            used: BTreeSet::new(),
            held_back: BTreeSet::new(),
            taken: Vec::new(),
            taken_set: BTreeSet::new(),
            freed: BTreeSet::new(),
            in_tetrises: BTreeSet::new(),
            next_name: 0,
            keeps_apart: history.keeps_apart,
            withheld: BTreeSet::new(),
            area: None,
            emptiest_only: history.options.order == AreaOrder::Exact
                && history.options.policy == PolicyName::EmptiestArea
                && !history.keeps_apart,
        };
        modelled.keep_apart();
        modelled
    }

    fn keep_apart(&mut self) {
        for group in (0..self.groups.len() as u16).filter(|_| self.keeps_apart) {
            let policy = Apart { inner: self.options.policy.policy(), choices: 0 };
            self.aggregate.set_policy(GroupIndex(group), Box::new(policy)).unwrap();
        }
    }

    /// Hints by turns.
    fn lifetime(&self) -> WriteLifetime {
        WriteLifetime::ALL[self.next_name as usize % WriteLifetime::ALL.len()]
    }

    fn total(&self) -> u64 {
        self.groups.iter().map(ParityGroup::total_blocks).sum()
    }

    fn free_blocks(&self) -> u64 {
        let unavailable: BTreeSet<_> = self.used.union(&self.taken_set).collect();
        self.total() - (unavailable.len() + self.held_back.len()) as u64
    }

    fn name(&mut self) -> u32 {
        self.next_name += 1;
        self.next_name
    }

    fn begin(&mut self, expectation: Expectation) {
        let expected = match expectation {
            Expectation::Generous => self.total(),
            Expectation::Blocks(blocks) => blocks,
        };
        assert_eq!(self.aggregate.begin(expected), Ok(()));
    }

    fn took(&mut self, name: u32, vbn: Vbn) -> Result<(), TestCaseError> {
        prop_assert!(vbn.0 < self.total());
        prop_assert!(!self.used.contains(&vbn.0), "{} is in use and was given again", vbn);
        prop_assert!(!self.held_back.contains(&vbn.0), "{} is held back and was given again", vbn);
        self.check_choice_of_area(vbn)?;
        prop_assert!(self.taken_set.insert(vbn.0), "{} was given twice", vbn);
        self.taken.push((name, vbn.0));
        Ok(())
    }

    /// Whether a block was to be had; if not, nothing may be free.
    fn allocated(
        &mut self,
        name: u32,
        found: Result<Vbn, AllocateError>,
    ) -> Result<bool, TestCaseError> {
        match found {
            Ok(vbn) => self.took(name, vbn).map(|()| true),
            Err(refused) => {
                prop_assert_eq!(refused, OutOfSpace { needed: 1, free: 0 }.into());
                prop_assert_eq!(self.free_blocks(), 0, "out of space with free blocks left");
                Ok(false)
            }
        }
    }

    fn allocate(&mut self) -> Result<bool, TestCaseError> {
        let name = self.name();
        let found = match self.lifetime() {
            WriteLifetime::NotSet => self.aggregate.allocate(name),
            lifetime => self.aggregate.allocate_with(name, lifetime),
        };
        self.allocated(name, found)
    }

    fn allocate_all(&mut self, blocks: usize) -> Result<(), TestCaseError> {
        let names: Vec<u32> = (0..blocks).map(|_| self.name()).collect();
        let mut placed = Vec::new();
        let free = self.free_blocks();
        let lifetime = self.lifetime();
        let placed_at = |name, vbn| placed.push((name, vbn));
        match self.aggregate.allocate_all_with(&names, lifetime, placed_at) {
            Ok(()) => {
                prop_assert!(placed.iter().map(|(name, _)| *name).eq(names.iter().copied()));
                placed.into_iter().try_for_each(|(name, vbn)| self.took(name, vbn))
            }
            Err(out_of_space) => {
                prop_assert_eq!(out_of_space, OutOfSpace { needed: blocks as u64, free }.into());
                prop_assert!(placed.is_empty() && blocks as u64 > free);
                Ok(())
            }
        }
    }

    fn allocate_behind(&mut self, from: Index, blocks: usize) -> Result<(), TestCaseError> {
        let used: Vec<u64> = self.used.iter().copied().collect();
        let mut neighbour = (!used.is_empty()).then(|| Vbn(*from.get(&used)));
        for _ in 0..blocks {
            let name = self.name();
            let near = neighbour.and_then(|neighbour| self.near(neighbour));
            let found = self.aggregate.allocate_behind_with(name, neighbour, self.lifetime());
            if !self.allocated(name, found)? {
                break;
            }
            if self.options.policy == PolicyName::NearNeighbours
                && let Some(near) = near
            {
                prop_assert_eq!(found, Ok(near));
            }
            neighbour = found.ok();
        }
        Ok(())
    }

    /// The free block next behind `neighbour` in its chunk, if its area is not withheld.
    fn near(&self, neighbour: Vbn) -> Option<Vbn> {
        let place = self.aggregate.locate(neighbour)?;
        let BlockLocation { spindle, dbn } = place.location;
        let stripes = self.groups[place.group.index()].stripes();
        let end = (dbn.0 / self.options.shape.chunk_blocks + 1) * self.options.shape.chunk_blocks;
        let end = end.min(stripes);
        (dbn.0 + 1..end)
            .find_map(|dbn| {
                let vbn = self.vbn(place.group, spindle, dbn);
                let gone = self.used.contains(&vbn) || self.taken_set.contains(&vbn);
                (!gone && !self.held_back.contains(&vbn)).then_some((vbn, dbn))
            })
            .filter(|(_, dbn)| !self.withheld.contains(&(place.group.0, self.area_of(*dbn))))
            .map(|(vbn, _)| Vbn(vbn))
    }

    fn area_of(&self, dbn: u64) -> u32 {
        (dbn / self.options.shape.area_stripes) as u32
    }

    fn vbn(&self, group: GroupIndex, spindle: SpindleIndex, dbn: u64) -> u64 {
        self.aggregate
            .vbn(AggregateLocation { group, location: BlockLocation { spindle, dbn: Dbn(dbn) } })
            .0
    }

    /// With one group and the exact order a new area is entered only where most blocks are free; of several, the
    /// lowest.
    fn check_choice_of_area(&mut self, vbn: Vbn) -> Result<(), TestCaseError> {
        self.emptiest_only &= self.groups.len() == 1 && self.withheld.is_empty();
        if !self.emptiest_only {
            return Ok(());
        }
        let area_of =
            |vbn: u64| self.groups[0].locate(Vbn(vbn)).dbn.0 / self.options.shape.area_stripes;
        let area = area_of(vbn.0);
        if self.area == Some(area) {
            return Ok(());
        }
        let areas = self.groups[0].stripes().div_ceil(self.options.shape.area_stripes);
        let mut free = vec![0i64; areas as usize];
        for vbn in 0..self.total() {
            free[area_of(vbn) as usize] += 1;
        }
        for vbn in self.used.iter().chain(&self.taken_set).chain(&self.held_back) {
            free[area_of(*vbn) as usize] -= 1;
        }
        let most = *free.iter().max().unwrap();
        let emptiest = free.iter().position(|blocks| *blocks == most).unwrap() as u64;
        prop_assert_eq!(area, emptiest, "areas have {:?} free blocks", free);
        self.area = Some(area);
        Ok(())
    }

    fn free(&mut self, vbn: u64) -> Result<(), TestCaseError> {
        self.freed.insert(vbn);
        prop_assert_eq!(self.aggregate.free_at_commit(Vbn(vbn)), Ok(()));
        let twice = Err(FreeError::AlreadyFreed(Vbn(vbn)));
        prop_assert_eq!(self.aggregate.free_at_commit(Vbn(vbn)), twice);
        Ok(())
    }

    fn free_some(&mut self, which: &[Index]) -> Result<(), TestCaseError> {
        let used: Vec<u64> = self.used.iter().copied().collect();
        let chosen: Vec<u64> = which
            .iter()
            .filter(|_| !used.is_empty())
            .map(|index| *index.get(&used))
            .filter(|vbn| !self.freed.contains(vbn))
            .collect();
        chosen.into_iter().collect::<BTreeSet<_>>().into_iter().try_for_each(|vbn| self.free(vbn))
    }

    fn free_share(&mut self, percent: usize) -> Result<(), TestCaseError> {
        // Every so-many-th block, so that what becomes free is in fragments.
        let used: Vec<u64> = self.used.difference(&self.freed).copied().collect();
        let every = used.iter().enumerate().filter(|(at, _)| at * percent % 100 < percent);
        every.map(|(_, vbn)| *vbn).try_for_each(|vbn| self.free(vbn))
    }

    fn free_taken(&mut self, which: Index) -> Result<(), TestCaseError> {
        let taken: Vec<u64> = self.taken_set.difference(&self.freed).copied().collect();
        if taken.is_empty() { Ok(()) } else { self.free(*which.get(&taken)) }
    }

    fn set_aside(&mut self, which: Index) -> Result<(), TestCaseError> {
        let vbn = which.index(self.total() as usize + 1) as u64;
        let gone = self.used.contains(&vbn)
            || self.taken_set.contains(&vbn)
            || self.held_back.contains(&vbn);
        if gone || vbn == self.total() {
            prop_assert_eq!(
                self.aggregate.set_aside(Vbn(vbn)),
                Err(SetAsideError::NotFree(Vbn(vbn)))
            );
        } else {
            prop_assert_eq!(
                self.aggregate.free_at_commit(Vbn(vbn)),
                Err(FreeError::NotInUse(Vbn(vbn)))
            );
            prop_assert_eq!(self.aggregate.set_aside(Vbn(vbn)), Ok(()));
            self.used.insert(vbn);
        }
        Ok(())
    }

    /// What comes out is what was taken, each block once, where it was said to lie.
    fn take_tetrises(&mut self) -> Result<(), TestCaseError> {
        let places: BTreeMap<u32, u64> = self.taken.iter().copied().collect();
        while let Some(tetris) = self.aggregate.next_tetris() {
            self.check_tetris(&tetris, &places)?;
        }
        Ok(())
    }

    fn check_tetris(
        &mut self,
        tetris: &Tetris<u32>,
        places: &BTreeMap<u32, u64>,
    ) -> Result<(), TestCaseError> {
        let AllocationShape { tetris_stripes, .. } = self.options.shape;
        prop_assert!(!tetris.contents.is_empty(), "an empty tetris");
        prop_assert_eq!(tetris.blocks() as usize, tetris.contents.len());
        let mut spindle_before = None;
        for run in tetris.runs() {
            prop_assert!(spindle_before <= Some(run.spindle), "spindles out of order");
            spindle_before = Some(run.spindle);
            for (dbn, name) in (run.first.0..).zip(run.contents) {
                let vbn = self.vbn(tetris.group, run.spindle, dbn);
                prop_assert_eq!(places.get(name), Some(&vbn), "{} is written elsewhere", name);
                prop_assert!(self.in_tetrises.insert(*name), "{} is written twice", name);
            }
        }
        if self.options.policy != PolicyName::NearNeighbours && !self.keeps_apart {
            let stripes = tetris.stripes_touched();
            let first = stripes.trailing_zeros() as u64 / tetris_stripes;
            prop_assert_eq!(first, u64::from(63 - stripes.leading_zeros()) / tetris_stripes);
        }
        let group = &self.groups[tetris.group.index()];
        for write in tetris.stripes(group) {
            let changed = tetris.changed_in((write.stripe - tetris.first_stripe) as u32);
            prop_assert_eq!(write.update, group.plan_stripe(changed));
        }
        Ok(())
    }

    /// What holds at any time: the counts fit the maps, and these are short of exactly what is not free.
    fn check_counts(&mut self) -> Result<(), TestCaseError> {
        self.take_tetrises()?;
        prop_assert_eq!(self.aggregate.verify(), Ok(()));
        prop_assert_eq!(self.aggregate.free_blocks(), self.free_blocks());
        let counts = self.aggregate.counts();
        prop_assert_eq!(counts.held_back, self.held_back.len() as u64);
        prop_assert_eq!(counts.freed_at_commit, self.freed.len() as u64);
        let sum = counts.free + counts.used + counts.freed_at_commit + counts.held_back;
        prop_assert_eq!(sum, self.total());
        Ok(())
    }

    fn end(&mut self, end: End) -> Result<(), TestCaseError> {
        if end == End::Abandon {
            self.aggregate.abandon().unwrap();
        } else {
            self.aggregate.finish();
            self.check_counts()?;
            prop_assert_eq!(self.in_tetrises.len(), self.taken.len(), "the tetrises lack blocks");
            let released = self.aggregate.commit().unwrap();
            self.used.append(&mut self.taken_set);
            self.used.retain(|vbn| !self.freed.contains(vbn));
            self.held_back.append(&mut self.freed);
            self.find_out_what_is_held_back(released)?;
        }
        prop_assert_eq!(self.aggregate.next_tetris(), None);
        self.taken.clear();
        self.taken_set.clear();
        self.freed.clear();
        self.in_tetrises.clear();
        if end == End::Remount {
            self.remount();
            self.area = None;
        }
        self.check_counts()?;
        self.check_maps()
    }

    /// Which of the blocks given back are free now is the aggregate's choice, but not how many it may keep.
    fn find_out_what_is_held_back(&mut self, released: u64) -> Result<(), TestCaseError> {
        let before = self.held_back.len() as u64;
        self.held_back.retain(|vbn| !self.aggregate.is_free(Vbn(*vbn)));
        prop_assert_eq!(before - self.held_back.len() as u64, released);
        prop_assert!(self.held_back.len() as u64 <= self.options.delayed_frees);
        Ok(())
    }

    /// What is held back is in use as far as maps know; a mounted aggregate is told.
    fn remount(&mut self) {
        let scores = SavedScores::from_bytes(&self.aggregate.scores().unwrap().to_bytes()).unwrap();
        let words: Vec<Vec<u64>> =
            self.aggregate.free_maps().map(|map| map.words().to_vec()).collect();
        let at = self.aggregate.consistency_points();
        let with_words = || self.groups.iter().copied().zip(words.iter().map(Vec::as_slice));
        let counted = SavedScores::counted(at, self.options.shape.area_stripes, with_words());
        assert_eq!(scores, counted);
        let groups = self.groups.iter().copied().zip(words);
        let delayed: Vec<Vbn> = self.aggregate.delayed_frees().collect();
        assert!(delayed.iter().all(|vbn| self.held_back.contains(&vbn.0)));
        assert_eq!(delayed.len(), self.held_back.len());
        self.aggregate = Aggregate::mount(groups, self.options, at, scores).unwrap();
        self.aggregate.resume_delayed_frees(&delayed).unwrap();
        self.keep_apart();
        self.withheld.clear();
    }

    /// Between consistency points the maps are the model, block by block, seen any way they can be.
    fn check_maps(&self) -> Result<(), TestCaseError> {
        for (index, group) in self.groups.iter().enumerate() {
            let index = GroupIndex(index as u16);
            let map = self.aggregate.free_map(index);
            for spindle in (0..group.data_spindles()).map(SpindleIndex) {
                self.check_spindle(map, index, spindle)?;
            }
        }
        Ok(())
    }

    fn check_spindle(
        &self,
        map: &FreeMap,
        group: GroupIndex,
        spindle: SpindleIndex,
    ) -> Result<(), TestCaseError> {
        let stripes = map.group().stripes();
        let runs: Vec<_> = map.free_runs(spindle, 0..stripes).collect();
        for pair in runs.windows(2) {
            prop_assert!(pair[0].end < pair[1].start, "runs touch: {:?}", pair);
        }
        let in_runs: BTreeSet<u64> = runs.into_iter().flatten().collect();
        for dbn in 0..stripes {
            let vbn = self.vbn(group, spindle, dbn);
            let location = BlockLocation { spindle, dbn: Dbn(dbn) };
            prop_assert_eq!(
                self.aggregate.locate(Vbn(vbn)),
                Some(AggregateLocation { group, location })
            );
            let free = !self.used.contains(&vbn) && !self.held_back.contains(&vbn);
            prop_assert_eq!(self.aggregate.is_free(Vbn(vbn)), free);
            prop_assert_eq!(map.is_free(location), free);
            prop_assert_eq!(in_runs.contains(&dbn), free);
            prop_assert_eq!(map.free_word(spindle, dbn / 64) >> (dbn % 64) & 1 == 1, free);
        }
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<(), TestCaseError> {
        match action {
            Action::Allocate(blocks) => {
                for _ in 0..*blocks {
                    if !self.allocate()? {
                        break;
                    }
                }
            }
            Action::AllocateAll(blocks) => self.allocate_all(*blocks)?,
            Action::AllocateBehind(from, blocks) => self.allocate_behind(*from, *blocks)?,
            Action::Fill => {
                while self.allocate()? {}
                // Asking again does no harm and finds nothing.
                prop_assert!(!self.allocate()?);
                prop_assert_eq!(self.free_blocks(), 0);
            }
            Action::FillToTheLast => {
                let free = self.free_blocks() as usize;
                self.allocate_all(free.saturating_sub(1))?;
                prop_assert_eq!(self.allocate()?, free > 0);
                prop_assert!(!self.allocate()?);
            }
            Action::Free(which) => self.free_some(which)?,
            Action::FreeShare(percent) => self.free_share(*percent)?,
            Action::FreeTaken(which) => self.free_taken(*which)?,
            Action::TakeTetrises => self.take_tetrises()?,
            Action::SetAside(which) => self.set_aside(*which)?,
            Action::Withhold(which) => {
                let group = GroupIndex(which.index(self.groups.len()) as u16);
                let areas = self.aggregate.free_map(group).areas().count();
                let area = which.index(areas as usize) as u32;
                self.aggregate.withhold_area(group, area);
                self.withheld.insert((group.0, area));
            }
            Action::GiveAreasBack => {
                for (group, area) in std::mem::take(&mut self.withheld) {
                    self.aggregate.release_area(GroupIndex(group), area);
                }
            }
            Action::AddGroup(group) => {
                if self.groups.len() < 4 {
                    let index = self.aggregate.add_group(*group).unwrap();
                    prop_assert_eq!(index.index(), self.groups.len());
                    self.groups.push(*group);
                }
            }
        }
        self.check_counts()
    }
}

fn histories() -> u32 {
    std::env::var("STREWN_HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(192)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(histories()))]

    #[test]
    fn blocks_are_neither_lost_nor_given_twice(history in any_history()) {
        let mut modelled = Modelled::new(&history);
        for (actions, expectation, end) in &history.consistency_points {
            modelled.begin(*expectation);
            for action in actions {
                modelled.run(action)?;
            }
            modelled.end(*end)?;
        }
    }

    #[test]
    fn all_that_was_free_can_be_taken_after_an_abandoned_fill(
        mut history in any_history(),
        percent in 1..=100usize,
    ) {
        history.options.delayed_frees = 0;
        let mut modelled = Modelled::new(&history);
        modelled.begin(Expectation::Generous);
        modelled.run(&Action::Fill)?;
        modelled.end(End::Commit)?;
        // Nothing is free until the commit of what gives blocks back.
        modelled.begin(Expectation::Blocks(0));
        modelled.run(&Action::FreeShare(percent))?;
        prop_assert!(!modelled.allocate()?);
        modelled.end(End::Commit)?;
        let free_blocks = modelled.aggregate.free_blocks();
        for end in [End::Abandon, End::Commit] {
            modelled.begin(Expectation::Generous);
            modelled.run(&Action::Fill)?;
            prop_assert_eq!(modelled.taken.len() as u64, free_blocks);
            modelled.end(end)?;
        }
        prop_assert_eq!(modelled.aggregate.free_blocks(), 0);
    }
}
