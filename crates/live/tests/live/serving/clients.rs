//! Clients of a served array that ask for much, go away, or say nothing: nobody else pays for it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use strewn_live::configuration::LayoutName;
use strewn_live::engine::HostRequest;
use strewn_live::nbd::{Address, Limits, Server};
use strewn_live::serving::{ArrayThread, LunExports};
use tempfile::TempDir;

use super::{ask, made, megabyte, started, write_all};
use crate::nbd::client::{ACK, READ, ZEROES, head, info};

const MIB: u64 = 1 << 20;

/// The largest read that the server takes.
const LARGEST: u32 = 32 << 20;

/// As many requests as a client's and the server's socket buffers hold: 219 KB.
const THOUSANDS: usize = 7_800;

/// A LUN of 48 MiB, written in full, behind a TCP port.
struct ServedLun {
    server: Server,
    address: SocketAddr,
    array: ArrayThread,
    _folder: TempDir,
}

impl ServedLun {
    fn new(layout: LayoutName) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("array");
        made(&directory, layout, 4);
        let array = started(&directory, false).serve().unwrap();
        write_all(&array.client(), 1);
        let exports = LunExports::new(array.client(), String::new());
        let server =
            Server::tcp("127.0.0.1:0".parse().unwrap(), exports, Limits::default()).unwrap();
        let Address::Tcp(address) = *server.address() else { panic!("a TCP server") };
        Self { server, address, array, _folder: folder }
    }

    fn connect(&self) -> Raw {
        Raw::connect(self.address).unwrap()
    }

    /// Waits until so few connections are left.
    fn wait_for_connections(&self, most: usize) -> Duration {
        let begin = Instant::now();
        while self.server.usage().connections > most {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", self.server.usage());
            thread::sleep(Duration::from_millis(5));
        }
        begin.elapsed()
    }

    /// What was read from the array so far, in MiB.
    fn mib_read(&self) -> u64 {
        self.array.client().look().unwrap().counters.cache_lookups / 256
    }

    fn stop(self) {
        self.server.stop();
        self.array.shut_down().unwrap();
    }
}

/// A client that writes and reads bytes of the protocol.
struct Raw(TcpStream);

impl Raw {
    /// Connects and chooses the export, with simple replies.
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let mut raw = Self(TcpStream::connect(address)?);
        raw.0.set_read_timeout(Some(Duration::from_secs(60)))?;
        raw.take(18)?;
        let go = info("", &[]);
        let option =
            [&b"IHAVEOPT"[..], &7_u32.to_be_bytes(), &(go.len() as u32).to_be_bytes(), &go];
        raw.0.write_all(&[&3_u32.to_be_bytes()[..], &option.concat()].concat())?;
        loop {
            let reply = raw.take(20)?;
            let word = |at: usize| u32::from_be_bytes(reply[at..at + 4].try_into().unwrap());
            raw.take(word(16) as usize)?;
            if word(12) == ACK {
                return Ok(raw);
            }
        }
    }

    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Sends `count` requests at once, as far as the buffers take them.
    fn send(&mut self, count: usize, request: [u8; 28]) {
        self.0.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let _ = self.0.write_all(&request.repeat(count));
    }

    fn read(&mut self, offset: u64, bytes: u32) -> io::Result<Vec<u8>> {
        self.0.write_all(&head(READ, 0, 1, offset, bytes))?;
        let reply = self.take(16)?;
        assert_eq!(reply[4..8], [0; 4]);
        self.take(bytes as usize)
    }

    /// Reads one block, checks it, and returns how long that took.
    fn time_of_a_small_read(&mut self, index: u64) -> Duration {
        let begin = Instant::now();
        let found = self.read(index * MIB, 4096).unwrap();
        assert!(found == megabyte(index, 1)[..4096]);
        begin.elapsed()
    }
}

#[test]
fn regression_requests_of_a_client_that_is_gone_are_dropped() {
    let served = ServedLun::new(LayoutName::RaidDp);
    let before = served.mib_read();
    let mut client = served.connect();
    client.send(THOUSANDS, head(READ, 0, 1, 0, LARGEST));
    drop(client);
    let ended = served.wait_for_connections(0);
    assert!(ended < Duration::from_secs(5), "{ended:?}");
    let read = served.mib_read() - before;
    assert!(read < 1024, "{read} MiB were read for nobody");
    served.stop();
}

