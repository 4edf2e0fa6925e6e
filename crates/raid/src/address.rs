//! Addresses, as types that cannot be mixed up.

use std::fmt;

use strewn_base::state::SavedValue;

/// Disk block number: a block on a spindle, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct Dbn(pub u64);

/// Volume block number: a data block of a parity group or aggregate, numbered spindle by spindle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct Vbn(pub u64);

/// A spindle of a parity group or disk group, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct SpindleIndex(pub u16);

impl SpindleIndex {
    /// The same number as an index into a slice with one entry per spindle.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Dbn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DBN {}", self.0)
    }
}

impl fmt::Display for Vbn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "VBN {}", self.0)
    }
}

impl fmt::Display for SpindleIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "spindle {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_what_they_are() {
        assert_eq!(Dbn(7).to_string(), "DBN 7");
        assert_eq!(Vbn(8).to_string(), "VBN 8");
        assert_eq!(SpindleIndex(9).to_string(), "spindle 9");
    }
}
