//! `strewn array`: arrays of real files.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

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
        ("fail a spindle-01".to_owned(), "'spindle-01'", "number"),
        ("replace a x".to_owned(), "'x'", "or `log`"),
        ("replace a 1 --lose-writes".to_owned(), "is for the log", "leave it out"),
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
fn regression_a_spindle_that_is_whole_is_not_given_up() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let files = all(&folder.path("a")).len();
    array(&folder, &["replace", "a", "1"]).refused(&["spindle 1 is whole", "fail DIR 1"]);
    array(&folder, &["replace", "a", "9"]).refused(&["spindles 0 to 4"]);
    assert_eq!(all(&folder.path("a")).len(), files);
    assert!(array(&folder, &["status", "a"]).succeeded().contains("whole"));
    array(&folder, &["fail", "a", "1"]).succeeded();
    let scrubbed = array(&folder, &["scrub", "a", "--degraded"]);
    assert!(scrubbed.stderr.contains("were not looked at, but computed"), "{}", scrubbed.stderr);
    done(scrubbed);
    done(array(&folder, &["replace", "a", "1"]));
    assert!(array(&folder, &["status", "a"]).succeeded().contains("a/spindle-01-1"));
}

/// One device of the log is lost and replaced; both are whole, and one has to be named.
#[test]
fn a_mirrored_log_does_without_one_device_and_gets_a_new_one() {
    let folder = Folder::new();
    let created = folder.strewn(&[CREATE, &["--mirror-log"]].concat()).succeeded();
    assert!(created.contains("a mirrored log"), "{created}");
    let status = array(&folder, &["status", "a"]).succeeded();
    for fragment in
        ["log a              present    a/log-a", "log b              present    a/log-b"]
    {
        assert!(status.contains(fragment), "no {fragment:?} in\n{status}");
    }
    array(&folder, &["replace", "a", "log"]).refused(&["log-a and log-b", "name the one"]);
    fs::remove_file(folder.path("a/log-b")).unwrap();
    let status = array(&folder, &["status", "a"]).succeeded();
    assert!(
        status.contains("degraded") && status.contains("log b (a/log-b): it is missing"),
        "{status}"
    );
    let scrubbed = array(&folder, &["scrub", "a"]);
    assert!(scrubbed.stderr.contains("warning: log b"), "{}", scrubbed.stderr);
    done(scrubbed);
    let json = array(&folder, &["status", "a", "--json"]).succeeded();
    let status: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status["logs"][1]["state"], "failed");
    assert_eq!(status["log"], "a/log-a");
    let replaced = done(array(&folder, &["replace", "a", "log"]));
    assert!(replaced.contains("log b is now a/log-b"), "{replaced}");
    let replaced = done(array(&folder, &["replace", "a", "log-a"]));
    assert!(replaced.contains("log a is now a/log-a-1"), "{replaced}");
    let status = array(&folder, &["status", "a"]).succeeded();
    assert!(status.contains("whole") && status.contains("present    a/log-a-1"), "{status}");
    array(&folder, &["check", "a"]).succeeded();
    array(&folder, &["destroy", "a", "--yes"]).succeeded();
}

