//! Why a server cannot be set up or run.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::address::Address;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A limit is 0 that must be at least 1.
    #[error("{0} is 0; it must be at least 1")]
    ZeroLimit(&'static str),
    /// The protocol does not allow the largest request size.
    #[error("largest_request_bytes is {0}; it must be a multiple of 512 and at least 65536")]
    LargestRequest(u32),
    /// A request of the largest size would wait for ever.
    #[error(
        "{which} lets a connection have {allowed} bytes in flight, and one request may need {largest}; raise it, or lower \
         largest_request_bytes and extents_per_answer"
    )]
    NeverFits {
        /// The limit that is too low.
        which: &'static str,
        /// The bytes that it allows a connection.
        allowed: u64,
        /// The bytes that a request may need.
        largest: u64,
    },
    /// Clients cannot use the export's size.
    #[error("the export has {0} bytes, which is not a multiple of 512")]
    Size(u64),
    /// The protocol cannot carry the export's name or description.
    #[error("the export's {0} has a NUL, or more than 4096 bytes")]
    Text(&'static str),
    /// The address is not a loopback address: anybody who reaches it could read and write the LUN.
    #[error(
        "{0} is not a loopback address; the server has neither encryption nor passwords, so it listens on this machine \
         only: use 127.0.0.1 or ::1, or a Unix socket, and a tunnel for the rest"
    )]
    NotLoopback(SocketAddr),
    /// Another server answers at this socket.
    #[error("a server is listening at {}; stop it, or choose another path", .0.display())]
    InUse(PathBuf),
    /// The path exists and is not a socket; it is not replaced.
    #[error("{} exists and is not a socket; remove it, or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The path cannot be that of a socket.
    #[error(
        "{} cannot be a socket's path: that has at most about a hundred bytes, and none of them is 0; choose another path",
        .0.display()
    )]
    SocketPath(PathBuf),
    /// The system refused to listen.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Where it was to listen.
        address: Address,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The system has no thread or no descriptor left.
    #[error("cannot start a server: {0}")]
    Start(#[source] io::Error),
}
