//! The figures of a profile that a data sheet leaves out, and the rules that give them.
//!
//! The constants are rounded from the drives named beside them, and are no more exact than a data sheet leaves a drive
//! open.

use super::{Assumption, DataSheet, DataSheetError, DataSheetFault, DataSheetProfile};
use crate::profile::{Profile, ProfileError};
use crate::profile_template::{BAND_CYLINDERS, OVERHEAD_MS, SKEW_MARGIN_REV, WRITE_SETTLE_SHARE};
use crate::profile_validation::{MAX_CAPACITY_SECTORS, MAX_SECTORS_PER_TRACK};

/// A seek to the next track, as a share of the average: 0.03 (Ultrastar DC HC310) to 0.08 (Savvio 10K.4).
const TRACK_TO_TRACK_SHARE: f64 = 0.05;
/// Shortest seek that is assumed. Published ones go down to 0.2 ms.
const LEAST_TRACK_TO_TRACK_MS: f64 = 0.2;
/// A seek over the whole stroke in average seeks: 1.9 (Cheetah 15K.7) to 2.3 (Constellation.2).
const FULL_STROKE_SEEKS: f64 = 2.0;
/// Tracks on a surface for each byte of a mean track: 0.14 (Cheetah 15K.7) to 0.34 (16 TB drives).
const TRACKS_FOR_EACH_BYTE: f64 = 0.25;
/// Most heads that are assumed: two to each of twelve discs.
const MOST_HEADS: f64 = 24.0;
/// Largest capacity that 32 bits address in sectors of 512 bytes; larger drives have sectors of 4 KiB.
const MOST_BYTES_OF_SMALL_SECTORS: f64 = 512.0 * 4_294_967_296.0;
/// A usual number.
const ZONES: u32 = 24;
const CACHE_SEGMENTS: u32 = 32;
const MIB: f64 = 1_048_576.0;

/// All figures of the profile.
pub(super) struct Figures {
    pub(super) rpm: u32,
    pub(super) heads: u32,
    pub(super) sector_bytes: u32,
    pub(super) capacity_sectors: u64,
    pub(super) band_cylinders: u32,
    pub(super) track_to_track_ms: f64,
    pub(super) seek_ms: f64,
    pub(super) full_stroke_ms: f64,
    pub(super) write_settle_ms: f64,
    pub(super) overhead_ms: f64,
    pub(super) interface_mb_per_s: Option<f64>,
    pub(super) zones: u32,
    /// Outermost and innermost track.
    pub(super) sectors_per_track: (u32, u32),
    /// Segments of the cache, and sectors of each.
    pub(super) cache: Option<(u32, u32)>,
    pub(super) assumptions: Vec<Assumption>,
}

impl DataSheet {
    /// Returns the profile of a drive with these figures.
    ///
    /// # Errors
    ///
    /// If the figures together are those of no drive that a profile can describe: a track of too many sectors, a
    /// capacity that takes too many cylinders.
    pub fn profile(&self, name: &str) -> Result<DataSheetProfile, DataSheetError> {
        let figures = self.figures()?;
        let toml = self.text(name, &figures);
        let profile = Profile::from_toml(&toml, name).map_err(|error| self.fault_of(&error))?;
        Ok(DataSheetProfile { toml, profile, assumptions: figures.assumptions })
    }

    /// What the reader of profiles refuses, at the value that it comes from.
    fn fault_of(&self, error: &ProfileError) -> DataSheetError {
        let (key, remedy) = match error {
            ProfileError::Invalid { field, .. } if field == "capacity_sectors" => {
                ("capacity", "correct the capacity or the rates, or give heads= more")
            }
            ProfileError::Invalid { field, .. } if field.ends_with("sectors_per_track") => {
                ("outer", "correct the rates, the rpm or the sector")
            }
            ProfileError::Invalid { field, .. } if field.starts_with("outline.seek_ms") => {
                ("seek", "correct it, or give track_to_track= and full_stroke=")
            }
            _ => ("rpm", "compare the figures with the sheet"),
        };
        let reason = match error {
            ProfileError::Invalid { field, reason, .. } => format!("{field} {reason}"),
            _ => error.to_string(),
        };
        DataSheetError {
            faults: vec![DataSheetFault {
                column: self.column(key),
                message: format!("{key}: the profile would be invalid: {reason}"),
                remedy: remedy.to_owned(),
            }],
        }
    }

