//! What is measured about a drive, as a TOML file.
//!
//! A [`Profile`] is numbers and their source, nothing derived but what an [`Outline`] leaves open.
//! [`Profile::validate`] finds the mistakes that a hand-written profile is likely to hold and names
//! the field of each.

use std::path::Path;

use serde::Deserialize;

use crate::outline::Outline;
use crate::provenance::Provenances;

/// Profiles that ship with the crate, by name: the measured one first.
macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*]
    };
}
const SHIPPED: [(&str, &str); 6] = shipped![
    "seagate-cheetah-15k5-st3146855fc",
    "seagate-cheetah-15k4-st3146854fc",
    "seagate-cheetah-15k6-st3146356fc",
    "seagate-cheetah-15k7-st3450857ss",
    "seagate-cheetah-x15-st318451fc",
    "nearline-7200-16tb",
];

/// How far a measured seek may lie below a shorter one before it counts as a mistake: measured
/// points scatter, by up to 0.053 ms in the Cheetah's.
const SEEK_SCATTER_MS: f64 = 0.1;

/// Largest track and widest band for which locating a sector by multiplication is exact.
const MAX_SECTORS_PER_TRACK: u32 = 1 << 14;
const MAX_BAND_CYLINDERS: u32 = 1 << 11;

/// A cylinder and a head share 32 bits, eight of them the head's. A seek table has an entry for
/// each cylinder, so there are not as many as would fit.
const MAX_CYLINDER: u32 = (1 << 22) - 1;
const MAX_HEADS: u32 = (1 << 8) - 1;

/// A layout is listed pass by pass, a pass being a band on one head.
const MAX_PASSES: u64 = 1 << 20;

/// Formats of a sector: plain, with 8 or 16 bytes of check data, and the large one.
const SECTOR_BYTES: [u32; 4] = [512, 520, 528, 4096];

/// Bounds on what a cache holds.
const MAX_SEGMENTS: u32 = 1 << 12;
const MAX_SEGMENT_SECTORS: u32 = 1 << 20;

/// A delay in a profile is less than this, and a spindle turns no faster: overhead, seek and
/// rotation in ticks then stay below 2³¹, which the queue relies on.
pub(crate) const MAX_DELAY_MS: f64 = 100.0;
const MAX_RPM: u32 = 100_000;

/// A drive as measured. See the shipped TOML files for an example of every field.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Short name, as used in scenarios.
    pub name: String,
    /// Which drive was measured, by whom and when.
    pub credit: String,
    /// Revolutions per minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub heads: u32,
    /// Bytes in a sector.
    pub sector_bytes: u32,
    /// Sectors that can be addressed.
    pub capacity_sectors: u64,
    /// Cylinders a head serves before the next head takes over, in a serpentine layout. The last
    /// band of a zone takes what is left, when that is at least half a band, or shares it with
    /// the one before.
    pub band_cylinders: u32,
    /// Milliseconds to change to another head of the same cylinder.
    pub head_switch_ms: f64,
    /// Milliseconds that a write settles longer than a read, after the seek.
    pub write_settle_ms: f64,
    /// Whether a read that arrives amid its sectors, all on one track, begins there and wraps
    /// round, instead of waiting for the first.
    #[serde(default)]
    pub zero_latency_read: bool,
    /// The same of a write.
    #[serde(default)]
    pub zero_latency_write: bool,
    /// `(cylinders, ms)` in ascending cylinders; linear between points.
    #[serde(default)]
    pub seek: Vec<(u32, f64)>,
    /// Delay before the head moves.
    pub overhead_ms: Overheads,
    /// Megabytes (10⁶ bytes) a second between drive and host; no limit if absent.
    #[serde(default)]
    pub bus_mb_per_s: Option<f64>,
    /// The drive's own cache, if it has one. It is in use only where it is asked for.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// Where each of [its numbers](Profile::numbers) comes from.
    #[serde(default)]
    pub provenance: Provenances,
    /// What `seek` and `zones` were made from, where only a data sheet's figures are known.
    #[serde(default)]
    pub outline: Option<Outline>,
    /// Zones from the outermost inward, which is also in LBA order.
    #[serde(default, rename = "zone")]
    pub zones: Vec<Zone>,
}

