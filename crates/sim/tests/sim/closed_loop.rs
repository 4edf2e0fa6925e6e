//! The closed loop: every operation is answered once, the host's depth bounds the number outstanding, time does not go
//! back, and a run repeats.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;
use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_array::{
    Acknowledge, AnyArray, Array, Counters, DataLost, Driver, Durability, Durable, FailedSpindle,
    Growable, HostOperation, LayoutMeasures, LogRecord, LogSize, Logged, OperationId,
    ProcessorCosts, ProcessorWork, Snapshots, SpindleCommand, Tag,
};
use strewn_raid::{SpindleIndex, VraidConfig, VraidLayout};
use strewn_sim::{Segment, Simulation, Spindles};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::{AccessSpecification, AccessStream};

const FILE_SECTORS: u64 = 1 << 20;

/// What passes between the host and an array.
#[derive(Debug, Default)]
struct Seen {
    outstanding: BTreeSet<u32>,
    answered: u64,
    now_ns: u64,
    wrong: Option<String>,
}

/// An array whose traffic is recorded.
struct Watched<A> {
    array: A,
    seen: Rc<RefCell<Seen>>,
}

/// A driver whose traffic is recorded.
struct WatchedDriver<'a, D> {
    driver: &'a mut D,
    seen: &'a RefCell<Seen>,
}

impl<D: Driver<()>> Driver<()> for WatchedDriver<'_, D> {
    fn processor(&mut self, work: ProcessorWork, cost_ns: u64) {
        self.driver.processor(work, cost_ns);
    }
    fn command(&mut self, command: SpindleCommand<()>) {
        self.driver.command(command);
    }
    fn acknowledge(&mut self, operation: OperationId, when: Acknowledge, payload: ()) {
        let mut seen = self.seen.borrow_mut();
        if !seen.outstanding.remove(&operation.0) {
            seen.wrong = Some(format!("{operation:?} was answered though it was not outstanding"));
        }
        seen.answered += 1;
        self.driver.acknowledge(operation, when, payload);
    }
    fn set_timer(&mut self, at_ns: u64) {
        self.driver.set_timer(at_ns);
    }
    fn take_spare(&mut self, spindle: SpindleIndex) {
        self.driver.take_spare(spindle);
    }
    fn log(&mut self, operation: OperationId, record: LogRecord, data: &()) -> Logged {
        self.driver.log(operation, record, data)
    }
    fn consistency_point_begins(&mut self) {
        self.driver.consistency_point_begins();
    }
    fn consistency_point_ends(&mut self) {
        self.driver.consistency_point_ends();
    }
}

impl<D: Driver<()>> Durability for WatchedDriver<'_, D> {}

impl<A> Watched<A> {
    fn at(&self, now_ns: u64) {
        let mut seen = self.seen.borrow_mut();
        if now_ns < seen.now_ns {
            seen.wrong = Some(format!("time went back from {} to {now_ns} ns", seen.now_ns));
        }
        seen.now_ns = now_ns;
    }
}

impl<A: AnyArray<()>> Array<()> for Watched<A> {
    fn spindles(&self) -> u16 {
        self.array.spindles()
    }
    fn is_parity(&self, spindle: SpindleIndex) -> bool {
        self.array.is_parity(spindle)
    }
    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.at(now_ns);
        self.array.start(now_ns, &mut WatchedDriver { driver, seen: &self.seen });
    }
    fn host_operation(
        &mut self,
        now_ns: u64,
        operation: HostOperation<()>,
        driver: &mut impl Driver<()>,
    ) {
        self.at(now_ns);
        if !self.seen.borrow_mut().outstanding.insert(operation.id.0) {
            self.seen.borrow_mut().wrong = Some(format!("{:?} was issued twice", operation.id));
        }
        self.array.host_operation(
            now_ns,
            operation,
            &mut WatchedDriver { driver, seen: &self.seen },
        );
    }
    fn command_completed(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: (),
        driver: &mut impl Driver<()>,
    ) {
        self.at(now_ns);
        let mut driver = WatchedDriver { driver, seen: &self.seen };
        self.array.command_completed(now_ns, tag, payload, &mut driver);
    }
    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.at(now_ns);
        self.array.timer_fired(now_ns, &mut WatchedDriver { driver, seen: &self.seen });
    }
    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<()>,
    ) -> Result<(), DataLost> {
        self.at(now_ns);
        let mut driver = WatchedDriver { driver, seen: &self.seen };
        self.array.spindle_failed(now_ns, spindle, &mut driver)
    }
    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<()>,
        driver: &mut impl Driver<()>,
    ) {
        self.at(now_ns);
        let mut driver = WatchedDriver { driver, seen: &self.seen };
        self.array.command_failed(now_ns, command, &mut driver);
    }
    fn failures(&self) -> &[FailedSpindle] {
        self.array.failures()
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        self.array.processor_costs()
    }
    fn counters(&self) -> &Counters {
        self.array.counters()
    }
    fn assert_invariants(&self) {
        self.array.assert_invariants();
    }
    fn layout(&self) -> LayoutMeasures {
        self.array.layout()
    }
}

