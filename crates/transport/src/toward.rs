//! The two directions of a path.

use strewn_base::state::SavedValue;

/// Which end of a path receives. A link carries both directions at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
#[repr(u8)]
pub enum Toward {
    /// From the host to the array.
    Target = 0,
    /// From the array to the host.
    Host = 1,
}

impl Toward {
    /// Both directions, in the order of their discriminants.
    pub const BOTH: [Self; 2] = [Self::Target, Self::Host];
}
