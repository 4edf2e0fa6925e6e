//! Spindle commands for each host operation.

use strewn_array::in_place::Raid5Layout;
use strewn_array::write_anywhere::OtherData;

use super::*;

/// Operations of 8 sectors at any sector: those that begin on one of the last 7 of a chunk's 256 sectors need two
/// chunks.
const CHUNK_CROSSINGS: f64 = 7.0 / 256.0;

const ANY_SECTOR: u64 = SECTOR;

#[test]
fn in_place_a_read_is_one_command_a_chunk() {
    for (alignment_bytes, expected) in [(4 * KIB, 1.0), (ANY_SECTOR, 1.0 + CHUNK_CROSSINGS)] {
        let array = array_in_place(in_place(vraid_5(5), 8 * GIB, FREE));
        let load = Load { alignment_bytes, ..RANDOM_READS };
        let segment = last(run(array, load, 8 * GIB, &[60]));
        let commands = per_operation(segment.counters.spindle_reads(), &segment);
        // Commands in flight when the segment begins and ends are a few of 60,000.
        assert_near("reads for a 4 KiB read in place", commands, expected, 0.003);
        assert_eq!(segment.counters.spindle_writes(), 0);
    }
}

#[test]
fn in_place_a_write_is_four_commands_a_chunk() {
    for (alignment_bytes, expected) in [(4 * KIB, 4.0), (ANY_SECTOR, 4.0 * (1.0 + CHUNK_CROSSINGS))]
    {
        // Once its cache is full, an array writes back as much as it takes. Of 64 GiB, the cache has a 4,000th part, so
        // hardly a write is to sectors that are dirty already, or beside some that are.
        let layout = vraid_5(10);
        let array = array_in_place(in_place(layout, 64 * GIB, FREE));
        let load = Load { alignment_bytes, ..RANDOM_WRITES };
        let segment = last(run(array, load, 64 * GIB, &[20, 60]));
        let counters = &segment.counters;
        let commands = counters.spindle_reads() + counters.spindle_writes();
        assert_near(
            "commands for a 4 KiB write in place",
            per_operation(commands, &segment),
            expected,
            0.005,
        );
        // Old data and old parity, new data, new parity.
        let [reads, data, parity] =
            [counters.parity_update_reads, counters.data_writes, counters.parity_writes];
        assert!(reads.abs_diff(2 * data) < 400 && data.abs_diff(parity) < 200, "{counters:?}");
        assert_eq!(counters.full_stripe_destages + counters.reconstruct_destages, 0);
    }
}

/// RAID-5 in chunks of 128 KiB. Of n dirty chunks of a stripe, read-modify-write takes 2 (n + 1) commands; of all N but
/// n, reconstruct-write takes N + 1. Writes begin at each chunk of a stripe equally often, since the chunks of a stripe
/// and those of a write have no common factor; what crosses the end of a stripe is two updates, a single chunk four
/// commands.
#[test]
fn in_place_a_write_of_several_chunks_updates_parity_once_a_stripe() {
    for (spindles, kib, alignment_kib, expected) in [
        (17, 512, 512, 10.0),
        (8, 256, 256, (6.0 * 6.0 + 8.0) / 7.0),
        (14, 768, 768, (8.0 * 14.0 + 5.0 * 16.0) / 13.0),
        (5, 256, 256, 5.0),
        // Three chunks, 31 times in 32: together in a stripe, or two and one. Where one comes first, the other two are
        // shorter than two chunks, and updated one by one.
        (8, 256, 4, (31.0 * (5.0 * 8.0 + 10.0 + 12.0) + 6.0 * 6.0 + 8.0) / 7.0 / 32.0),
    ] {
        let layout = Raid5Layout::new(spindles, 128 * KIB, 2 * MIB, DRIVE_BYTES).unwrap().into();
        let array = array_in_place(in_place(layout, 64 * GIB, FREE));
        let (bytes, alignment_bytes) = (kib * KIB, alignment_kib * KIB);
        let load = Load { bytes, alignment_bytes, outstanding: 64, ..RANDOM_WRITES };
        let segment = last(run(array, load, 64 * GIB, &[20, 60]));
        let counters = &segment.counters;
        let commands = counters.spindle_reads() + counters.spindle_writes();
        let what = format!("commands for a write of {kib} KiB on {spindles} spindles");
        assert_near(&what, per_operation(commands, &segment), expected, 0.02);
    }
}

