//! How LUNs are told apart.

use std::fmt;

use strewn_base::state::SavedValue;

/// Identifies a LUN of an array. An array numbers its LUNs from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct LunId(pub u16);

impl fmt::Display for LunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LUN {}", self.0)
    }
}
