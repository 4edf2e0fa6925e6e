//! The measurements that describe a drive, as a TOML file.
//!
//! A [`Profile`] holds numbers and their sources. Nothing in it is derived, except the seeks and zones that a
//! [`ProfileTemplate`] stands for ([`Profile::derive`]). [`Profile::validate`] finds the mistakes that hand-written
//! profiles tend to have, and names the field of each.

use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::profile_template::{
    BAND_CYLINDERS, Derived, DriveFigures, OVERHEAD_MS, ProfileTemplate, TemplateBase,
    WRITE_SETTLE_SHARE,
};
use crate::provenance::{DEFAULT_SOURCE, ProfileFault, Provenance, Provenances, faults_of_text};
use crate::zone::Zone;
use strewn_base::nearest;

/// The profiles that ship with the crate, by name. The first one is measured throughout.
macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*]
    };
}
const SHIPPED: [(&str, &str); 13] = shipped![
    "seagate-cheetah-15k5-st3146855fc",
    "seagate-cheetah-15k4-st3146854fc",
    "seagate-cheetah-15k6-st3146356fc",
    "seagate-cheetah-15k7-st3450857ss",
    "seagate-cheetah-x15-st318451fc",
    "nearline-7200-16tb",
    "seagate-barracuda-es2-st3500320ns",
    "seagate-cheetah-10k7-st3146707fc",
    "seagate-savvio-10k3-st9300603ss",
    "seagate-savvio-10k4-st9600204ss",
    "seagate-constellation-es3-st4000nm0023",
    "wd-ultrastar-dc-hc310-hus726t6tale6l4",
    "toshiba-mg10-mg10aca20te",
];

/// A drive as measured. See the shipped TOML files for an example of every field.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Short name, by which scenarios choose the drive.
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
    /// Cylinders that a head covers before the next head takes over, in a serpentine layout. The rest of a zone is a
    /// band of its own if it is at least half a band, and otherwise widens the last one.
    pub band_cylinders: u32,
    /// Milliseconds to change to another head of the same cylinder.
    pub head_switch_ms: f64,
    /// Milliseconds that a write needs to settle after the seek, beyond what a read needs.
    pub write_settle_ms: f64,
    /// Whether a read whose sectors are all on one track starts with whichever of them comes first under the head, and
    /// wraps around, instead of waiting for the first sector.
    #[serde(default)]
    pub zero_latency_read: bool,
    /// The same for writes.
    #[serde(default)]
    pub zero_latency_write: bool,
    /// `(cylinders, ms)` in ascending cylinders; linear between points.
    #[serde(default)]
    pub seek: Vec<(u32, f64)>,
    /// Delay before the head moves.
    pub overhead_ms: Overheads,
    /// Megabytes (10⁶ bytes) per second between drive and host; unlimited if absent.
    #[serde(default)]
    pub bus_mb_per_s: Option<f64>,
    /// The drive's own cache, if it has one. A spindle uses it only if made
    /// [with its cache](crate::SimulatedSpindle::with_cache).
    #[serde(default)]
    pub cache: Option<Cache>,
    /// Where each of [its numbers](Profile::numbers) comes from: [`source`](Profile::source) has it.
    #[serde(default)]
    pub provenance: Provenances,
    /// The data-sheet figures that `seek` and `zones` are derived from, if those were not measured: the table `outline`
    /// of the file. Leave both empty, or call [`derive`](Self::derive) after every change of the template or of a
    /// number that it builds on: a profile whose seeks and zones are not those of its template is invalid.
    #[serde(default, rename = "outline")]
    pub template: Option<ProfileTemplate>,
    /// Zones from the outermost inward, which is also in LBA order.
    #[serde(default, rename = "zone")]
    pub zones: Vec<Zone>,
}

/// Milliseconds before the head moves, by the direction of the last command and of this one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overheads {
    /// A read that follows a read.
    pub read_after_read: f64,
    /// A read that follows a write.
    pub read_after_write: f64,
    /// A write that follows a read.
    pub write_after_read: f64,
    /// A write that follows a write.
    pub write_after_write: f64,
}

/// The drive's cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Segments, each of which holds one run of sectors.
    pub segments: u32,
    /// Most sectors in a segment.
    pub segment_sectors: u32,
    /// How far it reads ahead.
    pub read_ahead: ReadAhead,
    /// Whether a write completes before it is on the medium.
    pub write_back: bool,
    /// Delay of a read hit, and of a write that the cache accepts.
    pub hit_overhead_ms: Overheads,
}

