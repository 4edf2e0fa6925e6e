//! Any text: a profile that loads makes a drive, and the drive serves commands all over it.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use strewn_spindle::{Command, Drive, Direction, Profile, Scheduler, SimulatedSpindle};

fuzz_target!(|text: &str| {
    let Ok(profile) = Profile::from_toml(text, "fuzz") else { return };
    let drive = Arc::new(Drive::new(&profile).expect("a profile that loads is valid"));
    let last = drive.capacity_sectors() - 1;
    let new = match profile.cache {
        Some(_) => SimulatedSpindle::with_cache,
        None => SimulatedSpindle::new,
    };
    let mut spindle = new(Arc::clone(&drive), Scheduler::Sptf, 4).expect("4 is a depth");
    for (number, lba) in [0, last, last / 2, last / 3, last, 0].into_iter().enumerate() {
        drive.locate(lba);
        let sectors = (last + 1 - lba).min(1000) as u32;
        let direction = if number % 2 == 0 { Direction::Read } else { Direction::Write };
        spindle.submit(0, Command { lba, sectors, direction }, ()).expect("it is on the drive");
    }
    for _ in 0..6 {
        assert!(spindle.complete().is_some());
    }
});
