//! A store over simulated devices, and what its blocks may have: every read is held against it.

use std::collections::HashMap;
use std::rc::Rc;

use strewn_array::BlockContents;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Devices, SimulatedDevices};
use strewn_live::format::{
    ArrayTag, BlockTag, INITIALIZATION_MAP_SLOTS, Identity, InitializationMap, StripeSum,
    device_blocks_for,
};
use strewn_live::store::{BlockState, ReadOutcome, SpindleWriteError, Store, StoreEvent, Token};
use strewn_raid::SpindleIndex;

use strewn_base::Rng;

pub const TAG: ArrayTag = ArrayTag(*b"8 bytes.");
pub const SPINDLES: u16 = 3;
/// Seven rows, the last of them in part.
pub const BLOCKS: u64 = 6 * 64 + 40;
/// Two rows: nearly every row is read again.
pub const SMALL_CACHE: usize = 2 * (BLOCK_BYTES + 256);

/// What a block was at some time; with nothing kept it was never written.
#[derive(Clone, PartialEq)]
pub struct Version {
    pub bytes: Rc<Vec<u8>>,
    pub block_tag: Option<(BlockTag, u64)>,
}

/// A block's past: all that it may be found as.
#[derive(Clone)]
pub struct Block {
    /// As of the last flush.
    pub safe: Version,
    /// Since then, in order; the last may be under way.
    pub since: Vec<Version>,
    pub under_way: bool,
}

impl Block {
    fn last_done(&self) -> &Version {
        let done = self.since.len() - usize::from(self.under_way);
        self.since[..done].last().unwrap_or(&self.safe)
    }
}

struct Reading {
    spindle: u16,
    first_sector: u64,
    sectors: u64,
    may_be: Vec<Vec<Version>>,
}

struct Writing {
    spindle: u16,
    blocks: std::ops::Range<u64>,
}

/// What a test does with the outcome of a read of a block: the first sector's offset in the block, and the bytes.
pub type Judge = dyn Fn(&BlockState, &[Version], &Block, usize, &[u8]);

pub struct Rig {
    pub store: Store,
    pub devices: SimulatedDevices,
    /// Rows of a zone; 0 for an array without an initialization map.
    pub zone_rows: u64,
    pub rng: Rng,
    pub blocks: Vec<Vec<Block>>,
    reading: HashMap<Token, Reading>,
    writing: HashMap<Token, Writing>,
    /// For each flush, how many versions of each block were done when it was asked for.
    flushing: HashMap<Token, Vec<Vec<usize>>>,
    next_token: u64,
    pub judge: Box<Judge>,
    pub failed_writes: u64,
}

/// A good device has each block as it was when it was asked or became while it was.
pub fn strict(state: &BlockState, may_be: &[Version], _: &Block, offset: usize, bytes: &[u8]) {
    assert!(!state.is_bad(), "bad: {state:?}");
    let fits = may_be.iter().any(|version| fits(state, version, offset, bytes));
    assert!(fits, "{state:?} is none of {} versions", may_be.len());
}

pub fn fits(state: &BlockState, version: &Version, offset: usize, bytes: &[u8]) -> bool {
    let block_tag = match state {
        BlockState::Good { block_tag, consistency_point, crc } => {
            assert!(bytes.len() < BLOCK_BYTES || *crc == crc32c::crc32c(bytes));
            Some((*block_tag, *consistency_point))
        }
        _ => None,
    };
    block_tag == version.block_tag && bytes == &version.bytes[offset..offset + bytes.len()]
}

/// The store of an array on `devices`, with as much of the initialization map as is on them.
pub fn open(devices: &SimulatedDevices, zone_rows: u64, cache: usize) -> Store {
    let store = Store::new(TAG, SPINDLES, cache);
    if zone_rows == 0 {
        return store;
    }
    let mut array = [0; 16];
    array[..8].copy_from_slice(&TAG.0);
    let array = Identity(array);
    let mut slots = Vec::new();
    for device in 0..SPINDLES {
        for block in INITIALIZATION_MAP_SLOTS {
            let mut bytes = vec![0; BLOCK_BYTES];
            let read =
                devices.disk(DeviceIndex(device)).read(block * BLOCK_BYTES as u64, &mut bytes);
            slots.extend(read.is_ok().then_some(bytes));
        }
    }
    let map = InitializationMap::union(slots.iter().map(Vec::as_slice), array);
    let rows = BLOCKS.div_ceil(64);
    store.with_initialization_map(
        map.unwrap_or_else(|| InitializationMap::with_zones_of(array, rows, zone_rows)),
    )
}

