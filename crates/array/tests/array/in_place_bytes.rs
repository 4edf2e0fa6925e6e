//! The in-place controller with bytes: parity, what is computed from it, blocks that go bad, and the log.

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid5Layout,
};
use strewn_array::{Array, Format, LogSize, Rebuild};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{VraidConfig, VraidLayout};
use strewn_testing::cases;

use crate::cases::cases_that_test;
use crate::faulty::{Described, FaultyHarness};

const CHUNK_SECTORS: u64 = 16;
const SEGMENT_SECTORS: u64 = 2 * CHUNK_SECTORS;
/// Five rounds of RStores, of which the LUN takes one or two.
const SPINDLE_SECTORS: u64 = 25 * SEGMENT_SECTORS;

#[derive(Debug, Clone)]
struct Setting {
    sets: Vec<u16>,
    /// Whether the spindles are one RAID-5 group.
    raid_5: bool,
    lun_sectors: u64,
    write_cache_sectors: u64,
    destage_low_sectors: u64,
    destages_in_flight: u32,
    full_stripes: bool,
    rebuild: Rebuild,
    log: Option<u64>,
    format: Format,
    /// Whether host operations are of whole blocks.
    whole_blocks: bool,
    /// Bytes that a stream is read ahead, and of the read cache.
    read_ahead: (u64, u64),
}

fn any_setting() -> impl Strategy<Value = Setting> {
    let sets = prop_oneof![
        Just((vec![6], false)),
        Just((vec![6, 7], false)),
        Just((vec![8], false)),
        Just((vec![6], true)),
        Just((vec![9], true)),
        Just((vec![14], true)),
    ];
    let log = prop::option::of(4_000..60_000u64);
    let rebuild = (0..3u16, 1..4u32)
        .prop_map(|(spares, steps_in_flight)| Rebuild { spares, steps_in_flight });
    let read_ahead = prop_oneof![
        2 => Just((0, 0)),
        2 => (8_192..100_000u64).prop_map(|window| (window, 0)),
        1 => (8_192..100_000u64, 4_096..100_000u64),
    ];
    let destages = (40..400u64, 0..100u64, 1..16u32, prop::bool::weighted(0.8));
    (sets, 300..=1400u64, destages, rebuild, log, any::<(bool, bool)>(), read_ahead).prop_map(
        |((sets, raid_5), lun_sectors, destages, rebuild, log, flags, read_ahead)| {
            let (cache, low, destages_in_flight, full_stripes) = destages;
            // RAID-5 has no room for what is lost.
            let spares = if raid_5 { 0 } else { rebuild.spares };
            let rebuild = Rebuild { spares, ..rebuild };
            let lun_sectors = match flags.0 {
                true => lun_sectors / BLOCK_SECTORS * BLOCK_SECTORS,
                false => lun_sectors,
            };
            Setting {
                sets,
                raid_5,
                lun_sectors,
                write_cache_sectors: cache,
                destage_low_sectors: low,
                destages_in_flight,
                full_stripes,
                rebuild,
                log,
                format: if flags.0 { Format::Durable } else { Format::Modelled },
                whole_blocks: flags.1,
                read_ahead,
            }
        },
    )
}

fn roomy() -> Setting {
    Setting {
        sets: vec![6],
        raid_5: false,
        lun_sectors: 600,
        write_cache_sectors: 400,
        destage_low_sectors: 0,
        destages_in_flight: 4,
        full_stripes: true,
        rebuild: Rebuild::default(),
        log: None,
        format: Format::Modelled,
        whole_blocks: true,
        read_ahead: (0, 0),
    }
}

