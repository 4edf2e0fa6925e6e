//! A client that speaks bytes, with numbers of its own: those of the protocol's document.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use strewn_base::Rng;
use strewn_live::nbd::{Export, Exports, Limits, OneExport, Server, Usage};
use tempfile::TempDir;

pub const ACK: u32 = 1;
pub const REP_SERVER: u32 = 2;
pub const REP_INFO: u32 = 3;
pub const REP_META: u32 = 4;
pub const ERR_UNSUP: u32 = 0x8000_0001;
pub const ERR_INVALID: u32 = 0x8000_0003;
pub const ERR_UNKNOWN: u32 = 0x8000_0006;
pub const ERR_TOO_BIG: u32 = 0x8000_0009;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const ZEROES: u16 = 6;
pub const STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const DF: u16 = 4;
pub const REQ_ONE: u16 = 8;
pub const FAST_ZERO: u16 = 16;

/// A server at a socket in a directory of its own.
pub struct Serving {
    pub server: Option<Server>,
    pub path: PathBuf,
    _directory: TempDir,
}

impl Serving {
    pub fn new(export: Arc<dyn Export>) -> Self {
        Self::with(export, Limits::default())
    }

    pub fn with(export: Arc<dyn Export>, limits: Limits) -> Self {
        Self::of(OneExport::new(export), limits)
    }

