//! Each fault does what it says, and is in the log.

use std::time::Duration;

use strewn_live::device::simulated::{Fault, FaultRates, Injected, Latency};
use strewn_live::device::{
    BLOCK_BYTES, DeviceIndex, Devices, IoError, IoRequest, SimulatedDevices,
};
use strewn_live::device::{IoId, SimulatedDisk};

use super::support::*;

const DISK: DeviceIndex = DeviceIndex(1);

fn devices() -> SimulatedDevices {
    let mut devices = SimulatedDevices::zeroed(1, 3, 64 * BLOCK);
    let mut bytes = vec![0; 64 * BLOCK_BYTES];
    for (value, block) in (1..).zip(bytes.chunks_exact_mut(BLOCK_BYTES)) {
        block.fill(value);
    }
    devices.disk_mut(DISK).write(0, &bytes);
    devices
}

fn faults(devices: &SimulatedDevices) -> Vec<Fault> {
    assert!(devices.injected().iter().all(|injected| injected.device == DISK));
    devices.injected().iter().map(|injected| injected.fault.clone()).collect()
}

#[test]
fn unreadable_until_written_again() {
    let mut devices = devices();
    devices.make_unreadable(DISK, 2 * BLOCK + 512, 512);
    assert_eq!(faults(&devices), [Fault::Unreadable { offset: 2 * BLOCK + 512, bytes: 512 }]);
    assert_eq!(ask(&mut devices, 1, read(0, 4)).result, Err(IoError::Unreadable));
    assert_eq!(ask(&mut devices, 1, read(0, 2)).result, Ok(()));
    assert_eq!(ask(&mut devices, 1, read(3, 2)).result, Ok(()));
    assert_eq!(ask(&mut devices, 1, write_durably(2, filled(1, 9))).result, Ok(()));
    assert_eq!(first_bytes(&ask(&mut devices, 1, read(0, 4)).buffer), [1, 2, 9, 4]);
}

/// The write that mended a block was in the cache alone.
#[test]
fn unreadable_again_when_what_mended_it_is_lost() {
    let mut still = 0;
    for seed in 0..100 {
        let mut devices = SimulatedDevices::zeroed(seed, 1, 64 * BLOCK);
        devices.make_unreadable(DeviceIndex(0), 0, BLOCK);
        ask(&mut devices, 0, write(0, filled(1, 9)));
        assert_eq!(ask(&mut devices, 0, read(0, 1)).result, Ok(()));
        devices.crash();
        still += u32::from(ask(&mut devices, 0, read(0, 1)).result.is_err());
    }
    assert!((20..100).contains(&still), "{still} of 100");
}

#[test]
fn bits_flip_in_silence() {
    let mut devices = devices();
    devices.corrupt(DISK, 5 * BLOCK + 17, 0x81);
    let done = ask(&mut devices, 1, read(5, 1));
    assert_eq!(done.result, Ok(()));
    let bytes = done.buffer.bytes();
    assert_eq!((bytes[16], bytes[17], bytes[18]), (6, 6 ^ 0x81, 6));
    assert_eq!(faults(&devices), [Fault::Corrupted { offset: 5 * BLOCK + 17, mask: 0x81 }]);
}

#[test]
fn a_misdirected_write_lands_elsewhere() {
    let mut devices = devices();
    devices.misdirect_next_write(DISK);
    assert_eq!(ask(&mut devices, 1, write(3, filled(2, 200))).result, Ok(()));
    let [Fault::Misdirected { offset, bytes, landed_at, .. }] = faults(&devices)[..] else {
        panic!("{:?}", devices.injected());
    };
    assert_eq!((offset, bytes), (3 * BLOCK, 2 * BLOCK));
    assert_ne!(landed_at, offset);
    let mut expected: Vec<u8> = (1..=64).collect();
    let landed = (landed_at / BLOCK) as usize;
    expected[landed..landed + 2].fill(200);
    assert_eq!(first_bytes(&ask(&mut devices, 1, read(0, 64)).buffer), expected);
}

