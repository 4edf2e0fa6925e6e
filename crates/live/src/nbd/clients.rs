//! The clients of a server: how they come, are served, and go.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::budget::Budget;
use super::connection::Connection;
use super::export::Export;
use super::limits::Limits;
use super::listener::Listener;
use super::locked;
use super::options::Offer;

/// After an accept that failed for want of descriptors or memory, the next one is tried so much later.
const ACCEPT_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What the connections' threads share.
pub(super) struct Served {
    export: Arc<dyn Export>,
    offer: Offer,
    limits: Limits,
    /// Those that are served, by the order in which they came.
    connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    changed: Condvar,
    /// Theirs, and those of a few that are gone.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type Connections<'a> = MutexGuard<'a, BTreeMap<u64, Arc<Connection>>>;

/// A connection's place among those that are served.
struct ConnectionEntry {
    served: Arc<Served>,
    number: u64,
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        locked(&self.served.connections).remove(&self.number);
        self.served.changed.notify_all();
    }
}

/// Accepts clients until something can be read from `told`.
pub(super) fn accept_until_told(
    listener: &Listener,
    told: &UnixStream,
    budget: &Arc<Budget>,
    served: &Arc<Served>,
) {
    let mut number = 0;
    let mut pause = false;
    loop {
        let mut events = [PollFd::new(told, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        // After a failure only the order to stop is waited for, and not for long.
        let awaited = if pause { &mut events[..1] } else { &mut events[..] };
        let polled = poll(awaited, pause.then_some(&ACCEPT_AGAIN));
        if polled.is_ok() && !events[0].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok(stream) => {
                pause = false;
                number += 1;
                // Without a slot, or without a thread, the client is let go at once.
                if let Some(share) = budget.open() {
                    serve(served, number, Arc::new(Connection::new(stream, share)));
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                pause = false
            }
            Err(error) => pause = error.kind() != ErrorKind::ConnectionAborted,
        }
    }
}

fn serve(served: &Arc<Served>, number: u64, connection: Arc<Connection>) {
    locked(&served.connections).insert(number, Arc::clone(&connection));
    let place = ConnectionEntry { served: Arc::clone(served), number };
    // Without a thread, the place and the connection go with what was to run in it.
    let thread = thread::Builder::new().name("nbd requests".into()).spawn(move || {
        let ConnectionEntry { served, .. } = &place;
        connection.serve(&*served.export, &served.offer, &served.limits);
        // The place goes last: once it is gone, so is the connection, and its slot is free.
        drop(connection);
        drop(place);
    });
    let mut threads = locked(&served.threads);
    threads.retain(|thread| !thread.is_finished());
    threads.extend(thread);
}

impl Served {
    pub(super) fn new(export: Arc<dyn Export>, offer: Offer, limits: Limits) -> Self {
        Self {
            export,
            offer,
            limits,
            connections: Mutex::default(),
            changed: Condvar::new(),
            threads: Mutex::default(),
        }
    }

    /// Stops all connections and waits for them. Nobody has the export after that, but for a thread that is inside it
    /// and does not return.
    pub(super) fn stop(&self) {
        let connections = locked(&self.connections);
        connections.values().for_each(|connection| connection.stop());
        let (mut connections, mut late) =
            self.wait_until_none(connections, self.limits.stop_timeout);
        if late {
            connections.values().for_each(|connection| connection.abandon());
            let timeout = self.limits.stop_timeout.max(Duration::from_secs(1));
            (connections, late) = self.wait_until_none(connections, timeout);
        }
        drop(connections);
        if !late {
            for thread in locked(&self.threads).drain(..) {
                // One that panicked, in the export, has said so.
                let _ = thread.join();
            }
        }
    }

    /// Waits for the last connection to end. Whether that took too long.
    fn wait_until_none<'a>(
        &self,
        mut connections: Connections<'a>,
        timeout: Duration,
    ) -> (Connections<'a>, bool) {
        let begin = Instant::now();
        while !connections.is_empty() {
            let Some(left) = timeout.checked_sub(begin.elapsed()) else {
                return (connections, true);
            };
            (connections, _) = self
                .changed
                .wait_timeout(connections, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        (connections, false)
    }
}
