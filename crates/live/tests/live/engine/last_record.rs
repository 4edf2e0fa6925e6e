//! Damage to the last records of the log, which no later record can tell of.

use std::time::Duration;

use strewn_live::device::DeviceIndex;
use strewn_live::restart::{RestartError, restart_write_anywhere};
use strewn_raid::Parity;

use super::{BLOCK, config, fresh_devices, read, write};

/// The byte that the last write of the test consists of.
const LAST: u8 = 0xa5;

#[test]
fn regression_damage_to_the_last_record_is_known_a_second_later() {
    for waits in [false, true] {
        let config = config(Parity::RaidDp, 3);
        let (devices, beginning) = fresh_devices(12, &config);
        let log = DeviceIndex(config.single_group().spindles());
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        write(&mut array, 0, vec![0; BLOCK]);
        // A half's first record is named before it is acknowledged.
        let first = array.engine().superblock().log_durable;
        for block in 1..20 {
            write(&mut array, block * 8, vec![block as u8; BLOCK]);
        }
        write(&mut array, 160, vec![LAST; BLOCK]);
        let end_ns = array.now_ns() + 1_500_000_000;
        while waits && array.now_ns() < end_ns {
            array.poll(Some(Duration::from_millis(100)));
        }
        let named = array.engine().superblock().log_durable;
        assert_eq!(named, first + if waits { 20 } else { 0 });
        let mut devices = array.into_devices();
        devices.crash();
        let record = (0..)
            .map(|block| block * BLOCK as u64)
            .find(|&at| {
                let mut block = [0; BLOCK];
                devices.disk(log).read(at, &mut block).unwrap();
                block.iter().filter(|byte| **byte == LAST).count() > BLOCK / 2
            })
            .unwrap();
        devices.corrupt(log, record + BLOCK as u64 / 2, 1);
        let started = restart_write_anywhere(devices, &beginning, &config);
        match (waits, started) {
            (true, Err(RestartError::LogBreaksOff(last))) => assert_eq!(last, first + 19),
            // Nothing but the last write is gone.
            (false, Ok(mut array)) => {
                assert!(
                    (0..20).all(|block| read(&mut array, block * 8, 8) == [block as u8; BLOCK])
                );
                assert_eq!(read(&mut array, 160, 8), [0; BLOCK]);
            }
            (_, other) => panic!("{waits}: {:?}", other.map(|_| ()).map_err(|e| e.to_string())),
        }
    }
}
