//! The transmission phase: reads, examines and submits requests until the client disconnects.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::budget::Share;
use super::export::{Export, Request};
use super::limits::Limits;
use super::options::{Agreed, Offer};
use super::protocol::{RequestHeader, command};
use super::replies::Outbox;
use super::requests::examine;
use super::stream::Incoming;

/// What the transmission phase works with.
pub(super) struct Transmission<'a> {
    pub(super) export: &'a dyn Export,
    pub(super) offer: &'a Offer,
    pub(super) agreed: Agreed,
    pub(super) limits: &'a Limits,
    pub(super) share: &'a Share,
    pub(super) outbox: &'a Arc<Outbox>,
    pub(super) stopping: &'a AtomicBool,
}

impl Transmission<'_> {
    /// Reads requests and submits them, until the client disconnects, closes or takes no more replies, or the server
    /// stops. A client that is gone may have left thousands of requests in the socket: nobody waits for them.
    ///
    /// # Errors
    ///
    /// If the client breaks the protocol, or closes or stalls within a request.
    pub(super) fn run(&self, incoming: &mut Incoming) -> io::Result<()> {
        while incoming.begins()?
            && !self.stopping.load(Ordering::Acquire)
            && !self.outbox.is_abandoned()
        {
            let header = RequestHeader::read(&incoming.array()?).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "this is not a request")
            })?;
            if header.command == command::DISC || !self.request(&header, incoming)? {
                break;
            }
        }
        Ok(())
    }

    /// Executes or refuses one request. Its data in the stream is read in any case. Returns whether the server goes
    /// on.
    fn request(&self, header: &RequestHeader, incoming: &mut Incoming) -> io::Result<bool> {
        let examined = examine(header, self.offer, self.agreed, self.limits);
        let charged_bytes = examined.as_ref().map_or(0, |asked| asked.charged_bytes);
        let Some(charge) = self.share.admit(charged_bytes) else { return Ok(false) };
        match examined {
            Ok(mut asked) => {
                if let Request::Write { data, .. } = &mut asked.request {
                    // The system's zeroed pages take memory only as the data arrives.
                    *data = vec![0; header.bytes as usize];
                    incoming.exact(data)?;
                }
                self.export
                    .submit(asked.request, self.outbox.expect(header.cookie, asked.kind, charge));
            }
            Err(refusal) => {
                // A client may mistake a reply that comes before it has sent everything for the answer to another
                // request.
                if header.command == command::WRITE {
                    incoming.discard(header.bytes.into())?;
                }
                self.outbox.refuse(header.cookie, refusal, charge);
            }
        }
        Ok(true)
    }
}
