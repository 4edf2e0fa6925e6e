//! A loss of power takes what was not made safe, and nothing else.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use strewn_live::device::simulated::{CrashCounts, Latency};
use strewn_live::device::{BLOCK_BYTES, Buffer, DeviceIndex, Devices, Io, IoCompletion, IoRequest};
use strewn_live::device::{SimulatedDevices, SimulatedDisk};

use super::support::*;

const DEVICES: u16 = 2;
const BLOCKS: u64 = 12;
const SECTOR: usize = strewn_base::SECTOR_BYTES as usize;
const SECTORS: usize = BLOCKS as usize * BLOCK_BYTES / SECTOR;

#[derive(Debug, Clone)]
enum Act {
    Write { device: u16, block: u64, blocks: usize, durable: bool },
    Read { device: u16, block: u64, blocks: usize },
    Flush { device: u16 },
    Step,
    CompleteOne { which: usize },
    Crash,
    LoseDevice { device: u16 },
}

fn acts() -> impl Strategy<Value = Act> {
    let extent = || (0..BLOCKS).prop_flat_map(|block| (Just(block), 1..=(BLOCKS - block).min(4)));
    prop_oneof![
        8 => (0..DEVICES, extent(), prop::bool::weighted(0.3)).prop_map(
            |(device, (block, blocks), durable)| Act::Write { device, block, blocks: blocks as usize, durable }),
        3 => (0..DEVICES, extent()).prop_map(
            |(device, (block, blocks))| Act::Read { device, block, blocks: blocks as usize }),
        2 => (0..DEVICES).prop_map(|device| Act::Flush { device }),
        8 => Just(Act::Step),
        3 => any::<usize>().prop_map(|which| Act::CompleteOne { which }),
        1 => Just(Act::Crash),
        1 => (0..DEVICES).prop_map(|device| Act::LoseDevice { device }),
    ]
}

/// Which writes a sector may hold, each by the number of its operation; 0 is what was there at first.
#[derive(Debug, Clone, Default)]
struct Sector {
    safe: u64,
    // Done since, oldest first: when, and which.
    later: Vec<(u64, u64)>,
}

struct Shadow {
    sectors: Vec<Vec<Sector>>,
    done: u64,
    // What was asked for and is not done: its extent in sectors, and for a flush what was done before it.
    under_way: HashMap<u64, Asked>,
}

enum Asked {
    Write { device: u16, sectors: std::ops::Range<usize>, durable: bool },
    Read { device: u16, first: usize },
    Flush { device: u16, done: u64 },
}

impl Shadow {
    fn new() -> Self {
        let sectors = vec![vec![Sector::default(); SECTORS]; usize::from(DEVICES)];
        Self { sectors, done: 0, under_way: HashMap::new() }
    }

    fn done(&mut self, done: &IoCompletion) {
        let id = done.id.0;
        assert_eq!(done.result, Ok(()));
        self.done += 1;
        match self.under_way.remove(&id).expect("asked for once, done once") {
            Asked::Write { device, sectors, durable } => {
                for sector in &mut self.sectors[usize::from(device)][sectors] {
                    if durable {
                        *sector = Sector { safe: id, later: Vec::new() };
                    } else {
                        sector.later.push((self.done, id));
                    }
                }
            }
            Asked::Read { device, first } => {
                for (index, bytes) in done.buffer.bytes().chunks_exact(SECTOR).enumerate() {
                    let sector = &self.sectors[usize::from(device)][first + index];
                    let last = sector.later.last().map_or(sector.safe, |later| later.1);
                    assert_eq!(value(bytes), last, "sector {} as last written", first + index);
                }
            }
            Asked::Flush { device, done } => {
                for sector in &mut self.sectors[usize::from(device)] {
                    while sector.later.first().is_some_and(|later| later.0 <= done) {
                        sector.safe = sector.later.remove(0).1;
                    }
                }
            }
        }
    }

