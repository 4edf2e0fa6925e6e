//! What a drive gives for contiguous reads, one behind the other, with its own cache off.

use strewn_base::Direction;
use strewn_spindle::{Command, Scheduler, SimulatedSpindle};

use crate::reference::cheetah;

/// MiB a second of reads of `kib`, each behind the last, with `outstanding` of them at the drive. The next one arrives
/// `late_us` after one has completed.
fn contiguous_reads(kib: u32, outstanding: u64, late_us: u64) -> f64 {
    let mut spindle = SimulatedSpindle::new(cheetah(), Scheduler::Sptf, 8).unwrap();
    let sectors = 2 * kib;
    let command = |number: u64| Command {
        direction: Direction::Read,
        lba: number * u64::from(sectors),
        sectors,
    };
    let reads = 64 * 1024 / u64::from(kib);
    for number in 0..outstanding {
        spindle.submit(0, command(number), number).unwrap();
    }
    let mut end_ns = 0;
    for number in outstanding..reads + outstanding {
        end_ns = spindle.complete().unwrap().at_ns;
        spindle.submit(end_ns + late_us * 1_000, command(number), number).unwrap();
    }
    64.0 / (end_ns as f64 / 1e9)
}

// The outermost tracks have 600 KiB, a turn of 60 s / 15,020 and then a skew of 0.14167 turns (0.19 at the end of a
// cylinder): 600 KiB in 4.561 ms, 128.5 MiB/s.
const TURN_MS: f64 = 60e3 / 15_020.0;
const MEDIA_MIB_PER_S: f64 = 128.5;

#[test]
fn contiguous_reads_that_are_there_in_time_lose_nothing() {
    for kib in [128, 256, 512, 1_024] {
        for (outstanding, late_us) in [(1, 0), (2, 0), (2, 110), (4, 110)] {
            let rate = contiguous_reads(kib, outstanding, late_us);
            assert!((rate / MEDIA_MIB_PER_S - 1.0).abs() < 0.02, "{kib} KiB: {rate} MiB/s");
        }
    }
}

#[test]
fn a_contiguous_read_that_comes_late_loses_a_turn() {
    for kib in [128, 256, 512, 1_024] {
        let mib = f64::from(kib) / 1024.0;
        let arithmetic = mib / (mib / MEDIA_MIB_PER_S + TURN_MS / 1e3);
        let rate = contiguous_reads(kib, 1, 110);
        println!("{kib:5} KiB: {rate:.1} MiB/s, {arithmetic:.1} by arithmetic");
        assert!((rate / arithmetic - 1.0).abs() < 0.02, "{kib} KiB: {rate} MiB/s");
    }
}
