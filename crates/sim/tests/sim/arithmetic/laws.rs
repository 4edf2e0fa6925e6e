//! What bounds an array: its processor, and its log.

use super::*;

/// With a processor that binds, operations a second are the reciprocal of what one costs: a for itself, b for each of
/// its c commands, d for each KiB between host and memory or memory and spindle.
#[test]
fn a_processor_that_binds_gives_the_reciprocal_of_an_operations_cost() {
    let costs = ProcessorCosts {
        host_operation_ns: 500_000,
        spindle_command_ns: 700_000,
        per_sector_ps: 1_000_000,
        ..FREE
    };
    let rate = |commands: f64, kib: f64| 1e6 / (500.0 + 700.0 * commands + 2.0 * kib);
    // A 4 KiB read moves 4 KiB twice, by one command. A write in place moves 4 KiB once, and four times by its
    // commands.
    for (what, load, commands, kib) in
        [("reads", RANDOM_READS, 1.0, 8.0), ("writes", RANDOM_WRITES, 4.0, 20.0)]
    {
        let config = in_place(vraid_5(10), 64 * GIB, costs);
        let load = Load { outstanding: 64, ..load };
        let segment = last(run(array_in_place(config), load, 64 * GIB, &[30, 60]));
        assert!(segment.processor_busy_ns as f64 > 0.99 * segment.length_ns as f64);
        let measured = per_second(segment.operations, &segment);
        assert_near(what, measured, rate(commands, kib), 0.005);
    }
    let config = write_anywhere((Parity::Raid4, 8), 1 << 20, blocks(4 * GIB), costs);
    let load = Load { outstanding: 64, ..RANDOM_READS };
    let segment = last(run(array_anywhere(config), load, 4 * GIB, &[60]));
    // Some few blocks are in the cache: they cost no command, and move once.
    let missed =
        1.0 - segment.counters.host_read_hits as f64 / segment.counters.host_read_blocks as f64;
    let measured = per_second(segment.operations, &segment);
    assert_near("write-anywhere reads", measured, rate(missed, 4.0 + 4.0 * missed), 0.005);
}

#[test]
fn a_consistency_point_begins_with_each_full_half_of_the_log() {
    // The processor makes it 1,000 writes a second, of 4,096 + 160 bytes: half of 8 MiB lasts 1.97 s.
    let costs = ProcessorCosts { host_operation_ns: 1_000_000, ..FREE };
    let config = write_anywhere((Parity::RaidDp, 18), 1 << 20, blocks(4 * GIB), costs);
    let segment = last(run(array_anywhere(config), RANDOM_WRITES, 4 * GIB, &[10, 200]));
    let writes = per_second(segment.operations, &segment);
    assert_near("writes a second", writes, 1000.0, 0.005);
    let period_s = (8 * MIB / (4096 + 160)) as f64 / writes;
    let points = 200.0 / period_s;
    assert!((segment.counters.consistency_points as f64 - points).abs() <= 1.0, "{points}");
}

#[test]
fn with_few_writes_a_consistency_point_begins_every_ten_seconds() {
    // 100 writes a second fill 0.43 MB in ten seconds, and half of the log takes 8 MiB.
    let costs = ProcessorCosts { host_operation_ns: 10_000_000, ..FREE };
    let config = write_anywhere((Parity::RaidDp, 18), 1 << 20, blocks(4 * GIB), costs);
    let segment = last(run(array_anywhere(config), RANDOM_WRITES, 4 * GIB, &[5, 200]));
    assert_eq!(segment.counters.consistency_points, 20);
}
