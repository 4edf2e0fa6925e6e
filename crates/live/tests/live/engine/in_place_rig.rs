//! An in-place array over simulated devices, what its LUN may hold, and whoever starts it from its labels.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use strewn_array::Format;
use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_base::Rng;
use strewn_live::check::{CheckReport, Inconsistency, check_in_place};
use strewn_live::data::Data;
use strewn_live::device::simulated::Latency;
use strewn_live::device::{
    Buffer, DeviceIndex, Devices, Io, IoCompletion, IoError, IoId, SimulatedDevices, SimulatedDisk,
    Waker,
};
use strewn_live::engine::{Answer, HostRequest, RequestError, RequestId, TargetId};
use strewn_live::format::{DeviceKind, Label, LogLayout, SUPERBLOCK_SLOTS, device_blocks_for};
use strewn_live::offline::{OfflineArray, SpindleBlock};
use strewn_live::restart::{
    RestartError, RestartOptions, newest_superblock, restart_in_place, store_of,
};
use strewn_live::running::RunningArray;
use strewn_live::scrub::{ScrubReport, scrub_in_place};
use strewn_live::store::BlockState;
use strewn_raid::{Dbn, SpindleIndex, VraidConfig, VraidLayout};

use super::fresh;

pub const BLOCK: usize = 4096;
const CHUNK_SECTORS: u64 = 16;
const SEGMENT_SECTORS: u64 = 2 * CHUNK_SECTORS;
/// Five rounds of RStores.
const SPINDLE_SECTORS: u64 = 25 * SEGMENT_SECTORS;

/// Devices that others hold too, and that are all gone when a fuse has burnt down.
#[derive(Clone)]
pub struct Fused {
    devices: Rc<RefCell<SimulatedDevices>>,
    /// Waits until then; none burns with nothing.
    fuse: Rc<Cell<Option<u64>>>,
    under_way: Vec<(IoId, DeviceIndex)>,
}

impl Devices for Fused {
    type Replacement = SimulatedDisk;

    fn count(&self) -> u16 {
        self.devices.borrow().count()
    }

    fn size_bytes(&self, device: DeviceIndex) -> u64 {
        self.devices.borrow().size_bytes(device)
    }

    fn now_ns(&self) -> u64 {
        self.devices.borrow().now_ns()
    }

    fn submit(&mut self, io: Io) {
        self.under_way.push((io.id, io.device));
        if self.fuse.get() != Some(0) {
            self.devices.borrow_mut().submit(io);
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        match self.fuse.get() {
            Some(0) => done.extend(self.under_way.drain(..).map(|(id, device)| IoCompletion {
                id,
                device,
                buffer: Buffer::default(),
                result: Err(IoError::Gone("no power".to_owned())),
            })),
            left => {
                self.fuse.set(left.map(|left| left - 1));
                let before = done.len();
                self.devices.borrow_mut().wait(timeout, done);
                for done in &done[before..] {
                    let of = (done.id, done.device);
                    if let Some(at) = self.under_way.iter().position(|one| *one == of) {
                        self.under_way.swap_remove(at);
                    }
                }
            }
        }
    }

    fn waker(&self) -> Waker {
        self.devices.borrow().waker()
    }

    fn close(&mut self, device: DeviceIndex) {
        self.devices.borrow_mut().close(device);
    }

    fn replace(&mut self, device: DeviceIndex, by: SimulatedDisk) {
        self.devices.borrow_mut().replace(device, by);
    }
}

/// How an array is made.
#[derive(Debug, Clone)]
pub struct Setting {
    pub sets: Vec<u16>,
    pub lun_blocks: u64,
    pub log_half_blocks: u64,
    pub redo_half_blocks: u64,
    pub cache_sectors: u64,
    pub destage_low_sectors: u64,
    pub destages_in_flight: u32,
}

impl Setting {
    pub fn any(rng: &mut Rng) -> Self {
        let more_log = if rng.one_in(2) { 4 } else { 60 };
        let more_redo = if rng.one_in(2) { 5 } else { 100 };
        Self {
            sets: [vec![6], vec![6, 7], vec![8], vec![5]][rng.below(4) as usize].clone(),
            lun_blocks: 30 + rng.below(130),
            log_half_blocks: 3 + rng.below(more_log),
            // A record of two chunks takes five blocks.
            redo_half_blocks: 5 + rng.below(more_redo),
            cache_sectors: 40 + rng.below(400),
            destage_low_sectors: rng.below(100),
            destages_in_flight: 1 + rng.below(8) as u32,
        }
    }

