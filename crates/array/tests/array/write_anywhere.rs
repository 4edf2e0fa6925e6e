//! The write-anywhere controller: what it does to get there.

use std::collections::BTreeSet;

use proptest::prelude::*;
use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::write_anywhere::{
    OtherData, RelocationConfig, VolumeConfig, WriteAnywhere, WriteAnywhereConfig,
};
use strewn_array::{Array, ArrayConfigError, LogSize};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{Parity, ParityGroup, SpindleIndex, SpindleSet, Vbn};
use strewn_testing::cases;

use crate::bytes::{claim, content};
use crate::harness::{Command, Event, Harness, MemoryDriver, Watch};
use crate::payloads::Bytes;

const MILLISECOND_NS: u64 = 1_000_000;

type WriteAnywhereBench = Harness<WriteAnywhere<Bytes>, ConsistencyPointWatch>;

/// A group of `data_spindles` with room for a file of `file_blocks` and little else to hinder.
pub fn roomy(data_spindles: u16, file_blocks: u32) -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        consistency_point_interval_ns: 10 * MILLISECOND_NS,
        protected_blocks: 500,
        dirty_limit_blocks: 1_000,
        delayed_free_blocks: 0,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(Parity::RaidDp, data_spindles, 2_000).unwrap()],
            vec![VolumeConfig::of_one_lun(20_000, file_blocks)],
            LogSize { half_bytes: 4 << 20, record_header_bytes: 0 },
            1_000,
        )
    }
}

/// A log whose halves take writes of so many blocks.
fn log_of(blocks: u64) -> LogSize {
    LogSize { half_bytes: blocks * 4096, record_header_bytes: 0 }
}

/// Any size of everything, and hardly more room than it takes.
pub fn any_write_anywhere() -> impl Strategy<Value = WriteAnywhereConfig> {
    let shape = (prop_oneof![Just(64u64), Just(128)], 0..=6u32, 0..=6u32).prop_map(
        |(area_stripes, tetris, chunk)| AllocationShape {
            area_stripes,
            tetris_stripes: 1 << tetris,
            chunk_blocks: 1 << chunk.min(tetris),
        },
    );
    let limits = (
        prop_oneof![1..20u32, 1..200u32],
        0..100u32,
        prop_oneof![1..40_000u64, 1..400_000u64],
        1..100u32,
        1..4u32,
    );
    let sizes = (1..=6u16, any::<bool>(), 20..=120u32, 0..60u64, 0..50u64);
    let policy = prop::sample::select(PolicyName::ALL.to_vec());
    (sizes, shape, policy, limits).prop_map(|(sizes, shape, policy, limits)| {
        let (data_spindles, raid_dp, file_blocks, delayed_free_blocks, slack) = sizes;
        let (cache_blocks, protected_blocks, log_half_bytes, dirty_limit_blocks, in_flight) =
            limits;
        // The file and its metadata twice over, what is held back, and what one consistency point adds to that.
        let room = 2 * (u64::from(file_blocks) + 40) + delayed_free_blocks + 16 + slack;
        let stripes = room.div_ceil(data_spindles.into());
        let parity = if raid_dp { Parity::RaidDp } else { Parity::Raid4 };
        WriteAnywhereConfig {
            groups: vec![ParityGroup::new(parity, data_spindles, stripes).unwrap()],
            groups_at_start: 1,
            shape,
            policy,
            volumes: vec![VolumeConfig::of_one_lun(32_000, file_blocks)],
            log: LogSize { half_bytes: log_half_bytes, record_header_bytes: 160 },
            cache_blocks,
            protected_blocks,
            dirty_limit_blocks,
            tetrises_in_flight: in_flight,
            delayed_free_blocks,
            ..roomy(data_spindles, file_blocks)
        }
    })
}

/// A new array whose spindles hold the file as it was laid out.
pub fn fresh_write_anywhere(config: WriteAnywhereConfig) -> WriteAnywhereBench {
    fresh_array(config, |array| array)
}

/// The same, with relocation.
pub fn fresh_relocating(
    config: WriteAnywhereConfig,
    relocation: RelocationConfig,
) -> WriteAnywhereBench {
    fresh_array(config, |array| array.with_relocation(relocation))
}

