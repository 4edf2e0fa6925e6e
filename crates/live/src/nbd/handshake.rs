//! The fixed newstyle handshake, on a socket and within a time limit.

use std::io::{self, ErrorKind, Write};
use std::time::Instant;

use super::exports::Exports;
use super::limits::Limits;
use super::options::{Chosen, Negotiation, Next, TOO_BIG, refuse};
use super::protocol::{GREETING_MAGIC, OPTION_MAGIC, handshake_flag, option};
use super::stream::{Incoming, Stream};

/// Longest option that is read and discarded if it is too long; a longer one ends the connection.
const DISCARDED_BYTES: u32 = 1 << 20;

/// Greets a client and answers its options, until it has chosen the export. Returns `None` if the client leaves, or
/// was told to.
///
/// # Errors
///
/// If the client breaks the protocol, closes, or is not done in time.
pub(super) fn shake_hands(
    stream: &Stream,
    incoming: &mut Incoming,
    exports: &dyn Exports,
    limits: &Limits,
) -> io::Result<Option<Chosen>> {
    stream.set_write_timeout(limits.handshake_timeout)?;
    incoming.set_deadline(Instant::now().checked_add(limits.handshake_timeout));
    let mut socket = stream;
    let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
    let mut out = Vec::new();
    out.extend(GREETING_MAGIC.to_be_bytes());
    out.extend(OPTION_MAGIC.to_be_bytes());
    out.extend(flags.to_be_bytes());
    socket.write_all(&out)?;

    let client_flags = u32::from_be_bytes(incoming.array()?);
    if client_flags & !u32::from(flags) != 0 {
        return Err(broken("the client has flags that it was not offered"));
    }
    let no_zeroes = client_flags & u32::from(handshake_flag::NO_ZEROES) != 0;
    let mut negotiation = Negotiation::new(exports, limits, no_zeroes);
    for _ in 0..limits.options {
        if u64::from_be_bytes(incoming.array()?) != OPTION_MAGIC {
            return Err(broken("an option does not begin with its magic number"));
        }
        let asked = u32::from_be_bytes(incoming.array()?);
        let bytes = u32::from_be_bytes(incoming.array()?);
        out.clear();
        let next = if bytes <= limits.option_bytes {
            let mut data = vec![0; bytes as usize];
            incoming.exact(&mut data)?;
            negotiation.answer(asked, &data, &mut out)
        } else if asked == option::EXPORT_NAME {
            Next::Close
        } else {
            refuse(&mut out, asked, TOO_BIG);
            match bytes <= DISCARDED_BYTES {
                true => {
                    incoming.discard(bytes.into())?;
                    Next::Option
                }
                false => Next::Close,
            }
        };
        socket.write_all(&out)?;
        match next {
            Next::Option => {}
            Next::Transmission(chosen) => {
                incoming.set_deadline(None);
                stream.set_read_timeout(limits.stalled_timeout)?;
                stream.set_write_timeout(limits.stalled_timeout)?;
                return Ok(Some(*chosen));
            }
            Next::Close => return Ok(None),
        }
    }
    Err(broken("the client goes on and on with options"))
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
