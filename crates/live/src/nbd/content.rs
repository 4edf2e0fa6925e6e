//! What a reply has to say.

use super::protocol::Errno;

/// The content of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Done,
    Data {
        offset: u64,
        data: Vec<u8>,
    },
    /// Extent descriptors: length and flags.
    Allocation(Vec<(u32, u32)>),
    Error(Errno, String),
}
