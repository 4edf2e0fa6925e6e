//! What is exported: the requests, the answers, and how an answer finds its way back.

use std::fmt;

/// A LUN that a [`Server`](super::Server) offers. Asked from any thread, answered from any thread, in any order.
pub trait Export: Send + Sync + 'static {
    /// The size in bytes, a multiple of 512. Does not change while it is served.
    fn size_bytes(&self) -> u64;

    /// Begins what is asked for; `reply` is told what became of it, now or later. The connection's next request waits
    /// until this returns, so it must not wait for a device.
    ///
    /// The server has checked the request: it lies within the export, is not empty, and is a multiple of 512 bytes at a
    /// multiple of 512 bytes. Only a read and a write are bounded by
    /// [`Limits::largest_request_bytes`](super::Limits::largest_request_bytes); the others may ask for as much as
    /// 4 GiB less 512 bytes at once.
    ///
    /// A write that is answered must be seen by every later request, from whatever connection.
    fn submit(&self, request: Request, reply: Reply);

    /// The name under which clients find it; the empty name finds it too. At most 4096 bytes without NUL.
    fn name(&self) -> &str {
        "lun"
    }

    /// A line for people, for those clients that ask; empty if there is nothing to say. At most 4096 bytes without NUL.
    fn description(&self) -> &str {
        ""
    }

    /// What clients are told of its nature.
    fn features(&self) -> Features {
        Features::default()
    }
}

/// What clients are told of an export's nature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Whether it is made of spindles, so that a client may sort its requests.
    pub rotational: bool,
    /// Whether [`Request::WriteZeroes`] honours `fast_only`. Without it no such request arrives.
    pub fast_zeroes: bool,
}

impl Default for Features {
    /// Spindles, and zeroes that promise no speed.
    fn default() -> Self {
        Self { rotational: true, fast_zeroes: false }
    }
}

/// Something to be done. Offsets and lengths are in bytes and multiples of 512.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Answered by [`Answer::Data`] with exactly as many bytes.
    Read {
        /// From where on.
        offset: u64,
        /// How much.
        bytes: u64,
    },
    /// Answered by [`Answer::Done`].
    Write {
        /// Where to.
        offset: u64,
        /// What to write.
        data: Vec<u8>,
        /// Whether it is to be safe from a loss of power when it is answered (FUA).
        durable: bool,
    },
    /// Makes every write safe that was answered before this was submitted. Answered by [`Answer::Done`].
    Flush,
    /// What lies here is no longer needed; what a read finds here afterwards may be anything. Answered by
    /// [`Answer::Done`].
    Trim {
        /// From where on.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Whether what it changes is to be safe when it is answered.
        durable: bool,
    },
    /// What lies here reads as zeroes from now on. Answered by [`Answer::Done`].
    WriteZeroes {
        /// From where on.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Whether the space may be given back; otherwise a later write here must find room.
        may_trim: bool,
        /// Whether it is to be safe when it is answered.
        durable: bool,
        /// Whether to refuse it at once with [`ExportError::NotSupported`], and nothing changed, when it would take as
        /// long as writing. Only with [`Features::fast_zeroes`].
        fast_only: bool,
    },
    /// Which parts are allocated. Answered by [`Answer::Allocation`].
    Allocation {
        /// From where on.
        offset: u64,
        /// How much.
        bytes: u64,
        /// More extents than this are not sent on.
        extents_at_most: usize,
    },
}

/// What a request that succeeded is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// What was read, all of it.
    Data(Vec<u8>),
    /// Extents that follow each other from the request's offset on. They may end before the request does, and the client
    /// asks again; none at all says that nothing is known, and what goes beyond the request is cut off.
    Allocation(Vec<Extent>),
}

/// A stretch of the export that is of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its length.
    pub bytes: u64,
    /// Whether it has space of its own. What is not allocated is a hole, where a write may find no room.
    pub allocated: bool,
    /// Whether it is known to read as zeroes.
    pub zero: bool,
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// A device failed, and redundancy did not help. EIO, with the text for those clients that show it.
    #[error("{0}")]
    Io(String),
    /// There is no room for what was to be written. ENOSPC.
    #[error("there is no space left for this")]
    NoSpace,
    /// The export cannot do this, or not fast. ENOTSUP where the protocol allows it.
    #[error("this is not supported")]
    NotSupported,
    /// The export does not let it be done. EPERM.
    #[error("this is not permitted")]
    NotPermitted,
    /// The request makes no sense to the export. EINVAL.
    #[error("the request is invalid")]
    Invalid,
    /// The export is being shut down. ESHUTDOWN.
    #[error("the export is being shut down")]
    Shutdown,
}

type ReplyFn = Box<dyn FnOnce(Result<Answer, ExportError>) + Send>;

/// To whom an answer goes. One that is dropped without an answer says that the request failed, so that no client waits
/// for ever.
pub struct Reply(Option<ReplyFn>);

impl Reply {
    /// Tells `told`, from whatever thread answers. Whoever tests an export, or serves it otherwise, makes these.
    pub fn new(told: impl FnOnce(Result<Answer, ExportError>) + Send + 'static) -> Self {
        Self(Some(Box::new(told)))
    }

    /// Says what became of the request. Never waits for the client.
    pub fn send(mut self, outcome: Result<Answer, ExportError>) {
        if let Some(told) = self.0.take() {
            told(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(told) = self.0.take() {
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
        Reply::new(move |outcome| sender.send(outcome).unwrap()).send(Ok(Answer::Done));
        drop(Reply::new(move |outcome| again.send(outcome).unwrap()));
        assert_eq!(receiver.recv().unwrap(), Ok(Answer::Done));
        assert!(matches!(receiver.recv().unwrap(), Err(ExportError::Io(_))));
        assert!(receiver.recv().is_err());
    }
}
