use crate::fixture;
use strewn_report::{Report, all_tables, segments_table, write_segments_csv};
use strewn_results::{Results, Snapshots};

/// The published results with snapshots in the first array from its third segment on.
fn with_snapshots() -> Results {
    let mut results = fixture::results();
    results.published.clear();
    results.ratios.clear();
    for segment in &mut results.arrays[0].segments[2..] {
        segment.snapshots = Some(Snapshots {
            kept: 6,
            taken: 1,
            refused: 0,
            held_blocks: 5 << 18,
            freed_blocks: 12_345,
            aggregate_used_percent: 12.345_678,
        });
    }
    results
}

#[test]
fn snapshots_have_columns_only_where_there_are_any() {
    let results = with_snapshots();
    let [anywhere, in_place] = &results.arrays[..] else { panic!() };
    let table = segments_table(&results, anywhere);
    let row = |segment: &str| {
        let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.into_iter().find(|cells| cells.first() == Some(&segment)).unwrap()
    };
    assert_eq!(row("2")[14..], ["-", "-", "-"]);
    assert_eq!(row("14")[14..], ["6", "5.0", "12.3"]);
    assert!(!segments_table(&results, in_place).contains("snap"));
    let all = all_tables(&results);
    assert!(all.lines().all(|line| line.len() <= 160), "{all}");
    assert!(!all_tables(&fixture::results()).contains("snap-"));
}

#[test]
fn snapshots_are_in_every_file_of_a_run_that_has_some_and_in_none_of_others() {
    let csv = |results: &Results| {
        let mut bytes = Vec::new();
        write_segments_csv(results, &[], &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let html = |results: &Results| Report { results, map: None, scenario: None }.to_html().unwrap();
    let results = with_snapshots();
    let json = results.to_json_string().unwrap();
    assert_eq!(Results::from_json(&json).unwrap(), results);
    assert!(json.contains("\"held_blocks\": 1310720"), "{json}");
    let text = csv(&results);
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = names.iter().position(|name| *name == "snapshot_held_blocks").unwrap();
    let held: Vec<&str> = lines.map(|line| line.split(',').nth(column).unwrap()).collect();
    assert_eq!((held[1], held[2], held[14]), ("", "1310720", ""));
    assert!(html(&results).contains("FAS2050: what its snapshots held"));

    let plain = fixture::results();
    assert!(!plain.to_json_string().unwrap().contains("snapshot"));
    assert!(!csv(&plain).contains("snapshot"));
    assert!(!html(&plain).contains("snapshots held"));
}