#[test]
fn the_log_is_mirrored_on_two_devices_that_are_given() {
    let folder = Folder::new();
    for name in ["x", "y", "z"] {
        fs::File::create(folder.path(name)).unwrap().set_len(16 << 20).unwrap();
    }
    folder
        .strewn(&[CREATE, &["--log", "x,y,z"]].concat())
        .refused(&["3 devices", "give one, or two"]);
    folder.strewn(&[CREATE, &["--log", "x,x"]].concat()).refused(&["same device"]);
    folder.strewn(&[CREATE, &["--log", "x,y"]].concat()).succeeded();
    let status = array(&folder, &["status", "a"]).succeeded();
    assert!(status.contains("/x\n") && status.contains("/y\n"), "{status}");
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

/// What a command has printed that did what it was asked to, and may have warned of something.
#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

/// The array of [`CREATE`], written to.
fn written() -> Folder {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    run_for_a_moment(&folder, "1");
    folder
}

/// Two runs of one seed that end after as many operations write the same bytes.
fn run_for_a_moment(folder: &Folder, seed: &str) {
    let words = ["run", "a", "--segments", "1", "--segment", "100 ms", "--random-write", "4KiB"];
    done(array(folder, &[&words[..], &["--seed", seed]].concat()));
}

#[test]
fn snapshots_are_taken_listed_copied_and_deleted() {
    let folder = written();
    assert_eq!(array(&folder, &["snapshot", "list", "a"]).succeeded(), "no snapshots\n");
    array(&folder, &["snapshot", "create", "a", "before aging"]).succeeded();
    array(&folder, &["snapshot", "copy", "a", "before aging", "one.img"]).succeeded();
    let one = fs::read(folder.path("one.img")).unwrap();
    assert_eq!(one.len(), 16 << 20);
    run_for_a_moment(&folder, "2");
    array(&folder, &["snapshot", "create", "a", "after"]).succeeded();
    array(&folder, &["snapshot", "copy", "a", "before aging", "again.img"]).succeeded();
    assert!(fs::read(folder.path("again.img")).unwrap() == one, "the snapshot has changed");
    array(&folder, &["snapshot", "copy", "a", "after", "one.img", "--force"]).succeeded();
    assert!(fs::read(folder.path("one.img")).unwrap() != one, "the LUN was not written");

    let json = array(&folder, &["snapshot", "list", "a", "--json"]).succeeded();
    let listed: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<_> =
        listed["snapshots"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["before aging", "after"]);
    assert!(listed["snapshots"][0]["taken"].as_str().unwrap().ends_with('Z'), "{listed}");
    let status = array(&folder, &["status", "a"]).succeeded();
    assert!(status.contains("snapshot           volume@after, taken 2"), "{status}");
    // All that would go is named before it goes.
    array(&folder, &["destroy", "a"]).refused(&[
        "a with array ",
        ", volume volume, LUN volume/lun of 16 MiB, snapshots volume@before aging, volume@after would be destroyed",
        "--yes",
    ]);

    // With a spindle lost too, whether the labels know of that or not.
    fs::remove_file(folder.path("a/spindle-01")).unwrap();
    let words = ["snapshot", "copy", "a", "before aging", "degraded.img"];
    array(&folder, &words).refused(&["--degraded"]);
    done(array(&folder, &[&words[..], &["--degraded"]].concat()));
    assert!(
        fs::read(folder.path("degraded.img")).unwrap()
            == fs::read(folder.path("again.img")).unwrap()
    );
    let checked = done(array(&folder, &["check", "a", "--degraded"]));
    assert!(checked.contains("could not be looked at"), "{checked}");
    done(array(&folder, &["snapshot", "delete", "a", "after", "--degraded"]));
    let checked = done(array(&folder, &["check", "a", "--degraded"]));
    assert!(checked.contains("0 findings"), "{checked}");
    let words = ["check", "a", "--degraded", "--json"];
    let checked: Value = serde_json::from_str(&done(array(&folder, &words))).unwrap();
    assert_eq!(checked["findings"], serde_json::json!([]));
    assert!(checked["blocks"].as_u64() > checked["blocks_missing"].as_u64(), "{checked}");
    done(array(&folder, &["replace", "a", "1"]));
    let scrubbed = done(array(&folder, &["scrub", "a", "--json"]));
    let scrubbed: Value = serde_json::from_str(&scrubbed).unwrap();
    assert_eq!(
        (&scrubbed["bad_blocks"], &scrubbed["gone"]),
        (&Value::from(0), &serde_json::json!([]))
    );
}

#[test]
fn what_no_snapshot_can_be_is_refused_and_changes_nothing() {
    let folder = written();
    array(&folder, &["snapshot", "create", "a", "one"]).succeeded();
    fs::write(folder.path("mine.img"), "mine").unwrap();
    let before = all(&folder.path(""));
    let long = "x".repeat(65);
    for (words, message) in [
        (&["create", "a", "one"][..], "snapshot volume@one exists already"),
        (&["create", "a", "volume@one"], "snapshot volume@one exists already"),
        (&["create", "a", "other@one"], "there is no volume other"),
        (&["create", "a", "volume/lun@one"], "control characters, `/` or `@`"),
        (&["create", "a", "volume@a/b"], "control characters, `/` or `@`"),
        (&["create", "a", ""], "give it another name"),
        (&["create", "a", "line\nbreak"], "control characters"),
        (&["create", "a", &long], "1 to 64 bytes"),
        (&["create", "b", "one"], "No such file"),
        (&["delete", "a", "two"], "there is no snapshot volume@two"),
        (&["copy", "a", "volume/other@one", "two.img"], "there is no volume/other@one"),
        (&["copy", "a", "two", "two.img"], "`strewn array snapshot list DIR` has those there are"),
        (&["copy", "a", "one", "mine.img"], "mine.img is there already"),
        (&["copy", "a", "one", "a/spindle-00", "--force"], "a/spindle-00 is of an array"),
        (&["copy", "a", "one", "a/log", "--force"], "a/log is of an array"),
        (&["copy", "a", "one", "a/array.toml", "--force"], "a/array.toml is of an array"),
    ] {
        array(&folder, &[&["snapshot"], words].concat()).refused(&[message]);
    }
    let ran = array(&folder, &["snapshot", "copy", "a", "one", "no/such.img"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("cannot be written")),
        (Some(1), true),
        "{}",
        ran.stderr
    );
    // A start writes superblocks; nothing else has changed, and nothing is there that was not.
    let names = |all: &[(std::path::PathBuf, Vec<u8>)]| -> Vec<_> {
        all.iter().map(|(path, _)| path.clone()).collect()
    };
    let after = all(&folder.path(""));
    assert_eq!(names(&after), names(&before));
    assert_eq!(fs::read(folder.path("mine.img")).unwrap(), b"mine");
    let listed = array(&folder, &["snapshot", "list", "a"]).succeeded();
    assert_eq!(listed.lines().count(), 1, "{listed}");

    // Until there is no room for the LUN beside them.
    let full = (0..50).find_map(|number| {
        run_for_a_moment(&folder, "2");
        let ran = array(&folder, &["snapshot", "create", "a", &number.to_string()]);
        (ran.code != Some(0)).then_some(ran)
    });
    full.unwrap().refused(&["too little room to overwrite everything once more"]);
    run_for_a_moment(&folder, "2");

    let in_place =
        ["create", "v", "--layout", "raid-5", "--data-spindles", "3", "--spindle-size", "24MiB"];
    array(&folder, &[&in_place[..], &["--lun-size", "16MiB"]].concat()).succeeded();
    array(&folder, &["snapshot", "create", "v", "one"])
        .refused(&["an array in place has one volume with one LUN, and no snapshots"]);
}

/// Serves the array `a` at `lun.sock` with so many descriptors. Returns what it says if it is refused, and `None` once
/// it listens.
fn served_with_descriptors(folder: &Folder, most: u32) -> Option<(Option<i32>, String)> {
    let script = format!("ulimit -n {most}; exec \"$0\" array serve a --socket lun.sock");
    let mut serving = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_strewn")])
        .current_dir(folder.path(""))
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut first).unwrap();
    if first.contains("listening") {
        let stopped = Command::new("kill").arg(serving.id().to_string()).status().unwrap();
        assert!(stopped.success() && serving.wait().unwrap().success());
        return None;
    }
    let mut said = String::new();
    serving.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    Some((serving.wait().unwrap().code(), said))
}

