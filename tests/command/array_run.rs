//! `strewn array run`: an array of small files under a workload, in real time.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, Ran};

fn with_array() -> Folder {
    let folder = Folder::new();
    let sizes = ["--spindle-size", "32MiB", "--lun-size", "16MiB"];
    let layout = ["array", "create", "a", "--layout", "raid-4", "--data-spindles", "3"];
    folder.strewn(&[&layout[..], &sizes].concat()).succeeded();
    folder
}

/// Whether the array was shut down as it should be.
fn clean(folder: &Folder) -> bool {
    let status = folder.strewn(&["array", "status", "a", "--json"]).succeeded();
    let status: Value = serde_json::from_str(&status).unwrap();
    status["clean"] == true
}

#[test]
fn an_array_is_driven_in_real_time_and_reports_what_a_simulation_would() {
    let folder = with_array();
    let words = ["array", "run", "a", "--outstanding", "8", "--segments", "2", "--segment", "1s"];
    let ran = folder.strewn(&[&words[..], &["--out", "r"]].concat()).succeeded();
    assert!(ran.contains("real spindles: files"), "{ran}");

    let results: Value = serde_json::from_str(&folder.read("r/results.json")).unwrap();
    assert_eq!((&results["schema"], &results["scenario"]), (&1.into(), &"a".into()));
    let real = &results["real_spindles"];
    assert!(real["fill"]["mib_per_s"].as_f64().unwrap() > 0.0, "{real}");
    assert_eq!(real["fill"]["bytes"], 16 << 20);
    assert_eq!(real["log"].as_array().unwrap().len(), 2);
    let array = &results["arrays"][0];
    assert_eq!((&array["name"], &array["outstanding"]), (&"a".into(), &8.into()));
    assert_eq!((&array["spindles"]["data"], &array["spindles"]["parity"]), (&3.into(), &1.into()));
    let segments = array["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 2);
    for segment in segments {
        let number = |name: &str| segment.pointer(name).and_then(Value::as_f64).unwrap();
        assert_eq!(number("/seconds"), 1.0);
        assert!(number("/ops") > 0.0 && number("/iops") > 0.0 && number("/mib_per_s") > 0.0);
        assert!(number("/response_ms/mean") > 0.0);
        assert!(number("/response_ms/p99") <= number("/response_ms/max") * 1.001);
        for share in ["controller", "spindles", "parity_spindles"] {
            assert!((0.0..=1.0).contains(&number(&format!("/utilization/{share}"))), "{segment}");
        }
        assert!(number("/spindle_commands/mean_service_ms") > 0.0);
        assert!(number("/consistency_points/count") > 0.0, "the log is small: {segment}");
        // Without what was under way at its ends, which is accounted for apart.
        assert!(number("/checks/littles_law_error_percent") < 5.0, "{segment}");
    }
    // Exact, whatever the array was given: a sixteenth and a quarter of the LUN.
    let cache = &array["parameters"].as_array().unwrap()[..];
    let cache = cache.iter().find(|one| one["name"] == "write_anywhere.buffer_cache").unwrap();
    assert_eq!(cache["value"].as_f64().unwrap() % 4096.0, 0.0, "{cache}");
    assert_eq!(array["lun_bytes"], 16 << 20);
    assert_eq!(results["load"]["accesses"]["specification"], "file-server");
    let report = folder.read("r/report.html");
    assert!(report.contains("measured") && !report.contains("simulated, predicted"));
    assert!(report.contains("no two runs give the same figures"));
    assert!(!report.contains("give the same figures on any machine"));
    assert!(folder.read("r/segments.csv").lines().count() == 3);
    let map: Value = serde_json::from_str(&folder.read("r/map.json")).unwrap();
    assert_eq!(map["arrays"][0]["name"], "a");

    // It was left as it should be, and goes on from there: nothing is written in full again.
    assert!(clean(&folder));
    let words =
        ["array", "run", "a", "--random-read", "4KiB", "--segments", "1", "--segment", "200ms"];
    let again = folder.strewn(&[&words[..], &["--json"]].concat()).succeeded();
    let again: Value = serde_json::from_str(&again).unwrap();
    assert!(again["real_spindles"]["fill"].is_null());
    assert_eq!(again["arrays"][0]["segments"][0]["spindle_commands"]["parity_writes"], 0);
    assert!(clean(&folder));
}

#[test]
fn interrupted_it_keeps_what_is_complete_and_shuts_the_array_down() {
    let folder = with_array();
    let words =
        ["array", "run", "a", "--random-write", "4KiB", "--segments", "60", "--segment", "300ms"];
    let mut command = folder.command(&[&words[..], &["--json"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    // The shell has a `kill` of its own; machines without one beside it are about.
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["partial"], true);
    assert!(!results["arrays"][0]["segments"].as_array().unwrap().is_empty());
    assert!(clean(&folder));
}

/// What arrays in place are there for: beside another layout, though the two are in directories of different names.
#[test]
fn arrays_of_different_layouts_are_compared() {
    let folder = with_array();
    let sizes = ["--spindle-size", "32MiB", "--lun-size", "16MiB"];
    let layout = ["array", "create", "b", "--layout", "raid-5", "--data-spindles", "3"];
    folder.strewn(&[&layout[..], &sizes].concat()).succeeded();
    for (array, out) in [("a", "ra"), ("b", "rb")] {
        let words = ["array", "run", array, "--segments", "1", "--segment", "300ms", "--out", out];
        folder.strewn(&words).succeeded();
    }
    let tables = folder.strewn(&["compare", "ra", "rb", "--out", "both"]).succeeded();
    for part in ["a, b: IOPS", "layout", "write-anywhere", "in-place", "ra", "rb"] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
    let csv = folder.read("both/comparison.csv");
    assert!(csv.contains("ra,a,1,") && csv.contains("rb,b,1,"), "{csv}");
    assert!(folder.read("both/iops.svg").contains("b, rb"));
}

/// The map has one row then, and there is much to say of the run.
#[test]
fn interrupted_after_its_first_segments_it_writes_all_its_files() {
    let folder = with_array();
    let words = ["array", "run", "a", "--random-read", "4KiB", "--out", "o"];
    let ran = stopped_after_some_segments(&folder, &words);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let results: Value = serde_json::from_str(&folder.read("o/results.json")).unwrap();
    assert_eq!(results["partial"], true);
    assert!(!results["arrays"][0]["segments"].as_array().unwrap().is_empty());
    for name in ["report.html", "segments.csv", "map.json", "iops.svg", "map.svg", "commands.svg"] {
        assert!(folder.path("o").join(name).exists(), "no {name}");
    }
    assert!(clean(&folder));
}

/// The file is written in full before.
fn stopped_after_some_segments(folder: &Folder, words: &[&str]) -> Ran {
    folder.strewn(&["array", "run", "a", "--segments", "1", "--segment", "1ms"]).succeeded();
    let segments = ["--segments", "9", "--segment", "1s"];
    let mut command = folder.command(&[words, &segments].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2_500));
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn each_of_two_jobs_has_figures_of_its_own() {
    let folder = with_array();
    let job = "ioengine=libaio\niodepth=4\nsize=8m\ntime_based\nruntime=9s\n";
    folder.write(
        "two.fio",
        &format!("[small]\nrw=randread\nbs=4k\n{job}[large]\nrw=write\nbs=64k\n{job}"),
    );
    let segments = ["--segments", "2", "--segment", "300ms", "--out", "o"];
    let words = [&["array", "run", "a", "--fio-job", "two.fio"], &segments[..]].concat();
    folder.strewn(&words).succeeded();
    let results: Value = serde_json::from_str(&folder.read("o/results.json")).unwrap();
    for segment in results["arrays"][0]["segments"].as_array().unwrap() {
        let jobs = segment["by_workload"].as_array().unwrap();
        assert_eq!((&jobs[0]["name"], &jobs[1]["name"]), (&"small".into(), &"large".into()));
        assert_eq!(jobs[0]["reads"]["ops"], segment["host"]["reads"]["ops"]);
        assert_eq!(jobs[1]["writes"]["ops"], segment["host"]["writes"]["ops"]);
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_a_remedy() {
    let folder = with_array();
    folder.write("big.fio", "[big]\nrw=randread\nbs=4k\nsize=1g\n");
    folder.write("far.csv", "128166372003061629,hm,0,Read,1073741824,4096,0\n");
    let refusals: &[(&[&str], &[&str])] = &[
        (&["missing"], &["missing", "give the directory that the array was created in"]),
        (
            &["a", "--file", "1GiB"],
            &["1 GiB does not fit the LUN of 16 MiB", "--file 16 MiB or less"],
        ),
        (
            &["a", "--random-write", "64MiB"],
            &["accesses of 64 MiB do not fit a file of 16 MiB", "smaller accesses"],
        ),
        (
            &["a", "--random-read", "8KiB", "--file", "4KiB"],
            &["accesses of 8 KiB do not fit a file of 4 KiB", "a longer --file"],
        ),
        (&["a", "--random-read", "100B"], &["whole sectors of 512 B"]),
        (&["a", "--segment", "10"], &["has no unit"]),
        (&["a", "--random-read", "4KiB", "--trace", "x"], &["cannot be used with"]),
        (&["a", "--access-spec", "none.icf"], &["cannot read none.icf"]),
        (
            &["a", "--fio-job", "big.fio"],
            &[
                "accesses 1 GiB from byte 0, and the file under load has 16 MiB",
                "create an array with a larger --lun-size, or make the region smaller",
            ],
        ),
        (
            &["a", "--fio-job", "big.fio", "--file", "8MiB"],
            &["give a larger --file, or none for all of the LUN, or make the region smaller"],
        ),
        (
            &["a", "--trace", "far.csv"],
            &["create an array with a larger --lun-size, or give --wrap"],
        ),
    ];
    for (words, said) in refusals {
        let ran = folder.strewn(&[&["array", "run"], *words].concat());
        ran.refused(said);
        assert!(!ran.stderr.contains("scenario"), "there is none: {}", ran.stderr);
    }
}
