//! Replies: their contents, the queue of those that are ready, and the thread that sends them.

use std::collections::VecDeque;
use std::mem;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::budget::Charge;
use super::content::Content;
use super::export::{Answer, ExportError, Extent, Reply, Requester};
use super::locked;
use super::protocol::{Errno, allocation_flag};
use super::requests::{Refusal, ReplyKind};
use super::sender::Sender;
use super::stream::Stream;

/// The replies waiting to be sent to one client, and the count of those still to come.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
    requester: Requester,
}

#[derive(Debug, Default)]
struct Queue {
    ready: VecDeque<Ready>,
    /// Requests that the export has not answered yet.
    outstanding: usize,
    /// Whether there ever was a request.
    was_asked: bool,
    /// Whether no more requests come.
    ended: bool,
}

/// A reply, with its request's charge until it is sent.
#[derive(Debug)]
struct Ready {
    cookie: u64,
    content: Content,
    _charge: Charge,
}

impl Outbox {
    /// Creates the outbox of the client at the other end of `stream`.
    pub(super) fn new(stream: &Arc<Stream>) -> Self {
        Self { queue: Mutex::default(), changed: Condvar::new(), requester: Requester::at(stream) }
    }

    /// Returns the [`Reply`] through which the export answers a request.
    pub(super) fn expect(self: &Arc<Self>, cookie: u64, kind: ReplyKind, charge: Charge) -> Reply {
        let mut queue = locked(&self.queue);
        queue.outstanding += 1;
        queue.was_asked = true;
        drop(queue);
        let outbox = Arc::clone(self);
        Reply::new(self.requester.clone(), move |outcome| {
            let ready = Ready { cookie, content: content(kind, outcome), _charge: charge };
            outbox.put(ready, 1);
        })
    }

    /// Answers a request without asking the export.
    pub(super) fn refuse(&self, cookie: u64, refusal: Refusal, charge: Charge) {
        let content = Content::Error(refusal.errno, refusal.why.into());
        self.put(Ready { cookie, content, _charge: charge }, 0);
    }

    fn put(&self, ready: Ready, answered: usize) {
        let mut queue = locked(&self.queue);
        queue.outstanding -= answered;
        if !self.is_abandoned() {
            queue.ready.push_back(ready);
        }
        drop(queue);
        self.changed.notify_one();
    }

    /// Notes that no more requests come: the outstanding ones are the last.
    pub(super) fn end(&self) {
        self.requester.sends_no_more();
        locked(&self.queue).ended = true;
        self.changed.notify_one();
    }

    /// Returns whether the client takes no more replies.
    pub(super) fn is_abandoned(&self) -> bool {
        self.requester.is_gone()
    }

    /// Returns whether the export has a request of the client.
    pub(super) fn has_outstanding(&self) -> bool {
        locked(&self.queue).outstanding > 0
    }

    /// Returns whether the client ever asked for something that could be done.
    pub(super) fn was_asked(&self) -> bool {
        locked(&self.queue).was_asked
    }

    /// Drops all replies that are not sent yet, and lets the export drop the requests.
    pub(super) fn abandon(&self) {
        self.requester.leave();
        let dropped = mem::take(&mut locked(&self.queue).ready);
        // Drop their charges without the queue's lock.
        drop(dropped);
        self.changed.notify_one();
    }

