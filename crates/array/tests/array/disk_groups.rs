//! In-place arrays of several disk groups, with bytes: each degrades, rebuilds and writes back by itself.

use std::collections::{BTreeMap, BTreeSet};

use strewn_alloc::GroupIndex;
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid5Layout,
};
use strewn_array::{
    Acknowledge, Array, ArrayConfigError, DataLost, Direction, Driver, Durability, Durable,
    FirstSpindles, Format, Growable, HostOperation, LogLedger, LogRecord, LogSize, Logged,
    OperationId, ProcessorWork, Rebuild, Root, SpindleCommand,
};
use strewn_base::Rng;
use strewn_raid::{SpindleIndex, StripedLayout, VraidConfig, VraidLayout};

use crate::bytes::content;
use crate::host::Host;
use crate::payloads::{Bytes, SECTOR_BYTES};

const CHUNK_BYTES: u64 = 8 * 512;
const SPINDLE_SECTORS: u64 = 40 * 8;

/// Spindles in memory, on which commands take effect when they complete.
struct MemoryDriver {
    host: Host,
    spindles: Vec<BTreeMap<u64, Vec<u8>>>,
    lost: BTreeSet<u16>,
    outstanding: Vec<SpindleCommand<Bytes>>,
    log: Option<LogLedger>,
    is_committing: bool,
}

impl Durability for MemoryDriver {
    fn commit(&mut self, _root: Root) {
        assert!(!std::mem::replace(&mut self.is_committing, true), "two commits at once");
    }
}

impl Driver<Bytes> for MemoryDriver {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}

    fn command(&mut self, command: SpindleCommand<Bytes>) {
        assert!(!self.lost.contains(&command.spindle.0), "a command for the lost {command:?}");
        assert!(command.first_sector + u64::from(command.sectors) <= SPINDLE_SECTORS);
        self.outstanding.push(command);
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, payload: Bytes) {
        self.host.acknowledge(operation, &payload);
    }

    fn set_timer(&mut self, _at_ns: u64) {}

    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &Bytes) -> Logged {
        self.log.as_mut().expect("the array has a log").append(&record)
    }

    fn consistency_point_begins(&mut self) {
        self.log.iter_mut().for_each(LogLedger::switch);
    }

    fn consistency_point_ends(&mut self) {
        self.log.iter_mut().for_each(LogLedger::release);
    }
}

struct Harness {
    array: InPlace<Bytes>,
    driver: MemoryDriver,
    now_ns: u64,
}

impl Harness {
    /// An array whose LUNs hold version 0 of what a host numbers through over all of them, with parity.
    fn new(config: InPlaceConfig) -> Self {
        let spindles: Vec<u16> = config.groups.iter().map(|one| one.layout.spindles()).collect();
        let first_spindles = FirstSpindles::of(spindles.iter().copied());
        let mut next = 0;
        let lengths = config.luns.iter().map(|lun| lun.sectors);
        let of_host: Vec<_> = lengths
            .map(|sectors| {
                next += sectors;
                next - sectors..next
            })
            .collect();
        let zeros = || BTreeMap::<u64, Vec<u8>>::new();
        let mut on_spindles: Vec<_> = (0..spindles.iter().sum::<u16>()).map(|_| zeros()).collect();
        let places = config.lun_sectors().into_iter().zip(&config.luns).zip(&of_host);
        for ((sectors, lun), of_host) in places {
            let layout = &config.groups[lun.group.index()].layout;
            let mut put = |spindle, sector, bytes: &[u8]| {
                let spindle = first_spindles.in_array(lun.group, spindle);
                let there = on_spindles[spindle.index()].entry(sector);
                let there = there.or_insert_with(|| vec![0; SECTOR_BYTES]);
                there.iter_mut().zip(bytes).for_each(|(there, byte)| *there ^= byte);
            };
            for (in_group, sector) in sectors.zip(of_host.clone()) {
                let place = layout.locate(in_group);
                let bytes = content(sector, 0);
                put(place.spindle, place.sector_on_spindle, &bytes);
                put(place.parity_spindle, place.parity_sector, &bytes);
            }
        }
        let array = InPlace::new(config).unwrap();
        let mut host = Host::new(next);
        host.luns = of_host;
        let log = array.log_size().map(LogLedger::new);
        let (lost, outstanding) = (BTreeSet::new(), Vec::new());
        let driver = MemoryDriver {
            host,
            spindles: on_spindles,
            lost,
            outstanding,
            log,
            is_committing: false,
        };
        Self { array, driver, now_ns: 0 }
    }

