//! The parts of a network by number.

use strewn_base::state::SavedValue;

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
        pub struct $id(u32);

        impl $id {
            pub(crate) fn of(index: usize) -> Self {
                Self(index as u32)
            }

            /// Its number in its network, from 0 in the order of additions.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A link of a [`Network`](crate::Network).
    LinkId;
    /// A group of lanes of a [`Network`](crate::Network).
    LanesId;
    /// A router of a [`Network`](crate::Network).
    RouterId;
    /// A path of a [`Network`](crate::Network).
    PathId;
}