fn array(setting: &Setting) -> InPlace<Described> {
    let (chunk_bytes, segment_bytes) = (CHUNK_SECTORS * 512, SEGMENT_SECTORS * 512);
    let spindle_bytes = SPINDLE_SECTORS * 512;
    let layout: LunLayout = if setting.raid_5 {
        let spindles = setting.sets[0];
        Raid5Layout::new(spindles, chunk_bytes, segment_bytes, spindle_bytes).unwrap().into()
    } else {
        let redundancy_sets = setting.sets.clone();
        let config = VraidConfig { redundancy_sets, chunk_bytes, segment_bytes };
        VraidLayout::new(config, spindle_bytes).unwrap().into()
    };
    let array = InPlace::<Described>::new(InPlaceConfig {
        destage_low_sectors: setting.destage_low_sectors,
        format: setting.format,
        log: setting.log.map(|half_bytes| LogSize { half_bytes, record_header_bytes: 100 }),
        ..InPlaceConfig::new(
            vec![
                DiskGroupConfig::new(layout, setting.destages_in_flight)
                    .with_full_stripes(setting.full_stripes)
                    .with_rebuild(setting.rebuild),
            ],
            vec![LunConfig::whole(setting.lun_sectors)],
            SPINDLE_SECTORS,
            setting.write_cache_sectors,
        )
    });
    let mut array = array.unwrap();
    let (read_ahead_bytes, read_cache_bytes) = setting.read_ahead;
    array.set_read_cache(read_ahead_bytes, read_cache_bytes);
    array
}

fn harness(setting: &Setting) -> FaultyHarness {
    FaultyHarness::new(array(setting), setting.lun_sectors, SPINDLE_SECTORS)
}

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// A stream of reads goes on.
    ReadOn(u32),
    Read(Index, u32),
    Write(Index, u32),
    /// A write of so many half chunks, where the last one ended.
    WriteOn(u32),
    Execute(Index),
    Complete(Index),
    CompleteNewest,
    Drain,
    Commit,
    LogDrain,
    Spoil(Index, Index),
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let sectors = prop_oneof![4 => 1..=20u32, 1 => 1..=120u32];
    let step = prop_oneof![
        6 => sectors.clone().prop_map(Step::ReadOn),
        6 => (any::<Index>(), sectors.clone()).prop_map(|(at, size)| Step::Read(at, size)),
        8 => (any::<Index>(), sectors).prop_map(|(at, size)| Step::Write(at, size)),
        8 => (1..=8u32).prop_map(Step::WriteOn),
        4 => any::<Index>().prop_map(Step::Execute),
        24 => any::<Index>().prop_map(Step::Complete),
        6 => Just(Step::CompleteNewest),
        1 => Just(Step::Drain),
        2 => Just(Step::Commit),
        1 => Just(Step::LogDrain),
        4 => any::<(Index, Index)>().prop_map(|(spindle, block)| Step::Spoil(spindle, block)),
    ];
    prop::collection::vec(step, 1..250)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Spoils {
    None,
    OneOfARow,
    Any,
}

