//! Ctrl-C and its kin: what is complete is kept.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Folder, Ran};
use strewn::report::Results;

/// Starts something that would take hours.
fn start(folder: &Folder, words: &[&str]) -> Child {
    let mut command = folder.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    // The shell has a `kill` of its own; machines without one beside it are about.
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Long enough for several segments of a few milliseconds each, on a machine that is busy with other tests.
const SOME_SEGMENTS: Duration = Duration::from_secs(2);

#[test]
fn what_is_complete_is_written_and_marked() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::new();
        let words = ["run", "small.toml", "--segments", "100000", "--out", "out", "--json"];
        let child = start(&folder, &words);
        sleep(SOME_SEGMENTS);
        send(signal, &child);
        let asked = Instant::now();
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(130), "{}", ran.stderr);
        assert!(
            asked.elapsed() < Duration::from_secs(180),
            "it took {:?} to stop",
            asked.elapsed()
        );

        let results = Results::from_json(&ran.stdout).unwrap();
        assert!(results.partial);
        assert_eq!(folder.read("out/results.json"), ran.stdout);
        assert!(folder.path("out/iops.svg").exists());
        // Complete means as if it had not been stopped.
        let whole = folder.strewn(&["run", "small.toml", "--json"]).succeeded();
        let whole = Results::from_json(&whole).unwrap();
        for (stopped, whole) in results.arrays.iter().zip(&whole.arrays) {
            assert!(stopped.segments.len() > 3, "{} segments", stopped.segments.len());
            assert_eq!(stopped.segments[..3], whole.segments[..]);
        }
    }
}

#[test]
fn nothing_complete_is_nothing_written() {
    let folder = Folder::new();
    folder.write("endless.toml", &crate::common::SMALL.replace("\"60 s\"", "\"1000 h\""));
    let child = start(&folder, &["run", "endless.toml", "--out", "out"]);
    sleep(Duration::from_secs(1));
    send("INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""));
    assert!(ran.stderr.contains("stopped before any segment was complete"), "{}", ran.stderr);
    assert!(!folder.path("out").exists());
}

#[test]
fn a_fit_that_is_stopped_leaves_the_scenario_as_it_is() {
    let folder = Folder::new();
    folder.write("endless.toml", &crate::common::SMALL.replace("\"60 s\"", "\"1000 h\""));
    let before = folder.contents();
    let child = start(&folder, &["calibrate", "endless.toml"]);
    sleep(Duration::from_secs(1));
    send("INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""));
    assert!(ran.stderr.contains("stopped before the fit was done"), "{}", ran.stderr);
    assert_eq!(folder.contents(), before);
}

#[test]
fn a_study_of_drives_that_is_stopped_writes_nothing() {
    let folder = Folder::new();
    let before = folder.contents();
    let drive = "nearline-7200-16tb";
    let child = start(&folder, &["spindle", drive, drive, "--cache", "on", "--out", "out"]);
    // Two drives take a second or two; the first is under way long before.
    sleep(Duration::from_millis(300));
    send("INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
    for part in ["stopping; once more", "stopped before the study was done", "nothing was written"]
    {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
    assert_eq!(folder.contents(), before);
}
