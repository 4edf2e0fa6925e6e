//! Spindles in memory that can be lost, replaced, and go bad block by block; under an in-place array with bytes.

use std::collections::{BTreeMap, BTreeSet};

use strewn_array::in_place::{InPlace, LunLayout};
use strewn_array::{
    Acknowledge, Array, BlockContents, Contents, Direction, Driver, Durability, HostOperation,
    LogLedger, LogRecord, Logged, OperationId, Payload, ProcessorWork, Refusal, Root,
    SpindleCommand,
};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{SpindleIndex, StripeCodec, StripeMember, StripedLayout};

use crate::bytes::content;
use crate::host::Host;
use crate::payloads::{Bytes, SECTOR_BYTES, Sectors};

/// Whole sectors, and what the blocks of a write hold.
#[derive(Debug, Clone, Default)]
pub struct Described {
    pub bytes: Bytes,
    holds: BTreeMap<u32, BlockContents>,
}

impl Payload for Described {
    type Contents = DescribedSectors;

    const CARRIES_DATA: bool = true;

    fn splice(&mut self, at_sector: u32, part: &Self) {
        self.bytes.splice(at_sector, &part.bytes);
    }

    fn slice(&self, from_sector: u32, sectors: u32) -> Self {
        Self::from_bytes(self.bytes.slice(from_sector, sectors).0)
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes.0
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes(bytes), holds: BTreeMap::new() }
    }

    fn describe(&mut self, at_sector: u32, holds: BlockContents) {
        assert!(self.holds.insert(at_sector, holds).is_none(), "a block is described twice");
    }
}

#[derive(Debug, Default)]
pub struct DescribedSectors(Sectors);

impl Contents<Described> for DescribedSectors {
    fn store(&mut self, first_sector: u64, sectors: u32, payload: &Described) {
        self.0.store(first_sector, sectors, &payload.bytes);
    }

    fn load(&self, first_sector: u64, sectors: u32) -> Described {
        Described::from_bytes(self.0.load(first_sector, sectors).0)
    }

    fn forget(&mut self, first_sector: u64, sectors: u32) {
        self.0.forget(first_sector, sectors);
    }
}

struct Spindle {
    bytes: Vec<u8>,
    /// What the array said of each block, if it has written it.
    holds: Vec<Option<BlockContents>>,
    bad: BTreeSet<u64>,
    is_lost: bool,
}

impl Spindle {
    fn is_bad(&self, block: u64) -> bool {
        self.bad.contains(&block) || self.holds[block as usize] == Some(BlockContents::Gone)
    }
}

struct Outstanding {
    command: SpindleCommand<Described>,
    executed: bool,
    bad: Vec<bool>,
}

pub struct FaultyDriver {
    pub host: Host,
    pub layout: LunLayout,
    spindles: Vec<Spindle>,
    outstanding: Vec<Outstanding>,
    /// Where the reserve begins on each spindle.
    pub reserve_from: u64,
    pub is_committing: bool,
    /// What had been acknowledged when the log drain in progress began.
    at_drain: Option<Vec<u32>>,
    pub committed: u32,
    /// Whether a spindle was ever lost: then what is where is the array's secret.
    has_lost: bool,
    pub refused: u32,
    /// Blocks that were made bad.
    pub spoiled: u32,
    pub may_refuse: bool,
    lun_sectors: u64,
    /// Writes that were acknowledged, in order: in which half of the log, and what.
    log: Vec<(u32, HostOperation<Described>)>,
    half: u32,
    ledger: Option<LogLedger>,
    /// Halves before this one are free.
    free_halves: u32,
    writes_out: BTreeMap<u32, HostOperation<Described>>,
}

