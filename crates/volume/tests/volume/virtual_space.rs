//! The block numbers of volumes and their delayed frees, against plain lists.

use proptest::prelude::*;
use strewn_alloc::REGION_BLOCKS;
use strewn_raid::Vbn;
use strewn_volume::{Region, VirtualSpace, VolumeFull, VolumeId, VolumeTooLarge};

#[derive(Debug, Clone)]
enum Step {
    /// Allocates numbers of a volume.
    Allocate(usize, u32),
    /// Holds back blocks that the volume uses: from which part of them, and how many.
    HoldBack(usize, u32),
    /// Reclaims until at most so many are held back.
    Reclaim(u64),
}

/// What volumes hold.
struct Model {
    /// The regions of each volume.
    regions: Vec<std::ops::Range<usize>>,
    /// The aggregate's block behind every number in use, by region.
    used: Vec<Vec<u32>>,
    held_back: Vec<Vec<u32>>,
    next_vbn: u32,
}

impl Model {
    fn numbers_used(&self, region: usize) -> u64 {
        (self.used[region].len() + self.held_back[region].len()) as u64
    }

    fn held_back_blocks(&self) -> u64 {
        self.held_back.iter().map(|blocks| blocks.len() as u64).sum()
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<usize>(), 1..50_000u32)
            .prop_map(|(volume, blocks)| Step::Allocate(volume, blocks)),
        3 => (any::<usize>(), 1..20_000u32).prop_map(|(which, blocks)| Step::HoldBack(which, blocks)),
        2 => (0..30_000u64).prop_map(Step::Reclaim),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn numbers_are_never_overcommitted_and_held_back_blocks_all_come_back(
        volumes in prop::collection::vec(1..=3usize, 1..=3),
        steps in prop::collection::vec(any_step(), 1..25),
    ) {
        let sizes = volumes.iter().map(|regions| *regions as u64 * REGION_BLOCKS);
        let mut space = VirtualSpace::new(sizes).unwrap();
        let regions = volumes.iter().sum();
        prop_assert_eq!(space.regions() as usize, regions);
        let mut next = 0;
        let mut model = Model {
            regions: volumes.iter().map(|regions| { next += regions; next - regions..next }).collect(),
            used: vec![Vec::new(); regions],
            held_back: vec![Vec::new(); regions],
            next_vbn: 0,
        };
        let drain = Step::Reclaim(0);
        for step in steps.iter().chain([&drain]) {
            match *step {
                Step::Allocate(which, blocks) => {
                    allocate(&mut space, &mut model, which % volumes.len(), blocks)?
                }
                Step::HoldBack(which, blocks) => {
                    let region = which % regions;
                    for _ in 0..blocks.min(model.used[region].len() as u32) {
                        let at = which % model.used[region].len();
                        let vbn = model.used[region].swap_remove(at);
                        space.hold_back(Region(region as u16), Vbn(vbn.into()));
                        model.held_back[region].push(vbn);
                    }
                }
                Step::Reclaim(bound) => reclaim(&mut space, &mut model, bound)?,
            }
            prop_assert_eq!(space.held_back_blocks(), model.held_back_blocks());
        }
    }
}

fn allocate(
    space: &mut VirtualSpace,
    model: &mut Model,
    volume: usize,
    blocks: u32,
) -> Result<(), TestCaseError> {
    let mut regions = model.regions[volume].clone();
    let left: u64 = regions.clone().map(|region| REGION_BLOCKS - model.numbers_used(region)).sum();
    prop_assert_eq!(space.free_numbers(VolumeId(volume as u32)), left);
    for _ in 0..blocks {
        let Ok((region, _)) = space.allocate(VolumeId(volume as u32)) else {
            prop_assert!(
                regions.all(|region| model.numbers_used(region) == REGION_BLOCKS),
                "full with numbers left"
            );
            return Ok(());
        };
        let region = usize::from(region.0);
        prop_assert!(regions.contains(&region), "region {} is not volume {}'s", region, volume);
        model.used[region].push(model.next_vbn);
        model.next_vbn += 1;
        prop_assert!(model.numbers_used(region) <= REGION_BLOCKS, "region {} overflows", region);
    }
    Ok(())
}

fn reclaim(space: &mut VirtualSpace, model: &mut Model, bound: u64) -> Result<(), TestCaseError> {
    while let Some((region, blocks)) = space.reclaim(bound) {
        prop_assert!(model.held_back_blocks() > bound, "reclaimed within the bound");
        let most = model.held_back.iter().map(Vec::len).max();
        let expected = std::mem::take(&mut model.held_back[usize::from(region.0)]);
        prop_assert_eq!(Some(expected.len()), most, "not the region that holds back most");
        let expected: Vec<Vbn> = expected.into_iter().map(|vbn| Vbn(vbn.into())).collect();
        prop_assert_eq!(blocks, expected);
    }
    prop_assert!(model.held_back_blocks() <= bound);
    Ok(())
}

#[test]
fn regions_are_used_up_in_order_then_the_emptiest_is_taken() {
    const VOLUME: VolumeId = VolumeId(0);
    let mut space = VirtualSpace::new([3 * REGION_BLOCKS]).unwrap();
    for region in 0..3 {
        for position in 0..REGION_BLOCKS {
            assert_eq!(space.allocate(VOLUME), Ok((Region(region), position as u32)));
        }
    }
    assert_eq!(space.allocate(VOLUME), Err(VolumeFull));
    for (region, blocks) in [(0, 10), (1, 20), (2, 5)] {
        for vbn in 0..blocks {
            space.hold_back(Region(region), Vbn(vbn));
        }
    }
    // What is held back keeps its number.
    assert_eq!(space.allocate(VOLUME), Err(VolumeFull));
    assert_eq!(space.reclaim(15).map(|(region, blocks)| (region.0, blocks.len())), Some((1, 20)));
    assert_eq!(space.reclaim(15), None);
    assert_eq!(space.reclaim(0).map(|(region, blocks)| (region.0, blocks.len())), Some((0, 10)));
    for region in std::iter::repeat_n(1, 20).chain(std::iter::repeat_n(0, 10)) {
        assert_eq!(space.allocate(VOLUME).map(|(region, _)| region), Ok(Region(region)));
    }
    assert_eq!(space.allocate(VOLUME), Err(VolumeFull));
}

#[test]
fn a_volume_has_as_many_regions_as_16_bits_name() {
    assert_eq!(VirtualSpace::new([65_536 * REGION_BLOCKS]).unwrap().regions(), 65_536);
    let blocks = 65_536 * REGION_BLOCKS + 1;
    assert_eq!(VirtualSpace::new([blocks]).map(|_| ()), Err(VolumeTooLarge(blocks)));
    assert_eq!(VirtualSpace::new([1, blocks - 1]).map(|_| ()), Err(VolumeTooLarge(blocks)));
    assert_eq!(VirtualSpace::new([0]).unwrap().regions(), 1);
}
