//! Any bytes as the output of `zdb -ddddd`, with and without the vdevs of a pool, which come before the first NUL.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{ExtentListReader, PoolLayout};

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    let pool = PoolLayout::read(first, "fuzz").ok();
    let mut list = ExtentListReader::zdb(second.unwrap_or(first), "fuzz", pool);
    while let Ok(Some(_)) = list.next_file() {
        let mut end = 0;
        for extent in list.extents() {
            let Ok(extent) = extent else { return };
            assert!(extent.offset >= end && extent.bytes > 0);
            end = extent.offset.checked_add(extent.bytes).expect("the end is within 2^64");
        }
    }
});
