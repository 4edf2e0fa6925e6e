use std::collections::HashMap;

use strewn_base::Rng;
use strewn_base::state::{StateReader, StateWriter};

use super::*;
use crate::arc::{ArcOptions, Block, Found, Intent, Kind};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MS: u64 = 1_000_000;
const SECTOR: u64 = 4 * KIB;

fn options(bytes: u64, write_max_bytes: u64) -> L2arcOptions {
    L2arcOptions { write_max_bytes, ..L2arcOptions::new(bytes) }
}

fn cache(limit_bytes: u64, options: L2arcOptions) -> Arc {
    Arc::new(ArcOptions { limit_bytes, overflow_bytes: 0 }).with_l2arc(options)
}

fn data(key: u64) -> Block {
    Block { key, bytes: SECTOR as u32, kind: Kind::Data }
}

fn read(arc: &mut Arc, now_ns: u64, block: Block) -> Found {
    let found = arc.access(now_ns, block, Intent::Demand);
    arc.on_read_done(block.key);
    found
}

/// Feeds the device to the end. Returns the keys that it got, those written first first.
fn fed(arc: &mut Arc) -> Vec<u64> {
    let before: HashMap<u64, Cached> = arc.l2arc.as_ref().unwrap().blocks.clone();
    arc.feed(|_| SECTOR as u32);
    let l2arc = arc.l2arc.as_ref().unwrap();
    let new = l2arc.writing.clone();
    assert!(new.iter().all(|key| !before.contains_key(key)), "nothing is written twice");
    arc.on_fed();
    new
}

#[test]
fn a_write_has_room_for_log_blocks_and_is_twice_as_large_until_the_arc_is_warm() {
    let l2arc = L2arc::new(options(100 * GIB, 32 * MIB));
    // A log block of 64 KiB for each 1,022 sectors of 512 bytes.
    assert_eq!(l2arc.write_size(true), 32 * MIB + 65 * 64 * KIB);
    assert_eq!(l2arc.write_size(false), 64 * MIB + 129 * 64 * KIB);
    // A small device has none, and gets a quarter at most.
    assert_eq!(L2arc::new(options(512 * MIB, 32 * MIB)).write_size(true), 32 * MIB);
    assert_eq!(L2arc::new(options(64 * MIB, 32 * MIB)).write_size(true), 16 * MIB);
    // One that is scaled down has as many as at full scale.
    let scaled = L2arcOptions { scale_down: 100, ..options(GIB, 32 * MIB) };
    assert_eq!(L2arc::new(scaled).write_size(true), 32 * MIB + 65 * 64 * KIB);
}

/// `l2arc_sublist_lock`: metadata before data, what is used often before the rest.
#[test]
fn lists_are_searched_in_order_from_the_end_that_is_evicted_next() {
    let mut arc = cache(100 * SECTOR, options(8 * MIB, MIB));
    let indirect = |key| Block { kind: Kind::Indirect, ..data(key) };
    for key in 1..=3 {
        read(&mut arc, 0, data(key));
        read(&mut arc, 0, data(10 + key));
        read(&mut arc, 0, indirect(20 + key));
        read(&mut arc, 0, indirect(30 + key));
    }
    for key in [11, 12, 13] {
        read(&mut arc, 100 * MS, data(key));
        read(&mut arc, 100 * MS, indirect(20 + key));
    }
    // Not warm: the newest first.
    assert_eq!(fed(&mut arc), [33, 32, 31, 23, 22, 21, 13, 12, 11, 3, 2, 1]);
    let mut warm = cache(100 * SECTOR, options(8 * MIB, MIB));
    warm.is_warm = true;
    (1..=3).for_each(|key| {
        read(&mut warm, 0, data(key));
    });
    assert_eq!(fed(&mut warm), [1, 2, 3]);
    // What is there already is not written again.
    assert_eq!(fed(&mut warm), []);
}

#[test]
fn a_list_is_searched_no_further_than_the_headroom() {
    let mut arc = cache(10_000 * SECTOR, options(64 * MIB, 16 * SECTOR));
    arc.is_warm = true;
    (0..1_000).for_each(|key| {
        read(&mut arc, 0, data(key));
    });
    // With room for a log block beside them, which a device of this size never gets.
    let room = 16 * SECTOR - LOG_BLOCK_BYTES;
    assert_eq!(room, 0);
    let mut arc = cache(10_000 * SECTOR, options(64 * MIB, 32 * SECTOR));
    arc.is_warm = true;
    (0..1_000).for_each(|key| {
        read(&mut arc, 0, data(key));
    });
    // 16 blocks each time, of 32 times 8 times 2 that are searched.
    let all: Vec<u64> = (0..40).flat_map(|_| fed(&mut arc)).collect();
    assert_eq!(all, (0..512).collect::<Vec<_>>());
}

#[test]
fn prefetched_blocks_are_left_out_until_they_are_used() {
    let mut arc = cache(100 * SECTOR, options(8 * MIB, MIB));
    arc.access(0, data(1), Intent::Prefetch);
    arc.on_read_done(1);
    assert_eq!(fed(&mut arc), []);
    read(&mut arc, 0, data(1));
    assert_eq!(fed(&mut arc), [1]);
    let all = L2arcOptions { caches_prefetched: true, ..options(8 * MIB, MIB) };
    let mut arc = cache(100 * SECTOR, all);
    arc.access(0, data(1), Intent::Prefetch);
    arc.on_read_done(1);
    assert_eq!(fed(&mut arc), [1]);
}

