//! An exported LUN: its requests, its answers, and the path of an answer back to the client.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::stream::Stream;

/// A LUN that a [`Server`](super::Server) offers. Requests and answers may come from any thread, in any order.
pub trait Export: Send + Sync + 'static {
    /// Returns the size in bytes, a multiple of 512. It does not change while the LUN is served.
    fn size_bytes(&self) -> u64;

    /// Starts a request; the outcome goes to `reply`, now or later. The connection's next request waits until this
    /// returns, so it must not wait for a device.
    ///
    /// The server has checked the request: it lies within the export, is not empty, and is a multiple of 512 bytes at
    /// a multiple of 512 bytes. [`Limits::largest_request_bytes`](super::Limits::largest_request_bytes) bounds only
    /// reads and writes; other requests may cover up to 4 GiB less 512 bytes at once.
    ///
    /// Every later request, from any connection, must see a write that was answered. A request whose
    /// [`Requester`] is gone need not be carried out; dropping its reply suffices.
    /// If an overlapping change of another client was answered and this request's client is no longer
    /// [connected](Requester::is_connected), it must not be carried out.
    fn submit(&self, request: Request, reply: Reply);

    /// Returns the name by which it is listed. At most 4096 bytes without NUL.
    fn name(&self) -> &str {
        "lun"
    }

    /// Returns a one-line description for clients that ask, or an empty string. At most 4096 bytes without NUL.
    fn description(&self) -> &str {
        ""
    }

    /// Returns whether it can only be read. Then clients are told, and no request arrives that would change it.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Returns the properties that clients are told.
    fn features(&self) -> Features {
        Features::default()
    }
}

/// Properties of an export that clients are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Whether it is on spindles, so that a client may sort its requests.
    pub rotational: bool,
    /// Whether [`Request::WriteZeroes`] honours `fast_only`. Otherwise no such request arrives.
    pub fast_zeroes: bool,
}

impl Default for Features {
    /// On spindles, and without fast zeroes.
    fn default() -> Self {
        Self { rotational: true, fast_zeroes: false }
    }
}

/// A request. Offsets and lengths are in bytes and multiples of 512.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Answered by [`Answer::Data`] with exactly as many bytes.
    Read {
        /// First byte of the range.
        offset: u64,
        /// Bytes of the range.
        bytes: u64,
    },
    /// Answered by [`Answer::Done`].
    Write {
        /// First byte to write.
        offset: u64,
        /// What to write.
        data: Vec<u8>,
        /// Whether it must survive a power loss once answered (FUA).
        durable: bool,
    },
    /// Makes every write durable that was answered before this was submitted. Answered by [`Answer::Done`].
    Flush,
    /// Discards a range: later reads of it may return anything. Answered by [`Answer::Done`].
    Trim {
        /// First byte of the range.
        offset: u64,
        /// Bytes of the range.
        bytes: u64,
        /// Whether its changes must be durable once answered.
        durable: bool,
    },
    /// Makes a range read as zeroes from now on. Answered by [`Answer::Done`].
    WriteZeroes {
        /// First byte of the range.
        offset: u64,
        /// Bytes of the range.
        bytes: u64,
        /// Whether the space may be freed; otherwise a later write here must find room.
        may_trim: bool,
        /// Whether it must be durable once answered.
        durable: bool,
        /// Whether to refuse at once with [`ExportError::NotSupported`], changing nothing, if it would take as long
        /// as writing. Only with [`Features::fast_zeroes`].
        fast_only: bool,
    },
    /// Asks which parts are allocated. Answered by [`Answer::Allocation`].
    Allocation {
        /// First byte of the range.
        offset: u64,
        /// Bytes of the range.
        bytes: u64,
        /// The most extents that are sent on.
        extents_at_most: usize,
    },
}

/// The answer to a request that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The request is done.
    Done,
    /// The data that was read, in full.
    Data(Vec<u8>),
    /// Extents that follow each other from the request's offset on. They may end before the request does; the client
    /// then asks again. None at all means that nothing is known. Anything beyond the request is cut off.
    Allocation(Vec<Extent>),
}

