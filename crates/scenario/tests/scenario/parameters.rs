//! Calibration's use of parameters: reading, setting and recording them; and scaling down.

use crate::common::{GOOD, NAME, good};
use strewn_scenario::{
    ArrayParameter, ParameterError, ParameterUnit, RecordFittedError, Scenario, record_fitted,
};

#[test]
fn parameters_are_read_and_set_in_base_units() {
    let mut scenario = good();
    let host = "processor.host_operation";
    let read = scenario.parameter("anywhere", host);
    assert_eq!(read, Ok((76_000.0, ParameterUnit::Nanoseconds)));
    scenario.set_parameter("anywhere", host, 80_123.4).unwrap();
    assert_eq!(scenario.arrays[0].processor.host_operation_ns, 80_123.0);
    assert_eq!(scenario.arrays[1].processor.host_operation_ns, 20_000.0);

    scenario.set_parameter("inplace", "commands_per_spindle", 12.4).unwrap();
    assert_eq!(scenario.arrays[1].commands_per_spindle, 12);
    scenario.set_parameter("inplace", "in_place.destages_per_spindle", 3.25).unwrap();
    let read = scenario.parameter("inplace", "in_place.destages_per_spindle");
    assert_eq!(read, Ok((3.25, ParameterUnit::Number)));
}

/// Every name listed can be read, set, and recorded.
#[test]
fn every_parameter_listed_is_one() {
    let scenario = good();
    for array in &scenario.arrays {
        let parameters = array.parameters();
        assert!(parameters.len() >= 7);
        for ArrayParameter { name: parameter, is_optional, .. } in &parameters {
            let (value, unit) = scenario.parameter(&array.name, parameter).unwrap();
            let other = if unit == ParameterUnit::Percent { 42.5 } else { value + 1.0 };
            let mut changed = scenario.clone();
            changed.set_parameter(&array.name, parameter, other).unwrap();
            assert_eq!(changed.parameter(&array.name, parameter), Ok((other, unit)));
            assert_ne!(changed, scenario, "{parameter}");

            if *is_optional {
                // What a scenario does not give is not recorded in it.
                assert!(record_fitted(GOOD, &array.name, parameter, other).is_err());
                continue;
            }
            let recorded = record_fitted(GOOD, &array.name, parameter, other).unwrap();
            assert_eq!(Scenario::parse(&recorded, NAME).unwrap(), changed, "{parameter}");
        }
    }
}

#[test]
fn what_cannot_be_set_is_refused() {
    let mut scenario = good();
    let mut refused = |array: &str, parameter: &str, value: f64| {
        let before = scenario.clone();
        let error = scenario.set_parameter(array, parameter, value).unwrap_err();
        assert_eq!(scenario, before);
        error
    };
    assert!(matches!(
        refused("nowhere", "commands_per_spindle", 1.0),
        ParameterError::UnknownArray { known, .. } if known.contains("`anywhere`, `inplace`")
    ));
    assert!(matches!(
        refused("anywhere", "in_place.write_cache", 1.0),
        ParameterError::UnknownParameter { known, .. } if known.contains("processor.per_kib")
    ));
    for (parameter, value) in [
        ("processor.per_kib", -1.0),
        ("processor.per_kib", f64::NAN),
        ("processor.per_kib", f64::INFINITY),
        ("commands_per_spindle", 0.2),
        ("commands_per_spindle", 1e12),
        ("write_anywhere.dirty_limit_percent", 100.1),
    ] {
        let error = refused("anywhere", parameter, value);
        assert!(matches!(error, ParameterError::OutOfRange { .. }), "{parameter} {value}");
        let error = record_fitted(GOOD, "anywhere", parameter, value).unwrap_err();
        assert!(matches!(error, RecordFittedError::OutOfRange { .. }), "{parameter} {value}");
    }
}

#[test]
fn recording_keeps_every_other_byte() {
    let windows = GOOD.replace('\n', "\r\n");
    let cases = [
        ("anywhere", "processor.host_operation", 80_250.0, "\"76 us\"", "\"80.25 us\""),
        ("anywhere", "processor.spindle_command", 98_765.0, "\"0.11 ms\"", "\"0.098765 ms\""),
        ("anywhere", "processor.per_kib", 512.0, "\"500 ns\"", "\"512 ns\""),
        ("anywhere", "commands_per_spindle", 9.0, "spindle = 8 ", "spindle = 9 "),
        ("inplace", "in_place.destages_per_spindle", 4.75, "spindle = 4.0", "spindle = 4.75"),
        ("inplace", "in_place.destages_per_spindle", 5.0, "spindle = 4.0", "spindle = 5.0"),
        ("inplace", "in_place.write_cache", 268_435_456.0, "\"512 MiB\"", "\"256 MiB\""),
    ];
    let marked = format!("\u{feff}{GOOD}");
    for text in [GOOD, &windows, &marked] {
        for (array, parameter, value, from, to) in cases {
            let expected = text.replacen(from, to, 1);
            assert_ne!(expected, text);
            let recorded = record_fitted(text, array, parameter, value).unwrap();
            assert_eq!(recorded, expected, "{parameter}");
        }
    }
}

