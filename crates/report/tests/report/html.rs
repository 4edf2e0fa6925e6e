use crate::fixture;
use strewn_report::{ArrayMap, LayoutMap, MAP_SCHEMA, Report, Results};

/// Two arrays whose file is in one piece, of which the first's moves.
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
    // Every field of the template was filled.
    assert!(!html.contains("{{"));
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
    results.scaled = Some(strewn_report::Scaled { by: 2, what: vec![hostile.to_owned()] });
    let mut map = map();
    map.arrays[0].name = hostile.to_owned();
    let report = Report { results: &results, map: Some(&map), scenario: Some(hostile) };
    let html = report.to_html().unwrap();
    // Those of the template, and no other.
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

/// What the fuzz targets begin from, and what they once found.
#[test]
fn strange_results_are_shown_too() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/results");
    for entry in std::fs::read_dir(corpus).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let results = strewn_report::Results::from_json(&text).unwrap();
        let report = strewn_report::Report { results: &results, map: None, scenario: None };
        assert!(report.to_html().unwrap().contains("</html>"));
    }
}