impl Rig {
    pub fn new(seed: u64) -> Self {
        println!("seed {seed}");
        let size = device_blocks_for(BLOCKS) * BLOCK_BYTES as u64;
        let never = Version { bytes: Rc::new(vec![0; BLOCK_BYTES]), block_tag: None };
        let block = Block { safe: never, since: Vec::new(), under_way: false };
        let mut rng = Rng::new(seed);
        let cache = if rng.one_in(2) { SMALL_CACHE } else { 1 << 20 };
        let devices = SimulatedDevices::zeroed(seed, SPINDLES, size);
        // Two thirds of all arrays are of those that initialize their zones.
        let zone_rows = *rng.pick(&[0, 1, 3]);
        Self {
            store: open(&devices, zone_rows, cache),
            devices,
            zone_rows,
            rng,
            blocks: vec![vec![block; BLOCKS as usize]; usize::from(SPINDLES)],
            reading: HashMap::new(),
            writing: HashMap::new(),
            flushing: HashMap::new(),
            next_token: 0,
            judge: Box::new(strict),
            failed_writes: 0,
        }
    }

    /// A rig of an array without an initialization map: no I/Os but what is asked for.
    pub fn plain(seed: u64) -> Self {
        let mut rig = Self::new(seed);
        rig.zone_rows = 0;
        rig.restart();
        rig
    }

    pub fn token(&mut self) -> Token {
        self.next_token += 1;
        Token(self.next_token)
    }

    pub fn read(&mut self, spindle: u16, first_sector: u64, sectors: u64) {
        let token = self.token();
        let touched = first_sector / 8..(first_sector + sectors).div_ceil(8);
        let may_be = touched.map(|block| {
            let block = &self.blocks[usize::from(spindle)][block as usize];
            let mut may_be = vec![block.last_done().clone()];
            may_be.extend(block.under_way.then(|| block.since.last().unwrap().clone()));
            may_be
        });
        let may_be = may_be.collect();
        self.reading.insert(token, Reading { spindle, first_sector, sectors, may_be });
        self.store.read(token, SpindleIndex(spindle), first_sector, sectors as u32);
    }

    pub fn can_write(&self, spindle: u16, first_sector: u64, sectors: u64) -> bool {
        let mut touched = first_sector / 8..(first_sector + sectors).div_ceil(8);
        touched.all(|block| !self.blocks[usize::from(spindle)][block as usize].under_way)
    }

    pub fn write(&mut self, spindle: u16, first_sector: u64, sectors: u64) {
        assert!(self.can_write(spindle, first_sector, sectors));
        let token = self.token();
        let data = random_bytes(&mut self.rng, sectors as usize * 512);
        let consistency_point = self.rng.below(100);
        let touched = first_sector / 8..(first_sector + sectors).div_ceil(8);
        let mut all_kept = Vec::new();
        for number in touched.clone() {
            let block_tag = match self.rng.below(4) {
                0 => BlockContents::Nothing.into(),
                1 => BlockTag {
                    holds: BlockContents::Parity,
                    redo: self.rng.below(9),
                    stripe_sum: self.rng.one_in(2).then(|| StripeSum(self.rng.below(1 << 40))),
                },
                2 => BlockContents::Metadata(self.rng.below(1 << 32) as u32).into(),
                _ => BlockContents::lun(self.rng.below(1 << 40)).into(),
            };
            all_kept.push(block_tag);
            let block = &mut self.blocks[usize::from(spindle)][number as usize];
            let mut bytes = (*block.last_done().bytes).clone();
            for sector in 0..8 {
                let of_write = (number * 8 + sector).wrapping_sub(first_sector);
                if of_write < sectors {
                    bytes[sector as usize * 512..][..512]
                        .copy_from_slice(&data[of_write as usize * 512..][..512]);
                }
            }
            let version =
                Version { bytes: Rc::new(bytes), block_tag: Some((block_tag, consistency_point)) };
            block.since.push(version.clone());
            block.under_way = true;
            for reading in self.reading.values_mut().filter(|reading| reading.spindle == spindle) {
                let at = number.wrapping_sub(reading.first_sector / 8) as usize;
                if let Some(may_be) = reading.may_be.get_mut(at) {
                    may_be.push(version.clone());
                }
            }
        }
        self.writing.insert(token, Writing { spindle, blocks: touched });
        self.store.write(
            token,
            SpindleIndex(spindle),
            first_sector,
            &[&data],
            &all_kept,
            consistency_point,
        );
    }

    pub fn flush(&mut self) {
        let token = self.token();
        let done = |block: &Block| block.since.len() - usize::from(block.under_way);
        let of_spindle = |blocks: &Vec<Block>| blocks.iter().map(done).collect();
        self.flushing.insert(token, self.blocks.iter().map(of_spindle).collect());
        self.store.flush(token);
    }

    pub fn is_flushing(&self) -> bool {
        !self.flushing.is_empty()
    }

