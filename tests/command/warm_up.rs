//! `warm_up`: time before the first segment, which is shown and counts for nothing.

use crate::common::Folder;
use strewn::results::{Results, Setting};

fn results(folder: &Folder, words: &[&str]) -> Results {
    let words = [&["run", "small.toml", "--json"], words].concat();
    Results::from_json(&folder.strewn(&words).succeeded()).unwrap()
}

/// A run that is warmed up for as long as a segment is one of another segment, whose first is set aside.
#[test]
fn a_warm_up_is_the_same_time_set_aside() {
    let folder = Folder::new();
    let whole = results(&folder, &["--segments", "4"]);
    let warmed = results(&folder, &["--segments", "3", "--set", "warm_up=60 s"]);
    assert_eq!(warmed.settings["warm_up"], Setting::Text("1 min".to_owned()));
    for (whole, warmed) in whole.arrays.iter().zip(&warmed.arrays) {
        let set_aside = warmed.warm_up.as_deref().unwrap();
        assert_eq!((set_aside.index, set_aside.seconds), (0, 60.0));
        assert_eq!(warmed.segments.len(), 3);
        for (whole, warmed) in whole.segments.iter().zip(warmed.measured()) {
            let same = strewn::results::Segment { index: warmed.index, ..whole.clone() };
            assert_eq!(*warmed, same);
        }
        assert_eq!(warmed.segments[0].index, 1);
    }
}

#[test]
fn tables_charts_and_files_mark_it() {
    let folder = Folder::new();
    let words = ["run", "small.toml", "--set", "warm_up=90 s", "--out", "out", "--png"];
    let words = if cfg!(feature = "png") { &words[..] } else { &words[..6] };
    let tables = folder.strewn(words).succeeded();
    assert!(tables.contains("The first 90 s are warm-up, and not counted."), "{tables}");
    let is_marked = |line: &&str| line.split_whitespace().take(2).eq(["0", "warm-up"]);
    assert_eq!(tables.lines().filter(is_marked).count(), 2, "a row an array: {tables}");
    let csv = folder.read("out/segments.csv");
    let segments: Vec<&str> =
        csv.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
    assert_eq!(segments, ["0", "1", "2", "3", "0", "1", "2", "3"], "{csv}");
    let chart = folder.read("out/iops.svg");
    assert!(chart.contains("warm-up") && chart.contains("segment 0: "), "{chart}");
    let page = folder.read("out/report.html");
    assert!(page.contains("Segment 0 is the warm-up of 90 s"), "the page says what it is");
    // Scale shortens it as it shortens segments.
    let quick = results(&folder, &["--set", "warm_up=80 s", "--scale-down", "4"]);
    assert_eq!(quick.arrays[0].warm_up.as_ref().unwrap().seconds, 20.0);
}

#[test]
fn what_is_saved_has_it_too() {
    let folder = Folder::new();
    let set = ["--set", "warm_up=30 s"];
    let plain = results(&folder, &set);
    let saved = results(&folder, &[&set[..], &["--save", "saved"]].concat());
    assert_eq!(saved.arrays, plain.arrays);
    let again = folder.strewn(&["run", "--resume", "saved", "--json"]).succeeded();
    assert_eq!(Results::from_json(&again).unwrap().arrays, plain.arrays);
}

/// Its writes age the array, and bring it nearer to its goal.
#[test]
fn it_counts_towards_a_goal() {
    let folder = Folder::new();
    let until = ["--until", "rewritten 150 %", "--set", "segment=20 s"];
    let without = results(&folder, &until);
    let with = results(&folder, &[&until[..], &["--set", "warm_up=40 s"]].concat());
    for (without, with) in without.arrays.iter().zip(&with.arrays) {
        assert_eq!(with.segments.len() + 2, without.segments.len(), "{}", with.name);
    }
}

#[test]
fn what_it_cannot_be_is_refused() {
    let folder = Folder::new();
    // Zero is none, as one may set it where a file has one.
    let none = results(&folder, &["--set", "warm_up=0 s", "--segments", "1"]);
    assert!(none.arrays.iter().all(|array| array.warm_up.is_none()));
    let negative = folder.strewn(&["run", "small.toml", "--set", "warm_up=-1 s"]);
    negative.refused(&["warm_up"]);
    assert!(!negative.stderr.contains("64-bit"), "{}", negative.stderr);
    let phases = include_str!("../../scenarios/snapshots.toml");
    folder.write("phases.toml", &phases.replacen("seed =", "warm_up = \"10 min\"\nseed =", 1));
    let phases = folder.strewn(&["run", "phases.toml", "--quick"]);
    if phases.code == Some(2) {
        phases.refused(&["warm_up", "phase"]);
    }
    let long = folder.strewn(&["run", "small.toml", "--set", "warm_up=9000000 h"]);
    long.refused(&["warm_up"]);
}

/// What is called fresh is the first segment, and no line leads to it from the warm-up.
#[test]
fn regression_the_page_and_comparisons_do_not_count_it() {
    let folder = Folder::new();
    let set = ["--set", "warm_up=60 s", "--out", "warm"];
    folder.strewn(&[&["run", "small.toml"], &set[..]].concat()).succeeded();
    let results = Results::from_json(&folder.read("warm/results.json")).unwrap();
    let page = folder.read("warm/report.html");
    let (_, table) = page.split_once("Fresh, and in the end").unwrap();
    let row = table.split("<tr>").find(|row| row.contains("anywhere")).unwrap();
    let first = "data-path=\"arrays/0/segments/0/iops\"";
    let last =
        format!("data-path=\"arrays/0/segments/{}/iops\"", results.arrays[0].segments.len() - 1);
    assert!(row.contains(first) && row.contains(&last), "{row}");
    // The map begins where the warm-up ends.
    let map: serde_json::Value = serde_json::from_str(&folder.read("warm/map.json")).unwrap();
    assert_eq!(map["arrays"][0]["snapshots"][0]["after_segments"][0], 0);
    folder.strewn(&["run", "small.toml", "--out", "cold"]).succeeded();
    folder.strewn(&["compare", "warm", "cold", "--out", "both"]).succeeded();
    let lines = |chart: &str| chart.matches("<polyline").count();
    let chart = folder.read("both/iops.svg");
    assert!(chart.contains("segment 0: ") && lines(&chart) > 0, "{chart}");
}

#[test]
fn regression_a_load_that_ends_in_it_is_named() {
    let folder = Folder::new();
    folder.write("short.fio", "[a]\nrw=randread\nsize=64k\n");
    let words = ["run", "small.toml", "--fio-job", "short.fio", "--set", "warm_up=10 min"];
    folder.strewn(&words).refused(&["ended during the warm-up", "shorter warm_up"]);
}

#[test]
fn regression_a_load_that_ends_before_its_goal_is_named() {
    let folder = Folder::new();
    folder.write("short.fio", "[a]\nrw=randwrite\nsize=1m\n");
    let words = ["run", "small.toml", "--fio-job", "short.fio", "--until", "rewritten 300 %"];
    let tables = folder.strewn(&words).succeeded();
    assert!(!tables.contains("Give more segments"), "{tables}");
}
