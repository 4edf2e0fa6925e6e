//! `strewn report`: pictures from results.

use std::fs;

use crate::common::{Folder, contents};
use serde_json::Value;
use strewn::results::{LayoutMap, Results};

/// A folder with the results of a run in `out`.
fn folder_with_results() -> Folder {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    folder
}

#[test]
fn everything_is_made_again_from_the_results_byte_by_byte() {
    let folder = folder_with_results();
    let before = contents(&folder.path("out"));
    for name in ["report.html", "iops.svg", "segments.csv", "map.svg"] {
        fs::remove_file(folder.path("out").join(name)).unwrap();
    }
    folder.write("out/notes.txt", "mine");
    let said = folder.strewn(&["report", "out"]).succeeded();
    assert!(said.contains("report.html") && said.contains("loss.svg"), "{said}");
    fs::remove_file(folder.path("out/notes.txt")).unwrap();
    assert!(contents(&folder.path("out")) == before, "the files differ from those of the run");

    folder.strewn(&["report", "out", "--out", "elsewhere"]).succeeded();
    assert_eq!(folder.read("elsewhere/report.html"), folder.read("out/report.html"));
    assert!(!folder.path("elsewhere/results.json").exists());
    folder
        .strewn(&["report", "out", "--out", "elsewhere"])
        .refused(&["--out elsewhere: the directory is not empty", "--force"]);
}

#[test]
fn two_runs_give_the_same_report() {
    let (one, other) = (folder_with_results(), folder_with_results());
    assert!(one.read("out/report.html") == other.read("out/report.html"));
    assert_eq!(one.read("out/map.json"), other.read("out/map.json"));
    assert_eq!(one.read("out/scenario.toml"), crate::common::SMALL);
}

#[test]
fn results_of_a_version_without_map_and_losses_are_read() {
    let folder = folder_with_results();
    for name in ["map.json", "scenario.toml", "provenance.json"] {
        fs::remove_file(folder.path("out").join(name)).unwrap();
    }
    let mut results: Value = serde_json::from_str(&folder.read("out/results.json")).unwrap();
    results.as_object_mut().unwrap().remove("losses").unwrap();
    folder.write("out/results.json", &results.to_string());
    let said = folder.strewn(&["report", "out"]).succeeded();
    assert!(said.contains("No map: the results have no map.json."), "{said}");
    let html = folder.read("out/report.html");
    // The account is made anew; there is no map to show, and none of before is left.
    assert!(html.contains("id=\"loss\"") && !html.contains("id=\"map\""));
    assert!(!folder.path("out/map.svg").exists());
}

#[test]
fn size_theme_and_png_are_as_asked_for() {
    let folder = folder_with_results();
    let words =
        ["report", "out", "--out", "new", "--chart-size", "1200x640", "--theme", "dark", "--png"];
    folder.strewn(&words).succeeded();
    let svg = folder.read("new/iops.svg");
    assert!(svg.contains("width=\"1200\" height=\"640\"") && !svg.contains("\"#FFFFFF\""));
    let png = fs::read(folder.path("new/iops.png")).unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    // Width and height, big endian, in the first chunk.
    assert_eq!(png[16..24], [[0, 0, 9, 96], [0, 0, 5, 0]].concat()[..]);
    for size in ["1200", "100x100", "9000x500", "ax1"] {
        folder
            .strewn(&["report", "out", "--chart-size", size])
            .refused(&["from 480x320 to 8000x8000"]);
    }
}

#[test]
fn the_map_says_where_the_file_went() {
    let folder = folder_with_results();
    let map = LayoutMap::from_json(&folder.read("out/map.json")).unwrap();
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    let (anywhere, in_place) = (map.array("anywhere").unwrap(), map.array("inplace").unwrap());
    // A picture before the first segment and one after each; in place one is as good as all.
    let moments: Vec<u32> =
        anywhere.snapshots.iter().flat_map(|at| at.after_segments.iter().copied()).collect();
    assert_eq!(moments, [0, 1, 2, 3]);
    assert_eq!(in_place.snapshots.len(), 1);
    assert_eq!(in_place.snapshots[0].after_segments, [0, 1, 2, 3]);
    assert!(in_place.snapshots[0].spindles.iter().all(|strip| strip.free.is_none()));

    // What of the file is in the map is the file, within what 64 levels can tell.
    let file_columns = |at: usize| -> f64 {
        let strips = &anywhere.snapshots[at].spindles;
        let levels = strips.iter().flat_map(|strip| {
            (0..anywhere.columns as usize).map(|column| f64::from(strip.file.level(column)) / 63.0)
        });
        levels.sum()
    };
    let (fresh, aged) = (file_columns(0), file_columns(3));
    assert!((aged / fresh - 1.0).abs() < 0.1, "{fresh} columns of file, then {aged}");
    let distance = |at: usize| -> u32 {
        let strips = &anywhere.snapshots[at].spindles;
        let all = strips.iter().flat_map(|strip| {
            (0..anywhere.columns as usize).map(|column| u32::from(strip.distance.level(column)))
        });
        all.sum()
    };
    assert!(distance(3) > distance(0), "{} then {}", distance(0), distance(3));
    let span = results.array("anywhere").unwrap().segments[2].layout.span_percent / 100.0;
    assert!(
        (anywhere.span() - span).abs() < 0.02,
        "{} in the map, {span} measured",
        anywhere.span()
    );
}

