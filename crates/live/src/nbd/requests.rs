//! Parses a request's header, and checks that it may be executed.

use strewn_base::SECTOR_BYTES;

use super::export::Request;
use super::limits::Limits;
use super::options::{Agreed, Offer};
use super::protocol::{Errno, RequestHeader, command, command_flag as flag};

/// An accepted request, or why it is refused.
pub(super) type Examined = Result<ExaminedRequest, Refusal>;

/// A request within the export, with what answers it.
#[derive(Debug)]
pub(super) struct ExaminedRequest {
    /// The request for the export; a write's data is still to come.
    pub(super) request: Request,
    /// What the reply needs to know of the request.
    pub(super) kind: ReplyKind,
    /// The bytes in flight that it is charged for.
    pub(super) charged_bytes: u64,
}

/// What a reply needs to know of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyKind {
    Read {
        offset: u64,
        bytes: u64,
    },
    Allocation {
        bytes: u64,
        /// The most extents in the reply.
        extents: usize,
    },
    /// Answered without data.
    Plain {
        /// Whether the protocol allows "not supported" as the answer.
        may_be_unsupported: bool,
    },
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) errno: Errno,
    pub(super) why: &'static str,
}

fn refused<T>(errno: Errno, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal { errno, why })
}

/// Examines a request other than a disconnection.
pub(super) fn examine(
    header: &RequestHeader,
    offer: &Offer,
    agreed: Agreed,
    limits: &Limits,
) -> Examined {
    let (offset, bytes) = (header.offset, u64::from(header.bytes));
    let has = |flag: u16| header.flags & flag != 0;
    let changes = matches!(header.command, command::WRITE | command::TRIM | command::WRITE_ZEROES);
    if offer.is_read_only && changes {
        return refused(Errno::NotPermitted, "the export is read-only");
    }
    check_flags(header, offer, agreed)?;
    let durable = has(flag::FUA);
    if header.command == command::FLUSH {
        if (offset, bytes) != (0, 0) {
            return refused(Errno::Invalid, "a flush has neither offset nor length");
        }
        let kind = ReplyKind::Plain { may_be_unsupported: true };
        return Ok(ExaminedRequest { request: Request::Flush, kind, charged_bytes: 0 });
    }
    check_range(header, offer, limits)?;
    let plain = |request, charged_bytes, may_be_unsupported| ExaminedRequest {
        request,
        kind: ReplyKind::Plain { may_be_unsupported },
        charged_bytes,
    };
    Ok(match header.command {
        command::READ => ExaminedRequest {
            request: Request::Read { offset, bytes },
            kind: ReplyKind::Read { offset, bytes },
            charged_bytes: bytes,
        },
        command::WRITE => plain(Request::Write { offset, data: Vec::new(), durable }, bytes, true),
        command::TRIM => plain(Request::Trim { offset, bytes, durable }, 0, true),
        command::WRITE_ZEROES => {
            let (may_trim, fast_only) = (!has(flag::NO_HOLE), has(flag::FAST_ZERO));
            plain(
                Request::WriteZeroes { offset, bytes, may_trim, durable, fast_only },
                0,
                fast_only,
            )
        }
        _ => {
            let extents = if has(flag::REQ_ONE) { 1 } else { limits.extents_per_answer };
            ExaminedRequest {
                request: Request::Allocation {
                    offset,
                    bytes,
                    extents_at_most: limits.extents_per_answer,
                },
                kind: ReplyKind::Allocation { bytes, extents },
                charged_bytes: limits.allocation_bytes(),
            }
        }
    })
}

/// Checks that the command is known and has only its own flags.
fn check_flags(header: &RequestHeader, offer: &Offer, agreed: Agreed) -> Result<(), Refusal> {
    let own = match header.command {
        command::READ if agreed.structured => flag::DF,
        command::READ | command::WRITE | command::FLUSH | command::TRIM => 0,
        command::WRITE_ZEROES if offer.features.fast_zeroes => flag::NO_HOLE | flag::FAST_ZERO,
        command::WRITE_ZEROES => flag::NO_HOLE,
        command::BLOCK_STATUS if agreed.allocation => flag::REQ_ONE,
        command::BLOCK_STATUS => {
            return refused(Errno::Invalid, "no metadata context was selected");
        }
        _ => return refused(Errno::Invalid, "the command is unknown"),
    };
    // Some clients send FUA with commands that write nothing.
    if header.flags & !(own | flag::FUA) != 0 {
        return refused(Errno::Invalid, "the command does not have these flags");
    }
    Ok(())
}

/// Checks that the range exists, and is not too long.
fn check_range(header: &RequestHeader, offer: &Offer, limits: &Limits) -> Result<(), Refusal> {
    let (offset, bytes) = (header.offset, u64::from(header.bytes));
    if bytes == 0 {
        return refused(Errno::Invalid, "the request is empty");
    }
    if offset.checked_add(bytes).is_none_or(|end| end > offer.size_bytes) {
        return match header.command {
            command::WRITE | command::WRITE_ZEROES => {
                refused(Errno::NoSpace, "this is beyond the end of the export")
            }
            _ => refused(Errno::Invalid, "this is beyond the end of the export"),
        };
    }
    if !offset.is_multiple_of(SECTOR_BYTES) || !bytes.is_multiple_of(SECTOR_BYTES) {
        return refused(Errno::Invalid, "offset and length must be multiples of 512");
    }
    if header.bytes > limits.largest_request_bytes {
        return match header.command {
            command::READ if header.flags & flag::DF != 0 => {
                refused(Errno::Overflow, "this is more than is sent unfragmented")
            }
            command::READ | command::WRITE => {
                refused(Errno::Invalid, "this is more than the largest block size")
            }
            _ => Ok(()),
        };
    }
    Ok(())
}
