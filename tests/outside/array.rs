//! An array in a directory of its own, and the server that has it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::client::Client;

pub const MIB: u64 = 1 << 20;
/// What takes longer than this hangs, even on a machine that is busy with other work.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// An array that nobody else knows of.
pub struct Array(TempDir);

impl Array {
    /// Makes one of six data spindles of 32 MiB, with a LUN of these MiB.
    pub fn new(layout: &str, lun_mib: u64) -> Self {
        let array = Self(tempfile::tempdir().unwrap());
        let lun = format!("{lun_mib}MiB");
        array.done(&array.create(layout, &lun));
        array
    }

    fn create<'a>(&self, layout: &'a str, lun: &'a str) -> Vec<&'a str> {
        let sizes = ["--data-spindles", "6", "--spindle-size", "32MiB", "--lun-size", lun];
        [&["create", "aged", "--layout", layout][..], &sizes].concat()
    }

    /// The directory that its own lies in.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("aged").join(name)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.path().join("aged.sock")
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///lun?socket={}", self.socket().display())
    }

    /// `strewn array` with these words.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strewn"));
        command.arg("array").args(words).current_dir(self.0.path()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn ran(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// What `strewn array` with these words says; it must do what it was asked to.
    #[track_caller]
    pub fn done(&self, words: &[&str]) -> String {
        let output = self.ran(words);
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{words:?}: {stdout}{stderr}");
        stdout
    }

    /// That it is refused as bad input, for reasons that hold each of `fragments`.
    #[track_caller]
    pub fn refused(&self, words: &[&str], fragments: &[&str]) {
        let output = self.ran(words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        for fragment in fragments {
            assert!(stderr.contains(fragment), "{words:?}: no {fragment:?} in {stderr}");
        }
    }

    pub fn status(&self) -> Value {
        serde_json::from_str(&self.done(&["status", "aged", "--json"])).unwrap()
    }

    /// Serves it, and waits until it listens.
    pub fn serve(&self, more: &[&str]) -> Served {
        let mut served = self.begin_to_serve(more);
        served.wait_until_it_listens();
        served
    }

    /// Waits until nobody has it: the kernel lets go of what a killed process had through io_uring a little after that
    /// has ended.
    #[track_caller]
    pub fn wait_until_free(&self) {
        let began = Instant::now();
        while self.status()["in_use"] == true {
            assert!(began.elapsed() < PATIENCE, "it stays in use");
            sleep(Duration::from_millis(10));
        }
    }

    /// Serves it, and does not wait.
    pub fn begin_to_serve(&self, more: &[&str]) -> Served {
        self.wait_until_free();
        let socket = self.socket();
        let words = ["serve", "aged", "--socket", socket.to_str().unwrap()];
        let mut child = self.command(&[&words, more].concat()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Served { child, stdout, socket }
    }

    /// Scrubs it; nothing may have been wrong.
    #[track_caller]
    pub fn assert_scrubs_clean(&self) {
        let text = self.done(&["scrub", "aged"]);
        let nothing = "0 bad blocks, 0 of them repaired; parity repaired in 0 stripes";
        assert!(text.contains(nothing) && !text.contains("gone"), "{text}");
    }
}

/// A server that runs.
pub struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
    socket: PathBuf,
}

impl Served {
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn client(&self) -> Client {
        let client = Client::connect(&self.socket);
        client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        client.simple()
    }

    #[track_caller]
    fn wait_until_it_listens(&mut self) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        if !line.starts_with("listening on") {
            let mut stderr = String::new();
            self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            panic!("it does not listen: {line}{stderr}");
        }
    }

    /// Ends it as a loss of power would: at once.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and gives back what it said and how long it took.
    #[track_caller]
    pub fn terminate(self) -> (String, Duration) {
        self.end("TERM")
    }

    /// The same by any signal.
    #[track_caller]
    pub fn end(mut self, signal: &str) -> (String, Duration) {
        let began = Instant::now();
        self.signal(signal);
        while self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE, "it does not end");
            sleep(Duration::from_millis(5));
        }
        let took = began.elapsed();
        let [mut stdout, mut stderr] = [const { String::new() }; 2];
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {stdout}{stderr}");
        (stdout + &stderr, took)
    }

    fn signal(&self, signal: &str) {
        // The shell has a `kill` of its own; machines without one beside it are about.
        let kill = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.socket);
    }
}
