//! Spindles that fail at any moment, commands that complete in any order: no command goes to a spindle that is lost,
//! nothing is read from a spare or from reserve before it was written there, and every operation is answered.
//!
//! Without bytes: it is the commands that are looked at.

use std::collections::BTreeSet;

use proptest::prelude::*;
use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_array::write_anywhere::{CacheStart, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{
    Acknowledge, AnyArray, Array, DataLost, Direction, Driver, Durability, Format, HostOperation,
    LogLedger, LogRecord, LogSize, Logged, LunId, OperationId, ProcessorWork, Rebuild, Root,
    SpindleCommand,
};
use strewn_raid::{Parity, ParityGroup, SpindleIndex, VraidConfig, VraidLayout};

/// Spindles that can be lost, and remember what was written where it matters.
struct MemoryDriver {
    lost: BTreeSet<u16>,
    /// Spares: all that is read of them must have been written.
    spares: BTreeSet<u16>,
    /// From this sector on all spindles hold nothing at first.
    reserve_from: u64,
    written: BTreeSet<(u16, u64)>,
    outstanding: Vec<SpindleCommand<()>>,
    unanswered: BTreeSet<u32>,
    timer_ns: Option<u64>,
    log: Option<LogLedger>,
    is_committing: bool,
}

impl Durability for MemoryDriver {
    fn commit(&mut self, _root: Root) {
        assert!(!std::mem::replace(&mut self.is_committing, true), "two commits at once");
    }
}

impl Driver<()> for MemoryDriver {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}

    fn command(&mut self, command: SpindleCommand<()>) {
        let spindle = command.spindle.0;
        assert!(!self.lost.contains(&spindle), "a command for the lost {}", command.spindle);
        if command.direction == Direction::Read {
            let sectors = command.first_sector..command.first_sector + u64::from(command.sectors);
            for sector in sectors {
                let must_be_written = self.spares.contains(&spindle) || sector >= self.reserve_from;
                assert!(
                    !must_be_written || self.written.contains(&(spindle, sector)),
                    "sector {sector} of {} is read before it is written",
                    command.spindle
                );
            }
        }
        self.outstanding.push(command);
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, _payload: ()) {
        assert!(self.unanswered.remove(&operation.0), "{operation:?} is answered twice");
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = Some(at_ns);
    }

    fn take_spare(&mut self, spindle: SpindleIndex) {
        self.replace(spindle);
    }

    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &()) -> Logged {
        self.log.as_mut().expect("the array has a log").append(&record)
    }

    fn consistency_point_begins(&mut self) {
        self.log.iter_mut().for_each(LogLedger::switch);
    }

    fn consistency_point_ends(&mut self) {
        self.log.iter_mut().for_each(LogLedger::release);
    }
}

impl MemoryDriver {
    /// A blank device is there instead of a lost one.
    fn replace(&mut self, spindle: SpindleIndex) {
        assert!(self.lost.remove(&spindle.0), "a spare for {spindle}, which is not lost");
        self.spares.insert(spindle.0);
        self.written.retain(|(other, _)| *other != spindle.0);
    }
}

struct Harness<A> {
    array: A,
    driver: MemoryDriver,
    now_ns: u64,
    operations: u32,
    lun_sectors: u64,
}

/// What happens next; numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    Read(u64, u32),
    Write(u64, u32),
    Complete(usize),
    Timer,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (any::<u64>(), 1..140u32).prop_map(|(at, sectors)| Step::Read(at, sectors)),
        2 => (any::<u64>(), 1..140u32).prop_map(|(at, sectors)| Step::Write(at, sectors)),
        12 => any::<usize>().prop_map(Step::Complete),
        1 => Just(Step::Timer),
    ]
}

