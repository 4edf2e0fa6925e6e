//! The control socket, and what hostile clients send to it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use strewn_live::administration::{Change, ChangeError};
use strewn_live::configuration::LayoutName;
use strewn_live::control::{
    CONTROL_SOCKET, ControlAnswer, ControlClient, ControlError, ControlRequest, ControlServer,
    SocketError,
};
use strewn_live::serving::ArrayThread;
use tempfile::TempDir;

use super::{made, started};
use crate::nbd::client::Random;

struct Controlled {
    array: ArrayThread,
    control: ControlServer,
    directory: PathBuf,
    _folder: TempDir,
}

impl Controlled {
    fn new() -> Self {
        Self::named("array")
    }

    fn named(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join(name);
        std::fs::create_dir_all(directory.parent().unwrap()).unwrap();
        made(&directory, LayoutName::Raid4, 3);
        let array = started(&directory, false).serve().unwrap();
        let control = ControlServer::start(&directory, array.client()).unwrap();
        Self { array, control, directory, _folder: folder }
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.directory.join(CONTROL_SOCKET)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes and returns what comes back.
    fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may close before it has taken everything.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn client(&self) -> ControlClient {
        ControlClient::connect(&self.directory).unwrap().unwrap()
    }

    /// The array answers still.
    fn assert_answers(&self) {
        let begin = Instant::now();
        assert_eq!(self.client().inventory().unwrap().volumes.len(), 1);
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }

    fn end(self) -> PathBuf {
        drop(self.control);
        assert!(!self.directory.join(CONTROL_SOCKET).exists());
        self.array.shut_down().unwrap();
        self.directory
    }
}

fn take(name: &str) -> Change {
    let snapshot = format!("volume@{name}").parse().unwrap();
    Change::TakeSnapshot { snapshot, taken_unix_seconds: 1 }
}

#[test]
fn an_array_is_administered_by_one_line_a_request() {
    let controlled = Controlled::new();
    let mode = std::fs::metadata(controlled.directory.join(CONTROL_SOCKET)).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let client = controlled.client();
    assert_eq!(client.administer(take("one")).unwrap().volumes[0].snapshots.len(), 1);
    let refused = client.administer(take("one"));
    assert!(matches!(refused, Err(ControlError::Refused(ChangeError::Exists(_)))), "{refused:?}");
    assert_eq!(client.inventory().unwrap().volumes[0].snapshots[0].name, "one");
    // As a person would, with any program that opens a socket.
    let answer = controlled.send(b"\"inventory\"\n");
    assert_eq!(answer.last(), Some(&b'\n'));
    let answer: ControlAnswer = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer, ControlAnswer::Inventory(client.inventory().unwrap()));
    let line = br#"{"change":{"delete_snapshot":{"snapshot":"volume@one"}}}"#;
    let answer: ControlAnswer = serde_json::from_slice(&controlled.send(line)).unwrap();
    let ControlAnswer::Inventory(inventory) = answer else { panic!("{answer:?}") };
    assert_eq!(inventory.volumes[0].snapshots, []);
    let directory = controlled.end();
    assert!(ControlClient::connect(&directory).unwrap().is_none());
    assert!(matches!(client.inventory(), Err(ControlError::Io(_))));
}

