//! A drive of which only the figures on its data sheet are known.
//!
//! An outline becomes a [`Profile`] by rules that hold for drives of its kind: the same number of
//! cylinders in each zone, sectors per track falling in a line from the outermost to the innermost,
//! a serpentine of bands, each track turned by what a seek to the next takes, and a seek time that
//! grows as `a + b·√d + c·d` through the three seeks that makers publish. What comes of it is a
//! drive like the one meant, not that one.

use serde::Deserialize;

use crate::profile::{Cache, Overheads, Profile, ProfileError, Zone};
use crate::provenance::{Provenances, unknown};

/// Distances for which the seek curve gets a point, in steps of this ratio.
const SEEK_STEP: f64 = 1.2;

/// Turns that a skew adds to the time of the switch it covers: for the settling that differs from
/// one switch to the next.
const SKEW_MARGIN_REV: f64 = 0.01;

/// Bounds that keep the arithmetic below within its types; the profile's are narrower.
const MAX_ZONES: u32 = 64;
const MAX_CYLINDERS: u32 = 1 << 21;

/// The figures of a data sheet, as a TOML file holds them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outline {
    /// Short name, as used in scenarios.
    pub name: String,
    /// Where the figures are from.
    pub credit: String,
    /// Revolutions per minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub heads: u32,
    /// Bytes in a sector.
    pub sector_bytes: u32,
    /// Sectors that can be addressed.
    pub capacity_sectors: u64,
    /// Zones of equal width.
    pub zones: u32,
    /// Sectors on the outermost and on the innermost track. How many cylinders there are follows
    /// from the capacity.
    pub sectors_per_track: (u32, u32),
    /// Cylinders a head serves before the next takes over.
    pub band_cylinders: u32,
    /// Milliseconds of three reading seeks.
    pub seek_ms: SeekFigures,
    /// Milliseconds to change to another head of the same cylinder.
    pub head_switch_ms: f64,
    /// Milliseconds that a write settles longer than a read.
    pub write_settle_ms: f64,
    /// See [`Profile::zero_latency_read`].
    #[serde(default)]
    pub zero_latency_read: bool,
    /// See [`Profile::zero_latency_write`].
    #[serde(default)]
    pub zero_latency_write: bool,
    /// Delay before the head moves.
    pub overhead_ms: Overheads,
    /// See [`Profile::bus_mb_per_s`].
    #[serde(default)]
    pub bus_mb_per_s: Option<f64>,
    /// The drive's own cache.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// Where the figures come from; those of the layout are `zone`.
    #[serde(default)]
    pub provenance: Provenances,
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
    /// The profile of a drive like this one, valid.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`], naming the figure that cannot be.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        self.validate()?;
        let cylinders = self.cylinders()?;
        let profile = Profile {
            name: self.name.clone(),
            credit: self.credit.clone(),
            rpm: self.rpm,
            heads: self.heads,
            sector_bytes: self.sector_bytes,
            capacity_sectors: self.capacity_sectors,
            band_cylinders: self.band_cylinders,
            head_switch_ms: self.head_switch_ms,
            write_settle_ms: self.write_settle_ms,
            zero_latency_read: self.zero_latency_read,
            zero_latency_write: self.zero_latency_write,
            seek: self.seek_points(cylinders),
            overhead_ms: self.overhead_ms,
            bus_mb_per_s: self.bus_mb_per_s,
            cache: self.cache.clone(),
            provenance: self.provenance.clone(),
            zones: self.zones(cylinders),
        };
        profile.validate()?;
        Ok(profile)
    }

    fn validate(&self) -> Result<(), ProfileError> {
        let SeekFigures { track_to_track, average, full_stroke } = self.seek_ms;
        let (outer, inner) = self.sectors_per_track;
        for (field, holds, reason) in [
            ("rpm", self.rpm >= 1, "must be at least 1"),
            ("heads", (1..=255).contains(&self.heads), "is not in 1..=255"),
            ("zones", (1..=MAX_ZONES).contains(&self.zones), "is not in 1..=64"),
            (
                "sectors_per_track",
                inner >= 2 && outer >= inner && outer <= 1 << 14,
                "does not fall from the outermost track to the innermost, of 2 at least",
            ),
            (
                "seek_ms",
                0.0 < track_to_track && track_to_track < average && average < full_stroke,
                "does not grow from track-to-track to average to full stroke",
            ),
            (
                "seek_ms.full_stroke",
                full_stroke.is_finite() && full_stroke < 100.0,
                "is not below 100 ms",
            ),
        ] {
            if !holds {
                return Err(self.invalid(field, reason.to_owned()));
            }
        }
        match unknown(&self.provenance) {
            Some(field) => Err(self.invalid("provenance", format!("no number is called {field}"))),
            None => Ok(()),
        }
    }

    /// Cylinders of each zone together; a zone has at least a band.
    fn cylinders(&self) -> Result<u32, ProfileError> {
        let sectors: u64 = (0..self.zones).map(|zone| u64::from(self.zone_sectors(zone))).sum();
        let per_cylinder = sectors * u64::from(self.heads);
        let each = self.capacity_sectors.div_ceil(per_cylinder);
        let cylinders = each.saturating_mul(u64::from(self.zones));
        if cylinders > u64::from(MAX_CYLINDERS) {
            let reason = format!("takes {cylinders} cylinders, more than {MAX_CYLINDERS}");
            return Err(self.invalid("capacity_sectors", reason));
        }
        Ok(cylinders as u32)
    }

    fn zone_sectors(&self, zone: u32) -> u32 {
        let (outer, inner) = self.sectors_per_track;
        outer - (outer - inner) * zone / (self.zones - 1).max(1)
    }

    fn zones(&self, cylinders: u32) -> Vec<Zone> {
        let revolution_ms = 60_000.0 / f64::from(self.rpm);
        let skew = |ms: f64| (ms / revolution_ms + SKEW_MARGIN_REV).rem_euclid(1.0);
        let passes = 2 * self.heads as usize;
        let track_skew_rev = vec![skew(self.seek_ms.track_to_track); passes];
        // A head's last pass of a band ends where the next band begins: a seek of up to a band.
        let turn_ms = self.head_switch_ms.max(self.seek_ms.track_to_track);
        let turn_skew_rev = vec![skew(turn_ms); passes];
        let each = cylinders / self.zones;
        let (mut zones, mut first_lba) = (Vec::new(), 0);
        for number in 0..self.zones {
            if first_lba >= self.capacity_sectors {
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
            first_lba += u64::from(each) * u64::from(self.heads) * u64::from(sectors_per_track);
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

    fn invalid(&self, field: &str, reason: String) -> ProfileError {
        ProfileError::Invalid { profile: self.name.clone(), field: field.to_owned(), reason }
    }
}
