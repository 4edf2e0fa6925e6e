//! What cannot be built.

use thiserror::Error;

/// Why a link, a group of lanes, a path or a connection cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A link with a rate of 0, or with frames that carry nothing.
    #[error("link \"{name}\" carries nothing: give it a rate and a frame payload above 0")]
    CarriesNothing {
        /// The profile's name.
        name: String,
    },
    /// A path or a group of lanes without links.
    #[error("there are no links: name at least one")]
    NoLinks,
    /// A hop names a link, a group of lanes or a router that this network does not have.
    #[error("hop {hop} is not part of this network: add it first")]
    Unknown {
        /// The hop, from 0. In a group of lanes, the lane.
        hop: usize,
    },
    /// A path begins or ends with a switch, or has two links or two switches in a row.
    #[error(
        "hop {hop} breaks the path: links and switches must alternate, with a link at both ends"
    )]
    NotAlternating {
        /// The first hop that is out of place, from 0.
        hop: usize,
    },
    /// Two links of a path, or two lanes, whose frames differ.
    #[error("the frames of hop {hop} differ from those before it: only a router can join the two")]
    FramesDiffer {
        /// The second of the two hops, from 0. In a group of lanes, the lane.
        hop: usize,
    },
    /// The path's first link cannot carry the transport: TCP needs segments, Fibre Channel sequences.
    #[error("the path cannot carry {transport}: its first link is \"{link}\"")]
    WrongTransport {
        /// `TCP` or `Fibre Channel`.
        transport: &'static str,
        /// The profile's name.
        link: String,
    },
    /// A window of 0 bytes, or frames too small for the headers of TCP and IP.
    #[error("TCP cannot send: the window is {window_bytes} bytes, and a segment {segment_bytes}")]
    NoRoom {
        /// The advertised window.
        window_bytes: u64,
        /// What a frame carries besides headers.
        segment_bytes: u64,
    },
}