    /// Holds what is found against what may be there, and takes it for what is safe from here on.
    fn power_lost(&mut self, device: u16, disk: &SimulatedDisk) {
        let mut bytes = vec![0; BLOCKS as usize * BLOCK_BYTES];
        disk.read(0, &mut bytes).unwrap();
        assert_eq!(disk.pending_writes(), 0);
        for (index, bytes) in bytes.chunks_exact(SECTOR).enumerate() {
            let sector = &mut self.sectors[usize::from(device)][index];
            let mut allowed: BTreeSet<u64> = sector.later.iter().map(|later| later.1).collect();
            allowed.insert(sector.safe);
            allowed.extend(self.under_way.iter().filter_map(|(id, asked)| match asked {
                Asked::Write { device: of, sectors, .. } => {
                    (*of == device && sectors.contains(&index)).then_some(*id)
                }
                _ => None,
            }));
            let found = value(bytes);
            assert!(allowed.contains(&found), "sector {index} holds {found}, not of {allowed:?}");
            *sector = Sector { safe: found, later: Vec::new() };
        }
    }
}

/// Which write a sector is of; it is of one alone.
fn value(sector: &[u8]) -> u64 {
    let (words, _) = sector.as_chunks::<8>();
    assert!(words.iter().all(|word| word == &words[0]), "a sector is whole");
    u64::from_le_bytes(words[0])
}

fn of_write(id: u64, blocks: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(blocks);
    for word in buffer.bytes_mut().as_chunks_mut::<8>().0 {
        *word = id.to_le_bytes();
    }
    buffer
}

fn run(seed: u64, acts: &[Act]) -> (Vec<SimulatedDisk>, CrashCounts, u64) {
    let mut devices = SimulatedDevices::zeroed(seed, DEVICES, BLOCKS * BLOCK);
    devices.set_latency(DeviceIndex(0), Latency::ANY_ORDER);
    let mut shadow = Shadow::new();
    let mut counts = CrashCounts::default();
    for (id, act) in (1..).zip(acts) {
        let first = |block: u64| block as usize * (BLOCK_BYTES / SECTOR);
        let mut submit = |asked: Asked, to: Io| {
            shadow.under_way.insert(id, asked);
            devices.submit(to);
        };
        match *act {
            Act::Write { device, block, blocks, durable } => {
                let sectors = first(block)..first(block + blocks as u64);
                let from = of_write(id, blocks);
                let request = IoRequest::Write { offset: block * BLOCK, from, durable };
                submit(Asked::Write { device, sectors, durable }, io(id, device, request));
            }
            Act::Read { device, block, blocks } => {
                let asked = Asked::Read { device, first: first(block) };
                submit(asked, io(id, device, read(block, blocks)));
            }
            Act::Flush { device } => {
                let done = shadow.done;
                submit(Asked::Flush { device, done }, io(id, device, IoRequest::Flush));
            }
            Act::Step => devices.step().iter().for_each(|done| shadow.done(done)),
            Act::CompleteOne { which } => {
                let ids: Vec<_> = devices.under_way().map(|io| io.id).collect();
                if !ids.is_empty() {
                    shadow.done(&devices.complete(ids[which % ids.len()]).unwrap());
                }
            }
            Act::Crash => {
                counts += devices.crash();
                for device in 0..DEVICES {
                    shadow.power_lost(device, devices.disk(DeviceIndex(device)));
                }
                shadow.under_way.clear();
                assert!(devices.step().is_none(), "what was under way is gone");
            }
            Act::LoseDevice { device } => {
                devices.lose_device(DeviceIndex(device), "pulled out");
                let disk = devices.disk(DeviceIndex(device)).clone();
                shadow.power_lost(device, &disk);
                // It is put back. What was asked of it before comes back as gone, and does nothing.
                devices.replace(DeviceIndex(device), disk);
                let at_it: Vec<_> = devices
                    .under_way()
                    .filter(|io| io.device.0 == device)
                    .map(|io| io.id)
                    .collect();
                for id in at_it {
                    assert!(devices.complete(id).unwrap().result.is_err());
                    shadow.under_way.remove(&id.0);
                }
            }
        }
    }
    while let Some(done) = devices.step() {
        shadow.done(&done);
    }
    assert!(shadow.under_way.is_empty(), "everything comes back");
    counts += devices.crash();
    for device in 0..DEVICES {
        shadow.power_lost(device, devices.disk(DeviceIndex(device)));
    }
    (devices.disks(), counts, devices.now_ns())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(strewn_testing::cases(500, 2_000)))]

    #[test]
    fn every_sector_is_safe_or_newer(seed: u64, acts in prop::collection::vec(acts(), 0..120)) {
        run(seed, &acts);
    }

    #[test]
    fn the_same_seed_ends_the_same(seed: u64, acts in prop::collection::vec(acts(), 0..60)) {
        let (one, other) = (run(seed, &acts), run(seed, &acts));
        prop_assert_eq!(bytes(&one.0), bytes(&other.0));
        prop_assert_eq!((one.1, one.2), (other.1, other.2));
    }
}

