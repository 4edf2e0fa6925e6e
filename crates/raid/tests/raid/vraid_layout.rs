//! What a VRAID-5 layout promises, checked over whole layouts and over random ones.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use strewn_raid::{
    Member, SpindleIndex, StripeMember, StripeUnit, StripedLayout, VraidConfig, VraidLayout,
};

/// A small layout with the structure of a real one: 16 stripes an RStore, two sectors a chunk.
fn small(redundancy_sets: Vec<u16>, rounds: u64) -> VraidLayout {
    let config = VraidConfig { redundancy_sets, chunk_bytes: 1024, segment_bytes: 16 << 10 };
    // Four segments more than the rounds need: they must stay unused.
    VraidLayout::new(config, (rounds * 5 + 4) * (16 << 10)).unwrap()
}

fn rstore_sectors(layout: &VraidLayout) -> u64 {
    4 * layout.config().segment_sectors()
}

fn stripe_sectors(layout: &VraidLayout) -> u64 {
    4 * layout.config().chunk_sectors()
}

/// The set of each spindle.
fn sets_of_spindles(layout: &VraidLayout) -> Vec<usize> {
    let sets = layout.config().redundancy_sets.iter().enumerate();
    sets.flat_map(|(set, &spindles)| std::iter::repeat_n(set, usize::from(spindles))).collect()
}

/// The spindles of RStore `rstore`: those of the four data chunks of its first stripe, and that
/// of its parity.
fn rstore_spindles(layout: &VraidLayout, rstore: u64) -> BTreeSet<SpindleIndex> {
    let first_sector = rstore * rstore_sectors(layout);
    (0..4)
        .map(|chunk| layout.locate(first_sector + chunk * layout.config().chunk_sectors()))
        .flat_map(|place| [place.spindle, place.parity_spindle])
        .collect()
}

fn check_every_sector(layout: &VraidLayout, rounds: u64) {
    let used_sectors = rounds * 5 * layout.config().segment_sectors();
    let chunk_sectors = layout.config().chunk_sectors();
    let mut lun_sectors_met = vec![false; layout.lun_capacity_sectors() as usize];
    let mut parity_sectors = 0;
    for spindle in (0..layout.spindles()).map(SpindleIndex) {
        for sector in 0..used_sectors {
            match layout.lun_sector_of(spindle, sector).unwrap() {
                StripeMember::Data { lun_sector } => {
                    let met = &mut lun_sectors_met[lun_sector as usize];
                    assert!(!std::mem::replace(met, true), "LUN sector {lun_sector} met twice");
                    let place = layout.locate(lun_sector);
                    assert_eq!((place.spindle, place.sector_on_spindle), (spindle, sector));
                    let left = chunk_sectors - lun_sector % chunk_sectors;
                    assert_eq!(u64::from(place.sectors_left_in_chunk), left);
                }
                StripeMember::Parity { stripe, sector_in_chunk } => {
                    parity_sectors += 1;
                    let first = stripe * stripe_sectors(layout) + u64::from(sector_in_chunk);
                    let mut members = BTreeSet::from([spindle]);
                    for chunk in 0..4 {
                        let place = layout.locate(first + chunk * chunk_sectors);
                        assert_eq!((place.parity_spindle, place.parity_sector), (spindle, sector));
                        members.insert(place.spindle);
                    }
                    assert_eq!(members.len(), 5, "a stripe lies on five spindles");
                }
            }
        }
        assert_eq!(layout.lun_sector_of(spindle, used_sectors), None);
    }
    assert!(lun_sectors_met.iter().all(|&met| met), "a LUN sector has no place");
    assert_eq!(parity_sectors * 4, layout.lun_capacity_sectors());
    assert_eq!(layout.lun_sector_of(SpindleIndex(layout.spindles()), 0), None);
}

#[test]
fn every_sector_of_two_sets_of_ten_has_one_place() {
    check_every_sector(&small(vec![10, 10], 3), 3);
}

#[test]
fn unequal_sets_fill_completely() {
    check_every_sector(&small(vec![5, 16, 7], 4), 4);
}

