//! `--metrics` of what runs long.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::Folder;
use crate::openmetrics::{Samples, checked};

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
const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: strewn\r\n\r\n";

fn body(mut stream: impl Read + Write) -> String {
    answered(&mut stream).unwrap()
}

fn answered(stream: &mut (impl Read + Write)) -> std::io::Result<String> {
    stream.write_all(GET)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"),
        "{head}"
    );
    Ok(body.to_owned())
}

fn samples(socket: &Path) -> Samples {
    checked(&body(UnixStream::connect(socket).unwrap()))
}

/// Serves the array `a`, and returns where its metrics are.
fn serve(folder: &Folder, metrics: &str) -> (Child, String) {
    let words = ["array", "serve", "a", "--socket", "lun.sock", "--metrics", metrics];
    let mut child = folder.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("metrics at ") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    // Its last words have a reader.
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    (child, line.trim()["metrics at ".len()..].to_owned())
}

fn end(mut child: Child) {
    let killed = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success() && child.wait().unwrap().success());
}

#[test]
fn an_array_tells_its_figures_and_a_client_that_never_reads_does_not_hold_it_up() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let (child, place) = serve(&folder, "m.sock");
    assert_eq!(place, "m.sock");
    let socket = folder.path("m.sock");
    let _idle: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let found = samples(&socket);
    for (key, value) in [
        ("strewn_host_requests_total{direction=\"read\"}", 0.0),
        ("strewn_host_response_seconds_bucket{direction=\"write\",le=\"+Inf\"}", 0.0),
        ("strewn_spindles{state=\"present\"}", 5.0),
        ("strewn_spindles{state=\"failed\"}", 0.0),
        ("strewn_bad_blocks_total", 0.0),
        ("strewn_stopped", 0.0),
    ] {
        assert_eq!(found.get(key), Some(&value), "{key} in {found:?}");
    }
    for key in [
        "strewn_log_filled_ratio",
        "strewn_layout_score_ratio{lun=\"0\"}",
        "strewn_free_space_score_ratio",
    ] {
        assert!((0.0..=1.0).contains(&found[key]), "{key}");
    }
    // Figures are taken again each second.
    let begin = Instant::now();
    while samples(&socket)["strewn_look_timestamp_seconds"]
        <= found["strewn_look_timestamp_seconds"]
    {
        assert!(begin.elapsed() < Duration::from_secs(60), "the figures stay as they are");
        std::thread::sleep(Duration::from_millis(200));
    }
    end(child);
    assert!(!socket.exists());
}

/// Names of metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let is_of_name =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    text.split(|letter| !is_of_name(letter)).filter(|word| word.starts_with("strewn_")).collect()
}

#[test]
fn the_dashboard_and_the_rules_name_metrics_that_are_written() {
    let project = Path::new(crate::common::PROJECT);
    let read = |path: &str| std::fs::read_to_string(project.join(path)).unwrap();
    let sources: String = ["array", "file", "sweep"]
        .map(|name| read(&format!("src/command/metrics/{name}.rs")))
        .concat();
    // Those of rebuilds and the like are not on every page.
    let families: BTreeSet<&str> =
        sources.split('"').filter(|text| text.starts_with("strewn_")).collect();
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let (child, _) = serve(&folder, "m.sock");
    let page = samples(&folder.path("m.sock"));
    end(child);
    let on_page: BTreeSet<&str> = page.keys().flat_map(|key| metrics_in(key)).collect();
    for file in ["dashboard.json", "rules.yml"] {
        let text = read(&format!("docs/monitoring/{file}"));
        let named = metrics_in(&text);
        assert!(named.len() > 3, "{file}: {named:?}");
        for metric in named {
            let is_of_family = |family: &&&str| {
                metric
                    .strip_prefix(**family)
                    .is_some_and(|end| ["", "_total", "_bucket"].contains(&end))
            };
            let family = families.iter().find(is_of_family);
            let family = family.unwrap_or_else(|| panic!("{file}: nothing writes {metric}"));
            let is_written = on_page.iter().any(|name| name.starts_with(family));
            assert!(
                !is_written || on_page.contains(metric),
                "{file}: {metric} is written otherwise"
            );
        }
    }
}