#[test]
fn a_lost_write_is_reported_done() {
    let mut devices = devices();
    devices.lose_next_write(DISK);
    let from = filled(1, 200);
    devices.submit(io(5, 1, write_durably(3, from)));
    assert_eq!(devices.step().unwrap().result, Ok(()));
    assert_eq!(
        faults(&devices),
        [Fault::LostWrite { id: IoId(5), offset: 3 * BLOCK, bytes: BLOCK }]
    );
    assert_eq!(first_bytes(&ask(&mut devices, 1, read(3, 1)).buffer), [4]);
    ask(&mut devices, 1, write(3, filled(1, 200)));
    assert_eq!(first_bytes(&ask(&mut devices, 1, read(3, 1)).buffer), [200]);
}

#[test]
fn a_lost_device_fails_all_until_it_is_replaced() {
    let mut devices = devices();
    devices.submit(io(1, 1, read(0, 1)));
    devices.submit(io(2, 0, read(0, 1)));
    devices.submit(io(3, 1, IoRequest::Flush));
    devices.lose_device(DISK, "pulled out");
    devices.submit(io(4, 1, write(0, filled(2, 1))));
    let mut done = Vec::new();
    devices.wait(Some(Duration::ZERO), &mut done);
    let gone = |why: &str| Err(IoError::Gone(why.to_owned()));
    let got: Vec<_> = done.iter().map(|done| (done.id.0, done.result.clone())).collect();
    assert_eq!(got, [1, 3, 4].map(|id| (id, gone("pulled out"))));
    assert_eq!(done[2].buffer.blocks(), 2, "the buffer comes back");
    assert_eq!(devices.step().unwrap().id, IoId(2));

    devices.submit(io(5, 1, read(0, 1)));
    devices.replace(DISK, SimulatedDisk::zeroed(8 * BLOCK));
    assert_eq!(devices.size_bytes(DISK), 8 * BLOCK);
    assert!(matches!(devices.step().unwrap().result, Err(IoError::Gone(_))));
    assert_eq!(first_bytes(&ask(&mut devices, 1, read(7, 1)).buffer), [0]);
}

#[test]
fn a_closed_device_answers_no_more() {
    let mut devices = devices();
    devices.submit(io(1, 1, write(0, filled(1, 99))));
    devices.close(DISK);
    assert_eq!(devices.step().unwrap().result, Err(IoError::Gone("closed".to_owned())));
    assert!(ask(&mut devices, 1, read(0, 1)).result.is_err());
    let mut found = vec![0; BLOCK_BYTES];
    devices.disk(DISK).read(0, &mut found).unwrap();
    assert_eq!(found[0], 1, "it does not happen later");
    assert_eq!(devices.injected(), []);
}

#[test]
fn a_full_device_refuses_writes_alone() {
    let mut devices = devices();
    devices.set_full(DISK, true);
    assert_eq!(ask(&mut devices, 1, write(0, filled(1, 9))).result, Err(IoError::NoSpace));
    assert_eq!(first_bytes(&ask(&mut devices, 1, read(0, 1)).buffer), [1]);
    assert_eq!(ask(&mut devices, 1, IoRequest::Flush).result, Ok(()));
    devices.set_full(DISK, false);
    assert_eq!(ask(&mut devices, 1, write(0, filled(1, 9))).result, Ok(()));
    assert_eq!(faults(&devices), [Fault::Full(true), Fault::Full(false)]);
}

#[test]
fn a_slow_device_takes_its_time() {
    let total_ns = |factor| {
        let mut devices = devices();
        devices.set_slow(DISK, factor);
        (0..200).for_each(|_| drop(ask(&mut devices, 1, read(0, 1))));
        devices.now_ns()
    };
    let (usual, slow) = (total_ns(1), total_ns(50));
    assert_eq!(usual * 50, slow, "the same draws, fifty times as long");
    assert!((1_200_000_000..4_000_000_000).contains(&usual), "{usual} ns for 200 reads");
}

