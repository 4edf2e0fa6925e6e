//! Why a file cannot be looked at.

use std::io;

/// Why a file cannot be looked at, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refuses.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The error.
        source: io::Error,
    },
    /// The input is not what it should be.
    #[error("{message}; {remedy}")]
    Input {
        /// The place and what is wrong.
        message: String,
        /// What to do about it.
        remedy: String,
    },
}

impl FileError {
    /// An error of the operating system.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }

    /// An input that is not what it should be.
    pub fn input(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Input { message: message.into(), remedy: remedy.into() }
    }

    /// A text called `name` that cannot be read to its end. The error of a program whose output it is comes through as
    /// it is.
    pub(crate) fn reading(name: &str, source: io::Error) -> Self {
        source.downcast().unwrap_or_else(|source| Self::io(format!("{name}: cannot read"), source))
    }
}
