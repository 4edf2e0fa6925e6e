use crate::fixture;
use std::collections::BTreeMap;
use strewn_results::{Metric, Published, compare, fitted_segments_by_array, ratios};

/// Creates four published segments with easy arithmetic.
fn four() -> Published {
    let text = r#"
        title = "t"
        author = "a"
        year = 2000
        [[array]]
        name = "FAS2050"
        iops = [1000, 1000, 200, 400]
        [[array]]
        name = "EVA4400"
        steady_iops = 2000
        [[ratio]]
        name = "first"
        of = "FAS2050"
        over = "EVA4400"
        segment = 1
        percent = 50
        [[ratio]]
        name = "not simulated"
        of = "FAS2050"
        over = "EVA4400"
        segment = 9
        percent = 50
    "#;
    Published::from_toml(text, "four.toml").unwrap()
}

fn arrays() -> Vec<strewn_results::ArrayResults> {
    let mut arrays = fixture::results().arrays;
    for (array, figures) in arrays.iter_mut().zip([[1100.0, 950.0, 206.0, 384.0], [2000.0; 4]]) {
        array.segments.truncate(4);
        for (segment, iops) in array.segments.iter_mut().zip(figures) {
            segment.iops = iops;
        }
    }
    arrays
}

#[test]
fn errors_by_hand() {
    let fitted = BTreeMap::from([("FAS2050".to_owned(), vec![1, 2])]);
    let comparisons = compare(&four(), &arrays(), &fitted);
    let arrays_compared: Vec<&str> = comparisons.iter().map(|found| &*found.array).collect();
    assert_eq!(arrays_compared, ["FAS2050", "EVA4400"]);
    let fas = &comparisons[0];
    assert_eq!((fas.metric, &*fas.fitted_segments), (Metric::Iops, &[1, 2][..]));
    let errors: Vec<f64> = fas.segments.iter().map(|segment| segment.error_percent).collect();
    assert_eq!(errors, [10.0, -5.0, 3.0, -4.0]);
    let fitted: Vec<bool> = fas.segments.iter().map(|segment| segment.fitted).collect();
    assert_eq!(fitted, [true, true, false, false]);
    // sqrt((3^2 + 4^2) / 2) = sqrt(12.5): the fitted 10 % and 5 % are not included.
    assert_eq!(fas.predicted_rms_error_percent, Some(3.536));
    // The worst error is taken over all segments, so a fit cannot hide it.
    assert_eq!((fas.worst_error_percent, fas.worst_segment), (10.0, 1));
}

#[test]
fn nothing_is_predicted_when_all_is_fitted() {
    let fitted = BTreeMap::from([("FAS2050".to_owned(), vec![1, 2, 3, 4])]);
    let comparisons = compare(&four(), &arrays(), &fitted);
    assert_eq!(comparisons[0].predicted_rms_error_percent, None);
    // The other array was not fitted, and matches.
    assert_eq!(comparisons[1].predicted_rms_error_percent, Some(0.0));
    assert_eq!((comparisons[1].worst_error_percent, comparisons[1].worst_segment), (0.0, 1));
}

#[test]
fn an_interrupted_run_is_compared_as_far_as_it_went() {
    let mut arrays = arrays();
    arrays[0].segments.truncate(3);
    arrays[1].segments.clear();
    let comparisons = compare(&four(), &arrays, &BTreeMap::new());
    assert_eq!(comparisons.len(), 1);
    assert_eq!(comparisons[0].segments.len(), 3);
    assert_eq!(ratios(&four(), &arrays, &BTreeMap::new()), []);
}

#[test]
fn ratios_by_hand() {
    let fitted = BTreeMap::from([("EVA4400".to_owned(), vec![1])]);
    let found = ratios(&four(), &arrays(), &fitted);
    assert_eq!(found.len(), 1, "segment 9 was not simulated");
    // 1100 of 2000.
    assert_eq!((found[0].published_percent, found[0].simulated_percent), (50.0, 55.0));
    assert!(found[0].fitted);
    assert!(!ratios(&four(), &arrays(), &BTreeMap::new())[0].fitted);
}

#[test]
fn parameters_declare_what_was_fitted() {
    let mut arrays = fixture::results().arrays;
    // A list without the mark means that the number was not fitted after all.
    arrays[0].parameters[2].fitted_to_segments = vec![9];
    let fitted = fitted_segments_by_array(&arrays);
    assert_eq!(fitted["FAS2050"], [1, 2]);
    assert_eq!(fitted["EVA4400"], [1]);
}

/// The root mean square of the first array's IOPS was computed independently of this crate.
#[test]
fn all_metrics_of_a_whole_run() {
    let results = fixture::results();
    let metrics: Vec<(&str, Metric)> =
        results.published.iter().map(|found| (&*found.array, found.metric)).collect();
    let expected = ["FAS2050", "EVA4400"]
        .into_iter()
        .flat_map(|array| Metric::ALL.map(|metric| (array, metric)));
    assert_eq!(metrics, expected.collect::<Vec<_>>());
    let iops = &results.published[0];
    assert_eq!(iops.segments.len(), 14);
    assert_eq!(iops.predicted_rms_error_percent, Some(0.6985));
    assert_eq!((iops.worst_error_percent, iops.worst_segment), (1.682, 14));
}
