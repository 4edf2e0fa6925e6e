use crate::fixture;
use strewn_report::{
    Drawing, TableForm, all_tables, fitted_table, groups_table, overhead_table, segments_table,
    summary_table,
};

/// Returns the cells of the line that begins with these cells.
fn cells<'a>(table: &'a str, beginning: &[&str]) -> Vec<&'a str> {
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|line| line.starts_with(beginning)).unwrap_or_else(|| panic!("{table}"))
}

#[test]
fn refused_writes_are_said_beside_every_table() {
    let mut results = fixture::results();
    results.arrays[0].segments[2].refused = Some(30);
    let caveats = results.caveats();
    assert!(all_tables(&results).contains(&caveats[0]), "{caveats:?}");
}

#[test]
fn segments_stand_beside_what_is_published() {
    let results = fixture::results();
    let table = segments_table(&results, &results.arrays[0]);
    assert_eq!(
        cells(&table, &["1"]),
        [
            "1", "fitted", "4940", "4864", "+1.6", "53.5", "52.7", "30.4", "30.8", "63.8", "88.1",
            "1.24", "98.7", "81.2", "0.974", "4.9", "15.0"
        ]
    );
    assert_eq!(cells(&table, &["2"])[1], "fitted");
    assert_eq!(cells(&table, &["3"])[1..5], ["predicted", "4298", "4296", "+0.0"]);
    assert_eq!(cells(&table, &["14"])[1..5], ["predicted", "3507", "3449", "+1.7"]);
    let in_place = segments_table(&results, &results.arrays[1]);
    assert_eq!(cells(&in_place, &["14"])[1..5], ["fitted", "5988", "5983", "+0.1"]);
    assert_eq!(cells(&in_place, &["14"])[14], "1.000");
}

#[test]
fn without_published_figures_there_are_no_columns_for_them() {
    let mut results = fixture::results();
    results.published.clear();
    results.ratios.clear();
    let table = segments_table(&results, &results.arrays[0]);
    // The last three give what was rewritten, the share of full stripes and the cost of parity.
    assert_eq!(cells(&table, &["14"]).len(), 14);
    assert_eq!(cells(&segments_table(&results, &results.arrays[1]), &["14"]).len(), 11);
    assert_eq!(summary_table(&results), "");
}

#[test]
fn of_real_spindles_nothing_is_to_be_bought_and_the_log_has_a_column() {
    let mut results = fixture::results();
    results.published.clear();
    results.overhead.clear();
    results.real_spindles = Some(fixture::real_spindles());
    let all = all_tables(&results);
    assert!(all.contains("150 outstanding, 18 data and 2 parity spindles"), "{all}");
    assert!(!all.contains("to buy"), "{all}");
    assert!(
        all.lines().all(|line| line.len() <= 160 || line.starts_with("Figures differ")),
        "{all}"
    );
    let table = segments_table(&results, &results.arrays[0]);
    let row = cells(&table, &["2"]);
    assert_eq!((row.len(), row[3].split('.').next_back().map(str::len)), (15, Some(2)), "{row:?}");
    assert!(row.contains(&"25.0"), "{table}");
}

#[test]
fn the_summary_has_errors_and_ratios() {
    let table = summary_table(&fixture::results());
    assert_eq!(
        cells(&table, &["FAS2050", "IOPS"])[2..],
        ["1,", "2", "14", "12", "0.70", "+1.68", "14"]
    );
    // 3507 of 5988.
    assert!(table.contains("FAS2050 over EVA4400"));
    let after: Vec<&str> =
        table.lines().find(|line| line.contains("after 14")).unwrap().split_whitespace().collect();
    assert_eq!(after[after.len() - 4..], ["14", "58.0", "58.6", "predicted"]);
}

#[test]
fn overhead_and_fitted_parameters() {
    let results = fixture::results();
    let table = overhead_table(&results);
    let bought: Vec<&str> =
        table.lines().find(|line| line.contains("25: ")).unwrap().split_whitespace().collect();
    assert_eq!(bought[bought.len() - 9..][..4], ["25", "2152", "62.9", "197.6"]);
    assert_eq!(table.matches(" * ").count(), 2, "{table}");
    let table = fitted_table(&results);
    assert_eq!(
        cells(&table, &["FAS2050", "processor.spindle_command"])[2..],
        ["110", "us", "1,", "2"]
    );
    assert!(!table.contains("per_kib"));
}

#[test]
fn everything_fits_a_terminal_and_a_log() {
    let mut results = fixture::results();
    results.partial = true;
    let all = all_tables(&results);
    assert!(all.contains("stopped before its last segment"));
    assert!(all.is_ascii());
    let widest = all.lines().map(str::len).max().unwrap();
    assert!(widest <= 160, "{widest} columns");
    assert!(all.lines().all(|line| line == line.trim_end()));
    assert_eq!(all, all_tables(&results));
}