/// `cursor` is where the last write of a stream ended.
fn take(
    harness: &mut FaultyHarness,
    setting: &Setting,
    step: &Step,
    spoils: Spoils,
    cursor: &mut u64,
) {
    let commands = harness.commands_out();
    match step {
        Step::ReadOn(sectors) => {
            let (first_sector, lun_sectors) = (harness.goes_on_at, setting.lun_sectors);
            let sectors = if setting.whole_blocks { sectors.next_multiple_of(8) } else { *sectors };
            let sectors = sectors.min((lun_sectors - first_sector) as u32);
            harness.read(first_sector, sectors);
            harness.goes_on_at = (first_sector + u64::from(sectors)) % lun_sectors;
        }
        Step::Read(at, sectors) | Step::Write(at, sectors) => {
            let lun_sectors = setting.lun_sectors as usize;
            let (mut first_sector, mut sectors) = (at.index(lun_sectors), *sectors);
            if setting.whole_blocks {
                first_sector = first_sector / 8 * 8;
                sectors = sectors.next_multiple_of(8);
            }
            let sectors = sectors.min((lun_sectors - first_sector) as u32);
            match step {
                Step::Read(..) => harness.read(first_sector as u64, sectors),
                _ => harness.write(first_sector as u64, sectors),
            };
        }
        Step::WriteOn(half_chunks) => {
            // A stream ends with the LUN, and begins again.
            let half_chunk = CHUNK_SECTORS / 2;
            let first_sector = if *cursor + half_chunk > setting.lun_sectors { 0 } else { *cursor };
            let sectors = u64::from(*half_chunks) * half_chunk;
            let left = (setting.lun_sectors - first_sector) / half_chunk * half_chunk;
            *cursor = first_sector + sectors.min(left);
            harness.write(first_sector, sectors.min(left) as u32);
        }
        Step::Execute(index) if commands > 0 => harness.execute(index.index(commands)),
        Step::Complete(index) if commands > 0 => harness.complete(index.index(commands)),
        Step::CompleteNewest if commands > 0 => harness.complete(commands - 1),
        Step::Execute(_) | Step::Complete(_) | Step::CompleteNewest => {}
        Step::Drain => {
            for _ in 0..50 {
                if harness.commands_out() > 0 {
                    harness.complete(0);
                }
            }
        }
        Step::Commit => harness.commit(),
        Step::LogDrain => harness.begin_log_drain(),
        Step::Spoil(spindle, block) if spoils != Spoils::None => {
            let spindle = spindle.index(harness.array.spindles().into()) as u16;
            let block = block.index((SPINDLE_SECTORS / BLOCK_SECTORS) as usize) as u64;
            harness.driver.spoil(spindle, block, spoils == Spoils::Any);
        }
        Step::Spoil(..) => {}
    }
}

/// A spindle's fate, by the number of the step before which it befalls it.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost(u16),
    Replaced(u16),
}

fn befall(harness: &mut FaultyHarness, fate: Fate) {
    match fate {
        Fate::Lost(spindle) => harness.fail(spindle),
        Fate::Replaced(spindle) => harness.replace(spindle),
    }
}

/// A new array goes through `steps`, at some of which its spindles meet their fates, or else at the end.
fn live(
    setting: &Setting,
    steps: &[Step],
    fates: &[(usize, Fate)],
    spoils: Spoils,
) -> FaultyHarness {
    let mut harness = harness(setting);
    harness.driver.may_refuse = spoils == Spoils::Any;
    let mut cursor = 0;
    for (number, step) in steps.iter().enumerate() {
        for (_, fate) in fates.iter().filter(|(at, _)| *at == number) {
            befall(&mut harness, *fate);
        }
        take(&mut harness, setting, step, spoils, &mut cursor);
    }
    for (_, fate) in fates.iter().filter(|(at, _)| *at >= steps.len()) {
        befall(&mut harness, *fate);
    }
    harness
}

fn run(
    setting: &Setting,
    steps: &[Step],
    fates: &[(usize, Fate)],
    spoils: Spoils,
) -> FaultyHarness {
    let mut harness = live(setting, steps, fates, spoils);
    harness.run_to_quiescence();
    harness
}

