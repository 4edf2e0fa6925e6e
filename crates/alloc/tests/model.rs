//! An aggregate against a model of plain sets, through random histories of consistency points.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use strewn_alloc::{Aggregate, AggregateError, AllocationShape, OutOfSpace, Tetris};
use strewn_raid::{BlockLocation, Dbn, Parity, ParityGroup, SpindleIndex, Vbn};

/// What a consistency point does before it ends.
#[derive(Debug, Clone)]
enum Action {
    Allocate(usize),
    /// Allocates until the aggregate says that nothing is left.
    Fill,
    /// Gives back some of the blocks that the last commit left in use.
    Free(Vec<Index>),
    /// Gives back a share of them, in percent: what makes room after a fill.
    FreeShare(usize),
    /// Takes the tetrises that are complete.
    TakeTetrises,
}

#[derive(Debug, Clone)]
struct History {
    group: ParityGroup,
    shape: AllocationShape,
    consistency_points: Vec<(Vec<Action>, Expectation, End)>,
}

/// How well the blocks to come are guessed.
#[derive(Debug, Clone, Copy)]
enum Expectation {
    Generous,
    Blocks(u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Commit,
    Abandon,
}

fn any_shape() -> impl Strategy<Value = AllocationShape> {
    (select(vec![64, 128, 192, 256]), 0..=6u32)
        .prop_flat_map(|(area_stripes, tetris)| (Just(area_stripes), Just(tetris), 0..=tetris))
        .prop_map(|(area_stripes, tetris, chunk)| AllocationShape {
            area_stripes,
            tetris_stripes: 1 << tetris,
            chunk_blocks: 1 << chunk,
        })
}

fn any_history() -> impl Strategy<Value = History> {
    let action = prop_oneof![
        6 => (0..600usize).prop_map(Action::Allocate),
        1 => Just(Action::Fill),
        3 => prop::collection::vec(any::<Index>(), 1..200).prop_map(Action::Free),
        2 => (1..=100usize).prop_map(Action::FreeShare),
        2 => Just(Action::TakeTetrises),
    ];
    let expectation =
        prop_oneof![Just(Expectation::Generous), (0..1_000u64).prop_map(Expectation::Blocks),];
    let end = prop_oneof![3 => Just(End::Commit), 1 => Just(End::Abandon)];
    let consistency_point = (prop::collection::vec(action, 0..8), expectation, end);
    (1..=26u16, 1..=400u64, any_shape(), prop::collection::vec(consistency_point, 1..12)).prop_map(
        |(data_spindles, stripes, shape, consistency_points)| History {
            group: ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap(),
            shape,
            consistency_points,
        },
    )
}

/// The aggregate, and what it must look like from outside.
struct Modelled {
    aggregate: Aggregate,
    shape: AllocationShape,
    /// In use since the last commit.
    used: BTreeSet<u64>,
    /// Taken by the open consistency point, in order.
    taken: Vec<u64>,
    taken_set: BTreeSet<u64>,
    freed: BTreeSet<u64>,
    /// How many of `taken` came out with a tetris.
    in_tetrises: usize,
    expected_blocks: u64,
    /// The allocation area of the block taken last.
    area: Option<u64>,
}

impl Modelled {
    fn new(history: &History) -> Self {
        Self {
            aggregate: Aggregate::new(history.group, history.shape).unwrap(),
            shape: history.shape,
            used: BTreeSet::new(),
            taken: Vec::new(),
            taken_set: BTreeSet::new(),
            freed: BTreeSet::new(),
            in_tetrises: 0,
            expected_blocks: 0,
            area: None,
        }
    }

    fn group(&self) -> ParityGroup {
        *self.aggregate.group()
    }

    fn nothing_is_free(&self) -> bool {
        (self.used.len() + self.taken.len()) as u64 == self.group().total_blocks()
    }

    fn begin(&mut self, expected_blocks: u64) {
        self.expected_blocks = expected_blocks;
        self.aggregate.begin(expected_blocks);
    }

    fn allocate(&mut self) -> Result<bool, TestCaseError> {
        let vbn = match self.aggregate.allocate() {
            Ok(vbn) => vbn.0,
            Err(OutOfSpace) => {
                prop_assert!(self.nothing_is_free(), "out of space with free blocks left");
                return Ok(false);
            }
        };
        prop_assert!(vbn < self.group().total_blocks());
        prop_assert!(!self.used.contains(&vbn), "VBN {} is in use and was given again", vbn);
        self.check_choice_of_area(vbn)?;
        prop_assert!(self.taken_set.insert(vbn), "VBN {} was given twice", vbn);
        self.taken.push(vbn);
        Ok(true)
    }

