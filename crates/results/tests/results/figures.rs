//! Figures of a run by what they count.

use crate::fixture;
use strewn_results::{FigureOf, OperationFigures, Results, Segment, Snapshots, WorkloadFigures};

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
    let points = &mut results.arrays[0].segments.last_mut().unwrap().consistency_points;
    points.as_mut().unwrap().full_stripe_percent = None;
    assert_eq!(of_last_segment(&results, "full_stripe_percent"), None);
    results.arrays[0].segments.last_mut().unwrap().consistency_points = None;
    assert_eq!(of_last_segment(&results, "full_stripe_percent"), None);
}

#[test]
fn percentiles_are_those_of_the_segment() {
    let mut results = fixture::results();
    let last = results.arrays[0].segments.last_mut().unwrap();
    (last.response_ms.p95, last.response_ms.p99) = (30.5, 71.0);
    assert_eq!(of_last_segment(&results, "p95_ms"), Some(30.5));
    assert_eq!(of_last_segment(&results, "p99_ms"), Some(71.0));
}

#[test]
fn reads_and_writes_are_told_apart_where_workloads_are() {
    let mut results = fixture::results();
    assert_eq!(of_last_segment(&results, "read_ms"), None);
    let side = |ops, mean_ms| OperationFigures { ops, mean_ms, ..OperationFigures::default() };
    let workload = |name: &str, reads, writes| WorkloadFigures {
        name: name.to_owned(),
        reads,
        writes,
        ..WorkloadFigures::default()
    };
    results.arrays[0].segments.last_mut().unwrap().by_workload = vec![
        workload("mail", side(300, 10.0), side(100, 1.0)),
        workload("log", side(100, 2.0), side(0, 0.0)),
    ];
    assert_eq!(of_last_segment(&results, "read_ms"), Some(8.0));
    assert_eq!(of_last_segment(&results, "write_ms"), Some(1.0));
}

#[test]
fn a_trend_is_of_the_segments_that_are_meant() {
    let mut results = fixture::results();
    let trend = |results: &Results, statistic: &str| {
        let figure =
            format!(r#"{{ "array": "FAS2050", "metric": "iops", "statistic": "{statistic}" }}"#);
        serde_json::from_str::<FigureOf>(&figure).unwrap().value(&results.arrays)
    };
    let segments = &mut results.arrays[0].segments;
    let first = segments[0].clone();
    *segments = (0..10)
        .map(|index| Segment {
            index: index + 1,
            iops: 110.0 - 2.0 * f64::from(index),
            ..first.clone()
        })
        .collect();
    // From 110 to 92 around 101.
    let percent = trend(&results, "trend").unwrap();
    assert!((percent + 1800.0 / 101.0).abs() < 1e-9, "{percent}");
    assert_eq!(trend(&results, "steady_after"), None);
    for segment in &mut results.arrays[0].segments {
        segment.iops = if segment.index % 2 == 0 { 99.0 } else { 101.0 };
    }
    assert_eq!(trend(&results, "steady_after"), Some(0.0));
}
