//! Spindles in memory that can be lost, fail to read, or hold what was not written there; and a host that knows what it
//! wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proptest::sample::Index;
use strewn_array::write_anywhere::metadata::{checksum, decode_pointers};
use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{
    Acknowledge, Array, DataLost, Direction, Driver, Durability, HostOperation, LogLedger,
    LogRecord, Logged, LunId, OperationId, ProcessorWork, Refusal, Root, SpindleCommand,
};
use strewn_raid::{ParityGroup, SpindleIndex, StripeCodec, Vbn};

use crate::payloads::{Bytes, SECTOR_BYTES};

pub const BLOCK_BYTES: usize = strewn_base::BLOCK_BYTES as usize;

pub struct MemoryDriver {
    spindles: Vec<Vec<u8>>,
    unreadable: BTreeSet<(u16, u64)>,
    pub lost: BTreeSet<u16>,
    outstanding: Vec<SpindleCommand<Bytes>>,
    answers: Vec<(u32, Option<Bytes>)>,
    timer_ns: Option<u64>,
    log: Option<LogLedger>,
    commit: Option<Root>,
    root: Option<Root>,
}

impl Driver<Bytes> for MemoryDriver {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}

    fn command(&mut self, command: SpindleCommand<Bytes>) {
        assert!(!self.lost.contains(&command.spindle.0), "a command for a lost spindle");
        if command.direction == Direction::Write {
            assert_eq!(command.payload.0.len(), command.sectors as usize * SECTOR_BYTES);
        }
        self.outstanding.push(command);
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, payload: Bytes) {
        self.answers.push((operation.0, Some(payload)));
    }

    fn refuse(&mut self, operation: OperationId, _why: Refusal) {
        self.answers.push((operation.0, None));
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = Some(at_ns);
    }

    fn take_spare(&mut self, spindle: SpindleIndex) {
        assert!(self.lost.remove(&spindle.0));
        // A spare holds what it held before.
        self.spindles[spindle.index()].fill(0xA5);
        self.unreadable.retain(|(other, _)| *other != spindle.0);
    }

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

impl Durability for MemoryDriver {
    fn commit(&mut self, root: Root) {
        assert!(self.commit.replace(root).is_none(), "two commits at once");
    }
}

impl MemoryDriver {
    fn bytes(&mut self, spindle: u16, first_sector: u64, sectors: u32) -> &mut [u8] {
        let start = first_sector as usize * SECTOR_BYTES;
        &mut self.spindles[usize::from(spindle)][start..start + sectors as usize * SECTOR_BYTES]
    }

    pub fn block(&self, spindle: u16, dbn: u64) -> &[u8] {
        let start = dbn as usize * BLOCK_BYTES;
        &self.spindles[usize::from(spindle)][start..start + BLOCK_BYTES]
    }
}

enum Asked {
    Read { first_sector: u64, expected: Vec<u32> },
    Write { first_sector: u64, sectors: u32, version: u32 },
}

pub struct Harness {
    pub array: WriteAnywhere<Bytes>,
    pub driver: MemoryDriver,
    config: WriteAnywhereConfig,
    now_ns: u64,
    next: u32,
    asked: BTreeMap<u32, Asked>,
    /// The sectors of each LUN if those of all are numbered through.
    luns: Vec<Range<u64>>,
    /// The version of each sector; 0 reads as zeros.
    versions: Vec<u32>,
    /// Sectors that a write failed on: what they hold is what they held.
    pub refused: u32,
    pub may_refuse: bool,
    /// Where a stream of reads goes on.
    goes_on_at: u64,
}

/// What a sector holds in a version.
fn content(sector: u64, version: u32) -> Vec<u8> {
    if version == 0 {
        return vec![0; SECTOR_BYTES];
    }
    let word = (sector << 32 | u64::from(version)).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    word.to_le_bytes().repeat(SECTOR_BYTES / 8)
}

