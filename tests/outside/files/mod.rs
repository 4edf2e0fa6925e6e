//! `strewn file` on file systems of its own, held against what the kernel and other programs say.

pub mod commands;
pub mod edges;
pub mod names;
pub mod trees;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use strewn_testing::{Missing, program};

use crate::common::Ran;
use crate::loops::{Loops, Mounted, content};

const MIB: u64 = 1 << 20;

/// A user and a group without any rights: nobody, on most systems.
const NOBODY: u32 = 65_534;

/// `strewn file` with these words.
fn strewn(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strewn"));
    command.arg("file").args(words).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

fn ran(words: &[&str]) -> Ran {
    // Paths of these tests are long, and a table that is too wide continues below.
    Ran::of(strewn(words).env("COLUMNS", "1000").output().unwrap())
}

/// The files that `--json` prints, all looked at and nothing said.
#[track_caller]
fn json(words: &[&str]) -> Vec<Value> {
    serde_json::from_str(&ran(&[words, &["--json"]].concat()).succeeded()).unwrap()
}

/// The only file that `--json` prints.
#[track_caller]
fn one(path: &Path, words: &[&str]) -> Value {
    let mut files = json(&[&[text(path)], words].concat());
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[track_caller]
fn figure(file: &Value, name: &str) -> f64 {
    let found = name.split('.').fold(file, |value, name| &value[name]);
    found.as_f64().unwrap_or_else(|| panic!("no {name} in {file:#}"))
}

fn notes(file: &Value) -> String {
    file["notes"].as_array().into_iter().flatten().map(|note| format!("{note}\n")).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A file system that is gone when it goes out of scope.
struct Made {
    // Unmounted before its devices are detached.
    mounted: Mounted,
    loops: Loops,
}

impl Made {
    /// Makes a file system with `mkfs` on `devices` of 600 MiB.
    fn new(devices: usize, mkfs: &[&str], options: &str) -> Result<Self, Missing> {
        let loops = Loops::new(devices, 600)?;
        loops.make(mkfs)?;
        let mounted = loops.mount(options)?;
        Ok(Self { mounted, loops })
    }

    fn btrfs() -> Result<Self, Missing> {
        Self::new(1, &["mkfs.btrfs", "-q", "-f"], "compress=no")
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.mounted.point.join(name)
    }

    /// Writes a file that does not compress, to the device.
    fn write(&self, name: &str, bytes: u64) -> std::path::PathBuf {
        let path = self.path(name);
        fs::write(&path, content(7, bytes as usize)).unwrap();
        self.mounted.sync();
        path
    }
}

/// A mount beside those of loop devices, until it goes out of scope.
struct MountPoint(std::path::PathBuf);

impl MountPoint {
    fn new(kind: &str, options: &str, point: &Path) -> Result<Self, Missing> {
        program(&["mount"], "apt-get install mount")?;
        fs::create_dir_all(point).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", kind, "-o", options, kind]).arg(point).stderr(Stdio::null());
        if mount.status().unwrap().success() {
            return Ok(Self(point.to_owned()));
        }
        Err(Missing::new(format!("{kind} cannot be mounted"), "run as root, with it in the kernel"))
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
