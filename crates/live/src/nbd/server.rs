//! A server: listens, serves its clients, and stops.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::address::Address;
use super::budget::{Budget, Usage};
use super::clients::{Served, accept_until_told};
use super::exports::Exports;
use super::limits::Limits;
use super::listener::Listener;
use super::options::Offer;
use super::server_error::ServerError;

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