impl Harness {
    pub fn empty(config: WriteAnywhereConfig) -> Self {
        let array = WriteAnywhere::empty(config.clone()).unwrap();
        let sectors = config.lun_blocks() as usize * 8;
        let sizes = config.volumes.iter().flat_map(|volume| &volume.luns);
        let luns = sizes.scan(0, |end, blocks| {
            let first = std::mem::replace(end, *end + u64::from(*blocks) * 8);
            Some(first..*end)
        });
        let luns = luns.collect();
        let spindles = config.groups.iter().flat_map(|group| {
            let bytes = group.blocks_per_spindle() as usize * BLOCK_BYTES;
            (0..group.spindles()).map(move |_| vec![0; bytes])
        });
        let driver = MemoryDriver {
            spindles: spindles.collect(),
            unreadable: BTreeSet::new(),
            lost: BTreeSet::new(),
            outstanding: Vec::new(),
            answers: Vec::new(),
            timer_ns: None,
            log: array.log_size().map(LogLedger::new),
            commit: None,
            root: None,
        };
        let mut harness = Self {
            array,
            driver,
            config,
            now_ns: 0,
            next: 0,
            asked: BTreeMap::new(),
            luns,
            versions: vec![0; sectors],
            refused: 0,
            goes_on_at: 0,
            may_refuse: false,
        };
        harness.array.start(0, &mut harness.driver);
        harness
    }

    fn range(&self, at: &Index, sectors: u32) -> (u64, u32) {
        let first = at.index(self.versions.len()) as u64;
        let (_, lun) = self.lun_of(first);
        (first, sectors.min((lun.end - first) as u32))
    }

    /// The LUN of a sector, and its sectors.
    fn lun_of(&self, sector: u64) -> (LunId, Range<u64>) {
        let mut luns = (0..).map(LunId).zip(&self.luns);
        let (lun, sectors) = luns.find(|(_, sectors)| sectors.contains(&sector)).unwrap();
        (lun, sectors.clone())
    }

    /// What the host has outstanding does not overlap, so that it knows what every read must return.
    fn is_free(&self, first_sector: u64, sectors: u32, for_write: bool) -> bool {
        let end = first_sector + u64::from(sectors);
        self.asked.values().all(|asked| match asked {
            Asked::Read { first_sector: other, expected } => {
                !for_write || *other >= end || first_sector >= *other + expected.len() as u64
            }
            Asked::Write { first_sector: other, sectors, .. } => {
                *other >= end || first_sector >= *other + u64::from(*sectors)
            }
        })
    }

    /// A stream of reads goes on.
    pub fn read_on(&mut self, sectors: u32) {
        let (_, lun) = self.lun_of(self.goes_on_at);
        let sectors = sectors.min((lun.end - self.goes_on_at) as u32);
        self.read_at(self.goes_on_at, sectors);
        self.goes_on_at = (self.goes_on_at + u64::from(sectors)) % self.versions.len() as u64;
    }

    pub fn read(&mut self, at: &Index, sectors: u32) {
        let (first_sector, sectors) = self.range(at, sectors);
        self.read_at(first_sector, sectors);
    }

    pub fn read_at(&mut self, first_sector: u64, sectors: u32) {
        if !self.is_free(first_sector, sectors, false) {
            return;
        }
        let range = first_sector as usize..first_sector as usize + sectors as usize;
        let expected = self.versions[range].to_vec();
        self.submit(Direction::Read, first_sector, sectors, Bytes::default());
        self.asked.insert(self.next, Asked::Read { first_sector, expected });
        self.after();
    }

    pub fn write(&mut self, at: &Index, sectors: u32) {
        let (first_sector, sectors) = self.range(at, sectors);
        self.write_at(first_sector, sectors);
    }

    pub fn write_at(&mut self, first_sector: u64, sectors: u32) {
        if !self.is_free(first_sector, sectors, true) {
            return;
        }
        let version = self.next + 2;
        let range = first_sector..first_sector + u64::from(sectors);
        let bytes = range.flat_map(|sector| content(sector, version)).collect();
        self.submit(Direction::Write, first_sector, sectors, Bytes(bytes));
        self.asked.insert(self.next, Asked::Write { first_sector, sectors, version });
        self.after();
    }

    pub fn unmap(&mut self, at: &Index, blocks: u32) {
        let (first_sector, sectors) = self.range(at, blocks * 8);
        let first = first_sector.div_ceil(8);
        let end = (first_sector + u64::from(sectors)) / 8;
        if first < end {
            self.unmap_at(first as u32, (end - first) as u32);
        }
    }

    pub fn unmap_at(&mut self, first: u32, blocks: u32) {
        if self.is_free(u64::from(first) * 8, blocks * 8, true) {
            self.unmap_now(first, blocks);
        }
    }

