//! `strewn run --out`: the files it writes, and those it leaves alone.

use std::fs;

use crate::common::{Folder, contents};
use strewn::results::Results;

const FILES: [&str; 15] = [
    "commands.svg",
    "iops.svg",
    "loss.svg",
    "map.json",
    "map.svg",
    "per-spindle.svg",
    "percentiles.svg",
    "provenance.json",
    "report.html",
    "response.svg",
    "results.json",
    "scenario.toml",
    "scores.svg",
    "segments.csv",
    "utilization.svg",
];

fn names(folder: &Folder, directory: &str) -> Vec<String> {
    contents(&folder.path(directory)).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn files_are_written_into_a_new_directory() {
    let folder = Folder::new();
    let out = ["run", "small.toml", "--out", "some/where", "--json"];
    let printed = folder.strewn(&out).succeeded();
    assert_eq!(names(&folder, "some/where"), FILES);
    assert_eq!(folder.read("some/where/results.json"), printed);

    let results = Results::from_json(&printed).unwrap();
    let csv = folder.read("some/where/segments.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let iops = reader.headers().unwrap().iter().position(|name| name == "host_ops_per_s").unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    let segments: Vec<_> = results.arrays.iter().flat_map(|array| &array.segments).collect();
    assert_eq!((rows.len(), segments.len()), (6, 6));
    for (row, segment) in rows.iter().zip(segments) {
        assert_eq!(row[iops].parse(), Ok(segment.iops));
    }
    for chart in ["some/where/iops.svg", "some/where/response.svg"] {
        let text = folder.read(chart);
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "svg");
        assert!(text.contains("anywhere"), "{chart} does not name the array");
    }
}

#[test]
fn a_directory_in_use_is_refused_before_the_run_and_left_as_it_is() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    folder.write("out/notes.txt", "mine");
    let before = contents(&folder.path("out"));

    // At full scale: a refusal that came after the run would take minutes.
    let shipped = format!("{}/scenarios/making-sense-of-wafl-4.toml", crate::common::PROJECT);
    folder
        .strewn(&["run", &shipped, "--out", "out"])
        .refused(&["--out out: the directory is not empty", "--force"]);
    assert_eq!(contents(&folder.path("out")), before);
}

/// The directory belongs to a run from its beginning on, whether it is new, empty or to be replaced.
#[test]
#[cfg(unix)]
fn a_directory_that_another_run_writes_to_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("empty")).unwrap();
    folder.strewn(&["run", "small.toml", "--out", "old"]).succeeded();
    for out in ["new", "some/where", "empty", "old"] {
        let long = ["run", "small.toml", "--segments", "100000", "--force", "--out", out];
        let mut first = folder.command(&long).stderr(std::process::Stdio::null()).spawn().unwrap();
        while !folder.path(out).is_dir() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // It locks the directory as soon as it is there.
        std::thread::sleep(std::time::Duration::from_millis(200));
        for words in [&["run", "small.toml"][..], &["compare", "old", "old"]] {
            let second = folder.strewn(&[words, &["--force", "--out", out]].concat());
            second.refused(&["another run writes its results there", "give another directory"]);
        }
        first.kill().unwrap();
        first.wait().unwrap();
        // What a killed run leaves is no obstacle.
        folder.strewn(&["run", "small.toml", "--force", "--out", out]).succeeded();
        assert_eq!(names(&folder, out), FILES);
    }
}

#[test]
fn force_replaces_results_and_nothing_else() {
    let folder = Folder::new();
    fs::create_dir(folder.path("out")).unwrap();
    folder.write("out/notes.txt", "mine");
    folder.write("out/results.json", "old");
    // Of other results: it would tell of a run that is not there any more.
    folder.write("out/utilization.png", "old");
    folder.strewn(&["run", "small.toml", "--out", "out", "--force"]).succeeded();
    assert_eq!(folder.read("out/notes.txt"), "mine");
    assert!(Results::from_json(&folder.read("out/results.json")).is_ok());
    assert_eq!(names(&folder, "out").len(), FILES.len() + 1);
}

#[test]
fn an_empty_directory_is_as_good_as_none() {
    let folder = Folder::new();
    fs::create_dir(folder.path("out")).unwrap();
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    assert_eq!(names(&folder, "out"), FILES);
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_run() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("taken/results.json")).unwrap();
    let before = folder.contents();
    for (out, reason) in [
        ("small.toml", "--out small.toml is not a directory"),
        ("small.toml/below", "nothing can be written there"),
        ("taken", "the directory is not empty"),
    ] {
        folder.strewn(&["run", "small.toml", "--out", out]).refused(&[reason, "help: "]);
    }
    let forced = ["run", "small.toml", "--out", "taken", "--force"];
    folder.strewn(&forced).refused(&["results.json in it is a directory"]);
    assert_eq!(folder.contents(), before);
}

#[cfg(unix)]
#[test]
fn regression_force_replaces_no_links_pipes_and_devices() {
    let folder = Folder::new();
    fs::create_dir(folder.path("out")).unwrap();
    folder.write("archive.json", "precious");
    std::os::unix::fs::symlink("../archive.json", folder.path("out/results.json")).unwrap();
    let forced = ["run", "small.toml", "--out", "out", "--force"];
    folder.strewn(&forced).refused(&["results.json in it is no regular file", "move it away"]);
    assert!(folder.path("out/results.json").symlink_metadata().unwrap().is_symlink());
    std::os::unix::fs::symlink("archive.json", folder.path("mine.toml")).unwrap();
    folder.strewn(&["new", "mine", "--force"]).refused(&["mine.toml is there, and is no regular"]);
    std::os::unix::fs::symlink("archive.json", folder.path("small.sensitivity.toml")).unwrap();
    folder.strewn(&["sensitivity", "small.toml"]).refused(&["is no regular file", "--dry-run"]);
    assert_eq!(folder.read("archive.json"), "precious");
}

#[test]
fn a_scenario_that_is_refused_leaves_no_directory() {
    let folder = Folder::new();
    folder.write("bad.toml", &crate::common::SMALL.replace("seed = 7", "sede = 7"));
    folder
        .strewn(&["run", "bad.toml", "--out", "out"])
        .refused(&["bad.toml", "did you mean `seed`?"]);
    assert!(!folder.path("out").exists());
}
