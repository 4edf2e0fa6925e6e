//! Read-ahead of sequential streams on the drives and layouts of the published arrays, against arithmetic.

use std::ops::ControlFlow;

use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{AnyArray, Counters, LunId, ProcessorCosts};
use strewn_raid::{Parity, ParityGroup, VraidConfig, VraidLayout};
use strewn_sim::{Segment, Simulation, Spindles, Worker, Workers};
use strewn_spindle::Scheduler;
use strewn_workload::{AccessLine, AccessSpecification, Pattern, PatternStream};

use crate::arithmetic::{FAS2050, FREE};
use crate::failures::{SECOND_NS, config, drive};

const LUN_BLOCKS: u32 = 2 << 20;

/// Twenty spindles of the FAS2050's group, with room for little more than the LUN.
fn write_anywhere(window_kib: u64, processor: ProcessorCosts) -> WriteAnywhere<()> {
    let mut array = WriteAnywhere::new(WriteAnywhereConfig {
        volumes: vec![VolumeConfig::of_one_lun(3 << 20, LUN_BLOCKS)],
        cache_blocks: 340_000,
        protected_blocks: 170_000,
        dirty_limit_blocks: 100_000,
        processor,
        ..config(ParityGroup::new(Parity::RaidDp, 18, 1 << 20).unwrap())
    })
    .unwrap();
    array.set_read_ahead(window_kib << 10);
    array
}

/// The EVA4400's twenty spindles.
fn in_place(window_kib: u64, read_cache_kib: u64, processor: ProcessorCosts) -> InPlace<()> {
    let spindle_sectors = drive().capacity_sectors();
    let layout = VraidLayout::new(VraidConfig::new(vec![10, 10]), spindle_sectors * 512).unwrap();
    let mut array = InPlace::new(InPlaceConfig {
        destage_low_sectors: 1 << 17,
        processor,
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(layout, 160)],
            vec![LunConfig::whole(u64::from(LUN_BLOCKS) * 8)],
            spindle_sectors,
            1 << 20,
        )
    })
    .unwrap();
    array.set_read_cache(window_kib << 10, read_cache_kib << 10);
    array
}

/// Streams that read in order, each in its own part of the LUN.
fn streams(count: u64, kib: u32, outstanding: u32) -> Vec<Worker> {
    let sectors = u64::from(LUN_BLOCKS) * 8 / count;
    let stream = |number: u64| {
        let line = AccessLine {
            bytes: kib << 10,
            percent_of_accesses: 100,
            read_percent: 100,
            random_percent: 0,
        };
        let accesses = AccessSpecification::new("stream", vec![line], 4_096).unwrap();
        let pattern = Pattern::from(&accesses);
        let stream = PatternStream::new(&pattern, number * sectors, sectors, number).unwrap();
        Worker { lun: LunId(0), ..Worker::closed_loop(Box::new(stream), outstanding) }
    };
    (0..count).map(stream).collect()
}

fn simulation<A: AnyArray<()>>(array: A, workers: Vec<Worker>) -> Simulation<A, Workers> {
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 8);
    Simulation::with_host(array, &spindles, Workers::new(workers)).unwrap()
}

fn segment<A: AnyArray<()>>(simulation: &mut Simulation<A, Workers>, seconds: u64) -> Segment {
    let mut look = |_| ControlFlow::Continue(());
    let segment = simulation.run_segment(seconds * SECOND_NS, &mut look).unwrap();
    assert!(segment.laws.hold(), "{:?}", segment.laws);
    segment
}

/// MiB a second of these streams once they are under way, and what the array counted.
fn rate<A: AnyArray<()>>(array: A, workers: Vec<Worker>) -> (f64, Counters) {
    let mut simulation = simulation(array, workers);
    segment(&mut simulation, 1);
    let segment = segment(&mut simulation, 4);
    (segment.bytes as f64 / f64::from(1 << 20) / 4.0, segment.counters)
}