impl<A: AnyArray<()>> Growable<()> for Watched<A> {}

impl<A: AnyArray<()>> Snapshots<()> for Watched<A> {}

impl<A: AnyArray<()>> Durable<()> for Watched<A> {
    fn log_size(&self) -> Option<LogSize> {
        self.array.log_size()
    }
}

fn simulated(
    seed: u64,
    outstanding: u32,
    depth: u32,
    cost_ns: u64,
    cache_sectors: u64,
) -> (Vec<Segment>, Rc<RefCell<Seen>>) {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let spindle_sectors = drive.capacity_sectors();
    let array = InPlace::<()>::new(InPlaceConfig {
        destage_low_sectors: cache_sectors / 4,
        processor: ProcessorCosts {
            host_operation_ns: cost_ns,
            spindle_command_ns: cost_ns / 2,
            per_sector_ps: cost_ns,
            write_back_percent: 0,
            write_back: strewn_array::WriteBackCosts::NONE,
            interrupt_ns: 0,
        },
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(
                VraidLayout::new(VraidConfig::new(vec![5]), spindle_sectors * 512).unwrap(),
                8,
            )],
            vec![LunConfig::whole(FILE_SECTORS)],
            spindle_sectors,
            cache_sectors,
        )
    })
    .unwrap();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let array = Watched { array, seen: Rc::clone(&seen) };
    let spindles = Spindles::new(drive, Scheduler::Sptf, depth);
    let specification = AccessSpecification::shipped("file-server").unwrap();
    let accesses = AccessStream::new(&specification, 0, FILE_SECTORS, seed).unwrap();
    let mut simulation = Simulation::new(array, &spindles, accesses, outstanding).unwrap();
    let segments = (0..2)
        .map(|_| simulation.run_segment(1_000_000_000, &mut |_| ControlFlow::Continue(())).unwrap())
        .collect();
    (segments, seen)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_operation_is_answered_once_and_the_loop_stays_closed(
        seed: u64,
        outstanding in 1..80u32,
        depth in 1..20u32,
        cost_ns in 1_000..200_000u64,
        cache_sectors in 200..20_000u64,
    ) {
        let (segments, seen) = simulated(seed, outstanding, depth, cost_ns, cache_sectors);
        let first = seen.borrow();
        prop_assert_eq!(&first.wrong, &None);
        // Operations answered from memory wait behind the processor's work on their way to the host.
        prop_assert!(first.outstanding.len() <= outstanding as usize);
        let answered: u64 = segments.iter().map(|segment| segment.operations).sum();
        prop_assert!(answered <= first.answered && first.answered <= answered + u64::from(outstanding));
        for segment in &segments {
            prop_assert!(segment.operations > 0);
            prop_assert!(segment.laws.littles_law_error <= 0.001 + segment.laws.under_way);
            prop_assert!(segment.processor_busy_ns <= segment.length_ns);
            let counters = &segment.counters;
            let sent = counters.spindle_reads() + counters.spindle_writes();
            let completed = segment.data_spindles.commands;
            prop_assert!(sent.abs_diff(completed) <= u64::from(outstanding) * 4 + 64);
        }

        let (again, _) = simulated(seed, outstanding, depth, cost_ns, cache_sectors);
        for (once, twice) in segments.iter().zip(&again) {
            prop_assert_eq!(once.operations, twice.operations);
            prop_assert_eq!(once.counters, twice.counters);
            prop_assert_eq!(once.response, twice.response);
            prop_assert_eq!(once.data_spindles, twice.data_spindles);
        }
    }
}
