//! Kinds of parity of a group.

use std::fmt;

use crate::SpindleSet;

/// The kind of parity of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parity {
    /// None: striping alone (RAID-0). Any lost spindle is data loss.
    None,
    /// One spindle of row parity. Survives the loss of one spindle.
    Raid4,
    /// One spindle of row parity and one of diagonal parity. Survives the loss of any two
    /// (row-diagonal parity: Corbett et al., FAST 2004).
    ///
    /// The diagonals run inside a block: each 4 KiB block is cut into the rows of one RDP
    /// stripe, so a change of one block changes exactly one block of each parity.
    #[default]
    RaidDp,
}

impl Parity {
    /// Spindles of a group that hold parity: 0, 1 or 2.
    #[inline]
    pub const fn spindles(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Raid4 => 1,
            Self::RaidDp => 2,
        }
    }

    /// The most spindles that [`ParityGroup::new`](crate::ParityGroup::new) allows, parity included: 14 (RAID-4) or 28
    /// (RAID-DP). These are the limits of Data ONTAP 7 for Fibre Channel drives, which bound the time of a rebuild; no
    /// code here depends on them. [`ParityGroup::wide`](crate::ParityGroup::wide) allows 64, all that a [`SpindleSet`]
    /// can hold, as does a group without parity, which has nothing to rebuild.
    pub const fn most_spindles(self) -> u16 {
        match self {
            Self::None => SpindleSet::CAPACITY,
            Self::Raid4 => 14,
            Self::RaidDp => 28,
        }
    }

    /// The number by which formats on storage name the kind: 0, 4 or 6. It does not change between versions.
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Raid4 => 4,
            Self::RaidDp => 6,
        }
    }

    pub(crate) const fn holds(self) -> &'static str {
        match self {
            Self::None => "0 hold",
            Self::Raid4 => "1 holds",
            Self::RaidDp => "2 hold",
        }
    }
}

impl fmt::Display for Parity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "RAID-0",
            Self::Raid4 => "RAID-4",
            Self::RaidDp => "RAID-DP",
        })
    }
}
