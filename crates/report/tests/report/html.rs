use crate::fixture;
use strewn_report::Report;
use strewn_results::{AccessMix, ArrayMap, HostLoad, LayoutMap, MAP_SCHEMA, Parameter, Results};

/// Creates two arrays with the file in one piece. The first array's file moves.
pub fn map() -> LayoutMap {
    let mut anywhere = ArrayMap::new("FAS2050", 40_960, Some(2));
    for segment in 0..3_u32 {
        let mut picture = anywhere.picture(3, true);
        for spindle in 0..2 {
            picture.add_run(spindle, 4_000 * u64::from(segment), 3_000, 1 << segment);
            picture.add_free_word(spindle, 40_000, u64::MAX);
        }
        anywhere.add(segment, &picture);
    }
    let mut in_place = ArrayMap::new("EVA4400", 40_960, None);
    for segment in 0..3 {
        let mut picture = in_place.picture(2, false);
        picture.add_run(1, 0, 5_000, 0);
        in_place.add(segment, &picture);
    }
    LayoutMap {
        schema: MAP_SCHEMA,
        scenario: "making-sense-of-wafl-4".to_owned(),
        seed: 1,
        arrays: vec![anywhere, in_place],
    }
}

#[test]
fn the_page_is_whole_and_asks_nothing_of_a_network() {
    let results = fixture::results();
    let map = map();
    let report = Report { results: &results, map: Some(&map), scenario: Some("name = \"x\"") };
    let html = report.to_html().unwrap();
    assert_eq!(html, report.to_html().unwrap());
    let ratio = "After 14 segments the FAS2050 delivers 58.6 % of the EVA4400\u{2019}s IOPS, down from 82.5 %";
    assert!(
        html.contains(ratio),
        "{}",
        html.split("<h1>").nth(1).unwrap().split('<').next().unwrap()
    );
    for part in [
        "id=\"summary\"",
        "id=\"map\"",
        "id=\"segments\"",
        "id=\"scenario\"",
        "map-segment",
        "lang=\"en\"",
    ] {
        assert!(html.contains(part), "no {part}");
    }
    let namespace = "http://www.w3.org/2000/svg";
    let without = html.replace(namespace, "");
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link"] {
        assert!(!without.contains(outside), "{outside} in the page");
    }
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    // Every field of the template was filled in.
    assert!(!html.contains("{{"));
}

/// Returns the words between `from` and the next `to`.
fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let (_, after) = html.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    after.split(to).next().unwrap()
}

#[test]
fn a_run_of_real_spindles_is_no_simulation() {
    let mut results = fixture::results();
    results.published.clear();
    results.ratios.clear();
    results.overhead.clear();
    results.arrays.truncate(1);
    let array = &mut results.arrays[0];
    array.segments.truncate(3);
    array.lun_bytes = Some(200 << 20);
    array.parameters = vec![
        Parameter {
            name: "write_anywhere.buffer_cache".to_owned(),
            unit: "B".to_owned(),
            value: 268_435_456.0,
            fitted: false,
            fitted_to_segments: vec![],
            source: "the array's label".to_owned(),
        },
        Parameter {
            name: "write_anywhere.checkpoint_interval".to_owned(),
            unit: "ns".to_owned(),
            value: 1e10,
            fitted: false,
            fitted_to_segments: vec![],
            source: "the array's label".to_owned(),
        },
    ];
    results.real_spindles = Some(fixture::real_spindles());
    results.load = Some(HostLoad {
        file_bytes: 100 << 20,
        written_file_bytes: None,
        accesses: Some(AccessMix {
            specification: "file-server".to_owned(),
            mean_bytes: 11_345.9,
            read_percent: 80.0,
            random_percent: 100.0,
        }),
    });
    let html = Report { results: &results, map: None, scenario: None }.to_html().unwrap();
    // The embedded data may have these words: they are names in the results.
    let shown = html.split("<script").next().unwrap();
    for word in ["predicted", "published", "simulated", "to buy", "fresh", "Scenario"] {
        assert!(!shown.contains(word), "{word:?} of a run of real spindles");
    }
    for part in [
        "Iometer&#39;s File Server, random, 80 % reads, 11.1 KiB on average; file of 100 MiB",
        "200 MiB",
        "256 MiB",
        "18 data and 2 parity spindles, 150 outstanding",
    ] {
        assert!(shown.contains(part), "no {part:?}");
    }
    let cells = |path: &str| between(shown, &format!("data-path=\"{path}\""), "<").to_owned();
    assert_eq!(cells("real_spindles/log/1/utilization"), " data-value=\"0.25\">0.250");
    assert_eq!(cells("arrays/0/segments/2/cache/hit_percent"), " data-value=\"24.4\">24.4");
    assert_eq!(cells("arrays/0/parameters/0/value"), " data-value=\"268435456\">256");
    assert_eq!(cells("arrays/0/parameters/1/value"), " data-value=\"10000000000\">10");
    // The page of a simulation has none of that, and is as before.
    let html =
        Report { results: &fixture::results(), map: None, scenario: None }.to_html().unwrap();
    for part in ["predicted", "published", "25 spindles to buy", "IOPS, fresh"] {
        assert!(html.contains(part), "no {part:?}");
    }
    assert!(!html.contains("log busy"));
}

