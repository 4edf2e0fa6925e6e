//! Devices that are sparse files on a full file system, for a while.

use strewn_live::device::{DeviceIndex, SimulatedDevices};
use strewn_live::engine::{Answer, HostRequest, RequestError, RequestId, TargetId};
use strewn_live::format::MemberState;
use strewn_live::restart::restart_write_anywhere;
use strewn_raid::Parity;

use super::{Array, BLOCK, LUN_BLOCKS, config, fresh_devices, read};

/// A block of the LUN as its round has it.
fn bytes(block: u64, round: u8) -> Vec<u8> {
    (0..BLOCK).map(|at| (block as u8).wrapping_mul(31) ^ (at >> 5) as u8 ^ round).collect()
}

fn write(array: &mut Array, block: u64, round: u8) -> Result<Answer, RequestError> {
    let request = HostRequest::Write { first_sector: block * 8, data: bytes(block, round) };
    array.ask(RequestId(1), TargetId::FIRST_LUN, request)
}

/// Writes block after block, once more and once more, until that is answered with an error. Returns what each block
/// was acknowledged with last.
fn write_until_refused(array: &mut Array, rounds: &mut [u8]) -> (u64, RequestError) {
    for turn in 0u64.. {
        let block = turn * 7 % u64::from(LUN_BLOCKS);
        let round = rounds[block as usize].wrapping_add(1);
        match write(array, block, round) {
            Ok(_) => rounds[block as usize] = round,
            Err(error) => return (block, error),
        }
        assert!(turn < 100_000, "a full device takes everything");
    }
    unreachable!()
}

fn check(array: &mut Array, rounds: &[u8], except: u64) {
    for (block, &round) in (0u64..).zip(rounds) {
        let found = read(array, block * 8, 8);
        let may_be_next = block == except && found == bytes(block, round.wrapping_add(1));
        assert!(found == bytes(block, round) || may_be_next, "block {block}");
    }
}

fn set_full(devices: &mut SimulatedDevices, which: &[u16], full: bool) {
    which.iter().for_each(|&device| devices.set_full(DeviceIndex(device), full));
}

#[test]
fn regression_writes_are_refused_while_there_is_no_space_and_nothing_is_lost() {
    // RAID-DP with 3+2 spindles, then the log.
    let all = [0, 1, 2, 3, 4, 5];
    for which in [&all[..1], &all[5..], &all[..5], &all[..]] {
        for crash in [false, true] {
            let config = config(Parity::RaidDp, 3);
            let (devices, beginning) = fresh_devices(9, &config);
            let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
            let mut rounds = vec![0; LUN_BLOCKS as usize];
            for block in 0..u64::from(LUN_BLOCKS) {
                assert_eq!(write(&mut array, block, 0), Ok(Answer::Done));
            }
            set_full(array.devices_mut(), which, true);
            let (block, error) = write_until_refused(&mut array, &mut rounds);
            assert_eq!(error, RequestError::NoSpace);
            assert_eq!(array.engine().stopped(), None);
            let lacking = array.engine().out_of_space();
            assert!(!lacking.is_empty() && lacking.iter().all(|one| which.contains(&one.0)));
            check(&mut array, &rounds, block);
            // Later ones are refused at once, and are not there.
            let other = (block + 1) % u64::from(LUN_BLOCKS);
            for request in [
                HostRequest::Write { first_sector: other * 8, data: vec![7; BLOCK] },
                HostRequest::Zero(other * 8..other * 8 + 8),
                HostRequest::Unmap(other * 8..other * 8 + 8),
            ] {
                assert_eq!(
                    array.ask(RequestId(3), TargetId::FIRST_LUN, request),
                    Err(RequestError::NoSpace)
                );
            }
            assert_eq!(
                array.ask(RequestId(3), TargetId::FIRST_LUN, HostRequest::Flush),
                Ok(Answer::Done)
            );
            check(&mut array, &rounds, block);
            let names = array.engine().label().names_of(&lacking);
            let error = array.catch_up().unwrap_err();
            assert!(error.contains("space") && error.contains(&names), "{error} names {names}");

            if crash {
                let mut devices = array.into_devices();
                devices.crash();
                set_full(&mut devices, which, false);
                array = restart_write_anywhere(devices, &beginning, &config).unwrap();
            } else {
                set_full(array.devices_mut(), which, false);
                array.clean().unwrap();
                assert_eq!(array.engine().out_of_space(), []);
            }
            check(&mut array, &rounds, block);
            for block in 0..u64::from(LUN_BLOCKS) {
                assert_eq!(write(&mut array, block, 200), Ok(Answer::Done));
            }
            array.shut_down().unwrap();
            let members = &array.engine().label().members;
            assert!(members.iter().all(|member| member.state == MemberState::Present));
            let devices = array.into_devices();
            array = restart_write_anywhere(devices, &beginning, &config).unwrap();
            check(&mut array, &vec![200; LUN_BLOCKS as usize], u64::MAX);
        }
    }
}

#[test]
fn an_array_that_cannot_catch_up_for_lack_of_space_does_not_start_and_says_so() {
    let config = config(Parity::RaidDp, 3);
    let (devices, beginning) = fresh_devices(10, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    for block in 0..100 {
        assert_eq!(write(&mut array, block, 0), Ok(Answer::Done));
    }
    let mut devices = array.into_devices();
    devices.crash();
    set_full(&mut devices, &[2], true);
    let disks = devices.disks();
    let error = restart_write_anywhere(devices, &beginning, &config).err().unwrap();
    assert!(error.to_string().contains("no space"), "{error}");
    let devices = SimulatedDevices::new(11, disks);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    assert!((0..100).all(|block| read(&mut array, block * 8, 8) == bytes(block, 0)));
}