#[test]
fn hostile_clients_harm_nobody() {
    let controlled = Controlled::new();
    let mut random = Random::new("hostile clients of the control socket");
    let invalid = |bytes: &[u8]| {
        let answer = controlled.send(bytes);
        matches!(serde_json::from_slice(&answer), Ok(ControlAnswer::Invalid(_)))
    };
    let deep = "[".repeat(60_000);
    for text in [
        "",
        "\n",
        "GET / HTTP/1.1\r\n\r\n",
        "inventory\n",
        "null\n",
        "{\"change\":{}}\n",
        "{\"change\":{\"take_snapshot\":{\"snapshot\":\"volume\",\"taken_unix_seconds\":1}}}\n",
        "{\"change\":{\"take_snapshot\":{\"snapshot\":\"volume@\\u0000\",\"taken_unix_seconds\":1}}}\n",
        "{\"change\":{\"take_snapshot\":{\"snapshot\":\"volume@x\",\"taken_unix_seconds\":-1}}}\n",
        "{\"change\":{\"delete_volume\":{\"volume\":\"a/b\"}}}\n",
        &deep,
    ] {
        assert!(invalid(text.as_bytes()), "{text:.60}");
    }
    for _ in 0..50 {
        let count = random.below(300) as usize;
        assert!(invalid(&random.bytes(count)));
    }
    // Pieces of a request that is one, cut anywhere.
    let whole = serde_json::to_vec(&ControlRequest::Change(take("never"))).unwrap();
    for cut in 0..whole.len() {
        assert!(invalid(&whole[..cut]), "{cut}");
    }
    // A line that does not end is not read to its end.
    assert!(controlled.send(&vec![b'x'; 10 << 20]).is_empty());
    // Some leave without the answer, some say nothing, some say it very slowly.
    for _ in 0..20 {
        controlled.connect().write_all(b"\"inventory\"\n").unwrap();
    }
    controlled.assert_answers();
    let mut silent: Vec<_> = (0..40).map(|_| controlled.connect()).collect();
    silent[0].write_all(b"\"inv").unwrap();
    controlled.assert_answers();
    let mut answer = Vec::new();
    assert_eq!(silent[0].read_to_end(&mut answer).unwrap_or_default(), 0, "its time is over");
    assert_eq!(controlled.client().inventory().unwrap().volumes[0].snapshots, []);

    let silent: Vec<_> = (0..10).map(|_| controlled.connect()).collect();
    let begin = Instant::now();
    controlled.end();
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    drop(silent);
}

#[test]
fn regression_idle_connections_do_not_lock_others_out() {
    let controlled = Controlled::new();
    let begin = Instant::now();
    let idle: Vec<_> = (0..100).map(|_| controlled.connect()).collect();
    // A change that is whole but for its end is not made for one that had to make room.
    let mut unfinished = controlled.connect();
    unfinished
        .write_all(&serde_json::to_vec(&ControlRequest::Change(take("never"))).unwrap())
        .unwrap();
    let more: Vec<_> = (0..200).map(|_| controlled.connect()).collect();
    controlled.assert_answers();
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert_eq!(controlled.client().inventory().unwrap().volumes[0].snapshots, []);
    drop((idle, unfinished, more));
    controlled.end();
}

#[test]
fn a_path_that_is_too_long_for_a_socket_does_not_matter() {
    let controlled = Controlled::named(&format!("{0}/{0}/array", "long".repeat(40)));
    assert!(controlled.directory.join(CONTROL_SOCKET).as_os_str().len() > 300);
    controlled.client().administer(take("one")).unwrap();
    controlled.assert_answers();
    controlled.end();
}

#[test]
fn the_socket_of_a_dead_server_is_replaced_and_other_files_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::Raid4, 3);
    let array = started(&directory, false).serve().unwrap();
    let start = |directory: &Path| ControlServer::start(directory, array.client());
    let path = directory.join(CONTROL_SOCKET);
    drop(UnixListener::bind(&path).unwrap());
    assert!(ControlClient::connect(&directory).unwrap().is_none(), "nobody answers");
    let control = start(&directory).unwrap();
    assert!(ControlClient::connect(&directory).unwrap().is_some());
    assert!(matches!(start(&directory), Err(SocketError::InUse(_))));
    drop(control);
    assert!(!path.exists());

    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(start(&directory), Err(SocketError::NotASocket(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    assert!(ControlClient::connect(&directory).unwrap().is_none());
    let nowhere = start(&directory.join("nowhere")).unwrap_err();
    assert!(nowhere.to_string().contains("nowhere/control"), "{nowhere}");
    array.shut_down().unwrap();
}