    /// Unmaps blocks that other operations may be at work on. A read of them may still return what was there.
    pub fn unmap_now(&mut self, first: u32, blocks: u32) {
        let (first_sector, sectors) = (u64::from(first) * 8, blocks * 8);
        self.next += 1;
        let id = OperationId(self.next);
        self.asked.insert(self.next, Asked::Write { first_sector, sectors, version: 0 });
        let (lun, of_lun) = self.lun_of(first_sector);
        let first = first - (of_lun.start / 8) as u32;
        self.array.unmap(self.now_ns, id, lun, first..first + blocks, &mut self.driver);
        self.after();
    }

    pub fn commands_out(&self) -> usize {
        self.driver.outstanding.len()
    }

    fn submit(&mut self, direction: Direction, first_sector: u64, sectors: u32, payload: Bytes) {
        self.next += 1;
        let id = OperationId(self.next);
        let (lun, of_lun) = self.lun_of(first_sector);
        let first_sector = first_sector - of_lun.start;
        let operation = HostOperation { id, lun, direction, first_sector, sectors, payload };
        self.array.host_operation(self.now_ns, operation, &mut self.driver);
    }

    /// Takes in what the array has answered.
    fn after(&mut self) {
        self.now_ns += 1_000;
        self.array.assert_invariants();
        for (id, payload) in std::mem::take(&mut self.driver.answers) {
            match (self.asked.remove(&id).expect("an answer to nothing"), payload) {
                (_, None) => self.refused += 1,
                (Asked::Write { first_sector, sectors, version }, Some(_)) => {
                    let first = first_sector as usize;
                    self.versions[first..first + sectors as usize].fill(version);
                }
                (Asked::Read { first_sector, expected }, Some(payload)) => {
                    assert_eq!(payload.0.len(), expected.len() * SECTOR_BYTES);
                    let sectors = payload.0.chunks(SECTOR_BYTES).zip(&expected);
                    for (sector, (bytes, version)) in (first_sector..).zip(sectors) {
                        assert!(
                            bytes == content(sector, *version),
                            "sector {sector} is not as of write {version}"
                        );
                    }
                }
            }
        }
    }

    pub fn complete(&mut self, which: &Index) {
        if !self.driver.outstanding.is_empty() {
            self.complete_at(which.index(self.driver.outstanding.len()));
        } else if self.driver.commit.is_some() {
            self.committed();
        }
    }

    pub fn complete_at(&mut self, index: usize) {
        let command = self.driver.outstanding.remove(index);
        let SpindleCommand { tag, spindle, direction, first_sector, sectors, .. } = command;
        let blocks = first_sector / 8..(first_sector + u64::from(sectors)) / 8;
        match direction {
            Direction::Write => {
                let payload = command.payload;
                self.driver.bytes(spindle.0, first_sector, sectors).copy_from_slice(&payload.0);
                for dbn in blocks {
                    self.driver.unreadable.remove(&(spindle.0, dbn));
                }
                self.array.command_completed(self.now_ns, tag, Bytes::default(), &mut self.driver);
            }
            Direction::Read => {
                let bad: Vec<bool> =
                    blocks.map(|dbn| self.driver.unreadable.contains(&(spindle.0, dbn))).collect();
                if bad.contains(&true) {
                    self.array.blocks_failed(self.now_ns, command, &bad, &mut self.driver);
                } else {
                    let payload =
                        Bytes(self.driver.bytes(spindle.0, first_sector, sectors).to_vec());
                    self.array.command_completed(self.now_ns, tag, payload, &mut self.driver);
                }
            }
        }
        self.after();
    }

    fn committed(&mut self) {
        if let Some(root) = self.driver.commit.take() {
            self.driver.root = Some(root);
            self.array.committed(self.now_ns, &mut self.driver);
            self.after();
        }
    }

    pub fn fire_timer(&mut self) {
        if let Some(at_ns) = self.driver.timer_ns.take() {
            self.now_ns = self.now_ns.max(at_ns);
            self.array.timer_fired(self.now_ns, &mut self.driver);
            self.after();
        }
    }

    pub fn drain(&mut self) {
        for _ in 0..1_000_000 {
            if !self.driver.outstanding.is_empty() {
                self.complete_at(0);
            } else if self.driver.commit.is_some() {
                self.committed();
            } else {
                return;
            }
        }
        panic!("the array never comes to rest");
    }

    pub fn begin_consistency_point(&mut self) {
        self.array.bring_to_spindles(self.now_ns, &mut self.driver);
        self.after();
    }

    /// Everything is answered, and all of it is on the spindles.
    pub fn bring_to_spindles(&mut self) {
        for _ in 0..100 {
            self.drain();
            if self.array.is_clean() {
                assert!(self.asked.is_empty(), "operations were never answered");
                return;
            }
            self.array.bring_to_spindles(self.now_ns, &mut self.driver);
        }
        panic!("the array never is clean");
    }

