//! Any bytes: a map that is read is written the same once more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_results::LayoutMap;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(map) = LayoutMap::from_json(text) else { return };
    let written = map.to_json_string().expect("it was read");
    let again = LayoutMap::from_json(&written).expect("what was written is read");
    assert_eq!(again.to_json_string().expect("it was written before"), written);
});
