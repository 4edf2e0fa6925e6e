//! Any bytes: results that are read are written the same once more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_formats::fio::Output;

fuzz_target!(|bytes: &[u8]| {
    let Ok(output) = serde_json::from_slice::<Output>(bytes) else { return };
    let Ok(text) = output.to_json() else { return };
    let again: Output = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(again.to_json().expect("it was written before"), text);
});
