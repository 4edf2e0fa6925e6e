//! Freeing many blocks at once does what freeing them one by one does.

use std::collections::HashSet;

use proptest::prelude::*;
use strewn_alloc::{Aggregate, AggregateOptions, AllocationShape, FreeError};
use strewn_raid::{Parity, ParityGroup, Vbn};

/// Three groups of 7, 1 and 20 data spindles.
fn aggregate(delayed_frees: u64) -> Aggregate<u32> {
    let group = |spindles, stripes| ParityGroup::new(Parity::RaidDp, spindles, stripes).unwrap();
    let shape = AllocationShape { area_stripes: 64, ..AllocationShape::default() };
    let options = AggregateOptions { shape, delayed_frees, ..AggregateOptions::default() };
    Aggregate::new([group(7, 200), group(1, 1_000), group(20, 77)], options).unwrap()
}

proptest! {
    #[test]
    fn together_is_as_one_by_one(
        steps in prop::collection::vec((0..900u32, prop::collection::vec(0..4_000u64, 0..700)), 1..8),
        delayed_frees in prop_oneof![Just(0), 1..500u64],
    ) {
        let mut together = aggregate(delayed_frees);
        let mut singly = aggregate(delayed_frees);
        for (take, give) in steps {
            // Most often blocks of the tetris being filled are among those given back.
            let contents: Vec<u32> = (0..take).collect();
            let mut taken = [Vec::new(), Vec::new()];
            for (aggregate, taken) in [&mut together, &mut singly].into_iter().zip(&mut taken) {
                aggregate.begin(u64::from(take)).unwrap();
                if aggregate.free_blocks() >= u64::from(take) {
                    aggregate.allocate_all(&contents, |_, vbn| taken.push(vbn)).unwrap();
                }
            }
            prop_assert_eq!(&taken[0], &taken[1]);
            let give: Vec<Vbn> = give.into_iter().map(Vbn).collect();
            let before = together.counts();
            let delayed: Vec<Vbn> = together.delayed_frees().collect();
            prop_assert_eq!(delayed.len() as u64, before.held_back);
            let mut seen: HashSet<Vbn> = delayed.iter().copied().collect();
            let refused = |vbn: &Vbn| {
                if singly.is_free(*vbn) || vbn.0 >= singly.total_blocks() {
                    return Some(FreeError::NotInUse(*vbn));
                }
                (!seen.insert(*vbn)).then_some(FreeError::AlreadyFreed(*vbn))
            };
            let first_refused = give.iter().find_map(refused);
            prop_assert_eq!(together.free_all_at_commit(&give), first_refused.map_or(Ok(()), Err));
            if first_refused.is_some() {
                prop_assert_eq!(together.counts(), before, "none of them is given back");
                let used: Vec<Vbn> = give.iter().copied().filter(|vbn| singly.free_at_commit(*vbn).is_ok()).collect();
                together.free_all_at_commit(&used).unwrap();
            } else {
                give.iter().for_each(|vbn| singly.free_at_commit(*vbn).unwrap());
            }
            together.discard_plan();
            singly.discard_plan();
            prop_assert_eq!(together.verify(), Ok(()));
            prop_assert_eq!(together.commit(), singly.commit());
            prop_assert_eq!(together.counts(), singly.counts());
            prop_assert_eq!(together.verify(), Ok(()));
        }
        let (one, other) = (together.free_maps(), singly.free_maps());
        prop_assert!(one.zip(other).all(|(one, other)| one.words() == other.words()));
    }
}