/// The same with what `with` adds to the array.
pub fn fresh_array(
    config: WriteAnywhereConfig,
    with: impl FnOnce(WriteAnywhere<Bytes>) -> WriteAnywhere<Bytes>,
) -> WriteAnywhereBench {
    let group = *config.single_group();
    let file_blocks = config.lun_blocks() as u32;
    let array = with(WriteAnywhere::new(config).unwrap());
    let map = file_map(&array, file_blocks);
    let committed = (map.clone(), vec![0; file_blocks as usize * BLOCK_SECTORS as usize]);
    let watch = ConsistencyPointWatch { group, map, committed, ..Default::default() };
    on_spindles(array, &group, file_blocks, watch)
}

/// The same, without a look at everything after each event.
pub fn unwatched(
    config: WriteAnywhereConfig,
    relocation: RelocationConfig,
) -> Harness<WriteAnywhere<Bytes>> {
    let (group, file_blocks) = (*config.single_group(), config.lun_blocks() as u32);
    let array = WriteAnywhere::new(config).unwrap().with_relocation(relocation);
    on_spindles(array, &group, file_blocks, ())
}

fn on_spindles<W: Watch<WriteAnywhere<Bytes>>>(
    array: WriteAnywhere<Bytes>,
    group: &ParityGroup,
    file_blocks: u32,
    watch: W,
) -> Harness<WriteAnywhere<Bytes>, W> {
    let map = file_map(&array, file_blocks);
    let lun_sectors = u64::from(file_blocks) * BLOCK_SECTORS;
    let sectors_per_spindle = group.blocks_per_spindle() * BLOCK_SECTORS;
    let mut harness = Harness::new(array, watch, sectors_per_spindle, lun_sectors);
    for lun_sector in 0..lun_sectors {
        let (spindle, sector) = place_of(group, &map, lun_sector);
        harness.driver.put_sector(spindle, sector, &content(lun_sector, 0));
    }
    harness
}

fn file_map(array: &WriteAnywhere<Bytes>, file_blocks: u32) -> Vec<Vbn> {
    (0..file_blocks).map(|block| array.block_map().get(block).unwrap()).collect()
}

/// Spindle and sector of a sector of the LUN.
fn place_of(group: &ParityGroup, map: &[Vbn], lun_sector: u64) -> (u16, u64) {
    let location = group.locate(map[(lun_sector / BLOCK_SECTORS) as usize]);
    (location.spindle.0, location.dbn.0 * BLOCK_SECTORS + lun_sector % BLOCK_SECTORS)
}

/// At every moment the spindles hold, at the places of the consistency point that was committed last, what the host
/// had been acknowledged when that consistency point began.
pub struct ConsistencyPointWatch {
    group: ParityGroup,
    /// Where the file's blocks lie, those of a consistency point in progress included.
    map: Vec<Vbn>,
    committed: (Vec<Vbn>, Vec<u32>),
    in_progress: Option<(Vec<Vbn>, Vec<u32>)>,
    consistency_points: u64,
}

impl Default for ConsistencyPointWatch {
    fn default() -> Self {
        Self {
            group: ParityGroup::new(Parity::RaidDp, 1, 1).unwrap(),
            map: Vec::new(),
            committed: (Vec::new(), Vec::new()),
            in_progress: None,
            consistency_points: 0,
        }
    }
}

impl Watch<WriteAnywhere<Bytes>> for ConsistencyPointWatch {
    fn saw(&mut self, array: &WriteAnywhere<Bytes>, driver: &MemoryDriver, events: &[Event]) {
        let consistency_points = array.counters().consistency_points;
        if consistency_points > self.consistency_points {
            assert_eq!(consistency_points, self.consistency_points + 1);
            self.consistency_points = consistency_points;
            self.committed = self.in_progress.take().expect("a commit of what never began");
        }
        let map = file_map(array, self.map.len() as u32);
        if map != self.map {
            // A consistency point sets the timer for the next when it begins.
            let began = events.iter().rev().find_map(|event| match event {
                Event::TimerSet(versions) => Some(versions.clone()),
                _ => None,
            });
            assert!(self.in_progress.is_none(), "blocks moved during a consistency point");
            self.in_progress = Some((map.clone(), began.expect("blocks moved without one")));
            self.map = map;
        }
        assert_on_spindles(driver, &self.group, &self.committed);
    }
}

