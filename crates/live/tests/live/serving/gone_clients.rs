//! What a client asked for that is gone does not undo what others have written since.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use strewn_live::configuration::LayoutName;
use strewn_live::nbd::{Address, Limits, Server};
use strewn_live::serving::{ArrayThread, LunExports};

use super::{made, started, write_all};
use crate::nbd::client::{ACK, DISC, FUA, NO_HOLE, READ, Random, TRIM, WRITE, ZEROES, head, info};

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;
/// What the clients that go write to; another one loads the array with the rest of the 48 MiB.
const CONTESTED_BYTES: u64 = 40 * MIB;

/// A client on a socket of either kind.
struct Raw(Box<dyn Socket>);

trait Socket: Read + Write + Send {
    fn set_timeouts(&self, timeout: Duration);
    fn reset_on_close(&self);
    fn end_requests(&self);
}

macro_rules! socket {
    ($stream:ty) => {
        impl Socket for $stream {
            fn set_timeouts(&self, timeout: Duration) {
                self.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                self.set_write_timeout(Some(timeout)).unwrap();
            }
            fn reset_on_close(&self) {
                set_socket_linger(self.as_fd(), Some(Duration::ZERO)).unwrap();
            }
            fn end_requests(&self) {
                self.shutdown(std::net::Shutdown::Write).unwrap();
            }
        }
    };
}

socket!(UnixStream);
socket!(TcpStream);

impl Raw {
    fn connect(address: &Address) -> Self {
        let socket: Box<dyn Socket> = match address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).unwrap()),
            Address::Tcp(address) => Box::new(TcpStream::connect(address).unwrap()),
        };
        socket.set_timeouts(Duration::from_secs(60));
        let mut raw = Self(socket);
        raw.take(18);
        let go = info("", &[]);
        let length = (go.len() as u32).to_be_bytes();
        let option = [&3_u32.to_be_bytes(), &b"IHAVEOPT"[..], &7_u32.to_be_bytes(), &length, &go];
        raw.0.write_all(&option.concat()).unwrap();
        loop {
            let reply = raw.take(20);
            let word = |at: usize| u32::from_be_bytes(reply[at..at + 4].try_into().unwrap());
            raw.take(word(16) as usize);
            if word(12) == ACK {
                return raw;
            }
        }
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Waits for the answer to a request, which must have succeeded.
    fn done(&mut self) {
        assert_eq!(self.take(16)[4..8], [0; 4]);
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.0.write_all(&request(WRITE, 0, offset, data.len() as u64, data)).unwrap();
        self.done();
    }

    fn read(&mut self, offset: u64, bytes: u64) -> Vec<u8> {
        self.0.write_all(&head(READ, 0, 1, offset, bytes as u32)).unwrap();
        self.done();
        self.take(bytes as usize)
    }
}

fn request(command: u16, flags: u16, offset: u64, bytes: u64, data: &[u8]) -> Vec<u8> {
    [&head(command, flags, 1, offset, bytes as u32)[..], data].concat()
}

/// The state that the rounds expect of each sector: the byte that fills it, or `None` if it may hold anything.
struct Expected(Vec<Option<u8>>);

impl Expected {
    fn set(&mut self, offset: u64, bytes: u64, value: Option<u8>) {
        self.0[(offset / SECTOR) as usize..((offset + bytes) / SECTOR) as usize].fill(value);
    }

    fn verify(&self, client: &mut Raw) {
        for offset in (0..CONTESTED_BYTES).step_by(MIB as usize) {
            let read = client.read(offset, MIB);
            let known = &self.0[(offset / SECTOR) as usize..];
            for (sector, (bytes, known)) in read.chunks(SECTOR as usize).zip(known).enumerate() {
                if let Some(value) = known {
                    let at = offset / SECTOR + sector as u64;
                    assert!(bytes.iter().all(|byte| byte == value), "sector {at} was undone");
                }
            }
        }
    }
}

