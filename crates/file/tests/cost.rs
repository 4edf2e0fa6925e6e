//! What files cost, by arithmetic that can be followed.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strewn_file::{
    Address, AddressSpace, ContiguousPlacement, CostOptions, CostPass, Device, Extent,
    FileCommands, FileWorkload, Order, Place, RequestPlan, SpindleModel, VdevKind, VdevShape,
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn device(bytes: u64) -> Device {
    Device {
        name: "sda".into(),
        bytes: Some(bytes),
        rotational: Some(true),
        stack: Vec::new(),
        queue: None,
    }
}

fn disk() -> AddressSpace {
    AddressSpace::direct(vec![device(16_000 * GIB)])
}

fn at(offset: u64, bytes: u64, byte: u64) -> Extent {
    Extent { offset, bytes, place: Place::At(Address::new(byte)), shared: false }
}

/// RAID-Z2 of six disks, and a file of 8 KiB blocks that are `step` apart in its addresses.
fn raid_z2(step: u64) -> (AddressSpace, Vec<Extent>) {
    let shape = VdevShape { kind: VdevKind::RaidZ { parity: 2 }, ashift: 12, children: 6 };
    let space = AddressSpace::pool(vec![(shape, vec![device(GIB).into(); 6])]);
    let block = |number: u64| {
        let place = Place::Block {
            at: Address::new(number * step),
            stored_bytes: 8192,
            allocated_bytes: 24_576,
        };
        Extent { offset: number * 8192, bytes: 8192, place, shared: false }
    };
    (space, (0..1024).map(block).collect())
}

/// A file of blocks all apart, in a scattered order that follows from a multiplication; there is a power of two of
/// them.
fn scattered(file_bytes: u64, block_bytes: u64) -> impl Iterator<Item = Extent> {
    let blocks = file_bytes / block_bytes;
    (0..blocks).map(move |block| {
        let slot = (u128::from(block) * 0x9e37_79b9_7f4a_7c15 % u128::from(blocks)) as u64;
        at(block * block_bytes, block_bytes, slot * 2 * block_bytes)
    })
}

fn commands_in(
    space: &AddressSpace,
    workload: &FileWorkload,
    file_bytes: u64,
    extents: impl IntoIterator<Item = Extent>,
) -> FileCommands {
    let plan = RequestPlan::draw(workload, file_bytes, 16_384, 1).unwrap().unwrap();
    let mut pass = CostPass::new(plan, file_bytes, space, CostOptions::default());
    extents.into_iter().for_each(|extent| pass.add(&extent));
    pass.finish()
}

fn commands(
    workload: &FileWorkload,
    file_bytes: u64,
    extents: impl IntoIterator<Item = Extent>,
) -> FileCommands {
    commands_in(&disk(), workload, file_bytes, extents)
}

fn random(bytes: u32) -> FileWorkload {
    FileWorkload::simple(bytes, Order::Random, 100)
}

fn scan() -> FileWorkload {
    FileWorkload::simple(1 << 20, Order::Sequential, 100)
}

#[test]
fn aligned_64_kib_requests_of_4_kib_extents_take_16_commands() {
    let file = || (0..16_384).map(|block| at(block * 4096, 4096, block * 8192));
    let found = commands(&random(65_536), 64 * MIB, file());
    let counts = found.as_it_lies();
    assert_eq!((counts.commands_per_request, counts.commands_margin), (16.0, 0.0));
    assert_eq!((counts.share_without_command, counts.bytes_per_request), (0.0, 65_536.0));
    assert_eq!(found.contiguous().commands_per_request, 1.0);
}

