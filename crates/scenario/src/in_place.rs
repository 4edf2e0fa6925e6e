//! The in-place layouts: VRAID-5 over redundancy sets, or RAID-5, behind a write-back cache.

use std::ops::RangeInclusive;

use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::{ProtectionLevel, VraidConfig};

use crate::format::{Format, LogSize};
use crate::quantity::Bytes;
use crate::section::Section;
use crate::snapshots::SnapshotSchedule;
use crate::value;

/// A layout that overwrites a block where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct InPlace {
    /// How data is distributed and protected.
    pub layout: InPlaceLayout,
    /// The on-disk format.
    pub format: Format,
    /// Spindles of the disk group.
    pub spindles: u16,
    /// Spindles in each redundancy set (RSS); they sum to `spindles`. RAID-5 has one set, of all spindles.
    pub redundancy_sets: Vec<u16>,
    /// Bytes that go to one spindle before the next spindle has its turn.
    pub chunk_bytes: u64,
    /// One spindle's part of an RStore (PSEG), in bytes: whole chunks. RAID-5 uses segments only as steps of a rebuild.
    pub segment_bytes: u64,
    /// Capacity reserved for rebuilds. RAID-5 has no reserve.
    pub protection_level: ProtectionLevel,
    /// The write cache, in bytes.
    pub write_cache_bytes: u64,
    /// One half of the log, in bytes. Only [`Format::Durable`] has a log: otherwise the write cache, which is mirrored,
    /// protects what is acknowledged.
    pub log_half_bytes: u64,
    /// Space in the log that a write takes beside its data, in bytes.
    pub log_record_header_bytes: u64,
    /// How much of the write cache must be dirty before destaging starts, in percent.
    pub destage_low_percent: f64,
    /// Extents being destaged at once, per spindle of the group.
    pub destages_per_spindle: f64,
}

/// How an in-place array distributes data and parity over its spindles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlaceLayout {
    /// VRAID-5: stripes of four data chunks and one of parity, distributed over the spindles of a redundancy set.
    Vraid5,
    /// RAID-5: stripes over all spindles, with rotating parity.
    Raid5,
}

/// The words for a protection level.
pub(crate) const PROTECTION_WORDS: [(&str, ProtectionLevel); 3] = [
    ("none", ProtectionLevel::None),
    ("single", ProtectionLevel::Single),
    ("double", ProtectionLevel::Double),
];

/// The longest segment that a VRAID layout can count, in bytes. RAID-5 has the same limit, so that the two can be
/// compared at every size.
const LARGEST_SEGMENT_BYTES: u64 = 2 << 30;

/// The spindles that a RAID-5 group can have.
const RAID5_SPINDLES: RangeInclusive<u16> = 3..=64;

impl InPlaceLayout {
    const WORDS: [(&'static str, Self); 2] = [("vraid-5", Self::Vraid5), ("raid-5", Self::Raid5)];

    /// Returns its word in a scenario's file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vraid5 => Self::WORDS[0].0,
            Self::Raid5 => Self::WORDS[1].0,
        }
    }
}

impl InPlace {
    /// Returns the usable bytes of a group of drives of `drive_bytes`, and how that figure comes
    /// about.
    pub(crate) fn usable(&self, drive_bytes: u64) -> (u64, String) {
        let drive = Bytes(drive_bytes).approximately();
        match self.layout {
            InPlaceLayout::Vraid5 => {
                let level = self.protection_level;
                let how = format!(
                    "4/5 of {} drives of {drive}, {} more being reserved by protection level {level}",
                    self.spindles.saturating_sub(level.reserved_drives()),
                    level.reserved_drives(),
                );
                (level.vraid5_usable_bytes(self.spindles, drive_bytes), how)
            }
            InPlaceLayout::Raid5 => {
                let data = self.spindles.saturating_sub(1);
                let used_bytes = drive_bytes / self.segment_bytes * self.segment_bytes;
                let how =
                    format!("{data}/{} of {} drives of {drive}", self.spindles, self.spindles);
                (u64::from(data).saturating_mul(used_bytes), how)
            }
        }
    }

