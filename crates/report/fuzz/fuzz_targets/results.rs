//! Any bytes: results that are read can be shown, and are written the same once more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_report::{Report, all_tables, write_segments_csv};
use strewn_results::Results;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(results) = Results::from_json(text) else { return };
    let _ = all_tables(&results);
    write_segments_csv(&results, &[], Vec::new()).expect("memory takes everything");
    let _ = Report { results: &results, map: None, scenario: None }.to_html();
    let Ok(written) = results.to_json_string() else { return };
    let again = Results::from_json(&written).expect("what was written is read");
    assert_eq!(again, results);
});