#[test]
fn regression_a_lack_of_descriptors_is_called_that() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let mut refused = 0;
    let enough = (4..60).find(|&most| {
        // A server that died has left its socket.
        let _ = fs::remove_file(folder.path("lun.sock"));
        drop(UnixListener::bind(folder.path("lun.sock")).unwrap());
        let Some((code, said)) = served_with_descriptors(&folder, most) else { return true };
        // With 127, not even its libraries could be opened.
        if code != Some(127) {
            refused += 1;
            assert!(matches!(code, Some(1 | 2)), "{most}: {said}");
            assert!(said.contains("ulimit -n 1024"), "{most}: {said}");
            for wrong in ["missing", "no array", "a server is listening", "degraded"] {
                assert!(!said.contains(wrong), "{most}: {said}");
            }
        }
        false
    });
    assert!(enough.is_some() && refused > 6, "{enough:?}, {refused}");
    for action in ["status", "check"] {
        let script = format!("ulimit -n 6; exec \"$0\" array {action} a");
        let looked = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_strewn")])
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8(looked.stderr).unwrap();
        assert!(!looked.status.success() && said.contains("ulimit -n 1024"), "{action}: {said}");
    }
    assert!(array(&folder, &["status", "a"]).succeeded().contains("whole"));
}

/// An array `a` that is served at `lun.sock` until this is dropped.
struct Served(std::process::Child);

