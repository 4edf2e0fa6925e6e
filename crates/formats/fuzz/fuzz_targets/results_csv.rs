//! Any bytes: results that are read and can be written are written the same once more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_formats::iometer::Results;

fuzz_target!(|bytes: &[u8]| {
    let Ok(all) = Results::read(bytes, Some("fuzz")) else { return };
    let mut text = Vec::new();
    for results in &all {
        if results.write(&mut text).is_err() {
            return;
        }
    }
    let again = Results::read(text.as_slice(), None).expect("what was written is read");
    let mut second = Vec::new();
    for results in &again {
        results.write(&mut second).expect("it was written before");
    }
    assert_eq!(second, text);
});
