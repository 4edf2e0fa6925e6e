//! Methods of updating the parity of a stripe.

use std::fmt;
use strewn_base::state::SavedValue;

/// A method of updating the parity of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub enum UpdateMethod {
    /// Every data block changes: parity is computed from the new contents.
    FullStripe,
    /// Read-modify-write: takes the old contents of the changed blocks out of the old parity and puts
    /// the new contents in.
    Subtraction,
    /// Reconstruct-write: reads the unchanged data blocks and computes parity from all data.
    Recalculation,
}

impl fmt::Display for UpdateMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::FullStripe => "full stripe",
            Self::Subtraction => "subtraction",
            Self::Recalculation => "recalculation",
        })
    }
}
