//! Why a log cannot be read.

use crate::device::IoError;

/// Why the log cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogReadError {
    /// No device of the log answers.
    #[error(transparent)]
    Device(IoError),
    /// Both devices of a mirrored log have a whole record of this number, and they differ.
    #[error("its two devices have a record {0} each, and they differ: one is of another history")]
    Differ(u64),
}
