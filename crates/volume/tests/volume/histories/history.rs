//! Random histories of volumes.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use strewn_alloc::{AggregateOptions, AllocationShape, AreaOrder, PolicyName};
use strewn_raid::{Parity, ParityGroup};

/// What happens in a consistency point.
#[derive(Debug, Clone)]
pub enum Action {
    CreateFile(Index),
    DeleteFile(Index, Index),
    /// Blocks from one on, so many steps of so many blocks.
    Write {
        volume: Index,
        file: Index,
        first: u64,
        count: u64,
        order: Order,
    },
    /// Writes new blocks until nothing is left, the last one by one.
    Fill {
        volume: Index,
        file: Index,
    },
    Punch {
        volume: Index,
        file: Index,
        first: u64,
        count: u64,
    },
    Truncate {
        volume: Index,
        file: Index,
        first: u64,
    },
    /// The length of a file, and the byte that its attributes are.
    Describe {
        volume: Index,
        file: Index,
        length: u64,
        attribute: u8,
    },
    /// The next item of mending, done at once or kept for later.
    Mend {
        blocks: u64,
        later: bool,
    },
    MendKept,
    /// Plans anew amid the consistency point, also for what it has written and moved.
    MendFile {
        volume: Index,
        file: Index,
        blocks: u64,
    },
}

#[derive(Debug, Clone, Copy)]
pub enum Order {
    Ascending,
    Descending,
    /// Every block twice, in strides.
    Twice,
    Far,
}

