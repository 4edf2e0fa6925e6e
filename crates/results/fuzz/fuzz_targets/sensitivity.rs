//! Any bytes: sensitivities are read or refused, and what is read is written so that it is read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use strewn_results::Sensitivity;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Sensitivity::from_toml(text, Path::new("fuzz.toml")) {
        Ok(read) => {
            let again = Sensitivity::from_toml(&read.to_toml(), Path::new("again.toml"));
            assert_eq!(again.as_ref(), Ok(&read));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
