//! Any bytes: free space that is told is consistent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::parse_xfs_free_extents;

fuzz_target!(|bytes: &[u8]| {
    let Ok(space) = parse_xfs_free_extents(&mut &*bytes) else { return };
    assert!(space.largest_run_blocks <= space.free_blocks);
    assert!((0.0..=1.0).contains(&space.score));
});
