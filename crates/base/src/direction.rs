//! The direction of a transfer.

use std::fmt;

use crate::state::SavedValue;

/// Whether a request reads or writes: of a host, an array, a drive or a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[repr(u8)]
pub enum Direction {
    /// Data flows toward the host.
    Read = 0,
    /// Data flows toward the medium.
    Write = 1,
}

impl Direction {
    /// Both directions, in the order of their discriminants.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];
}

impl fmt::Display for Direction {
    /// `read` or `write`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}