/// A range of the export with one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes that the range has.
    pub bytes: u64,
    /// Whether it has space of its own. An unallocated range is a hole, where a write may find no room.
    pub allocated: bool,
    /// Whether it is known to read as zeroes.
    pub zero: bool,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// A device failed, and redundancy did not help. EIO, with the text for clients that show it.
    #[error("{0}")]
    Io(String),
    /// There is no room for a write. ENOSPC.
    #[error("there is no space left for this")]
    NoSpace,
    /// The export does not support this, or not fast. ENOTSUP where the protocol allows it.
    #[error("this is not supported")]
    NotSupported,
    /// The export does not permit it. EPERM.
    #[error("this is not permitted")]
    NotPermitted,
    /// The request is invalid for the export. EINVAL.
    #[error("the request is invalid")]
    Invalid,
    /// The export is being shut down. ESHUTDOWN.
    #[error("the export is being shut down")]
    Shutdown,
}

/// The client that sent a request, by which an export can serve clients in turns, and drop what nobody waits for.
#[derive(Debug, Clone)]
pub struct Requester {
    number: u64,
    state: Arc<RequesterState>,
}

#[derive(Debug, Default)]
struct RequesterState {
    is_gone: AtomicBool,
    sends_no_more: AtomicBool,
    /// The connection, if the client has one.
    stream: Option<Weak<Stream>>,
}

impl Requester {
    /// Returns a client that differs from all others, and stays connected.
    #[must_use]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// Returns the client at the other end of `stream`.
    pub(super) fn at(stream: &Arc<Stream>) -> Self {
        Self::with(Some(Arc::downgrade(stream)))
    }

    fn with(stream: Option<Weak<Stream>>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self { number, state: Arc::new(RequesterState { stream, ..RequesterState::default() }) }
    }

    /// Returns its number, which no other client of this process has.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether it takes no more replies: the rest of its requests need not be carried out.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.state.is_gone.load(Ordering::Acquire)
    }

    /// Returns whether it is connected at this moment: whether it has neither disconnected nor closed its connection,
    /// or its side of it. Asks the system, so that a client counts as gone before its last requests are read.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        let state = &*self.state;
        let is_open = |stream: &Weak<Stream>| stream.upgrade().is_some_and(|open| open.is_open());
        !self.is_gone()
            && !state.sends_no_more.load(Ordering::Acquire)
            && state.stream.as_ref().is_none_or(is_open)
    }

    /// Notes that it takes no more replies.
    pub(crate) fn leave(&self) {
        self.state.is_gone.store(true, Ordering::Release);
    }

    /// Notes that its last request was read.
    pub(super) fn sends_no_more(&self) {
        self.state.sends_no_more.store(true, Ordering::Release);
    }
}

impl Default for Requester {
    fn default() -> Self {
        Self::new()
    }
}

type ReplyFn = Box<dyn FnOnce(Result<Answer, ExportError>) + Send>;

/// The destination of an answer. If dropped without an answer, it reports that the request failed, so that no client
/// waits for ever.
pub struct Reply {
    told: Option<ReplyFn>,
    requester: Requester,
}

impl Reply {
    /// Creates a reply to a client that calls `told`, on whichever thread answers. Tests of an export, and other
    /// servers, use this.
    pub fn new(
        requester: Requester,
        told: impl FnOnce(Result<Answer, ExportError>) + Send + 'static,
    ) -> Self {
        Self { told: Some(Box::new(told)), requester }
    }

    /// Returns the client that waits for this reply.
    #[must_use]
    pub fn requester(&self) -> &Requester {
        &self.requester
    }

    /// Reports the outcome of the request. Never waits for the client.
    pub fn send(mut self, outcome: Result<Answer, ExportError>) {
        if let Some(told) = self.told.take() {
            told(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(told) = self.told.take() {
            told(Err(ExportError::Io("the request was given up without an answer".into())));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reply").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_reply_is_sent_once_whether_or_not_it_is_answered() {
        let (sender, receiver) = mpsc::channel();
        let again = sender.clone();
        let requester = Requester::new();
        Reply::new(requester.clone(), move |outcome| sender.send(outcome).unwrap())
            .send(Ok(Answer::Done));
        drop(Reply::new(requester, move |outcome| again.send(outcome).unwrap()));
        assert_eq!(receiver.recv().unwrap(), Ok(Answer::Done));
        assert!(matches!(receiver.recv().unwrap(), Err(ExportError::Io(_))));
        assert!(receiver.recv().is_err());
    }
}
