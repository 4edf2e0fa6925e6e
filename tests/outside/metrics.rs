//! The metrics of an array, read by the parser of Prometheus's Python client.

use std::process::Command;

use strewn_testing::Missing;

use crate::array::Array;

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
    let known = Command::new("python3").args(["-c", "import prometheus_client"]).output();
    if !known.is_ok_and(|known| known.status.success()) {
        return Err(Missing::new(
            "no prometheus_client for python3",
            "pip install prometheus_client",
        ));
    }
    let array = Array::new("raid-dp", 64);
    let socket = array.folder().join("metrics.sock");
    let served = array.serve(&["--metrics", socket.to_str().unwrap()]);
    let read = Command::new("python3").args(["-c", PARSE]).arg(&socket).output().unwrap();
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