#[test]
fn unaligned_ones_take_17() {
    use strewn_workload::{AccessLine, AccessSpecification};
    let line = AccessLine {
        bytes: 65_536,
        percent_of_accesses: 100,
        read_percent: 100,
        random_percent: 100,
    };
    // Of 128 sectors at any sector: 7 of 8 begin within a block.
    let any_sector = AccessSpecification::new("any sector", vec![line], 512).unwrap();
    let any_sector = FileWorkload::from_specification(&any_sector, 16);
    let file = || (0..16_384).map(|block| at(block * 4096, 4096, block * 8192));
    let found = commands(&any_sector, 64 * MIB, file());
    for (request, commands) in found.plan().requests().iter().zip(found.commands()) {
        assert_eq!(commands, if request.offset.is_multiple_of(4096) { 16 } else { 17 });
    }
    let counts = found.as_it_lies();
    let off = (counts.commands_per_request - (16.0 + 7.0 / 8.0)).abs();
    assert!(off <= 1.5 * counts.commands_margin && counts.commands_margin > 0.0, "{counts:?}");
}

#[test]
fn blocks_in_reverse_are_one_command_for_each_32_because_the_block_layer_sorts() {
    let file = || (0..256).map(|block| at(block * 4096, 4096, (255 - block) * 4096));
    assert_eq!(commands(&scan(), MIB, file()).as_it_lies().commands_per_request, 8.0);
    let reads = FileWorkload::simple(128 << 10, Order::Random, 100);
    assert_eq!(commands(&reads, MIB, file()).as_it_lies().commands_per_request, 1.0);
}

#[test]
fn large_requests_are_split_at_1280_kib() {
    let large = FileWorkload::simple(4 << 20, Order::Sequential, 100);
    let found = commands(&large, 64 * MIB, [at(0, 64 * MIB, GIB)]);
    assert_eq!(found.as_it_lies().commands_per_request, 4.0);
    assert_eq!(found.contiguous().commands_per_request, 4.0);
}

