//! Checks that a profile's numbers describe a drive.

use crate::profile::{Cache, Overheads, Profile, ProfileError};
use crate::provenance::{DEFAULT_SOURCE, Provenance, numbers, provenance_faults};
use crate::rotation::{MAX_DELAY_MS, MAX_RPM};
use crate::zone::Zone;

/// A seek may be this much shorter than one over a smaller distance: measured points scatter, by up to 0.053 ms in the
/// Cheetah's.
const SEEK_SCATTER_MS: f64 = 0.1;

/// Largest track and widest band for which the multiplication that locates a sector is exact.
pub(crate) const MAX_SECTORS_PER_TRACK: u32 = 1 << 14;
const MAX_BAND_CYLINDERS: u32 = 1 << 11;

/// 70 TB in sectors of 512 bytes. The index of the layout, of four bytes for each 2^16 sectors, then takes 8 MiB.
pub(crate) const MAX_CAPACITY_SECTORS: u64 = 1 << 37;

/// A cylinder and a head share 32 bits, eight of them the head's. The limit on cylinders is lower, because a seek table
/// has an entry for each.
const MAX_CYLINDER: u32 = (1 << 22) - 1;
pub(crate) const MAX_HEADS: u32 = (1 << 8) - 1;

/// The layout is a list of passes, each of them a band on one head.
const MAX_PASSES: u64 = 1 << 20;

/// Sector formats: plain, with 8 or 16 bytes of check data, and 4 KiB.
pub(crate) const SECTOR_FORMATS: [u32; 4] = [512, 520, 528, 4096];

/// Limits of a cache.
const MAX_SEGMENTS: u32 = 1 << 12;
const MAX_SEGMENT_SECTORS: u32 = 1 << 20;

impl Profile {
    /// The fields that hold this profile's numbers, each of which needs a source. `zone` is the layout: cylinders,
    /// sectors per track, skews, defects; `zero_latency` is that of reads and of writes.
    pub fn numbers(&self) -> impl Iterator<Item = &'static str> {
        numbers(self.template.is_some(), self.bus_mb_per_s.is_some(), self.cache.is_some())
    }

    /// The source of one of [its numbers](Self::numbers): its own, or the one under `default`.
    pub fn source(&self, number: &str) -> Option<&Provenance> {
        self.provenance.get(number).or_else(|| self.provenance.get(DEFAULT_SOURCE))
    }

    /// Checks that the numbers describe a drive.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`], which names the first invalid field.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check_scalars()?;
        self.validate_provenance()?;
        self.validate_template()?;
        self.validate_seek()?;
        self.validate_zones()
    }

    /// Checks that each number has a source, and no other is said to have one.
    fn validate_provenance(&self) -> Result<(), ProfileError> {
        let given = self.provenance.iter().map(|(number, source)| (number.as_str(), Some(source)));
        let faults = provenance_faults(given, &self.numbers().collect::<Vec<_>>());
        ProfileError::of_faults(&self.name, faults).map_or(Ok(()), Err)
    }

    /// Checks that seeks and zones are those that the template stands for.
    fn validate_template(&self) -> Result<(), ProfileError> {
        let Some(derived) = self.derived()? else { return Ok(()) };
        for (field, holds) in
            [("seek", self.seek == derived.seek), ("zone", self.zones == derived.zones)]
        {
            self.check(field, holds, || {
                "is not what the outline gives: derive it, or remove the outline".to_owned()
            })?;
        }
        Ok(())
    }

    /// Checks everything but `seek` and `zones`.
    pub(crate) fn check_scalars(&self) -> Result<(), ProfileError> {
        self.check("rpm", (1..=MAX_RPM).contains(&self.rpm), || {
            format!("{} is not in 1..={MAX_RPM}", self.rpm)
        })?;
        self.check("heads", (1..=MAX_HEADS).contains(&self.heads), || {
            format!("{} is not in 1..={MAX_HEADS}", self.heads)
        })?;
        self.check("sector_bytes", SECTOR_FORMATS.contains(&self.sector_bytes), || {
            format!("{} is none of {SECTOR_FORMATS:?}", self.sector_bytes)
        })?;
        self.check(
            "capacity_sectors",
            (1..=MAX_CAPACITY_SECTORS).contains(&self.capacity_sectors),
            || format!("{} is not in 1..=2^37", self.capacity_sectors),
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
        if holds { Ok(()) } else { Err(self.invalid(field, reason())) }
    }

    pub(crate) fn invalid(&self, field: &str, reason: String) -> ProfileError {
        ProfileError::Invalid { profile: self.name.clone(), field: field.to_owned(), reason }
    }
}
