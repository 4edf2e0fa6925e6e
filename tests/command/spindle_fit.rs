//! `strewn spindle --fit`: what is refused, and what a profile that was measured is good for.
#![cfg(unix)]

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use strewn::spindle::fit::{SimulatedDrive, fit};
use strewn::spindle::{Drive, Profile};

use crate::common::Folder;

const X15: &str = "seagate-cheetah-x15-st318451fc";

/// A file of this length that takes no room.
fn sparse(folder: &Folder, name: &str, bytes: u64) {
    fs::File::create(folder.path(name)).unwrap().set_len(bytes).unwrap();
}

/// What is in the folder and how long; the images and the pipe are not to be read.
fn listing(folder: &Folder) -> Vec<(std::ffi::OsString, u64)> {
    let entries = fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap());
    let mut listing: Vec<_> = entries
        .map(|entry| (entry.file_name(), entry.path().symlink_metadata().unwrap().len()))
        .collect();
    listing.sort();
    listing
}

#[test]
fn a_raw_image_does_not_rotate_and_the_evidence_is_given() {
    let folder = Folder::new();
    sparse(&folder, "raw.img", 1 << 30);
    let before = listing(&folder);
    let ran = folder.strewn(&["spindle", "--fit", "raw.img", "--out", "drive.toml"]);
    ran.refused(&[
        "raw.img",
        "does not rotate: one sector read again and again takes 0.",
        "spread over 0.",
        "cohere to",
        "help: ",
        "nothing was written",
    ]);
    assert_eq!(listing(&folder), before);
}

#[test]
fn what_cannot_be_measured_or_written_is_named_with_a_remedy() {
    let folder = Folder::new();
    folder.write("empty.img", "");
    folder.write("present.toml", "mine");
    sparse(&folder, "small.img", 3 << 20);
    sparse(&folder, "raw.img", 1 << 30);
    sparse(&folder, "image.toml", 1 << 30);
    fs::create_dir(folder.path("directory")).unwrap();
    fs::create_dir(folder.path("directory.toml")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(folder.path("socket")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path("dangling.toml")).unwrap();
    let before = listing(&folder);
    let whole_drive = "give a whole drive; nothing was written";
    let device = "give a block device such as /dev/sdX that you may read, or a file";
    for (words, says) in [
        (&["missing", "--out", "new.toml"][..], &["cannot open missing", device][..]),
        (&["directory", "--out", "new.toml"], &["directory is a directory", device]),
        (&["/dev/null", "--out", "new.toml"], &["/dev/null is a character device", device]),
        (&["pipe", "--out", "new.toml"], &["pipe is a pipe", device]),
        (&["socket", "--out", "new.toml"], &["socket is a socket", device]),
        (&["empty.img", "--out", "new.toml"], &["empty.img", "0 sectors", whole_drive]),
        (&["small.img", "--out", "new.toml"], &["small.img", "768 sectors", whole_drive]),
        (
            &["raw.img", "--out", "present.toml"],
            &["--out present.toml: is there already", "--force"],
        ),
        (&["raw.img", "--out", "new"], &["--out new: does not end in .toml", "by its .toml"]),
        (&["raw.img", "--out", "none/new.toml"], &["there is no such directory", "make it first"]),
        (&["raw.img", "--out", "directory.toml", "--force"], &["directory.toml: is no plain file"]),
        (&["raw.img", "--out", "dangling.toml"], &["--out dangling.toml", "symbolic link"]),
        (&["image.toml", "--out", "image.toml", "--force"], &["--out is what is to be measured"]),
        (&["raw.img"], &["--out <PATH>"]),
        (&["raw.img", X15, "--out", "new.toml"], &["cannot be used with"]),
        (&["raw.img", "--out", "new.toml", "--json"], &["cannot be used with"]),
        (&["raw.img", "--out", "new.toml", "--seed", "1"], &["cannot be used with"]),
        (&["raw.img", "--out", "new.toml", "--cache", "on"], &["--cache", "help: "]),
        (&["raw.img", "--out", "new.toml", "--closed-loop", "1"], &["cannot be used with"]),
    ] {
        folder.strewn(&[&["spindle", "--fit"], words].concat()).refused(says);
    }
    assert_eq!(listing(&folder), before);
    assert_eq!(folder.read("present.toml"), "mine");
}

#[test]
fn a_profile_that_was_measured_stands_for_the_drive() {
    let folder = Folder::new();
    let drive = Arc::new(Drive::new(&Profile::shipped(X15).unwrap()).unwrap());
    let mut black_box = SimulatedDrive::new(drive).unwrap();
    let found = fit(&mut black_box, "measured", "a black box", &mut |_| ()).unwrap();
    folder.write("measured.toml", &found.toml);
    let iops = |profile: &str, depth: &str| {
        let words = ["spindle", profile, "--closed-loop", depth, "--scheduler", "sptf", "--json"];
        let figures: Value = serde_json::from_str(&folder.strewn(&words).succeeded()).unwrap();
        figures["iops"].as_f64().unwrap()
    };
    for depth in ["1", "8", "32"] {
        let error_percent = 100.0 * (iops("measured.toml", depth) / iops(X15, depth) - 1.0);
        println!("depth {depth}: {error_percent:+.2} %");
        assert!(error_percent.abs() < 3.0, "{error_percent} % at depth {depth}");
    }
    let tables = folder.strewn(&["spindle", "measured.toml", X15, "--out", "out"]).succeeded();
    assert!(tables.contains("A: measured") && tables.contains(&format!("B: {X15}")), "{tables}");
}