#[test]
fn figures_come_over_a_loopback_address_too() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    let (child, place) = serve(&folder, "127.0.0.1:0");
    let address = place.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    checked(&body(TcpStream::connect(address).unwrap()));
    end(child);
}

#[test]
fn a_place_that_cannot_be_is_refused_and_the_array_ends_as_it_began() {
    let folder = Folder::new();
    folder.strewn(CREATE).succeeded();
    folder.write("file", "kept");
    let long = "x".repeat(120);
    for (place, fragments) in [
        ("file", &["--metrics", "exists and is not a socket"][..]),
        ("none/m.sock", &["--metrics", "cannot listen at none/m.sock"]),
        (&long, &["at most about a hundred bytes", "shorter path"]),
        ("192.0.2.1:9100", &["not a loopback address", "127.0.0.1"]),
        ("127.0.0.1:99999", &["127.0.0.1:99999 is no address with a port", "port of 127.0.0.1"]),
        ("localhost:9611", &["localhost:9611 is no address with a port"]),
        ("9611", &["9611 is no address with a port", "./metrics.sock"]),
        ("127.0.0.1", &["127.0.0.1 is no address with a port"]),
    ] {
        let words = ["array", "serve", "a", "--socket", "lun.sock", "--metrics", place];
        folder.strewn(&words).refused(fragments);
    }
    assert_eq!(folder.read("file"), "kept");
    assert!(!folder.path("lun.sock").exists());
}

#[test]
fn a_sweep_tells_what_is_done_and_left() {
    let folder = Folder::new();
    let study = "schema = 1\nname = \"small\"\ntitle = \"t\"\nquestion = \"q\"\nscenario = \"small.toml\"\nreplicates = 40\n\
                 [[axis]]\nname = \"outstanding\"\nsetting = \"anywhere.outstanding\"\nvalues = [4, 16]\n";
    folder.write("study.toml", study);
    // Refused before anything is written.
    for place in ["study.toml", "localhost:9611"] {
        let words = ["sweep", "study.toml", "--out", "s", "--metrics", place];
        folder.strewn(&words).refused(&["--metrics: ", place]);
        assert!(!folder.path("s").exists());
    }
    let words = ["sweep", "study.toml", "--out", "s", "--jobs", "1", "--metrics", "m.sock"];
    let mut child =
        folder.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let socket = folder.path("m.sock");
    let mut page = None;
    while page.is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it listened");
        // The place is tried first, for a moment in which nobody has an answer.
        page = UnixStream::connect(&socket).and_then(|mut stream| answered(&mut stream)).ok();
        std::thread::sleep(Duration::from_millis(5));
    }
    let found = checked(&page.unwrap());
    let points: f64 = found
        .iter()
        .filter(|(key, _)| key.starts_with("strewn_sweep_points{"))
        .map(|(_, value)| value)
        .sum();
    assert_eq!(points, 80.0);
    assert_eq!(found["strewn_sweep_points{state=\"failed\"}"], 0.0);
    let _ = child.kill();
    child.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn files_are_told_to_a_textfile_collector() {
    let folder = Folder::new();
    folder.write("list.csv", "# path = /srv/a \"b\"\n# file_bytes = 8192\noffset,bytes,address\n0,4096,0\n4096,4096,1048576\n");
    let words = [
        "file",
        "--from",
        "list.csv",
        "--every",
        "1s",
        "--times",
        "1",
        "--append",
        "h.csv",
        "--metrics",
        "strewn.prom",
    ];
    folder.strewn(&words).succeeded();
    let found = checked(&folder.read("strewn.prom"));
    assert_eq!(found["strewn_file_extents{path=\"/srv/a \\\"b\\\"\"}"], 2.0);
    let names = folder.contents().into_iter().map(|(name, _)| name);
    assert!(
        !names.into_iter().any(|name| name.contains("prom") && name != "strewn.prom"),
        "a piece is left"
    );
    let missing = ["file", "--from", "list.csv", "--metrics", "strewn.prom"];
    folder.strewn(&missing).refused(&["--every"]);
}
