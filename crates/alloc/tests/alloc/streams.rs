//! Policies that keep blocks apart by the hints of their writers, and that choose spindles.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use strewn_alloc::{
    Aggregate, AggregateOptions, AllocationShape, Areas, FullStripes, GroupIndex, Policy,
    PolicyName, SpindleChoice, StreamIndex, WriteLifetime,
};
use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup, SpindleIndex, SpindleSet, Vbn};

const GROUP: GroupIndex = GroupIndex(0);

/// Keeps blocks that live short apart, and those that live long: three streams, each of which fills areas that were
/// empty or that it filled before, the emptiest first.
#[derive(Debug, Default)]
struct Apart {
    filled_by: Vec<StreamIndex>,
}

impl Policy for Apart {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        self.next_area_of(StreamIndex(0), areas)
    }

    fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
        StreamIndex(match lifetime {
            WriteLifetime::Short => 1,
            WriteLifetime::Long | WriteLifetime::Extreme => 2,
            _ => 0,
        })
    }

    fn next_area_of(&mut self, stream: StreamIndex, areas: &mut Areas) -> Option<u32> {
        self.filled_by.resize(areas.count() as usize, stream);
        let free = |area: &u32| areas.free_blocks_in(*area);
        let usable = (0..areas.count()).filter(|area| free(area) > 0 && !areas.is_withheld(*area));
        let rank = |area: &u32| {
            let is_empty = free(area) == areas.area_blocks();
            (is_empty || self.filled_by[*area as usize] == stream, free(area), Reverse(*area))
        };
        let chosen = usable.max_by_key(rank)?;
        self.filled_by[chosen as usize] = stream;
        Some(chosen)
    }
}

/// Hot blocks go to the first spindles, all others to the rest.
#[derive(Debug)]
struct FastSpindles(u16);

impl Policy for FastSpindles {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        areas.emptiest().map(|(area, _)| area)
    }

    fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
        StreamIndex(u16::from(lifetime == WriteLifetime::Short))
    }

    fn chooses_spindles(&self) -> bool {
        true
    }

    fn spindles(&mut self, choice: &SpindleChoice<'_>) -> SpindleSet {
        let fast = SpindleSet::first(self.0);
        match choice.stream {
            StreamIndex(1) => fast,
            _ => SpindleSet::first(choice.free_blocks.len() as u16).difference(fast),
        }
    }
}

fn aggregate(stripes: u64, area_stripes: u64) -> Aggregate<u32> {
    let group = ParityGroup::new(Parity::RaidDp, 4, stripes).unwrap();
    let shape = AllocationShape { area_stripes, ..AllocationShape::default() };
    let options = AggregateOptions { shape, ..AggregateOptions::default() };
    Aggregate::new([group], options).unwrap()
}

/// Adds the stripes of the plan to `stripes`, and commits.
fn commit(aggregate: &mut Aggregate<u32>, stripes: &mut FullStripes) {
    aggregate.finish();
    while let Some(tetris) = aggregate.next_tetris() {
        stripes.add(&tetris);
    }
    aggregate.commit().unwrap();
}

fn area_of(aggregate: &Aggregate<u32>, vbn: Vbn) -> u32 {
    aggregate.free_map(GROUP).area_of(aggregate.place_of(vbn).location.dbn.0)
}

/// The share of full stripes, in steady state, of an aggregate that is three quarters full: of blocks that stay until
/// 400 consistency points later, and of a fifth as many that are overwritten at random nine times as often.
fn full_stripe_share(policy: Option<Box<dyn Policy>>, has_hints: bool) -> f64 {
    let mut aggregate = aggregate(8_192, 256);
    if let Some(policy) = policy {
        aggregate.set_policy(GROUP, policy).unwrap();
    }
    let hint = |lifetime| if has_hints { lifetime } else { WriteLifetime::NotSet };
    let (short, long) = (hint(WriteLifetime::Short), hint(WriteLifetime::Long));
    let mut rng = Rng::new(7);
    let (mut hot, mut cold) = (Vec::new(), VecDeque::new());
    let mut stripes = FullStripes::default();
    for point in 0..1_200 {
        aggregate.begin(500).unwrap();
        for name in 0..500 {
            if name % 10 == 0 {
                cold.push_back(aggregate.allocate_with(name, long).unwrap());
                if cold.len() > 20_000 {
                    let oldest = cold.pop_front().unwrap();
                    aggregate.free_at_commit(oldest).unwrap();
                }
                continue;
            }
            let vbn = aggregate.allocate_with(name, short).unwrap();
            if hot.len() < 4_000 {
                hot.push(vbn);
            } else {
                let block = rng.below(4_000) as usize;
                aggregate.free_at_commit(std::mem::replace(&mut hot[block], vbn)).unwrap();
            }
        }
        let mut unmeasured = FullStripes::default();
        commit(&mut aggregate, if point < 600 { &mut unmeasured } else { &mut stripes });
    }
    aggregate.verify().unwrap();
    stripes.share()
}

#[test]
fn blocks_kept_apart_by_hints_leave_more_full_stripes() {
    let together = full_stripe_share(None, true);
    let without_hints = full_stripe_share(Some(Box::<Apart>::default()), false);
    let apart = full_stripe_share(Some(Box::<Apart>::default()), true);
    println!("full stripes: {together:.3} together, {without_hints:.3} without, {apart:.3} apart");
    assert!(together < 0.1 && without_hints < 0.1 && apart > 0.3);
}

