//! The listening socket of a server: a Unix socket that only its owner may open, or a loopback address.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::address::Address;
use super::server_error::ServerError;
use super::stream::Stream;
use crate::private_socket::{PrivateSocket, SocketError};

/// A socket that clients connect to.
#[derive(Debug)]
pub(super) enum Listener {
    Unix(PrivateSocket),
    Tcp(TcpListener),
}

impl Listener {
    pub(super) fn tcp(address: SocketAddr) -> Result<(Self, Address), ServerError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(ServerError::NotLoopback(address));
        }
        let failed = |error| ServerError::Listen { address: Address::Tcp(address), error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok((Self::Tcp(listener), Address::Tcp(address)))
    }

    pub(super) fn unix(path: &Path) -> Result<(Self, Address), ServerError> {
        let address = Address::Unix(path.to_path_buf());
        let failed = |error| ServerError::Listen { address: address.clone(), error };
        // A shorter path is bound, but clients must be able to use this one.
        if std::os::unix::net::SocketAddr::from_pathname(path).is_err() {
            return Err(ServerError::SocketPath(path.to_path_buf()));
        }
        let socket = PrivateSocket::bind(path, path).map_err(|error| match error {
            SocketError::InUse(path) => ServerError::InUse(path),
            SocketError::NotASocket(path) => ServerError::NotASocket(path),
            SocketError::Listen { error, .. } => failed(error),
        })?;
        Ok((Self::Unix(socket), address))
    }

    /// Returns the next client, if there is one.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(socket) => Ok(socket.accept()?.into()),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}
