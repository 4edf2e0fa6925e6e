//! What a pool would trim, counted.

use strewn_array::{Array, Counters, Direction};
use strewn_base::Rng;
use strewn_raid::SpindleIndex;

use crate::machine::{Machine, SECTORS_A_BLOCK, raid_z2};

const MIB: u64 = 1 << 20;
const VOLUME: u64 = 128 * MIB;

/// Overwrites a filled volume at random, 64 blocks in a transaction group, after a drive has failed or none.
fn overwritten(autotrim: bool, failed: Option<u16>) -> (Counters, u64) {
    let mut config = raid_z2(VOLUME);
    config.volumes[0].filled_bytes = VOLUME;
    config.dirty_limit_bytes = 16 * MIB;
    config.autotrim = autotrim;
    let mut machine = Machine::new(config);
    if let Some(drive) = failed {
        let lost = machine.array.spindle_failed(0, SpindleIndex(drive), &mut machine.drives);
        assert_eq!(lost, Ok(()));
    }
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        for _ in 0..64 {
            let block = rng.below(VOLUME / 8_192);
            machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
        }
        machine.run_until(|_| false);
    }
    (*machine.array.counters(), machine.drives.now_ns)
}

#[test]
fn freed_space_is_trimmed_once_and_costs_nothing() {
    let (without, time_without) = overwritten(false, None);
    let (with, time_with) = overwritten(true, None);
    assert_eq!((without.trimmed_ranges, without.trim_skipped_bytes), (0, 0));
    assert_eq!(time_with, time_without);
    // Each block of 8 KiB that is overwritten frees 24 KiB of the drives; metadata as much again.
    let freed = (300 * 64 * 24) << 10;
    let told = with.trimmed_bytes + with.trim_skipped_bytes;
    assert!(told > freed / 4 && told < 3 * freed, "{told} of {freed}");
    // Some of it is scattered in parts of less than 32 KiB of a drive.
    assert!(with.trim_skipped_bytes > told / 10, "{with:?}");
    assert!(with.trimmed_ranges > 10, "{with:?}");
    assert!(with.trimmed_bytes >= (with.trimmed_ranges * 32) << 10, "{with:?}");
    let counts = |counters: Counters| Counters {
        trimmed_ranges: 0,
        trimmed_bytes: 0,
        trim_skipped_bytes: 0,
        ..counters
    };
    assert_eq!(counts(with), without);
}

#[test]
fn a_failed_drive_is_not_trimmed() {
    let (all, _) = overwritten(true, None);
    let (five_of_six, _) = overwritten(true, Some(3));
    let told = |counters: Counters| counters.trimmed_bytes + counters.trim_skipped_bytes;
    let share = told(five_of_six) as f64 / told(all) as f64;
    assert!((0.80..0.87).contains(&share), "{share}");
}
