//! Figures of a run by what they count.

use crate::fixture;
use strewn_report::{FigureOf, Results, Snapshots};

/// Returns a figure of the first array's last segment, by its word in files.
fn of_last_segment(results: &Results, metric: &str) -> Option<f64> {
    let figure = format!(r#"{{ "array": "FAS2050", "segment": "last", "metric": "{metric}" }}"#);
    serde_json::from_str::<FigureOf>(&figure).unwrap().value(&results.arrays)
}

#[test]
fn iops_are_divided_by_the_spindles_to_buy() {
    let mut results = fixture::results();
    let iops = of_last_segment(&results, "iops").unwrap();
    results.arrays[0].spindles.purchased = 25;
    assert_eq!(of_last_segment(&results, "iops_per_spindle"), Some(iops / 25.0));
    results.arrays[0].spindles.purchased = 0;
    assert_eq!(of_last_segment(&results, "iops_per_spindle"), None);
}

#[test]
fn snapshots_hold_nothing_where_there_are_none() {
    let mut results = fixture::results();
    assert_eq!(of_last_segment(&results, "snapshots_gib"), Some(0.0));
    let held = Snapshots { held_blocks: 5 << 18, ..Snapshots::default() };
    results.arrays[0].segments.last_mut().unwrap().snapshots = Some(held);
    assert_eq!(of_last_segment(&results, "snapshots_gib"), Some(5.0));
}

#[test]
fn full_stripes_are_those_of_consistency_points() {
    let mut results = fixture::results();
    assert_eq!(of_last_segment(&results, "full_stripe_percent"), Some(100.0));
    results.arrays[0].segments.last_mut().unwrap().consistency_points = None;
    assert_eq!(of_last_segment(&results, "full_stripe_percent"), None);
}
