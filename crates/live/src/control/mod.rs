//! The control socket of a served array: `control` in its directory, by which other processes administer it.
//!
//! A client sends one line and gets one line: a [`ControlRequest`] and a [`ControlAnswer`], each as JSON. Then the
//! server closes the connection. Only the user who serves the array may open the socket. As long as the array's devices
//! are locked by a process that serves it, the socket is how to reach it.
//!
//! ```text
//! "inventory"
//! {"inventory":{"volumes":[{"name":"volume","bytes":1073741824, …}],"free_bytes":2147483648}}
//!
//! {"change":{"take_snapshot":{"snapshot":"volume@monday","taken_unix_seconds":1767225600}}}
//! {"refused":{"exists":"snapshot volume@monday"}}
//! ```

mod client;
mod server;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::administration::{Change, ChangeError, Inventory};

pub use client::{ControlClient, ControlError};
pub use server::ControlServer;

pub use crate::private_socket::SocketError;

/// The name of the socket in the array's directory.
pub const CONTROL_SOCKET: &str = "control";

/// Longest request, in bytes.
const MAXIMUM_REQUEST_BYTES: u64 = 64 << 10;

/// Longest answer, in bytes.
const MAXIMUM_ANSWER_BYTES: u64 = 256 << 20;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// What the array has.
    Inventory,
    /// Make a change to volumes, LUNs, snapshots or clones.
    Change(Change),
}

/// The answer to a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAnswer {
    /// What the array has, after the change if there was one.
    Inventory(Inventory),
    /// Why the change was refused.
    Refused(ChangeError),
    /// Why the request was not understood.
    Invalid(String),
}

/// Reads a message. What is derived for its type reads the values that the text was parsed to, which takes less code
/// than to read the text.
fn read<T: DeserializeOwned>(line: &[u8]) -> serde_json::Result<T> {
    serde_json::from_value(serde_json::from_slice(line)?)
}

/// The socket's path, as short as a socket's path must be however long that of the directory is.
struct ControlPath {
    /// Keeps `path` valid.
    _directory: File,
    path: PathBuf,
}

impl ControlPath {
    #[cfg(target_os = "linux")]
    fn new(directory: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd;

        let opened = File::open(directory)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        Ok(Self { path: path.join(CONTROL_SOCKET), _directory: opened })
    }

    #[cfg(not(target_os = "linux"))]
    fn new(directory: &Path) -> io::Result<Self> {
        let path = directory.join(CONTROL_SOCKET);
        Ok(Self { path, _directory: File::open(directory)? })
    }
}
