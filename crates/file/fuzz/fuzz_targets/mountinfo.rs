//! Any text: mounts that are told have a mount point, by which a path is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{mount_of_path, parse_mountinfo};

fuzz_target!(|text: &str| {
    let Ok(mounts) = parse_mountinfo(text) else { return };
    assert!(mounts.len() <= text.lines().count());
    for mount in &mounts {
        if mount.mount_point.starts_with('/') && !mount.mount_point.ends_with('/') {
            let file = format!("{}/file", mount.mount_point);
            let found = mount_of_path(&mounts, &file).expect("it is below this one at least");
            assert!(found.mount_point.len() >= mount.mount_point.len());
        }
    }
});