/// Sends requests for a range and a little more, as far as the server takes them, and leaves without the answers.
fn ask_and_leave(address: &Address, random: &mut Random, offset: u64, bytes: u64) -> (u64, u64) {
    let margin = [0, 0, SECTOR, 4096][random.below(4) as usize];
    let first = offset.saturating_sub(margin);
    let end = (offset + bytes + margin).min(CONTESTED_BYTES);
    let (command, flags) =
        [(WRITE, 0), (WRITE, 0), (WRITE, FUA), (TRIM, 0), (ZEROES, 0), (ZEROES, NO_HOLE)]
            [random.below(6) as usize];
    let data = if command == WRITE { vec![0xff; (end - first) as usize] } else { Vec::new() };
    let one = request(command, flags, first, end - first, &data);
    let mut client = Raw::connect(address);
    client.0.set_timeouts(Duration::from_millis(50));
    let most = if bytes < 4 * MIB { 16 + random.below(300) * u64::from(bytes < 16_384) } else { 2 };
    for _ in 0..1 + random.below(most) {
        if client.0.write_all(&one).is_err() {
            break;
        }
    }
    match random.below(4) {
        0 => client.0.reset_on_close(),
        // Does not fit if the server has stopped reading.
        1 => drop(client.0.write_all(&head(DISC, 0, 0, 0, 0))),
        2 => client.0.end_requests(),
        _ => {}
    }
    (first, end - first)
}

/// Keeps the array busy with large writes and small ones until told to stop.
fn load(address: &Address, stop: &AtomicBool) {
    let mut client = Raw::connect(address);
    let large = vec![0x55; 2 * MIB as usize];
    while !stop.load(Ordering::Relaxed) {
        for offset in [40 * MIB, 42 * MIB, 44 * MIB] {
            client.0.write_all(&request(WRITE, 0, offset, 2 * MIB, &large)).unwrap();
            client.0.write_all(&request(WRITE, 0, 46 * MIB, 4096, &large[..4096])).unwrap();
        }
        (0..6).for_each(|_| client.done());
    }
}

fn contest(layout: LayoutName, tcp: bool, rounds: u64) {
    let mut random = Random::new(&format!("{layout:?}, tcp {tcp}"));
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("array");
    made(&directory, layout, 4);
    let array: ArrayThread = started(&directory, false).serve().unwrap();
    write_all(&array.client(), 1);
    let exports = LunExports::new(array.client(), String::new());
    let server = match tcp {
        true => Server::tcp("127.0.0.1:0".parse().unwrap(), exports, Limits::default()).unwrap(),
        false => Server::unix(&folder.path().join("s"), exports, Limits::default()).unwrap(),
    };
    let address = server.address().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let loader = thread::spawn({
        let (address, stop) = (address.clone(), Arc::clone(&stop));
        move || load(&address, &stop)
    });
    let mut standby = Raw::connect(&address);
    let mut expected = Expected(vec![None; (CONTESTED_BYTES / SECTOR) as usize]);
    for round in 0..rounds {
        let bytes = [512, 4096, 16_384, 65_536, 262_144, MIB, 4 * MIB][random.below(7) as usize];
        let offset = random.below((CONTESTED_BYTES - bytes) / SECTOR) * SECTOR;
        let offset = if random.below(3) > 0 { offset / 4096 * 4096 } else { offset };
        let (first, touched) = ask_and_leave(&address, &mut random, offset, bytes);
        expected.set(first, touched, None);
        // Somebody who was there already, or somebody new.
        let value = (round % 200) as u8 + 1;
        let data = vec![value; bytes as usize];
        match random.below(2) {
            0 => standby.write(offset, &data),
            _ => Raw::connect(&address).write(offset, &data),
        }
        expected.set(offset, bytes, Some(value));
    }
    stop.store(true, Ordering::Relaxed);
    loader.join().unwrap();
    let begin = Instant::now();
    while server.usage().connections > 1 {
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", server.usage());
        thread::sleep(Duration::from_millis(2));
    }
    expected.verify(&mut standby);
    drop(standby);
    server.stop();
    array.shut_down().unwrap();
}

#[test]
fn regression_a_client_that_is_gone_undoes_nothing_over_a_unix_socket() {
    contest(LayoutName::RaidDp, false, 80);
    contest(LayoutName::Raid5, false, 40);
}

#[test]
fn regression_a_client_that_is_gone_undoes_nothing_over_tcp() {
    contest(LayoutName::RaidDp, true, 80);
    contest(LayoutName::Raid5, true, 40);
}