fn bytes(disks: &[SimulatedDisk]) -> Vec<u8> {
    let mut bytes = vec![0; disks.len() * BLOCKS as usize * BLOCK_BYTES];
    for (disk, bytes) in disks.iter().zip(bytes.chunks_exact_mut(BLOCKS as usize * BLOCK_BYTES)) {
        disk.read(0, bytes).unwrap();
    }
    bytes
}

/// What may happen does, over enough seeds: nobody is safe by luck.
#[test]
fn every_fate_of_two_writes_is_met() {
    let mut fates = BTreeSet::new();
    let mut holes = 0;
    for seed in 0..400 {
        let mut devices = SimulatedDevices::zeroed(seed, 1, BLOCKS * BLOCK);
        assert_eq!(ask(&mut devices, 0, write(0, filled(2, 1))).result, Ok(()));
        // This one lies over the first block of the other, and is still under way.
        devices.submit(io(1, 0, write(0, filled(1, 2))));
        devices.crash();
        let mut found = vec![0; 2 * BLOCK_BYTES];
        devices.disk(DeviceIndex(0)).read(0, &mut found).unwrap();
        fates.insert((found[0], found[BLOCK_BYTES]));
        let written: Vec<bool> = found.chunks_exact(SECTOR).map(|sector| sector[0] > 0).collect();
        // Neither a beginning nor an end of it.
        holes += u32::from(written.windows(2).filter(|pair| pair[0] != pair[1]).count() > 1);
    }
    let all: BTreeSet<(u8, u8)> = (0..=2).flat_map(|first| [(first, 0), (first, 1)]).collect();
    assert_eq!(fates, all);
    assert!(holes > 20, "{holes} of 400 torn in the middle");
}

#[test]
fn what_was_flushed_or_durable_stays() {
    for seed in 0..200 {
        let mut devices = SimulatedDevices::zeroed(seed, 1, BLOCKS * BLOCK);
        ask(&mut devices, 0, write(0, filled(4, 1)));
        ask(&mut devices, 0, IoRequest::Flush);
        ask(&mut devices, 0, write(4, filled(2, 2)));
        // Over a write that is not safe, which must not come to lie over it again.
        ask(&mut devices, 0, write_durably(5, filled(2, 3)));
        assert_eq!(devices.disk(DeviceIndex(0)).pending_writes(), 1);
        devices.crash();
        let done = ask(&mut devices, 0, read(0, 7));
        let found = first_bytes(&done.buffer);
        assert_eq!((&found[..4], &found[5..]), (&[1; 4][..], &[3; 2][..]), "seed {seed}");
    }
}

/// A flush promises nothing of what was done after it was asked for.
#[test]
fn a_write_done_during_a_flush_may_be_lost() {
    let mut lost = 0;
    for seed in 0..100 {
        let mut devices = SimulatedDevices::zeroed(seed, 1, BLOCKS * BLOCK);
        devices.submit(io(1, 0, IoRequest::Flush));
        devices.submit(io(2, 0, write(0, filled(1, 1))));
        for id in [2, 1] {
            let id = strewn_live::device::IoId(id);
            assert_eq!(devices.complete(id).unwrap().result, Ok(()));
        }
        devices.crash();
        lost += u32::from(ask(&mut devices, 0, read(0, 1)).buffer.bytes()[0] == 0);
    }
    assert!((20..100).contains(&lost), "{lost} of 100 lost");
}
