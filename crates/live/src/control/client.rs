//! The client's side of the control socket.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::{ControlAnswer, ControlPath, ControlRequest, MAXIMUM_ANSWER_BYTES};
use crate::administration::{Change, ChangeError, Inventory};
use crate::device::remedy_of_system;

/// Why a served array did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The change was refused.
    #[error(transparent)]
    Refused(#[from] ChangeError),
    /// The serving process closed the connection, or does not answer.
    #[error("the process that serves the array does not answer: {0}")]
    Io(#[from] io::Error),
    /// The two programs do not understand each other.
    #[error("the process that serves the array is of another version: {0}")]
    Protocol(String),
}

impl ControlError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Refused(error) => error.remedy(),
            Self::Io(error) => remedy_of_system(error)
                .unwrap_or("if it has ended, give the command again")
                .to_owned(),
            Self::Protocol(_) => "give the command with the version that serves it".to_owned(),
        }
    }
}

/// An array that another process serves.
#[derive(Debug, Clone)]
pub struct ControlClient {
    directory: PathBuf,
}

impl ControlClient {
    /// Returns the array in `directory`, or `None` if no process serves it.
    ///
    /// # Errors
    /// If the socket is there and cannot be opened.
    pub fn connect(directory: &Path) -> io::Result<Option<Self>> {
        let client = Self { directory: directory.to_owned() };
        match client.stream() {
            Ok(_) => Ok(Some(client)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns what the array has.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn inventory(&self) -> Result<Inventory, ControlError> {
        self.ask(&ControlRequest::Inventory)
    }

    /// Changes the array, and returns what it has then.
    ///
    /// # Errors
    /// If the change is refused, or the array does not answer. In the latter case, the change may have been carried
    /// out.
    pub fn administer(&self, change: Change) -> Result<Inventory, ControlError> {
        self.ask(&ControlRequest::Change(change))
    }

    fn stream(&self) -> io::Result<UnixStream> {
        UnixStream::connect(ControlPath::new(&self.directory)?.path)
    }

    fn ask(&self, request: &ControlRequest) -> Result<Inventory, ControlError> {
        let mut stream = self.stream()?;
        let mut line = serde_json::to_vec(request).map_err(protocol)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        stream.shutdown(Shutdown::Write)?;
        line.clear();
        // A change takes as long as the array needs for what it has acknowledged.
        BufReader::new(stream).take(MAXIMUM_ANSWER_BYTES).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
        }
        match super::read(&line).map_err(protocol)? {
            ControlAnswer::Inventory(inventory) => Ok(inventory),
            ControlAnswer::Refused(error) => Err(error.into()),
            ControlAnswer::Invalid(why) => Err(ControlError::Protocol(why)),
        }
    }
}

fn protocol(error: serde_json::Error) -> ControlError {
    ControlError::Protocol(error.to_string())
}