impl<A: AnyArray<()>> Harness<A> {
    fn new(mut array: A, lun_sectors: u64, reserve_from: u64) -> Self {
        let mut driver = MemoryDriver {
            lost: BTreeSet::new(),
            spares: BTreeSet::new(),
            reserve_from,
            written: BTreeSet::new(),
            outstanding: Vec::new(),
            unanswered: BTreeSet::new(),
            timer_ns: None,
            log: array.log_size().map(LogLedger::new),
            is_committing: false,
        };
        array.start(0, &mut driver);
        Self { array, driver, now_ns: 0, operations: 0, lun_sectors }
    }

    fn take(&mut self, step: &Step) {
        self.now_ns += 1_000;
        match *step {
            Step::Read(at, sectors) => self.submit(Direction::Read, at, sectors),
            Step::Write(at, sectors) => self.submit(Direction::Write, at, sectors),
            Step::Complete(which) if !self.driver.outstanding.is_empty() => {
                self.complete(which % self.driver.outstanding.len());
            }
            Step::Complete(_) => {}
            Step::Timer => {
                if let Some(at_ns) = self.driver.timer_ns.take() {
                    self.now_ns = self.now_ns.max(at_ns);
                    self.array.timer_fired(self.now_ns, &mut self.driver);
                }
            }
        }
    }

    fn submit(&mut self, direction: Direction, at: u64, sectors: u32) {
        self.commit();
        let first_sector = at % (self.lun_sectors - u64::from(sectors));
        let id = OperationId(self.operations);
        self.operations += 1;
        self.driver.unanswered.insert(id.0);
        let operation =
            HostOperation { id, lun: LunId(0), direction, first_sector, sectors, payload: () };
        self.array.host_operation(self.now_ns, operation, &mut self.driver);
    }

    fn complete(&mut self, index: usize) {
        let command = self.driver.outstanding.remove(index);
        if command.direction == Direction::Write {
            let sectors = command.first_sector..command.first_sector + u64::from(command.sectors);
            self.driver.written.extend(sectors.map(|sector| (command.spindle.0, sector)));
        }
        self.array.command_completed(self.now_ns, command.tag, (), &mut self.driver);
        self.commit();
    }

    fn commit(&mut self) {
        while std::mem::take(&mut self.driver.is_committing) {
            self.array.committed(self.now_ns, &mut self.driver);
        }
    }

    fn fail(&mut self, spindle: u16) -> Result<(), DataLost> {
        let outstanding = std::mem::take(&mut self.driver.outstanding);
        let (failed, left) = outstanding.into_iter().partition(|one| one.spindle.0 == spindle);
        self.driver.outstanding = left;
        self.driver.lost.insert(spindle);
        self.driver.spares.remove(&spindle);
        self.array.spindle_failed(self.now_ns, SpindleIndex(spindle), &mut self.driver)?;
        let failed: Vec<SpindleCommand<()>> = failed;
        for command in failed {
            self.array.command_failed(self.now_ns, command, &mut self.driver);
        }
        Ok(())
    }

    /// Completes the oldest command until there is none, with a timer now and then.
    fn run_to_quiescence(&mut self) {
        for _ in 0..4 {
            for done in 0.. {
                assert!(done < 1_000_000, "the array never comes to rest");
                if self.driver.outstanding.is_empty() {
                    break;
                }
                self.now_ns += 1_000;
                self.complete(0);
            }
            self.take(&Step::Timer);
        }
        assert_eq!(self.driver.unanswered, BTreeSet::new(), "never answered");
    }
}

impl Harness<InPlace<()>> {
    fn replace(&mut self, spindle: u16) {
        self.driver.replace(SpindleIndex(spindle));
        self.array.replaced(self.now_ns, SpindleIndex(spindle), &mut self.driver);
    }
}

/// The cache protects what a modelled in-place array acknowledges.
fn format_log(format: Format) -> Option<LogSize> {
    let size = LogSize { half_bytes: 60_000, record_header_bytes: 160 };
    (format == Format::Durable).then_some(size)
}

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Modelled), Just(Format::Durable)]
}