    pub fn spindles(&self) -> u16 {
        self.sets.iter().sum()
    }

    pub fn config(&self) -> InPlaceConfig {
        let vraid = VraidConfig {
            redundancy_sets: self.sets.clone(),
            chunk_bytes: CHUNK_SECTORS * 512,
            segment_bytes: SEGMENT_SECTORS * 512,
        };
        InPlaceConfig {
            destage_low_sectors: self.destage_low_sectors,
            format: Format::Durable,
            log: Some(self.log_layout().size()),
            ..InPlaceConfig::new(
                vec![DiskGroupConfig::new(
                    VraidLayout::new(vraid, SPINDLE_SECTORS * 512).unwrap(),
                    self.destages_in_flight,
                )],
                vec![LunConfig::whole(self.lun_blocks * 8)],
                SPINDLE_SECTORS,
                self.cache_sectors,
            )
        }
    }

    fn log_layout(&self) -> LogLayout {
        LogLayout { redo_half_blocks: self.redo_half_blocks, half_blocks: self.log_half_blocks }
    }

    fn label(&self) -> Label {
        fresh::label(self.spindles(), device_blocks_for(SPINDLE_SECTORS / 8), self.log_layout())
    }

    fn disk(&self) -> SimulatedDisk {
        let blocks = self.log_layout().device_blocks().max(device_blocks_for(SPINDLE_SECTORS / 8));
        SimulatedDisk::zeroed(blocks * BLOCK as u64)
    }
}

/// A write of a sector, among those that it may hold.
#[derive(Debug, Clone, Copy)]
struct Version {
    stamp: u32,
    written_ns: u64,
    answered_ns: Option<u64>,
}

struct Asked {
    sectors: Range<u64>,
    /// Of a write, its stamp; of a read, what each sector may be.
    stamp: Option<u32>,
    may_be: Vec<Vec<u32>>,
}

pub type Array = RunningArray<Fused, InPlace<Data>>;

pub struct Rig {
    pub rng: Rng,
    pub setting: Setting,
    devices: Fused,
    pub array: Option<Array>,
    lun: Vec<Vec<Version>>,
    asked: HashMap<RequestId, Asked>,
    next: u32,
    /// Orders what happens.
    clock: u64,
    pub answered: u64,
}

/// What a sector holds that was written so; zeros for stamp 0.
fn sector_of(stamp: u32, sector: u64) -> [u8; 512] {
    let mut bytes = [0; 512];
    if stamp > 0 {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (stamp.wrapping_mul(2_654_435_761) >> (at % 4 * 8)) as u8 ^ at as u8;
        }
        bytes[..4].copy_from_slice(&stamp.to_le_bytes());
        bytes[4..12].copy_from_slice(&sector.to_le_bytes());
    }
    bytes
}