#[test]
fn the_wall_time_is_not_in_it() {
    let mut results = fixture::results();
    let page = |results: &Results| Report { results, map: None, scenario: None }.to_html().unwrap();
    let before = page(&results);
    results.wall_seconds = 1234.5;
    assert!(before == page(&results));
}

#[test]
fn names_are_words_and_never_markup() {
    let mut results = fixture::results();
    let hostile = "</script><script>alert('x')</script><b onclick=\"y\">{{main}}&";
    results.scenario = hostile.to_owned();
    results.arrays[0].name = hostile.to_owned();
    results.published[0].array = hostile.to_owned();
    results.arrays[0].parameters[0].name = hostile.to_owned();
    results.overhead[0].name = hostile.to_owned();
    results.ratios[0].name = hostile.to_owned();
    results.scaled = Some(strewn_results::Scaled {
        by: 2,
        what: vec![hostile.to_owned()],
        out_of_proportion: vec![hostile.to_owned()],
    });
    let mut map = map();
    map.arrays[0].name = hostile.to_owned();
    let report = Report { results: &results, map: Some(&map), scenario: Some(hostile) };
    let html = report.to_html().unwrap();
    // Only the scripts of the template, and no others.
    assert_eq!(html.matches("<script").count(), 3);
    assert_eq!(html.matches("</script").count(), 3);
    assert!(!html.contains("<b onclick"));
}

#[test]
fn a_run_of_one_segment_or_none_has_a_page_too() {
    let mut results = fixture::results();
    for array in &mut results.arrays {
        array.segments.truncate(1);
    }
    let page = |results: &Results| Report { results, map: None, scenario: None }.to_html().unwrap();
    assert!(page(&results).contains("The FAS2050 delivers 82.5 %"));
    for array in &mut results.arrays {
        array.segments.clear();
    }
    results.published.clear();
    assert!(page(&results).contains("<h1>making-sense-of-wafl-4</h1>"));
}

/// The corpus of the fuzz targets, and their past findings.
#[test]
fn strange_results_are_shown_too() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/results");
    for entry in std::fs::read_dir(corpus).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let results = strewn_results::Results::from_json(&text).unwrap();
        let report = strewn_report::Report { results: &results, map: None, scenario: None };
        assert!(report.to_html().unwrap().contains("</html>"));
    }
}

#[test]
fn on_a_narrow_screen_charts_keep_their_size_and_scroll_as_tables_do() {
    let html =
        Report { results: &fixture::results(), map: None, scenario: None }.to_html().unwrap();
    assert!(
        html.contains("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
    );
    assert!(html.contains(".wide, figure { overflow-x: auto; }"));
    let narrow = between(&html, "@media (max-width: 52rem) {", "@media print");
    assert!(narrow.contains("figure svg { width: 52rem; }"), "{narrow}");
    // Every table is in a box that scrolls.
    assert_eq!(html.matches("<table>").count(), html.matches("<div class=\"wide\"").count());
}
