//! Any bytes: a text is a scenario or has problems, each with a place in the text and a help.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_scenario::Scenario;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Scenario::parse(text, "fuzz.toml") {
        Ok(scenario) => {
            let _ = scenario.scaled_down(8);
        }
        Err(error) => {
            for problem in error.problems() {
                assert!(problem.line() >= 1 && problem.column() >= 1);
                assert!(!problem.help().is_empty());
                assert!(text.get(problem.span()).is_some());
            }
            assert_eq!(error.source_text(), Some(text));
        }
    }
});
