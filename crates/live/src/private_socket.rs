//! A Unix socket that only its owner may open, with a file that lasts as long as its server.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::FlockOperation;

/// Why a socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another process answers at the socket.
    #[error("another process answers at {}", .0.display())]
    InUse(PathBuf),
    /// The path exists and is not a socket.
    #[error("{} exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// The system refused to create the socket, or to listen at it.
    #[error("cannot listen at {}: {error}", .path.display())]
    Listen {
        /// Path of the socket.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

impl SocketError {
    pub(crate) fn listen(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Listen { path: path.to_owned(), error }
    }
}

/// A listening socket that only the owner of this process may open. Its file is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct PrivateSocket {
    listener: UnixListener,
    _bound: Bound,
}

impl PrivateSocket {
    /// Listens at `path`, which errors call `name`. A socket left by a dead server is replaced.
    ///
    /// # Errors
    ///
    /// If something else is at `path`, or the system refuses.
    pub(crate) fn bind(path: &Path, name: &Path) -> Result<Self, SocketError> {
        let failed = SocketError::listen(name);
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // Without the lock, two servers could both take a socket for abandoned, and the second would replace the
        // first's.
        let _alone = alone_in(parent).map_err(&failed)?;
        make_way(path, name)?;
        let (listener, _bound) = bind_private(parent, path).map_err(&failed)?;
        listener.set_nonblocking(true).map_err(&failed)?;
        Ok(Self { listener, _bound })
    }

    /// Returns the next client, if there is one.
    pub(crate) fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

impl AsFd for PrivateSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// A socket's file; removed when dropped, unless another file has taken its place.
#[derive(Debug)]
struct Bound {
    path: PathBuf,
    device_and_inode: (u64, u64),
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
fn make_way(path: &Path, name: &Path) -> Result<(), SocketError> {
    let failed = SocketError::listen(name);
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !found.file_type().is_socket() {
        return Err(SocketError::NotASocket(name.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        // If it answers, has no time to, or may not be opened, it belongs to somebody.
        Ok(_) => Err(SocketError::InUse(name.to_owned())),
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::WouldBlock) =>
        {
            Err(SocketError::InUse(name.to_owned()))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Binds in a directory that nobody else can enter, so that the socket is never open to others, and moves it into
/// place.
fn bind_private(parent: &Path, path: &Path) -> io::Result<(UnixListener, Bound)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let private =
        parent.join(format!(".socket{}.{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
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
