//! A simulation of the durable format predicts what a live array asks of its spindles: the same accesses through both
//! give the same commands, spindle by spindle, in the same order.
//!
//! How commands that are in flight together are ordered depends on how long each takes. Here operations come one by
//! one, and one tetris or destage is in flight at a time, so that nothing is left to chance. Operations do not cross
//! multiples of 1 MiB, where a live array divides them.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use strewn_alloc::AllocationShape;
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid5Layout,
};
use strewn_array::write_anywhere::{CacheStart, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{
    Acknowledge, AnyArray, Array, Counters, DataLost, Direction, Driver, Durability, Durable,
    FailedSpindle, Format, Growable, HostOperation, LayoutMeasures, LogRecord, LogSize, Logged,
    OperationId, ProcessorCosts, ProcessorWork, Refusal, Root, Snapshots, SpindleCommand, Tag,
    Work,
};
use strewn_base::Rng;
use strewn_live::device::{DeviceIndex, SimulatedDevices};
use strewn_live::engine::{HostRequest, LiveArray, RequestId, TargetId};
use strewn_live::format::LogLayout;
use strewn_live::restart::{restart_in_place, restart_write_anywhere};
use strewn_live::running::RunningArray;
use strewn_raid::{Parity, ParityGroup, SpindleIndex, VraidConfig, VraidLayout};
use strewn_sim::{
    Accesses, AccessesError, Outstanding, Simulation, Spindles, TimedAccess, Worker, Workers,
};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::Access;

use crate::engine::fresh;

const LUN_SECTORS: u64 = 1 << 16;
const SPINDLE_BLOCKS: u64 = 1 << 12;
const SECOND_NS: u64 = 1_000_000_000;
/// So long that nothing is in flight any more when the next operation comes.
const BETWEEN_OPERATIONS_NS: u64 = 5 * SECOND_NS;
/// A timer does not expire when an operation comes.
const CONSISTENCY_POINT_INTERVAL_NS: u64 = 21 * SECOND_NS + 370_000_000;
const OPERATIONS: u64 = 4_000;

/// Place, length and direction of a command.
type Sent = (u64, u32, Direction);

/// What was sent to each spindle, in order.
type SentBySpindle = Vec<Vec<Sent>>;

fn note<P>(sent: &mut SentBySpindle, command: &SpindleCommand<P>) {
    let spindle = command.spindle.index();
    if sent.len() <= spindle {
        sent.resize(spindle + 1, Vec::new());
    }
    sent[spindle].push((command.first_sector, command.sectors, command.direction));
}

/// A simulated array whose commands are noted.
struct Noted<A> {
    array: A,
    sent: Rc<RefCell<SentBySpindle>>,
}

struct NotingDriver<'a, D> {
    driver: &'a mut D,
    sent: &'a RefCell<SentBySpindle>,
}

impl<D: Driver<()>> Driver<()> for NotingDriver<'_, D> {
    fn processor(&mut self, work: ProcessorWork, cost_ns: u64) {
        self.driver.processor(work, cost_ns);
    }
    fn command(&mut self, command: SpindleCommand<()>) {
        note(&mut self.sent.borrow_mut(), &command);
        self.driver.command(command);
    }
    fn acknowledge(&mut self, operation: OperationId, when: Acknowledge, payload: ()) {
        self.driver.acknowledge(operation, when, payload);
    }
    fn set_timer(&mut self, at_ns: u64) {
        self.driver.set_timer(at_ns);
    }
    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        self.driver.refuse(operation, why);
    }
    fn turn_to(&mut self, work: Work) -> Work {
        self.driver.turn_to(work)
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

impl<D: Durability> Durability for NotingDriver<'_, D> {
    fn commit(&mut self, root: Root) {
        self.driver.commit(root);
    }
    fn all_or_none_ends(&mut self) {
        self.driver.all_or_none_ends();
    }
}

