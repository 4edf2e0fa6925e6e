//! Running the command as a person would, in a directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use strewn::results::Results;
use tempfile::TempDir;

/// The root of the project, where the shipped scenarios are found.
pub const PROJECT: &str = env!("CARGO_MANIFEST_DIR");
/// A scenario that runs in a fraction of a second.
pub const SMALL: &str = include_str!("scenarios/small.toml");
const SMALL_PUBLISHED: &str = include_str!("scenarios/small.published.toml");

/// A directory with `small.toml` and its published figures in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("small.toml", SMALL);
        folder.write("small.published.toml", SMALL_PUBLISHED);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Every file and directory in it by name, in order, with the contents of the files.
    pub fn contents(&self) -> Vec<(String, Vec<u8>)> {
        contents(self.0.path())
    }

    /// The same of a directory in it.
    pub fn contents_of(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        contents(&self.path(name))
    }

    /// `strewn` with these words, in this directory.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strewn"));
        command.args(words).current_dir(self.0.path()).stdin(Stdio::null());
        // As in a log: what the tests look for is not wrapped, and not coloured.
        command.env("NO_COLOR", "1").env_remove("FORCE_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// What `strewn` with these words did.
    pub fn strewn(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }
}

/// A program that ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Its standard output, having done all it was asked to and said nothing else.
    #[track_caller]
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        assert_eq!(self.stderr, "");
        self.stdout
    }

    /// That it was refused as bad input, for reasons that hold each of `fragments`.
    #[track_caller]
    pub fn refused(&self, fragments: &[&str]) {
        assert_eq!(self.code, Some(2), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert!(
            !self.stderr.contains('\u{1b}'),
            "coloured though nobody watches:\n{}",
            self.stderr
        );
        for fragment in fragments {
            assert!(self.stderr.contains(fragment), "no {fragment:?} in\n{}", self.stderr);
        }
    }
}

/// Where [`full_run`] leaves its directories.
pub const FULL_RUNS: &str = env!("CARGO_TARGET_TMPDIR");

/// Runs a shipped scenario at full scale, once for all tests, and returns the directory of its results.
pub fn full_run(name: &'static str) -> PathBuf {
    static RUNS: Mutex<BTreeMap<&str, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let run = Arc::clone(RUNS.lock().unwrap().entry(name).or_default());
    let run = run.get_or_init(|| {
        let (scenario, out) =
            (format!("{PROJECT}/scenarios/{name}.toml"), Path::new(FULL_RUNS).join(name));
        let words = ["run", &scenario, "--force", "--out", &out.to_string_lossy()];
        Folder::new().strewn(&words).succeeded();
        out
    });
    run.clone()
}

/// The results of [`full_run`].
pub fn results_of(name: &'static str) -> Results {
    let json = fs::read_to_string(full_run(name).join("results.json")).unwrap();
    Results::from_json(&json).unwrap()
}

/// What is in a directory, by name and in order; a directory in it has no contents here.
pub fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let mut contents: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap_or_default())
        })
        .collect();
    contents.sort();
    contents
}