#[test]
fn a_block_cannot_be_read_while_it_is_written_nor_once_it_is_dirty() {
    let mut arc = cache(100 * SECTOR, options(8 * MIB, MIB));
    read(&mut arc, 0, data(1));
    let feed = arc.feed(|_| 3_000);
    assert_eq!(feed.writes, [Extent { address: 0, bytes: SECTOR as u32 }]);
    assert_eq!(arc.on_device(1), None);
    arc.on_fed();
    assert_eq!(arc.on_device(1), Some(feed.writes[0]));
    arc.make_dirty(0, data(1));
    assert_eq!((arc.on_device(1), arc.l2arc_sizes()), (None, (0, 0)));
}

#[test]
fn headers_of_what_only_the_device_has_take_the_memory_of_blocks_up_to_a_third() {
    // 3 MiB of blocks of 512 bytes, which have headers of 96.
    let small = |key| Block { bytes: 512, ..data(key) };
    let all = L2arcOptions { sector_bytes: 512, ..options(256 * MIB, MIB) };
    let mut arc = cache(3 * MIB, all);
    for key in 0..100_000 {
        read(&mut arc, 0, small(key));
        if key % 500 == 0 {
            arc.feed(|_| 512);
            arc.on_fed();
        }
    }
    let (held, headers) = arc.l2arc_sizes();
    let limit = 3 * MIB * HEADERS_PERCENT / 100;
    // Nothing more is written then. What is on the device and in a list of the ARC has a header when it leaves.
    let written = held / 512 * HEADER_BYTES;
    assert!(limit < headers && headers <= written && written < 2 * limit, "{headers} of {limit}");
    assert!(arc.bytes() + headers <= 3 * MIB, "{} and {headers}", arc.bytes());
    assert!(held > 2 * 3 * MIB, "the device has more than memory: {held}");
}

/// A device of sectors, each with what was written there last.
struct Device {
    sectors: Vec<Option<(u64, u32)>>,
}

/// The device has what the cache says that it has, whatever happens.
#[test]
fn what_is_said_to_be_on_the_device_is_there() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let log_blocks = rng.below(2) == 0;
        let scale_down = if log_blocks { 4_096 } else { 1 };
        let l2arc = L2arcOptions { scale_down, ..options(MIB + 40 * SECTOR, 40 * SECTOR) };
        let mut arc = cache((20 + rng.below(100)) * SECTOR, l2arc);
        let mut device = Device { sectors: vec![None; (l2arc.bytes / SECTOR) as usize] };
        let mut versions: HashMap<u64, u32> = HashMap::new();
        let mut dirty: Vec<u64> = Vec::new();
        let stored = |key: u64| 1_024 + (key % 7) as u32 * 1_024;
        let (mut in_flight, mut written) = (None, 0);
        for step in 0..20_000u64 {
            let now_ns = step * 20 * MS;
            let key = rng.below(600);
            let block = Block {
                kind: if key.is_multiple_of(9) { Kind::Indirect } else { Kind::Data },
                ..data(key)
            };
            match rng.below(20) {
                0 => {
                    arc.make_dirty(now_ns, block);
                    dirty.push(key);
                    *versions.entry(key).or_default() += 1;
                }
                1 if !dirty.is_empty() => arc.on_written(now_ns, dirty.remove(0)),
                2 if !dirty.contains(&key) => {
                    arc.remove(key);
                    *versions.entry(key).or_default() += 1;
                }
                3 => {
                    arc.forget_on_device(key);
                    *versions.entry(key).or_default() += 1;
                }
                4 | 5 if in_flight.is_none() => {
                    let feed = arc.feed(stored);
                    let l2arc = arc.l2arc.as_ref().unwrap();
                    assert!(feed.bytes() <= feed.wanted_bytes, "seed {seed}");
                    let keys: HashMap<u64, u64> =
                        l2arc.writing.iter().map(|key| (l2arc.blocks[key].address, *key)).collect();
                    for extent in &feed.writes {
                        let first = (extent.address / SECTOR) as usize;
                        let contents = keys.get(&extent.address);
                        let contents =
                            contents.map(|key| (*key, versions.get(key).copied().unwrap_or(0)));
                        let sectors = (u64::from(extent.bytes) / SECTOR) as usize;
                        device.sectors[first..first + sectors].fill(contents);
                        written += sectors;
                    }
                    in_flight = Some(());
                }
                6 if in_flight.take().is_some() => arc.on_fed(),
                _ => {
                    read(&mut arc, now_ns, block);
                }
            }
            let l2arc = arc.l2arc.as_ref().unwrap();
            if step % 50 == 0 {
                let mut held = 0;
                for (key, cached) in &l2arc.blocks {
                    let version = versions.get(key).copied().unwrap_or(0);
                    let first = (cached.address / SECTOR) as usize;
                    let sectors = (u64::from(cached.bytes) / SECTOR) as usize;
                    let there = &device.sectors[first..first + sectors];
                    assert!(
                        there.iter().all(|one| *one == Some((*key, version))),
                        "seed {seed}, step {step}: {key} {cached:?}"
                    );
                    held += u64::from(cached.bytes);
                }
                let alone = l2arc.blocks.keys().filter(|key| arc.blocks.find(**key).is_none());
                let headers = alone.count() as u64 * HEADER_BYTES;
                assert_eq!(arc.l2arc_sizes(), (held, headers), "seed {seed}, step {step}");
            }
        }
        let rounds = written / device.sectors.len();
        assert!(rounds > 2, "seed {seed}: the hand went round {rounds} times");

        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes);
        writer.value(&arc).unwrap();
        writer.finish().unwrap();
        let mut reader = StateReader::new(&bytes);
        let mut same: Arc = reader.value().unwrap();
        if in_flight.is_some() {
            arc.on_fed();
            same.on_fed();
        }
        assert_eq!(arc.feed(stored), same.feed(stored), "seed {seed}");
        assert_eq!(arc.l2arc_sizes(), same.l2arc_sizes());
    }
}
