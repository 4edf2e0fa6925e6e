//! What a drive gives for contiguous reads, one behind the other, with its own cache off.

use strewn_base::Direction;
use strewn_spindle::{Command, Scheduler, SimulatedSpindle};

use crate::reference::cheetah;

/// MiB a second of reads of `sectors`, each behind the last, with `outstanding` of them at the drive. The next one is
/// submitted when one has completed.
fn contiguous_reads(sectors: u32, outstanding: u64) -> f64 {
    let drive = cheetah();
    let mut spindle = SimulatedSpindle::new(drive, Scheduler::Sptf, 8).unwrap();
    let command = |number: u64| Command {
        direction: Direction::Read,
        lba: number * u64::from(sectors),
        sectors,
    };
    let reads = 64 * 2048 / u64::from(sectors);
    for number in 0..outstanding {
        spindle.submit(0, command(number), number).unwrap();
    }
    let mut end_ns = 0;
    for number in outstanding..reads + outstanding {
        end_ns = spindle.complete().unwrap().at_ns;
        spindle.submit(end_ns, command(number), number).unwrap();
    }
    64.0 / (end_ns as f64 / 1e9)
}

#[test]
fn measure() {
    for kib in [64, 128, 256, 512, 1024, 2048] {
        let rates = [1, 2, 4].map(|outstanding| contiguous_reads(kib * 2, outstanding));
        println!("{kib:5} KiB {rates:.1?}");
    }
}