impl<A: AnyArray<()>> Array<()> for Noted<A> {
    fn spindles(&self) -> u16 {
        self.array.spindles()
    }
    fn is_parity(&self, spindle: SpindleIndex) -> bool {
        self.array.is_parity(spindle)
    }
    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.array.start(now_ns, &mut NotingDriver { driver, sent: &self.sent });
    }
    fn host_operation(
        &mut self,
        now_ns: u64,
        operation: HostOperation<()>,
        driver: &mut impl Driver<()>,
    ) {
        let mut driver = NotingDriver { driver, sent: &self.sent };
        self.array.host_operation(now_ns, operation, &mut driver);
    }
    fn command_completed(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: (),
        driver: &mut impl Driver<()>,
    ) {
        let mut driver = NotingDriver { driver, sent: &self.sent };
        self.array.command_completed(now_ns, tag, payload, &mut driver);
    }

    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.array.timer_fired(now_ns, &mut NotingDriver { driver, sent: &self.sent });
    }
    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<()>,
    ) -> Result<(), DataLost> {
        let mut driver = NotingDriver { driver, sent: &self.sent };
        self.array.spindle_failed(now_ns, spindle, &mut driver)
    }
    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<()>,
        driver: &mut impl Driver<()>,
    ) {
        let mut driver = NotingDriver { driver, sent: &self.sent };
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

impl<A: AnyArray<()>> Growable<()> for Noted<A> {}

impl<A: AnyArray<()>> Snapshots<()> for Noted<A> {}

impl<A: AnyArray<()>> Durable<()> for Noted<A> {
    fn log_size(&self) -> Option<LogSize> {
        self.array.log_size()
    }
    fn committed(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.array.committed(now_ns, &mut NotingDriver { driver, sent: &self.sent });
    }
}

/// Random operations, one each [`BETWEEN_OPERATIONS_NS`]: half of them writes, half of those of parts of blocks, most
/// of them in a sixteenth of the LUN.
fn accesses(seed: u64) -> Vec<Access> {
    let mut rng = Rng::new(seed);
    let mut drawn = Vec::new();
    while (drawn.len() as u64) < OPERATIONS {
        let sectors = 1 + rng.below(128);
        let reach = if rng.one_in(4) { LUN_SECTORS } else { LUN_SECTORS / 16 };
        let (first, sectors) = match rng.one_in(2) {
            true => (rng.below(reach - sectors), sectors),
            false => (rng.below((reach - 128) / 8) * 8, sectors.next_multiple_of(8)),
        };
        let direction = if rng.one_in(2) { Direction::Write } else { Direction::Read };
        // A live array divides operations there.
        if first / 2_048 == (first + sectors - 1) / 2_048 {
            drawn.push(Access { sector: first, sectors: sectors as u32, direction });
        }
    }
    drawn
}

struct Timed(std::vec::IntoIter<Access>, u64);

impl Accesses for Timed {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        self.1 += BETWEEN_OPERATIONS_NS;
        let not_before_ns = self.1;
        Ok(self.0.next().map(|access| TimedAccess { access, not_before_ns, delay_ns: 0 }))
    }
}

/// The commands of a simulation.
fn simulated<A: AnyArray<()>>(array: A, seed: u64, lost: Option<u16>) -> SentBySpindle {
    let sent = Rc::new(RefCell::new(Vec::new()));
    let array = Noted { array, sent: Rc::clone(&sent) };
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let spindles = Spindles::new(drive, Scheduler::Sptf, 16);
    let timed = Timed(accesses(seed).into_iter(), 0);
    let worker = Worker {
        outstanding: Outstanding::Open { most: 2 },
        ..Worker::closed_loop(Box::new(timed), 1)
    };
    let host = Workers::new(vec![worker]);
    let mut simulation = Simulation::with_host(array, &spindles, host).unwrap();
    if let Some(spindle) = lost {
        simulation.fail_at(0, SpindleIndex(spindle));
    }
    let length_ns = (OPERATIONS + 1) * BETWEEN_OPERATIONS_NS - SECOND_NS;
    simulation.run_segment(length_ns, &mut |_| ControlFlow::Continue(())).unwrap();
    drop(simulation);
    Rc::into_inner(sent).unwrap().into_inner()
}

/// The commands of a live array on simulated devices.
fn live<A: LiveArray>(mut array: RunningArray<SimulatedDevices, A>, seed: u64) -> SentBySpindle {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&sent);
    let watch = move |command: &_| note(&mut told.lock().unwrap(), command);
    array.engine_mut().watch_commands(Box::new(watch));
    let start_ns = match array.engine().timer_ns() {
        Some(consistency_point_ns) => consistency_point_ns - CONSISTENCY_POINT_INTERVAL_NS,
        None => array.now_ns(),
    };
    let mut rng = Rng::new(seed);
    let mut at_ns = start_ns;
    for (number, access) in (1..).zip(accesses(seed)) {
        at_ns += BETWEEN_OPERATIONS_NS;
        wait_until(&mut array, at_ns);
        let Access { sector: first_sector, sectors, direction } = access;
        let request = match direction {
            Direction::Read => HostRequest::Read(first_sector..first_sector + u64::from(sectors)),
            Direction::Write => {
                let data = (0..sectors * 512).map(|_| rng.below(256) as u8).collect();
                HostRequest::Write { first_sector, data }
            }
        };
        array.submit(RequestId(number), TargetId::FIRST_LUN, request);
    }
    // The simulation ends when its host has all answers.
    let mut answers = Vec::new();
    while answers.len() < OPERATIONS as usize {
        array.engine_mut().take_answers(&mut answers);
        array.poll(Some(Duration::from_millis(1)));
    }
    assert!(answers.iter().all(|(_, answer)| answer.is_ok()));
    drop(array);
    Arc::into_inner(sent).unwrap().into_inner().unwrap()
}

fn wait_until<A: LiveArray>(array: &mut RunningArray<SimulatedDevices, A>, at_ns: u64) {
    while array.now_ns() < at_ns {
        array.poll(Some(Duration::from_nanos(at_ns - array.now_ns())));
    }
}

