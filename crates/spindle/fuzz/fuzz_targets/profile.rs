//! Any text: a profile that loads makes a drive, and the drive finds its first and last sector.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_spindle::{Drive, Profile};

fuzz_target!(|text: &str| {
    if let Ok(profile) = Profile::from_toml(text, "fuzz") {
        let drive = Drive::new(&profile).expect("a profile that loads is valid");
        drive.locate(0);
        drive.locate(drive.capacity_sectors() - 1);
    }
});