const CASES: u32 = 256;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(CASES / 8, CASES)))]

    #[test]
    fn parity_is_right_after_any_history(setting in any_setting(), steps in any_steps()) {
        let mut harness = run(&setting, &steps, &[], Spoils::None);
        harness.clean();
        harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
        harness.driver.parity_is_right();
        harness.driver.descriptions_are_right();
        harness.read_everything();
    }

    #[test]
    fn with_a_spindle_lost_every_read_is_right(
        setting in any_setting(),
        steps in any_steps(),
        at in 0..250usize,
        spindle in 0..6u16,
        other in 0..6u16,
    ) {
        let rebuild = Rebuild { spares: setting.rebuild.spares.min(1), ..setting.rebuild };
        let setting = Setting { rebuild, ..setting };
        let mut harness = run(&setting, &steps, &[(at, Fate::Lost(spindle))], Spoils::None);
        harness.read_everything();
        harness.clean();
        harness.read_everything();
        harness.driver.descriptions_are_right();
        if setting.rebuild.spares > 0 {
            // What is on reserve now has parity as right as any: another spindle may go.
            prop_assert!(!harness.array.failures()[0].is_open());
            if other != spindle {
                harness.fail(other);
                harness.run_to_quiescence();
                harness.read_everything();
            }
        }
    }

    #[test]
    fn a_replaced_spindle_is_whole_again(
        setting in any_setting(),
        steps in any_steps(),
        times in prop::array::uniform2(0..250usize),
        spindle in 0..6u16,
        other in 0..6u16,
    ) {
        let (lost, replaced) = (times[0].min(times[1]), times[0].max(times[1]));
        let fates = [(lost, Fate::Lost(spindle)), (replaced, Fate::Replaced(spindle))];
        let mut harness = run(&setting, &steps, &fates, Spoils::None);
        prop_assert!(!harness.array.failures()[0].is_open());
        harness.clean();
        harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
        harness.driver.parity_is_right();
        harness.driver.descriptions_are_right();
        harness.fail(other);
        harness.run_to_quiescence();
        harness.read_everything();
    }

    #[test]
    fn nothing_acknowledged_is_lost_with_the_power(
        setting in any_setting(),
        steps in any_steps(),
        loses_a_spindle: bool,
        at in 0..250usize,
        spindle in 0..6u16,
        spoils: bool,
    ) {
        let log = setting.log.or(Some(20_000));
        // Only the durable format completes parts of blocks, of which a crash must not leave halves.
        let whole_blocks = setting.whole_blocks || setting.format == Format::Modelled;
        let setting = Setting { log, whole_blocks, ..setting };
        let fates = [(at, Fate::Lost(spindle))];
        let fates = if loses_a_spindle { &fates[..] } else { &[] };
        let spoils =
            if spoils && !loses_a_spindle { Spoils::OneOfARow } else { Spoils::None };
        let mut harness = live(&setting, &steps, fates, spoils);
        harness.crash(array(&setting));
        harness.read_everything();
        harness.clean();
        harness.read_everything();
        if loses_a_spindle {
            harness.replace(spindle);
            harness.run_to_quiescence();
        }
        harness.clean();
        harness.driver.parity_is_right();
    }

}

/// Eight chunks of data and one of parity: what is dirty of a stripe goes out by the cheaper of read-modify-write, two
/// commands a chunk and two for parity, and reconstruct-write, one for each chunk of the stripe; parity is written
/// once.
#[test]
fn a_partial_stripe_updates_its_parity_once() {
    let of_write = |first_sector: u64, sectors: u64| {
        let setting = Setting { sets: vec![9], raid_5: true, lun_sectors: 1_400, ..roomy() };
        let mut harness = harness(&setting);
        harness.write(first_sector, sectors as u32);
        harness.run_to_quiescence();
        harness.clean();
        harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
        harness.driver.parity_is_right();
        harness.driver.descriptions_are_right();
        let counters = harness.array.counters();
        (counters.parity_update_reads, counters.data_writes, counters.parity_writes)
    };
    let expected = [(2, 1), (3, 2), (4, 3), (4, 4), (3, 5), (2, 6), (1, 7), (0, 8)];
    for (chunks, (reads, data)) in (1..).zip(expected) {
        for first in 0..=8 - chunks {
            let found = of_write(first * CHUNK_SECTORS, chunks * CHUNK_SECTORS);
            assert_eq!(found, (reads, data, 1), "{chunks} chunks from chunk {first} on");
        }
    }
    // Half a chunk, two, and half of one: a command each, and a parity of the whole chunk.
    let half = CHUNK_SECTORS / 2;
    assert_eq!(of_write(half, 3 * CHUNK_SECTORS), (5, 4, 1));
    // Two parts that share no row share no parity.
    assert_eq!(of_write(half, CHUNK_SECTORS), (4, 2, 2));
    // The end of one stripe and the beginning of the next: three chunks, and two.
    assert_eq!(of_write(5 * CHUNK_SECTORS, 5 * CHUNK_SECTORS), (7, 5, 2));
    // A stripe that the LUN's end cuts is not reconstructed.
    let stripe = 8 * CHUNK_SECTORS;
    let cut = 1_400 / stripe * stripe;
    let sectors = (1_400 - cut) / CHUNK_SECTORS * CHUNK_SECTORS;
    let chunks = sectors / CHUNK_SECTORS;
    println!("{chunks} chunks of the last stripe");
    assert_eq!(of_write(cut, sectors), (chunks + 1, chunks, 1));
}