#[test]
fn holes_reserved_space_and_inline_bytes_take_no_command() {
    let unwritten =
        Extent { place: Place::Unwritten(Address::new(2 * GIB)), ..at(2 * MIB, MIB, 0) };
    let inline = Extent { place: Place::Inline, ..at(3 * MIB, 4096, 0) };
    let unknown = Extent { place: Place::Unknown, ..at(5 * MIB, MIB, 0) };
    let found = commands(
        &scan(),
        8 * MIB,
        [at(0, MIB, GIB), unwritten, inline, unknown, at(7 * MIB, MIB, 0)],
    );
    assert_eq!(found.commands().collect::<Vec<_>>(), [1, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(found.contiguous_commands().collect::<Vec<_>>(), [1, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!((found.unknown_requests(), found.as_it_lies().share_without_command), (1, 0.75));
    let cost = found.simulate(&SpindleModel::shipped("nearline-7200-16tb").unwrap()).unwrap();
    assert_eq!(cost.as_it_lies.simulated.unwrap().measured_requests, 7);
    let empty = commands(&random(4096), GIB, []);
    assert_eq!(empty.contiguous_at(), ContiguousPlacement::Nowhere);
    let cost = empty.simulate(&SpindleModel::shipped("nearline-7200-16tb").unwrap()).unwrap();
    assert_eq!((cost.as_it_lies.simulated, cost.contiguous.simulated), (None, None));
}

/// Each block has a row of its own, two sectors of which are data: on the third and the fourth disk.
#[test]
fn neighbouring_blocks_of_raid_z_merge_on_each_disk() {
    let (space, blocks) = raid_z2(24_576);
    let found = commands_in(&space, &scan(), 8 << 20, blocks);
    assert_eq!(found.commands().collect::<Vec<_>>(), [2; 8]);
    assert_eq!(found.contiguous_commands().collect::<Vec<_>>(), [2; 8]);
    assert_eq!(found.as_it_lies().bytes_per_request, 1_048_576.0);
    let (_, apart) = raid_z2(2 * 24_576);
    let found = commands_in(&space, &scan(), 8 << 20, apart);
    assert_eq!(found.commands().collect::<Vec<_>>(), [256; 8]);
    assert_eq!(found.contiguous_commands().collect::<Vec<_>>(), [2; 8]);
}

/// Parts of a block, as of the clusters of a disk image, are one block; its checksum is of all of it.
#[test]
fn blocks_are_read_whole_and_once() {
    let block = |offset: u64, number: u64| {
        let place = Place::Block {
            at: Address::new(GIB + number * 65_536),
            stored_bytes: 65_536,
            allocated_bytes: 65_536,
        };
        Extent { place, ..at(offset, 65_536, 0) }
    };
    let random = commands(&random(4096), 65_536, [block(0, 0)]);
    assert_eq!(random.as_it_lies().bytes_per_request, 65_536.0);
    let parts = (0..32).map(|part| Extent { bytes: 32_768, ..block(part * 32_768, part / 2) });
    let halves = commands(&scan(), MIB, parts);
    for counts in [halves.as_it_lies(), halves.contiguous()] {
        assert_eq!((counts.commands_per_request, counts.bytes_per_request), (1.0, 1_048_576.0));
    }
}

#[test]
fn encoded_extents_are_read_whole_and_once() {
    let encoded = |offset: u64, byte: u64, stored_bytes: Option<u64>| Extent {
        place: Place::Encoded { at: Address::new(byte), stored_bytes },
        ..at(offset, 128 << 10, 0)
    };
    let known = commands(&random(4096), 128 << 10, [encoded(0, GIB, Some(40_960))]);
    let counts = known.as_it_lies();
    assert_eq!((counts.commands_per_request, counts.bytes_per_request), (1.0, 40_960.0));
    let at_most = commands(&random(4096), 128 << 10, [encoded(0, GIB, None)]);
    assert_eq!(at_most.as_it_lies().bytes_per_request, 131_072.0);
    // Two parts of one extent, as when the middle was overwritten; and one that begins within what another could take.
    let parts = [encoded(0, GIB, None), encoded(128 << 10, GIB, None)];
    let twice = commands(&scan(), 256 << 10, parts);
    assert_eq!(twice.as_it_lies().bytes_per_request, 131_072.0);
    let close =
        commands(&scan(), 256 << 10, [encoded(0, 0, None), encoded(128 << 10, 40_960, None)]);
    let counts = close.as_it_lies();
    assert_eq!((counts.commands_per_request, counts.bytes_per_request), (1.0, 172_032.0));
}

#[test]
fn a_contiguous_file_costs_what_its_contiguous_twin_costs() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    for workload in [FileWorkload::default(), random(4096), scan()] {
        let found = commands(&workload, 10 * GIB, [at(0, 10 * GIB, 100 * GIB)]);
        assert_eq!(found.contiguous_at(), ContiguousPlacement::AroundMeanAddress);
        let cost = found.simulate(&model).unwrap();
        assert_eq!(cost.as_it_lies, cost.contiguous);
    }
}

#[test]
fn a_contiguous_scan_comes_near_the_media_rate() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    // 531 sectors of 4 KiB pass in a revolution of 1/120 s; the switch to the next track takes 0.5 ms, 6 % of it.
    let media_mb_per_s = 531.0 * 4096.0 * 120.0 / 1e6;
    for (reads, outstanding) in [(100, 1), (100, 8), (0, 1)] {
        let workload = FileWorkload::simple(1 << 20, Order::Sequential, reads);
        let workload = workload.with_outstanding(outstanding);
        let cost = commands(&workload, 100 * GIB, [at(0, 100 * GIB, 0)]).simulate(&model).unwrap();
        let figures = cost.as_it_lies.simulated.unwrap();
        let share = figures.mb_per_s / media_mb_per_s;
        assert!((0.9..1.0).contains(&share), "{figures:?}");
        assert!((figures.mb_per_s - figures.iops * 1.048_576).abs() < 1e-6);
        // A window's time is that of its bytes.
        let window_ms = figures.response_ms / f64::from(outstanding);
        assert!((window_ms * figures.iops / 1000.0 - 1.0).abs() < 0.01, "{figures:?}");
    }
}

/// Extents of 4 MiB anywhere on the drive: each costs a seek and half a revolution, and streams.
#[test]
fn a_scan_streams_within_extents() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    let cost = commands(&scan(), 16 * GIB, scattered(16 * GIB, 4 * MIB)).simulate(&model).unwrap();
    assert_eq!(cost.as_it_lies.counts.commands_per_request, 1.0);
    let figures = cost.as_it_lies.simulated.unwrap();
    let ms_per_extent = 4.0 * figures.response_ms;
    let transfer_ms = 4.0 * 1.048_576 / 246.0 * 1000.0;
    let positioning_ms = ms_per_extent - transfer_ms;
    assert!((3.0..10.0).contains(&positioning_ms), "{positioning_ms} {figures:?}");
}

#[test]
fn scattered_blocks_cost_a_scan_dearly_and_random_reads_nothing() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    let file = || scattered(4 * GIB, 4096);
    let scanned = commands(&scan(), 4 * GIB, file()).simulate(&model).unwrap();
    let (now, then) =
        (scanned.as_it_lies.simulated.unwrap(), scanned.contiguous.simulated.unwrap());
    assert!(now.mb_per_s < then.mb_per_s / 20.0, "{now:?} {then:?}");
    let read = commands(&random(4096), 4 * GIB, file()).simulate(&model).unwrap();
    let (now, then) = (read.as_it_lies.simulated.unwrap(), read.contiguous.simulated.unwrap());
    // The file lies in twice its size.
    assert!((0.8..=1.02).contains(&(now.iops / then.iops)), "{now:?} {then:?}");
    assert_eq!(read.as_it_lies.counts.commands_per_request, 1.0);
}

