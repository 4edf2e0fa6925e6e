//! The server's side of the control socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ControlAnswer, ControlPath, ControlRequest, MAXIMUM_REQUEST_BYTES};
use crate::administration::ChangeError;
use crate::private_socket::{PrivateSocket, SocketError};
use crate::serving::Client;

/// Most connections at a time. Further ones wait until one has ended.
const CONNECTIONS: usize = 16;

/// How long a client may take to send its request, and how long it may pause while it takes the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a client may take to send its request while all places are taken.
const PATIENCE_IF_FULL: Duration = Duration::from_millis(50);

/// Interval at which a wait looks whether the server is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Delay before the next accept while all places are taken, or after one that failed.
const ACCEPT_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A connection that is being served.
struct Connection {
    stream: UnixStream,
    begun: Instant,
    /// Whether its request has not arrived yet.
    is_reading: AtomicBool,
    /// Whether it was cut off to make room for others.
    is_cut_off: AtomicBool,
}

/// Serves an array's control socket. Dropping it stops it and removes the socket; a change in progress is finished
/// first.
#[derive(Debug)]
pub struct ControlServer {
    is_stopping: Arc<AtomicBool>,
    stopper: UnixStream,
    listening: Option<JoinHandle<()>>,
}

impl ControlServer {
    /// Opens the control socket in `directory` for the array behind `client`. A socket left by a dead process is
    /// replaced.
    ///
    /// # Errors
    /// If something else is there, or the system refuses.
    pub fn start(directory: &Path, client: Client) -> Result<Self, SocketError> {
        let path = directory.join(super::CONTROL_SOCKET);
        let failed = SocketError::listen(&path);
        let at = ControlPath::new(directory).map_err(&failed)?;
        let socket = PrivateSocket::bind(&at.path, &path)?;
        let (told, stopper) = UnixStream::pair().map_err(&failed)?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let listening = thread::Builder::new()
            .name("control".into())
            .spawn(move || {
                accept_until_told(&socket, &told, &client, &stopping);
                // The path is valid as long as the directory is open.
                drop(socket);
                drop(at);
            })
            .map_err(failed)?;
        Ok(Self { is_stopping, stopper, listening: Some(listening) })
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Release);
        // If nobody reads this, the thread has ended.
        let _ = self.stopper.write(&[0]);
        if let Some(listening) = self.listening.take() {
            // If the thread panicked, its message has been printed.
            let _ = listening.join();
        }
    }
}

fn accept_until_told(
    socket: &PrivateSocket,
    told: &UnixStream,
    client: &Client,
    is_stopping: &AtomicBool,
) {
    thread::scope(|scope| {
        let mut serving: Vec<(thread::ScopedJoinHandle<'_, ()>, Arc<Connection>)> = Vec::new();
        let mut pause = None;
        loop {
            let mut events = [PollFd::new(told, PollFlags::IN), PollFd::new(socket, PollFlags::IN)];
            let awaited = if pause.is_some() { &mut events[..1] } else { &mut events[..] };
            let polled = poll(awaited, pause.as_ref());
            if polled.is_ok() && !events[0].revents().is_empty() {
                return;
            }
            serving.retain(|(thread, _)| !thread.is_finished());
            pause = (serving.len() >= CONNECTIONS).then_some(ACCEPT_AGAIN);
            if pause.is_some() {
                serving.iter().for_each(|(_, connection)| connection.make_room());
                continue;
            }
            match socket.accept() {
                Ok(stream) => {
                    let client = client.clone();
                    let thread = thread::Builder::new().name("control request".into());
                    let connection = Arc::new(Connection::new(stream));
                    let served = Arc::clone(&connection);
                    // A client that cannot be served for lack of threads is disconnected.
                    let serve = move || {
                        // Whatever went wrong is the client's affair, which learns by the end of the connection.
                        drop(serve(&served, &client, is_stopping));
                        drop(served.stream.shutdown(Shutdown::Both));
                    };
                    let thread = thread.spawn_scoped(scope, serve);
                    serving.extend(thread.map(|thread| (thread, connection)));
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => pause = Some(ACCEPT_AGAIN),
            }
        }
    });
}

impl Connection {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            begun: Instant::now(),
            is_reading: AtomicBool::new(true),
            is_cut_off: AtomicBool::new(false),
        }
    }

    /// Disconnects a client that keeps others waiting without having sent its request.
    fn make_room(&self) {
        if self.is_reading.load(Ordering::Acquire) && self.begun.elapsed() >= PATIENCE_IF_FULL {
            self.is_cut_off.store(true, Ordering::Release);
            // One that has left needs no shutdown.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// Answers one request.
///
/// # Errors
/// If the client leaves, is too slow or sends too much.
fn serve(connection: &Connection, client: &Client, is_stopping: &AtomicBool) -> io::Result<()> {
    let mut stream = &connection.stream;
    let line = read_line(stream, is_stopping)?;
    connection.is_reading.store(false, Ordering::Release);
    if connection.is_cut_off.load(Ordering::Acquire) {
        return Err(ErrorKind::TimedOut.into());
    }
    let answer = match super::read(&line) {
        Ok(request) => answer(client, request),
        Err(error) => ControlAnswer::Invalid(format!("this is no request: {error}")),
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&line)
}

fn answer(client: &Client, request: ControlRequest) -> ControlAnswer {
    let outcome = match request {
        ControlRequest::Inventory => {
            client.inventory().ok_or_else(|| ChangeError::Stopped("it was shut down".to_owned()))
        }
        ControlRequest::Change(change) => client.administer(change),
    };
    outcome.map_or_else(ControlAnswer::Refused, ControlAnswer::Inventory)
}

/// Reads up to a line feed, or to the end of what the client sends.
fn read_line(mut stream: &UnixStream, is_stopping: &AtomicBool) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    let mut bytes = [0; 4096];
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(line),
            Ok(count) => {
                let end = bytes[..count].iter().position(|byte| *byte == b'\n');
                line.extend(&bytes[..end.unwrap_or(count)]);
                if end.is_some() {
                    return Ok(line);
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
        if line.len() as u64 > MAXIMUM_REQUEST_BYTES {
            return Err(ErrorKind::FileTooLarge.into());
        }
        if Instant::now() >= deadline || is_stopping.load(Ordering::Acquire) {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}
