//! What every reader of this crate shares: lines of bounded length, positions in them, numbers, and
//! errors with a remedy.

mod error;
mod gzip;
mod lines;
mod nearest;
mod number;
mod source;
mod zstd;

pub use error::{ErrorKind, FileFormatError, FilePosition, WriteError};
pub use gzip::GzipReader;

pub(crate) use lines::{Limits, Line, Lines};
pub(crate) use nearest::{did_you_mean, nearest};
pub(crate) use number::{Decimal, decimal, is_digits, quoted, unsigned, unsigned_up_to};
pub(crate) use source::{Source, open, unreadable};