    /// Waits for replies and takes all that are ready. Returns false if none are left and none will come.
    fn take(&self, into: &mut VecDeque<Ready>) -> bool {
        let mut queue = locked(&self.queue);
        loop {
            if !queue.ready.is_empty() {
                mem::swap(&mut queue.ready, into);
                return true;
            }
            if self.is_abandoned() || (queue.ended && queue.outstanding == 0) {
                return false;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends replies until the last one. If the client is gone, or does not take them, shuts its socket down and
    /// abandons the rest. Returns whether all were sent.
    pub(super) fn send_all(&self, stream: &Stream, structured: bool) -> bool {
        let mut sender = Sender::new(stream, structured);
        let mut batch = VecDeque::new();
        while self.take(&mut batch) {
            let mut sent = Ok(());
            while let Some(ready) = batch.pop_front().filter(|_| sent.is_ok()) {
                sent = sender.send(ready.cookie, &ready.content);
            }
            if sent.and_then(|()| sender.flush()).is_err() {
                stream.shutdown(Shutdown::Both);
                batch.clear();
                self.abandon();
            }
        }
        !self.is_abandoned()
    }
}

/// Returns the content of a reply with this outcome.
fn content(kind: ReplyKind, outcome: Result<Answer, ExportError>) -> Content {
    match (kind, outcome) {
        (ReplyKind::Plain { .. }, Ok(Answer::Done)) => Content::Done,
        (ReplyKind::Read { offset, bytes }, Ok(Answer::Data(data)))
            if data.len() as u64 == bytes =>
        {
            Content::Data { offset, data }
        }
        (ReplyKind::Allocation { bytes, extents }, Ok(Answer::Allocation(told))) => {
            Content::Allocation(descriptors(&told, bytes, extents))
        }
        (_, Ok(_)) => {
            Content::Error(Errno::Io, "the export answered something else than was asked".into())
        }
        (kind, Err(error)) => {
            let errno = match &error {
                ExportError::Io(_) => Errno::Io,
                ExportError::NoSpace => Errno::NoSpace,
                // Zeroing that need not be fast must not be refused as unsupported.
                ExportError::NotSupported
                    if kind == (ReplyKind::Plain { may_be_unsupported: false }) =>
                {
                    Errno::Invalid
                }
                ExportError::NotSupported => Errno::NotSupported,
                ExportError::NotPermitted => Errno::NotPermitted,
                ExportError::Invalid => Errno::Invalid,
                ExportError::Shutdown => Errno::Shutdown,
            };
            Content::Error(errno, error.to_string())
        }
    }
}

/// Returns lengths and flags of at most `at_most` extents: merges equal neighbours, cuts at the end of the request,
/// and always returns at least one.
fn descriptors(told: &[Extent], bytes: u64, at_most: usize) -> Vec<(u32, u32)> {
    let mut descriptors: Vec<(u32, u32)> = Vec::new();
    let mut left = bytes;
    for extent in told {
        let length = extent.bytes.min(left);
        let hole = if extent.allocated { 0 } else { allocation_flag::HOLE };
        let flags = hole | if extent.zero { allocation_flag::ZERO } else { 0 };
        left -= length;
        // At most the length of the request, which is a u32.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let full = descriptors.len() == at_most;
        match descriptors.last_mut() {
            _ if length == 0 => {}
            Some(last) if last.1 == flags => last.0 += length,
            _ if full => break,
            _ => descriptors.push((length, flags)),
        }
    }
    if descriptors.is_empty() {
        descriptors.push((u32::try_from(bytes).unwrap_or(u32::MAX), 0));
    }
    descriptors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(bytes: u64, allocated: bool, zero: bool) -> Extent {
        Extent { bytes, allocated, zero }
    }

    #[test]
    fn descriptors_are_merged_cut_and_never_none() {
        let told = [
            extent(512, true, false),
            extent(1024, true, false),
            extent(0, false, true),
            extent(9000, false, true),
        ];
        assert_eq!(descriptors(&told, 4096, 8), [(1536, 0), (2560, 3)]);
        assert_eq!(descriptors(&told, 4096, 1), [(1536, 0)]);
        assert_eq!(descriptors(&[], 4096, 8), [(4096, 0)]);
        assert_eq!(descriptors(&[extent(0, true, true)], 512, 8), [(512, 0)]);
    }

    #[test]
    fn an_answer_to_something_else_is_an_error() {
        let short =
            content(ReplyKind::Read { offset: 0, bytes: 512 }, Ok(Answer::Data(vec![0; 511])));
        let other =
            content(ReplyKind::Plain { may_be_unsupported: true }, Ok(Answer::Data(Vec::new())));
        for content in [short, other] {
            assert!(matches!(content, Content::Error(Errno::Io, _)));
        }
    }

    #[test]
    fn only_fast_zeroes_may_be_unsupported() {
        let errno = |may_be_unsupported| match content(
            ReplyKind::Plain { may_be_unsupported },
            Err(ExportError::NotSupported),
        ) {
            Content::Error(errno, _) => errno,
            other => panic!("{other:?}"),
        };
        assert_eq!((errno(true), errno(false)), (Errno::NotSupported, Errno::Invalid));
    }
}
