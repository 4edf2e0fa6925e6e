//! Any bytes: free space that is told is consistent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::parse_dumpe2fs;

fuzz_target!(|bytes: &[u8]| {
    let Ok(found) = parse_dumpe2fs(&mut &*bytes) else { return };
    assert!(found.block_bytes > 0);
    assert!(found.space.largest_run_blocks <= found.space.free_blocks);
    assert!((0.0..=1.0).contains(&found.space.score));
});
