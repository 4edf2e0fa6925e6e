//! Any stream of commands: each is served once or refused, cache on or off.
//!
//! The first two bytes choose the cache and the scheduler; then every 17 bytes are a command: how
//! long after the one before it arrives, its address, its sectors and its direction.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use strewn_spindle::{Command, Drive, Direction, Profile, Scheduler, SimulatedSpindle};

static DRIVE: LazyLock<Arc<Drive>> = LazyLock::new(|| {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").expect("it ships");
    Arc::new(Drive::new(&profile).expect("it is valid"))
});

const COMMAND_BYTES: usize = 17;

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fuzz_target!(|bytes: &[u8]| {
    let [cache, scheduler, commands @ ..] = bytes else { return };
    let scheduler = match scheduler % 5 {
        0 => Scheduler::Fcfs,
        1 => Scheduler::Sstf,
        2 => Scheduler::CLook,
        3 => Scheduler::Sptf,
        _ => Scheduler::AgedSptf { credit_us_per_ms: u32::from(*scheduler) },
    };
    let new = if cache % 2 == 0 { SimulatedSpindle::new } else { SimulatedSpindle::with_cache };
    let mut spindle = new(Arc::clone(&DRIVE), scheduler, 16).expect("16 is a depth");
    let (mut at_ns, mut accepted, mut completed) = (0_u64, 0, 0);
    for command in commands.chunks_exact(COMMAND_BYTES) {
        at_ns = at_ns.saturating_add(number(&command[..4]));
        while spindle.next_completion_ns() <= at_ns && spindle.complete().is_some() {
            completed += 1;
        }
        let direction = if command[16] % 2 == 0 { Direction::Read } else { Direction::Write };
        let (lba, sectors) = (number(&command[4..12]), number(&command[12..16]) as u32);
        if spindle.submit(at_ns, Command { lba, sectors, direction }, ()).is_ok() {
            accepted += 1;
        }
    }
    while spindle.complete().is_some() {
        completed += 1;
    }
    assert_eq!(accepted, completed);
});
