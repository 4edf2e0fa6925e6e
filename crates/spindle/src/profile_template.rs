//! A drive known only from its data sheet.
//!
//! A template replaces a [`Profile`](crate::Profile)'s seeks and zones, which are derived from it by rules that hold
//! for drives of its kind: zones of equally many cylinders, sectors per track that fall linearly from the outermost
//! zone to the innermost, a serpentine of bands, tracks skewed by the time of a seek to the next, and a seek time that
//! grows as `a + b·√d + c·d` through the three seeks that makers publish. The result resembles the drive, and is not a
//! measurement of it.

use serde::Deserialize;

use crate::rotation::MAX_DELAY_MS;
use crate::zone::Zone;

/// Distances of successive points of the seek curve grow by this ratio.
const SEEK_STEP: f64 = 1.2;

/// Revolutions that a skew adds to the time of the switch that it covers, because settling differs from one switch to
/// the next.
pub(crate) const SKEW_MARGIN_REV: f64 = 0.01;

/// The settling of a write as a share of an average seek: 0.11 (Ultrastar DC HC310) to 0.16 (Savvio 10K.4).
pub(crate) const WRITE_SETTLE_SHARE: f64 = 0.12;
/// Between the measured Cheetah 15K.5's 0 and 0.63 ms.
pub(crate) const OVERHEAD_MS: f64 = 0.15;
/// Drives of 10,000 rpm and more have narrow bands: the measured Cheetah 15K.5's have 65 cylinders.
pub(crate) const BAND_CYLINDERS: [u32; 2] = [64, 256];

/// Limits that keep the arithmetic below within its types.
const MAX_ZONES: u32 = 64;
const MAX_CYLINDERS: u32 = 1 << 21;

/// The figures of a data sheet: the table `outline` of a profile's file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileTemplate {
    /// Zones of equal width.
    pub zones: u32,
    /// Sectors on the outermost and on the innermost track. The number of cylinders follows from the capacity.
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

/// What [`Profile::from_template`](crate::Profile::from_template) needs besides a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveFigures {
    /// Revolutions per minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub heads: u32,
    /// Bytes in a sector.
    pub sector_bytes: u32,
    /// Sectors that can be addressed.
    pub capacity_sectors: u64,
}

/// The numbers of a profile that its template builds on, all within their limits.
pub(crate) struct TemplateBase {
    pub(crate) rpm: u32,
    pub(crate) heads: u32,
    pub(crate) capacity_sectors: u64,
    pub(crate) head_switch_ms: f64,
}

/// The part of a profile that a template stands for.
pub(crate) struct Derived {
    /// `(cylinders, ms)`.
    pub(crate) seek: Vec<(u32, f64)>,
    pub(crate) zones: Vec<Zone>,
}

/// A figure of the template that no drive has.
pub(crate) struct TemplateFault {
    pub(crate) field: &'static str,
    pub(crate) reason: String,
}

impl ProfileTemplate {
    /// The seeks and zones of a drive with these figures.
    pub(crate) fn derive(&self, base: &TemplateBase) -> Result<Derived, TemplateFault> {
        self.check()?;
        let cylinders = self.cylinders(base)?;
        Ok(Derived { seek: self.seek_points(cylinders), zones: self.zones(base, cylinders) })
    }

    fn check(&self) -> Result<(), TemplateFault> {
        let SeekFigures { track_to_track, average, full_stroke } = self.seek_ms;
        let (outer, inner) = self.sectors_per_track;
        let checks = [
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
        ];
        match checks.into_iter().find(|&(_, holds, _)| !holds) {
            Some((field, _, reason)) => Err(TemplateFault { field, reason: reason.to_owned() }),
            None => Ok(()),
        }
    }

    /// Cylinders of all zones together.
    fn cylinders(&self, base: &TemplateBase) -> Result<u32, TemplateFault> {
        let sectors: u64 = (0..self.zones).map(|zone| u64::from(self.zone_sectors(zone))).sum();
        let per_cylinder = sectors * u64::from(base.heads);
        let each = base.capacity_sectors.div_ceil(per_cylinder);
        let cylinders = each.saturating_mul(u64::from(self.zones));
        if cylinders > u64::from(MAX_CYLINDERS) {
            let reason = format!("takes {cylinders} cylinders, more than {MAX_CYLINDERS}");
            return Err(TemplateFault { field: "capacity_sectors", reason });
        }
        Ok(cylinders as u32)
    }

    /// Sectors on a track of a zone.
    fn zone_sectors(&self, zone: u32) -> u32 {
        let (outer, inner) = self.sectors_per_track;
        outer - (outer - inner) * zone / (self.zones - 1).max(1)
    }

    fn zones(&self, base: &TemplateBase, cylinders: u32) -> Vec<Zone> {
        let revolution_ms = 60_000.0 / f64::from(base.rpm);
        let skew = |ms: f64| (ms / revolution_ms + SKEW_MARGIN_REV).rem_euclid(1.0);
        let passes = 2 * base.heads as usize;
        let track_skew_rev = vec![skew(self.seek_ms.track_to_track); passes];
        // A head's last pass of a band ends where the next band begins: a seek of up to a band.
        let turn_ms = base.head_switch_ms.max(self.seek_ms.track_to_track);
        let turn_skew_rev = vec![skew(turn_ms); passes];
        let each = cylinders / self.zones;
        let (mut zones, mut first_lba) = (Vec::new(), 0);
        for number in 0..self.zones {
            if first_lba >= base.capacity_sectors {
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
            first_lba += u64::from(each) * u64::from(base.heads) * u64::from(sectors_per_track);
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
