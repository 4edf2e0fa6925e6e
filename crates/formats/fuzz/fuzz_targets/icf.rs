//! Any bytes: a configuration that is read and can be written reads back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_formats::iometer::Configuration;

fuzz_target!(|bytes: &[u8]| {
    let Ok(configuration) = Configuration::read(bytes, Some("fuzz")) else { return };
    let _ = (configuration.features(), configuration.unknown_assignments());
    let Ok(text) = configuration.to_icf() else { return };
    let again = Configuration::parse(&text, "again").expect("what was written is read");
    assert_eq!(again.access_specifications, configuration.access_specifications);
    assert_eq!(again.test_setup, configuration.test_setup);
    assert_eq!(again.to_icf().expect("it was written before"), text);
});
