//! Ctrl-C and the signals like it: what is complete is kept.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Folder, Ran};
use strewn::results::Results;

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

/// Segments of `small.toml` that a run must have completed before it is stopped here.
const SOME_SEGMENTS: usize = 4;
/// Stopped first after this, then after twice as long, until the run had time for some segments.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// A machine that completes no segment of a few milliseconds in this time runs nothing.
const LAST_WAIT: Duration = Duration::from_secs(128);

/// Runs `small.toml` without end, and stops it after a while.
fn stopped_run(signal: &str, wait: Duration) -> (Folder, Ran) {
    let folder = Folder::new();
    let words = ["run", "small.toml", "--segments", "100000", "--out", "out", "--json"];
    let child = start(&folder, &words);
    sleep(wait);
    send(signal, &child);
    let asked = Instant::now();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(180), "it took {took:?} to stop");
    (folder, ran)
}

/// A run that was stopped after every array had completed some segments.
fn stopped_after_some_segments(signal: &str) -> (Folder, Ran, Results) {
    let mut wait = FIRST_WAIT;
    loop {
        let (folder, ran) = stopped_run(signal, wait);
        if let Ok(results) = Results::from_json(&ran.stdout)
            && results.arrays.iter().all(|array| array.segments.len() >= SOME_SEGMENTS)
        {
            return (folder, ran, results);
        }
        assert!(wait < LAST_WAIT, "no {SOME_SEGMENTS} segments in {wait:?}: {}", ran.stdout);
        wait *= 2;
    }
}

#[test]
fn what_is_complete_is_written_and_marked() {
    for signal in ["INT", "TERM"] {
        let (folder, ran, results) = stopped_after_some_segments(signal);
        assert!(results.partial);
        assert_eq!(folder.read("out/results.json"), ran.stdout);
        assert!(folder.path("out/iops.svg").exists());
        // Complete means as if it had not been stopped.
        let whole = folder.strewn(&["run", "small.toml", "--json"]).succeeded();
        let whole = Results::from_json(&whole).unwrap();
        for (stopped, whole) in results.arrays.iter().zip(&whole.arrays) {
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
fn a_characterization_that_is_stopped_writes_nothing() {
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

/// The first run is complete long before the others: its figures are, and the bands are of the runs that got that far.
#[test]
fn further_seeds_that_are_stopped_leave_the_run_whole() {
    let mut wait = FIRST_WAIT;
    loop {
        let folder = Folder::new();
        let words = ["run", "small.toml", "--replicates", "1000", "--jobs", "2", "--json"];
        let child = start(&folder, &words);
        sleep(wait);
        send("INT", &child);
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(130), "{}", ran.stderr);
        let Ok(results) = Results::from_json(&ran.stdout) else {
            assert!(wait < LAST_WAIT, "nothing in {wait:?}");
            wait *= 2;
            continue;
        };
        if results.partial {
            wait *= 2;
            continue;
        }
        assert!(results.bands.as_ref().unwrap().stopped);
        let whole = folder.strewn(&["run", "small.toml", "--json"]).succeeded();
        let whole = Results::from_json(&whole).unwrap();
        for (stopped, whole) in results.arrays.iter().zip(&whole.arrays) {
            let iops = |array: &strewn::results::ArrayResults| -> Vec<f64> {
                array.segments.iter().map(|segment| segment.iops).collect()
            };
            assert_eq!(iops(stopped), iops(whole));
        }
        return;
    }
}
