//! Rows of published tables: what a file may say, how a figure is taken from segments, what is printed and drawn.

use crate::fixture;
use strewn_report::{ChartStyle, ResultsChart, rows_table};
use strewn_results::{Published, Results, RowStatus, Segment, compare_rows};

/// A row of each unit, of the run of the fixture.
pub const ROWS: &str = r#"
title = "A table"
author = "Somebody"
year = 2012

[[row]]
name = "FAS2050, MB/s"
array = "FAS2050"
metric = "mb_per_s"
figure = 44.0
peak = 55.0

[[row]]
name = "FAS2050, MiB/s of segment 1"
array = "FAS2050"
metric = "mib_per_s"
statistic = "peak"
range = [50.0, 60.0]

[[row]]
name = "FAS2050, IOPS"
array = "FAS2050"
metric = "iops"
figure = 3863.0

[[row]]
name = "EVA4400, response"
array = "EVA4400"
metric = "response_ms"
figure = 28.0
not_scored = "it follows from the IOPS"

[[row]]
name = "FAS2050 over EVA4400"
array = "FAS2050"
over = "EVA4400"
metric = "iops"
range = [58.0, 81.0]

[[row]]
name = "length"
array = "EVA4400"
metric = "seconds"

[[row]]
name = "length of the other"
array = "FAS2050"
metric = "seconds"
figure = 16800.0
"#;

/// Puts these rows into results.
pub fn add_rows(results: &mut Results) {
    let published = Published::from_toml(ROWS, "rows.published.toml").unwrap();
    results.arrays.iter_mut().for_each(|array| array.ended = true);
    results.published_rows = compare_rows(&published, &results.arrays, &["FAS2050, IOPS"], false);
}

fn results() -> Results {
    let mut results = fixture::results();
    add_rows(&mut results);
    results
}

#[test]
fn a_rate_is_of_all_the_time_and_a_response_time_of_all_operations() {
    let results = results();
    let row = |name: &str| results.published_rows.iter().find(|row| row.name == name).unwrap();
    let segments = &results.array("FAS2050").unwrap().segments;
    let seconds: f64 = segments.iter().map(|one| one.seconds).sum();
    let mib: f64 = segments.iter().map(|one| one.mib_per_s * one.seconds).sum();
    let simulated = row("FAS2050, MB/s").simulated.unwrap();
    assert!((simulated - mib / seconds * 1.048_576).abs() < 1e-3, "{simulated}");
    let highest = segments.iter().map(|one| one.mib_per_s).fold(0.0, f64::max);
    let peak = row("FAS2050, MB/s").simulated_peak.unwrap();
    assert!((peak - highest * 1.048_576).abs() < 1e-3, "{peak}");
    let of_eva = &results.array("EVA4400").unwrap().segments;
    let operations: u64 = of_eva.iter().map(|one| one.ops).sum();
    let waited: f64 = of_eva.iter().map(|one| one.ops as f64 * one.response_ms.mean).sum();
    let response = row("EVA4400, response").simulated.unwrap();
    assert!((response - waited / operations as f64).abs() < 1e-3, "{response}");
    assert_eq!(row("length").simulated, Some(of_eva.iter().map(|one| one.seconds).sum()));
}

#[test]
fn bursts_are_told_from_pauses() {
    let mut results = fixture::results();
    let segment = results.arrays[0].segments[0].clone();
    let at =
        |index: u32, mib_per_s: f64| Segment { index, seconds: 1.0, mib_per_s, ..segment.clone() };
    results.arrays[0].segments = vec![at(1, 0.0), at(2, 30.0), at(3, 50.0), at(4, 1.0), at(5, 0.0)];
    let value = |statistic: &str| {
        let text = format!(
            "title=\"\"\nauthor=\"\"\nyear=2004\n[[row]]\nname=\"x\"\narray=\"FAS2050\"\nmetric=\"mib_per_s\"\nstatistic=\"{statistic}\""
        );
        let published = Published::from_toml(&text, "x").unwrap();
        compare_rows(&published, &results.arrays, &[], false)[0].simulated
    };
    assert_eq!(value("mean"), Some(16.2));
    assert_eq!(value("peak"), Some(50.0));
    assert_eq!(value("busy_mean"), Some(40.0));
    assert_eq!(value("busy_percent"), Some(40.0));
}