#[test]
fn faults_come_at_their_rates_and_again_from_the_seed() {
    let run = |seed| {
        let mut devices = SimulatedDevices::zeroed(seed, 1, 4096 * BLOCK);
        devices.set_latency(DeviceIndex(0), Latency::ANY_ORDER);
        let rates = FaultRates {
            unreadable_per_million: 10_000,
            corrupted_per_million: 20_000,
            misdirected_per_million: 30_000,
            lost_per_million: 40_000,
            ..FaultRates::default()
        };
        devices.set_fault_rates(DeviceIndex(0), rates);
        let mut order = Vec::new();
        for id in 0..10_000 {
            let block = id * 7919 % 4096;
            devices.submit(io(
                id,
                0,
                if id % 2 == 0 { write(block, filled(1, 1)) } else { read(block, 1) },
            ));
            if id % 16 == 15 {
                order.extend((0..16).filter_map(|_| devices.step()).map(|done| done.id));
            }
        }
        (order, devices.injected().to_vec(), devices.now_ns())
    };
    let (order, injected, now_ns) = run(3);
    assert!(order.windows(2).any(|pair| pair[0].0 > pair[1].0), "in another order than asked for");
    assert_eq!((order, injected.clone(), now_ns), run(3), "seed 3 twice");
    assert_ne!(injected, run(4).1);
    let count =
        |is: fn(&Fault) -> bool| injected.iter().filter(|one: &&Injected| is(&one.fault)).count();
    let near = |count: usize, expected: usize| count.abs_diff(expected) < expected / 3;
    assert!(near(count(|fault| matches!(fault, Fault::Unreadable { .. })), 100));
    assert!(near(count(|fault| matches!(fault, Fault::Corrupted { .. })), 200));
    assert!(near(count(|fault| matches!(fault, Fault::Misdirected { .. })), 150));
    assert!(near(count(|fault| matches!(fault, Fault::LostWrite { .. })), 200));
}

#[test]
fn writes_are_lost_several_in_a_row_where_that_is_asked_for() {
    let mut devices = SimulatedDevices::zeroed(5, 1, 4096 * BLOCK);
    let rates = FaultRates { lost_per_million: 10_000, lost_in_a_row: 5, ..FaultRates::default() };
    devices.set_fault_rates(DeviceIndex(0), rates);
    let mut rows = Vec::new();
    let mut in_a_row = 0;
    for id in 0..20_000 {
        let before = devices.injected().len();
        devices.submit(io(id, 0, write(id % 4096, filled(1, 1))));
        devices.step();
        match devices.injected().len() > before {
            true => in_a_row += 1,
            false if in_a_row > 0 => rows.push(std::mem::take(&mut in_a_row)),
            false => {}
        }
    }
    let of = |length| rows.iter().filter(|one| **one == length).count();
    assert!((140..260).contains(&rows.len()), "{} rows", rows.len());
    assert!(of(1) > rows.len() / 2, "half of them alone, and a sixth of the others");
    assert!((2..=6).all(|length| of(length) > 5), "{rows:?}");
}

#[test]
fn a_wait_lets_the_time_pass_that_it_took() {
    let mut devices = devices();
    let mut done = Vec::new();
    devices.wait(Some(Duration::from_micros(5)), &mut done);
    assert_eq!((devices.now_ns(), done.len()), (5_000, 0));
    devices.submit(io(1, 1, read(0, 1)));
    let due = devices.next_ns().unwrap();
    devices.wait(Some(Duration::from_nanos(due - 5_001)), &mut done);
    assert_eq!((devices.now_ns(), done.len()), (due - 1, 0));
    devices.waker().wake();
    devices.wait(None, &mut done);
    assert_eq!((devices.now_ns(), done.len()), (due - 1, 0), "it was woken");
    devices.wait(None, &mut done);
    assert_eq!((devices.now_ns(), done.len()), (due, 1));
}

/// A clone and what it was made from go the same way from here on.
#[test]
fn a_clone_goes_on_alike_and_by_itself() {
    let mut devices = devices();
    for id in 0..8 {
        devices.submit(io(id, 1, write(id, filled(1, 100))));
    }
    devices.step();
    let mut clone = devices.clone();
    let rest = |devices: &mut SimulatedDevices| {
        devices.step();
        devices.crash();
        let mut bytes = vec![0; 8 * BLOCK_BYTES];
        devices.disk(DISK).read(0, &mut bytes).unwrap();
        (bytes, devices.now_ns())
    };
    assert_eq!(rest(&mut devices), rest(&mut clone));
    assert_eq!(devices.injected(), clone.injected());
}

#[test]
#[should_panic(expected = "8192 bytes at 258048 of a device of 262144 bytes")]
fn beyond_the_end_is_the_callers_fault() {
    devices().submit(io(1, 1, read(63, 2)));
}
