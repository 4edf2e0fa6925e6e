//! The Kubernetes job of a sweep, as kubectl takes it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use serde_json::{Value, json};
use strewn_testing::Missing;

use crate::common::Folder;
use crate::sweeps::{RUNS, STUDY};
use crate::tools;

/// Fields of a job that kubectl knows since a minor version of 1.
const SINCE: [(&str, u64); 2] = [("completionMode", 21), ("backoffLimitPerIndex", 28)];

const IMAGE: &str = "registry.example/strewn:1";

/// A directory with a sweep for Kubernetes.
fn planned() -> Folder {
    let folder = Folder::new();
    folder.write("study.toml", STUDY);
    let ran = folder.strewn(&["sweep", "study.toml", "--out", "out", "--kubernetes", IMAGE]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    folder
}

/// What kubectl prints in `folder`, by no settings of this user. It must succeed.
#[track_caller]
fn kubectl(folder: &Folder, words: &[&str]) -> String {
    let mut command = tools::command("kubectl");
    command.args(words).env("KUBECONFIG", "/dev/null").args(["--cache-dir", "cache"]);
    let output = command.current_dir(folder.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// What the server of a cluster says it has: jobs.
fn served(path: &str) -> Option<Value> {
    let batch = json!({ "groupVersion": "batch/v1", "version": "v1" });
    let group = json!({ "name": "batch", "versions": [batch], "preferredVersion": batch });
    let job = json!({ "name": "jobs", "singularName": "job", "namespaced": true, "kind": "Job", "verbs": ["create"] });
    match path {
        "/api" => Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/apis" => Some(json!({ "kind": "APIGroupList", "groups": [group] })),
        "/api/v1" => {
            Some(json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": [] }))
        }
        "/apis/batch/v1" => Some(
            json!({ "kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [job] }),
        ),
        _ => None,
    }
}

/// Answers one request. A client that goes away is its own affair.
fn answer(stream: &mut TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let target = request.split(' ').nth(1).unwrap_or_default();
    let found = served(target.split('?').next().unwrap_or_default());
    let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
    let body = found.unwrap_or_else(|| json!({ "kind": "Status", "code": 404 })).to_string();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len(),
    )
}

/// Even a dry run by the client asks a server for what it serves. The manifest itself is not sent.
pub fn kubectl_creates_the_job_in_a_dry_run() -> Result<(), Missing> {
    tools::needs(&["kubectl"])?;
    let folder = planned();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    // Its thread ends with the tests.
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|mut stream| drop(answer(&mut stream)));
    });
    // What the fields are is the other test's.
    let dry_run = ["create", "--dry-run=client", "--validate=false", "-f", "out/job.yaml"];
    let said = kubectl(&folder, &[&dry_run[..], &["--server", &server]].concat());
    assert!(said.contains("job.batch/strewn-cluster created (dry run)"), "{said}");
    Ok(())
}

/// kubectl changes a job in a local file: it refuses a field of a wrong type, and drops one that it does not know.
pub fn kubectl_knows_every_field_of_the_job() -> Result<(), Missing> {
    tools::needs(&["kubectl"])?;
    let folder = planned();
    let kubectl =
        |words: &[&str]| -> Value { serde_json::from_str(&kubectl(&folder, words)).unwrap() };
    let version = kubectl(&["version", "--client", "-o", "json"]);
    let minor = version["clientVersion"]["minor"].as_str().unwrap();
    let minor: u64 = minor.trim_end_matches('+').parse().unwrap();
    let file = ["--local", "-f", "out/job.yaml", "-o", "json"];
    // A note is added to the file as it is; an image is set in a job of kubectl's own type.
    let written = kubectl(&[&["annotate", "note=none"][..], &file].concat());
    let understood = kubectl(&[&["set", "image", "strewn=another"][..], &file].concat());
    let mut differences = Vec::new();
    differing(&written, &understood, "", &mut differences);
    println!("kubectl 1.{minor}: {differences:?}");
    let unknown = SINCE.iter().filter(|(_, since)| minor < *since);
    let mut expected: Vec<String> = unknown.map(|(field, _)| format!("/spec/{field}")).collect();
    expected.push("/metadata/annotations".to_owned());
    expected.push("/spec/template/spec/containers/0/image".to_owned());
    differences.sort();
    expected.sort();
    assert_eq!(differences, expected);

    let spec = &written["spec"];
    assert_eq!(written["metadata"]["name"], "strewn-cluster");
    assert_eq!(spec["completions"], RUNS);
    assert_eq!(spec["completionMode"], "Indexed");
    // A retry limit of each index is refused unless pods are never restarted in place.
    assert!(spec["backoffLimitPerIndex"].as_u64().unwrap() > 0);
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    assert!(pod["activeDeadlineSeconds"].as_u64().unwrap() >= 600);
    assert_eq!(pod["containers"][0]["image"], IMAGE);
    assert_eq!(pod["containers"][0]["volumeMounts"][0]["name"], pod["volumes"][0]["name"]);
    Ok(())
}

/// Collects the places of what `written` has and `understood` does not.
fn differing(written: &Value, understood: &Value, place: &str, differences: &mut Vec<String>) {
    match (written, understood) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, field) in fields {
                differing(field, &understood[name], &format!("{place}/{name}"), differences);
            }
        }
        (Value::Array(fields), Value::Array(others)) if fields.len() == others.len() => {
            for (index, (field, other)) in fields.iter().zip(others).enumerate() {
                differing(field, other, &format!("{place}/{index}"), differences);
            }
        }
        _ if written == understood => {}
        _ => differences.push(place.to_owned()),
    }
}
