//! `docs/drive-profiles.md` has every key that the reader takes, and no other.

use std::error::Error;

use strewn_spindle::Profile;
use strewn_spindle::data_sheet::DataSheet;

const PAGE: &str = include_str!("../../../../docs/drive-profiles.md");

/// The keys in the first cells of the tables under a heading, up to the next.
fn keys_of_page(heading: &str) -> Vec<&'static str> {
    let (_, rest) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `")).collect()
}

/// The keys that the reader expects instead of one that it does not know, in this text.
fn keys_of_reader(text: &str) -> Vec<String> {
    let error = Profile::from_toml(text, "unknown.toml").unwrap_err();
    let cause = error.source().unwrap().to_string();
    let (_, expected) = cause.split_once("expected ").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_has_the_keys_of_the_reader() {
    for (heading, text) in [
        ("Top level", "unknown = 1"),
        ("`overhead_ms`", "[overhead_ms]\nunknown = 1"),
        ("`outline`", "[outline]\nunknown = 1"),
        ("`outline.seek_ms`", "[outline.seek_ms]\nunknown = 1"),
        ("`cache`", "[cache]\nunknown = 1"),
        ("`zone`", "[[zone]]\nunknown = 1"),
    ] {
        let (mut page, mut reader) = (keys_of_page(heading), keys_of_reader(text));
        page.sort_unstable();
        reader.sort_unstable();
        assert_eq!(page, reader, "{heading}");
    }
}

#[test]
fn the_page_has_the_kinds_and_numbers_of_sources() {
    let page = keys_of_page("`provenance`");
    for kind in ["measured", "published", "derived", "assumed", "inferred"] {
        assert!(page.contains(&kind), "{kind}");
        let text = format!("{{ {kind} = \"x\" }}");
        let profile = shipped_with(&format!("default = {text}"));
        assert_eq!(profile.source("rpm").map(ToString::to_string), Some(text));
    }
    let mut numbers: Vec<&str> = Profile::shipped_names()
        .flat_map(|name| Profile::shipped(name).unwrap().numbers().collect::<Vec<_>>())
        .collect();
    numbers.extend(["default", "measured", "published", "derived", "assumed", "inferred"]);
    numbers.sort_unstable();
    numbers.dedup();
    let mut sorted = page;
    sorted.sort_unstable();
    assert_eq!(sorted, numbers);
}

#[test]
fn the_page_has_the_keys_of_a_data_sheet() {
    let error = DataSheet::parse("unknown=1").unwrap_err();
    let remedy = error.faults[0].remedy.strip_prefix("the keys are ").unwrap();
    assert_eq!(keys_of_page("Figures of a data sheet"), remedy.split(", ").collect::<Vec<_>>());
}

#[test]
fn the_smallest_profile_of_the_page_loads() {
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    assert_eq!(Profile::from_toml(text, "page").unwrap().name, "mine");
}

/// A shipped profile with these lines for its sources.
fn shipped_with(sources: &str) -> Profile {
    let text = Profile::shipped_text("nearline-7200-16tb").unwrap();
    let (figures, _) = text.split_once("[provenance]").unwrap();
    Profile::from_toml(&format!("{figures}[provenance]\n{sources}\n"), "mine.toml").unwrap()
}