#[test]
fn what_cannot_be_read_is_said_with_place_and_remedy() {
    let folder = folder_with_results();
    let before = contents(&folder.path("out"));
    fs::create_dir(folder.path("empty")).unwrap();
    folder
        .strewn(&["report", "empty"])
        .refused(&["there is no results.json in empty", "strewn run"]);
    folder.strewn(&["report", "nowhere"]).refused(&["there is no nowhere"]);
    folder
        .strewn(&["report", "."])
        .refused(&["there is no results.json in .", "did you mean ./out?"]);
    folder.strewn(&["report", "small.toml"]).refused(&["small.toml is a file"]);

    let results = folder.read("out/results.json");
    let broken = |text: &str, fragments: &[&str]| {
        folder.write("empty/results.json", text);
        folder.strewn(&["report", "empty"]).refused(fragments);
        assert_eq!(contents(&folder.path("empty")).len(), 1, "something was written");
    };
    broken(&results[..results.len() / 2], &["empty/results.json", "line", "ends too early"]);
    broken("", &["line 1", "ends too early"]);
    broken("{}", &["schema"]);
    broken(
        &results.replacen("\"schema\": 1", "\"schema\": 2", 1),
        &["results: schema 2 cannot be read, only schema 1", "a newer Strewn wrote it"],
    );
    broken(&results.replacen("\"schema\": 1", "\"schema\": 0", 1), &["run the scenario again"]);
    broken(&results.replacen("\"seed\": 7", "\"seed\": \"x\"", 1), &["line 4"]);

    let map = folder.read("out/map.json");
    folder.write("empty/results.json", &results);
    folder.write("empty/map.json", &map.replacen("\"schema\":1", "\"schema\":9", 1));
    folder.strewn(&["report", "empty"]).refused(&["empty/map.json: the map: schema 9"]);
    folder.write("empty/map.json", &map.replacen("\"seed\":7", "\"seed\":8", 1));
    folder.strewn(&["report", "empty"]).refused(&["empty/map.json is of another run"]);
    assert!(contents(&folder.path("out")) == before);
}

#[test]
fn columns_are_chosen_by_their_names_and_as_figures() {
    let folder = folder_with_results();
    folder.strewn(&["report", "out", "--columns", "iops,layout_score_0_to_1"]).succeeded();
    assert!(
        folder
            .read("out/segments.csv")
            .starts_with("array,segment,host_ops_per_s,layout_score_0_to_1\r\nanywhere,1,")
    );
    folder.strewn(&["report", "out", "--table", "markdown", "--columns", "p99_ms"]).succeeded();
    let table = folder.read("out/segments.md");
    assert!(table.starts_with("| array | segment | p99 ms |\n| --- | ---: | ---: |\n"), "{table}");
    // Without a choice, the tables of the command.
    folder.strewn(&["report", "out", "--table", "markdown"]).succeeded();
    let tables = folder.read("out/segments.md");
    assert!(tables.starts_with("## anywhere\n\n| segment |"), "{tables}");
    // Each once, however it is called, since readers look columns up by name.
    let twice = "iops, array,host_ops_per_s,segment";
    folder.strewn(&["report", "out", "--columns", twice]).succeeded();
    assert!(
        folder.read("out/segments.csv").starts_with("array,segment,host_ops_per_s\r\nanywhere,1,")
    );
    folder.strewn(&["report", "out", "--columns", "none"]).refused(&["--list-columns"]);
    let listed = folder.strewn(&["report", "--list-columns"]).succeeded();
    assert!(
        listed.contains("\n| `host_ops_per_s` | `iops` | `iops` | host operations per second |")
    );
}
