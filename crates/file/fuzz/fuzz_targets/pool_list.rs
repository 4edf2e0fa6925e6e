//! Any text as a list of a pool's free space: what is told is consistent, and a file fits into it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{parse_pool_list, parse_zpool_list, saved_text};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = saved_text(bytes) else { return };
    let _ = parse_zpool_list("fuzz", &text);
    let Ok(pool) = parse_pool_list("fuzz", &text) else { return };
    assert!((0.0..=1.0).contains(&pool.score));
    for extent in pool.next_file(1 << 20, 1).into_iter().flatten() {
        assert!(extent.bytes > 0);
    }
});