#[test]
fn regression_zeroing_for_a_client_that_is_gone_ends() {
    let served = ServedLun::new(LayoutName::Raid5);
    let mut client = served.connect();
    // Each writes the whole LUN.
    client.send(100, head(ZEROES, 0, 1, 0, 48 << 20));
    drop(client);
    let ended = served.wait_for_connections(0);
    assert!(ended < Duration::from_secs(5), "{ended:?}");
    served.stop();
}

#[test]
fn regression_a_small_read_does_not_wait_for_what_others_asked_for() {
    let served = ServedLun::new(LayoutName::RaidDp);
    let mut modest = served.connect();
    // Ten go away, ten stay and read all they get.
    let mut greedy: Vec<Raw> = (0..20).map(|_| served.connect()).collect();
    for client in &mut greedy {
        client.send(300, head(READ, 0, 1, 0, LARGEST));
    }
    greedy.truncate(10);
    let readers: Vec<_> = greedy
        .iter()
        .map(|client| {
            let mut socket = client.0.try_clone().unwrap();
            thread::spawn(move || {
                let mut into = vec![0; 1 << 20];
                while socket.read(&mut into).is_ok_and(|read| read > 0) {}
            })
        })
        .collect();
    let longest = (0..20).map(|index| modest.time_of_a_small_read(index)).max().unwrap();
    for client in &greedy {
        client.0.shutdown(std::net::Shutdown::Both).unwrap();
    }
    drop(greedy);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    served.wait_for_connections(1);
    served.stop();
}

#[test]
fn regression_idle_clients_do_not_lock_others_out() {
    let served = ServedLun::new(LayoutName::RaidDp);
    let connections = Limits::default().connections;
    // One was of use, and has been idle for longest.
    let mut first = served.connect();
    first.time_of_a_small_read(1);
    let _silent: Vec<TcpStream> =
        (1..connections).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    for round in 0..3 {
        let mut late = served.connect();
        late.time_of_a_small_read(round);
    }
    first.time_of_a_small_read(2);
    served.stop();
}

#[test]
fn regression_clients_that_were_of_use_make_room_too() {
    let served = ServedLun::new(LayoutName::RaidDp);
    let mut idle: Vec<Raw> = (0..Limits::default().connections).map(|_| served.connect()).collect();
    for client in &mut idle {
        client.time_of_a_small_read(3);
    }
    served.connect().time_of_a_small_read(4);
    assert!(idle[0].read(0, 4096).is_err(), "the one that was idle for longest had to go");
    idle.last_mut().unwrap().time_of_a_small_read(5);
    served.stop();
}

/// The name of the variable that turns the test below into its own child.
const IN_A_PROCESS_OF_ITS_OWN: &str = "STREWN_TEST_MEMORY_OF_GREEDY_CLIENTS";

/// The highest value that this process's memory had, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// The limit on bytes in flight is one of the process, so it is measured in a process of its own.
#[test]
fn regression_twenty_greedy_clients_take_no_more_memory_than_the_limit_says() {
    if std::env::var_os(IN_A_PROCESS_OF_ITS_OWN).is_none() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("serving::clients::regression_twenty_greedy_clients_take_no_more_memory_than_the_limit_says")
            .env(IN_A_PROCESS_OF_ITS_OWN, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let served = ServedLun::new(LayoutName::RaidDp);
    let before = most_memory();
    let mut greedy: Vec<Raw> = (0..20).map(|_| served.connect()).collect();
    for client in &mut greedy {
        client.send(300, head(READ, 0, 1, 0, LARGEST));
    }
    // They take nothing for a while, so that as much as possible is in flight; then they go on.
    thread::sleep(Duration::from_secs(2));
    thread::scope(|scope| {
        for client in &mut greedy {
            scope.spawn(|| (0..3).for_each(|_| drop(client.take(16 + LARGEST as usize).unwrap())));
        }
    });
    let more = most_memory() - before;
    println!("{} MiB more", more / MIB);
    assert!(more <= Limits::default().bytes_in_flight + 16 * MIB, "{} MiB more", more / MIB);
    drop(greedy);
    served.wait_for_connections(0);
    ask(&served.array.client(), HostRequest::Flush);
    served.stop();
}