fn assert_on_spindles(
    driver: &MemoryDriver,
    group: &ParityGroup,
    (map, versions): &(Vec<Vbn>, Vec<u32>),
) {
    for (lun_sector, &version) in (0..).zip(versions) {
        let (spindle, sector) = place_of(group, map, lun_sector);
        let there = driver.sector(spindle, sector);
        // The first word tells them apart in nearly every case; the whole is compared where it matters.
        assert!(
            there[..16] == content_head(lun_sector, version),
            "sector {lun_sector} as of write {version} should be at {sector} of spindle {spindle}, where there is \
             {}",
            claim(there),
        );
    }
}

fn content_head(lun_sector: u64, version: u32) -> [u8; 16] {
    (u128::from(lun_sector) | u128::from(version) << 64).to_le_bytes()
}

/// With nothing dirty, the spindles hold what was acknowledged, byte for byte.
pub fn spindles_are_as_acknowledged(harness: &WriteAnywhereBench) {
    let ConsistencyPointWatch { group, map, .. } = &harness.watch;
    for (lun_sector, &version) in (0..).zip(&harness.driver.host.acknowledged) {
        let (spindle, sector) = place_of(group, map, lun_sector);
        let there = harness.driver.sector(spindle, sector);
        assert!(there == content(lun_sector, version), "sector {lun_sector}: {}", claim(there));
    }
}

/// Where the array says that a block (of the file or of its metadata) lies, as a command of one block.
fn block_place(harness: &WriteAnywhereBench, key: u32) -> (u16, u64, u32) {
    let location = harness.watch.group.locate(harness.array.block_map().get(key).unwrap());
    (location.spindle.0, location.dbn.0 * BLOCK_SECTORS, BLOCK_SECTORS as u32)
}

/// The runs of a range of blocks that lie one behind the other on one spindle, as commands of at most 128 blocks.
fn runs(harness: &WriteAnywhereBench, blocks: std::ops::Range<u32>) -> Vec<(u16, u64, u32)> {
    let mut runs: Vec<(u16, u64, u32)> = Vec::new();
    for place in blocks.map(|block| block_place(harness, block)) {
        match runs.last_mut() {
            Some((spindle, first, sectors))
                if *spindle == place.0
                    && *first + u64::from(*sectors) == place.1
                    && *sectors < 128 * BLOCK_SECTORS as u32 =>
            {
                *sectors += place.2;
            }
            _ => runs.push(place),
        }
    }
    runs
}

fn places(commands: &[Command]) -> Vec<(u16, u64, u32)> {
    commands.iter().map(Command::place).collect()
}

#[test]
fn an_indirect_block_that_the_cache_lacks_is_read_before_the_data() {
    // Of the metadata that a new array has in the cache, 30 blocks keep only what was used last: no indirect block.
    let config = WriteAnywhereConfig { cache_blocks: 30, protected_blocks: 5, ..roomy(4, 1_000) };
    let mut harness = fresh_write_anywhere(config);
    harness.new_events();
    // Blocks 505 to 514: the second indirect block begins with 510.
    let operation = harness.read(505 * BLOCK_SECTORS, 80);
    let indirect = [block_place(&harness, 1_000), block_place(&harness, 1_001)];
    assert_eq!(places(&harness.new_commands()), indirect);
    harness.complete(1);
    assert_eq!(harness.new_commands(), []);
    harness.complete(0);
    assert_eq!(places(&harness.new_commands()), runs(&harness, 505..515));
    harness.drain();
    assert!(harness.is_acknowledged(operation));

    harness.new_events();
    harness.read(600 * BLOCK_SECTORS, 8);
    assert_eq!(places(&harness.new_commands()), [block_place(&harness, 600)]);
    assert_eq!(harness.array.counters().metadata_reads, 2);
}

