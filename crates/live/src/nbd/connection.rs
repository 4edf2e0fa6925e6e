//! One connection, from its first byte to its last.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::budget::Share;
use super::exports::Exports;
use super::handshake::shake_hands;
use super::limits::Limits;
use super::replies::Outbox;
use super::stream::{Incoming, Stream};
use super::transmission::Transmission;

/// Time for a client to close after its last reply.
const GOODBYE: Duration = Duration::from_secs(1);

/// A client's connection, shared by its threads and the server.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Arc<Stream>,
    share: Share,
    outbox: Arc<Outbox>,
    stopping: AtomicBool,
    /// Whether it must make room for another.
    makes_room: AtomicBool,
}

/// The use of a connection: the least of several is to go first if another client needs the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LastUse {
    /// Whether it ever had a request.
    was_asked: bool,
    /// When the last byte came or went; for one that never had a request, when the client connected.
    pub(super) at: Instant,
}

/// Ends the outbox even if the export panics, so that the writer ends too.
struct Ended<'a>(&'a Outbox);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Connection {
    pub(super) fn new(stream: Stream, share: Share) -> Self {
        let stream = Arc::new(stream);
        Self {
            outbox: Arc::new(Outbox::new(&stream)),
            stream,
            share,
            stopping: AtomicBool::new(false),
            makes_room: AtomicBool::new(false),
        }
    }

    /// Stops reading requests. Those in flight are still answered.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.share.close();
        self.stream.shutdown(Shutdown::Read);
    }

    /// Returns when the connection was of use, or `None` if the export has a request of it.
    pub(super) fn last_use(&self) -> Option<LastUse> {
        let was_asked = self.outbox.was_asked();
        let at = if was_asked { self.stream.last_byte() } else { self.stream.connected() };
        (!self.outbox.has_outstanding()).then_some(LastUse { was_asked, at })
    }

    /// Disconnects the client, because another needs the place.
    pub(super) fn make_room(&self) {
        self.makes_room.store(true, Ordering::Release);
        self.share.close();
        self.abandon();
    }

    /// Returns whether it is about to end to make room.
    pub(super) fn makes_room(&self) -> bool {
        self.makes_room.load(Ordering::Acquire)
    }

    /// Stops sending, too.
    pub(super) fn abandon(&self) {
        self.stream.shutdown(Shutdown::Both);
        self.outbox.abandon();
    }

    /// Serves the client. Returns when its last request is answered, or when it is abandoned.
    pub(super) fn serve(&self, exports: &dyn Exports, limits: &Limits) {
        let mut incoming = Incoming::new(&self.stream);
        // A client that breaks the protocol gets no further explanation: its connection is closed.
        if let Ok(Some(chosen)) = shake_hands(&self.stream, &mut incoming, exports, limits) {
            let transmission = Transmission {
                export: &*chosen.export,
                offer: &chosen.offer,
                agreed: chosen.agreed,
                limits,
                share: &self.share,
                outbox: &self.outbox,
                stopping: &self.stopping,
            };
            let whole = thread::scope(|scope| {
                let writer = thread::Builder::new()
                    .name("nbd replies".into())
                    .spawn_scoped(scope, || {
                        self.outbox.send_all(&self.stream, chosen.agreed.structured)
                    })
                    .ok()?;
                let ended = Ended(&self.outbox);
                // However this ends, earlier requests are answered.
                let _ = transmission.run(&mut incoming);
                drop(ended);
                writer.join().ok()
            });
            // From here on the client does not count as a user of the export.
            drop(chosen);
            if whole == Some(true) {
                // A socket closed with unread requests may discard replies that the client has not read yet.
                self.stream.shutdown(Shutdown::Write);
                incoming.discard_rest(Instant::now() + GOODBYE);
            }
        }
        self.stream.shutdown(Shutdown::Both);
    }
}
