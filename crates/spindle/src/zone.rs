//! A recording zone: cylinders whose tracks hold equally many sectors.

use serde::Deserialize;

/// Cylinders of equal sectors per track.
///
/// A zone is laid out in passes. A pass is one band on one head, outer to inner or back. The
/// first band goes through the heads upward from head 0, the second downward, and so on; each
/// pass runs against the direction of the one before within the band, and every band starts
/// inward. The pattern repeats after two bands, so each skew is a list of `2 * heads`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Outermost cylinder.
    pub first_cylinder: u32,
    /// Innermost cylinder.
    pub last_cylinder: u32,
    /// First sector address; the zone's last is the one before the next zone's first.
    pub first_lba: u64,
    /// Sectors on a track.
    pub sectors_per_track: u32,
    /// Revolutions from angle zero to the start of the zone's first track.
    pub first_angle_rev: f64,
    /// By pass: revolutions from the start of one track to the start of the next.
    pub track_skew_rev: Vec<f64>,
    /// By pass: revolutions from the start of its last track to the start of the next pass.
    pub turn_skew_rev: Vec<f64>,
    /// `(track, revolutions)`: from this track of the zone on, counted from 0 in LBA order, every
    /// track is turned further than the skews say, or back where negative; at most half a turn.
    #[serde(default)]
    pub angle_steps: Vec<(u32, f64)>,
    /// `(first track, tracks, sectors)`: tracks of the zone, counted from 0 in LBA order, each of
    /// which lacks that many sectors to defects.
    #[serde(default)]
    pub slips: Vec<(u32, u32, u32)>,
}

impl Zone {
    /// Cylinders in the zone.
    pub fn cylinders(&self) -> u32 {
        self.last_cylinder.saturating_sub(self.first_cylinder).saturating_add(1)
    }
}