    fn figures(&self) -> Result<Figures, DataSheetError> {
        let mut assumptions = Vec::new();
        let mut assume =
            |figure: &'static str, value: String, rule: String, key: Option<&'static str>| {
                assumptions.push(Assumption { figure, value, rule, key });
            };
        let rpm = self.rpm;
        let revolution_ms = 60_000.0 / rpm;
        let track_to_track_ms = self.track_to_track_ms.unwrap_or_else(|| {
            // Below the average also where that is as short as no drive's.
            let share = (TRACK_TO_TRACK_SHARE * self.seek_ms).max(LEAST_TRACK_TO_TRACK_MS);
            rounded(share.min(0.5 * self.seek_ms))
        });
        // A track costs a revolution and the skew to the next: what a sheet calls sustained has both.
        let skew_rev = track_to_track_ms / revolution_ms + SKEW_MARGIN_REV;
        let track_bytes = |mb_per_s: f64| mb_per_s * 1e3 * revolution_ms * (1.0 + skew_rev);
        let (outer_bytes, inner_bytes) =
            (track_bytes(self.outer_mb_per_s), track_bytes(self.inner_mb_per_s));
        let heads = self.heads.unwrap_or_else(|| {
            let mean_bytes = (outer_bytes + inner_bytes) / 2.0;
            let surface_bytes = TRACKS_FOR_EACH_BYTE * mean_bytes * mean_bytes;
            let heads = 2.0 * (self.capacity_bytes / surface_bytes / 2.0).round();
            let heads = heads.clamp(2.0, MOST_HEADS);
            let rule = "a surface has about a track for every 4 bytes of its mean track".to_owned();
            assume("heads", heads.to_string(), rule, Some("heads"));
            heads
        });
        let sector_bytes = self.sector_bytes.unwrap_or_else(|| {
            let is_small = self.capacity_bytes <= MOST_BYTES_OF_SMALL_SECTORS;
            let bytes = if is_small { 512.0 } else { 4096.0 };
            let rule = "512 bytes up to the 2.2 TB that 32 bits address, 4 KiB beyond".to_owned();
            assume("sector_bytes", bytes.to_string(), rule, Some("sector"));
            bytes
        });
        let is_fast = rpm >= 10_000.0;
        let band_cylinders = BAND_CYLINDERS[usize::from(!is_fast)];
        let rule = "64 from 10,000 rpm on, 256 below: usual numbers".to_owned();
        assume("band_cylinders", band_cylinders.to_string(), rule, None);
        let rule = "as a seek to the next track".to_owned();
        assume("head_switch_ms", track_to_track_ms.to_string(), rule, None);
        let write_settle_ms = match self.write_seek_ms {
            Some(write_ms) => rounded(write_ms - self.seek_ms),
            None => {
                let settle_ms = rounded(WRITE_SETTLE_SHARE * self.seek_ms);
                let rule = format!("{WRITE_SETTLE_SHARE} of an average seek");
                assume("write_settle_ms", settle_ms.to_string(), rule, Some("write_seek"));
                settle_ms
            }
        };
        assume(
            "zero_latency",
            "neither".to_owned(),
            "it costs little where commands are short".to_owned(),
            None,
        );
        let rule = "between the measured Cheetah 15K.5's 0 and 0.63 ms".to_owned();
        assume("overhead_ms", OVERHEAD_MS.to_string(), rule, None);
        if self.interface_mb_per_s.is_none() {
            let rule = "the interface is no limit".to_owned();
            assume("bus_mb_per_s", "none".to_owned(), rule, Some("interface"));
        }
        assume("zones", ZONES.to_string(), "a usual number".to_owned(), None);
        if self.track_to_track_ms.is_none() {
            let rule = format!(
                "{TRACK_TO_TRACK_SHARE} of an average seek, {LEAST_TRACK_TO_TRACK_MS} ms at least"
            );
            let value = track_to_track_ms.to_string();
            assume("outline.seek_ms.track_to_track", value, rule, Some("track_to_track"));
        }
        let full_stroke_ms = self.full_stroke_ms.unwrap_or_else(|| {
            let full_ms = rounded(FULL_STROKE_SEEKS * self.seek_ms);
            let rule = "twice an average seek".to_owned();
            assume("outline.seek_ms.full_stroke", full_ms.to_string(), rule, Some("full_stroke"));
            full_ms
        });
        let cache = match self.cache_bytes {
            Some(bytes) => {
                let sectors = bytes / f64::from(CACHE_SEGMENTS) / sector_bytes;
                let segment = (sectors as u32).max(1);
                let mib = f64::from(segment) * sector_bytes / MIB;
                let rule = "reads ahead to the end of a track, writes back, hits take the overhead";
                let value = format!("{CACHE_SEGMENTS} segments of {} MiB", rounded(mib));
                assume("cache", value, rule.to_owned(), None);
                Some((CACHE_SEGMENTS, segment))
            }
            None => {
                let rule = "the drive has no cache of its own".to_owned();
                assume("cache", "none".to_owned(), rule, Some("cache"));
                None
            }
        };
        let sectors = |bytes: f64| (bytes / sector_bytes).round();
        let tracks = (sectors(outer_bytes), sectors(inner_bytes));
        let blocks = (self.capacity_bytes / 4096.0).floor();
        let capacity_sectors = match sector_bytes as u32 {
            // Whole blocks of 4 KiB, which arrays use.
            512 => 8.0 * blocks,
            _ => (self.capacity_bytes / sector_bytes).floor(),
        };
        self.check(capacity_sectors, tracks)?;
        Ok(Figures {
            rpm: rpm as u32,
            heads: heads as u32,
            sector_bytes: sector_bytes as u32,
            capacity_sectors: capacity_sectors as u64,
            band_cylinders,
            track_to_track_ms,
            seek_ms: self.seek_ms,
            full_stroke_ms,
            write_settle_ms,
            overhead_ms: OVERHEAD_MS,
            interface_mb_per_s: self.interface_mb_per_s,
            zones: ZONES,
            sectors_per_track: (tracks.0 as u32, tracks.1 as u32),
            cache,
            assumptions,
        })
    }