/// Within ten percent of arithmetic.
#[track_caller]
fn assert_about(mib_per_s: f64, arithmetic: f64) {
    let off_percent = 100.0 * (mib_per_s / arithmetic - 1.0);
    println!("{mib_per_s:.1} MiB/s, {arithmetic:.1} by arithmetic: {off_percent:+.1} %");
    assert!(off_percent.abs() < 10.0, "{mib_per_s} MiB/s, and arithmetic gives {arithmetic}");
}

/// Those of the EVA4400: 20 us, 5 us, 0.2 us.
const EVA4400: ProcessorCosts = ProcessorCosts {
    host_operation_ns: 20_000,
    spindle_command_ns: 5_000,
    per_sector_ps: 100_000,
    ..FREE
};

// The drive turns in 60 s / 15,020 = 3.995 ms. Tracks of the outermost zone have 1,200 sectors, 600 KiB, and the skew
// from one to the next is 0.14167 of a turn (0.19 to the next cylinder, once in four or more tracks). So its media rate
// is 600 KiB in 1.1417 turns, 128.5 MiB/s, and 256 KiB pass in 256 / 600 x 1.1417 turns = 0.4871 turns = 1.946 ms.
const TURN_MS: f64 = 3.995;
const MEDIA_MIB_PER_S: f64 = 128.5;

#[test]
fn without_read_ahead_a_stream_of_single_reads_waits_for_a_turn_each_time() {
    // The next sectors have passed when the next command arrives: 64 KiB a turn.
    let (fas, _) = rate(write_anywhere(0, FAS2050), streams(1, 64, 1));
    assert_about(fas, 0.0625 / TURN_MS * 1e3);
    let (eva, _) = rate(in_place(0, 0, EVA4400), streams(1, 64, 1));
    assert!(eva < 20.0, "{eva}");
}

#[test]
fn one_stream_is_read_ahead_at_about_the_media_rate_of_a_drive() {
    // Write-anywhere, 512 KiB ahead: two chunks of 256 KiB are on their way, on two spindles. Each takes half a turn
    // until it begins and 0.4871 turns to pass.
    let (fas, counts) = rate(write_anywhere(512, FREE), streams(1, 64, 1));
    assert_about(fas, 0.5 / ((0.5 + 0.4871) * TURN_MS) * 1e3);
    let commands_per_mib = counts.data_reads as f64 / (counts.host_read_blocks as f64 / 256.0);
    assert!(commands_per_mib < 4.1, "{commands_per_mib} commands a MiB, not one a chunk");
    // In place, four chunks of 128 KiB are, a stripe: when a spindle's next chunk is asked for, it has just passed. So
    // the array reads 512 KiB a turn.
    let (eva, _) = rate(in_place(512, 0, FREE), streams(1, 64, 1));
    assert_about(eva, 0.5 / TURN_MS * 1e3);
    // The processor costs the EVA4400 little. The FAS2050 takes 0.237 ms for the command of a chunk, and 0.098 ms for
    // each of the reads of the chunk before it, of which all but the first are asked for when the chunk is there.
    let (eva, _) = rate(in_place(512, 0, EVA4400), streams(1, 64, 1));
    assert_about(eva, 0.5 / TURN_MS * 1e3);
    let (fas, _) = rate(write_anywhere(512, FAS2050), streams(1, 64, 1));
    assert_about(fas, 0.5 / ((0.5 + 0.4871) * TURN_MS + 0.237 + 3.0 * 0.098) * 1e3);
}

#[test]
fn a_longer_window_keeps_all_spindles_of_a_stripe_reading() {
    // A spindle of VRAID-5 has four chunks of data, then one of parity that passes unread. With the next chunk asked
    // for before the one before it has passed, five spindles read at the media rate.
    let (eva, _) = rate(in_place(2_048, 0, FREE), streams(1, 64, 1));
    assert_about(eva, 5.0 * 0.8 * MEDIA_MIB_PER_S);
    // All 18 spindles of the write-anywhere group have a chunk on its way or more: 8 reads of 256 KiB and 4 MiB.
    let (fas, _) = rate(write_anywhere(4_096, FREE), streams(1, 256, 8));
    assert_about(fas, 18.0 * MEDIA_MIB_PER_S);
}

