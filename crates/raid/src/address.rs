//! Addresses that the compiler keeps apart.

use std::fmt;

/// A block on a spindle, counted from its first block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dbn(pub u64);

/// A block in an aggregate, counted over its data spindles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vbn(pub u64);

/// A spindle of a parity group or of a disk group, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpindleIndex(pub u16);

impl SpindleIndex {
    /// The same number, to index a slice with one entry a spindle.
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
