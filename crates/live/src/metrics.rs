//! A page of text over HTTP for programs that look at it again and again, such as Prometheus.
//!
//! The server knows nothing of what it serves: it asks for a page each time. It has threads of its own, a bounded
//! number of connections, and a deadline for each, so that a client that sends nothing, sends rubbish or never reads
//! keeps nobody waiting but itself.
//!
//! ```no_run
//! use strewn_live::metrics::MetricsServer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = MetricsServer::start("/run/strewn.sock", || "# EOF\n".to_owned())?;
//! println!("{}", server.address()); // curl --unix-socket /run/strewn.sock http://localhost/metrics
//! # Ok(())
//! # }
//! ```

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::private_socket::{PrivateSocket, SocketError};

/// The media type of OpenMetrics text.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Connections at once; a further one is closed at once.
const CONNECTIONS: usize = 8;
/// How long a client may take to send its request, and again to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes of a request.
const MAXIMUM_REQUEST_BYTES: usize = 16 << 10;

/// Why a server of metrics cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The address is not a loopback address: there is no encryption and no password.
    #[error("{0} is not a loopback address, and there is neither encryption nor a password")]
    NotLoopback(SocketAddr),
    /// The place looks like an address, and is none that can be listened at.
    #[error("{0} is no address with a port, such as 127.0.0.1:9610")]
    NoAddress(String),
    /// The path cannot be that of a socket.
    #[error(
        "{} cannot be a socket's path: that has at most about a hundred bytes, and none of them is 0",
        .0.display()
    )]
    SocketPath(PathBuf),
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The system refused to listen at an address, or to start a thread.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// Where it was to listen.
        place: String,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

enum Listener {
    Unix(PrivateSocket),
    Tcp(TcpListener),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Whether someone who wrote this meant an address: a port alone, an IP address alone, or anything with a port, without
/// a directory in front.
fn looks_like_address(place: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| is_number(port));
    let is_ip = place.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    !place.contains('/') && (has_port || is_ip || is_number(place))
}

/// A server of metrics. It ends when it is dropped, and its socket's file is gone then.
#[derive(Debug)]
pub struct MetricsServer {
    address: String,
    stopper: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves what `page` returns at `place`: a loopback address with a port, as 127.0.0.1:9100, or the path of a new
    /// Unix socket that only the owner of this process may open. What looks like an address is never a path: such a
    /// socket is `./host:1`. `page` is called on the server's threads.
    ///
    /// # Errors
    /// See [`MetricsError`]. A socket that a dead server has left is replaced.
    pub fn start(
        place: impl AsRef<Path>,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, MetricsError> {
        let place = place.as_ref();
        let shown = place.display().to_string();
        let failed = |error| MetricsError::Listen { place: shown.clone(), error };
        let (listener, address) = match shown.parse::<SocketAddr>() {
            Ok(address) => {
                if !address.ip().to_canonical().is_loopback() {
                    return Err(MetricsError::NotLoopback(address));
                }
                let listener = TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                (Listener::Tcp(listener), format!("http://{address}/metrics"))
            }
            Err(_) if looks_like_address(&shown) => return Err(MetricsError::NoAddress(shown)),
            Err(_) => {
                if std::os::unix::net::SocketAddr::from_pathname(place).is_err() {
                    return Err(MetricsError::SocketPath(place.to_owned()));
                }
                (Listener::Unix(PrivateSocket::bind(place, place)?), shown.clone())
            }
        };
        let (stopper, told) = UnixStream::pair().map_err(failed)?;
        let page: Page = Arc::new(page);
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || accept_until_told(&listener, &told, &page))
            .map_err(failed)?;
        Ok(Self { address, stopper, thread: Some(thread) })
    }

    /// Returns where it listens: a URL, or the path of the socket.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // If nobody reads this, the thread has ended.
        let _ = self.stopper.write(&[0]);
        if let Some(thread) = self.thread.take() {
            // If it panicked, its message has been printed.
            let _ = thread.join();
        }
    }
}

type Page = Arc<dyn Fn() -> String + Send + Sync>;

/// A client's socket of either kind.
trait Socket: Read + Write + Send + 'static {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;
}

impl Socket for UnixStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

impl Socket for TcpStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

fn accept_until_told(listener: &Listener, told: &UnixStream, page: &Page) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let mut events = [PollFd::new(told, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        let polled = poll(&mut events, None);
        if polled.is_ok() && !events[0].revents().is_empty() {
            return;
        }
        let accepted = match listener {
            Listener::Unix(socket) => socket.accept().map(|stream| serve(stream, page, &open)),
            Listener::Tcp(listener) => {
                listener.accept().map(|(stream, _)| serve(stream, page, &open))
            }
        };
        match accepted {
            Ok(()) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // No descriptor is left, say: there may be one soon.
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Serves a client on a thread of its own, which ends within the deadlines whatever the client does.
fn serve(stream: impl Socket, page: &Page, open: &Arc<AtomicUsize>) {
    if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
        open.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    let (page, counted) = (Arc::clone(page), Open(Arc::clone(open)));
    // Without a thread left, the client is disconnected.
    let _ = thread::Builder::new().name("metrics client".into()).spawn(move || {
        let _counted = counted;
        // Whatever went wrong is the client's affair, which learns by the end of the connection.
        let _ = answer(stream, &page);
    });
}

/// A connection that counts until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn answer(mut stream: impl Socket, page: &Page) -> io::Result<()> {
    let request = read_request(&mut stream)?;
    let line = request.lines().next().unwrap_or_default();
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let (status, body) = match (is_http, method, path) {
        (false, ..) => ("400 Bad Request", "this is no HTTP/1 request\n".to_owned()),
        (true, "GET" | "HEAD", "/" | "/metrics") => ("200 OK", page()),
        (true, "GET" | "HEAD", _) => ("404 Not Found", "see /metrics\n".to_owned()),
        (true, ..) => ("405 Method Not Allowed", "only GET and HEAD\n".to_owned()),
    };
    let content_type = if status.starts_with("200") { CONTENT_TYPE } else { "text/plain" };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    let body = if method == "HEAD" { String::new() } else { body };
    write_by(&mut stream, (head + &body).as_bytes(), Instant::now() + PATIENCE)
}

/// Reads up to the empty line that ends a request's header.
fn read_request(stream: &mut impl Socket) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        stream.set_timeout(left_until(deadline)?)?;
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => request.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        let is_whole = [&b"\r\n\r\n"[..], b"\n\n"]
            .iter()
            .any(|end| request.windows(end.len()).any(|window| window == *end));
        if is_whole || request.len() > MAXIMUM_REQUEST_BYTES {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

fn write_by(stream: &mut impl Socket, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_timeout(left_until(deadline)?)?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the time left, which is not zero: that would mean no limit.
fn left_until(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
