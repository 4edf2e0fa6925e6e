//! Any bytes: published figures are read or refused.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use strewn_results::Published;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = Published::from_toml(text, Path::new("fuzz.toml")) {
        assert!(!error.to_string().is_empty());
    }
});