#[test]
fn a_new_array_has_its_metadata_and_no_data_in_the_cache() {
    let mut harness = fresh_write_anywhere(roomy(4, 1_000));
    harness.new_events();
    harness.read(505 * BLOCK_SECTORS, 80);
    assert_eq!(places(&harness.new_commands()), runs(&harness, 505..515));
    harness.write(0, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.array.counters().metadata_reads, 0);
}

#[test]
fn what_is_in_the_cache_is_not_read_again() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    harness.read(800, 160);
    harness.drain();
    harness.new_events();
    let before = *harness.array.counters();
    let inside = harness.read(804, 150);
    assert!(harness.is_acknowledged(inside));
    assert_eq!(harness.new_commands(), []);
    let counted = harness.array.counters().since(&before);
    assert_eq!((counted.cache_lookups, counted.cache_hits), (21, 21));
    // The indirect block is looked up too, and the host did not ask for it.
    assert_eq!((counted.host_read_blocks, counted.host_read_hits), (20, 20));
    assert_eq!(counted.spindle_reads(), 0);

    // Of a range that is there in part, only the rest is read.
    let before = *harness.array.counters();
    harness.read(720, 160);
    assert_eq!(places(&harness.new_commands()), runs(&harness, 90..100));
    let counted = harness.array.counters().since(&before);
    assert_eq!((counted.host_read_blocks, counted.host_read_hits), (20, 10));
}

#[test]
fn a_run_of_blocks_is_one_command_and_a_change_of_spindle_begins_another() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    // The superblock takes the first stripe, so the first chunk of the first spindle holds blocks 0 to 62.
    harness.read(8, 160);
    let commands = harness.new_commands();
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].sectors, 160);
    harness.read(60 * BLOCK_SECTORS, 6 * BLOCK_SECTORS as u32);
    assert_eq!(places(&harness.new_commands()), runs(&harness, 60..66));
    assert_eq!(harness.array.counters().data_reads, 3);
}

#[test]
fn a_long_run_takes_commands_of_128_blocks() {
    let mut harness = fresh_write_anywhere(roomy(1, 400));
    harness.read(10 * BLOCK_SECTORS, 300 * BLOCK_SECTORS as u32);
    let sectors: Vec<u32> = harness.new_commands().iter().map(|command| command.sectors).collect();
    assert_eq!(sectors, [1_024, 1_024, 352]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12, 48)))]

    #[test]
    fn a_fragmented_range_is_read_run_by_run(
        writes in prop::collection::vec((0..400u64, 1..12u32), 1..80),
        reads in prop::collection::vec((0..400u32, 1..30u32), 1..20),
    ) {
        // A cache of one block holds the indirect block that came last, and nothing of the file.
        let config = WriteAnywhereConfig { cache_blocks: 1, protected_blocks: 0, ..roomy(3, 400) };
        let mut harness = fresh_write_anywhere(config);
        for (block, blocks) in writes {
            let blocks = blocks.min(400 - block as u32);
            harness.write(block * BLOCK_SECTORS, blocks * BLOCK_SECTORS as u32);
            harness.run_to_quiescence();
        }
        for (block, blocks) in reads {
            let range = block..(block + blocks).min(400);
            harness.read(u64::from(block) * BLOCK_SECTORS, range.len() as u32 * BLOCK_SECTORS as u32);
            harness.run_to_quiescence();
            let before = harness.array.counters().data_reads;
            harness.new_events();
            // Once more: its blocks have pushed the indirect block out, and that pushes them out.
            harness.read(u64::from(block) * BLOCK_SECTORS, range.len() as u32 * BLOCK_SECTORS as u32);
            harness.run_to_quiescence();
            let data: Vec<Command> = harness.new_commands().split_off(1);
            prop_assert_eq!(places(&data), runs(&harness, range));
            prop_assert_eq!(harness.array.counters().data_reads - before, data.len() as u64);
        }
    }
}

