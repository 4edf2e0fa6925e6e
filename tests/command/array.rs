//! `strewn array`: arrays of real files.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::common::{Folder, Ran};
use serde_json::Value;
use strewn_live::device::DeviceFile;

const CREATE: &[&str] = &[
    "array",
    "create",
    "a",
    "--layout",
    "raid-dp",
    "--data-spindles",
    "3",
    "--spindle-size",
    "24MiB",
    "--lun-size",
    "16 MiB",
];

fn array(folder: &Folder, words: &[&str]) -> Ran {
    folder.strewn(&[&["array"], words].concat())
}

/// Every file below, by path.
fn all(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn an_array_is_created_looked_at_failed_and_destroyed() {
    let folder = Folder::new();
    let before = all(&folder.path(""));
    let created = folder.strewn(CREATE).succeeded();
    assert!(created.contains("in a: raid-dp of 5 spindles, a LUN of 16 MiB."), "{created}");
    let status = array(&folder, &["status", "a"]).succeeded();
    for fragment in ["raid-dp, 5 spindles", "16 MiB", "whole", "point  0,", "a/log", "a/spindle-04"]
    {
        assert!(status.contains(fragment), "no {fragment:?} in\n{status}");
    }
    let failed = array(&folder, &["fail", "a", "1"]).succeeded();
    assert!(failed.contains("Spindle 1 of a is marked as failed"), "{failed}");
    let json = array(&folder, &["status", "a", "--json"]).succeeded();
    let status: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status["condition"], "degraded");
    assert_eq!(status["spindles"][1]["state"], "failed");
    assert_eq!(status["spindles"][0]["state"], "present");
    assert_eq!(status["label_sequence"], 2);
    assert_eq!(status["problems"][0]["position"], 1);
    array(&folder, &["destroy", "a", "--yes"]).succeeded();
    assert_eq!(all(&folder.path("")), before);
}

#[test]
fn what_a_tired_person_does_is_refused_with_place_and_remedy() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let image = fs::File::create(folder.path("disk")).unwrap();
    image.set_len(24 << 20).unwrap();
    image.write_all_at(b"XFSB", 0).unwrap();
    let blank = fs::File::create(folder.path("blank")).unwrap();
    blank.set_len(24 << 20).unwrap();
    fs::create_dir(folder.path("empty")).unwrap();
    let before = all(&folder.path(""));
    let create = |words: &[&str]| [&["create"], words].concat().join(" ");
    let sizes = "--layout raid-4 --lun-size 16MiB";
    let cases = [
        (
            CREATE[1..].join(" ").replace("16 MiB", "16MiB"),
            "already holds an array: array.toml",
            "force",
        ),
        (
            create(&["b --layout raid-dp --data-spindles 3 --spindle-size 24MiB --lun-size 1GiB"]),
            "a LUN of 1 GiB does not fit",
            "the largest that fits has",
        ),
        (
            create(&["b --layout raid-5 --data-spindles 1 --spindle-size 24MiB --lun-size 16MiB"]),
            "2 spindles",
            "2 to 63 data spindles",
        ),
        (
            create(&["b --layout raid-6 --data-spindles 5 --spindle-size 24MiB --lun-size 16MiB"]),
            "raid-6",
            "raid-dp",
        ),
        (
            create(&[
                "b --layout raid-dp --data-spindles 40 --spindle-size 24MiB --lun-size 16MiB",
            ]),
            "42 spindles",
            "1 to 26 data spindles",
        ),
        (
            create(&["b --layout raid-dp --data-spindles 3 --spindle-size 24 --lun-size 16MiB"]),
            "has no unit",
            "MiB",
        ),
        (
            create(&["b --layout raid-dp --data-spindles 3 --lun-size 16MiB"]),
            "--spindle-size",
            "--help",
        ),
        (
            create(&["b", sizes, "--spindles blank,blank"]),
            "blank and blank are the same device",
            "once",
        ),
        (create(&["b", sizes, "--spindles blank,disk"]), "disk holds an XFS file system", "force"),
        (create(&["b", sizes, "--spindles blank,nothing"]), "nothing: cannot open it", "path"),
        (create(&["b", sizes, "--spindles blank,empty"]), "empty is neither", "give a file"),
        (create(&["b", sizes, "--spindles blank,a/spindle-01"]), "a label of Strewn", "force"),
        (
            create(&["blank", sizes, "--data-spindles 3 --spindle-size 24MiB"]),
            "blank: ",
            "directory",
        ),
        (
            create(&["b/c", sizes, "--data-spindles 3 --spindle-size 24MiB"]),
            "b/c: the directory above",
            "new name",
        ),
        ("status empty".to_owned(), "empty holds no array", "created in"),
        ("status nowhere".to_owned(), "nowhere: ", "created in"),
        ("fail a 7".to_owned(), "spindles 0 to 4", "one of those"),
        ("fail a -1".to_owned(), "-1", "--help"),
        ("fail empty 1".to_owned(), "empty holds no array", "created in"),
        ("destroy a".to_owned(), "a with array", "--yes"),
        ("destroy empty --yes".to_owned(), "empty holds no array", "created in"),
    ];
    for (words, place, remedy) in cases {
        let words: Vec<&str> = words.split(' ').collect();
        array(&folder, &words).refused(&[place, remedy]);
        assert!(all(&folder.path("")) == before, "{words:?} wrote something");
    }
}

#[test]
fn an_array_that_is_in_use_is_looked_at_and_left_alone() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let held = DeviceFile::open(folder.path("a/spindle-02")).unwrap();
    let status = array(&folder, &["status", "a"]).succeeded();
    assert!(status.contains("in use             yes"), "{status}");
    if cfg!(target_os = "linux") {
        assert!(status.contains(&format!("by process {}", std::process::id())), "{status}");
    }
    let before = all(&folder.path(""));
    array(&folder, &["fail", "a", "1"]).refused(&["a/spindle-02 is in use", "end the program"]);
    array(&folder, &["destroy", "a", "--yes"]).refused(&["a/spindle-02 is in use"]);
    folder.strewn(&[CREATE, &["--force"]].concat()).refused(&["a/spindle-02 is in use"]);
    assert!(all(&folder.path("")) == before);
    drop(held);
    fs::remove_file(folder.path("a/log")).unwrap();
    let status = array(&folder, &["status", "a"]).succeeded();
    assert!(status.contains("unusable") && status.contains("the log is missing"), "{status}");
    array(&folder, &["fail", "a", "1"]).refused(&["the log is missing", "told are safe"]);
}
