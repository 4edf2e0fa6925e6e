//! Metrics, read by the parser of Prometheus's Python client and by promtool, which checks the rules too.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use strewn_testing::Missing;

use crate::array::Array;
use crate::common::{Folder, PROJECT};
use crate::tools::{command, needs, run};

/// The one for which Debian has packages.
const PYTHON: &str = "/usr/bin/python3";

/// Gets the page from a Unix socket, parses it, and prints what is in it.
const PARSE: &str = r#"
import socket, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
client = socket.socket(socket.AF_UNIX)
client.settimeout(60)
client.connect(sys.argv[1])
client.sendall(b"GET /metrics HTTP/1.1\r\nHost: strewn\r\n\r\n")
answer = b""
while part := client.recv(65536):
    answer += part
for family in text_string_to_metric_families(answer.split(b"\r\n\r\n", 1)[1].decode()):
    print(family.type, family.name, len(family.samples))
"#;

pub fn another_parser_reads_what_an_array_tells() -> Result<(), Missing> {
    let known = Command::new(PYTHON).args(["-c", "import prometheus_client"]).output();
    if !known.is_ok_and(|known| known.status.success()) {
        let remedy = "apt-get install python3-prometheus-client";
        return Err(Missing::new(format!("no prometheus_client for {PYTHON}"), remedy));
    }
    let array = Array::new("raid-dp", 64);
    let socket = array.folder().join("metrics.sock");
    let served = array.serve(&["--metrics", socket.to_str().unwrap()]);
    let read = Command::new(PYTHON).args(["-c", PARSE]).arg(&socket).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let families = String::from_utf8(read.stdout).unwrap();
    for family in [
        "counter strewn_host_requests 3",
        "histogram strewn_host_response_seconds 57",
        "gauge strewn_log_filled_ratio 1",
        "gauge strewn_layout_score_ratio 1",
        "gauge strewn_spindles 3",
    ] {
        assert!(families.lines().any(|line| line == family), "no {family} in\n{families}");
    }
    let (_, took) = served.terminate();
    assert!(took.as_secs() < 60);
    Ok(())
}

pub fn promtool_finds_nothing_wrong_with_metrics_and_rules() -> Result<(), Missing> {
    needs(&["promtool"])?;
    let rules = Path::new(PROJECT).join("docs/monitoring");
    let said = run(&rules, "promtool", &["check", "rules", "--lint-fatal", "rules.yml"]);
    assert!(said.contains("SUCCESS"), "{said}");

    let array = Array::new("raid-dp", 64);
    let socket = array.folder().join("metrics.sock");
    let served = array.serve(&["--metrics", socket.to_str().unwrap()]);
    promtool_accepts(&got(&socket).unwrap());
    served.terminate();

    let folder = Folder::new();
    folder.write("list.csv", "offset,bytes,address\n0,32768,4194304\n32768,4096,1048576\n");
    let every = ["file", "--from", "list.csv", "--every", "1 s", "--times", "1"];
    let into = ["--append", "history.csv", "--metrics", "file.prom"];
    folder.strewn(&[&every[..], &into].concat());
    promtool_accepts(&folder.read("file.prom"));

    let study = "schema = 1\nname = \"small\"\ntitle = \"t\"\nscenario = \"small.toml\"\nreplicates = 40\n\
                 [[axis]]\nname = \"outstanding\"\nsetting = \"anywhere.outstanding\"\nvalues = [4, 16]\n";
    folder.write("study.toml", study);
    let words = ["sweep", "study.toml", "--out", "out", "--jobs", "1", "--metrics", "m.sock"];
    let mut sweep = folder.command(&words).stdout(Stdio::null()).spawn().unwrap();
    let socket = folder.path("m.sock");
    let mut page = None;
    while page.is_none() {
        assert!(sweep.try_wait().unwrap().is_none(), "it ended without an answer");
        // The place is tried first, for a moment in which nobody has an answer.
        page = got(&socket).ok();
        std::thread::sleep(Duration::from_millis(10));
    }
    promtool_accepts(&page.unwrap());
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    Ok(())
}

/// The metrics at a socket.
fn got(socket: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: strewn\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// Checks metrics with promtool, which reads the text format of Prometheus: there a counter is described by the whole
/// name of its samples, and in OpenMetrics without `_total`.
#[track_caller]
fn promtool_accepts(metrics: &str) {
    let mut text = metrics.to_owned();
    for line in metrics.lines() {
        if let ["#", "TYPE", name, "counter"] = line.split(' ').collect::<Vec<_>>()[..] {
            for what in ["TYPE", "HELP", "UNIT"] {
                text =
                    text.replace(&format!("# {what} {name} "), &format!("# {what} {name}_total "));
            }
        }
    }
    assert!(text.contains("# TYPE strewn_"), "{text}");
    let mut promtool = command("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut child = promtool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}