/// The histories above have streams. Enough of them must be destaged in stripes, of either kind, for them to say
/// anything.
#[test]
fn streams_go_out_in_stripes_and_parity_is_right() {
    let strategy = (any_setting(), any_steps(), 0..500usize, 0..6u16);
    let seen = std::cell::Cell::new((0, 0));
    cases_that_test(CASES, CASES, strategy, |(setting, steps, at, spindle)| {
        // A spindle is lost in half of the cases.
        let fates = [(at, Fate::Lost(spindle)), (at + 20, Fate::Replaced(spindle))];
        let fates = if at < 250 { &fates[..] } else { &[] };
        let mut harness = run(&setting, &steps, fates, Spoils::None);
        harness.clean();
        harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
        harness.driver.parity_is_right();
        harness.driver.descriptions_are_right();
        let counters = *harness.array.counters();
        let has_stripes = setting.full_stripes && setting.format == Format::Modelled;
        prop_assert!(has_stripes || counters.full_stripe_destages == 0);
        let (full, reconstructed) = seen.get();
        let full = full + counters.full_stripe_destages;
        seen.set((full, reconstructed + counters.reconstruct_destages));
        Ok((counters.full_stripe_destages + counters.reconstruct_destages) as u32)
    });
    let (full, reconstructed) = seen.get();
    println!("{full} full stripes, {reconstructed} reconstruct-writes");
    // Few of few cases have full stripes, in each of which there are many.
    let least = u64::from(cases(0, CASES / 4));
    assert!(full > least && reconstructed > least);
}

#[test]
fn one_bad_block_of_a_row_is_made_good() {
    cases_that_test(CASES, CASES, (any_setting(), any_steps()), |(setting, steps)| {
        let mut harness = run(&setting, &steps, &[], Spoils::OneOfARow);
        harness.read_everything();
        harness.clean();
        harness.read_everything();
        harness.driver.parity_is_right();
        harness.driver.descriptions_are_right();
        prop_assert_eq!(harness.array.bad_blocks().lost, 0);
        prop_assert_eq!(harness.array.bad_blocks().refused, 0);
        harness.data_blocks_are_good();
        Ok(harness.driver.spoiled)
    });
}

#[test]
fn nothing_wrong_is_ever_read() {
    let times = prop::array::uniform2(0..600usize);
    let strategy = (any_setting(), any_steps(), times, 0..6u16);
    cases_that_test(CASES, CASES, strategy, |(setting, steps, times, spindle)| {
        let (lost, replaced) = (times[0].min(times[1]), times[0].max(times[1]));
        let mut fates = vec![(lost, Fate::Lost(spindle)), (replaced, Fate::Replaced(spindle))];
        fates.retain(|(at, _)| *at < 300);
        if lost >= 300 {
            fates.clear();
        }
        let mut harness = run(&setting, &steps, &fates, Spoils::Any);
        harness.read_everything();
        harness.clean();
        harness.read_everything();
        if fates.len() != 1 {
            harness.driver.parity_is_right();
        }
        harness.driver.descriptions_are_right();
        Ok(harness.driver.spoiled)
    });
}