/// The closed form for sets of equal size, spelt out: RStore `s` goes to set `s mod 2` and is
/// its `k = s / 2`th, in round `k / 10` and turned by `k mod 10`.
#[test]
fn equal_sets_take_turns() {
    let layout = small(vec![10, 10], 30);
    let sets = sets_of_spindles(&layout);
    let segment_sectors = layout.config().segment_sectors();
    for rstore in 0..600 {
        let (set, k) = (rstore % 2, rstore / 2);
        // Stripe 0 has its parity on member 0, whose offset is 0.
        let place = layout.locate(rstore * rstore_sectors(&layout));
        assert_eq!(sets[place.spindle.index()] as u64, set);
        assert_eq!(u64::from(place.parity_spindle.0), set * 10 + k % 10);
        assert_eq!(place.parity_sector, k / 10 * 5 * segment_sectors);
        assert_eq!(place.sector_on_spindle, (k / 10 * 5 + 1) * segment_sectors);
    }
}

#[test]
fn unequal_sets_come_up_in_proportion_and_evenly() {
    let layout = small(vec![6, 12], 2);
    let sets = sets_of_spindles(&layout);
    let turns = (0..36)
        .map(|rstore| sets[layout.locate(rstore * rstore_sectors(&layout)).spindle.index()])
        .collect::<Vec<_>>();
    for three in turns.chunks(3) {
        assert_eq!(three.iter().filter(|&&set| set == 0).count(), 1, "{turns:?}");
    }
}

#[test]
fn load_is_exact_in_every_round() {
    for redundancy_sets in [vec![10, 10], vec![5], vec![11, 8, 6], vec![16, 5]] {
        let rounds = 7;
        let layout = small(redundancy_sets, rounds);
        let round_chunks = u64::from(layout.spindles()) * 16 * 4;
        let chunk_sectors = layout.config().chunk_sectors();
        for round in 0..rounds {
            let mut data_chunks = vec![0; usize::from(layout.spindles())];
            let mut parity_updates = data_chunks.clone();
            for chunk in round * round_chunks..(round + 1) * round_chunks {
                let place = layout.locate(chunk * chunk_sectors);
                data_chunks[place.spindle.index()] += 1;
                parity_updates[place.parity_spindle.index()] += 1;
            }
            assert!(data_chunks.iter().all(|&chunks| chunks == 64), "{data_chunks:?}");
            assert!(parity_updates.iter().all(|&updates| updates == 64), "{parity_updates:?}");
        }
    }
}

#[test]
fn every_combination_of_five_comes_up_five_times() {
    for (spindles, rounds, combinations) in [(5, 1, 1), (8, 35, 56), (10, 126, 252)] {
        let layout = small(vec![spindles], rounds);
        let mut times = BTreeMap::new();
        for rstore in 0..rounds * u64::from(spindles) {
            *times.entry(rstore_spindles(&layout, rstore)).or_insert(0) += 1;
        }
        assert_eq!(times.len(), combinations, "{spindles} spindles");
        assert!(times.values().all(|&times| times == 5), "{spindles} spindles");
        assert!(times.keys().all(|members| members.len() == 5));
    }
}

/// A twentieth of the rounds already pairs every spindle of a set with every other.
#[test]
fn a_small_lun_meets_many_combinations() {
    let layout = small(vec![10], 6);
    let met = (0..60).map(|rstore| rstore_spindles(&layout, rstore)).collect::<BTreeSet<_>>();
    assert!(met.len() >= 50, "{} combinations", met.len());
    for first in (0..10).map(SpindleIndex) {
        for second in (0..10).map(SpindleIndex).filter(|&second| second != first) {
            assert!(met.iter().any(|set| set.contains(&first) && set.contains(&second)));
        }
    }
}

/// 20 spindles of 146.8 GB: 1.25 times 100 GiB takes 6.25 GiB of each, 4.6 % of its stroke.
#[test]
fn footprint_of_the_measured_file() {
    let bytes_per_spindle = 286_749_488 * 512;
    let layout = VraidLayout::new(VraidConfig::new(vec![10, 10]), bytes_per_spindle).unwrap();
    assert_eq!(rstore_sectors(&layout) * 512, 8 << 20);
    let last = (100 << 30) / 512 - 1;
    let place = layout.locate(last);
    let span = place.sector_on_spindle.max(place.parity_sector) as f64 / 286_749_488.0;
    assert!((0.0455..0.0462).contains(&span), "{span}");
    let unused_bytes = 20 * bytes_per_spindle - layout.lun_capacity_bytes() / 4 * 5;
    assert!(unused_bytes < 20 * 10 * (1 << 20), "less than five segments a spindle");
}

