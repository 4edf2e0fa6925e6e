//! Files of many extents, and many files.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use strewn_testing::{Missing, program};

use super::{Made, MountPoint, NOBODY, figure, json, one, ran, strewn, text};
use crate::common::Ran;
use crate::loops::Loops;

/// Extents of the large file; STREWN_EXTENTS sets others.
const EXTENTS: u64 = 200_000;

/// Most kilobytes that a look takes at any time.
fn peak_kib(words: &[&str]) -> u64 {
    let mut command = Command::new("/usr/bin/time");
    command.args(["-f", "%M", env!("CARGO_BIN_EXE_strewn"), "file"]).args(words);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap().trim().parse().unwrap()
}

/// Every other block of 1 KiB is written.
fn write_comb(made: &Made, name: &str, blocks: u64) -> std::path::PathBuf {
    let path = made.path(name);
    let file = File::create(&path).unwrap();
    // XFS reserves more than is asked for behind the end of a file.
    file.set_len(blocks * 2048).unwrap();
    for block in 0..blocks {
        file.write_all_at(&[1; 1024], block * 2048).unwrap();
    }
    made.mounted.sync();
    path
}

pub fn memory_does_not_grow_with_extents() -> Result<(), Missing> {
    program(&["time"], "apt-get install time")?;
    let extents = std::env::var("STREWN_EXTENTS").map_or(EXTENTS, |text| text.parse().unwrap());
    let loops = Loops::new(1, 600.max(extents / 300))?;
    loops.make(&["mkfs.xfs", "-q", "-f", "-b", "size=1024"])?;
    let mounted = loops.mount("rw")?;
    let made = Made { mounted, loops };
    let few = write_comb(&made, "few", 1000);
    let many = write_comb(&made, "many", extents);
    let began = Instant::now();
    let found = one(&many, &[]);
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(figure(&found, "extents"), extents as f64);
    assert_eq!(figure(&found, "placed_bytes"), extents as f64 * 1024.0);
    assert_eq!(figure(&found, "holes"), extents as f64);
    assert_eq!(figure(&found, "layout_score"), 0.0);
    let [few, many] = [few, many].map(|path| peak_kib(&[text(&path), "--json"]));
    if std::env::args().any(|argument| argument == "--nocapture") {
        println!("{extents} extents: {many} KiB in {seconds:.1} s, 1000: {few} KiB");
    }
    assert!(many < few + 16_384, "{many} KiB, and {few} KiB for 1,000 extents");
    Ok(())
}

/// 20,000 files in 100 directories, one in ten of which nobody may read.
fn tree(root: &Path) {
    for directory in 0..100 {
        let path = root.join(format!("directory{directory}"));
        fs::create_dir_all(&path).unwrap();
        for file in 0..200 {
            fs::write(path.join(format!("file{file}")), "some text").unwrap();
        }
        let mode = if directory % 10 == 0 { 0o700 } else { 0o755 };
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    fs::set_permissions(root, PermissionsExt::from_mode(0o755)).unwrap();
}

/// The first number of the sentence about the files of a tree.
fn files_counted(printed: &str) -> u64 {
    let line = printed.lines().find(|line| line.contains(" files")).unwrap();
    let digits: String = line
        .split_whitespace()
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .unwrap()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

pub fn a_tree_is_looked_at_as_far_as_possible_and_until_stopped() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("tree");
    tree(&root);
    let whole = ran(&[text(&root)]).succeeded();
    assert_eq!(files_counted(&whole), 20_000, "{whole}");
    // At a tenth of the time by one thread, the figures are the same.
    let few = root.join("directory1");
    let nicely = json(&[text(&few), "--nice=10", "--top", "5"]);
    assert_eq!(nicely, json(&[text(&few), "--top", "5", "--jobs", "2"]));

    // Stopped, it prints what it has.
    let mut command = strewn(&[text(&root), "--nice=1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let asked = Instant::now();
    let stopped = Ran::of(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    let counted = files_counted(&stopped.stdout);
    assert!((1..20_000).contains(&counted), "{}", stopped.stdout);

    // Without permission for some of it, the rest is looked at.
    fs::copy(env!("CARGO_BIN_EXE_strewn"), directory.path().join("strewn")).unwrap();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(directory.path().join("strewn"));
    command.args(["file", text(&root)]).uid(NOBODY).gid(NOBODY).env("NO_COLOR", "1");
    let partly = Ran::of(command.output().map_err(|error| {
        Missing::new(format!("nobody cannot run a program: {error}"), "run these tests as root")
    })?);
    assert_eq!(partly.code, Some(1), "{}", partly.stderr);
    assert_eq!(files_counted(&partly.stdout), 18_000, "{}", partly.stdout);
    let reasons = partly.stderr.matches("no permission to read the directory").count();
    assert_eq!(reasons, 10, "{}", partly.stderr);
    Ok(())
}

pub fn a_tree_ends_at_its_file_system_if_asked() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("here"), "here").unwrap();
    let point = MountPoint::new("tmpfs", "size=1m", &directory.path().join("tmpfs"))?;
    fs::write(point.0.join("there"), "there").unwrap();
    assert_eq!(json(&[text(directory.path()), "--sync"]).len(), 2);
    let files = json(&[text(directory.path()), "--sync", "--one-file-system"]);
    assert_eq!(files.len(), 1);
    assert!(files[0]["path"].as_str().unwrap().ends_with("here"));
    Ok(())
}