#[test]
fn the_finding_comes_first_and_the_title_is_shown() {
    let mut results = fixture::results();
    results.title = Some("What aging costs".to_owned());
    let all = all_tables(&results);
    let mut lines = all.lines();
    let finding =
        "After 14 segments the FAS2050 delivers 58.6 % of the EVA4400's IOPS, down from 82.5 %";
    assert_eq!(lines.next(), Some(finding));
    assert!(all.contains("\nWhat aging costs\n"), "{all}");
}

#[test]
fn a_last_segment_that_is_short_is_said_to_be() {
    let mut results = fixture::results();
    let whole = segments_table(&results, &results.arrays[0]);
    assert!(!whole.contains("lasted"), "{whole}");
    results.arrays[0].segments[13].seconds = 0.0125;
    let table = segments_table(&results, &results.arrays[0]);
    assert!(table.contains("Segment 14 lasted 0.0125 s, not 1200 s"), "{table}");
    assert!(table.contains("of so short a time, and charts leave it out"), "{table}");
    results.arrays[0].segments[13].seconds = 900.0;
    let table = segments_table(&results, &results.arrays[0]);
    assert!(table.contains("lasted 900 s, not 1200 s") && !table.contains("charts"), "{table}");
}

#[test]
fn each_parity_group_has_a_row_for_each_segment_from_when_it_is_added() {
    let mut results = fixture::results();
    assert_eq!(groups_table(&results), "");
    fixture::add_group(&mut results.arrays[0], 6);
    let table = groups_table(&results);
    let row =
        |segment: &str, group: &str| cells(&table, &["FAS2050", segment, group])[3..].to_vec();
    assert_eq!(row("5", "1"), ["80.0", "8.0", "1005", "400", "12.5"]);
    assert_eq!(row("5", "2"), ["-", "-", "0", "0", "-"]);
    assert_eq!(row("6", "2"), ["50.0", "5.0", "1006", "17", "12.5"]);
    assert!(all_tables(&results).contains("Parity groups"));
}

#[test]
fn a_machine_has_a_table_of_where_the_time_went() {
    let mut results = fixture::results();
    assert_eq!(strewn_report::machine_table(&results), "");
    results.arrays[0].segments[0].machine = Some(Box::new(fixture::machine()));
    let table = strewn_report::machine_table(&results);
    assert!(
        table.contains("0.23") && table.contains("62.0, 62.0") && table.contains("36.0"),
        "{table}"
    );
    assert!(all_tables(&results).contains("Where the time of an operation went"));
}

#[test]
fn tables_fit_the_width_and_lose_nothing() {
    let results = fixture::results();
    for width in [60, 80, 100] {
        let text = Drawing::within(width).draw(|| all_tables(&results));
        let tables = text.lines().filter(|line| line.contains("---") || line.starts_with("  "));
        for line in tables {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    // The table of fitted numbers has no column that may leave: what has no room continues below.
    let narrow = Drawing::within(60).draw(|| summary_table(&results));
    let words = |text: &str| -> Vec<String> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words.retain(|word| !word.starts_with("--"));
        words
    };
    assert_eq!(words(&narrow), words(&summary_table(&results)));
}

#[test]
fn the_same_tables_are_markdown_csv_and_json() {
    let results = fixture::results();
    let in_form = |form| Drawing { form, width: 60 }.draw(|| all_tables(&results));
    let markdown = in_form(TableForm::Markdown);
    assert!(
        markdown.contains("\n## Simulated beside published\n\n| array | metric |"),
        "{markdown}"
    );
    assert!(markdown.contains("| --- | --- |"), "{markdown}");
    let csv = in_form(TableForm::Csv);
    assert!(csv.starts_with("segment,"), "nothing but tables: {csv}");
    assert!(csv.contains("\r\n\r\narray,"), "an empty line is between two: {csv}");
    let json: serde_json::Value = serde_json::from_str(&in_form(TableForm::Json)).unwrap();
    let tables = json.as_array().unwrap();
    assert_eq!(tables[0].as_array().unwrap().len(), 14);
    assert_eq!(tables[0][0]["segment"], 1);
    let csv_tables = csv.split("\r\n\r\n").count();
    assert_eq!(tables.len(), csv_tables);
    // Afterwards tables are as before.
    assert_eq!(all_tables(&results), all_tables(&fixture::results()));
    assert!(!summary_table(&results).contains('|'));
}

#[test]
fn figures_that_follow_from_iops_are_no_second_prediction() {
    let results = fixture::results();
    let table = summary_table(&results);
    let row = |metric: &str| {
        let line = table.lines().find(|line| line.contains("FAS2050") && line.contains(metric));
        line.unwrap_or_else(|| panic!("{metric}: {table}")).to_owned()
    };
    assert!(!row("IOPS").contains("follows"));
    assert!(row("mean response").contains("follows"), "{table}");
    assert!(table.contains("no second prediction"), "{table}");
    // Where operations come by the clock, response times are predictions.
    let mut open = results;
    open.arrays.iter_mut().for_each(|array| array.outstanding = 0);
    let table = summary_table(&open);
    let response = table.lines().find(|line| line.contains("mean response")).unwrap();
    assert!(!response.contains("follows"), "{table}");
}