impl Served {
    fn new(folder: &Folder) -> Self {
        let mut command = folder.command(&["array", "serve", "a", "--socket", "lun.sock"]);
        let mut serving = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(serving.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("listening"), "{first}");
        Self(serving)
    }

    /// Ends it as by Ctrl-C.
    fn stop(mut self) {
        let stopped = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(stopped.success() && self.0.wait().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // After `stop` there is nothing left to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_array_is_administered_alike_whether_it_is_served_or_not() {
    let folder = written();
    let stopped: Vec<String> = administered(&folder);
    let serving = Served::new(&folder);
    assert!(folder.path("a/control").exists());
    let served = administered(&folder);
    assert_eq!(served, stopped);
    // What only a running array knows.
    let listed = array(&folder, &["lun", "list", "a"]).succeeded();
    assert!(listed.starts_with("LUN                volume/lun, 16 MiB, "), "{listed}");
    assert!(listed.ends_with(" written\n"), "{listed}");
    let status: Value =
        serde_json::from_str(&array(&folder, &["status", "a", "--json"]).succeeded()).unwrap();
    assert!(status["free_bytes"].as_u64() > Some(1 << 20), "{status}");
    assert!(status["volumes"][0]["luns"][0]["allocated_bytes"].as_u64() > Some(0), "{status}");
    array(&folder, &["snapshot", "copy", "a", "x", "x.img"]).refused(&["in use"]);
    serving.stop();
    assert!(!folder.path("a/control").exists());
    done(array(&folder, &["check", "a"]));
}

/// Changes an array in all ways, and returns what was said.
fn administered(folder: &Folder) -> Vec<String> {
    let run = |words: &[&str]| array(folder, words).succeeded();
    let mut said = vec![
        run(&["snapshot", "create", "a", "volume@monday"]),
        run(&["snapshot", "create", "a", "old form"]),
    ];
    assert_eq!(said[0], "Snapshot volume@monday of a is taken.\n");
    assert_eq!(said[1], "Snapshot volume@old form of a is taken.\n");
    let json = run(&["snapshot", "list", "a", "--json"]);
    let listed: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<_> = listed["snapshots"].as_array().unwrap().iter().collect();
    let names: Vec<_> = names.iter().map(|one| (&one["volume"], &one["name"])).collect();
    let volume = &Value::from("volume");
    assert_eq!(names, [(volume, &"monday".into()), (volume, &"old form".into())]);
    let volumes = run(&["volume", "list", "a"]);
    assert!(volumes.starts_with("volume             volume, 16 MiB"), "{volumes}");
    assert!(volumes.ends_with(", 1 LUN, 2 snapshots\n"), "{volumes}");
    let status = run(&["status", "a"]);
    for line in
        ["LUN                volume/lun, 16 MiB", "snapshot           volume@monday, taken 2"]
    {
        assert!(status.contains(line), "no {line:?} in\n{status}");
    }
    let luns: Value = serde_json::from_str(&run(&["lun", "list", "a", "--json"])).unwrap();
    assert_eq!((&luns["luns"][0]["volume"], &luns["luns"][0]["name"]), (volume, &"lun".into()));
    for (words, reasons) in [
        (
            &["snapshot", "create", "a", "monday"][..],
            ["volume@monday exists already", "another name"],
        ),
        (&["snapshot", "delete", "a", "other@monday"], ["no volume other", "volume list"]),
        (&["snapshot", "delete", "a", "tuesday"], ["no snapshot volume@tuesday", "snapshot list"]),
        (&["lun", "create", "a", "lun", "--size", "1MiB"], ["VOLUME/LUN", "such as volume/lun"]),
        (
            &["lun", "create", "a", "volume/two", "--size", "1MiB"],
            ["does not fit", "volume resize"],
        ),
        (
            &["lun", "create", "a", "volume/lun", "--size", "1MiB"],
            ["exists already", "another name"],
        ),
        (
            &["lun", "resize", "a", "volume/lun", "--size", "32MiB"],
            ["does not fit", "volume resize"],
        ),
        (&["lun", "resize", "a", "volume/lun", "--size", "4KiB"], ["cut off", "unmap"]),
        (
            &["lun", "resize", "a", "volume/lun", "--size", "4095 B"],
            ["not possible", "such as 1GiB"],
        ),
        (&["lun", "delete", "a", "volume/lun"], ["the only LUN", "create another"]),
        (&["volume", "create", "a", "two", "--size", "1GiB"], ["promise", "--thin"]),
        (&["volume", "create", "a", "two/three"], ["is no name", "another name"]),
        (&["volume", "resize", "a", "volume", "--size", "1GiB"], ["promise", "--thin"]),
        (&["volume", "delete", "a", "volume"], ["not empty", "delete its LUNs"]),
        (&["clone", "create", "a", "two", "--of", "volume@gone"], ["no snapshot", "snapshot list"]),
        (
            &["clone", "create", "a", "volume", "--of", "volume@monday"],
            ["exists already", "another"],
        ),
        (&["clone", "create", "a", "two", "--of", "monday"], ["VOLUME@SNAPSHOT", "such as"]),
        (&["clone", "delete", "a", "volume"], ["not a clone", "volume delete"]),
        (&["clone", "delete", "a", "two"], ["no volume two", "volume list"]),
    ] {
        let refused = array(folder, words);
        refused.refused(&reasons);
        said.push(refused.stderr);
    }
    for words in [
        &["volume", "create", "a", "two", "--size", "1TiB", "--thin"][..],
        &["lun", "create", "a", "two/first", "--size", "4MiB"],
        &["lun", "create", "a", "two/second", "--size", "1MiB"],
        &["lun", "resize", "a", "two/second", "--size", "2MiB"],
        &["clone", "create", "a", "copy", "--of", "volume@monday"],
        &["lun", "delete", "a", "two/first"],
        &["lun", "delete", "a", "two/second"],
        &["volume", "delete", "a", "two"],
    ] {
        said.push(run(words));
    }
    let refused = array(folder, &["snapshot", "delete", "a", "monday"]);
    refused.refused(&["has clones: copy", "clone delete"]);
    said.push(run(&["clone", "delete", "a", "copy"]));
    said.push(run(&["snapshot", "delete", "a", "monday"]));
    said.push(run(&["snapshot", "delete", "a", "volume@old form"]));
    assert_eq!(run(&["snapshot", "list", "a"]), "no snapshots\n");
    said
}

#[test]
fn a_server_that_was_killed_does_not_keep_the_array_from_being_administered_or_destroyed() {
    let folder = written();
    drop(Served::new(&folder));
    assert!(folder.path("a/control").exists(), "it had no time to remove it");
    array(&folder, &["snapshot", "create", "a", "one"]).succeeded();
    let serving = Served::new(&folder);
    array(&folder, &["snapshot", "delete", "a", "one"]).succeeded();
    drop(serving);
    array(&folder, &["destroy", "a", "--yes"]).succeeded();
    assert!(!folder.path("a").exists());
}

#[test]
fn what_an_array_has_is_listed_without_spindles_and_a_run_refuses_other_luns() {
    for lost in [[0, 1], [1, 2], [2, 3], [3, 0]] {
        let folder = written();
        array(&folder, &["volume", "create", "a", "two", "--size", "1TiB", "--thin"]).succeeded();
        array(&folder, &["lun", "create", "a", "two/other", "--size", "1MiB"]).succeeded();
        let volumes = array(&folder, &["volume", "list", "a"]).succeeded();
        for spindle in lost {
            fs::remove_file(folder.path(&format!("a/spindle-0{spindle}"))).unwrap();
        }
        assert_eq!(array(&folder, &["volume", "list", "a"]).succeeded(), volumes, "{lost:?}");
        assert!(array(&folder, &["status", "a"]).succeeded().contains("two/other"), "{lost:?}");
    }
    let folder = written();
    array(&folder, &["volume", "create", "a", "two", "--size", "1TiB", "--thin"]).succeeded();
    array(&folder, &["lun", "create", "a", "two/other", "--size", "4KiB"]).succeeded();
    let run = ["run", "a", "--sequential-read", "64KiB", "--segments", "1", "--segment", "1 s"];
    let refused = array(&folder, &run);
    refused.refused(&["other volumes or LUNs", "created with", "fio"]);
    array(&folder, &["lun", "delete", "a", "volume/lun"]).succeeded();
    array(&folder, &run).refused(&["other volumes or LUNs"]);
}

#[test]
fn an_array_gets_parity_groups_and_runs_on_them() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let added = array(
        &folder,
        &[
            "add-group",
            "a",
            "--layout",
            "raid-4",
            "--data-spindles",
            "2",
            "--spindle-size",
            "32MiB",
        ],
    )
    .succeeded();
    assert!(added.contains("raid-4 of spindles 5 to 7. The array has 2 groups now."), "{added}");
    let status = array(&folder, &["status", "a"]).succeeded();
    for fragment in [
        "raid-dp and raid-4, 8 spindles",
        "parity group 1     raid-dp, spindles 0 to 4 of 23",
        "parity group 2     raid-4, spindles 5 to 7 of 31",
        "a/spindle-07",
    ] {
        assert!(status.contains(fragment), "no {fragment:?} in\n{status}");
    }
    let json = array(&folder, &["status", "a", "--json"]).succeeded();
    let status: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status["parity_groups"][1]["first_spindle"], 5);
    assert_eq!(status["parity_groups"][1]["layout"], "raid-4");

    let run = ["run", "a", "--segments", "1", "--segment", "1 s", "--out", "out"];
    let run = array(&folder, &run).succeeded();
    assert!(run.contains("group"), "{run}");
    let results = fs::read_to_string(folder.path("out/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let groups = &results["arrays"][0]["segments"][0]["groups"];
    assert_eq!(groups.as_array().map(Vec::len), Some(2), "{groups}");
    assert!(folder.path("out/groups.svg").exists());
    let checked = array(&folder, &["check", "a"]).succeeded();
    assert!(checked.contains(": 0 findings"), "{checked}");

    for (words, message, remedy) in [
        (vec!["add-group", "b"], "b", "create"),
        (vec!["add-group", "a", "--layout", "raid-5"], "raid-5 is no layout", "raid-dp or raid-4"),
        (vec!["add-group", "a", "--data-spindles", "99"], "101", "data spindles"),
        (vec!["add-group", "a", "--spindles", "a/spindle-01,a/spindle-02"], "spindle-01", ""),
        (vec!["add-group", "a", "--spindle-size", "1 KiB"], "too small", "larger"),
    ] {
        array(&folder, &words).refused(&[message, remedy]);
    }
}