/// How far a drive with a cache reads ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track of the read's last sector, and one track further if the segment begins on an earlier
    /// track. A segment is a ring: sectors beyond its size replace its oldest.
    Track,
    /// Until the segment is full.
    Segment,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file could not be read.
    #[error("cannot read drive profile {path}")]
    Read {
        /// The file.
        path: String,
        /// The error of the operating system.
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
    /// A value is out of range or contradicts another.
    #[error("drive profile {profile}: {field}: {reason}")]
    Invalid {
        /// Name of the profile.
        profile: String,
        /// Path of the field, such as `zone[3].first_lba`.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More than one source is missing or wrong. A single one is [`Invalid`](Self::Invalid).
    #[error("drive profile {profile}: {}", in_a_line(faults))]
    Provenance {
        /// Name of the profile.
        profile: String,
        /// All that is wrong with its sources.
        faults: Vec<ProfileFault>,
    },
}

fn in_a_line(faults: &[ProfileFault]) -> String {
    let faults: Vec<String> = faults.iter().map(ProfileFault::to_string).collect();
    faults.join("; ")
}

impl ProfileError {
    /// The error for these faults of a profile's sources, if there are any.
    pub(crate) fn of_faults(profile: &str, mut faults: Vec<ProfileFault>) -> Option<Self> {
        let profile = profile.to_owned();
        match faults.len() {
            0 | 1 => faults.pop().map(|ProfileFault { field, reason }| Self::Invalid {
                profile,
                field,
                reason,
            }),
            _ => Some(Self::Provenance { profile, faults }),
        }
    }
}

impl Profile {
    /// Names of the profiles that ship with the crate.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The text of the shipped profile of this name, as it ships: comments, order and all.
    pub fn shipped_text(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
    }

    /// The shipped profile whose name is nearest to `word`, if that is near enough to be a slip, or else the first
    /// whose name contains it.
    ///
    /// ```
    /// use strewn_spindle::Profile;
    ///
    /// assert_eq!(Profile::nearest_shipped("nearline-7200-16bt"), Some("nearline-7200-16tb"));
    /// assert_eq!(Profile::nearest_shipped("15K6"), Some("seagate-cheetah-15k6-st3146356fc"));
    /// assert_eq!(Profile::nearest_shipped("floppy"), None);
    /// ```
    pub fn nearest_shipped(word: &str) -> Option<&'static str> {
        let word = word.to_lowercase();
        let names = || SHIPPED.iter().map(|(name, _)| *name);
        let part = || names().find(|name| word.len() >= 3 && name.contains(&word));
        nearest(&word, names()).or_else(part)
    }

    /// The shipped profile of this name, if there is one. Shipped profiles are valid.
    pub fn shipped(name: &str) -> Option<Self> {
        // A sweep asks for the same few thousands of times.
        static PARSED: [OnceLock<Option<Profile>>; SHIPPED.len()] =
            [const { OnceLock::new() }; SHIPPED.len()];
        let index = SHIPPED.iter().position(|(shipped, _)| *shipped == name)?;
        let parse = || Self::from_toml(SHIPPED[index].1, name).ok();
        PARSED[index].get_or_init(parse).clone()
    }

    /// Reads and validates the profile in a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read or parsed, or a value in it is invalid.
    pub fn from_path(path: &Path) -> Result<Self, ProfileError> {
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ProfileError::Read { path: origin.clone(), source })?;
        Self::from_toml(&text, &origin)
    }

    /// Parses and validates a profile; `origin` names the text in errors. A profile has either the list `seek` and the
    /// tables `zone`, or the table `outline`, from which both are derived.
    ///
    /// # Errors
    ///
    /// The text cannot be parsed, or a value in it is invalid.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        let mut profile: Self = toml::from_str(text).map_err(|source| {
            let named = |(name, faults): (String, _)| ProfileError::of_faults(&name, faults);
            let unreadable =
                || ProfileError::Parse { origin: origin.to_owned(), source: Box::new(source) };
            faults_of_text(text, origin).and_then(named).unwrap_or_else(unreadable)
        })?;
        if profile.template.is_some() {
            let alone = profile.seek.is_empty() && profile.zones.is_empty();
            profile.check("outline", alone, || {
                "stands in place of seek and zone: give either the outline or those".to_owned()
            })?;
            profile.derive()?;
        }
        profile.validate()?;
        Ok(profile)
    }

    /// Creates the profile of a drive that is known only by figures of its data sheet. `source` is where these are
    /// from.
    ///
    /// The rest follows from the rules of [`data_sheet`](crate::data_sheet): a head switch takes as long as a seek to
    /// the next track, a write settles for 0.12 of an average seek, the overhead is 0.15 ms, and a band has 64
    /// cylinders from 10,000 rpm on, below that 256. There is no cache and no limit of the bus. Change what you know
    /// better, then call [`derive`](Self::derive).
    ///
    /// ```
    /// use strewn_spindle::{Drive, DriveFigures, Profile, ProfileTemplate, Provenance, SeekFigures};
    ///
    /// let figures =
    ///     DriveFigures { rpm: 10_000, heads: 4, sector_bytes: 512, capacity_sectors: 1_172_123_568 };
    /// let template = ProfileTemplate {
    ///     zones: 24,
    ///     sectors_per_track: (2_400, 1_450),
    ///     seek_ms: SeekFigures { track_to_track: 0.2, average: 3.7, full_stroke: 7.4 },
    /// };
    /// let source = Provenance::Published("its manual, section 2".to_owned());
    /// let profile = Profile::from_template("mine", figures, template, source)?;
    /// assert_eq!(Drive::new(&profile)?.capacity_sectors(), 1_172_123_568);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`] if a figure is out of range.
    pub fn from_template(
        name: &str,
        figures: DriveFigures,
        template: ProfileTemplate,
        source: Provenance,
    ) -> Result<Self, ProfileError> {
        let DriveFigures { rpm, heads, sector_bytes, capacity_sectors } = figures;
        let assumed = |rule: &str| Provenance::Assumed(rule.to_owned());
        let provenance = [
            ("head_switch_ms", assumed("as long as a seek to the next track")),
            ("write_settle_ms", assumed("a share of an average seek")),
            ("overhead_ms", assumed("by order of magnitude")),
            ("band_cylinders", assumed("by the class of the drive")),
            ("zero_latency", assumed("neither")),
        ];
        let credit = source.source().to_owned();
        let provenance = provenance.into_iter().chain([(DEFAULT_SOURCE, source)]);
        let mut profile = Self {
            name: name.to_owned(),
            credit,
            rpm,
            heads,
            sector_bytes,
            capacity_sectors,
            band_cylinders: BAND_CYLINDERS[usize::from(rpm < 10_000)],
            head_switch_ms: template.seek_ms.track_to_track,
            write_settle_ms: WRITE_SETTLE_SHARE * template.seek_ms.average,
            zero_latency_read: false,
            zero_latency_write: false,
            seek: Vec::new(),
            overhead_ms: Overheads {
                read_after_read: OVERHEAD_MS,
                read_after_write: OVERHEAD_MS,
                write_after_read: OVERHEAD_MS,
                write_after_write: OVERHEAD_MS,
            },
            bus_mb_per_s: None,
            cache: None,
            provenance: provenance.map(|(field, source)| (field.to_owned(), source)).collect(),
            template: Some(template),
            zones: Vec::new(),
        };
        profile.derive()?;
        profile.validate()?;
        Ok(profile)
    }

    /// Derives `seek` and `zones` from the template, in place of what they hold. Without a template it does nothing.
    ///
    /// ```
    /// use strewn_spindle::{Drive, Profile};
    ///
    /// let mut profile = Profile::shipped("nearline-7200-16tb").ok_or("no such drive")?;
    /// let template = profile.template.as_mut().ok_or("measured")?;
    /// template.seek_ms.full_stroke = 30.0;
    /// assert!(Drive::new(&profile).is_err(), "the seeks are those of the old template");
    /// profile.derive()?;
    /// assert_eq!(profile.seek.last().map(|(_, ms)| *ms), Some(30.0));
    /// Drive::new(&profile)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`] if a figure of the template, or a number that it builds on, is out of range.
    pub fn derive(&mut self) -> Result<(), ProfileError> {
        if let Some(derived) = self.derived()? {
            (self.seek, self.zones) = (derived.seek, derived.zones);
        }
        Ok(())
    }

    /// The seeks and zones that the template stands for, if there is one.
    pub(crate) fn derived(&self) -> Result<Option<Derived>, ProfileError> {
        let Some(template) = &self.template else { return Ok(None) };
        self.check_scalars()?;
        let base = TemplateBase {
            rpm: self.rpm,
            heads: self.heads,
            capacity_sectors: self.capacity_sectors,
            head_switch_ms: self.head_switch_ms,
        };
        let derived = template.derive(&base);
        derived.map(Some).map_err(|fault| self.invalid(fault.field, fault.reason))
    }

    /// The same drive as hosts address it that know sectors of 512 bytes only, whatever its own are: each of 4 KiB is
    /// eight of them, on the same place of the same track (512-byte emulation). A write of a part of a sector costs no
    /// read here.
    ///
    /// ```
    /// use strewn_spindle::{Drive, Profile};
    ///
    /// let profile = Profile::shipped("toshiba-mg10-mg10aca20te").ok_or("no such drive")?;
    /// let (own, emulated) = (Drive::new(&profile)?, Drive::new(&profile.with_512_byte_sectors())?);
    /// assert_eq!((own.sector_bytes(), emulated.sector_bytes()), (4096, 512));
    /// assert_eq!(own.capacity_sectors() * 8, emulated.capacity_sectors());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_512_byte_sectors(&self) -> Self {
        let by = self.sector_bytes / 512;
        let mut cut = self.clone();
        if by <= 1 {
            return cut;
        }
        cut.sector_bytes = 512;
        cut.capacity_sectors *= u64::from(by);
        // Its seeks and zones are there, and stay what they are.
        if cut.template.take().is_some() {
            let source = format!("from the profile {}, in sectors of 512 bytes", self.name);
            cut.provenance =
                [(DEFAULT_SOURCE.to_owned(), Provenance::Derived(source))].into_iter().collect();
        }
        for zone in &mut cut.zones {
            zone.first_lba *= u64::from(by);
            zone.sectors_per_track *= by;
            zone.slips.iter_mut().for_each(|(_, _, sectors)| *sectors *= by);
        }
        if let Some(cache) = &mut cut.cache {
            cache.segment_sectors *= by;
        }
        cut
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
}
