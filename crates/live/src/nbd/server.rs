//! A server: listens, serves its clients, and stops.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::budget::{Budget, Usage};
use super::clients::{Served, accept_until_told};
use super::exports::Exports;
use super::limits::Limits;
use super::listener::{Address, Listener};
use super::options::Offer;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A limit is 0 that must be at least 1.
    #[error("{0} is 0; it must be at least 1")]
    ZeroLimit(&'static str),
    /// The protocol does not allow the largest request size.
    #[error("largest_request_bytes is {0}; it must be a multiple of 512 and at least 65536")]
    LargestRequest(u32),
    /// A request of the largest size would wait for ever.
    #[error(
        "{which} lets a connection have {allowed} bytes in flight, and one request may need {largest}; raise it, or lower \
         largest_request_bytes and extents_per_answer"
    )]
    NeverFits {
        /// The limit that is too low.
        which: &'static str,
        /// The bytes that it allows a connection.
        allowed: u64,
        /// The bytes that a request may need.
        largest: u64,
    },
    /// Clients cannot use the export's size.
    #[error("the export has {0} bytes, which is not a multiple of 512")]
    Size(u64),
    /// The protocol cannot carry the export's name or description.
    #[error("the export's {0} has a NUL, or more than 4096 bytes")]
    Text(&'static str),
    /// The address is not a loopback address: anybody who reaches it could read and write the LUN.
    #[error(
        "{0} is not a loopback address; the server has neither encryption nor passwords, so it listens on this machine \
         only: use 127.0.0.1 or ::1, or a Unix socket, and a tunnel for the rest"
    )]
    NotLoopback(SocketAddr),
    /// Another server answers at this socket.
    #[error("a server is listening at {}; stop it, or choose another path", .0.display())]
    InUse(PathBuf),
    /// The path exists and is not a socket; it is not replaced.
    #[error("{} exists and is not a socket; remove it, or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The path cannot be that of a socket.
    #[error(
        "{} cannot be a socket's path: that has at most about a hundred bytes, and none of them is 0; choose another path",
        .0.display()
    )]
    SocketPath(PathBuf),
    /// The system refused to listen.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Where it was to listen.
        address: Address,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The system has no thread or no descriptor left.
    #[error("cannot start a server: {0}")]
    Start(#[source] io::Error),
}

/// A running server. Dropping it stops it, as by [`stop`](Self::stop).
#[derive(Debug)]
pub struct Server {
    address: Address,
    stopper: Stopper,
    budget: Arc<Budget>,
    listening: Option<JoinHandle<()>>,
}

/// Stops a server from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<UnixStream>);

impl Stopper {
    /// Starts to stop the server and returns at once; [`Server::wait`] returns when it has stopped.
    pub fn stop(&self) {
        // If the socket is full, or has no reader, the server was already told.
        let _ = (&*self.0).write(&[0]);
    }
}

impl Server {
    /// Serves `exports` on a Unix socket that only the owner of this process may open. A socket left by a dead server
    /// is replaced. The socket is removed at the end.
    ///
    /// # Errors
    ///
    /// If the limits or an export are unusable, if something else is at `path` (a server that answers, or not a
    /// socket), or if the system refuses.
    pub fn unix(
        path: &Path,
        exports: Arc<dyn Exports>,
        limits: Limits,
    ) -> Result<Self, ServerError> {
        Self::start(exports, limits, || Listener::unix(path))
    }

    /// Serves `exports` on a port of this machine; port 0 picks a free one. Every user of the machine can connect.
    ///
    /// # Errors
    ///
    /// If the limits or an export are unusable, if `address` is not a loopback address, or if the system refuses.
    pub fn tcp(
        address: SocketAddr,
        exports: Arc<dyn Exports>,
        limits: Limits,
    ) -> Result<Self, ServerError> {
        Self::start(exports, limits, || Listener::tcp(address))
    }

    fn start(
        exports: Arc<dyn Exports>,
        limits: Limits,
        listen: impl FnOnce() -> Result<(Listener, Address), ServerError>,
    ) -> Result<Self, ServerError> {
        limits.check()?;
        for entry in exports.list() {
            // One that is gone by now is served no more.
            if let Some(export) = exports.find(&entry.name) {
                Offer::new(&*export, &limits)?;
            }
        }
        let (listener, address) = listen()?;
        let (told, stopper) = UnixStream::pair().map_err(ServerError::Start)?;
        stopper.set_nonblocking(true).map_err(ServerError::Start)?;
        let budget = Arc::new(Budget::new(limits.clone()));
        let served = Arc::new(Served::new(exports, limits));
        let listening = thread::Builder::new()
            .name("nbd".into())
            .spawn({
                let budget = Arc::clone(&budget);
                move || {
                    accept_until_told(&listener, &told, &budget, &served);
                    // Refuse new clients and free the path before waiting for the old ones.
                    drop(listener);
                    served.stop();
                }
            })
            .map_err(ServerError::Start)?;
        Ok(Self {
            address,
            stopper: Stopper(Arc::new(stopper)),
            budget,
            listening: Some(listening),
        })
    }

    /// Returns the address for clients.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the current load.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.budget.usage()
    }

    /// Returns a handle that stops it from another thread, for example one that waits for a signal.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Accepts no more clients and reads no more requests, lets those in flight finish and their replies go out,
    /// closes the connections, and returns when all of that is done. Requests not done after [`Limits::stop_timeout`]
    /// are not waited for. After that nothing else uses the exports, unless one kept a thread.
    pub fn stop(self) {
        self.stopper.stop();
        self.wait();
    }

    /// Waits until the server has stopped.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(listening) = self.listening.take() {
            // The thread has no result; if it panicked, its message has been printed.
            let _ = listening.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopper.stop();
        self.join();
    }
}