    /// Returns why a LUN of `lun_bytes` cannot be stored in the array's format, with a remedy; `None` if it can.
    pub(crate) fn lun_format_problem(&self, lun_bytes: u64) -> Option<(String, String)> {
        if !self.format.is_durable() || lun_bytes.is_multiple_of(BLOCK_BYTES) {
            return None;
        }
        // Whole MiB are easy to read; a smaller LUN has whole blocks, one at least.
        let mib = lun_bytes >> 20 << 20;
        let whole = if mib > 0 { mib } else { lun_bytes.next_multiple_of(BLOCK_BYTES) };
        let block = Bytes(BLOCK_BYTES);
        Some((
            format!(
                "a LUN of {} is not whole blocks of {block}, which the durable format stores",
                Bytes(lun_bytes)
            ),
            format!("give a multiple of {block}, such as \"{}\"", Bytes(whole)),
        ))
    }

    /// Reads `[array.in_place]`.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Self> {
        let s = &mut section;
        let layout =
            s.required("layout", "\"vraid-5\"", |v| value::choice(v, &InPlaceLayout::WORDS));
        let format = Format::read(s);
        let spindles = s.required("spindles", "20", value::positive_spindles);
        let sets = read_sets(s, layout, spindles);
        let chunk = s.required("chunk", "\"128 KiB\"", value::positive_bytes);
        let segment = s.required("segment", "\"2 MiB\"", value::positive_bytes);
        let protection_level = read_protection(s, layout);
        let write_cache = s.required("write_cache", "\"512 MiB\"", value::positive_bytes);
        let log = read_log(s, format);
        let destage_low = s.required("destage_low_percent", "10.0", value::percent);
        SnapshotSchedule::refuse(s);
        let destages = s.required("destages_per_spindle", "4.0", value::positive_number);

        match layout {
            Some(InPlaceLayout::Vraid5) => {
                check_vraid(s, spindles, sets.as_deref(), protection_level)
            }
            Some(InPlaceLayout::Raid5) => {
                check_raid5(s, spindles, sets.as_deref(), protection_level)
            }
            None => {}
        }
        if let (Some(chunk), Some(segment)) = (chunk, segment) {
            check_chunk(s, chunk, segment, format);
        }
        section.finish();
        let log = log?;
        Some(Self {
            layout: layout?,
            format: format?,
            spindles: spindles?,
            redundancy_sets: sets?,
            chunk_bytes: chunk?,
            segment_bytes: segment?,
            protection_level: protection_level?,
            write_cache_bytes: write_cache?,
            log_half_bytes: log.half_bytes,
            log_record_header_bytes: log.record_header_bytes,
            destage_low_percent: destage_low?,
            destages_per_spindle: destages?,
        })
    }
}

/// Reads the redundancy sets. Only VRAID-5 needs them; RAID-5 has one set of all spindles unless the text itself gives
/// another, for those of a controller are VRAID-5's.
fn read_sets(
    section: &mut Section<'_>,
    layout: Option<InPlaceLayout>,
    spindles: Option<u16>,
) -> Option<Vec<u16>> {
    let key = "redundancy_sets";
    if layout != Some(InPlaceLayout::Vraid5) && !section.gives(key) {
        section.get(key);
        return spindles.map(|spindles| vec![spindles]);
    }
    let sets = section.list(key, "[10, 10]", value::positive_spindles)?;
    Some(sets.into_iter().map(toml::Spanned::into_inner).collect())
}

/// Reads the protection level. For RAID-5 it is none unless the text itself gives another.
fn read_protection(
    section: &mut Section<'_>,
    layout: Option<InPlaceLayout>,
) -> Option<ProtectionLevel> {
    let key = "protection_level";
    if layout == Some(InPlaceLayout::Raid5) && !section.gives(key) {
        section.get(key);
        return Some(ProtectionLevel::None);
    }
    section.required(key, "\"single\"", |v| value::choice(v, &PROTECTION_WORDS))
}

/// Reads the log. A text must not give one to an array without a log.
fn read_log(section: &mut Section<'_>, format: Option<Format>) -> Option<LogSize> {
    let given = LogSize::KEYS.into_iter().filter(|key| section.gives(key));
    let given: Vec<&str> = given.collect();
    if format != Some(Format::Modelled) || given.is_empty() {
        return LogSize::read(section);
    }
    for key in LogSize::KEYS {
        section.get(key);
    }
    for key in given {
        section.problem(
            key,
            "the modelled format has no log: the write cache is mirrored, and protects what is acknowledged",
            "leave it out, or give format = \"durable\"",
        );
    }
    None
}