    /// Finds all figures that are possible alone, and too large or too small for a profile together.
    fn check(&self, capacity_sectors: f64, tracks: (f64, f64)) -> Result<(), DataSheetError> {
        let mut faults = Vec::new();
        let most = f64::from(MAX_SECTORS_PER_TRACK);
        for (key, sectors) in [("outer", tracks.0), ("inner", tracks.1)] {
            if !(2.0..=most).contains(&sectors) {
                faults.push(DataSheetFault {
                    column: self.column(key),
                    message: format!(
                        "{key}: a track would have {sectors} sectors, not 2 to {most}"
                    ),
                    remedy: "correct the rate or the rpm, or give sector=4096".to_owned(),
                });
            }
        }
        if capacity_sectors > MAX_CAPACITY_SECTORS as f64 {
            faults.push(DataSheetFault {
                column: self.column("capacity"),
                message: format!(
                    "capacity: {capacity_sectors} sectors are more than the {MAX_CAPACITY_SECTORS} of a profile"
                ),
                remedy: "correct the capacity, or give sector=4096".to_owned(),
            });
        }
        if faults.is_empty() { Ok(()) } else { Err(DataSheetError { faults }) }
    }
}

/// To a tenth of a microsecond, in milliseconds: what a person reads, and as exact as any data sheet.
fn rounded(ms: f64) -> f64 {
    (ms * 1e4).round() / 1e4
}