    pub fn read_everything(&mut self) {
        self.drain();
        for lun in self.luns.clone() {
            for first_sector in lun.clone().step_by(100) {
                self.read_at(first_sector, 100.min(lun.end - first_sector) as u32);
                self.drain();
            }
        }
        assert!(self.asked.is_empty());
        assert!(self.may_refuse || self.refused == 0, "{} were refused", self.refused);
    }

    /// Reads so much of something else that nothing of the first blocks is left in the cache.
    pub fn forget_cache(&mut self) {
        for _ in 0..3 {
            self.read_at(2_000, 800);
            self.drain();
            self.read_at(3_000, 800);
            self.drain();
        }
    }

    pub fn place_of(&self, block: u32) -> (u16, u64) {
        self.place_at(self.array.pointer(block).unwrap().vbn)
    }

    /// The spindle, as commands number it, and the DBN of a block of the aggregate.
    fn place_at(&self, vbn: Vbn) -> (u16, u64) {
        let place = self.array.aggregate().locate(vbn).unwrap();
        let first = self.spindles_of(place.group.index()).start;
        (first + place.location.spindle.0, place.location.dbn.0)
    }

    /// The spindles of a parity group, as commands number them.
    pub fn spindles_of(&self, group: usize) -> Range<u16> {
        let before = self.config.groups[..group].iter();
        let first = before.map(|group| group.spindles()).sum();
        first..first + self.config.groups[group].spindles()
    }

    /// The parity groups that the array has by now.
    pub fn groups(&self) -> usize {
        self.array.aggregate().groups()
    }

    /// Adds the next parity group, if there is one.
    pub fn add_group(&mut self) -> bool {
        let added = self.array.add_group(self.now_ns, &mut self.driver);
        self.after();
        added
    }

    /// The directions of the commands in flight to these spindles.
    pub fn commands_at(&self, spindles: Range<u16>) -> Vec<Direction> {
        let commands = self.driver.outstanding.iter();
        let there = commands.filter(|command| spindles.contains(&command.spindle.0));
        there.map(|command| command.direction).collect()
    }

    /// Spindle `spindle` is gone with all it holds.
    pub fn lose(&mut self, spindle: SpindleIndex) {
        if !self.driver.lost.insert(spindle.0) {
            return;
        }
        let (gone, rest) = std::mem::take(&mut self.driver.outstanding)
            .into_iter()
            .partition(|command| command.spindle == spindle);
        self.driver.outstanding = rest;
        self.array.spindle_failed(self.now_ns, spindle, &mut self.driver).unwrap();
        for command in gone {
            self.array.command_failed(self.now_ns, command, &mut self.driver);
        }
        self.after();
    }

    /// A spindle too many is lost.
    pub fn lose_for_good(&mut self, spindle: SpindleIndex) -> DataLost {
        self.array.spindle_failed(self.now_ns, spindle, &mut self.driver).unwrap_err()
    }

    /// Makes a block of a spindle bad: it cannot be read (0), is changed (1), or is what another block is (2). Whether
    /// that changed anything: a block that was never written, or is lost, has nothing to spoil.
    pub fn spoil(&mut self, spindle: u16, dbn: u64, kind: u8) -> bool {
        let blocks = (self.driver.spindles[usize::from(spindle)].len() / BLOCK_BYTES) as u64;
        if self.driver.lost.contains(&spindle)
            || dbn >= blocks
            || self.driver.block(spindle, dbn) == [0; BLOCK_BYTES]
        {
            return false;
        }
        match kind {
            0 => {
                self.driver.unreadable.insert((spindle, dbn));
            }
            1 => self.driver.bytes(spindle, dbn * 8, 8)[77] ^= 4,
            _ => {
                let other = self.driver.block(spindle, (dbn + 1) % blocks).to_vec();
                self.driver.bytes(spindle, dbn * 8, 8).copy_from_slice(&other);
            }
        }
        // Whoever stores the blocks notices that a checksum is wrong, but where the block is not named to it.
        if kind == 1 {
            self.driver.unreadable.insert((spindle, dbn));
        }
        true
    }