fn check_vraid(
    section: &Section<'_>,
    spindles: Option<u16>,
    sets: Option<&[u16]>,
    level: Option<ProtectionLevel>,
) {
    let Some(spindles) = spindles else { return };
    if let Some(sets) = sets {
        check_sets(section, spindles, sets);
    }
    if let Some(level) = level {
        check_protection(section, spindles, level);
    }
}

fn check_raid5(
    section: &Section<'_>,
    spindles: Option<u16>,
    sets: Option<&[u16]>,
    level: Option<ProtectionLevel>,
) {
    if let Some(spindles) = spindles
        && !RAID5_SPINDLES.contains(&spindles)
    {
        let amount = if spindles > *RAID5_SPINDLES.end() { "many" } else { "few" };
        section.problem(
            "spindles",
            format!("{spindles} spindles are too {amount} for RAID-5"),
            format!("give {} to {}", RAID5_SPINDLES.start(), RAID5_SPINDLES.end()),
        );
    }
    if let (Some(spindles), Some(sets)) = (spindles, sets)
        && *sets != [spindles]
    {
        section.problem(
            "redundancy_sets",
            "RAID-5 has one redundancy set, of all spindles",
            format!(
                "leave it out, or give [{spindles}]; vraid-5 divides spindles into several sets"
            ),
        );
    }
    if let Some(level) = level
        && level != ProtectionLevel::None
    {
        section.problem(
            "protection_level",
            "RAID-5 has no distributed reserve",
            "leave it out, or give \"none\"; vraid-5 has a reserve",
        );
    }
}

fn check_sets(section: &Section<'_>, spindles: u16, sets: &[u16]) {
    let sum: u64 = sets.iter().copied().map(u64::from).sum();
    if sum != u64::from(spindles) {
        section.problem(
            "redundancy_sets",
            format!("the sets have {sum} spindles, the group {spindles}"),
            format!("every spindle is in one set: make them sum to {spindles}"),
        );
    }
    let limits = VraidConfig::LEAST_SET..=VraidConfig::MOST_SET;
    for size in sets.iter().filter(|size| !limits.contains(size)) {
        let amount = if size > limits.end() { "many" } else { "few" };
        section.problem(
            "redundancy_sets",
            format!("a set of {size} spindles is too {amount}"),
            format!("a set has {} to {} spindles", limits.start(), limits.end()),
        );
    }
}

fn check_protection(section: &Section<'_>, spindles: u16, level: ProtectionLevel) {
    let reserved = level.reserved_drives();
    if reserved >= spindles {
        section.problem(
            "protection_level",
            format!("reserves {reserved} drives of {spindles}"),
            "take a lower level, or more spindles",
        );
    }
}

/// Checks that both are powers of two, so that a segment is whole chunks and a chunk is whole
/// sectors, or whole blocks in the durable format.
fn check_chunk(section: &Section<'_>, chunk: u64, segment: u64, format: Option<Format>) {
    if !chunk.is_power_of_two() || chunk < SECTOR_BYTES {
        section.problem(
            "chunk",
            format!("a chunk cannot be {}", Bytes(chunk)),
            format!("give a power of two of at least {}", Bytes(SECTOR_BYTES)),
        );
    } else if format == Some(Format::Durable) && !chunk.is_multiple_of(BLOCK_BYTES) {
        let (chunk, block) = (Bytes(chunk), Bytes(BLOCK_BYTES));
        section.problem(
            "chunk",
            format!(
                "a chunk of {chunk} is not whole blocks of {block}, which the durable format stores"
            ),
            format!("give a power of two of at least {block}"),
        );
    } else if !segment.is_power_of_two() || !(chunk..=LARGEST_SEGMENT_BYTES).contains(&segment) {
        let (chunk, largest) = (Bytes(chunk), Bytes(LARGEST_SEGMENT_BYTES));
        section.problem(
            "segment",
            format!("a segment of chunks of {chunk} cannot be {}", Bytes(segment)),
            format!("give a power of two from {chunk}, the chunk, to {largest}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use strewn_raid::Raid5Group;

    use super::*;

    #[test]
    fn every_layout_has_its_word() {
        assert!(InPlaceLayout::WORDS.iter().all(|(word, layout)| layout.as_str() == *word));
    }

    #[test]
    fn raid5_has_the_spindles_that_its_group_takes() {
        for spindles in 0..=70 {
            let group = Raid5Group::new(spindles, SECTOR_BYTES, SECTOR_BYTES);
            assert_eq!(group.is_ok(), RAID5_SPINDLES.contains(&spindles), "{spindles}");
        }
    }
}
