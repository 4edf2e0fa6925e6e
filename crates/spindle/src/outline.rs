//! A drive of which only the figures on its data sheet are known.
//!
//! An outline takes the place of a [`Profile`]'s seeks and zones, which are made from it by rules
//! that hold for drives of its kind: the same number of cylinders in each zone, sectors per track
//! falling in a line from the outermost to the innermost, a serpentine of bands, each track turned
//! by what a seek to the next takes, and a seek time that grows as `a + b·√d + c·d` through the
//! three seeks that makers publish. What comes of it is a drive like the one meant, not that one.

use serde::Deserialize;

use crate::profile::{MAX_DELAY_MS, Profile, ProfileError, Zone};

/// Distances for which the seek curve gets a point, in steps of this ratio.
const SEEK_STEP: f64 = 1.2;

/// Turns that a skew adds to the time of the switch it covers: for the settling that differs from
/// one switch to the next.
const SKEW_MARGIN_REV: f64 = 0.01;

/// Bounds that keep the arithmetic below within its types; the profile's are narrower.
const MAX_ZONES: u32 = 64;
const MAX_CYLINDERS: u32 = 1 << 21;

/// The figures of a data sheet, as the table `outline` of a profile's file holds them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outline {
    /// Zones of equal width.
    pub zones: u32,
    /// Sectors on the outermost and on the innermost track. How many cylinders there are follows
    /// from the capacity.
    pub sectors_per_track: (u32, u32),
    /// Milliseconds of three reading seeks.
    pub seek_ms: SeekFigures,
}

/// The three seeks on a data sheet, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekFigures {
    /// To the next cylinder.
    pub track_to_track: f64,
    /// To a third of all cylinders away, which is the mean distance between two at random.
    pub average: f64,
    /// From the outermost cylinder to the innermost.
    pub full_stroke: f64,
}

impl Outline {
    /// Gives a profile its seeks and zones. Its other numbers are within their bounds.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`], naming the figure that cannot be.
    pub(crate) fn complete(&self, profile: &mut Profile) -> Result<(), ProfileError> {
        self.check(profile)?;
        let cylinders = self.cylinders(profile)?;
        profile.seek = self.seek_points(cylinders);
        profile.zones = self.zones(profile, cylinders);
        Ok(())
    }

    fn check(&self, profile: &Profile) -> Result<(), ProfileError> {
        let SeekFigures { track_to_track, average, full_stroke } = self.seek_ms;
        let (outer, inner) = self.sectors_per_track;
        for (field, holds, reason) in [
            ("outline.zones", (1..=MAX_ZONES).contains(&self.zones), "is not in 1..=64"),
            (
                "outline.sectors_per_track",
                inner >= 2 && outer >= inner && outer <= 1 << 14,
                "does not fall from the outermost track to the innermost, of 2 at least",
            ),
            (
                "outline.seek_ms",
                0.0 < track_to_track && track_to_track < average && average < full_stroke,
                "does not grow from track-to-track to average to full stroke",
            ),
            (
                "outline.seek_ms.full_stroke",
                full_stroke.is_finite() && full_stroke < MAX_DELAY_MS,
                "is not below 100 ms",
            ),
        ] {
            profile.check(field, holds, || reason.to_owned())?;
        }
        Ok(())
    }

    /// Cylinders of each zone together; a zone has at least a band.
    fn cylinders(&self, profile: &Profile) -> Result<u32, ProfileError> {
        let sectors: u64 = (0..self.zones).map(|zone| u64::from(self.zone_sectors(zone))).sum();
        let per_cylinder = sectors * u64::from(profile.heads);
        let each = profile.capacity_sectors.div_ceil(per_cylinder);
        let cylinders = each.saturating_mul(u64::from(self.zones));
        profile.check("capacity_sectors", cylinders <= u64::from(MAX_CYLINDERS), || {
            format!("takes {cylinders} cylinders, more than {MAX_CYLINDERS}")
        })?;
        Ok(cylinders as u32)
    }

    fn zone_sectors(&self, zone: u32) -> u32 {
        let (outer, inner) = self.sectors_per_track;
        outer - (outer - inner) * zone / (self.zones - 1).max(1)
    }

    fn zones(&self, profile: &Profile, cylinders: u32) -> Vec<Zone> {
        let revolution_ms = 60_000.0 / f64::from(profile.rpm);
        let skew = |ms: f64| (ms / revolution_ms + SKEW_MARGIN_REV).rem_euclid(1.0);
        let passes = 2 * profile.heads as usize;
        let track_skew_rev = vec![skew(self.seek_ms.track_to_track); passes];
        // A head's last pass of a band ends where the next band begins: a seek of up to a band.
        let turn_ms = profile.head_switch_ms.max(self.seek_ms.track_to_track);
        let turn_skew_rev = vec![skew(turn_ms); passes];
        let each = cylinders / self.zones;
        let (mut zones, mut first_lba) = (Vec::new(), 0);
        for number in 0..self.zones {
            if first_lba >= profile.capacity_sectors {
                break;
            }
            let sectors_per_track = self.zone_sectors(number);
            let first_cylinder = number * each;
            zones.push(Zone {
                first_cylinder,
                last_cylinder: first_cylinder + each - 1,
                first_lba,
                sectors_per_track,
                first_angle_rev: 0.0,
                track_skew_rev: track_skew_rev.clone(),
                turn_skew_rev: turn_skew_rev.clone(),
                angle_steps: Vec::new(),
                slips: Vec::new(),
            });
            first_lba += u64::from(each) * u64::from(profile.heads) * u64::from(sectors_per_track);
        }
        zones
    }

    /// Points of `a + b·√d + c·d` through the three seeks, kept from falling.
    fn seek_points(&self, cylinders: u32) -> Vec<(u32, f64)> {
        let SeekFigures { track_to_track, average, full_stroke } = self.seek_ms;
        let stroke = f64::from(cylinders.max(2) - 1);
        // In x = (√d − 1)/(√stroke − 1) the curve is a parabola, 0 at one cylinder and 1 at all.
        let x = |cylinders: f64| {
            if stroke <= 1.0 { 1.0 } else { (cylinders.sqrt() - 1.0) / (stroke.sqrt() - 1.0) }
        };
        let middle = x((stroke / 3.0).max(1.0));
        let (rise, part) = (full_stroke - track_to_track, average - track_to_track);
        let bend = if middle > 0.0 && middle < 1.0 {
            (rise * middle - part) / (middle * (1.0 - middle))
        } else {
            0.0
        };
        let mut points = vec![(1, track_to_track)];
        let (mut distance, mut longest_ms) = (2_u32, track_to_track);
        while distance < cylinders {
            let x = x(f64::from(distance));
            let ms = track_to_track + (rise - bend) * x + bend * x * x;
            longest_ms = ms.clamp(longest_ms, full_stroke);
            points.push((distance, longest_ms));
            distance = (f64::from(distance) * SEEK_STEP).ceil() as u32;
        }
        if points.last().is_some_and(|last| last.0 + 1 < cylinders) {
            points.push((cylinders - 1, full_stroke));
        }
        points
    }
}