#[test]
fn eight_streams_read_as_fast_as_spindles_that_change_place_for_each_chunk() {
    // A chunk takes half a turn to come and the time it takes to pass: 18 spindles with chunks of 256 KiB, 20 with
    // chunks of 128 KiB. (Among several commands a drive takes the nearest, which makes up for the short seeks between
    // streams.)
    let (fas, _) = rate(write_anywhere(1_024, FREE), streams(8, 64, 1));
    assert_about(fas, 18.0 * 0.25 / ((0.5 + 0.4871) * TURN_MS) * 1e3);
    let (eva, _) = rate(in_place(2_048, 0, FREE), streams(8, 64, 1));
    assert_about(eva, 20.0 * 0.125 / ((0.5 + 0.2435) * TURN_MS) * 1e3);
}

#[test]
fn the_processor_of_the_fas2050_binds_eight_streams() {
    // An operation of 64 KiB: 66.179 + 32 us. A command of 256 KiB for four of them: 108.606 + 128 us.
    let (fas, _) = rate(write_anywhere(512, FAS2050), streams(8, 64, 1));
    assert_about(fas, 0.0625 / (66.179 + 32.0 + (108.606 + 128.0) / 4.0) * 1e6);
}

#[test]
fn large_reads_with_several_outstanding_lose_nothing_by_read_ahead() {
    // 8 x 256 KiB on its way before any read-ahead: five spindles in place are kept busy, less their parity.
    let (eva, _) = rate(in_place(512, 0, EVA4400), streams(1, 256, 8));
    assert_about(eva, 5.0 * 0.8 * MEDIA_MIB_PER_S);
    // An operation of 256 KiB and its command: 66.179 + 128 + 108.606 + 128 us. With 512 KiB ahead the spindles are
    // slower.
    let (fas, _) = rate(write_anywhere(2_048, FAS2050), streams(1, 256, 8));
    assert_about(fas, 0.25 / (66.179 + 108.606 + 256.0) * 1e6);
    let (before, _) = rate(write_anywhere(0, FAS2050), streams(1, 256, 8));
    let (default, _) = rate(write_anywhere(512, FAS2050), streams(1, 256, 8));
    assert!(default > 1.1 * before, "{default} MiB/s, and {before} without read-ahead");
}

/// A LUN of 1 GiB of which random writes have moved a fifth of the blocks.
fn aged(window_kib: u64) -> WriteAnywhere<()> {
    let mut array = WriteAnywhere::new(WriteAnywhereConfig {
        volumes: vec![VolumeConfig::of_one_lun(600_000, 1 << 18)],
        cache_blocks: 20_000,
        protected_blocks: 10_000,
        dirty_limit_blocks: 6_000,
        processor: FAS2050,
        ..config(ParityGroup::new(Parity::RaidDp, 18, 1 << 17).unwrap())
    })
    .unwrap();
    array.set_read_ahead(window_kib << 10);
    array
}

#[test]
fn on_a_strewn_lun_read_ahead_saves_waiting_and_no_commands() {
    let measure = |window_kib: u64| {
        let line = AccessLine {
            bytes: 4_096,
            percent_of_accesses: 100,
            read_percent: 0,
            random_percent: 100,
        };
        let updates = AccessSpecification::new("updates", vec![line], 4_096).unwrap();
        let stream = PatternStream::new(&Pattern::from(&updates), 0, 1 << 21, 1).unwrap();
        let closed_loop = Worker::closed_loop(Box::new(stream), 16);
        let updates = Worker { runtime_ns: Some(20 * SECOND_NS), ..closed_loop };
        let pattern = AccessLine { bytes: 65_536, read_percent: 100, random_percent: 0, ..line };
        let reads = AccessSpecification::new("stream", vec![pattern], 4_096).unwrap();
        let stream = PatternStream::new(&Pattern::from(&reads), 0, 1 << 21, 1).unwrap();
        let reads = Worker::closed_loop(Box::new(stream), 1);
        let reads = Worker { start_delay_ns: 30 * SECOND_NS, ..reads };
        let mut simulation = simulation(aged(window_kib), vec![updates, reads]);
        segment(&mut simulation, 30);
        let read = segment(&mut simulation, 10);
        let score = read.layout.luns[0].file.score;
        assert!(score < 0.8, "a layout score of {score} is not aged");
        let per_read = read.counters.data_reads as f64 / read.operations as f64;
        (read.bytes as f64 / f64::from(1 << 20) / 10.0, per_read)
    };
    let ((without, commands_without), (with, commands_with)) = (measure(0), measure(512));
    println!("{without:.1} -> {with:.1} MiB/s, {commands_without:.2} -> {commands_with:.2}");
    assert!(with > 2.0 * without, "{without} -> {with} MiB/s");
    assert!((0.8..1.1).contains(&(commands_with / commands_without)));
}