/// Milliseconds before the head moves, by what the drive did last and what it does now.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overheads {
    /// A read, the direction before it being a read.
    pub read_after_read: f64,
    /// A read, the direction before it being a write.
    pub read_after_write: f64,
    /// A write, the direction before it being a read.
    pub write_after_read: f64,
    /// A write, the direction before it being a write.
    pub write_after_write: f64,
}

/// What the drive keeps in memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Runs of sectors that it holds.
    pub segments: u32,
    /// Most sectors in a segment.
    pub segment_sectors: u32,
    /// How far it reads on after a read.
    pub read_ahead: ReadAhead,
    /// Whether a write is answered before it is on the medium.
    pub write_back: bool,
    /// Delay of a read found in the cache and of a write taken into it.
    pub hit_overhead_ms: Overheads,
}

/// How far a drive with a cache reads on after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track of the read's last sector, and one track further if what the segment holds began on an
    /// earlier one. A segment goes round: what is read past its size replaces its oldest sectors.
    Track,
    /// Until the segment is full.
    Segment,
}

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

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file could not be read.
    #[error("cannot read drive profile {path}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not a profile; the source has line and column.
    #[error("drive profile {origin} does not parse")]
    Parse {
        /// The file, or the name of the shipped profile.
        origin: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A value contradicts another, or cannot be.
    #[error("drive profile {profile}: {field}: {reason}")]
    Invalid {
        /// Name of the profile.
        profile: String,
        /// Path of the field, such as `zone[3].first_lba`.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Profile {
    /// Names of the profiles that ship with the crate.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The shipped profile of this name, if there is one. Shipped profiles are valid.
    pub fn shipped(name: &str) -> Option<Self> {
        let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
        Self::from_toml(text, name).ok()
    }

    /// Reads and validates the profile in a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, does not parse, or holds a value that cannot be.
    pub fn from_path(path: &Path) -> Result<Self, ProfileError> {
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ProfileError::Read { path: origin.clone(), source })?;
        Self::from_toml(&text, &origin)
    }

    /// Parses and validates a profile; `origin` names the text in errors. A profile holds the list
    /// `seek` and the tables `zone`, or the table `outline`, of which they are made.
    ///
    /// # Errors
    ///
    /// The text does not parse or holds a value that cannot be.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        let mut profile: Self = toml::from_str(text).map_err(|source| ProfileError::Parse {
            origin: origin.to_owned(),
            source: Box::new(source),
        })?;
        if let Some(outline) = profile.outline.clone() {
            let alone = profile.seek.is_empty() && profile.zones.is_empty();
            profile.check("outline", alone, || {
                "stands in place of seek and zone: leave them out, or the outline".to_owned()
            })?;
            profile.check_scalars()?;
            outline.complete(&mut profile)?;
        }
        profile.validate()?;
        Ok(profile)
    }

    /// Cylinders of the drive, spare ones included.
    pub fn cylinders(&self) -> u32 {
        self.zones.last().map_or(0, |zone| zone.last_cylinder.saturating_add(1))
    }

    /// Sectors that zone number `index` holds: up to the next zone, or to the capacity.
    pub(crate) fn zone_sectors(&self, index: usize) -> u64 {
        let end = self.zones.get(index + 1).map_or(self.capacity_sectors, |next| next.first_lba);
        end.saturating_sub(self.zones[index].first_lba)
    }

    /// Checks that the numbers describe a drive.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`], naming the first field that does not.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check_scalars()?;
        if let Some((field, reason)) = self.provenance_fault() {
            return self.check(&field, false, || reason);
        }
        self.validate_seek()?;
        self.validate_zones()
    }

    /// Checks everything but `seek` and `zones`.
    fn check_scalars(&self) -> Result<(), ProfileError> {
        self.check("rpm", (1..=MAX_RPM).contains(&self.rpm), || {
            format!("{} is not in 1..={MAX_RPM}", self.rpm)
        })?;
        self.check("heads", (1..=MAX_HEADS).contains(&self.heads), || {
            format!("{} is not in 1..={MAX_HEADS}", self.heads)
        })?;
        self.check("sector_bytes", SECTOR_BYTES.contains(&self.sector_bytes), || {
            format!("{} is none of {SECTOR_BYTES:?}", self.sector_bytes)
        })?;
        self.check(
            "capacity_sectors",
            (1..=u64::from(u32::MAX)).contains(&self.capacity_sectors),
            || format!("{} is not in 1..2^32", self.capacity_sectors),
        )?;
        self.check(
            "band_cylinders",
            (1..=MAX_BAND_CYLINDERS).contains(&self.band_cylinders),
            || format!("{} is not in 1..={MAX_BAND_CYLINDERS}", self.band_cylinders),
        )?;
        self.check_delay("head_switch_ms", self.head_switch_ms)?;
        self.check_delay("write_settle_ms", self.write_settle_ms)?;
        self.check_overheads("overhead_ms", &self.overhead_ms)?;
        if let Some(rate) = self.bus_mb_per_s {
            self.check("bus_mb_per_s", (1.0..=1e6).contains(&rate), || {
                format!("{rate} is not in 1..=1000000")
            })?;
        }
        if let Some(cache) = &self.cache {
            self.validate_cache(cache)?;
        }
        Ok(())
    }

    fn validate_cache(&self, cache: &Cache) -> Result<(), ProfileError> {
        self.check("cache.segments", (1..=MAX_SEGMENTS).contains(&cache.segments), || {
            format!("{} is not in 1..={MAX_SEGMENTS}", cache.segments)
        })?;
        self.check(
            "cache.segment_sectors",
            (1..=MAX_SEGMENT_SECTORS).contains(&cache.segment_sectors),
            || format!("{} is not in 1..={MAX_SEGMENT_SECTORS}", cache.segment_sectors),
        )?;
        self.check_overheads("cache.hit_overhead_ms", &cache.hit_overhead_ms)
    }

    fn check_overheads(&self, field: &str, overheads: &Overheads) -> Result<(), ProfileError> {
        for (name, ms) in [
            ("read_after_read", overheads.read_after_read),
            ("read_after_write", overheads.read_after_write),
            ("write_after_read", overheads.write_after_read),
            ("write_after_write", overheads.write_after_write),
        ] {
            self.check_delay(&format!("{field}.{name}"), ms)?;
        }
        Ok(())
    }

    fn validate_seek(&self) -> Result<(), ProfileError> {
        self.check("seek", !self.seek.is_empty(), || {
            "needs at least one point, unless there is an [outline]".to_owned()
        })?;
        self.check("seek[0]", self.seek[0].0 == 1, || {
            format!("the first point is for 1 cylinder, not {}", self.seek[0].0)
        })?;
        let mut longest_ms = 0.0_f64;
        for (index, &(cylinders, ms)) in self.seek.iter().enumerate() {
            let field = format!("seek[{index}]");
            self.check_delay(&field, ms)?;
            self.check(&field, ms + SEEK_SCATTER_MS >= longest_ms, || {
                format!("falls to {ms} ms after {longest_ms} ms for a shorter distance")
            })?;
            longest_ms = longest_ms.max(ms);
            self.check(&field, index == 0 || cylinders > self.seek[index - 1].0, || {
                format!("{cylinders} cylinders do not ascend")
            })?;
        }
        Ok(())
    }

    fn validate_zones(&self) -> Result<(), ProfileError> {
        self.check("zone", !self.zones.is_empty(), || "needs at least one zone".to_owned())?;
        let (mut next_cylinder, mut next_lba) = (0, 0);
        for (index, zone) in self.zones.iter().enumerate() {
            let field = |name: &str| format!("zone[{index}].{name}");
            self.check(&field("first_cylinder"), zone.first_cylinder >= next_cylinder, || {
                format!("{} overlaps the zone before: {next_cylinder} is next", zone.first_cylinder)
            })?;
            self.check(&field("first_cylinder"), zone.first_cylinder == next_cylinder, || {
                format!("{} leaves a hole: {next_cylinder} is next", zone.first_cylinder)
            })?;
            self.check(
                &field("last_cylinder"),
                (zone.first_cylinder..=MAX_CYLINDER).contains(&zone.last_cylinder),
                || format!("{} is not in {}..={MAX_CYLINDER}", zone.last_cylinder, next_cylinder),
            )?;
            let first_lba_fits = if index == 0 {
                zone.first_lba == 0
            } else {
                zone.first_lba > next_lba && zone.first_lba < self.capacity_sectors
            };
            self.check(&field("first_lba"), first_lba_fits, || {
                format!("{} does not ascend from 0 to the capacity", zone.first_lba)
            })?;
            self.validate_zone(index, zone)?;
            next_cylinder = zone.last_cylinder + 1;
            next_lba = zone.first_lba;
        }
        let bands = u64::from(next_cylinder / self.band_cylinders);
        let passes = (bands + self.zones.len() as u64) * u64::from(self.heads);
        self.check("band_cylinders", passes <= MAX_PASSES, || {
            format!("{} makes {passes} passes, more than {MAX_PASSES}", self.band_cylinders)
        })
    }

    fn validate_zone(&self, index: usize, zone: &Zone) -> Result<(), ProfileError> {
        let field = |name: &str| format!("zone[{index}].{name}");
        self.check(
            &field("sectors_per_track"),
            (2..=MAX_SECTORS_PER_TRACK).contains(&zone.sectors_per_track),
            || format!("{} is not in 2..={MAX_SECTORS_PER_TRACK}", zone.sectors_per_track),
        )?;
        self.check(&field("first_angle_rev"), zone.first_angle_rev.is_finite(), || {
            "is not a number".to_owned()
        })?;
        let passes = 2 * self.heads as usize;
        for (name, skews) in
            [("track_skew_rev", &zone.track_skew_rev), ("turn_skew_rev", &zone.turn_skew_rev)]
        {
            self.check(&field(name), skews.len() == passes, || {
                format!("has {} entries, not one for each of {passes} passes", skews.len())
            })?;
            self.check(&field(name), skews.iter().all(|skew| (0.0..1.0).contains(skew)), || {
                "a skew is at least 0 and less than 1 revolution".to_owned()
            })?;
        }
        let tracks = zone.cylinders() * self.heads;
        let mut next_track = 0;
        for (step, &(track, revolutions)) in zone.angle_steps.iter().enumerate() {
            let fits = (next_track..tracks).contains(&track) && revolutions.abs() <= 0.5;
            self.check(&field(&format!("angle_steps[{step}]")), fits, || {
                "steps ascend within the zone, by half a revolution at most".to_owned()
            })?;
            next_track = track + 1;
        }
        let mut free_track = 0;
        let mut slipped_sectors = 0;
        for (slip, &(first, count, sectors)) in zone.slips.iter().enumerate() {
            let fits = first >= free_track
                && count >= 1
                && u64::from(first) + u64::from(count) <= u64::from(tracks)
                && (1..zone.sectors_per_track).contains(&sectors);
            self.check(&field(&format!("slips[{slip}]")), fits, || {
                "slips ascend without overlap, leave a sector, and lie within the zone".to_owned()
            })?;
            free_track = first + count;
            slipped_sectors += u64::from(count) * u64::from(sectors);
        }
        let room = u64::from(tracks) * u64::from(zone.sectors_per_track) - slipped_sectors;
        let sectors = self.zone_sectors(index);
        let (culprit, limit) = if index + 1 == self.zones.len() {
            ("capacity_sectors".to_owned(), self.capacity_sectors)
        } else {
            (format!("zone[{}].first_lba", index + 1), self.zones[index + 1].first_lba)
        };
        // Spares at a zone's end are a few tracks, never most of it.
        self.check(&culprit, (room / 2..=room).contains(&sectors), || {
            format!("{limit} gives zone[{index}] {sectors} sectors where {room} fit")
        })
    }

    fn check_delay(&self, field: &str, ms: f64) -> Result<(), ProfileError> {
        self.check(field, (0.0..MAX_DELAY_MS).contains(&ms), || {
            format!("{ms} ms is not in 0..{MAX_DELAY_MS}")
        })
    }

    pub(crate) fn check(
        &self,
        field: &str,
        holds: bool,
        reason: impl FnOnce() -> String,
    ) -> Result<(), ProfileError> {
        if holds {
            return Ok(());
        }
        Err(ProfileError::Invalid {
            profile: self.name.clone(),
            field: field.to_owned(),
            reason: reason(),
        })
    }
}