#[test]
fn random_reads_of_the_whole_drive_are_as_many_as_the_profile_was_chosen_for() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    let bytes = model.capacity_bytes();
    let iops = |outstanding| {
        let workload = random(4096).with_outstanding(outstanding);
        let cost = commands(&workload, bytes, [at(0, bytes, 0)]).simulate(&model).unwrap();
        cost.as_it_lies.simulated.unwrap().iops
    };
    let (one, sixteen) = (iops(1), iops(16));
    assert!((81.0..88.0).contains(&one) && (170.0..190.0).contains(&sixteen), "{one} {sixteen}");
}

#[test]
fn figures_repeat() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    let cost = || commands(&FileWorkload::default(), GIB, scattered(GIB, 65_536)).simulate(&model);
    assert_eq!(cost().unwrap(), cost().unwrap());
}

#[test]
fn a_file_beyond_the_drive_is_moved_if_it_fits() {
    let model = SpindleModel::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let far = commands(&random(4096), GIB, [at(0, GIB, 1000 * GIB)]).simulate(&model).unwrap();
    assert_eq!(far.shifts.len(), 1);
    assert_eq!((far.shifts[0].device.as_str(), far.shifts[0].bytes / GIB), ("sda", 1000));
    let wide = [at(0, GIB / 2, 0), at(GIB / 2, GIB / 2, 1000 * GIB)];
    let error = commands(&random(4096), GIB, wide).simulate(&model).unwrap_err().to_string();
    assert!(error.contains("of sda, and drive \"seagate-cheetah"), "{error}");
    assert!(error.contains("simulate a larger drive"), "{error}");
}

#[test]
fn requests_to_a_lun_are_those_that_are_simulated() {
    let file = (0..256).map(|block| at(block * 4096, 4096, GIB + block * 8192));
    let found = commands(&FileWorkload::simple(65_536, Order::Sequential, 100), MIB, file);
    let lun = found.lun_requests(2 * GIB, 1280 << 10).unwrap();
    assert_eq!((lun.as_it_lies.len(), lun.outstanding, lun.shift_bytes), (16, 1, 0));
    let first: Vec<(u64, u32)> = (0..16).map(|part| (2 * MIB + part * 16, 8)).collect();
    assert_eq!(lun.as_it_lies[0].extents, first);
    assert!(lun.contiguous.iter().all(|request| request.extents.len() == 1));
    let moved = found.lun_requests(GIB, 1280 << 10).unwrap();
    assert_eq!((moved.shift_bytes, moved.as_it_lies[0].extents[0]), (GIB, (0, 8)));
    let error = found.lun_requests(MIB, 1280 << 10).unwrap_err().to_string();
    assert!(error.contains("enlarge `lun`"), "{error}");
    let split = found.lun_requests(GIB, 8192).unwrap();
    assert_eq!(split.contiguous[0].extents.len(), 8);
}