fn write_anywhere(format: Format, parity: Parity, rebuild: Rebuild) -> Harness<WriteAnywhere<()>> {
    let (file_blocks, stripes) = (600, 500);
    let array = WriteAnywhere::new(WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 64, tetris_stripes: 16, chunk_blocks: 8 },
        policy: PolicyName::FirstFit,
        format,
        consistency_point_interval_ns: 1_000_000,
        protected_blocks: 40,
        dirty_limit_blocks: 60,
        delayed_free_blocks: 20,
        cache_start: CacheStart::Empty,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(parity, 4, stripes).unwrap()],
            vec![VolumeConfig::of_one_lun(32_000, file_blocks)],
            LogSize { half_bytes: 200_000, record_header_bytes: 160 },
            100,
        )
    });
    Harness::new(array.unwrap().with_rebuild(rebuild), u64::from(file_blocks) * 8, u64::MAX)
}

fn in_place(format: Format, sets: Vec<u16>, rebuild: Rebuild) -> Harness<InPlace<()>> {
    let chunk_bytes = 8 * 512;
    let config =
        VraidConfig { redundancy_sets: sets.clone(), chunk_bytes, segment_bytes: 8 * chunk_bytes };
    let layout = VraidLayout::new(config, 40 * 8 * chunk_bytes).unwrap();
    // Three rounds of RStores; the reserve is behind them.
    let lun_sectors = u64::from(sets.iter().sum::<u16>()) * 3 * 8 * 8 * 4;
    let array = InPlace::new(InPlaceConfig {
        destage_low_sectors: 100,
        format,
        log: format_log(format),
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(layout, 6).with_rebuild(rebuild)],
            vec![LunConfig::whole(lun_sectors)],
            40 * 64,
            800,
        )
    });
    Harness::new(array.unwrap(), lun_sectors, 3 * 5 * 64)
}

fn rebuilds() -> impl Strategy<Value = Rebuild> {
    (0..3u16, 1..5u32).prop_map(|(spares, steps_in_flight)| Rebuild { spares, steps_in_flight })
}

/// The array goes through `steps`, and at the given ones spindles fail.
fn run<A: AnyArray<()>>(harness: &mut Harness<A>, steps: &[Step], failures: &[(usize, u16)]) {
    for (number, step) in steps.iter().enumerate() {
        for (_, spindle) in failures.iter().filter(|(at, _)| *at == number) {
            harness.fail(*spindle).unwrap();
        }
        harness.take(step);
    }
    harness.run_to_quiescence();
}