/// Where a sector of the LUN lies: spindle and block; and the parity over it.
fn blocks_of(harness: &FaultyHarness, lun_sector: u64) -> [(u16, u64); 2] {
    let place = harness.driver.layout.locate(lun_sector);
    [
        (place.spindle.0, place.sector_on_spindle / BLOCK_SECTORS),
        (place.parity_spindle.0, place.parity_sector / BLOCK_SECTORS),
    ]
}

#[test]
fn a_bad_block_is_computed_and_written_anew() {
    let mut harness = harness(&roomy());
    let [(spindle, block), _] = blocks_of(&harness, 8);
    assert!(harness.driver.spoil(spindle, block, false));
    // The read begins and ends within blocks, and the bad one is its second.
    let read = harness.read(5, 9);
    harness.run_to_quiescence();
    assert!(harness.is_answered(read));
    assert_eq!(harness.driver.bad_blocks(), 0);
    assert_eq!(harness.array.bad_blocks().repaired, 1);
    // The bad read, four of the rest of the stripe, and the write.
    let counters = harness.array.counters();
    assert_eq!((counters.data_reads, counters.recovery_reads, counters.data_writes), (1, 4, 1));
    harness.driver.parity_is_right();
}

#[test]
fn a_destage_repairs_what_it_finds_bad() {
    for which in 0..2 {
        let mut harness = harness(&roomy());
        let (spindle, block) = blocks_of(&harness, 0)[which];
        harness.driver.spoil(spindle, block, false);
        harness.write(2, 3);
        harness.run_to_quiescence();
        assert_eq!((harness.driver.bad_blocks(), harness.array.bad_blocks().repaired), (0, 1));
        harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
        harness.driver.parity_is_right();
    }
}

#[test]
fn two_bad_blocks_of_a_row_are_refused_until_they_are_written() {
    let mut harness = harness(&roomy());
    harness.driver.may_refuse = true;
    let other = CHUNK_SECTORS;
    for lun_sector in [0, other] {
        let [(spindle, block), _] = blocks_of(&harness, lun_sector);
        harness.driver.spoil(spindle, block, true);
    }
    harness.read(0, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.refused, 1);
    // What else the row has can be read, and so can the next row.
    harness.read(2 * CHUNK_SECTORS, 8);
    harness.read(8, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.refused, 1);
    // One of the two is written: it is there, and the other is not made up from parity that knows nothing of it.
    harness.write(0, 8);
    harness.run_to_quiescence();
    harness.read(0, 8);
    harness.read(other, 8);
    harness.run_to_quiescence();
    assert_eq!((harness.driver.refused, harness.array.bad_blocks().lost), (2, 0));
    assert_eq!(harness.driver.bad_blocks(), 2, "the other one, and parity that is marked as gone");
    // With the other one written the row is whole, parity included.
    harness.write(other, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.bad_blocks(), 0);
    harness.driver.parity_is_right();
    harness.read_everything();
}

/// A read of the LUN's second block is out, which has found it bad; and the place of another block of its row.
fn with_a_read_that_found_a_bad_block() -> (FaultyHarness, u32, (u16, u64)) {
    let mut harness = harness(&roomy());
    let [(spindle, block), _] = blocks_of(&harness, 8);
    let [other, _] = blocks_of(&harness, 8 + CHUNK_SECTORS);
    assert!(harness.driver.spoil(spindle, block, false));
    let read = harness.read(8, 8);
    harness.execute(0);
    (harness, read, other)
}

/// The row never has two bad blocks, but when the read learns of the one it is good again, and another one is bad.
fn read_finds_another_bad_block(mut harness: FaultyHarness, read: u32, other: (u16, u64)) {
    assert_eq!((harness.driver.bad_blocks(), harness.array.bad_blocks().repaired), (0, 1));
    assert!(harness.driver.spoil(other.0, other.1, false));
    harness.run_to_quiescence();
    assert!(harness.is_answered(read));
    assert_eq!((harness.driver.bad_blocks(), harness.array.bad_blocks().repaired), (1, 1));
    harness.read_everything();
    assert_eq!((harness.driver.bad_blocks(), harness.array.bad_blocks().repaired), (0, 2));
    harness.driver.parity_is_right();
}

