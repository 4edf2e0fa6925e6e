//! The names of layouts.

use std::fmt;

use strewn_raid::Parity;

/// A layout, by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayoutName {
    /// `raid-dp`: write-anywhere, two parity spindles.
    RaidDp,
    /// `raid-4`: write-anywhere, one parity spindle.
    Raid4,
    /// `vraid-5`: in place, stripes of five spindles distributed over all of them.
    Vraid5,
    /// `raid-5`: in place, stripes over all spindles, with parity rotating over them.
    Raid5,
}

impl LayoutName {
    /// All layouts.
    pub const ALL: [Self; 4] = [Self::RaidDp, Self::Raid4, Self::Vraid5, Self::Raid5];

    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RaidDp => "raid-dp",
            Self::Raid4 => "raid-4",
            Self::Vraid5 => "vraid-5",
            Self::Raid5 => "raid-5",
        }
    }

    /// Returns how many spindles may be lost at once.
    #[must_use]
    pub const fn redundancy(self) -> u16 {
        match self {
            Self::RaidDp => 2,
            Self::Raid4 | Self::Vraid5 | Self::Raid5 => 1,
        }
    }

    /// Returns the parity of a write-anywhere layout, or `None` for an in-place layout.
    #[must_use]
    pub const fn parity(self) -> Option<Parity> {
        match self {
            Self::RaidDp => Some(Parity::RaidDp),
            Self::Raid4 => Some(Parity::Raid4),
            Self::Vraid5 | Self::Raid5 => None,
        }
    }

    /// Returns the number of spindles beyond the data spindles. RAID-5 counts the equivalent of its parity, although
    /// all spindles share it. VRAID-5 counts all spindles as data spindles.
    #[must_use]
    pub const fn parity_spindles(self) -> u16 {
        match self {
            Self::RaidDp => 2,
            Self::Raid4 | Self::Raid5 => 1,
            Self::Vraid5 => 0,
        }
    }
}

impl fmt::Display for LayoutName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