/// In a set of six there is but one spindle to rebuild a segment onto: a step that is begun anew goes to the same.
#[test]
fn regression_a_step_that_is_given_up_keeps_its_room() {
    let mut harness =
        in_place(Format::Modelled, vec![6, 8], Rebuild { spares: 1, steps_in_flight: 3 });
    harness.fail(3).unwrap();
    harness.take(&Step::Complete(0));
    harness.fail(8).unwrap();
    harness.run_to_quiescence();
    let [first, second] = harness.array.failures() else {
        panic!("{:?}", harness.array.failures())
    };
    assert!(!first.is_open() && second.is_open(), "{first:?}, {second:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(strewn_testing::cases(64, 256)))]

    #[test]
    fn write_anywhere_lives_with_as_many_losses_as_parities(
        steps in prop::collection::vec(any_step(), 300),
        raid_dp: bool,
        spindles in prop::sample::subsequence((0..5u16).collect::<Vec<_>>(), 2),
        times in prop::array::uniform2(0..300usize),
        rebuild in rebuilds(),
        format in formats(),
    ) {
        let parity = if raid_dp { Parity::RaidDp } else { Parity::Raid4 };
        let failures: Vec<_> =
            times.into_iter().zip(spindles).take(parity.spindles().into()).collect();
        let mut harness = write_anywhere(format, parity, rebuild);
        run(&mut harness, &steps, &failures);
        // What there was a spare for is whole: every sector of the spare has been written.
        let rebuilt: Vec<_> =
            harness.array.failures().iter().filter(|failure| !failure.is_open()).collect();
        prop_assert_eq!(rebuilt.len(), failures.len().min(rebuild.spares.into()));
        for failure in rebuilt {
            let of_spare = harness.driver.written.iter().filter(|one| one.0 == failure.spindle.0);
            prop_assert_eq!(of_spare.count(), 500 * 8);
        }
    }

    #[test]
    fn a_spare_may_fail_too(
        steps in prop::collection::vec(any_step(), 300),
        spindle in 0..6u16,
        times in prop::array::uniform3(0..300usize),
        rebuild in rebuilds(),
        format in formats(),
    ) {
        let mut harness = write_anywhere(format, Parity::RaidDp, rebuild);
        let failures = times.map(|time| (time, spindle));
        run(&mut harness, &steps, &failures);
        let whole = harness.array.failures().iter().any(|failure| !failure.is_open());
        prop_assert!(whole || rebuild.spares < 3);
    }

    #[test]
    fn in_place_lives_with_a_loss_in_every_set(
        steps in prop::collection::vec(any_step(), 300),
        spindles in (0..6u16, 6..14u16),
        times in prop::array::uniform2(0..300usize),
        rebuild in rebuilds(),
        format in formats(),
    ) {
        let mut harness = in_place(format, vec![6, 8], rebuild);
        let failures = [(times[0], spindles.0), (times[1], spindles.1)];
        run(&mut harness, &steps, &failures);
        let rebuilt = harness.array.failures().iter().filter(|failure| !failure.is_open()).count();
        prop_assert_eq!(rebuilt, usize::from(rebuild.spares.min(2)), "{:?}", harness.array.failures());
    }

    #[test]
    fn what_is_on_reserve_may_be_lost_with_its_new_spindle(
        steps in prop::collection::vec(any_step(), 200),
        order in prop::sample::subsequence((0..8u16).collect::<Vec<_>>(), 2).prop_shuffle(),
        format in formats(),
    ) {
        let mut harness = in_place(format, vec![8], Rebuild { spares: 2, steps_in_flight: 2 });
        run(&mut harness, &steps, &[(20, order[0])]);
        prop_assert!(!harness.array.failures()[0].is_open());
        run(&mut harness, &steps, &[(20, order[1])]);
        prop_assert!(harness.array.failures().iter().all(|failure| !failure.is_open()));
    }

    #[test]
    fn in_place_rebuilds_onto_a_replacement(
        steps in prop::collection::vec(any_step(), 300),
        spindle in 0..8u16,
        times in prop::array::uniform3(0..200usize),
        rebuild in rebuilds(),
        format in formats(),
    ) {
        let mut harness = in_place(format, vec![8], rebuild);
        let mut times = times;
        times.sort_unstable();
        // Lost, replaced, lost once more.
        run(&mut harness, &steps[..times[0]], &[]);
        harness.fail(spindle).unwrap();
        for step in &steps[times[0]..times[1]] {
            harness.take(step);
        }
        harness.replace(spindle);
        for step in &steps[times[1]..times[2]] {
            harness.take(step);
        }
        harness.fail(spindle).unwrap();
        for step in &steps[times[2]..] {
            harness.take(step);
        }
        harness.replace(spindle);
        harness.run_to_quiescence();
        prop_assert!(harness.array.failures().last().is_some_and(|failure| !failure.is_open()));
        // Nothing but the LUN's round is on it: all of that was written, and it is read again.
        let of_spindle = harness.driver.written.iter().filter(|one| one.0 == spindle);
        prop_assert!(of_spindle.count() >= 3 * 5 * 64);
        let counted = *harness.array.counters();
        harness.submit(Direction::Read, 0, 100);
        harness.run_to_quiescence();
        prop_assert_eq!(harness.array.counters().since(&counted).degraded_reads, 0);
        harness.fail((spindle + 1) % 8).unwrap();
        harness.run_to_quiescence();
    }
}
