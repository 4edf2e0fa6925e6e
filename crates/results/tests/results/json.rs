use crate::fixture;
use proptest::prelude::*;
use strewn_results::{Results, ResultsError, rounded};

#[test]
fn what_is_written_is_read_back() {
    let results = fixture::results();
    let text = results.to_json_string().unwrap();
    assert!(text.ends_with("}\n"));
    assert_eq!(Results::from_json(&text).unwrap(), results);
    assert_eq!(Results::from_json(&text).unwrap().to_json_string().unwrap(), text);
}

/// Other programs read the file: its names and their order must not change unnoticed.
#[test]
fn golden_first_segment() {
    let mut results = fixture::results();
    results.arrays.truncate(1);
    results.arrays[0].segments.truncate(1);
    results.arrays[0].parameters.truncate(1);
    results.published.truncate(1);
    results.published[0].segments.truncate(1);
    results.ratios.truncate(1);
    results.overhead.truncate(1);
    let written = results.to_json_string().unwrap();
    let golden = include_str!("golden.json");
    assert_eq!(written, golden, "written:\n{written}");
}

#[test]
fn only_unusual_runs_say_that_they_are_unusual() {
    let mut results = fixture::results();
    let whole = results.to_json_string().unwrap();
    assert!(!whole.contains("\"partial\"") && !whole.contains("\"scaled\""));
    assert!(results.caveats().is_empty());
    results.partial = true;
    results.scaled = Some(strewn_results::Scaled {
        by: 20,
        what: vec!["segment length".to_owned()],
        out_of_proportion: vec!["A: more.".to_owned()],
    });
    let unusual = results.to_json_string().unwrap();
    assert!(unusual.contains("\"partial\": true") && unusual.contains("\"by\": 20"));
    assert_eq!(Results::from_json(&unusual).unwrap(), results);
    let caveats = results.caveats();
    let [scale, stopped, how_near, more] = &caveats[..] else { panic!("{caveats:?}") };
    assert!(scale.contains("1/20") && stopped.contains("stopped"), "{caveats:?}");
    assert!(how_near.contains("of full scale") && more == "A: more.", "{caveats:?}");
}

#[test]
fn refused_writes_are_counted() {
    let mut results = fixture::results();
    assert!(!results.to_json_string().unwrap().contains("\"refused\""));
    let ops: u64 = results.arrays[0].segments.iter().map(|segment| segment.ops).sum();
    results.arrays[0].segments[2].refused = Some(30);
    results.arrays[0].segments[4].refused = Some(ops);
    let json = results.to_json_string().unwrap();
    assert_eq!(Results::from_json(&json).unwrap(), results);
    let sentence = format!(
        "FAS2050 refused {} operations, as a rule for lack of space in segments 3 to 5, 50.0 % of its operations.",
        ops + 30
    );
    assert_eq!(results.caveats(), [&*sentence]);
}

#[test]
fn runs_are_the_same_but_for_wall_time() {
    let one = fixture::results();
    let other = Results { wall_seconds: 99.5, ..one.clone() };
    assert_ne!(one, other);
    assert_eq!(one.without_wall_time(), other.without_wall_time());
}

#[test]
fn figures_that_json_cannot_hold_are_refused() {
    let mut results = fixture::results();
    results.arrays[0].segments[3].iops = f64::NAN;
    assert!(matches!(results.to_json_string(), Err(ResultsError::NotFinite)));
    let mut results = fixture::results();
    results.published[0].predicted_rms_error_percent = Some(f64::INFINITY);
    assert!(matches!(results.to_json_string(), Err(ResultsError::NotFinite)));
}

#[test]
fn another_schema_is_refused_by_its_number() {
    let error = Results::from_json(r#"{ "schema": 7, "anything": [] }"#).unwrap_err();
    assert_eq!(error.to_string(), "results: schema 7 cannot be read, only schema 1");
}

#[test]
fn regression_an_array_that_is_there_twice_is_refused() {
    let mut results = fixture::results();
    results.arrays.push(results.arrays[0].clone());
    let error = Results::from_json(&results.to_json_string().unwrap()).unwrap_err();
    let expected = format!("results hold the array \"{}\" twice", results.arrays[0].name);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn errors_give_the_line() {
    let text = fixture::results().to_json_string().unwrap();
    let text = text.replace("\"host_ops\"", "\"host_opps\"");
    let error = Results::from_json(&text).unwrap_err();
    assert!(matches!(error, ResultsError::Json { line, .. } if line > 1));
    assert!(error.to_string().contains("missing field `host_ops`"), "{error}");
}

#[test]
fn fields_of_a_later_version_are_passed_over() {
    let results = fixture::results();
    let text = results.to_json_string().unwrap();
    let text = text.replacen("\"seed\": 1,", "\"seed\": 1, \"colour\": \"blue\",", 1);
    assert_eq!(Results::from_json(&text).unwrap(), results);
}

#[test]
fn rounding_by_hand() {
    for (value, digits, expected) in [
        (4863.6666, 6, 4863.67),
        (4863.6666, 2, 4900.0),
        (-0.001_234_56, 3, -0.001_23),
        (0.0, 3, 0.0),
        (9.9999, 3, 10.0),
        (123.0, 0, 100.0),
    ] {
        assert_eq!(rounded(value, digits), expected);
    }
    assert!(rounded(f64::NAN, 3).is_nan());
}

proptest! {
    #[test]
    fn rounding_twice_is_rounding_once(value in -1e12..1e12_f64, digits in 1..12_usize) {
        let once = rounded(value, digits);
        prop_assert_eq!(rounded(once, digits), once);
        prop_assert!((once - value).abs() <= value.abs() * 10_f64.powi(1 - digits as i32));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(strewn_testing::cases(32, 256)))]

    #[test]
    fn any_finite_figure_survives_the_file(value in proptest::num::f64::NORMAL) {
        let mut results = fixture::results();
        results.arrays[0].segments[0].iops = value;
        let read = Results::from_json(&results.to_json_string().unwrap()).unwrap();
        prop_assert_eq!(read.arrays[0].segments[0].iops.to_bits(), value.to_bits());
    }
}