#[test]
fn what_another_read_has_repaired_is_not_gone() {
    let (mut harness, read, other) = with_a_read_that_found_a_bad_block();
    harness.read(8, 8);
    while harness.commands_out() > 1 {
        harness.complete(1);
    }
    read_finds_another_bad_block(harness, read, other);
}

#[test]
fn what_a_destage_has_repaired_is_not_gone() {
    let (mut harness, read, other) = with_a_read_that_found_a_bad_block();
    harness.write(8, 8);
    // The read waits for the destage, which has found the same block bad.
    harness.complete(0);
    while harness.driver.bad_blocks() > 0 {
        harness.complete(0);
    }
    assert!(!harness.is_answered(read));
    read_finds_another_bad_block(harness, read, other);
}

#[test]
fn what_has_been_repaired_is_not_gone_with_a_lost_spindle() {
    let (mut harness, read, (other, _)) = with_a_read_that_found_a_bad_block();
    harness.read(8, 8);
    while harness.commands_out() > 1 {
        harness.complete(1);
    }
    harness.fail(other);
    harness.run_to_quiescence();
    assert!(harness.is_answered(read));
    harness.read_everything();
}

#[test]
fn of_two_blocks_that_were_bad_one_is_computed_and_the_other_is_there() {
    let mut harness = harness(&roomy());
    for lun_sector in [0, 8] {
        let [(spindle, block), _] = blocks_of(&harness, lun_sector);
        assert!(harness.driver.spoil(spindle, block, false));
    }
    let read = harness.read(0, 16);
    harness.execute(0);
    harness.read(8, 8);
    while harness.commands_out() > 1 {
        harness.complete(1);
    }
    assert_eq!(harness.driver.bad_blocks(), 1);
    let [(spindle, block), _] = blocks_of(&harness, 8 + CHUNK_SECTORS);
    assert!(harness.driver.spoil(spindle, block, false));
    harness.run_to_quiescence();
    assert!(harness.is_answered(read));
    assert_eq!((harness.driver.bad_blocks(), harness.array.bad_blocks().repaired), (1, 2));
    harness.read_everything();
    harness.driver.parity_is_right();
}

#[test]
fn data_without_a_place_wait_for_the_rebuild() {
    let rebuild = Rebuild { spares: 1, steps_in_flight: 1 };
    let mut harness = harness(&Setting { rebuild, ..roomy() });
    harness.driver.may_refuse = true;
    // The last RStore of the round, so that its rebuild is not the first.
    let lun_sector = 4 * SEGMENT_SECTORS * 4;
    let [(lost, _), _] = blocks_of(&harness, lun_sector);
    let [(spindle, block), _] = blocks_of(&harness, lun_sector + CHUNK_SECTORS);
    harness.driver.spoil(spindle, block, true);
    harness.fail(lost);
    harness.write(lun_sector, 8);
    harness.run_to_quiescence();
    assert!(!harness.array.failures()[0].is_open());
    // The block's old contents could not be rebuilt; its new contents are there.
    assert_eq!((harness.array.bad_blocks().left_out, harness.array.bad_blocks().lost), (1, 0));
    harness.clean();
    harness.read(lun_sector, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.refused, 0);
    harness.read(lun_sector + CHUNK_SECTORS, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.refused, 1);
}

#[test]
fn data_that_will_never_have_a_place_are_lost_and_counted() {
    let mut harness = harness(&roomy());
    harness.driver.may_refuse = true;
    let [(lost, _), _] = blocks_of(&harness, 0);
    let [(spindle, block), _] = blocks_of(&harness, CHUNK_SECTORS);
    harness.driver.spoil(spindle, block, true);
    harness.fail(lost);
    harness.write(0, 8);
    harness.run_to_quiescence();
    assert!(harness.array.is_clean());
    assert_eq!(harness.array.bad_blocks().lost, 1);
    harness.read(0, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.refused, 1);
}

