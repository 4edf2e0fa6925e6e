//! The clients of a server: accepted, served, and stopped.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::budget::{Budget, Share};
use super::connection::Connection;
use super::exports::Exports;
use super::limits::Limits;
use super::listener::Listener;
use super::locked;

/// Delay before the next accept, after one that failed for lack of descriptors or memory.
const ACCEPT_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Delay before the next look for a place, while a client makes room or may soon have been idle for long enough.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// State shared by the connections' threads.
pub(super) struct Served {
    exports: Arc<dyn Exports>,
    limits: Limits,
    /// Connections being served, in order of arrival.
    connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    changed: Condvar,
    /// Their threads, and those of a few that have ended.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type Connections<'a> = MutexGuard<'a, BTreeMap<u64, Arc<Connection>>>;

/// Whether there is a place for one more client.
enum Place {
    /// This one.
    Free(Share),
    /// Not yet: one is being disconnected, or may have been idle for long enough soon.
    Soon,
    /// None: all clients are busy.
    None,
}

/// A connection's entry among those being served.
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

/// Accepts clients until `told` becomes readable.
pub(super) fn accept_until_told(
    listener: &Listener,
    told: &UnixStream,
    budget: &Arc<Budget>,
    served: &Arc<Served>,
) {
    let mut number = 0;
    let mut pause = None;
    // Since when a client waits to be accepted.
    let mut waits: Option<Instant> = None;
    loop {
        let mut events = [PollFd::new(told, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        // During a pause, wait for the order to stop alone.
        let awaited = if pause.is_some() { &mut events[..1] } else { &mut events[..] };
        let polled = poll(awaited, pause);
        if polled.is_ok() && !events[0].revents().is_empty() {
            return;
        }
        if pause.is_none() && (polled.is_err() || events[1].revents().is_empty()) {
            continue;
        }
        let since = *waits.get_or_insert_with(Instant::now);
        let share = match served.place(budget) {
            Place::Free(share) => Some(share),
            Place::Soon if since.elapsed() < served.limits.wait_for_place() => {
                pause = Some(&LOOK_AGAIN);
                continue;
            }
            Place::Soon | Place::None => None,
        };
        waits = None;
        pause = None;
        match listener.accept() {
            Ok(stream) => {
                number += 1;
                // Without a slot or a thread, the client is disconnected at once.
                if let Some(share) = share {
                    serve(served, number, Arc::new(Connection::new(stream, share)));
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => {
                pause = (error.kind() != ErrorKind::ConnectionAborted).then_some(&ACCEPT_AGAIN);
            }
        }
    }
}

fn serve(served: &Arc<Served>, number: u64, connection: Arc<Connection>) {
    locked(&served.connections).insert(number, Arc::clone(&connection));
    let place = ConnectionEntry { served: Arc::clone(served), number };
    // If no thread can be started, the entry and the connection are dropped with its closure.
    let thread = thread::Builder::new().name("nbd requests".into()).spawn(move || {
        let ConnectionEntry { served, .. } = &place;
        connection.serve(&*served.exports, &served.limits);
        // Drop the entry last: once it is gone, so is the connection, and its slot is free.
        drop(connection);
        drop(place);
    });
    let mut threads = locked(&served.threads);
    threads.retain(|thread| !thread.is_finished());
    threads.extend(thread);
}

impl Served {
    pub(super) fn new(exports: Arc<dyn Exports>, limits: Limits) -> Self {
        Self {
            exports,
            limits,
            connections: Mutex::default(),
            changed: Condvar::new(),
            threads: Mutex::default(),
        }
    }

    /// Looks for a place for one more client. If all are taken, disconnects the client that is of least use: one that
    /// never asked for anything, or else the one that has been idle for longest.
    fn place(&self, budget: &Arc<Budget>) -> Place {
        if let Some(share) = budget.open() {
            return Place::Free(share);
        }
        let connections = locked(&self.connections);
        if connections.values().any(|connection| connection.makes_room()) {
            return Place::Soon;
        }
        let unused = connections
            .values()
            .filter_map(|connection| connection.last_use().map(|last_use| (last_use, connection)));
        let Some((last_use, least)) = unused.min_by_key(|(last_use, _)| *last_use) else {
            return Place::None;
        };
        if last_use.at.elapsed() >= self.limits.idle_timeout {
            least.make_room();
        }
        Place::Soon
    }

    /// Stops all connections and waits for them. After that nothing uses the exports, except a thread that is inside
    /// it and does not return.
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
                // A thread that panicked in the export has already printed its message.
                let _ = thread.join();
            }
        }
    }

    /// Waits for the last connection to end. Returns whether that took too long.
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