#[test]
fn blocks_written_in_part_are_read_before_the_acknowledgement() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    // From the middle of block 100 to the middle of block 102.
    let write = harness.write(804, 16);
    assert_eq!(
        places(&harness.new_commands()),
        [block_place(&harness, 100), block_place(&harness, 102)]
    );
    harness.complete(1);
    assert!(!harness.is_acknowledged(write));
    harness.complete(0);
    assert!(harness.is_acknowledged(write));
    assert_eq!(harness.array.counters().edge_reads, 2);

    // Both edges one behind the other: one command.
    let write = harness.write(1_601, 14);
    assert_eq!(places(&harness.new_commands()), runs(&harness, 200..202));
    assert!(!harness.is_acknowledged(write));
    harness.drain();
    assert!(harness.is_acknowledged(write));
    assert_eq!(harness.array.counters().edge_reads, 3);

    // Inside one block, and at its end.
    for (sector, sectors) in [(2_003, 2), (2_406, 2)] {
        let write = harness.write(sector, sectors);
        assert_eq!(places(&harness.new_commands()), [block_place(&harness, (sector / 8) as u32)]);
        assert!(!harness.is_acknowledged(write));
    }
    harness.run_to_quiescence();
    spindles_are_as_acknowledged(&harness);
}

#[test]
fn blocks_written_in_full_are_acknowledged_without_a_spindle() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    let write = harness.write(800, 160);
    assert!(harness.is_acknowledged(write));
    assert_eq!(harness.commands_out(), 0);
    // So is a part of a block that is in the cache.
    let part = harness.write(803, 2);
    assert!(harness.is_acknowledged(part));
    assert_eq!(harness.array.counters().edge_reads, 0);
}

#[test]
fn the_timer_begins_a_consistency_point_when_something_is_dirty() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    let before = harness.array.counters().consistency_points;
    harness.write(80, 8);
    assert_eq!(harness.commands_out(), 0);
    harness.fire_timer();
    assert!(harness.commands_out() > 0);
    let began_ns = harness.driver.now_ns;
    assert_eq!(harness.driver.timer_ns, Some(began_ns + 10 * MILLISECOND_NS));
    harness.drain();
    assert_eq!(harness.array.counters().consistency_points, before + 1);

    harness.fire_timer();
    assert_eq!(harness.commands_out(), 0);
    assert!(harness.driver.timer_ns > Some(began_ns + 10 * MILLISECOND_NS));
    assert_eq!(harness.array.counters().consistency_points, before + 1);
}

#[test]
fn a_consistency_point_that_outlasts_the_timer_is_followed_by_the_next() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    let before = harness.array.counters().consistency_points;
    harness.write(80, 8);
    harness.fire_timer();
    harness.write(160, 8);
    harness.fire_timer();
    assert_eq!(harness.driver.timer_ns, None);
    harness.drain();
    assert_eq!(harness.array.counters().consistency_points, before + 2);
    assert!(harness.driver.timer_ns.is_some());
}

#[test]
fn more_dirty_blocks_than_the_limit_begin_a_consistency_point() {
    let mut harness =
        fresh_write_anywhere(WriteAnywhereConfig { dirty_limit_blocks: 10, ..roomy(4, 500) });
    let before = harness.array.counters().consistency_points;
    harness.write(80, 80);
    // The same blocks again are no more than they were.
    harness.write(80, 80);
    assert_eq!(harness.commands_out(), 0);
    harness.write(800, 8);
    assert!(harness.commands_out() > 0);
    harness.drain();
    assert_eq!(harness.array.counters().consistency_points, before + 1);
    spindles_are_as_acknowledged(&harness);
}