    fn submit(&mut self, operation: HostOperation<Bytes>) -> u32 {
        let id = operation.id.0;
        self.array.host_operation(self.now_ns, operation, &mut self.driver);
        self.after_call();
        id
    }

    /// Reads or writes sectors of a LUN.
    fn issue(&mut self, direction: Direction, lun: usize, sector: u64, sectors: u32) -> u32 {
        let first = self.driver.host.luns[lun].start + sector;
        let operation = match direction {
            Direction::Read => self.driver.host.read(first, sectors),
            Direction::Write => self.driver.host.write(first, sectors),
        };
        self.submit(operation)
    }

    fn issue_any(&mut self, rng: &mut Rng) {
        let lun = rng.within(0..self.driver.host.luns.len() as u64) as usize;
        let length = self.driver.host.luns[lun].end - self.driver.host.luns[lun].start;
        let sectors = rng.within(1..40).min(length);
        let sector = rng.within(0..length - sectors + 1);
        let direction = if rng.one_in(2) { Direction::Read } else { Direction::Write };
        self.issue(direction, lun, sector, sectors as u32);
    }

    fn complete(&mut self, index: usize) {
        let mut command = self.driver.outstanding.remove(index);
        let sectors = command.first_sector..command.first_sector + u64::from(command.sectors);
        let spindle = &mut self.driver.spindles[command.spindle.index()];
        let payload = match command.direction {
            Direction::Read => {
                let blank = vec![0; SECTOR_BYTES];
                let read = sectors.map(|sector| spindle.get(&sector).unwrap_or(&blank).clone());
                Bytes(read.collect::<Vec<_>>().concat())
            }
            Direction::Write => {
                let payload = std::mem::take(&mut command.payload);
                let written = payload.sectors().map(<[u8]>::to_vec);
                spindle.extend(sectors.zip(written));
                Bytes::default()
            }
        };
        self.now_ns += 1_000;
        self.array.command_completed(self.now_ns, command.tag, payload, &mut self.driver);
        self.after_call();
    }

    fn after_call(&mut self) {
        while std::mem::take(&mut self.driver.is_committing) {
            self.array.committed(self.now_ns, &mut self.driver);
        }
        self.array.assert_invariants();
    }

    /// Completes the oldest commands to these spindles until there is none.
    fn drain_those_of(&mut self, spindles: std::ops::Range<u16>) {
        let is_there = |command: &SpindleCommand<Bytes>| spindles.contains(&command.spindle.0);
        for completed in 0.. {
            assert!(completed < 1_000_000, "the array never comes to rest");
            let Some(index) = self.driver.outstanding.iter().position(is_there) else { return };
            self.complete(index);
        }
    }

    fn drain(&mut self) {
        self.drain_those_of(0..u16::MAX);
        assert_eq!(self.driver.host.outstanding_ids(), [0; 0], "never acknowledged");
    }

    fn fail(&mut self, spindle: u16) -> Result<(), DataLost> {
        let outstanding = std::mem::take(&mut self.driver.outstanding);
        let (failed, left): (Vec<_>, _) =
            outstanding.into_iter().partition(|one| one.spindle.0 == spindle);
        self.driver.outstanding = left;
        self.driver.lost.insert(spindle);
        self.now_ns += 1_000;
        self.array.spindle_failed(self.now_ns, SpindleIndex(spindle), &mut self.driver)?;
        for command in failed {
            self.array.command_failed(self.now_ns, command, &mut self.driver);
        }
        self.after_call();
        Ok(())
    }

    /// Reads every LUN in full; the host checks what comes.
    fn read_all(&mut self) {
        for lun in 0..self.driver.host.luns.len() {
            let sectors = self.driver.host.luns[lun].end - self.driver.host.luns[lun].start;
            self.issue(Direction::Read, lun, 0, sectors as u32);
            self.drain();
        }
    }
}