impl Rig {
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let setting = Setting::any(&mut rng);
        Self::of(seed, rng, setting)
    }

    pub fn of(seed: u64, mut rng: Rng, setting: Setting) -> Self {
        println!("seed {seed}: {setting:?}");
        let mut disks = vec![setting.disk(); usize::from(setting.spindles()) + 1];
        let label = setting.label();
        let (superblock, map) = (fresh::first_superblock(label.array), fresh::first_map(&label));
        let log = usize::from(setting.spindles());
        for (position, disk) in disks.iter_mut().enumerate() {
            let kind = if position == log { DeviceKind::Log } else { DeviceKind::Spindle };
            let label = Label { kind, ..label.clone() };
            disk.write(0, label.encode().unwrap().bytes());
            disk.write(SUPERBLOCK_SLOTS[0] * BLOCK as u64, superblock.encode().bytes());
            disk.write(map.slot() * BLOCK as u64, map.encode().bytes());
        }
        let mut devices = SimulatedDevices::new(seed, disks);
        if rng.one_in(2) {
            for device in 0..=setting.spindles() {
                devices.set_latency(DeviceIndex(device), Latency::ANY_ORDER);
            }
        }
        let zeros = Version { stamp: 0, written_ns: 0, answered_ns: Some(0) };
        let lun = vec![vec![zeros]; setting.lun_blocks as usize * 8];
        let devices = Fused {
            devices: Rc::new(RefCell::new(devices)),
            fuse: Rc::default(),
            under_way: Vec::new(),
        };
        let asked = HashMap::new();
        Self { rng, setting, devices, array: None, lun, asked, next: 1, clock: 1, answered: 0 }
    }

    pub fn devices(&self) -> std::cell::RefMut<'_, SimulatedDevices> {
        self.devices.devices.borrow_mut()
    }

    /// The newest label on any device that is there.
    pub fn label(&self) -> Label {
        let mut devices = self.devices();
        let spindle_blocks = device_blocks_for(SPINDLE_SECTORS / 8);
        let mut labels = Vec::new();
        for device in 0..devices.count() {
            let is_log = device == self.setting.spindles();
            let blocks = match is_log {
                true => self.setting.log_layout().device_blocks(),
                false => spindle_blocks,
            };
            for block in [0, blocks - 1] {
                let (device, at) = (DeviceIndex(device), block * BLOCK as u64);
                let read = OfflineArray::read_raw(&mut *devices, device, at, BLOCK).ok();
                labels.extend(read.and_then(|read| Label::decode(&read).ok()));
            }
        }
        let newest = labels.into_iter().max_by_key(|label| label.sequence).unwrap();
        // As that of a spindle, whichever device it is from.
        Label { kind: DeviceKind::Spindle, device_blocks: spindle_blocks, ..newest }
    }

    /// Starts the array; with a fuse that may burn down before it runs.
    pub fn try_start(&mut self, fuse: Option<u64>) -> Result<(), RestartError> {
        let label = self.label();
        self.devices.fuse.set(fuse);
        let lun_sectors = self.setting.lun_blocks * 8;
        let beginning = RestartOptions::new(label, lun_sectors);
        let array = restart_in_place(self.devices.clone(), &beginning, &self.setting.config());
        self.devices.fuse.set(None);
        self.array = Some(array?);
        Ok(())
    }

    pub fn start(&mut self) {
        self.try_start(None).unwrap();
    }

    /// The power goes.
    pub fn crash(&mut self) {
        self.array = None;
        self.devices().crash();
        self.asked.clear();
    }

    /// Spindles are quick, but for labels and superblocks: what can overtake these does.
    pub fn have_slow_labels(&mut self) {
        let (durable_ns, jitter_ns) = (500_000_000, 100_000);
        let latency = Latency { durable_ns, jitter_ns, ..Latency::ANY_ORDER };
        for spindle in 0..self.setting.spindles() {
            self.devices().set_latency(DeviceIndex(spindle), latency);
        }
        self.devices().set_latency(DeviceIndex(self.setting.spindles()), Latency::ANY_ORDER);
    }

    /// The log takes a second for what the spindles do at once.
    pub fn have_slow_log(&mut self) {
        for device in 0..=self.setting.spindles() {
            let quick = Latency { jitter_ns: 1_000, slow_one_in: 0, ..Latency::ANY_ORDER };
            let is_log = device == self.setting.spindles();
            let durable_ns = if is_log { 1_000_000_000 } else { 0 };
            self.devices().set_latency(DeviceIndex(device), Latency { durable_ns, ..quick });
        }
    }

    /// Devices that were lost answer again, with what lies on them.
    pub fn all_come_back(&mut self, seed: u64) {
        let disks = self.devices().disks();
        *self.devices() = SimulatedDevices::new(seed, disks);
    }

    pub fn running(&mut self) -> &mut Array {
        self.array.as_mut().unwrap()
    }

    fn id(&mut self) -> RequestId {
        self.next += 1;
        self.clock += 1;
        RequestId(self.next.into())
    }

    pub fn write(&mut self, sectors: Range<u64>, zero: bool) -> RequestId {
        let id = self.id();
        let stamp = if zero { 0 } else { id.0 as u32 };
        let version = Version { stamp, written_ns: self.clock, answered_ns: None };
        for sector in sectors.clone() {
            self.lun[sector as usize].push(version);
        }
        for asked in self.asked.values_mut().filter(|asked| asked.stamp.is_none()) {
            for sector in sectors.clone().filter(|sector| asked.sectors.contains(sector)) {
                asked.may_be[(sector - asked.sectors.start) as usize].push(stamp);
            }
        }
        let request = if zero {
            HostRequest::Zero(sectors.clone())
        } else {
            let data = sectors.clone().flat_map(|sector| sector_of(stamp, sector)).collect();
            HostRequest::Write { first_sector: sectors.start, data }
        };
        self.asked.insert(id, Asked { sectors, stamp: Some(stamp), may_be: Vec::new() });
        self.clock_of(id, version.written_ns);
        self.running().submit(id, TargetId::FIRST_LUN, request);
        id
    }

    /// A version is told by when it was written: zeros have all one stamp.
    fn clock_of(&mut self, id: RequestId, written_ns: u64) {
        if let Some(asked) = self.asked.get_mut(&id) {
            asked.may_be = vec![vec![written_ns as u32]];
        }
    }

    pub fn read(&mut self, sectors: Range<u64>) -> RequestId {
        let id = self.id();
        let may_be = sectors
            .clone()
            .map(|sector| self.lun[sector as usize].iter().map(|version| version.stamp).collect());
        let asked = Asked { sectors: sectors.clone(), stamp: None, may_be: may_be.collect() };
        self.asked.insert(id, asked);
        self.running().submit(id, TargetId::FIRST_LUN, HostRequest::Read(sectors));
        id
    }

    /// Some sectors of the LUN, most of them few, and often where others are.
    pub fn any_sectors(&mut self) -> Range<u64> {
        let all = self.lun.len() as u64;
        let place = if self.rng.one_in(2) { all.min(48) } else { all };
        let first = self.rng.below(place);
        let sectors = match self.rng.below(8) {
            0 => 1 + self.rng.below(all),
            1..4 => 8 * (1 + self.rng.below(4)),
            _ => 1 + self.rng.below(20),
        };
        let first = if self.rng.one_in(3) { first / 8 * 8 } else { first };
        first..(first + sectors).min(all)
    }

    pub fn anything(&mut self) {
        let sectors = self.any_sectors();
        match self.rng.below(12) {
            0..7 => self.write(sectors, false),
            7 => self.write(sectors, true),
            _ => self.read(sectors),
        };
    }

    pub fn under_way(&self) -> usize {
        self.asked.len()
    }

    /// Something happens, and what is answered is looked at.
    pub fn poll(&mut self) {
        let most = Duration::from_millis(50);
        self.running().poll(Some(most));
        self.take_answers();
    }

    pub fn take_answers(&mut self) {
        let mut answers = Vec::new();
        self.running().engine_mut().take_answers(&mut answers);
        for (id, answer) in answers {
            self.clock += 1;
            self.answered += 1;
            self.answer(id, answer);
        }
        assert_eq!(self.running().engine().stopped(), None);
    }

    fn answer(&mut self, id: RequestId, answer: Result<Answer, RequestError>) {
        let Asked { sectors, stamp, may_be } = self.asked.remove(&id).unwrap();
        match (stamp, answer) {
            (Some(_), Ok(Answer::Done)) => {
                let written_ns = u64::from(may_be[0][0]);
                for sector in sectors {
                    let versions = &mut self.lun[sector as usize];
                    let answered_ns = Some(self.clock);
                    for version in versions.iter_mut().filter(|one| one.written_ns == written_ns) {
                        version.answered_ns = answered_ns;
                    }
                    // What was answered before this was asked for is no more.
                    versions.retain(|one| one.answered_ns.is_none_or(|at| at >= written_ns));
                }
            }
            (None, Ok(Answer::Bytes(bytes))) => {
                for ((sector, bytes), may_be) in sectors.zip(bytes.chunks(512)).zip(may_be) {
                    let fits = may_be.iter().any(|stamp| bytes == sector_of(*stamp, sector));
                    let found = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    assert!(fits, "sector {sector} has {found}, may have {may_be:?}");
                }
            }
            (_, other) => {
                self.describe_bad();
                panic!("{sectors:?}: {other:?}")
            }
        }
    }

    /// Until all is answered.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            self.take_answers();
            if self.asked.is_empty() {
                return;
            }
            self.poll();
        }
        panic!("{} requests are never answered", self.asked.len());
    }

    /// Reads all of the LUN, which is what it is from now on.
    pub fn verify(&mut self) {
        let all = self.lun.len() as u64;
        for start in (0..all).step_by(100) {
            let sectors = start..(start + 100).min(all);
            self.read(sectors.clone());
            self.settle();
            // Once more for the bytes: nothing changes meanwhile.
            let request = HostRequest::Read(sectors.clone());
            let Ok(Answer::Bytes(bytes)) =
                self.running().ask(RequestId(0), TargetId::FIRST_LUN, request)
            else {
                panic!("{sectors:?} cannot be read");
            };
            for (sector, bytes) in sectors.zip(bytes.chunks(512)) {
                let versions = &mut self.lun[sector as usize];
                versions.retain(|version| bytes == sector_of(version.stamp, sector));
                versions.truncate(1);
                versions[0].answered_ns = Some(self.clock);
            }
        }
    }

    /// Puts a blank device in the place of a spindle that is lost.
    pub fn replace(&mut self, spindle: u16) {
        let disk = self.setting.disk();
        self.running().devices_mut().replace(DeviceIndex(spindle), disk);
        let now_ns = self.running().now_ns();
        self.running().engine_mut().replaced(now_ns, SpindleIndex(spindle));
    }

    pub fn clean(&mut self) {
        self.running().clean().unwrap();
    }

    pub fn shut_down(&mut self) {
        self.running().shut_down().unwrap();
        self.array = None;
    }

    /// What lies on the devices, with the spindles that the label has.
    pub fn report(&mut self) -> CheckReport {
        let device_blocks = device_blocks_for(SPINDLE_SECTORS / 8);
        let (label, config) = (Label { device_blocks, ..self.label() }, self.setting.config());
        check_in_place(&mut *self.devices(), &label, &config)
    }

    /// The same of devices that have lost their power. Labels and superblocks may be on some of them and not on others.
    pub fn report_of_crash(&mut self) -> CheckReport {
        let mut report = self.report();
        let is_of_devices = |found: &Inconsistency| {
            matches!(found, Inconsistency::Label { .. } | Inconsistency::Superblock { .. })
        };
        report.findings.retain(|found| !is_of_devices(found));
        report
    }

    /// Scrubs what was shut down.
    pub fn scrub(&mut self) -> ScrubReport {
        let (label, config) = (self.label(), self.setting.config());
        let mut devices = self.devices();
        let consistency_point = newest_superblock(&mut *devices, &label).unwrap().consistency_point;
        let store = store_of(&mut *devices, &label).unwrap();
        let mut offline = OfflineArray::new(&mut *devices, store);
        scrub_in_place(&mut offline, &config, consistency_point, |_| true).unwrap()
    }

    /// Holds everything on the devices against what it should be.
    pub fn check(&mut self) {
        let report = self.report();
        assert_eq!(report.findings, []);
        assert!(report.stripes > 0 || self.setting.sets == [5]);
    }

    /// Says which blocks are bad.
    fn describe_bad(&self) {
        let label = self.label();
        let spindles = self.setting.spindles();
        let mut devices = self.devices();
        let store = store_of(&mut *devices, &label).unwrap();
        let mut offline = OfflineArray::new(&mut *devices, store);
        let places: Vec<SpindleBlock> = (0..spindles)
            .flat_map(|spindle| (0..SPINDLE_SECTORS / 8).map(move |dbn| (spindle, dbn)))
            .map(|(spindle, dbn)| SpindleBlock { spindle: SpindleIndex(spindle), dbn: Dbn(dbn) })
            .collect();
        for (place, (_, state)) in places.iter().zip(offline.read_states(&places)) {
            if let Some(state) = state.filter(BlockState::is_bad) {
                println!("{place:?}: {state:?}");
            }
        }
        println!("{:?}", label.members);
    }

    /// Spoils something on a spindle at rest.
    pub fn spoil(&mut self, spindle: u16) {
        let device = DeviceIndex(spindle);
        let blocks = device_blocks_for(SPINDLE_SECTORS / 8);
        let block = 16 + self.rng.below(blocks - 17);
        let offset = block * BLOCK as u64 + self.rng.below(BLOCK as u64);
        if self.rng.one_in(2) {
            self.devices().make_unreadable(device, offset, 1);
        } else {
            let mask = 1 << self.rng.below(8);
            self.devices().corrupt(device, offset, mask);
        }
    }
}