impl Driver<Described> for FaultyDriver {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}

    fn command(&mut self, command: SpindleCommand<Described>) {
        let SpindleCommand { spindle, direction, first_sector, sectors, payload, .. } = &command;
        assert!(!self.spindles[spindle.index()].is_lost, "a command for the lost {spindle}");
        assert!(*sectors > 0, "a command for nothing");
        if *direction == Direction::Write {
            assert_eq!(payload.bytes.0.len(), *sectors as usize * SECTOR_BYTES, "{command:?}");
            let end = first_sector + u64::from(*sectors);
            let blocks = first_sector / BLOCK_SECTORS..end.div_ceil(BLOCK_SECTORS);
            let named =
                blocks.map(|block| (block * BLOCK_SECTORS).saturating_sub(*first_sector) as u32);
            assert!(payload.holds.keys().copied().eq(named), "blocks without a name");
        } else {
            assert!(payload.bytes.0.is_empty(), "a read brings no bytes");
        }
        self.outstanding.push(Outstanding { command, executed: false, bad: Vec::new() });
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, payload: Described) {
        if let Some(write) = self.writes_out.remove(&operation.0) {
            self.log.push((self.half, write));
        }
        self.host.acknowledge(operation, &payload.bytes);
    }

    fn refuse(&mut self, operation: OperationId, _why: Refusal) {
        assert!(self.may_refuse, "{operation:?} is refused");
        self.refused += 1;
        self.writes_out.remove(&operation.0);
        self.host.refuse(operation);
    }

    fn set_timer(&mut self, _at_ns: u64) {}

    fn consistency_point_begins(&mut self) {
        assert!(self.at_drain.is_none(), "a log drain within a log drain");
        self.at_drain = Some(self.host.acknowledged.clone());
        self.half += 1;
        self.ledger.iter_mut().for_each(LogLedger::switch);
    }

    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &Described) -> Logged {
        self.ledger.as_mut().expect("the array has a log").append(&record)
    }

    fn consistency_point_ends(&mut self) {
        self.ledger.iter_mut().for_each(LogLedger::release);
        let acknowledged = self.at_drain.take().expect("a log drain has begun");
        if !self.has_lost && self.bad_blocks() == 0 {
            self.spindles_have(&acknowledged);
        }
        self.committed += 1;
        self.free_halves = self.half;
    }
}

impl Durability for FaultyDriver {
    fn commit(&mut self, root: Root) {
        assert_eq!(root, Root::default());
        assert!(!std::mem::replace(&mut self.is_committing, true), "two commits at once");
    }
}

impl FaultyDriver {
    /// The spindles have every sector as it was `acknowledged`, or newer. Nothing may be on reserve.
    pub fn spindles_have(&self, acknowledged: &[u32]) {
        for (lun_sector, &version) in (0..).zip(acknowledged) {
            let place = self.layout.locate(lun_sector);
            let start = place.sector_on_spindle as usize * SECTOR_BYTES;
            let there = &self.spindles[place.spindle.index()].bytes[start..start + SECTOR_BYTES];
            let on_spindle = u32::from_le_bytes(there[8..12].try_into().unwrap());
            assert!(there == content(lun_sector, on_spindle), "sector {lun_sector}");
            assert!(on_spindle >= version, "sector {lun_sector}: {on_spindle}, not {version}");
        }
    }

    fn execute(&mut self, index: usize) {
        let Outstanding { command, executed, bad } = &mut self.outstanding[index];
        if std::mem::replace(executed, true) {
            return;
        }
        let SpindleCommand { first_sector, sectors, payload, .. } = command;
        let spindle = &mut self.spindles[command.spindle.index()];
        let start = *first_sector as usize * SECTOR_BYTES;
        let place = start..start + *sectors as usize * SECTOR_BYTES;
        let end = *first_sector + u64::from(*sectors);
        let blocks = *first_sector / BLOCK_SECTORS..end.div_ceil(BLOCK_SECTORS);
        if command.direction == Direction::Read {
            let mut bytes = spindle.bytes[place].to_vec();
            for block in blocks {
                let is_bad = spindle.is_bad(block);
                bad.push(is_bad);
                // What is read of a bad block is anything.
                for sector in block * BLOCK_SECTORS..(block + 1) * BLOCK_SECTORS {
                    if is_bad && (*first_sector..end).contains(&sector) {
                        let at = (sector - *first_sector) as usize * SECTOR_BYTES;
                        bytes[at..at + SECTOR_BYTES].fill(0xEE);
                    }
                }
            }
            *payload = Described::from_bytes(bytes);
        } else {
            spindle.bytes[place].copy_from_slice(&payload.bytes.0);
            for block in blocks {
                let (from, to) = (block * BLOCK_SECTORS, (block + 1) * BLOCK_SECTORS);
                let at = from.saturating_sub(*first_sector) as u32;
                // A block of which a part is written cannot be read back to be made whole.
                if spindle.is_bad(block) && (from < *first_sector || to > end) {
                    continue;
                }
                spindle.bad.remove(&block);
                spindle.holds[block as usize] = Some(payload.holds[&at]);
            }
        }
    }