    /// A new area is entered only where most blocks are free; of several, the lowest.
    fn check_choice_of_area(&mut self, vbn: u64) -> Result<(), TestCaseError> {
        let area_of = |vbn: u64| self.group().locate(Vbn(vbn)).dbn.0 / self.shape.area_stripes;
        let area = area_of(vbn);
        if self.area == Some(area) {
            return Ok(());
        }
        let areas = self.group().stripes().div_ceil(self.shape.area_stripes);
        let mut free = vec![0i64; areas as usize];
        for vbn in 0..self.group().total_blocks() {
            free[area_of(vbn) as usize] += 1;
        }
        for vbn in self.used.iter().chain(&self.taken_set) {
            free[area_of(*vbn) as usize] -= 1;
        }
        let most = *free.iter().max().unwrap();
        let emptiest = free.iter().position(|blocks| *blocks == most).unwrap() as u64;
        prop_assert_eq!(area, emptiest, "areas have {:?} free blocks", free);
        self.area = Some(area);
        Ok(())
    }

    fn free(&mut self, vbn: u64) {
        if self.freed.insert(vbn) {
            self.aggregate.free_at_commit(Vbn(vbn));
        }
    }

    fn free_some(&mut self, which: &[Index]) {
        let used: Vec<u64> = self.used.iter().copied().collect();
        if !used.is_empty() {
            which.iter().for_each(|index| self.free(*index.get(&used)));
        }
    }

    fn free_share(&mut self, percent: usize) {
        // Every so-many-th block, so that what becomes free is in fragments.
        let used: Vec<u64> = self.used.iter().copied().collect();
        for (_, vbn) in used.iter().enumerate().filter(|(at, _)| at * percent % 100 < percent) {
            self.free(*vbn);
        }
    }

    /// What comes out is what was taken, each block once, in order.
    fn take_tetrises(&mut self) -> Result<(), TestCaseError> {
        while let Some(tetris) = self.aggregate.next_tetris() {
            let end = self.in_tetrises + tetris.blocks() as usize;
            prop_assert!(end <= self.taken.len(), "a tetris has blocks that were not allocated");
            self.check_tetris(&tetris, &self.taken[self.in_tetrises..end])?;
            self.in_tetrises = end;
        }
        Ok(())
    }

    fn check_tetris(&self, tetris: &Tetris, allocated: &[u64]) -> Result<(), TestCaseError> {
        let group = self.group();
        prop_assert!(!allocated.is_empty(), "an empty tetris");
        let blocks: BTreeSet<u64> = (0..group.data_spindles())
            .map(SpindleIndex)
            .flat_map(|spindle| (0..64).map(move |bit| (spindle, bit)))
            .filter(|(spindle, bit)| tetris.written[spindle.index()] >> bit & 1 == 1)
            .map(|(spindle, bit)| group.vbn(spindle, Dbn(tetris.first_stripe + bit)).0)
            .collect();
        prop_assert_eq!(&blocks, &allocated.iter().copied().collect());

        let places: Vec<BlockLocation> =
            allocated.iter().map(|vbn| group.locate(Vbn(*vbn))).collect();
        let tetris_of = |place: &BlockLocation| place.dbn.0 / self.shape.tetris_stripes;
        prop_assert!(places.iter().all(|place| tetris_of(place) == tetris_of(&places[0])));
        // A guess that was too low cuts chunks into shallower ones.
        let guess_holds = self.taken.len() as u64 <= self.expected_blocks;
        for pair in places.windows(2) {
            let chunk_of = |place: &BlockLocation| place.dbn.0 / self.shape.chunk_blocks;
            let (before, after) = (chunk_of(&pair[0]), chunk_of(&pair[1]));
            prop_assert!(before <= after, "went back from chunk {} to {}", before, after);
            if before == after && guess_holds {
                prop_assert!(pair[0] < pair[1], "not spindle by spindle: {:?}", pair);
            }
        }
        let mut last_dbn = vec![None; group.data_spindles().into()];
        for place in places {
            let last = &mut last_dbn[place.spindle.index()];
            prop_assert!(*last < Some(place.dbn), "descends on {}", place.spindle);
            *last = Some(place.dbn);
        }
        Ok(())
    }

    /// What holds at any time: the counts fit the map, and the map is short of exactly what is in use and what
    /// came out in tetrises.
    fn check_counts(&mut self) -> Result<(), TestCaseError> {
        self.take_tetrises()?;
        prop_assert_eq!(self.aggregate.free_map().verify(), Ok(()));
        let not_free = (self.used.len() + self.in_tetrises) as u64;
        let free_blocks = self.aggregate.free_map().free_blocks();
        prop_assert_eq!(free_blocks, self.group().total_blocks() - not_free);
        Ok(())
    }

    fn end(&mut self, end: End) -> Result<(), TestCaseError> {
        match end {
            End::Commit => {
                self.aggregate.finish();
                self.check_counts()?;
                let in_tetrises = self.in_tetrises;
                prop_assert_eq!(in_tetrises, self.taken.len(), "the tetrises lack blocks");
                prop_assert_eq!(self.aggregate.commit(), self.freed.len() as u64);
                self.used.retain(|vbn| !self.freed.contains(vbn));
                self.used.append(&mut self.taken_set);
            }
            End::Abandon => self.aggregate.abandon(),
        }
        prop_assert_eq!(self.aggregate.next_tetris(), None);
        self.taken.clear();
        self.taken_set.clear();
        self.freed.clear();
        self.in_tetrises = 0;
        self.check_counts()?;
        self.check_map()
    }

