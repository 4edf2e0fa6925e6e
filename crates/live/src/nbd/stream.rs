//! A client's socket, of either kind, and exact reads from it.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Events of a socket whose other end sends no more.
#[cfg(target_os = "linux")]
const CLOSED: PollFlags = PollFlags::RDHUP.union(PollFlags::HUP).union(PollFlags::ERR);
#[cfg(not(target_os = "linux"))]
const CLOSED: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

/// Size of one read, so that small requests are read together.
const BUFFER_BYTES: usize = 64 << 10;

/// A client's socket, and when bytes last passed through it.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    connected: Instant,
    /// Nanoseconds from the connection to the last byte that came or went.
    last_byte_ns: AtomicU64,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Returns whether the socket at the other end can send. If the system does not say, it is taken to be able to.
    #[cfg(target_os = "linux")]
    fn is_peer_open(&self) -> bool {
        let Self::Tcp(stream) = self else { return true };
        let (Ok(peer), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else { return false };
        super::peer::is_open(peer, own).unwrap_or(true)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_peer_open(&self) -> bool {
        true
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::new(Socket::Unix(stream))
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::new(Socket::Tcp(stream))
    }
}

impl Stream {
    fn new(socket: Socket) -> Self {
        Self { socket, connected: Instant::now(), last_byte_ns: AtomicU64::new(0) }
    }

    /// Returns when the client connected.
    pub(super) fn connected(&self) -> Instant {
        self.connected
    }

    /// Returns when the last byte came or went, or when the client connected.
    pub(super) fn last_byte(&self) -> Instant {
        self.connected + Duration::from_nanos(self.last_byte_ns.load(Ordering::Relaxed))
    }

    /// Notes that bytes came or went, if they did.
    fn passed(&self, bytes: io::Result<usize>) -> io::Result<usize> {
        if bytes.as_ref().is_ok_and(|bytes| *bytes > 0) {
            let since = u64::try_from(self.connected.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.last_byte_ns.store(since, Ordering::Relaxed);
        }
        bytes
    }

    /// Returns whether the client can still send: whether it has closed neither its connection nor its side of it. What
    /// it sent before may not be read yet.
    pub(super) fn is_open(&self) -> bool {
        let mut event = [PollFd::new(&self.socket, CLOSED)];
        let polled = poll(&mut event, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        let is_closed = polled.is_ok() && event[0].revents().intersects(CLOSED);
        // The end of a TCP client's stream comes behind its data, some of which may not have come yet.
        !is_closed && self.socket.is_peer_open()
    }

    pub(super) fn shutdown(&self, how: Shutdown) {
        // A socket that is no longer connected needs no shutdown.
        let _ = match &self.socket {
            Socket::Unix(stream) => stream.shutdown(how),
            Socket::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// Sets how long one read may wait for the next bytes.
    pub(super) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match &self.socket {
            Socket::Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Socket::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    /// Sets how long one write may wait for the client to take data.
    pub(super) fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match &self.socket {
            Socket::Unix(stream) => stream.set_write_timeout(Some(timeout)),
            Socket::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.passed(match &self.socket {
            Socket::Unix(stream) => (&*stream).read(into),
            Socket::Tcp(stream) => (&*stream).read(into),
        })
    }
}

impl Write for &Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.passed(match &self.socket {
            Socket::Unix(stream) => (&*stream).write(from),
            Socket::Tcp(stream) => (&*stream).write(from),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The incoming bytes of a client.
pub(super) struct Incoming<'a> {
    reader: BufReader<&'a Stream>,
    /// When all must have arrived; later reads fail.
    deadline: Option<Instant>,
}

impl<'a> Incoming<'a> {
    pub(super) fn new(stream: &'a Stream) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER_BYTES, stream), deadline: None }
    }

    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Waits, without limit, for the next bytes. Returns false if the client closed instead.
    pub(super) fn begins(&mut self) -> io::Result<bool> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(!bytes.is_empty()),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Fills all of `into`. Fails if the client closes, pauses for longer than the socket's timeout, or exceeds the
    /// deadline.
    pub(super) fn exact(&mut self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            self.arm()?;
            match self.reader.read(into) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => into = &mut into[read..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads `bytes` bytes and discards them.
    pub(super) fn discard(&mut self, mut bytes: u64) -> io::Result<()> {
        let mut into = [0; 8 << 10];
        while bytes > 0 {
            let now = into.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.exact(&mut into[..now])?;
            bytes -= now as u64;
        }
        Ok(())
    }

    /// Reads and discards what the client still sends until it closes, but no longer than until the deadline.
    pub(super) fn discard_rest(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
        let mut into = [0; 1];
        while self.exact(&mut into).is_ok() {
            let buffered = self.reader.buffer().len();
            self.reader.consume(buffered);
        }
    }

    /// Limits the next read's wait to the deadline.
    fn arm(&mut self) -> io::Result<()> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            if self.reader.buffer().is_empty() {
                self.reader.get_ref().set_read_timeout(left)?;
            }
        }
        Ok(())
    }
}

/// Returns whether the error only means that nothing arrived.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