    /// Makes a block bad, unless another of its row is or there is no row.
    pub fn spoil(&mut self, spindle: u16, block: u64, rows_may_have_two: bool) -> bool {
        let sector = block * BLOCK_SECTORS;
        let spindle = SpindleIndex(spindle);
        let Some((stripe, _)) = self.layout.stripe_on(spindle, sector) else { return false };
        let within = sector % self.layout.unit_sectors();
        let is_bad = self.layout.stripe(stripe).units().any(|(_, unit)| {
            let block = (unit.sector + within) / BLOCK_SECTORS;
            self.spindles[unit.spindle.index()].is_bad(block)
        });
        let may = (rows_may_have_two || !is_bad) && sector < self.reserve_from;
        if may {
            self.spindles[spindle.index()].bad.insert(block);
            self.spoiled += 1;
        }
        may
    }

    /// Makes every other block bad of what was written to the reserve.
    pub fn spoil_reserve(&mut self) {
        let first = self.reserve_from / BLOCK_SECTORS;
        for spindle in &mut self.spindles {
            for block in (first..spindle.holds.len() as u64).step_by(2) {
                if spindle.holds[block as usize].is_some() {
                    spindle.bad.insert(block);
                }
            }
        }
    }

    /// Blocks that are bad or marked as gone.
    pub fn bad_blocks(&self) -> usize {
        let of = |spindle: &Spindle| {
            (0..spindle.holds.len() as u64).filter(|block| spindle.is_bad(*block)).count()
        };
        self.spindles.iter().map(of).sum()
    }

    fn blocks_of_row(&self, stripe: u64, within: u64) -> Vec<(usize, u64)> {
        let units = self.layout.stripe(stripe);
        let block = |sector: u64| (sector + within) / BLOCK_SECTORS;
        units.units().map(|(_, unit)| (unit.spindle.index(), block(unit.sector))).collect()
    }

    /// Every row that has no bad block has the parity of its data; everything must be in its own place.
    pub fn parity_is_right(&self) {
        let block_bytes = BLOCK_SECTORS as usize * SECTOR_BYTES;
        let codec = StripeCodec::for_shape(self.layout.shape(), block_bytes).unwrap();
        let data = usize::from(self.layout.shape().data_blocks());
        let stripe_sectors = data as u64 * self.layout.unit_sectors();
        for stripe in 0..self.lun_sectors.div_ceil(stripe_sectors) {
            for within in (0..self.layout.unit_sectors()).step_by(BLOCK_SECTORS as usize) {
                let row = self.blocks_of_row(stripe, within);
                if row.iter().any(|(spindle, block)| self.spindles[*spindle].is_bad(*block)) {
                    continue;
                }
                let blocks = row.iter().map(|&(spindle, block)| {
                    let start = block as usize * block_bytes;
                    &self.spindles[spindle].bytes[start..start + block_bytes]
                });
                let blocks: Vec<&[u8]> = blocks.collect();
                let mut parity = [vec![0; block_bytes]];
                codec.encode(&blocks[..data], &mut parity).unwrap();
                assert!(parity[0] == blocks[data], "parity of stripe {stripe} at {within}");
            }
        }
    }

    /// What the array said of its writes is so; of the reserve it may say anything but nothing.
    pub fn descriptions_are_right(&self) {
        for (index, spindle) in self.spindles.iter().enumerate() {
            for (block, holds) in (0..).zip(&spindle.holds) {
                let sector = block * BLOCK_SECTORS;
                let spindle = SpindleIndex(index as u16);
                match (holds, self.layout.lun_sector_of(spindle, sector)) {
                    (None | Some(BlockContents::Gone), _) => {}
                    (Some(BlockContents::Lun { .. } | BlockContents::Parity), _)
                        if sector >= self.reserve_from => {}
                    (
                        Some(BlockContents::Lun { block, .. }),
                        Some(StripeMember::Data { lun_sector }),
                    ) => {
                        assert_eq!(block * BLOCK_SECTORS, lun_sector);
                    }
                    (Some(BlockContents::Parity), Some(StripeMember::Parity { .. })) => {}
                    (holds, there) => panic!("{holds:?} is said of {there:?}"),
                }
            }
        }
    }

