//! The write-anywhere controller: what it does to get there.

use proptest::prelude::*;
use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig, WriteAnywhereError};
use strewn_array::{Array, ProcessorCosts};
use strewn_raid::{Parity, ParityGroup, Vbn};

use crate::bench::{Bench, Command, Event, Watch, World};
use crate::bytes::{Bytes, claim, content};

const BLOCK_SECTORS: u64 = 8;
const MILLISECOND_NS: u64 = 1_000_000;

type WriteAnywhereBench = Bench<WriteAnywhere<Bytes>, CheckpointWatch>;

/// A group of `data_spindles` with room for a file of `file_blocks` and little else to hinder.
fn roomy(data_spindles: u16, file_blocks: u32) -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        group: ParityGroup::new(Parity::RaidDp, data_spindles, 2_000).unwrap(),
        shape: AllocationShape::default(),
        volume_blocks: 20_000,
        file_blocks,
        log_half_bytes: 1 << 20,
        log_record_header_bytes: 0,
        checkpoint_interval_ns: 10 * MILLISECOND_NS,
        cache_blocks: 1_000,
        protected_blocks: 500,
        dirty_limit_blocks: 1_000,
        tetrises_in_flight: 2,
        delayed_free_blocks: 0,
        processor: ProcessorCosts::default(),
    }
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
    (sizes, shape, limits).prop_map(|(sizes, shape, limits)| {
        let (data_spindles, raid_dp, file_blocks, delayed_free_blocks, slack) = sizes;
        let (cache_blocks, protected_blocks, log_half_bytes, dirty_limit_blocks, in_flight) =
            limits;
        // The file and its metadata twice over, what is held back, and what one consistency point adds to that.
        let room = 2 * (u64::from(file_blocks) + 40) + delayed_free_blocks + 16 + slack;
        let stripes = room.div_ceil(data_spindles.into());
        let parity = if raid_dp { Parity::RaidDp } else { Parity::Raid4 };
        WriteAnywhereConfig {
            group: ParityGroup::new(parity, data_spindles, stripes).unwrap(),
            shape,
            volume_blocks: 32_000,
            log_half_bytes,
            log_record_header_bytes: 160,
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
    let group = config.group;
    let file_blocks = config.file_blocks;
    let lun_sectors = u64::from(file_blocks) * BLOCK_SECTORS;
    let array = WriteAnywhere::new(config).unwrap();
    let map = file_map(&array, file_blocks);
    let committed = (map.clone(), vec![0; lun_sectors as usize]);
    let watch = CheckpointWatch { group, map: map.clone(), committed, ..Default::default() };
    let sectors_per_spindle = group.blocks_per_spindle() * BLOCK_SECTORS;
    let mut bench = Bench::new(array, watch, sectors_per_spindle, lun_sectors);
    for lun_sector in 0..lun_sectors {
        let (spindle, sector) = place_of(&group, &map, lun_sector);
        bench.world.put_sector(spindle, sector, &content(lun_sector, 0));
    }
    bench
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
pub struct CheckpointWatch {
    group: ParityGroup,
    /// Where the file's blocks lie, those of a consistency point in progress included.
    map: Vec<Vbn>,
    committed: (Vec<Vbn>, Vec<u32>),
    in_progress: Option<(Vec<Vbn>, Vec<u32>)>,
    checkpoints: u64,
}

impl Default for CheckpointWatch {
    fn default() -> Self {
        Self {
            group: ParityGroup::new(Parity::RaidDp, 1, 1).unwrap(),
            map: Vec::new(),
            committed: (Vec::new(), Vec::new()),
            in_progress: None,
            checkpoints: 0,
        }
    }
}

impl Watch<WriteAnywhere<Bytes>> for CheckpointWatch {
    fn saw(&mut self, array: &WriteAnywhere<Bytes>, world: &World, events: &[Event]) {
        let checkpoints = array.counters().checkpoints;
        if checkpoints > self.checkpoints {
            assert_eq!(checkpoints, self.checkpoints + 1);
            self.checkpoints = checkpoints;
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
        assert_on_spindles(world, &self.group, &self.committed);
    }
}

fn assert_on_spindles(world: &World, group: &ParityGroup, (map, versions): &(Vec<Vbn>, Vec<u32>)) {
    for (lun_sector, &version) in (0..).zip(versions) {
        let (spindle, sector) = place_of(group, map, lun_sector);
        let there = world.sector(spindle, sector);
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
pub fn spindles_are_as_acknowledged(bench: &WriteAnywhereBench) {
    let CheckpointWatch { group, map, .. } = &bench.watch;
    for (lun_sector, &version) in (0..).zip(&bench.world.host.acknowledged) {
        let (spindle, sector) = place_of(group, map, lun_sector);
        let there = bench.world.sector(spindle, sector);
        assert!(there == content(lun_sector, version), "sector {lun_sector}: {}", claim(there));
    }
}