#[test]
fn with_both_halves_of_the_log_full_writes_wait_and_consistency_points_follow_each_other() {
    let mut harness =
        fresh_write_anywhere(WriteAnywhereConfig { log: log_of(16), ..roomy(4, 500) });
    let before = *harness.array.counters();
    let write =
        |harness: &mut WriteAnywhereBench, block: u64| harness.write(block * BLOCK_SECTORS, 8);
    for block in 0..16 {
        write(&mut harness, block);
    }
    assert_eq!(harness.commands_out(), 0);
    // The first half is full: a consistency point begins, the other half takes over.
    for block in 16..32 {
        let id = write(&mut harness, block);
        assert!(harness.is_acknowledged(id));
        assert!(harness.commands_out() > 0);
    }
    let waiting: Vec<u32> = (32..36).map(|block| write(&mut harness, block)).collect();
    assert_eq!(harness.driver.host.outstanding_ids(), waiting);
    assert_eq!(harness.array.counters().since(&before).stalled_writes, 4);

    harness.new_events();
    while harness.array.counters().consistency_points == before.consistency_points {
        assert_eq!(harness.driver.host.outstanding_ids(), waiting);
        harness.complete(0);
    }
    let acknowledged: Vec<u32> = harness
        .new_events()
        .iter()
        .filter_map(|event| match event {
            Event::Acknowledged(id) => Some(*id),
            _ => None,
        })
        .collect();
    assert_eq!(acknowledged, waiting);
    assert!(harness.commands_out() > 0, "the next consistency point has begun");
    let counted = harness.array.counters().since(&before);
    assert_eq!((counted.consistency_points, counted.back_to_back_consistency_points), (1, 1));
    harness.drain();
    let counted = harness.array.counters().since(&before);
    assert_eq!((counted.consistency_points, counted.back_to_back_consistency_points), (2, 1));
    harness.run_to_quiescence();
    assert_eq!(harness.array.counters().since(&before).consistency_point_data_blocks, 36);
    spindles_are_as_acknowledged(&harness);
}

#[test]
fn a_rewrite_during_a_consistency_point_goes_out_with_the_next() {
    let mut harness =
        fresh_write_anywhere(WriteAnywhereConfig { cache_blocks: 2, ..roomy(4, 500) });
    let first = harness.write(80, 8);
    harness.drain();
    harness.fire_timer();
    // What the consistency point writes is still in memory: it reads metadata first.
    assert!(harness.commands().iter().all(Command::is_read));
    harness.write(82, 3);
    let consistency_points = harness.array.counters().consistency_points;
    harness.drain();
    assert_eq!(harness.array.counters().consistency_points, consistency_points + 1);
    let (spindle, sector, _) = block_place(&harness, 10);
    for at in 0..8 {
        let expected = content(80 + at, first + 1);
        assert!(harness.driver.sector(spindle, sector + at) == expected, "sector {at} leaked");
    }
    harness.run_to_quiescence();
    spindles_are_as_acknowledged(&harness);
}

/// The data blocks that commands write, as (spindle, DBN).
fn blocks_written(harness: &WriteAnywhereBench, commands: &[Command]) -> Vec<(u16, u64)> {
    let data_spindles = harness.watch.group.data_spindles();
    let data = commands.iter().filter(|one| one.is_write() && one.spindle < data_spindles);
    data.flat_map(|one| blocks_of(one).map(|dbn| (one.spindle, dbn))).collect()
}

fn blocks_of(command: &Command) -> std::ops::Range<u64> {
    let first = command.first_sector / BLOCK_SECTORS;
    first..first + u64::from(command.sectors) / BLOCK_SECTORS
}

#[test]
fn a_block_that_was_given_up_is_written_again_after_the_commit_and_not_before() {
    let group = ParityGroup::new(Parity::RaidDp, 4, 100).unwrap();
    let config = WriteAnywhereConfig { groups: vec![group], ..roomy(4, 120) };
    let mut harness = fresh_write_anywhere(config);
    let mut reused = 0;
    let mut given_up: BTreeSet<(u16, u64)> = BTreeSet::new();
    for _ in 0..10 {
        let in_use: Vec<(u16, u64)> = (0..120)
            .map(|block| block_place(&harness, block))
            .map(|(spindle, sector, _)| (spindle, sector / BLOCK_SECTORS))
            .collect();
        for block in (0..120).step_by(3) {
            harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
        }
        harness.drain();
        harness.new_events();
        harness.run_to_quiescence();
        let commands = harness.new_commands();
        let written = blocks_written(&harness, &commands);
        assert!(written.len() >= 40);
        assert!(
            written.iter().all(|block| !in_use.contains(block)),
            "written over before the commit"
        );
        reused += written.iter().filter(|block| given_up.contains(block)).count();
        given_up.extend(in_use);
    }
    assert!(reused > 0, "what was given up never came to use");
}