    pub fn of(exports: Arc<dyn Exports>, limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lun.sock");
        let server = Server::unix(&path, exports, limits).unwrap();
        Self { server: Some(server), path, _directory: directory }
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.path)
    }

    pub fn usage(&self) -> Usage {
        self.server.as_ref().unwrap().usage()
    }

    /// Waits until the usage is as `wanted` has it.
    pub fn wait_until(&self, wanted: impl Fn(Usage) -> bool) {
        let begin = Instant::now();
        while !wanted(self.usage()) {
            assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", self.usage());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

pub struct Client {
    pub stream: UnixStream,
    pub structured: bool,
}

/// What came back for a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Got {
    pub cookie: u64,
    pub error: u32,
    pub data: Vec<u8>,
    /// Lengths and flags.
    pub extents: Vec<(u32, u32)>,
}

impl Client {
    pub fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { stream, structured: false }
    }

    /// Reads the greeting and sends flags.
    pub fn greet(mut self, flags: u32) -> Self {
        assert_eq!(self.take(18), *b"NBDMAGICIHAVEOPT\0\x03");
        self.send(&flags.to_be_bytes());
        self
    }

    /// Transmission at once, with simple replies.
    pub fn simple(self) -> Self {
        let mut client = self.greet(3);
        assert_eq!(client.go("", &[]).last().unwrap().0, ACK);
        client
    }

    /// Transmission with structured replies and `base:allocation`.
    pub fn structured(self) -> Self {
        let mut client = self.greet(3);
        assert_eq!(client.option(8, &[]), [(ACK, Vec::new())]);
        assert_eq!(client.option(10, &context("lun", &["base:allocation"])).len(), 2);
        assert_eq!(client.go("lun", &[]).last().unwrap().0, ACK);
        client.structured = true;
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    /// Whether the server closed, and nothing came before.
    pub fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    pub fn close_writing(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    pub fn send_option(&mut self, option: u32, data: &[u8]) {
        let length = (data.len() as u32).to_be_bytes();
        self.send(&[b"IHAVEOPT", &option.to_be_bytes()[..], &length, data].concat());
    }

    /// One reply to an option.
    pub fn option_reply(&mut self, option: u32) -> (u32, Vec<u8>) {
        assert_eq!(self.u64(), 0x0003_e889_0455_65a9);
        assert_eq!(self.u32(), option);
        let kind = self.u32();
        let length = self.u32();
        (kind, self.take(length as usize))
    }

    /// Sends an option and takes replies up to the last: an acknowledgement or an error.
    pub fn option(&mut self, option: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send_option(option, data);
        let mut replies = Vec::new();
        loop {
            replies.push(self.option_reply(option));
            let kind = replies.last().unwrap().0;
            if kind == ACK || kind >> 31 == 1 {
                return replies;
            }
        }
    }

    pub fn go(&mut self, name: &str, wanted: &[u16]) -> Vec<(u32, Vec<u8>)> {
        self.option(7, &info(name, wanted))
    }

    pub fn request(
        &mut self,
        command: u16,
        flags: u16,
        cookie: u64,
        offset: u64,
        bytes: u32,
        data: &[u8],
    ) {
        self.send(&[&head(command, flags, cookie, offset, bytes)[..], data].concat());
    }

    /// One reply; `read_bytes` is what a read asked for, which a simple reply does not say.
    pub fn reply(&mut self, read_bytes: usize) -> Got {
        let mut got = Got { cookie: 0, error: 0, data: Vec::new(), extents: Vec::new() };
        if !self.structured {
            assert_eq!(self.u32(), 0x6744_6698);
            got.error = self.u32();
            got.cookie = self.u64();
            if got.error == 0 {
                got.data = self.take(read_bytes);
            }
            return got;
        }
        assert_eq!(self.u32(), 0x668e_33ef);
        assert_eq!(self.u16(), 1, "one chunk is all");
        let kind = self.u16();
        got.cookie = self.u64();
        let bytes = self.u32() as usize;
        match kind {
            0 => assert_eq!(bytes, 0),
            1 => {
                self.u64();
                got.data = self.take(bytes - 8);
            }
            5 => {
                assert_eq!(self.u32(), 1);
                got.extents = (0..(bytes - 4) / 8).map(|_| (self.u32(), self.u32())).collect();
            }
            0x8001 => {
                got.error = self.u32();
                let length = self.u16();
                assert_eq!(usize::from(length) + 6, bytes);
                assert!(!String::from_utf8(self.take(length.into())).unwrap().is_empty());
            }
            _ => panic!("chunk of kind {kind}"),
        }
        got
    }

    /// A request and its reply.
    pub fn ask(&mut self, command: u16, flags: u16, offset: u64, bytes: u32, data: &[u8]) -> Got {
        let cookie = offset ^ u64::from(bytes) ^ 0x5eed_0000_0000_0000;
        self.request(command, flags, cookie, offset, bytes, data);
        let got = self.reply(if command == READ { bytes as usize } else { 0 });
        assert_eq!(got.cookie, cookie);
        got
    }

    pub fn read(&mut self, offset: u64, bytes: u32) -> Vec<u8> {
        let got = self.ask(READ, 0, offset, bytes, &[]);
        assert_eq!(got.error, 0);
        got.data
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        assert_eq!(self.ask(WRITE, 0, offset, data.len() as u32, data).error, 0);
    }
}

pub fn head(command: u16, flags: u16, cookie: u64, offset: u64, bytes: u32) -> [u8; 28] {
    let parts = [
        &0x2560_9513_u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &bytes.to_be_bytes(),
    ];
    parts.concat().try_into().unwrap()
}

/// The data of INFO and GO.
pub fn info(name: &str, wanted: &[u16]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((wanted.len() as u16).to_be_bytes());
    wanted.iter().for_each(|kind| data.extend(kind.to_be_bytes()));
    data
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
pub fn context(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((queries.len() as u32).to_be_bytes());
    queries.iter().for_each(|query| data.extend(string(query)));
    data
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// Numbers that a seed repeats (splitmix64).
pub struct Random(Rng);

impl Random {
    /// From `STREWN_NBD_SEED`, or from the clock; printed, so that a failure can be repeated.
    pub fn new(what: &str) -> Self {
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed =
            std::env::var("STREWN_NBD_SEED").map_or_else(|_| clock(), |seed| seed.parse().unwrap());
        println!("{what}: STREWN_NBD_SEED={seed}");
        Self(Rng::new(seed))
    }

    pub fn fork(&mut self) -> Self {
        Self(Rng::new(self.next()))
    }

    pub fn next(&mut self) -> u64 {
        self.0.bits()
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