#[test]
fn a_device_without_room_around_the_mean_has_the_file_at_its_end() {
    let space = AddressSpace::direct(vec![device(GIB)]);
    // One half at the end of the device, and little at its beginning.
    let file = [at(0, MIB, 0), at(MIB, 511 * MIB, GIB - 511 * MIB)];
    let found = commands_in(&space, &scan(), 512 * MIB, file);
    assert_eq!(found.contiguous_at(), ContiguousPlacement::AroundMeanAddress);
    assert_eq!(found.contiguous().commands_per_request, 1.0);
}

#[test]
fn two_devices_serve_requests_at_once() {
    let model = SpindleModel::shipped("nearline-7200-16tb").unwrap();
    let space = AddressSpace::direct(vec![device(16_000 * GIB), device(16_000 * GIB)]);
    let half = |volume: u16, part: u64| Extent {
        place: Place::At(Address { volume, byte: GIB }),
        ..at(part * GIB, GIB, 0)
    };
    let both = commands_in(&space, &random(4096), 2 * GIB, [half(0, 0), half(1, 1)]);
    let cost = both.simulate(&model).unwrap();
    let (two, one) = (cost.as_it_lies.simulated.unwrap(), cost.contiguous.simulated.unwrap());
    assert!(two.iops > 1.4 * one.iops, "{two:?} {one:?}");
}

/// The commands of a request by a map of sectors.
fn naive(places: &[Option<u64>], first: usize, sectors: usize) -> u32 {
    let mut all: Vec<u64> = places[first..first + sectors].iter().copied().flatten().collect();
    all.sort_unstable();
    let mut lengths = Vec::new();
    for (index, place) in all.iter().enumerate() {
        match lengths.last_mut() {
            Some(length) if all[index - 1] + 1 == *place => *length += 1,
            _ => lengths.push(1u64),
        }
    }
    lengths.iter().map(|sectors| (sectors * 512).div_ceil(1280 << 10) as u32).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn requests_are_resolved_as_by_a_map_of_sectors(
        pieces in prop::collection::vec((1u64..200, 0u8..4), 1..60),
        order in any::<u64>(),
        sectors in 1u32..400,
        sequential in any::<bool>(),
    ) {
        // Places in another order than that of the file, some of them adjacent.
        let mut extents = Vec::new();
        let mut places = Vec::new();
        let mut offset = 0;
        for (index, (length, kind)) in pieces.iter().enumerate() {
            // 61 is prime: every piece has 200 sectors of its own.
            let slot = index as u64 * (1 + order % 60) % 61;
            let byte = slot * 200 * 512;
            let byte = if kind % 2 == 0 { byte } else { byte + (200 - length) * 512 };
            // Kinds 0 to 2 are bytes, 3 is a hole.
            if *kind < 3 {
                let extent = at(offset * 512, length * 512, byte);
                // The same extent in two parts.
                if *kind == 2 && *length > 1 {
                    extents.extend(extent.within(offset * 512..(offset + 1) * 512));
                    extents.extend(extent.within((offset + 1) * 512..u64::MAX));
                } else {
                    extents.push(extent);
                }
                places.extend((0..*length).map(|sector| Some(byte / 512 + sector)));
            } else {
                places.extend((0..*length).map(|_| None));
            }
            offset += length;
        }
        let order = if sequential { Order::Sequential } else { Order::Random };
        let workload = FileWorkload::simple(sectors * 512, order, 50);
        let found = commands(&workload, offset * 512, extents);
        for (request, commands) in found.plan().requests().iter().zip(found.commands()) {
            let (first, sectors) = (request.offset / 512, request.bytes / 512);
            prop_assert_eq!(commands, naive(&places, first as usize, sectors as usize));
        }
    }
}