fn vraid(sets: &[u16]) -> LunLayout {
    let segment_bytes = 2 * CHUNK_BYTES;
    let redundancy_sets = sets.to_vec();
    let config = VraidConfig { redundancy_sets, chunk_bytes: CHUNK_BYTES, segment_bytes };
    VraidLayout::new(config, SPINDLE_SECTORS * 512).unwrap().into()
}

fn raid_5(spindles: u16) -> LunLayout {
    let layout =
        Raid5Layout::new(spindles, CHUNK_BYTES / 2 * 4, CHUNK_BYTES * 4, SPINDLE_SECTORS * 512);
    layout.unwrap().into()
}

fn lun(group: u16, sectors: u64) -> LunConfig {
    LunConfig { group: GroupIndex(group), ..LunConfig::whole(sectors) }
}

const REBUILD: Rebuild = Rebuild { spares: 1, steps_in_flight: 2 };

/// Two groups: of six spindles, 0 to 5, with LUNs 0 and 2; and of eight, 6 to 13, with LUN 1.
fn two_groups() -> InPlaceConfig {
    InPlaceConfig {
        destage_low_sectors: 0,
        ..InPlaceConfig::new(
            vec![
                DiskGroupConfig::new(vraid(&[6]), 4).with_rebuild(REBUILD),
                DiskGroupConfig::new(vraid(&[8]), 4).with_rebuild(REBUILD),
            ],
            vec![lun(0, 200), lun(1, 300), lun(0, 120)],
            SPINDLE_SECTORS,
            120,
        )
    }
}

fn any_config(rng: &mut Rng) -> InPlaceConfig {
    let layouts = [vraid(&[6]), vraid(&[5, 6]), raid_5(4), vraid(&[8]), raid_5(7), vraid(&[5])];
    let groups: Vec<_> = (0..rng.within(2..4))
        .map(|_| {
            let layout = rng.pick(&layouts).clone();
            let steps_in_flight = rng.within(1..4) as u32;
            DiskGroupConfig::new(layout, rng.within(1..6) as u32)
                .with_rebuild(Rebuild { spares: rng.within(0..3) as u16, steps_in_flight })
        })
        .collect();
    let luns = (0..rng.within(2..6))
        .map(|number| {
            // Each group gets one before any gets two.
            let group = number.min(rng.within(0..groups.len() as u64) + number / 2);
            lun((group % groups.len() as u64) as u16, rng.within(8..160) / 8 * 8)
        })
        .collect();
    let is_durable = rng.one_in(2);
    let write_cache_sectors = rng.within(60..400);
    InPlaceConfig {
        groups,
        luns,
        write_cache_sectors,
        destage_low_sectors: rng.within(0..write_cache_sectors / 2),
        format: if is_durable { Format::Durable } else { Format::Modelled },
        log: is_durable.then_some(LogSize { half_bytes: 60_000, record_header_bytes: 160 }),
        ..two_groups()
    }
}

#[test]
fn random_operations_survive_a_spindle_lost_in_every_group_at_once() {
    let mut rebuilt = 0;
    for seed in 0..150 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let spindles: Vec<u16> = config.groups.iter().map(|one| one.layout.spindles()).collect();
        let mut harness = Harness::new(config);
        let step = |harness: &mut Harness, rng: &mut Rng| {
            if harness.driver.outstanding.is_empty() || rng.one_in(6) {
                harness.issue_any(rng);
            } else {
                let outstanding = harness.driver.outstanding.len() as u64;
                harness.complete(rng.within(0..outstanding) as usize);
            }
        };
        for _ in 0..rng.within(0..300) {
            step(&mut harness, &mut rng);
        }
        let mut first = 0;
        let mut lost = Vec::new();
        for of_group in &spindles {
            let spindle = first + rng.within(0..u64::from(*of_group)) as u16;
            harness.fail(spindle).unwrap();
            lost.push(spindle);
            first += of_group;
        }
        for _ in 0..300 {
            step(&mut harness, &mut rng);
        }
        harness.drain();
        harness.read_all();
        let failed: Vec<_> = harness.array.failures().iter().map(|one| one.spindle.0).collect();
        assert_eq!(failed, lost);
        rebuilt += harness.array.failures().iter().filter(|one| !one.is_open()).count();
    }
    assert!(rebuilt > 50, "only {rebuilt} spindles were rebuilt");
}

