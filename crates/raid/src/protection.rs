//! Space kept free for the rebuild of a failed drive.

use std::fmt;

/// How much of a disk group is kept free for rebuilds, as an EVA's administrator chooses it.
///
/// An EVA has no spare drives: the reserve is spread over the group, and is twice the largest
/// drive for each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtectionLevel {
    /// Nothing reserved.
    None,
    /// Room for one failure: two drives' worth.
    #[default]
    Single,
    /// Room for two failures: four drives' worth.
    Double,
}

impl ProtectionLevel {
    /// Drives' worth of space kept free: 0, 2 or 4.
    pub const fn reserved_drives(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Single => 2,
            Self::Double => 4,
        }
    }

    /// Bytes of VRAID-5 that a disk group of `spindles` equal drives can hold: four fifths of
    /// what the reserve leaves, rounded down; 0 when the reserve leaves nothing.
    ///
    /// The array's own metadata (under 1 %) and the rounding of a layout to whole segments
    /// ([`VraidLayout::lun_capacity_bytes`](crate::VraidLayout::lun_capacity_bytes)) are not
    /// taken off.
    pub fn vraid5_usable_bytes(self, spindles: u16, bytes_per_spindle: u64) -> u64 {
        let drives = u64::from(spindles.saturating_sub(self.reserved_drives()));
        let unreserved_bytes = drives.saturating_mul(bytes_per_spindle);
        unreserved_bytes / 5 * 4 + unreserved_bytes % 5 * 4 / 5
    }
}

impl fmt::Display for ProtectionLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "none",
            Self::Single => "single",
            Self::Double => "double",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 drives of 146.8 GB (286,749,488 sectors).
    #[test]
    fn twenty_drives_of_146_gb() {
        let bytes_per_spindle = 286_749_488 * 512;
        for (level, gib) in [
            (ProtectionLevel::None, 2188),
            (ProtectionLevel::Single, 1969),
            (ProtectionLevel::Double, 1750),
        ] {
            let bytes = level.vraid5_usable_bytes(20, bytes_per_spindle);
            assert_eq!((bytes as f64 / (1_u64 << 30) as f64).round() as u64, gib, "{level}");
        }
    }

    #[test]
    fn reserve_can_take_everything() {
        assert_eq!(ProtectionLevel::Double.vraid5_usable_bytes(3, 1 << 40), 0);
        assert_eq!(ProtectionLevel::None.vraid5_usable_bytes(1, 9), 7);
    }
}
