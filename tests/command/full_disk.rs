//! A full disk: what was found is printed, what can be written is written, and the rest is said.
#![cfg(unix)]

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::common::{Folder, Ran, contents};
use strewn::results::Results;

/// `strewn` with these words, whose files may not be larger than this: a write beyond it fails as on a full disk.
fn with_files_of_at_most(folder: &Folder, half_kib: u32, words: &[&str]) -> Ran {
    // A program that ignores the signal is told by an error.
    let limited = format!("trap '' XFSZ; ulimit -f {half_kib}; exec \"$0\" \"$@\"");
    let strewn = folder.command(words);
    let mut shell = Command::new("sh");
    shell.args(["-c", &limited]).arg(strewn.get_program()).args(strewn.get_args());
    shell.current_dir(folder.path(".")).env("NO_COLOR", "1").stdin(Stdio::null());
    Ran::of(shell.output().unwrap())
}

fn names(folder: &Folder, directory: &str) -> Vec<String> {
    contents(&folder.path(directory)).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn tables_are_printed_and_what_fits_is_written() {
    let folder = Folder::new();
    let ran = with_files_of_at_most(&folder, 150, &["run", "small.toml", "--out", "out"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("RMS error of"), "{}", ran.stdout);
    for part in
        ["cannot write into out", "report.html (", "other files are written", "strewn report out"]
    {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
    let names = names(&folder, "out");
    assert!(
        names.contains(&"results.json".to_owned()) && !names.contains(&"report.html".to_owned()),
        "{names:?}"
    );
    assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{names:?}");
    Results::from_json(&folder.read("out/results.json")).unwrap();
    // The rest can be made when there is room.
    folder.strewn(&["report", "out"]).succeeded();
    assert!(folder.path("out/report.html").exists());
}

#[test]
fn results_that_were_there_are_not_replaced_in_part() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    let before = contents(&folder.path("out"));
    let words = ["run", "small.toml", "--out", "out", "--force", "--seed", "9"];
    let ran = with_files_of_at_most(&folder, 4, &words);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("the results that were there are unchanged"), "{}", ran.stderr);
    assert!(contents(&folder.path("out")) == before);
}

#[test]
fn a_log_of_operations_that_does_not_fit_loses_no_run() {
    let folder = Folder::new();
    let words = ["run", "small.toml", "--record-iolog", "o.log", "--out", "out"];
    let ran = with_files_of_at_most(&folder, 2000, &words);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("RMS error of"), "{}", ran.stdout);
    assert!(ran.stderr.contains("cannot write the log of operations o."), "{}", ran.stderr);
    assert!(folder.path("out/report.html").exists());
    let left = fs::read_dir(folder.path(".")).unwrap();
    assert!(
        left.into_iter().all(|file| !file.unwrap().file_name().to_string_lossy().contains(".tmp"))
    );
}

#[test]
fn a_save_that_does_not_fit_loses_no_complete_segment() {
    let folder = Folder::new();
    // The description of the run fits, and the states of its arrays do not.
    let words = ["run", "small.toml", "--jobs", "1", "--save", "saved", "--out", "out"];
    let ran = with_files_of_at_most(&folder, 900, &words);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for part in ["saved/array-1.state cannot be written", "make room", "strewn run --resume saved"]
    {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
    assert!(ran.stdout.contains("stopped"), "{}", ran.stdout);
    let partial = Results::from_json(&folder.read("out/results.json")).unwrap();
    assert!(partial.partial);
    assert_eq!(partial.arrays[0].segments.len(), 1);
    assert!(folder.path("out/report.html").exists());
    // What it says to do once there is room gives the run.
    folder.strewn(&["run", "--resume", "saved", "--out", "out", "--force"]).succeeded();
    let resumed = Results::from_json(&folder.read("out/results.json")).unwrap();
    folder.strewn(&["run", "small.toml", "--out", "whole"]).succeeded();
    let whole = Results::from_json(&folder.read("whole/results.json")).unwrap();
    assert_eq!(resumed.arrays, whole.arrays);
}

#[test]
fn a_full_standard_output_loses_no_files() {
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let folder = Folder::new();
    let mut command = folder.command(&["run", "small.toml", "--out", "out"]);
    let ran = Ran::of(command.stdout(full).output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write to standard output"), "{}", ran.stderr);
    assert!(folder.path("out/report.html").exists());
}

#[test]
fn the_name_of_a_log_is_checked_before_the_run() {
    let folder = Folder::new();
    // At full scale: a refusal that came after the run would take minutes.
    let shipped = format!("{}/scenarios/making-sense-of-wafl-4.toml", crate::common::PROJECT);
    for log in ["/dev/full", "/dev/null"] {
        folder.strewn(&["run", &shipped, "--record-iolog", log]).refused(&["is not a plain file"]);
    }
}

#[test]
fn where_the_files_went_is_said() {
    let folder = Folder::new();
    let tables = folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    let last = tables.lines().last().unwrap();
    assert!(last.starts_with("Written into out: report.html, and "), "{last}");
}

#[test]
fn regression_a_group_without_room_for_its_spindles_changes_nothing() {
    let folder = Folder::new();
    let create = ["array", "create", "a", "--layout", "raid-4", "--data-spindles", "2"];
    let sizes = ["--spindle-size", "16MiB", "--lun-size", "16MiB"];
    folder.strewn(&[&create[..], &sizes].concat()).succeeded();
    let before = contents(&folder.path("a"));
    // Files of 20 MiB at most.
    let add = ["array", "add-group", "a", "--spindle-size", "40MiB", "--preallocate"];
    let ran = with_files_of_at_most(&folder, 20 << 11, &add);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(contents(&folder.path("a")) == before, "{}", ran.stderr);
}