/// Stripe by stripe, a consistency point reads what the group plans for the blocks it writes, and writes all parity.
/// Returns how many stripes it wrote in full and in part, the superblock's left out.
fn check_stripes(harness: &mut WriteAnywhereBench) -> (usize, usize) {
    harness.drain();
    harness.new_events();
    let before = *harness.array.counters();
    harness.fire_timer();
    harness.drain();
    let counted = harness.array.counters().since(&before);
    assert_eq!(counted.consistency_points, 1);
    // Metadata is read before anything else.
    let commands = harness.new_commands().split_off(counted.metadata_reads as usize);
    let group = harness.watch.group;
    let (mut full, mut partial) = (0, 0);
    // Stripe 0 is written once more at the end, for the superblock.
    for stripe in 1..group.stripes() {
        let spindles = |read: bool| {
            let touch = |one: &&Command| one.is_read() == read && blocks_of(one).contains(&stripe);
            let found: Vec<u16> = commands.iter().filter(touch).map(|one| one.spindle).collect();
            let set: SpindleSet = found.iter().map(|spindle| SpindleIndex(*spindle)).collect();
            assert_eq!(usize::from(set.len()), found.len(), "stripe {stripe} touched twice");
            set
        };
        let (read, written) = (spindles(true), spindles(false));
        let changed = written.intersection(group.data_spindle_set());
        let plan = group.plan_stripe(changed);
        // What free blocks hold need not be what parity has of them: with bytes, a stripe that has nothing else in use
        // is computed from all of it.
        let others = group.data_spindle_set().difference(changed);
        assert!(read == plan.read || read == others, "stripe {stripe}: {read} are read");
        assert_eq!(written, plan.write, "stripe {stripe}");
        full += usize::from(changed == group.data_spindle_set());
        partial += usize::from(!changed.is_empty() && changed != group.data_spindle_set());
    }
    (full, partial)
}

#[test]
fn in_empty_space_stripes_are_full_and_parity_needs_no_reads() {
    let mut harness = fresh_write_anywhere(roomy(4, 1_000));
    for block in (0..1_000).step_by(2) {
        harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
    }
    let (full, partial) = check_stripes(&mut harness);
    // 500 blocks of data; how deep the last tetris is follows from a guess at the metadata.
    assert!(full >= 125 - 8, "{full} full stripes");
    assert!(partial < 64, "{partial} stripes in part: more than the last tetris");
}

#[test]
fn in_fragmented_space_stripes_are_partial_and_parity_needs_reads() {
    let group = ParityGroup::new(Parity::RaidDp, 5, 150).unwrap();
    let mut harness =
        fresh_write_anywhere(WriteAnywhereConfig { groups: vec![group], ..roomy(5, 500) });
    let mut in_part = 0;
    for round in 0..12u64 {
        for index in 0..40 {
            let block = (index * 37 + round * 101) % 500;
            harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
        }
        let (full, partial) = check_stripes(&mut harness);
        if round >= 6 {
            in_part += partial;
            assert!(partial > full, "round {round}: {full} full stripes, {partial} in part");
        }
    }
    assert!(in_part > 0);
    assert!(harness.array.counters().parity_update_reads > 0);
    harness.run_to_quiescence();
    spindles_are_as_acknowledged(&harness);
}