    fn spindle_of(sectors: u64, fill: u8) -> Spindle {
        Spindle {
            bytes: vec![fill; sectors as usize * SECTOR_BYTES],
            holds: vec![None; (sectors / BLOCK_SECTORS) as usize],
            bad: BTreeSet::new(),
            is_lost: false,
        }
    }
}

pub struct FaultyHarness {
    pub array: InPlace<Described>,
    pub driver: FaultyDriver,
    /// Where a stream of reads goes on.
    pub goes_on_at: u64,
    now_ns: u64,
}

impl FaultyHarness {
    /// Spindles that hold version 0 of the LUN, with its parity.
    pub fn new(array: InPlace<Described>, lun_sectors: u64, spindle_sectors: u64) -> Self {
        let layout = array.config().single_group().layout.clone();
        let spindles = (0..layout.spindles()).map(|_| FaultyDriver::spindle_of(spindle_sectors, 0));
        let reserve_from = layout.segments_used(lun_sectors) * layout.segment_sectors();
        let mut driver = FaultyDriver {
            host: Host::new(lun_sectors),
            spindles: spindles.collect(),
            outstanding: Vec::new(),
            reserve_from,
            is_committing: false,
            at_drain: None,
            committed: 0,
            has_lost: false,
            refused: 0,
            spoiled: 0,
            may_refuse: false,
            lun_sectors,
            layout,
            log: Vec::new(),
            half: 0,
            ledger: array.log_size().map(LogLedger::new),
            free_halves: 0,
            writes_out: BTreeMap::new(),
        };
        for lun_sector in 0..lun_sectors {
            let place = driver.layout.locate(lun_sector);
            let bytes = content(lun_sector, 0);
            let mut lay = |spindle: SpindleIndex, sector: u64| {
                let start = sector as usize * SECTOR_BYTES;
                let there = &mut driver.spindles[spindle.index()].bytes[start..];
                there.iter_mut().zip(&bytes).for_each(|(there, byte)| *there ^= byte);
            };
            lay(place.spindle, place.sector_on_spindle);
            lay(place.parity_spindle, place.parity_sector);
        }
        let mut array = array;
        array.start(0, &mut driver);
        Self { array, driver, goes_on_at: 0, now_ns: 0 }
    }

    pub fn read(&mut self, first_sector: u64, sectors: u32) -> u32 {
        let operation = self.driver.host.read(first_sector, sectors);
        self.submit(operation)
    }

    pub fn write(&mut self, first_sector: u64, sectors: u32) -> u32 {
        let operation = self.driver.host.write(first_sector, sectors);
        self.submit(operation)
    }

    fn submit(&mut self, operation: HostOperation<Bytes>) -> u32 {
        let HostOperation { id, lun, direction, first_sector, sectors, payload } = operation;
        let payload = Described::from_bytes(payload.0);
        let operation = HostOperation { id, lun, direction, first_sector, sectors, payload };
        if direction == Direction::Write {
            self.driver.writes_out.insert(id.0, operation.clone());
        }
        self.array.host_operation(self.now_ns, operation, &mut self.driver);
        id.0
    }

    pub fn is_answered(&self, operation: u32) -> bool {
        !self.driver.host.is_outstanding(operation)
    }

    pub fn commands_out(&self) -> usize {
        self.driver.outstanding.len()
    }

    pub fn execute(&mut self, index: usize) {
        self.driver.execute(index);
    }

    pub fn complete(&mut self, index: usize) {
        self.array.assert_invariants();
        self.driver.execute(index);
        self.now_ns += 1_000;
        let Outstanding { mut command, bad, .. } = self.driver.outstanding.remove(index);
        if bad.contains(&true) {
            self.array.blocks_failed(self.now_ns, command, &bad, &mut self.driver);
        } else {
            if command.direction == Direction::Write {
                command.payload = Described::default();
            }
            let (tag, payload) = (command.tag, command.payload);
            self.array.command_completed(self.now_ns, tag, payload, &mut self.driver);
        }
    }

    /// A spindle is lost, and with it some of the writes that were on their way.
    pub fn fail(&mut self, spindle: u16) {
        let outstanding = std::mem::take(&mut self.driver.outstanding);
        let (failed, left): (Vec<_>, Vec<_>) =
            outstanding.into_iter().partition(|one| one.command.spindle.0 == spindle);
        self.driver.outstanding = left;
        self.driver.spindles[usize::from(spindle)].is_lost = true;
        self.driver.has_lost = true;
        let spindle = SpindleIndex(spindle);
        self.array.spindle_failed(self.now_ns, spindle, &mut self.driver).unwrap();
        for Outstanding { mut command, .. } in failed {
            if command.direction == Direction::Read {
                command.payload = Described::default();
            }
            self.array.command_failed(self.now_ns, command, &mut self.driver);
        }
    }