    /// Between consistency points the map is the model, block by block, seen any way it can be.
    fn check_map(&self) -> Result<(), TestCaseError> {
        let (map, group) = (self.aggregate.free_map(), self.group());
        for spindle in (0..group.data_spindles()).map(SpindleIndex) {
            let runs: Vec<_> = map.free_runs(spindle).collect();
            for pair in runs.windows(2) {
                prop_assert!(pair[0].end < pair[1].start, "runs touch: {:?}", pair);
            }
            let in_runs: BTreeSet<u64> = runs.into_iter().flatten().collect();
            for dbn in 0..group.stripes() {
                let free = !self.used.contains(&group.vbn(spindle, Dbn(dbn)).0);
                prop_assert_eq!(map.is_free(BlockLocation { spindle, dbn: Dbn(dbn) }), free);
                prop_assert_eq!(in_runs.contains(&dbn), free);
                prop_assert_eq!(map.free_word(spindle, dbn / 64) >> (dbn % 64) & 1 == 1, free);
            }
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
            Action::Fill => {
                while self.allocate()? {}
                // Asking again does no harm and finds nothing.
                prop_assert!(!self.allocate()?);
                prop_assert!(self.nothing_is_free());
            }
            Action::Free(which) => self.free_some(which),
            Action::FreeShare(percent) => self.free_share(*percent),
            Action::TakeTetrises => self.take_tetrises()?,
        }
        self.check_counts()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn blocks_are_neither_lost_nor_given_twice(history in any_history()) {
        let mut modelled = Modelled::new(&history);
        for (actions, expectation, end) in &history.consistency_points {
            modelled.begin(match expectation {
                Expectation::Generous => history.group.total_blocks(),
                Expectation::Blocks(blocks) => *blocks,
            });
            for action in actions {
                modelled.run(action)?;
            }
            modelled.end(*end)?;
        }
    }

    #[test]
    fn all_that_was_free_can_be_taken_after_an_abandoned_fill(
        history in any_history(),
        percent in 1..=100usize,
    ) {
        let mut modelled = Modelled::new(&history);
        let total = history.group.total_blocks();
        modelled.begin(total);
        modelled.run(&Action::Fill)?;
        modelled.end(End::Commit)?;
        // Nothing is free until the commit of what gives blocks back.
        modelled.begin(0);
        modelled.run(&Action::FreeShare(percent))?;
        prop_assert!(!modelled.allocate()?);
        modelled.end(End::Commit)?;
        let free_blocks = modelled.aggregate.free_map().free_blocks();
        for end in [End::Abandon, End::Commit] {
            modelled.begin(total);
            modelled.run(&Action::Fill)?;
            prop_assert_eq!(modelled.taken.len() as u64, free_blocks);
            modelled.end(end)?;
        }
        prop_assert_eq!(modelled.aggregate.free_map().free_blocks(), 0);
    }
}

#[test]
fn a_block_given_back_comes_again_after_the_commit_and_not_before() {
    let group = ParityGroup::new(Parity::Raid4, 2, 3).unwrap();
    let mut aggregate = Aggregate::new(group, AllocationShape::default()).unwrap();
    aggregate.begin(6);
    let blocks: Vec<Vbn> = std::iter::from_fn(|| aggregate.allocate().ok()).collect();
    assert_eq!(blocks.len(), 6);
    aggregate.commit();

    aggregate.begin(1);
    aggregate.free_at_commit(blocks[4]);
    assert_eq!(aggregate.allocate(), Err(OutOfSpace));
    assert_eq!(aggregate.commit(), 1);

    aggregate.begin(1);
    assert_eq!(aggregate.allocate(), Ok(blocks[4]));
    assert_eq!(aggregate.allocate(), Err(OutOfSpace));
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let group = ParityGroup::new(Parity::RaidDp, 4, 1_000).unwrap();
    let refused = |area_stripes, tetris_stripes, chunk_blocks| {
        Aggregate::new(group, AllocationShape { area_stripes, tetris_stripes, chunk_blocks })
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(refused(0, 64, 64), AggregateError::AreaStripes(0));
    assert_eq!(refused(100, 64, 64), AggregateError::AreaStripes(100));
    assert_eq!(refused(128, 0, 1), AggregateError::TetrisStripes(0));
    assert_eq!(refused(128, 128, 64), AggregateError::TetrisStripes(128));
    assert_eq!(refused(128, 24, 8), AggregateError::TetrisStripes(24));
    assert_eq!(refused(128, 16, 0), AggregateError::ChunkBlocks { chunk: 0, tetris: 16 });
    assert_eq!(refused(128, 16, 32), AggregateError::ChunkBlocks { chunk: 32, tetris: 16 });
    assert_eq!(refused(128, 16, 6), AggregateError::ChunkBlocks { chunk: 6, tetris: 16 });
}