#[test]
fn a_layout_is_measured_as_it_changes() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    let fresh = harness.array.layout();
    let fresh_free = fresh.free_space.unwrap();
    let [fresh] = *fresh.luns else { panic!("one LUN") };
    assert_eq!((fresh.rewritten, fresh.file.blocks), (Some(0.0), 500));
    for block in (0..500).step_by(4) {
        harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
    }
    harness.run_to_quiescence();
    let scattered = harness.array.layout();
    assert!(scattered.free_space.unwrap().score < fresh_free.score);
    let [scattered] = *scattered.luns else { panic!("one LUN") };
    assert_eq!((scattered.rewritten, scattered.file.blocks), (Some(0.25), 500));
    assert!(scattered.file.score < fresh.file.score - 0.4);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let refused = |change: fn(&mut WriteAnywhereConfig)| {
        let mut config = roomy(4, 500);
        change(&mut config);
        WriteAnywhere::<Bytes>::new(config).map(|_| ()).unwrap_err()
    };
    assert_eq!(refused(|config| config.volumes[0].luns[0] = 0), ArrayConfigError::Zero("a LUN"));
    assert_eq!(
        refused(|config| config.tetrises_in_flight = 0).to_string(),
        "the number of tetrises in flight is zero: it must be at least 1"
    );
    let without_parity = |config: &mut WriteAnywhereConfig| {
        config.groups =
            vec![ParityGroup::new(Parity::None, 4, config.single_group().stripes()).unwrap()];
    };
    assert_eq!(refused(without_parity), ArrayConfigError::NoParity);
    let no_run = |config: &mut WriteAnywhereConfig| {
        config.other_data = Some(OtherData { full_to_blocks: 7_000, run_blocks: 3, seed: 1 });
    };
    assert_eq!(
        refused(no_run).to_string(),
        "other data: runs of 3 blocks: it takes a power of two, at most 64"
    );
    assert_eq!(
        refused(|config| config.volumes[0].luns[0] = 7_990),
        ArrayConfigError::LunsDoNotFit { lun_blocks: 7_990, aggregate_blocks: 8_000 }
    );
}

#[test]
fn regression_a_read_brings_the_sectors_asked_for_and_no_more() {
    let mut harness = fresh_write_anywhere(roomy(4, 500));
    // The host checks how many bytes each brings: within a block, across two, from memory.
    for (sector, sectors) in [(80, 1), (803, 2), (1_606, 4), (1_606, 4)] {
        let read = harness.read(sector, sectors);
        harness.drain();
        assert!(harness.is_acknowledged(read));
    }
}

#[test]
fn regression_the_edges_of_a_write_that_waits_are_still_there_when_it_is_let_in() {
    let config = WriteAnywhereConfig { log: log_of(1), cache_blocks: 60, ..roomy(4, 500) };
    let mut harness = fresh_write_anywhere(config);
    harness.write(80, 8);
    harness.write(160, 8);
    assert!(harness.commands_out() > 0, "a consistency point is under way");
    let consistency_point = harness.commands();
    let is_of_operation = |command: &Command| !consistency_point.contains(command);
    let waiting = harness.write(802, 2);
    assert!(harness.complete_first(is_of_operation), "the edge is read");
    assert!(!harness.is_acknowledged(waiting));
    // Other blocks pass through the cache meanwhile.
    for block in 300..400 {
        harness.read(block * BLOCK_SECTORS, 8);
        harness.complete_all(is_of_operation);
    }
    harness.run_to_quiescence();
    assert!(harness.is_acknowledged(waiting));
    spindles_are_as_acknowledged(&harness);
}

#[test]
fn regression_a_late_read_does_not_bring_back_what_was_overwritten() {
    let mut harness =
        fresh_write_anywhere(WriteAnywhereConfig { cache_blocks: 60, ..roomy(4, 500) });
    harness.read(800, 8);
    let late = harness.commands()[0];
    let others = |command: &Command| command.tag != late.tag;
    harness.execute(0);
    harness.write(800, 8);
    harness.fire_timer();
    harness.complete_all(others);
    for block in 300..400 {
        harness.read(block * BLOCK_SECTORS, 8);
        harness.complete_all(others);
    }
    harness.drain();
    harness.read(800, 8);
    harness.write(803, 2);
    harness.run_to_quiescence();
    harness.read(800, 8);
    harness.run_to_quiescence();
    spindles_are_as_acknowledged(&harness);
}

#[test]
fn regression_a_place_that_is_being_read_is_not_written_again() {
    let group = ParityGroup::new(Parity::RaidDp, 4, 100).unwrap();
    let mut harness =
        fresh_write_anywhere(WriteAnywhereConfig { groups: vec![group], ..roomy(4, 120) });
    harness.read(800, 8);
    let late = harness.commands()[0];
    for _ in 0..20 {
        for block in (1..120).step_by(3) {
            harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
        }
        harness.fire_timer();
        harness.complete_all(|command| command.tag != late.tag);
    }
    // The spindle comes round to it at last, and the host checks what it gets.
    harness.run_to_quiescence();
    spindles_are_as_acknowledged(&harness);
}