    /// Another device takes the place of a spindle that is lost, with other people's data on it.
    pub fn replace(&mut self, spindle: u16) {
        let place = &mut self.driver.spindles[usize::from(spindle)];
        assert!(place.is_lost, "only what is lost is replaced");
        *place = FaultyDriver::spindle_of((place.bytes.len() / SECTOR_BYTES) as u64, 0xAA);
        self.array.replaced(self.now_ns, SpindleIndex(spindle), &mut self.driver);
    }

    pub fn commit(&mut self) {
        if std::mem::take(&mut self.driver.is_committing) {
            self.array.committed(self.now_ns, &mut self.driver);
        }
    }

    /// The power goes, and comes again: of what was on its way, the writes that must all be done or none are done, for
    /// there is a record of them; of the others those that were. `array` begins with what the log has.
    pub fn crash(&mut self, array: InPlace<Described>) {
        for index in 0..self.driver.outstanding.len() {
            if self.driver.outstanding[index].command.all_or_none {
                self.driver.execute(index);
            }
        }
        self.driver.outstanding.clear();
        self.driver.host.forget_outstanding();
        self.driver.writes_out.clear();
        (self.driver.is_committing, self.driver.at_drain) = (false, None);
        self.array = array;
        self.driver.ledger = self.array.log_size().map(LogLedger::new);
        self.array.start(self.now_ns, &mut self.driver);
        let lost = (0..).zip(&self.driver.spindles).filter(|(_, spindle)| spindle.is_lost);
        for spindle in lost.map(|(index, _)| SpindleIndex(index)).collect::<Vec<_>>() {
            self.array.spindle_failed(self.now_ns, spindle, &mut self.driver).unwrap();
        }
        let free = self.driver.free_halves;
        let mut log = std::mem::take(&mut self.driver.log);
        log.retain(|(half, _)| *half >= free);
        for (_, write) in &log {
            self.driver.host.forget_write(write.first_sector, write.sectors);
        }
        for (_, write) in log {
            self.driver.host.write_again(write.id, write.first_sector, write.sectors);
            self.driver.writes_out.insert(write.id.0, write.clone());
            self.array.host_operation(self.now_ns, write, &mut self.driver);
            self.run_to_quiescence();
        }
    }

    /// Completes the oldest command until there is none.
    pub fn run_to_quiescence(&mut self) {
        for done in 0.. {
            assert!(done < 1_000_000, "the array never comes to rest");
            if self.commands_out() > 0 {
                self.complete(0);
            } else if self.driver.is_committing {
                self.commit();
            } else {
                break;
            }
        }
        assert_eq!(self.driver.host.outstanding_ids(), [0; 0], "never answered");
    }

    pub fn begin_log_drain(&mut self) {
        self.array.begin_log_drain(self.now_ns, &mut self.driver);
    }

    /// No block of the LUN's data is bad.
    pub fn data_blocks_are_good(&self) {
        for lun_sector in (0..self.driver.lun_sectors).step_by(BLOCK_SECTORS as usize) {
            let place = self.driver.layout.locate(lun_sector);
            let block = place.sector_on_spindle / BLOCK_SECTORS;
            let is_bad = self.driver.spindles[place.spindle.index()].is_bad(block);
            assert!(!is_bad, "sector {lun_sector} of the LUN is still bad");
        }
    }

    /// Has everything brought to the spindles.
    pub fn clean(&mut self) {
        for _ in 0..10 {
            self.run_to_quiescence();
            if self.array.is_clean() {
                return;
            }
            self.array.begin_log_drain(self.now_ns, &mut self.driver);
        }
        panic!("the array is never clean");
    }

    pub fn read_everything(&mut self) {
        // Out of the cache, no read would find what is bad.
        self.array.forget_cache();
        let lun_sectors = self.driver.lun_sectors;
        for first_sector in (0..lun_sectors).step_by(24) {
            self.read(first_sector, 24.min(lun_sectors - first_sector) as u32);
            self.run_to_quiescence();
        }
    }
}