    /// A read or write anywhere, as long as may be.
    pub fn anything(&mut self) {
        let spindle = self.rng.below(u64::from(SPINDLES)) as u16;
        let all = BLOCKS * 8;
        let (first, sectors) = match self.rng.below(4) {
            // A few sectors, whole blocks, whole rows.
            0 => (self.rng.below(all), 1 + self.rng.below(40)),
            1 => (self.rng.below(BLOCKS) * 8, 8),
            2 => (self.rng.below(BLOCKS) * 8, 8 * (1 + self.rng.below(100))),
            _ => (self.rng.below(6) * 512, 512 * (1 + self.rng.below(6))),
        };
        let sectors = sectors.min(all - first);
        if self.rng.one_in(2) {
            self.read(spindle, first, sectors);
        } else if self.can_write(spindle, first, sectors) {
            self.write(spindle, first, sectors);
        }
    }

    /// Gives the devices what they are to do.
    pub fn submit(&mut self) {
        let mut ios = Vec::new();
        self.store.take_ios(&mut ios);
        for io in ios {
            self.devices.submit(io);
        }
    }

    /// One thing is done, any of those under way; false if there is none.
    pub fn step(&mut self) -> bool {
        let under_way: Vec<_> = self.devices.under_way().map(|io| io.id).collect();
        if under_way.is_empty() {
            return false;
        }
        let id = under_way[self.rng.below(under_way.len() as u64) as usize];
        let done = self.devices.complete(id).unwrap();
        self.store.done(done);
        self.collect();
        true
    }

    pub fn run_dry(&mut self) {
        loop {
            self.submit();
            if !self.step() {
                break;
            }
        }
        self.collect();
        assert!(self.reading.is_empty() && self.writing.is_empty() && self.flushing.is_empty());
    }

    pub fn collect(&mut self) {
        let mut finished = Vec::new();
        self.store.take_events(&mut finished);
        for finished in finished {
            match finished {
                StoreEvent::Read { token, result } => self.read_done(token, &result.unwrap()),
                StoreEvent::Write { token, result } => self.write_done(token, result),
                StoreEvent::Flush { token, result } => {
                    result.unwrap();
                    self.flush_done(token);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn read_done(&mut self, token: Token, outcome: &ReadOutcome) {
        let reading = self.reading.remove(&token).unwrap();
        assert_eq!(outcome.bytes.len() as u64, reading.sectors * 512);
        let first = reading.first_sector / 8;
        assert_eq!(outcome.blocks.len(), reading.may_be.len());
        for (at, (state, may_be)) in outcome.blocks.iter().zip(&reading.may_be).enumerate() {
            let number = first + at as u64;
            let from = (number * 8).max(reading.first_sector);
            let to = (number * 8 + 8).min(reading.first_sector + reading.sectors);
            let in_read = |sector: u64| (sector - reading.first_sector) as usize * 512;
            let bytes = &outcome.bytes[in_read(from)..in_read(to)];
            let block = &self.blocks[usize::from(reading.spindle)][number as usize];
            (self.judge)(state, may_be, block, (from - number * 8) as usize * 512, bytes);
        }
    }

    fn write_done(&mut self, token: Token, result: Result<(), SpindleWriteError>) {
        let writing = self.writing.remove(&token).unwrap();
        let refused = matches!(result, Err(SpindleWriteError::BadBlocks { .. }));
        assert!(refused || result.is_ok(), "{result:?}");
        self.failed_writes += u64::from(refused);
        for number in writing.blocks {
            let block = &mut self.blocks[usize::from(writing.spindle)][number as usize];
            block.under_way = false;
            if refused {
                block.since.pop();
            }
        }
    }

    fn flush_done(&mut self, token: Token) {
        let done = self.flushing.remove(&token).unwrap();
        for (blocks, done) in self.blocks.iter_mut().zip(done) {
            for (block, done) in blocks.iter_mut().zip(done).filter(|(_, done)| *done > 0) {
                block.safe = block.since[done - 1].clone();
                block.since.drain(..done);
            }
        }
    }

    /// The power goes: nothing is under way any more, and a new store begins.
    pub fn crash(&mut self) {
        let mut ios = Vec::new();
        self.store.take_ios(&mut ios);
        self.devices.crash();
        self.reading.clear();
        self.writing.clear();
        self.flushing.clear();
        for block in self.blocks.iter_mut().flatten() {
            block.under_way = false;
        }
        self.restart();
    }

    /// A new store on what the devices hold.
    pub fn restart(&mut self) {
        self.store = open(&self.devices, self.zone_rows, SMALL_CACHE);
    }

    pub fn read_everything(&mut self) {
        for spindle in 0..SPINDLES {
            for first in (0..BLOCKS).step_by(100) {
                self.read(spindle, first * 8, (BLOCKS - first).min(100) * 8);
            }
        }
        self.run_dry();
    }

    pub fn size(&self) -> u64 {
        self.devices.size_bytes(DeviceIndex(0))
    }
}

pub fn random_bytes(rng: &mut Rng, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    rng.fill(&mut bytes);
    bytes
}
