//! Chromium as a program that is told what to do: its debugging protocol over two pipes.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strewn_testing::{Missing, program};

/// What takes longer than this never ends.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Chromium or Chrome: the program that `STREWN_CHROMIUM` names, or the one on the search path.
pub fn chromium() -> Result<PathBuf, Missing> {
    match std::env::var_os("STREWN_CHROMIUM") {
        Some(path) => Ok(path.into()),
        None => program(
            &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
            "apt-get install chromium, or set STREWN_CHROMIUM",
        ),
    }
}

/// A browser without a network.
pub struct Browser {
    child: Child,
    requests: File,
    answers: BufReader<File>,
    last: u64,
    /// What pages have complained of.
    complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// A page that is open, by its session.
pub struct Page {
    session: String,
}

impl Browser {
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            let path = profile.path().join(name);
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            path
        };
        let (to, from) = (pipe("to"), pipe("from"));
        // The browser reads from its descriptor 3, and writes to 4.
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<\"$PIPE_TO\" 4>\"$PIPE_FROM\"", "sh"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-sync",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-quic",
            ])
            // Whatever a page would fetch fails, and is logged.
            .args(["--proxy-server=127.0.0.1:9", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .arg("about:blank")
            .envs([("PIPE_TO", &to), ("PIPE_FROM", &from)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let requests = File::options().write(true).open(&to).unwrap();
        let answers = BufReader::new(File::open(&from).unwrap());
        Self { child, requests, answers, last: 0, complaints: Vec::new(), _profile: profile }
    }

    /// Opens a page in a window of this size.
    pub fn open(&mut self, address: &str, width: u32) -> Page {
        let made = self.ask(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = self.ask(None, "Target.attachToTarget", target);
        let page = Page { session: attached["sessionId"].as_str().unwrap().to_owned() };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.ask(Some(&page), domain, json!({}));
        }
        let window =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask(Some(&page), "Emulation.setDeviceMetricsOverride", window);
        self.ask(Some(&page), "Page.navigate", json!({ "url": address }));
        page
    }

    /// Evaluates an expression in a page, and waits for what it promises.
    pub fn evaluate(&mut self, page: &Page, expression: &str) -> Value {
        let words =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask(Some(page), "Runtime.evaluate", words);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    pub fn text(&mut self, page: &Page, expression: &str) -> String {
        match self.evaluate(page, expression) {
            Value::String(text) => text,
            other => panic!("{expression} is {other}"),
        }
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, page: &Page, expression: &str) {
        let started = Instant::now();
        // While a page is being loaded, nothing is there yet.
        let guarded = format!(
            "(() => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }})()"
        );
        while self.evaluate(page, &guarded) != Value::Bool(true) {
            assert!(started.elapsed() < PATIENCE, "{expression} never became true");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key, with Ctrl if `modifiers` is 2.
    pub fn press(&mut self, page: &Page, key: &str, modifiers: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let words = json!({ "type": kind, "key": key, "code": key, "text": text, "modifiers": modifiers,
                "windowsVirtualKeyCode": match key { "Enter" => 13, "Tab" => 9, _ => 0 } });
            self.ask(Some(page), "Input.dispatchKeyEvent", words);
        }
    }

    /// What pages have complained of so far.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    fn ask(&mut self, page: Option<&Page>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(page) = page {
            message["sessionId"] = json!(page.session);
        }
        self.requests.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = Vec::new();
            self.answers.read_until(0, &mut answer).unwrap();
            assert_eq!(answer.pop(), Some(0), "the browser is gone");
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            match answer["method"].as_str() {
                Some("Runtime.exceptionThrown" | "Log.entryAdded") => {
                    self.complaints.push(answer["params"].to_string());
                }
                _ if answer["id"] == self.last => {
                    assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                    return answer["result"].clone();
                }
                _ => {}
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its helpers end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