#[test]
fn a_read_of_a_fresh_write_anywhere_file_is_one_command_a_chunk() {
    // 4 KiB at any sector are in two blocks, seven times out of eight; those are in two chunks of 64 blocks once in 64.
    let crossings = 7.0 / 8.0 / 64.0;
    for (alignment_bytes, expected) in [(4 * KIB, 1.0), (ANY_SECTOR, 1.0 + crossings)] {
        let config = write_anywhere((Parity::Raid4, 8), 1 << 20, blocks(16 * GIB), FREE);
        let load = Load { alignment_bytes, ..RANDOM_READS };
        let segment = last(run(array_anywhere(config), load, 16 * GIB, &[60]));
        let counters = &segment.counters;
        // A read whose blocks are all cached takes no command. Of those with two blocks, half is no hit.
        let missed = 1.0 - counters.host_read_hits as f64 / counters.host_read_blocks as f64;
        let commands = per_operation(counters.data_reads, &segment);
        assert_near("reads for a 4 KiB read of a fresh file", commands, expected * missed, 0.005);
    }
}

/// A consistency point lays its blocks in chunks of 64 over 18 spindles: a command carries 64 of them, and a tetris of
/// 18 x 64 blocks has one more for each parity. What does not fill a last tetris lies stripe by stripe, a command on
/// each spindle; the root, which is written last, has a stripe of its own.
#[test]
fn a_consistency_point_writes_64_blocks_a_command_and_parity_once_a_tetris() {
    for load in [RANDOM_WRITES, STREAM] {
        let load = Load { outstanding: 64, ..load };
        let config = write_anywhere((Parity::RaidDp, 18), 1 << 20, blocks(4 * GIB), FREE);
        let segment = last(run(array_anywhere(config), load, 4 * GIB, &[2, 20]));
        let counters = &segment.counters;
        let points = counters.consistency_points as f64;
        assert!(points > 50.0, "{points} consistency points");
        let blocks = counters.consistency_point_blocks as f64 / points;
        let tetrises = (blocks / (18.0 * 64.0)).floor();
        let [data, parity] =
            [counters.data_writes, counters.parity_writes].map(|count| count as f64 / points);
        println!(
            "{blocks} blocks: {tetrises} tetrises; {data} commands of data, {parity} of parity"
        );
        let rest = blocks - tetrises * 18.0 * 64.0;
        let of_whole = tetrises * 18.0;
        assert!(of_whole + rest / 64.0 <= data && data <= of_whole + 18.0 + 2.0, "{data}");
        assert!(2.0 * tetrises < parity && parity <= 2.0 * (tetrises + 2.0), "{parity}");
    }
}

/// Stripes of which some blocks change, and the others hold data: with single stripes as tetrises, each block is a
/// command of its own. An update by subtraction reads the d blocks and the parity, and writes both: 2 d + 2 commands
/// with one parity, 2 d + 4 with two.
#[test]
fn an_update_by_subtraction_takes_two_commands_a_block_and_two_a_parity() {
    let update = |parity: Parity| {
        let shape = AllocationShape { area_stripes: 4096, tetris_stripes: 1, chunk_blocks: 1 };
        let total = 12 * (1 << 17);
        // One block in twenty is free: most stripes have none or one, and hardly any more than subtraction is best for.
        let other_data = OtherData { full_to_blocks: total * 95 / 100, run_blocks: 1, seed: 1 };
        let config = WriteAnywhereConfig {
            shape,
            other_data: Some(other_data),
            log: LogSize { half_bytes: MIB, record_header_bytes: 160 },
            ..write_anywhere((parity, 12), 1 << 17, blocks(128 * MIB), FREE)
        };
        last(run(array_anywhere(config), RANDOM_WRITES, 128 * MIB, &[1, 40])).counters
    };
    let mut parity_writes = Vec::new();
    for (parity, parities) in [(Parity::Raid4, 1.0), (Parity::RaidDp, 2.0)] {
        let counters = update(parity);
        let stripes = counters.stripes_written as f64;
        let changed = counters.data_writes as f64 / stripes;
        assert!(stripes > 3000.0 && (1.0..3.0).contains(&changed), "{counters:?}");
        let of_parity = counters.parity_writes as f64 / stripes;
        assert_near("parity writes a stripe", of_parity, parities, 0.005);
        let commands = counters.parity_update_reads + counters.data_writes + counters.parity_writes;
        let expected = 2.0 * changed + 2.0 * parities;
        assert_near("commands a stripe", commands as f64 / stripes, expected, 0.005);
        parity_writes.push(of_parity);
    }
    assert_near("RAID-4 over RAID-DP", parity_writes[0] / parity_writes[1], 0.5, 0.005);
}
