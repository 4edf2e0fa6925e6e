//! The server of metrics, and what hostile clients do to it and to the array beside it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use strewn_live::configuration::LayoutName;
use strewn_live::engine::HostRequest;
use strewn_live::metrics::{MetricsError, MetricsServer};
use strewn_live::serving::Direction;

use super::{ask, made, started};

/// Sends bytes, and returns what comes back until the server closes.
fn send(mut stream: impl Read + Write, bytes: &[u8]) -> String {
    // The server may close before it has taken everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(socket: &Path) -> String {
    send(UnixStream::connect(socket).unwrap(), b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
}

#[test]
fn a_page_comes_over_a_socket_and_over_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("m.sock");
    let server = MetricsServer::start(&socket, || "a 1\n# EOF\n".to_owned()).unwrap();
    let answer = get(&socket);
    assert!(
        answer.starts_with(
            "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0"
        ),
        "{answer}"
    );
    assert!(
        answer.contains("\r\nContent-Length: 10\r\n") && answer.ends_with("\r\n\r\na 1\n# EOF\n"),
        "{answer}"
    );
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(server);
    assert!(!socket.exists());
    let server = MetricsServer::start("127.0.0.1:0", || "# EOF\n".to_owned()).unwrap();
    let address =
        server.address().strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let head = send(TcpStream::connect(address).unwrap(), b"HEAD / HTTP/1.0\n\n");
    assert!(head.contains("Content-Length: 6\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn rubbish_is_refused_and_the_next_client_served() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("m.sock");
    let _server = MetricsServer::start(&socket, || "# EOF\n".to_owned()).unwrap();
    let connect = || UnixStream::connect(&socket).unwrap();
    for (request, status) in [
        (&b"GET /else HTTP/1.1\r\n\r\n"[..], "404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"\xff\x00 rubbish\r\n\r\n", "400"),
        (b"\r\n\r\n", "400"),
        (&[b'x'; 64 << 10], "400"),
    ] {
        let answer = send(connect(), request);
        // What is longer than a request may be is not read to its end, so the connection may be reset.
        let is_reset = request.len() > 16 << 10 && answer.is_empty();
        assert!(is_reset || answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    assert!(get(&socket).ends_with("# EOF\n"));
}

#[test]
fn clients_that_never_send_or_never_read_hold_up_neither_the_array_nor_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("array");
    made(&directory, LayoutName::Raid4, 3);
    let array = started(&directory, false).serve().unwrap();
    let socket = folder.path().join("m.sock");
    // Larger than any buffer of a socket.
    let page = "x".repeat(32 << 20);
    let server = MetricsServer::start(&socket, move || page.clone()).unwrap();
    let mut idle: Vec<UnixStream> =
        (0..20).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    for stream in &mut idle[..4] {
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    }
    let client = array.client();
    let begin = Instant::now();
    for block in 0..50 {
        ask(&client, HostRequest::Write { first_sector: block * 8, data: vec![1; 4096] });
        ask(&client, HostRequest::Read(block * 8..block * 8 + 8));
    }
    let load = client.look().unwrap().load;
    let [reads, writes, unmaps] = load.by_direction;
    assert_eq!((reads.requests, writes.requests, unmaps.requests), (50, 50, 0));
    assert_eq!((reads.bytes, writes.bytes), (50 * 4096, 50 * 4096));
    assert_eq!(writes.responses.iter().sum::<u64>(), 50);
    assert_eq!(Direction::ALL.map(Direction::name), ["read", "write", "unmap"]);
    // Within its patience the server has got rid of them, and serves again.
    let deadline = begin + Duration::from_secs(60);
    loop {
        if get(&socket).starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(Instant::now() < deadline, "nobody is served any more");
        std::thread::sleep(Duration::from_millis(100));
    }
    let begin = Instant::now();
    drop(server);
    assert!(begin.elapsed() < Duration::from_secs(30), "an end waits for no client");
    drop((client, idle));
    array.shut_down().unwrap();
}

#[test]
fn a_log_that_takes_writes_fills() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("array");
    made(&directory, LayoutName::Raid4, 3);
    let array = started(&directory, false).serve().unwrap();
    let client = array.client();
    let before = client.look().unwrap().log;
    ask(&client, HostRequest::Write { first_sector: 0, data: vec![1; 1 << 20] });
    let after = client.look().unwrap().log;
    assert!(after.filled_bytes >= before.filled_bytes + (1 << 20), "{before:?} {after:?}");
    assert!(after.filled_bytes <= after.half_bytes);
    drop(client);
    array.shut_down().unwrap();
}

#[test]
fn places_that_cannot_be_listened_at_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let start = |place: &Path| MetricsServer::start(place, String::new).map(|_| ());
    assert!(matches!(start(Path::new("192.0.2.1:9100")), Err(MetricsError::NotLoopback(_))));
    let long = folder.path().join("x".repeat(120));
    assert!(matches!(start(&long), Err(MetricsError::SocketPath(_))));
    let file = folder.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    assert!(matches!(start(&file), Err(MetricsError::Socket(_))));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    assert!(matches!(start(&folder.path().join("none/m.sock")), Err(MetricsError::Socket(_))));
    let taken = folder.path().join("taken");
    let _server = MetricsServer::start(&taken, String::new).unwrap();
    assert!(matches!(start(&taken), Err(MetricsError::Socket(_))));
}
