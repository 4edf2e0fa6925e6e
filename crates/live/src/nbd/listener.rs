//! The listening socket of a server: a Unix socket that only its owner may open, or a loopback address.

use std::fmt;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::FlockOperation;

use super::server::ServerError;
use super::stream::Stream;

/// The address of a server. Its text is the URI that NBD clients take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port on this machine.
    Tcp(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => {
                write!(formatter, "nbd+unix:///?socket=")?;
                for &byte in path.as_os_str().as_encoded_bytes() {
                    match byte {
                        b'A'..=b'Z'
                        | b'a'..=b'z'
                        | b'0'..=b'9'
                        | b'/'
                        | b'-'
                        | b'.'
                        | b'_'
                        | b'~' => {
                            write!(formatter, "{}", char::from(byte))?;
                        }
                        _ => write!(formatter, "%{byte:02X}")?,
                    }
                }
                Ok(())
            }
            Self::Tcp(address) => write!(formatter, "nbd://{address}"),
        }
    }
}

/// A socket that clients connect to.
#[derive(Debug)]
pub(super) enum Listener {
    Unix {
        listener: UnixListener,
        /// Removes the socket's file when dropped.
        _bound: Bound,
    },
    Tcp(TcpListener),
}

/// A socket's file; removed when dropped, unless another file has taken its place.
#[derive(Debug)]
pub(super) struct Bound {
    path: PathBuf,
    device_and_inode: (u64, u64),
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
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // Without the lock, two servers could both take a socket for abandoned, and the second would replace the
        // first's.
        let _alone = alone_in(parent).map_err(failed)?;
        make_way(path)?;
        let (listener, _bound) = bind_private(parent, path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok((Self::Unix { listener, _bound }, address))
    }

    /// Returns the next client, if there is one.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix { listener, .. } => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(stream.into())
            }
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
            Self::Unix { listener, .. } => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Locks the directory until the returned file is dropped.
fn alone_in(directory: &Path) -> io::Result<File> {
    let directory = File::open(directory)?;
    for _ in 0..200 {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(directory),
            Err(rustix::io::Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, "another program keeps the directory locked"))
}

/// Removes the socket of a dead server.
fn make_way(path: &Path) -> Result<(), ServerError> {
    let failed = |error| ServerError::Listen { address: Address::Unix(path.to_path_buf()), error };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !found.file_type().is_socket() {
        return Err(ServerError::NotASocket(path.to_path_buf()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        // If it answers, has no time to, or may not be opened, it belongs to somebody.
        Ok(_) => Err(ServerError::InUse(path.to_path_buf())),
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::WouldBlock) =>
        {
            Err(ServerError::InUse(path.to_path_buf()))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Binds in a directory that nobody else can enter, so that the socket is never open to others, and moves it into
/// place.
fn bind_private(parent: &Path, path: &Path) -> io::Result<(UnixListener, Bound)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let private =
        parent.join(format!(".nbd{}.{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    DirBuilder::new().mode(0o700).create(&private)?;
    let inside = private.join("s");
    let bound = UnixListener::bind(&inside).and_then(|listener| {
        fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
        let metadata = fs::symlink_metadata(&inside)?;
        fs::rename(&inside, path)?;
        let device_and_inode = (metadata.dev(), metadata.ino());
        Ok((listener, Bound { path: path.to_path_buf(), device_and_inode }))
    });
    // After a failure the socket may still be inside.
    let _ = fs::remove_file(&inside);
    let removed = fs::remove_dir(&private);
    let bound = bound?;
    removed?;
    Ok(bound)
}

impl Drop for Bound {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.device_and_inode);
        if ours {
            // A failure cannot be reported from here.
            let _ = fs::remove_file(&self.path);
        }
    }
}