#[test]
fn layouts_that_cannot_be_made_say_why() {
    let message = |sets: Vec<u16>, bytes| {
        VraidLayout::new(VraidConfig::new(sets), bytes).unwrap_err().to_string()
    };
    assert_eq!(
        message(vec![10], 9 << 20),
        "a spindle holds 5 segments of 2097152 bytes or more; 9437184 bytes hold 4"
    );
    assert_eq!(
        message(vec![8, 17], 1 << 40),
        "a redundancy set has 5 to 16 spindles (6 to 11 as an EVA keeps them); set 1 has 17"
    );
    assert_eq!(
        message(vec![8], u64::MAX / 2),
        "8 spindles of 9223372036854775807 bytes are more bytes than 64 bits can count"
    );
}

fn any_sets() -> impl Strategy<Value = Vec<u16>> {
    proptest::collection::vec(5..=16_u16, 1..=12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_sector_has_one_place(
        sets in proptest::collection::vec(5..=16_u16, 1..=3),
        rounds in 1..5_u64,
    ) {
        check_every_sector(&small(sets, rounds), rounds);
    }
}

proptest! {
    #[test]
    fn sectors_map_there_and_back_at_full_scale(
        sets in any_sets(),
        chunk_shift in 9..22_u32,
        stripes_shift in 0..7_u32,
        bytes_per_spindle in 3_u64 << 30..4 << 40,
        anywhere: u64,
    ) {
        let config = VraidConfig {
            redundancy_sets: sets,
            chunk_bytes: 1 << chunk_shift,
            segment_bytes: 1 << (chunk_shift + stripes_shift),
        };
        let layout = VraidLayout::new(config, bytes_per_spindle).unwrap();
        let sets = sets_of_spindles(&layout);
        let last = layout.lun_capacity_sectors() - 1;
        for lun_sector in [0, anywhere % (last + 1), last] {
            let place = layout.locate(lun_sector);
            prop_assert!(place.sector_on_spindle < bytes_per_spindle / 512);
            prop_assert!(place.parity_sector < bytes_per_spindle / 512);
            prop_assert_eq!(
                layout.lun_sector_of(place.spindle, place.sector_on_spindle),
                Some(StripeMember::Data { lun_sector })
            );
            let chunk_sectors = layout.config().chunk_sectors();
            prop_assert_eq!(
                layout.lun_sector_of(place.parity_spindle, place.parity_sector),
                Some(StripeMember::Parity {
                    stripe: lun_sector / stripe_sectors(&layout),
                    sector_in_chunk: (lun_sector % chunk_sectors) as u32,
                })
            );
            let members = rstore_spindles(&layout, lun_sector / rstore_sectors(&layout));
            prop_assert_eq!(members.len(), 5);
            let sets_met = members.iter().map(|spindle| sets[spindle.index()]);
            prop_assert_eq!(sets_met.collect::<BTreeSet<_>>().len(), 1);
        }
    }
}

/// The members of a stripe lie where its sectors are located, and a spindle knows them again.
#[test]
fn stripes_are_where_their_sectors_are() {
    for sets in [vec![5], vec![10, 10], vec![6, 5, 16]] {
        let layout = small(sets, 7);
        let chunk_sectors = layout.config().chunk_sectors();
        assert_eq!(layout.stripes() * stripe_sectors(&layout), layout.lun_capacity_sectors());
        for number in 0..layout.stripes() {
            let stripe = layout.stripe(number);
            for (member, unit) in stripe.units() {
                let StripeUnit { spindle, sector } = unit;
                assert_eq!(layout.stripe_on(spindle, sector + 1), Some((number, member)));
                let Member(position) = member;
                if member == stripe.shape().row_parity() {
                    continue;
                }
                let first = number * stripe_sectors(&layout) + u64::from(position) * chunk_sectors;
                let place = layout.locate(first);
                assert_eq!((place.spindle, place.sector_on_spindle), (spindle, sector));
                let parity = stripe.unit(stripe.shape().row_parity());
                assert_eq!(
                    (place.parity_spindle, place.parity_sector),
                    (parity.spindle, parity.sector)
                );
            }
        }
    }
}