#[test]
fn a_read_cache_answers_what_was_read_before() {
    // The stream comes by its 64 MiB again and again.
    let sectors = 64 << 11;
    let line = AccessLine {
        bytes: 65_536,
        percent_of_accesses: 100,
        read_percent: 100,
        random_percent: 0,
    };
    let reads = AccessSpecification::new("stream", vec![line], 4_096).unwrap();
    let worker = || {
        let stream = PatternStream::new(&Pattern::from(&reads), 0, sectors, 1).unwrap();
        vec![Worker::closed_loop(Box::new(stream), 1)]
    };
    let (_, without) = rate(in_place(512, 0, EVA4400), worker());
    assert_eq!(without.host_read_hits.min(1), 1, "what was read ahead counts as cached");
    let mut cached = simulation(in_place(512, 96 << 10, EVA4400), worker());
    segment(&mut cached, 2);
    let cached = segment(&mut cached, 4).counters;
    assert_eq!((cached.data_reads, cached.host_read_hits), (0, cached.host_read_blocks));
}

/// Of random reads, a cache answers its own share of the file, whatever streams could have been read ahead.
#[test]
fn a_read_cache_holds_what_it_was_set_to_and_no_more() {
    let line = AccessLine {
        bytes: 4_096,
        percent_of_accesses: 100,
        read_percent: 100,
        random_percent: 100,
    };
    let reads = AccessSpecification::new("random", vec![line], 4_096).unwrap();
    for (file_mib, cache_kib, window_kib) in [
        (512, 16_384, 0),
        (512, 16_384, 512),
        (512, 16_384, 4_096),
        // At half of the scale, at which a window is larger than the cache.
        (256, 8_192, 16_384),
    ] {
        let stream = PatternStream::new(&Pattern::from(&reads), 0, file_mib << 11, 1).unwrap();
        let workers = vec![Worker::closed_loop(Box::new(stream), 64)];
        let mut simulation = simulation(in_place(window_kib, cache_kib, EVA4400), workers);
        segment(&mut simulation, 10);
        let counters = segment(&mut simulation, 15).counters;
        let hits = counters.host_read_hits as f64 / counters.host_read_blocks as f64;
        println!("{cache_kib} KiB of {file_mib} MiB, {window_kib} KiB ahead: {hits:.4}");
        assert!((hits - 1.0 / 32.0).abs() < 0.003, "{hits}");
    }
}

#[test]
fn random_reads_read_nothing_ahead() {
    let random = |array: WriteAnywhere<()>| {
        let mut simulation = crate::failures::simulation(array, 40, 1);
        let segment = crate::failures::segment(&mut simulation, 20).unwrap();
        (segment.operations, segment.response.max_ns, segment.counters)
    };
    assert_eq!(random(write_anywhere(512, FAS2050)), random(write_anywhere(0, FAS2050)));
    let random = |array: InPlace<()>| {
        let mut simulation = crate::failures::simulation(array, 40, 1);
        let segment = crate::failures::segment(&mut simulation, 20).unwrap();
        (segment.operations, segment.response.max_ns, segment.counters)
    };
    assert_eq!(random(in_place(512, 0, EVA4400)), random(in_place(0, 0, EVA4400)));
}
