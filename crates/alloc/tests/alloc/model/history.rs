//! Random histories of an aggregate.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use strewn_alloc::{AggregateOptions, AllocationShape, AreaOrder, PolicyName};
use strewn_raid::{Parity, ParityGroup};

/// What happens in or between consistency points.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Allocate(usize),
    /// A list at once.
    AllocateAll(usize),
    /// Each behind the one before, from some block in use on.
    AllocateBehind(Index, usize),
    /// Allocates until the aggregate says that nothing is left.
    Fill,
    /// Takes all but one block, then the last free block.
    FillToTheLast,
    /// Gives back some of the blocks that the last commit left in use.
    Free(Vec<Index>),
    /// Gives back a share of them, in percent: what makes room after a fill.
    FreeShare(usize),
    /// Gives back a block that this consistency point took.
    FreeTaken(Index),
    /// Takes the tetrises that are complete.
    TakeTetrises,
    /// Sets one block aside, free or not.
    SetAside(Index),
    Withhold(Index),
    GiveAreasBack,
    AddGroup(ParityGroup),
}

#[derive(Debug, Clone)]
pub(super) struct History {
    pub(super) groups: Vec<ParityGroup>,
    pub(super) options: AggregateOptions,
    /// Whether the policy keeps blocks apart by hints, and chooses spindles.
    pub(super) keeps_apart: bool,
    pub(super) consistency_points: Vec<(Vec<Action>, Expectation, End)>,
}

/// How well the blocks to come are guessed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expectation {
    Generous,
    Blocks(u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    Commit,
    Abandon,
    /// Commits, and goes on with an aggregate mounted from maps and scores.
    Remount,
}

fn any_options() -> impl Strategy<Value = AggregateOptions> {
    let shape = (select(vec![64, 128, 192, 256]), 0..=6u32)
        .prop_flat_map(|(area_stripes, tetris)| (Just(area_stripes), Just(tetris), 0..=tetris))
        .prop_map(|(area_stripes, tetris, chunk)| AllocationShape {
            area_stripes,
            tetris_stripes: 1 << tetris,
            chunk_blocks: 1 << chunk,
        });
    let order = select(vec![AreaOrder::Exact, AreaOrder::Binned]);
    let delayed_frees = prop_oneof![3 => Just(0), 1 => 1..2_000u64];
    (shape, select(PolicyName::ALL.to_vec()), order, delayed_frees).prop_map(
        |(shape, policy, order, delayed_frees)| AggregateOptions {
            shape,
            policy,
            order,
            delayed_frees,
            ..AggregateOptions::default()
        },
    )
}

/// A group, sometimes of a single block.
fn any_group() -> impl Strategy<Value = ParityGroup> {
    let size = prop_oneof![1 => Just((1u16, 1u64)), 1 => (Just(1u16), 1..=400u64), 6 => (1..=26u16, 1..=400u64)];
    size.prop_map(|(spindles, stripes)| {
        ParityGroup::new(Parity::RaidDp, spindles, stripes).unwrap()
    })
}

pub(super) fn any_history() -> impl Strategy<Value = History> {
    let action = prop_oneof![
        6 => (0..600usize).prop_map(Action::Allocate),
        6 => (0..1_500usize).prop_map(Action::AllocateAll),
        3 => (any::<Index>(), 1..200usize).prop_map(|(from, count)| Action::AllocateBehind(from, count)),
        1 => Just(Action::Fill),
        1 => Just(Action::FillToTheLast),
        3 => prop::collection::vec(any::<Index>(), 1..200).prop_map(Action::Free),
        2 => (1..=100usize).prop_map(Action::FreeShare),
        1 => any::<Index>().prop_map(Action::FreeTaken),
        2 => Just(Action::TakeTetrises),
        1 => any::<Index>().prop_map(Action::SetAside),
        1 => any::<Index>().prop_map(Action::Withhold),
        1 => Just(Action::GiveAreasBack),
        1 => any_group().prop_map(Action::AddGroup),
    ];
    let expectation =
        prop_oneof![Just(Expectation::Generous), (0..1_000u64).prop_map(Expectation::Blocks)];
    let end = prop_oneof![4 => Just(End::Commit), 2 => Just(End::Abandon), 1 => Just(End::Remount)];
    let consistency_point = (prop::collection::vec(action, 0..8), expectation, end);
    let groups = prop_oneof![
        3 => prop::collection::vec(any_group(), 1..=1),
        1 => prop::collection::vec(any_group(), 2..=3),
    ];
    let consistency_points = prop::collection::vec(consistency_point, 1..12);
    (groups, any_options(), prop::bool::weighted(0.4), consistency_points).prop_map(
        |(groups, options, keeps_apart, consistency_points)| History {
            groups,
            options,
            keeps_apart,
            consistency_points,
        },
    )
}
