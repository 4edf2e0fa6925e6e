//! What controllers did besides serving hosts: every figure that is not zero, and nothing in other runs.

use crate::fixture;
use strewn_report::*;
use strewn_results::*;

const HEADING: &str = "What the controller did besides serving hosts";

fn results() -> Results {
    let mut results = fixture::results();
    let [filer, in_place] = &mut results.arrays[..] else { panic!() };
    let segment = &mut filer.segments[1];
    segment.relocation = Some(Relocation {
        after_reads: Relocated::new(12_345, 678),
        scan: Some(ReallocationScan { begun: 2, passed_percent: 37.5, ended_at_seconds: None }),
        ..Relocation::default()
    });
    segment.housekeeping =
        Some(Housekeeping { freed_blocks: 9_001, map_scan_reads: 17, ..Housekeeping::default() });
    filer.segments[2].housekeeping =
        Some(Housekeeping { freed_blocks: 999, ..Housekeeping::default() });
    in_place.segments[0].stripe_destages = Some(StripeDestages { full: 4_242, reconstructed: 0 });
    in_place.segments[0].cache.read_ahead =
        Some(ReadAhead { blocks: 6_400, used: 6_000, dropped: 31 });
    results
}

#[test]
fn the_page_and_the_console_have_every_figure_that_is_not_zero() {
    let results = results();
    let html = Report { results: &results, map: None, scenario: None }.to_html().unwrap();
    let section = html.split("id=\"controller-work\"").nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    for part in [
        HEADING,
        "blocks relocated after reads",
        "12,345",
        "37.5",
        "9,001",
        "map blocks that scans read",
        "4,242",
        "6,400",
        "arrays/0/segments/1/relocation/after_reads/blocks",
        "arrays/1/segments/0/cache/read_ahead/used",
    ] {
        assert!(section.contains(part), "no {part:?} in {section}");
    }
    // Two segments of the one array, one of the other.
    assert_eq!(section.matches("<tr").count(), (1 + 2) + (1 + 1), "{section}");
    for part in ["by cleaning", "completed by reading", "KiB XORed"] {
        assert!(!section.contains(part), "{part:?} in {section}");
    }
    let text = all_tables(&results);
    assert!(text.contains(HEADING), "{text}");
    assert!(text.contains("blocks relocated after reads 12,345;"), "{text}");
    assert!(text.contains("blocks freed at a cost 10,000;"), "{text}");
    let section = text.split(HEADING).nth(1).unwrap();
    assert!(section.lines().take(6).all(|line| line.len() <= 120), "{section}");
    assert!(text.contains("EVA4400: blocks read ahead 6,400;"), "{text}");
}

#[test]
fn every_figure_of_the_page_is_at_its_place_in_the_results() {
    let results = results();
    let json: serde_json::Value = serde_json::from_str(&results.to_json_string().unwrap()).unwrap();
    let html = Report { results: &results, map: None, scenario: None }.to_html().unwrap();
    let section = html.split("id=\"controller-work\"").nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    let mut found = 0;
    for path in section.split('"').filter(|text| text.starts_with("arrays/")) {
        assert!(json.pointer(&format!("/{path}")).is_some(), "no {path} in results.json");
        found += 1;
    }
    assert_eq!(found, 4 + 2 + 1 + 1 + 3);
}

#[test]
fn columns_of_housekeeping_are_there_only_if_a_segment_has_some() {
    let header = |results: &Results| {
        let mut csv = Vec::new();
        write_segments_csv(results, &[], &mut csv).unwrap();
        String::from_utf8(csv).unwrap().lines().next().unwrap().to_owned()
    };
    assert!(!header(&fixture::results()).contains("map_scan_reads"));
    let with = header(&results());
    assert!(
        with.ends_with(",reclaimed_regions,map_scan_reads,map_scan_hits,checkpoint_ms"),
        "{with}"
    );
    let page = Report { results: &fixture::results(), map: None, scenario: None };
    assert!(!page.to_html().unwrap().contains(HEADING));
    assert!(!all_tables(&fixture::results()).contains(HEADING));
}

#[test]
fn the_parameters_have_what_is_switched_and_how_relocation_is_set() {
    let mut results = results();
    let text = |text: &str| Setting::Text(text.to_owned());
    results.settings = [
        ("array.FAS2050.write_anywhere.reallocation_scan.per_second", text("20 MiB")),
        ("array.FAS2050.write_anywhere.read_reallocation", Setting::Flag(true)),
        ("array.FAS2050.write_anywhere.policy", text("first-fit")),
        ("array.EVA4400.in_place.full_stripe_destage", Setting::Flag(false)),
    ]
    .map(|(name, setting)| (name.to_owned(), setting))
    .into();
    let html = Report { results: &results, map: None, scenario: None }.to_html().unwrap();
    let section = html.split("id=\"scenario\"").nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    for part in [
        "write_anywhere.reallocation_scan.per_second",
        "20 MiB",
        "write_anywhere.read_reallocation",
        "in_place.full_stripe_destage",
        "false",
    ] {
        assert!(section.contains(part), "no {part:?} in {section}");
    }
    assert!(!section.contains("write_anywhere.policy"), "{section}");
}