#[track_caller]
fn assert_same(what: &str, simulated: &SentBySpindle, live: &SentBySpindle) {
    assert_eq!(simulated.len(), live.len(), "{what}: spindles");
    for (spindle, (simulated, live)) in simulated.iter().zip(live).enumerate() {
        let differ = simulated.iter().zip(live).position(|(one, other)| one != other);
        // A last consistency point may be cut off at any point of either.
        let shorter = simulated.len().min(live.len());
        if let Some(at) = differ {
            let around = at.saturating_sub(3)..(at + 4).min(shorter);
            panic!(
                "{what}: command {at} of {shorter} of spindle {spindle}: simulated {:?}, live {:?}",
                &simulated[around.clone()],
                &live[around]
            );
        }
        println!("{what}: spindle {spindle}, {} and {} commands", simulated.len(), live.len());
        assert!(simulated.len().abs_diff(live.len()) <= 2, "{what}: spindle {spindle}");
    }
    let commands: usize = live.iter().map(Vec::len).sum();
    assert!(commands > OPERATIONS as usize, "{what}: only {commands} commands");
}

fn write_anywhere(parity: Parity, log: LogSize) -> WriteAnywhereConfig {
    let cache_blocks = 2_048;
    let file_blocks = (LUN_SECTORS / 8) as u32;
    WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 256, tetris_stripes: 64, chunk_blocks: 64 },
        format: Format::Durable,
        consistency_point_interval_ns: CONSISTENCY_POINT_INTERVAL_NS,
        protected_blocks: cache_blocks / 2,
        dirty_limit_blocks: cache_blocks / 3,
        tetrises_in_flight: 1,
        delayed_free_blocks: 100,
        cache_start: CacheStart::Empty,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(parity, 4, SPINDLE_BLOCKS).unwrap()],
            vec![VolumeConfig::of_one_lun(
                WriteAnywhereConfig::volume_blocks_for(file_blocks.into(), 100, cache_blocks),
                file_blocks,
            )],
            log,
            cache_blocks,
        )
    }
}

#[test]
fn a_write_anywhere_array_sends_what_its_simulation_sends() {
    for (parity, lost) in [
        (Parity::RaidDp, None),
        (Parity::RaidDp, Some(1)),
        (Parity::Raid4, None),
        (Parity::Raid4, Some(1)),
    ] {
        let layout = LogLayout::new(2 << 20, 4 + parity.spindles());
        let config = write_anywhere(parity, layout.size());
        let seed = 11;
        let array = WriteAnywhere::<()>::empty(config.clone()).unwrap();
        let simulated = simulated(array, seed, lost);

        let spindles = config.single_group().spindles();
        let (mut devices, beginning) =
            fresh::devices(seed, spindles, SPINDLE_BLOCKS, layout, LUN_SECTORS);
        if let Some(spindle) = lost {
            devices.lose_device(DeviceIndex(spindle), "pulled");
        }
        let array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let live = live(array, seed);
        assert_same(&format!("{parity}, lost {lost:?}"), &simulated, &live);
    }
}

#[test]
fn an_in_place_array_sends_what_its_simulation_sends() {
    let (chunk_bytes, segment_bytes, spindle_bytes) = (64 << 10, 1 << 20, SPINDLE_BLOCKS * 4096);
    let raid_5 = Raid5Layout::new(6, chunk_bytes, segment_bytes, spindle_bytes).unwrap();
    let vraid = VraidConfig { redundancy_sets: vec![6], chunk_bytes, segment_bytes };
    let vraid_5 = VraidLayout::new(vraid, spindle_bytes).unwrap();
    let layouts: [(&str, LunLayout); 2] = [("RAID-5", raid_5.into()), ("VRAID-5", vraid_5.into())];
    for (name, lun_layout) in layouts {
        for lost in [None, Some(1)] {
            let log = LogLayout::new(2 << 20, 6);
            let config = InPlaceConfig {
                destage_low_sectors: 2_048,
                format: Format::Durable,
                log: Some(log.size()),
                ..InPlaceConfig::new(
                    vec![DiskGroupConfig::new(lun_layout.clone(), 1)],
                    vec![LunConfig::whole(LUN_SECTORS)],
                    SPINDLE_BLOCKS * 8,
                    8_192,
                )
            };
            let seed = 12;
            let array = InPlace::<()>::new(config.clone()).unwrap();
            let simulated = simulated(array, seed, lost);

            let (mut devices, beginning) =
                fresh::devices(seed, 6, SPINDLE_BLOCKS, log, LUN_SECTORS);
            if let Some(spindle) = lost {
                devices.lose_device(DeviceIndex(spindle), "pulled");
            }
            let array = restart_in_place(devices, &beginning, &config).unwrap();
            let live = live(array, seed);
            assert_same(&format!("{name}, lost {lost:?}"), &simulated, &live);
        }
    }
}
