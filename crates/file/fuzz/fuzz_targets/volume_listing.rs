//! Any text as LVM's listing of volumes: extents are in order and do not overlap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{VolumeListing, listed_device, saved_text};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = saved_text(bytes) else { return };
    let Ok(listing) = VolumeListing::parse("fuzz", &text) else { return };
    for path in listing.paths() {
        for volume in listing.volume(&path, &listed_device).into_iter().flatten() {
            let mut end = 0;
            for extent in &volume.extents {
                assert!(extent.offset >= end && extent.bytes > 0);
                end = extent.end();
            }
        }
    }
});