    /// The parity of every stripe without a lost block is that of its data.
    pub fn parity_is_right(&self, lost: &BTreeSet<u16>) {
        for (index, group) in self.config.groups.iter().enumerate() {
            let spindles = self.spindles_of(index);
            let lost = lost.iter().filter(|spindle| spindles.contains(spindle));
            let lost = lost.map(|spindle| spindle - spindles.start).collect();
            self.parity_of_group_is_right(group, spindles.start, &lost);
        }
    }

    fn parity_of_group_is_right(&self, group: &ParityGroup, first: u16, lost: &BTreeSet<u16>) {
        let codec = StripeCodec::for_shape(group.stripe_shape(), BLOCK_BYTES).unwrap();
        let parity = usize::from(group.parity().spindles());
        if lost.iter().any(|spindle| *spindle < group.data_spindles()) {
            return;
        }
        for stripe in 0..group.stripes() {
            let data: Vec<&[u8]> = (first..first + group.data_spindles())
                .map(|one| self.driver.block(one, stripe))
                .collect();
            let mut computed = vec![vec![0; BLOCK_BYTES]; parity];
            codec.encode(&data, &mut computed).unwrap();
            for (spindle, bytes) in (group.data_spindles()..).zip(computed) {
                assert!(
                    lost.contains(&spindle) || self.driver.block(first + spindle, stripe) == bytes,
                    "parity on spindle {spindle} from {first} on, of stripe {stripe}, is wrong"
                );
            }
        }
    }

    fn block_of(&self, key: u32) -> Option<Vec<u8>> {
        let pointer = self.array.pointer(key)?;
        let (spindle, dbn) = self.place_at(pointer.vbn);
        let bytes = self.driver.block(spindle, dbn).to_vec();
        (checksum(&bytes) == pointer.checksum).then_some(bytes)
    }

    /// The aggregate's bitmap on the spindles has what is reached from the root, and what is held back, and nothing
    /// else. Whether there was one to look at.
    pub fn bitmap_is_right(&self) -> bool {
        let keys = self.array.keys();
        if self.driver.root.is_none() {
            return false;
        }
        let mut reached = BTreeSet::new();
        reached.extend((0..keys.end()).filter_map(|key| Some(self.array.pointer(key)?.vbn.0)));
        let mut in_use = 0;
        for (index, key) in keys.aggregate_bitmap().enumerate() {
            // Of the bitmap of a group in which nothing lies yet there is no block.
            if index > 0 && self.array.pointer(key).is_none() {
                continue;
            }
            let Some(bytes) = self.block_of(key) else { return false };
            for bit in (0..32_768).filter(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1) {
                in_use += 1;
                reached.remove(&(index as u64 * 32_768 + bit as u64));
            }
        }
        assert!(reached.is_empty(), "{} are in use and free in the bitmap", reached.len());
        let named = 2 + (0..keys.end()).filter(|key| self.array.pointer(*key).is_some()).count();
        let held_back = self.driver.root.unwrap().held_back_blocks;
        assert_eq!(in_use, named as u64 + held_back, "blocks in use but named by nobody");
        true
    }

    /// The array as another begins from what the root leads to.
    pub fn restored(self) -> Self {
        let config = WriteAnywhereConfig { groups_at_start: self.groups(), ..self.config.clone() };
        let mut blocks = Vec::new();
        if let Some((vbn, sum)) = self.driver.root.and_then(|root| root.block) {
            let keys = self.array.keys().clone();
            let pointer = strewn_array::write_anywhere::metadata::Pointer { vbn, checksum: sum };
            let mut open = vec![(keys.root().unwrap(), pointer)];
            while let Some((key, pointer)) = open.pop() {
                blocks.push((key, pointer));
                if !keys.has_pointers(key) {
                    continue;
                }
                let (spindle, dbn) = self.place_at(pointer.vbn);
                let bytes = self.driver.block(spindle, dbn);
                assert_eq!(checksum(bytes), pointer.checksum, "block {key} of metadata");
                let children = decode_pointers(keys.pointer_address(key), bytes).unwrap();
                assert_eq!(children.len(), keys.children(key).len());
                let there = keys.children(key).into_iter().zip(children);
                open.extend(there.filter_map(|(key, pointer)| Some((key, pointer?))));
            }
        }
        let mut harness = Self::empty(config.clone());
        harness.array = WriteAnywhere::restored(config, blocks, vec![], &[]).unwrap();
        harness.driver.spindles = self.driver.spindles;
        harness.driver.root = self.driver.root;
        harness.versions = self.versions;
        harness.next = self.next;
        harness.now_ns = self.now_ns;
        harness.array.start(harness.now_ns, &mut harness.driver);
        harness
    }
}