#[test]
fn a_spindle_may_be_missing_from_the_start() {
    let mut harness = harness(&roomy());
    harness.fail(2);
    harness.read_everything();
    harness.write(0, 300);
    harness.clean();
    harness.read_everything();
    harness.replace(2);
    harness.run_to_quiescence();
    assert!(!harness.array.failures()[0].is_open());
    harness.driver.parity_is_right();
    harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
}

#[test]
fn what_is_bad_on_reserve_is_computed_when_it_is_moved_home() {
    let rebuild = Rebuild { spares: 1, steps_in_flight: 2 };
    let mut harness = harness(&Setting { rebuild, ..roomy() });
    harness.fail(1);
    harness.run_to_quiescence();
    harness.write(0, 200);
    harness.run_to_quiescence();
    harness.driver.spoil_reserve();
    harness.replace(1);
    harness.run_to_quiescence();
    assert_eq!(harness.array.bad_blocks().left_out, 0);
    harness.driver.parity_is_right();
    harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
    // All reserve is free again: the next loss finds it.
    harness.fail(4);
    harness.run_to_quiescence();
    assert!(harness.array.failures().iter().all(|failure| !failure.is_open()));
    harness.read_everything();
}

/// A half takes three writes of a block.
fn with_log(format: Format) -> Setting {
    let log = Some(3 * (8 * 512 + 100));
    Setting { log, format, destage_low_sectors: 300, ..roomy() }
}

#[test]
fn a_full_half_begins_a_log_drain_that_frees_it() {
    let mut harness = harness(&with_log(Format::Modelled));
    for block in 0..3 {
        harness.write(block * 40, 8);
    }
    assert_eq!(harness.commands_out(), 0, "below the low water mark nothing is written back");
    let fourth = harness.write(200, 8);
    assert!(harness.is_answered(fourth));
    assert!(harness.commands_out() > 0);
    harness.run_to_quiescence();
    assert_eq!((harness.driver.committed, harness.array.counters().consistency_points), (1, 1));
    // The fourth write is not of the drain, and it is in the other half.
    assert!(!harness.array.is_clean());
    harness.clean();
    assert_eq!(harness.driver.committed, 2);
    harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
}

#[test]
fn with_both_halves_full_writes_wait_for_the_commit() {
    let mut harness = harness(&with_log(Format::Durable));
    let first: Vec<u32> = (0..6).map(|block| harness.write(block * 40, 8)).collect();
    assert!(first.iter().all(|write| harness.is_answered(*write)));
    let (seventh, eighth) = (harness.write(400, 8), harness.write(440, 8));
    while harness.commands_out() > 0 {
        harness.complete(0);
    }
    assert!(harness.driver.is_committing);
    assert!(
        !harness.is_answered(seventh) && !harness.is_answered(eighth),
        "the half is not free yet"
    );
    assert_eq!(harness.array.counters().stalled_writes, 2);
    harness.commit();
    assert!(harness.is_answered(seventh) && harness.is_answered(eighth));
    harness.run_to_quiescence();
    harness.clean();
    harness.driver.spindles_have(&harness.driver.host.acknowledged.clone());
}

#[test]
fn a_sector_written_again_while_it_is_on_its_way_is_of_the_next_log_drain() {
    let mut harness = harness(&with_log(Format::Modelled));
    harness.write(0, 8);
    harness.begin_log_drain();
    assert_eq!(harness.commands_out(), 2);
    harness.write(0, 8);
    harness.run_to_quiescence();
    assert_eq!(harness.driver.committed, 1);
    assert!(!harness.array.is_clean());
    harness.clean();
    assert_eq!(harness.driver.committed, 2);
}