#[test]
fn recording_finds_values_however_they_are_written() {
    let text = "array = [ { name = 'a', processor.per_kib = '1 us' }, # one\n\
                { name = 'b', \"processor\" = { per_kib = '2us' } } ]";
    let recorded = record_fitted(text, "b", "processor.per_kib", 2500.0).unwrap();
    assert_eq!(recorded, text.replace("'2us'", "\"2.5us\""));
    let recorded = record_fitted(text, "a", "processor.per_kib", 0.0).unwrap();
    assert_eq!(recorded, text.replace("'1 us'", "\"0 us\""));
}

#[test]
fn recording_what_is_not_there() {
    let unknown = |array, parameter| record_fitted(GOOD, array, parameter, 1.0).unwrap_err();
    assert_eq!(
        unknown("nowhere", "commands_per_spindle"),
        RecordFittedError::UnknownArray("nowhere".to_owned())
    );
    for parameter in ["in_place.write_cache", "processor", "processor.", ".", "", "name"] {
        assert!(
            matches!(unknown("anywhere", parameter), RecordFittedError::UnknownParameter { .. }),
            "{parameter:?}"
        );
    }
    let error = record_fitted("= 3", "anywhere", "commands_per_spindle", 1.0).unwrap_err();
    assert!(matches!(error, RecordFittedError::NotToml(_)));
}

#[test]
fn scaled_down_keeps_what_rates_depend_on() {
    let full = good();
    let (scaled, changes) = full.scaled_down(16);
    assert_eq!(scaled.spindle_stretch, 16);
    assert_eq!(scaled.segment_ns, 75_000_000_000);
    assert_eq!(scaled.workloads[0].file_bytes, (100 << 30) / 16);
    assert_eq!(scaled.arrays[0].luns[0].bytes, 62_500_000_000 / 4096 * 4096);
    let layout = scaled.arrays[0].layout.write_anywhere().unwrap();
    assert_eq!(layout.log_half_bytes, 16 << 20);
    assert_eq!(layout.checkpoint_interval_ns, 2_500_000_000);
    assert_eq!(layout.buffer_cache_bytes % 4096, 0);
    assert_eq!(layout.area_stripes, 4096);
    let layout = scaled.arrays[1].layout.in_place().unwrap();
    assert_eq!(layout.write_cache_bytes, 128 << 20);
    assert_eq!(scaled.arrays[0].outstanding, 150);
    assert_eq!(
        changes,
        [
            "file 100 GiB -> 6.25 GiB",
            "segment 20 min -> 75 s",
            "LUN of anywhere 1 TB -> 58.2 GiB",
            "buffer cache of anywhere 1.3 GiB -> 83.2 MiB",
            "log half of anywhere 64 MiB -> 16 MiB",
            "checkpoint interval of anywhere 10 s -> 2.5 s",
            "LUN of inplace 500 GB -> 29.1 GiB",
            "read cache of inplace 2 GiB -> 128 MiB",
            "write cache of inplace 512 MiB -> 128 MiB",
            "blocks of a spindle 16 times as far apart, so that seeks keep their lengths",
        ]
    );
    assert_eq!(scaled.scaled_down(2).0.spindle_stretch, 32);
    // The whole part of the square root of 3 is 1: what is divided by it stays, and is no change.
    let (scaled, changes) = full.scaled_down(3);
    let layout = scaled.arrays[1].layout.in_place().unwrap();
    assert_eq!(layout.write_cache_bytes, 512 << 20);
    for stays in ["log half", "checkpoint interval", "write cache"] {
        assert!(!changes.iter().any(|change| change.starts_with(stays)), "{changes:?}");
    }
    assert!(changes.iter().any(|change| change.starts_with("file 100 GiB -> ")), "{changes:?}");
    assert_eq!(full.scaled_down(1), (full.clone(), Vec::new()));
    assert_eq!(full.scaled_down(0), (full.clone(), Vec::new()));
}

#[test]
fn nothing_scales_to_zero() {
    let (scaled, _) = good().scaled_down(u32::MAX);
    assert!(scaled.workloads[0].file_bytes >= 4096);
    assert!(scaled.segment_ns > 0);
    let layout = scaled.arrays[0].layout.write_anywhere().unwrap();
    assert!(layout.log_half_bytes >= 4096 && layout.checkpoint_interval_ns > 0);
}
