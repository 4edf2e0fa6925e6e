//! Sequential writes: the media rate of the drives, less what a command costs.

use strewn_array::in_place::{Raid0Layout, Raid5Layout};

use super::drive::{
    HALF_TURN_MS, REVOLUTION_MS, SECTORS_PER_TRACK, TRACK_SKEW_MS, WRITE_OVERHEAD_MS, transfer_ms,
};
use super::*;

/// The mean of the shortest seeks, 1 to 20 cylinders.
const SHORT_SEEK_MS: f64 = 0.75;

fn mib_per_second(segment: &Segment) -> f64 {
    per_second(segment.bytes, segment) / MIB as f64
}

/// Full stripes go out in commands of 1 MiB, eight chunks. Each costs its overhead, a seek to the next track or so,
/// half a turn, and 2,048 sectors with 1.7 track skews: 10.8 ms. Four fifths of what five spindles write are data.
#[test]
fn in_place_a_stream_runs_at_the_media_rate_less_half_a_turn_a_command() {
    let command_ms = WRITE_OVERHEAD_MS + SHORT_SEEK_MS + HALF_TURN_MS + transfer_ms(2048.0);
    let of_a_spindle = 1000.0 / command_ms;
    let raid_5 = Raid5Layout::new(5, 128 * KIB, 2 * MIB, DRIVE_BYTES).unwrap();
    let raid_0 = Raid0Layout::new(4, 128 * KIB, 2 * MIB, DRIVE_BYTES).unwrap();
    for (what, layout) in
        [("VRAID-5", vraid_5(5)), ("RAID-5", raid_5.into()), ("RAID-0", raid_0.into())]
    {
        let array = array_in_place(in_place(layout, 16 * GIB, FREE));
        let segment = last(run(array, STREAM, 16 * GIB, &[2, 20]));
        assert_near(what, mib_per_second(&segment), 4.0 * of_a_spindle, 0.1);
        assert_eq!(segment.counters.parity_update_reads, 0, "{what}");
    }
}

/// Extent by extent, each chunk of 128 KiB takes four commands, each with a wait of its own.
#[test]
fn in_place_a_stream_takes_a_tenth_of_the_commands_in_full_stripes() {
    let commands_per_mib = |full_stripes| {
        let mut config = in_place(vraid_5(5), 16 * GIB, FREE);
        config.groups =
            config.groups.into_iter().map(|one| one.with_full_stripes(full_stripes)).collect();
        let segment = last(run(array_in_place(config), STREAM, 16 * GIB, &[2, 20]));
        let counters = &segment.counters;
        let commands = counters.spindle_reads() + counters.spindle_writes();
        commands as f64 * MIB as f64 / segment.bytes as f64
    };
    // Eight chunks a MiB, four commands each.
    assert_near("commands a MiB in extents", commands_per_mib(false), 8.0 * 4.0, 0.02);
    // 4 MiB are eight stripes: five commands.
    assert_near("commands a MiB in stripes", commands_per_mib(true), 5.0 / 4.0, 0.02);
}

/// 100 writes of 64 KiB a second, one at a time: the low-water mark keeps the elevator so far behind the stream that
/// every stripe is full when it comes.
#[test]
fn in_place_a_slow_stream_is_written_back_in_full_stripes() {
    let costs = ProcessorCosts { host_operation_ns: 10_000_000, ..FREE };
    let array = array_in_place(in_place(vraid_5(5), 16 * GIB, costs));
    let load = Load { bytes: 64 * KIB, outstanding: 1, ..STREAM };
    let segment = last(run(array, load, 16 * GIB, &[60, 60]));
    assert_near("writes a second", per_second(segment.operations, &segment), 100.0, 0.01);
    let counters = &segment.counters;
    // 6.25 MiB a second are 750 stripes of 512 KiB a minute, eight at a time.
    assert!(counters.full_stripe_destages.abs_diff(750) <= 8, "{counters:?}");
    assert_eq!(counters.parity_update_reads + counters.reconstruct_destages, 0);
}

/// The time of one tetris on a spindle: 64 blocks, right behind those of the tetris before. When one ends, the head has
/// passed the next one's first sector by the overhead, so it takes a turn to come back. If the 512 sectors are on one
/// track, the drive writes them within that turn; 512 times in 1,200 they are on two, and it has to begin at the first.
fn tetris_ms() -> f64 {
    let on_two_tracks = 512.0 / SECTORS_PER_TRACK;
    let within_a_turn = WRITE_OVERHEAD_MS + REVOLUTION_MS;
    let behind_a_turn = REVOLUTION_MS + 512.0 / SECTORS_PER_TRACK * REVOLUTION_MS + TRACK_SKEW_MS;
    (1.0 - on_two_tracks) * within_a_turn + on_two_tracks * behind_a_turn
}

/// The FAS2050's group, with 64 MiB for half of the log.
fn fas2050(costs: ProcessorCosts) -> WriteAnywhere<()> {
    array_anywhere(WriteAnywhereConfig {
        log: LogSize { half_bytes: 64 * MIB, record_header_bytes: 160 },
        cache_blocks: 300_000,
        protected_blocks: 150_000,
        dirty_limit_blocks: 90_000,
        ..write_anywhere((Parity::RaidDp, 18), 1 << 22, blocks(16 * GIB), costs)
    })
}

/// Half of the log takes 127 writes of 512 KiB: 16,256 blocks, and as many tetrises of 18 x 64 as these fill. One
/// consistency point follows the other; each ends with what must be written one after the other: the last tetris after
/// the reads for its partial stripes, and the superblock, at half a turn each.
#[test]
fn a_write_anywhere_stream_runs_at_the_rate_of_its_tetrises() {
    let writes = (64 * MIB / (512 * KIB + 160)) as f64;
    let tetrises = writes * 128.0 / (18.0 * 64.0);
    let end_ms = 2.0 * (WRITE_OVERHEAD_MS + HALF_TURN_MS);
    let point_ms = tetrises.ceil() * tetris_ms() + end_ms;
    let segment = last(run(fas2050(FREE), STREAM, 16 * GIB, &[2, 20]));
    let counters = &segment.counters;
    assert_eq!(counters.consistency_points, counters.back_to_back_consistency_points);
    let expected = writes / 2.0 * 1000.0 / point_ms;
    assert_near("write-anywhere stream, MiB/s", mib_per_second(&segment), expected, 0.1);
}

/// With the FAS2050's processor, half of the log costs 127 operations and the consistency point's commands, one after
/// the other; then the host waits for the end of the consistency point.
#[test]
fn a_write_anywhere_stream_is_bound_by_the_fas2050s_processor() {
    let writes = (64 * MIB / (512 * KIB + 160)) as f64;
    let tetrises = (writes * 128.0 / (18.0 * 64.0)).ceil();
    // 20 commands a tetris, of 256 KiB at 0.5 us a KiB.
    let operations_ms = writes * (66.179 + 0.5 * 512.0) / 1000.0;
    let commands_ms = tetrises * 20.0 * (108.606 + 0.5 * 256.0) / 1000.0;
    // The last two tetrises are in flight when the processor has done its part; reads for partial stripes and the
    // superblock follow.
    let end_ms = tetris_ms() + 2.0 * (WRITE_OVERHEAD_MS + HALF_TURN_MS);
    let expected = writes / 2.0 * 1000.0 / (operations_ms + commands_ms + end_ms);
    let segment = last(run(fas2050(FAS2050), STREAM, 16 * GIB, &[2, 20]));
    assert_near("MiB/s with a FAS2050's processor", mib_per_second(&segment), expected, 0.1);
}