#[test]
fn a_policy_with_one_stream_places_blocks_alike_with_hints_and_without() {
    for policy in PolicyName::ALL {
        let places = [WriteLifetime::NotSet, WriteLifetime::Short].map(|hint| {
            let mut aggregate = aggregate(1_024, 256);
            aggregate.set_policy(GROUP, policy.policy()).unwrap();
            let mut places = Vec::new();
            aggregate.begin(900).unwrap();
            for (name, lifetime) in (0..300).zip([hint, WriteLifetime::NotSet].into_iter().cycle())
            {
                places.push(aggregate.allocate_with(name, lifetime).unwrap());
                places.push(
                    aggregate.allocate_behind_with(name, places.last().copied(), hint).unwrap(),
                );
                aggregate.allocate_all_with(&[name], hint, |_, vbn| places.push(vbn)).unwrap();
            }
            aggregate.finish();
            (places, Vec::from_iter(std::iter::from_fn(|| aggregate.next_tetris())))
        });
        assert_eq!(places[0], places[1], "{policy}");
    }
}

#[test]
fn each_stream_goes_on_with_its_area_in_the_next_consistency_point() {
    let mut aggregate = aggregate(2_048, 256);
    aggregate.set_policy(GROUP, Box::<Apart>::default()).unwrap();
    let hints = [WriteLifetime::Short, WriteLifetime::Long, WriteLifetime::NotSet];
    let mut areas = hints.map(|_| BTreeSet::new());
    for _ in 0..3 {
        aggregate.begin(600).unwrap();
        for name in 0..200 {
            for (lifetime, areas) in hints.into_iter().zip(&mut areas) {
                let vbn = aggregate.allocate_with(name, lifetime).unwrap();
                areas.insert(area_of(&aggregate, vbn));
            }
        }
        commit(&mut aggregate, &mut FullStripes::default());
    }
    assert_eq!(areas, [0, 1, 2].map(|area| BTreeSet::from([area])));
}

/// Two streams that begin with the first area.
#[derive(Debug)]
struct FirstFitApart;

impl Policy for FirstFitApart {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        areas.next_with_free(0)
    }

    fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
        StreamIndex(u16::from(lifetime == WriteLifetime::Short))
    }
}

#[test]
fn an_area_that_a_stream_fills_is_not_offered_to_others() {
    let mut aggregate = aggregate(1_024, 256);
    aggregate.set_policy(GROUP, Box::new(FirstFitApart)).unwrap();
    aggregate.begin(1_000).unwrap();
    for name in 0..500 {
        for (lifetime, area) in [(WriteLifetime::Long, 0), (WriteLifetime::Short, 1)] {
            let vbn = aggregate.allocate_with(name, lifetime).unwrap();
            assert_eq!(area_of(&aggregate, vbn), area, "{lifetime:?}");
        }
    }
    assert!(aggregate.free_map(GROUP).areas().withheld().is_empty());
}

#[test]
fn streams_share_what_is_left_and_then_nothing_is() {
    let mut aggregate = aggregate(512, 256);
    aggregate.set_policy(GROUP, Box::<Apart>::default()).unwrap();
    aggregate.begin(2_048).unwrap();
    let mut taken = BTreeSet::new();
    let hints = [WriteLifetime::Short, WriteLifetime::Long, WriteLifetime::NotSet];
    for (name, lifetime) in (0..2_048).zip(hints.into_iter().cycle()) {
        assert!(taken.insert(aggregate.allocate_with(name, lifetime).unwrap()));
    }
    assert!(aggregate.allocate_with(0, WriteLifetime::Short).is_err());
    commit(&mut aggregate, &mut FullStripes::default());
    aggregate.verify().unwrap();
}

#[test]
fn blocks_go_to_the_spindles_that_the_policy_chooses_while_these_have_room() {
    let mut aggregate = aggregate(1_024, 256);
    aggregate.set_policy(GROUP, Box::new(FastSpindles(1))).unwrap();
    let mut spindles = [BTreeSet::new(), BTreeSet::new()];
    aggregate.begin(1_000).unwrap();
    // Each stream has half of the areas, and of these a spindle, or the three others.
    for name in 0..512 {
        for (lifetime, spindles) in
            [WriteLifetime::Short, WriteLifetime::NotSet].into_iter().zip(&mut spindles)
        {
            let vbn = aggregate.allocate_with(name, lifetime).unwrap();
            spindles.insert(aggregate.place_of(vbn).location.spindle);
        }
    }
    assert_eq!(spindles[0], BTreeSet::from([SpindleIndex(0)]));
    assert_eq!(spindles[1], BTreeSet::from([1, 2, 3].map(SpindleIndex)));
    // All that is free can be had, wherever it is.
    let left = aggregate.free_blocks() as usize;
    let names = vec![0; left];
    aggregate.allocate_all_with(&names, WriteLifetime::Short, |_, _| ()).unwrap();
    assert_eq!(aggregate.free_blocks(), 0);
    commit(&mut aggregate, &mut FullStripes::default());
    aggregate.verify().unwrap();
}