#[test]
fn a_group_that_is_degraded_holds_up_no_destage_of_another() {
    let mut harness = Harness::new(two_groups());
    harness.issue(Direction::Write, 0, 0, 40);
    harness.fail(0).unwrap();
    // Nothing completes on the first group's spindles from here on: neither its destages nor its rebuild.
    harness.issue(Direction::Write, 0, 40, 8);
    harness.issue(Direction::Write, 1, 0, 60);
    let before = harness.array.counters().destages;
    harness.drain_those_of(6..14);
    assert!(harness.array.counters().destages > before, "more than the first destages");
    assert!(harness.driver.outstanding.iter().all(|command| command.spindle.0 < 6));
    let read = harness.issue(Direction::Read, 1, 0, 60);
    assert!(harness.driver.host.is_outstanding(read), "nothing of it is in the cache any more");
    harness.drain_those_of(6..14);
    assert!(!harness.driver.host.is_outstanding(read));
    harness.drain();
    harness.read_all();
}

#[test]
fn a_write_that_waits_for_room_has_other_groups_written_back() {
    let config = InPlaceConfig { destage_low_sectors: 119, ..two_groups() };
    let mut harness = Harness::new(config);
    // Six of fourteen spindles have 51 of the 119 sectors.
    harness.issue(Direction::Write, 0, 0, 51);
    assert_eq!(harness.driver.outstanding.len(), 0, "there is less than is worth writing back");
    let write = harness.issue(Direction::Write, 1, 0, 100);
    assert!(harness.driver.host.is_outstanding(write), "the groups share the cache");
    harness.drain();
    assert!(!harness.driver.host.is_outstanding(write));
}

#[test]
fn two_spindles_lost_in_one_group_are_data_lost_and_one_in_each_is_not() {
    let mut harness = Harness::new(two_groups());
    harness.fail(3).unwrap();
    harness.fail(9).unwrap();
    let lost = harness.fail(12).unwrap_err();
    assert_eq!(lost.spindles, [SpindleIndex(9), SpindleIndex(12)]);
    // LUN 1 is ten stripes, and of the second group alone.
    assert_eq!(lost.stripes_in_all, 10);
}

#[test]
fn a_spindle_of_a_group_without_a_lun_has_nothing_to_rebuild() {
    let config = InPlaceConfig { luns: vec![lun(0, 200)], ..two_groups() };
    let mut harness = Harness::new(config);
    harness.fail(7).unwrap();
    let [failed] = harness.array.failures() else { panic!("one failed") };
    assert!(!failed.is_open() && failed.rebuilt >= 1.0, "{failed:?}");
    harness.issue(Direction::Write, 0, 0, 20);
    harness.drain();
    harness.read_all();
}

#[test]
fn commands_of_a_lun_go_to_the_spindles_of_its_group() {
    let mut harness = Harness::new(two_groups());
    harness.issue(Direction::Read, 1, 0, 300);
    assert!(harness.driver.outstanding.iter().all(|one| (6..14).contains(&one.spindle.0)));
    harness.drain();
    harness.issue(Direction::Write, 2, 0, 100);
    assert!(harness.driver.outstanding.iter().all(|one| one.spindle.0 < 6));
    harness.drain();
    let groups = harness.array.groups();
    let spindles: Vec<_> = groups.iter().map(|group| group.spindles.clone()).collect();
    assert_eq!(spindles, [0..6, 6..14]);
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let refused = |change: fn(&mut InPlaceConfig)| {
        let mut config = two_groups();
        change(&mut config);
        InPlace::<Bytes>::new(config).map(|_| ()).unwrap_err()
    };
    assert_eq!(
        refused(|config| config.groups.clear()),
        ArrayConfigError::DiskGroupCount { groups: 0 }
    );
    let nine = refused(|config| config.groups = vec![config.groups[0].clone(); 9]);
    assert_eq!(nine.to_string(), "an array of 9 disk groups: it has 1 to 8");
    let unknown = refused(|config| config.luns[2].group = GroupIndex(2));
    assert_eq!(unknown.to_string(), "a LUN is in disk group 3, and the array has 2");
    assert!(matches!(
        refused(|config| config.luns[1].sectors = 10_000),
        ArrayConfigError::LunTooLarge { lun_sectors: 10_000, .. }
    ));
}