/// What happens between consistency points.
#[derive(Debug, Clone)]
pub enum Deed {
    ConsistencyPoint {
        expected: u64,
        actions: Vec<Action>,
        end: End,
    },
    CreateVolume {
        blocks: u64,
    },
    DestroyVolume(Index),
    /// One of a few names, which another volume may have, or none.
    Name(Index, Option<u8>),
    Snapshot(Index),
    DeleteSnapshot(Index, Index),
    Clone {
        volume: Index,
        snapshot: Index,
        blocks: u64,
    },
    Background {
        steps: u64,
    },
    Reserve {
        volume: Index,
        blocks: u64,
    },
    Reallocate {
        volume: Index,
        file: Index,
        segment: u64,
        most_extents: u64,
    },
    Clean {
        areas: usize,
    },
    StopMending,
    /// The aggregate grows.
    AddGroup {
        data_spindles: u16,
        stripes: u64,
    },
    /// Writes a block and takes a snapshot, over and over.
    Storm {
        volume: Index,
        file: Index,
        snapshots: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Commit,
    /// With everything written.
    Abandon,
    AbandonUnfinished,
    /// A persistent store is committed and mounted; others are committed.
    Remount,
    /// The program ends before the root is written, so that a persistent store is mounted as the last commit left it;
    /// others are abandoned.
    Crash,
}

#[derive(Debug, Clone)]
pub struct History {
    pub groups: Vec<ParityGroup>,
    pub options: AggregateOptions,
    /// Blocks in use by something else, in percent.
    pub elsewhere_percent: u32,
    pub is_persistent: bool,
    pub deeds: Vec<Deed>,
}

fn any_action() -> impl Strategy<Value = Action> {
    let (volume, file) = (any::<Index>, any::<Index>);
    let order = select(vec![
        Order::Ascending,
        Order::Ascending,
        Order::Descending,
        Order::Twice,
        Order::Far,
    ]);
    prop_oneof![
        2 => volume().prop_map(Action::CreateFile),
        1 => (volume(), file()).prop_map(|(volume, file)| Action::DeleteFile(volume, file)),
        10 => (volume(), file(), 0..90u64, 1..70u64, order).prop_map(|(volume, file, first, count, order)| {
            Action::Write { volume, file, first, count, order }
        }),
        1 => (volume(), file()).prop_map(|(volume, file)| Action::Fill { volume, file }),
        2 => (volume(), file(), 0..90u64, 1..90u64).prop_map(|(volume, file, first, count)| {
            Action::Punch { volume, file, first, count }
        }),
        1 => (volume(), file(), 0..90u64).prop_map(|(volume, file, first)| {
            Action::Truncate { volume, file, first }
        }),
        2 => (volume(), file(), any::<u64>(), any::<u8>()).prop_map(|(volume, file, length, attribute)| {
            Action::Describe { volume, file, length, attribute }
        }),
        4 => (1..80u64, any::<bool>()).prop_map(|(blocks, later)| Action::Mend { blocks, later }),
        1 => (volume(), file(), 1..60u64).prop_map(|(volume, file, blocks)| {
            Action::MendFile { volume, file, blocks }
        }),
        2 => Just(Action::MendKept),
    ]
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let volume = any::<Index>;
    let end = prop_oneof![
        5 => Just(End::Commit),
        1 => Just(End::Abandon),
        1 => Just(End::AbandonUnfinished),
        2 => Just(End::Remount),
        1 => Just(End::Crash),
    ];
    let actions = prop::collection::vec(any_action(), 0..6);
    prop_oneof![
        12 => (0..300u64, actions, end).prop_map(|(expected, actions, end)| {
            Deed::ConsistencyPoint { expected, actions, end }
        }),
        1 => (1..400u64).prop_map(|blocks| Deed::CreateVolume { blocks }),
        1 => volume().prop_map(Deed::DestroyVolume),
        2 => (volume(), prop::option::weighted(0.8, 0..4u8)).prop_map(|(volume, name)| Deed::Name(volume, name)),
        5 => volume().prop_map(Deed::Snapshot),
        4 => (volume(), volume()).prop_map(|(volume, snapshot)| Deed::DeleteSnapshot(volume, snapshot)),
        2 => (volume(), volume(), 1..300u64).prop_map(|(volume, snapshot, blocks)| {
            Deed::Clone { volume, snapshot, blocks }
        }),
        5 => prop_oneof![1..12u64, Just(100_000)].prop_map(|steps| Deed::Background { steps }),
        1 => (volume(), 0..120u64).prop_map(|(volume, blocks)| Deed::Reserve { volume, blocks }),
        2 => (volume(), volume(), prop_oneof![1..30u64, Just(0)], 0..4u64).prop_map(
            |(volume, file, segment, most_extents)| Deed::Reallocate { volume, file, segment, most_extents }
        ),
        2 => (1..4usize).prop_map(|areas| Deed::Clean { areas }),
        1 => Just(Deed::StopMending),
        1 => (1..3u16, 1..100u64).prop_map(|(data_spindles, stripes)| {
            Deed::AddGroup { data_spindles, stripes }
        }),
    ]
}

fn any_shape() -> impl Strategy<Value = AllocationShape> {
    (select(vec![64, 128]), 0..=6u32)
        .prop_flat_map(|(area_stripes, tetris)| (Just(area_stripes), Just(tetris), 0..=tetris))
        .prop_map(|(area_stripes, tetris, chunk)| AllocationShape {
            area_stripes,
            tetris_stripes: 1 << tetris,
            chunk_blocks: 1 << chunk,
        })
}

fn any_options() -> impl Strategy<Value = AggregateOptions> {
    let order = select(vec![AreaOrder::Exact, AreaOrder::Binned]);
    let policy = select(PolicyName::ALL.to_vec());
    let delayed_frees = prop_oneof![3 => Just(0u64), 1 => 1..40u64];
    (any_shape(), policy, order, delayed_frees).prop_map(|(shape, policy, order, delayed_frees)| {
        AggregateOptions { shape, policy, order, delayed_frees, ..Default::default() }
    })
}

/// One group or several, of one block or several hundred.
fn any_groups() -> impl Strategy<Value = Vec<ParityGroup>> {
    let stripes = prop_oneof![1 => 1..=3u64, 4 => 1..=300u64];
    let group = (1..=4u16, stripes).prop_map(|(data_spindles, stripes)| {
        ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap()
    });
    let one_block = Just(vec![ParityGroup::new(Parity::Raid4, 1, 1).unwrap()]);
    prop_oneof![1 => one_block, 12 => prop::collection::vec(group, 1..4)]
}

pub fn any_history() -> impl Strategy<Value = History> {
    let elsewhere = prop_oneof![2 => Just(0u32), 1 => 1..60u32];
    let deeds = prop::collection::vec(any_deed(), 1..40);
    let is_persistent = prop::bool::weighted(0.6);
    (any_groups(), any_options(), elsewhere, is_persistent, deeds).prop_map(
        |(groups, options, elsewhere_percent, is_persistent, deeds)| History {
            groups,
            options,
            elsewhere_percent,
            is_persistent,
            deeds,
        },
    )
}

/// Histories with more snapshots than anything else.
pub fn any_storm() -> impl Strategy<Value = History> {
    let storm = (any::<Index>(), any::<Index>(), 50..70usize)
        .prop_map(|(volume, file, snapshots)| Deed::Storm { volume, file, snapshots });
    let deletion =
        || (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Deed::DeleteSnapshot(a, b));
    let deeds =
        (storm, prop::collection::vec(prop_oneof![1 => any_deed(), 2 => deletion()], 10..60));
    let is_persistent = any::<bool>();
    (any_groups(), any_options(), is_persistent, deeds).prop_map(
        |(groups, options, is_persistent, (storm, mut deeds))| {
            deeds.insert(deeds.len() / 4, storm);
            History { groups, options, elsewhere_percent: 0, is_persistent, deeds }
        },
    )
}