#[test]
fn a_row_says_what_its_figure_is_and_only_predictions_are_judged() {
    let results = results();
    let status: Vec<RowStatus> = results.published_rows.iter().map(|row| row.status).collect();
    use RowStatus::{Fitted, NotScored, Predicted};
    assert_eq!(status, [Predicted, Predicted, Fitted, NotScored, Predicted, NotScored, Predicted]);
    // Inside the range there is no error.
    assert_eq!(results.published_rows[4].error_percent, Some(0.0));
    let table = rows_table(&results);
    for words in [
        "Not scored: EVA4400, response: it follows from the IOPS.",
        "Not scored: length: the source gives no figure.",
        "5 of 7 rows are scored: 1 fitted, 4 predicted.",
        "50.00-60.00",
    ] {
        assert!(table.contains(words), "no {words:?} in\n{table}");
    }
}

/// How long something took was that of the run, ended or not, and of a quick run at that.
#[test]
fn regression_seconds_are_known_once_something_has_ended() {
    let published = Published::from_toml(ROWS, "rows.published.toml").unwrap();
    let mut results = fixture::results();
    let row = |results: &Results, is_scaled| {
        compare_rows(&published, &results.arrays, &[], is_scaled).pop().unwrap()
    };
    assert_eq!(row(&results, false).simulated, None);
    results.arrays.iter_mut().for_each(|array| array.ended = true);
    assert_eq!(row(&results, false).status, RowStatus::Predicted);
    assert_eq!(row(&results, true).status, RowStatus::NotScored);
}

/// It was the mean of the segments' longest.
#[test]
fn regression_the_longest_response_is_the_longest_of_all_segments() {
    let text =
        ROWS.replace("metric = \"mib_per_s\"\nstatistic = \"peak\"", "metric = \"longest_ms\"");
    let published = Published::from_toml(&text, "rows.published.toml").unwrap();
    let results = fixture::results();
    let segments = &results.array("FAS2050").unwrap().segments;
    let longest = segments.iter().map(|one| one.response_ms.max).fold(0.0, f64::max);
    assert_eq!(compare_rows(&published, &results.arrays, &[], false)[1].simulated, Some(longest));
}

#[test]
fn bad_rows_are_refused_with_their_place() {
    let row = |rest: &str| {
        let text = format!(
            "title=\"\"\nauthor=\"\"\nyear=2004\n[[row]]\nname=\"x\"\narray=\"a\"\n{rest}\n"
        );
        Published::from_toml(&text, "rows.toml").unwrap_err().to_string()
    };
    for (rest, error) in [
        ("metric=\"iops\"\nfigure=-1", "rows.toml:8: row.figure: -1 is not a positive number"),
        ("metric=\"iops\"\nrange=[4,3]", "rows.toml:8: row.range: 4 to 3 is no range of figures"),
        ("metric=\"iops\"\nfigure=1\nrange=[1,2]", "row.range: given beside a figure"),
        ("metric=\"furlongs\"", "rows.toml:7: row.metric: unknown variant `furlongs`"),
        ("metric=\"iops\"\nlink=\"san\"", "row.link: a link has `mb_per_s` and `mib_per_s` alone"),
        ("metric=\"hit_percent\"\nworkload=\"w\"", "row.workload: this metric is of the array"),
        ("metric=\"iops\"\nnot_scored=\"\"", "row.not_scored: does not say why"),
        ("metric=\"iops\"\nfigur=1", "unknown field `figur`"),
        (
            "metric=\"iops\"\n[[row]]\nname=\"x\"\narray=\"b\"\nmetric=\"iops\"",
            "\"x\" is already there",
        ),
    ] {
        let found = row(rest);
        assert!(found.contains(error), "{found:?} instead of {error:?}");
    }
}

#[test]
fn short_segments_are_drawn_over_time() {
    let mut results = results();
    let draw = |results: &Results| {
        ResultsChart::Throughput.draw(results, None, ChartStyle::default()).unwrap()
    };
    // Segments of twenty minutes are averages of what this chart is to show.
    assert_eq!(draw(&results), None);
    let segment = results.arrays[0].segments[0].clone();
    let at = |index: u32| Segment { index, seconds: 1.0, ..segment.clone() };
    results.arrays[0].segments = (1..=30).map(at).collect();
    let svg = draw(&results).unwrap();
    assert!(svg.contains("FAS2050: what hosts moved") && svg.contains("FAS2050, 30 s: "));
    assert!(!svg.contains("EVA4400: what"));
    // So many points are no chart of segments.
    for chart in [ResultsChart::Iops, ResultsChart::TimeIn, ResultsChart::Commands] {
        let drawn = |results: &Results| chart.draw(results, None, ChartStyle::default()).unwrap();
        let mut many = results.clone();
        many.arrays = vec![many.arrays[0].clone(); 20];
        assert_eq!(drawn(&many), None, "{chart:?}");
    }
}
