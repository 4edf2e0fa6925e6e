//! The disk groups of an in-place array: each has spindles, a layout and a reserve of its own.

use std::ops::RangeInclusive;

use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::{ProtectionLevel, VraidConfig};

use crate::format::Format;
use crate::group::{MOST_GROUPS, further_sections};
use crate::quantity::Bytes;
use crate::read_ahead::{READ_AHEAD, READ_CACHE};
use crate::section::Section;
use crate::value::{self, ValueError};

/// A disk group of an in-place array. LUNs lie in one group each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskGroup {
    /// How data is distributed and protected.
    pub layout: InPlaceLayout,
    /// Its spindles.
    pub spindles: u16,
    /// Spindles in each redundancy set (RSS); they sum to `spindles`. RAID-5 and RAID-0 have one set, of all spindles.
    pub redundancy_sets: Vec<u16>,
    /// Bytes that go to one spindle before the next spindle has its turn.
    pub chunk_bytes: u64,
    /// One spindle's part of an RStore (PSEG), in bytes: whole chunks. RAID-5 uses segments only as steps of a rebuild,
    /// and RAID-0 has none.
    pub segment_bytes: u64,
    /// Capacity reserved for rebuilds. RAID-5 and RAID-0 have no reserve.
    pub protection_level: ProtectionLevel,
}

/// How an in-place array distributes data and parity over its spindles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlaceLayout {
    /// VRAID-5: stripes of four data chunks and one of parity, distributed over the spindles of a redundancy set.
    Vraid5,
    /// RAID-5: stripes over all spindles, with rotating parity.
    Raid5,
    /// RAID-0: chunks over all spindles, without parity.
    Raid0,
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

/// The spindles that a RAID-0 group can have.
const RAID0_SPINDLES: RangeInclusive<u16> = 1..=64;

impl InPlaceLayout {
    const WORDS: [(&'static str, Self); 3] =
        [("vraid-5", Self::Vraid5), ("raid-5", Self::Raid5), ("raid-0", Self::Raid0)];

    /// Returns its word in a scenario's file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vraid5 => Self::WORDS[0].0,
            Self::Raid5 => Self::WORDS[1].0,
            Self::Raid0 => Self::WORDS[2].0,
        }
    }

    /// Returns its name in messages.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Vraid5 => "VRAID-5",
            Self::Raid5 => "RAID-5",
            Self::Raid0 => "RAID-0",
        }
    }

    /// Returns whether it has redundancy sets, and a reserve in them.
    pub(crate) const fn has_sets(self) -> bool {
        matches!(self, Self::Vraid5)
    }
}

/// What a further group takes from the first one, where the text is good.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Inherited {
    layout: Option<InPlaceLayout>,
    chunk: Option<u64>,
    segment: Option<u64>,
    protection_level: Option<ProtectionLevel>,
}

/// Reads a value that the first group requires, and that a further group takes from the first.
fn read_inherited<T>(
    section: &mut Section<'_>,
    key: &'static str,
    example: &'static str,
    inherited: Option<Option<T>>,
    read: impl FnOnce(&toml::de::DeValue<'_>) -> Result<T, ValueError>,
) -> Option<T> {
    match inherited {
        Some(of_first) if !section.gives(key) => {
            section.get(key);
            of_first
        }
        _ => section.required(key, example, read),
    }
}

impl DiskGroup {
    /// Returns its usable bytes on drives of `drive_bytes`, and how that figure comes about.
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
            InPlaceLayout::Raid0 => {
                let used_bytes = drive_bytes / self.segment_bytes * self.segment_bytes;
                let how = format!("{} drives of {drive}", self.spindles);
                (u64::from(self.spindles).saturating_mul(used_bytes), how)
            }
        }
    }

    /// Reads the keys of a group. A further group takes what it does not give from the first one, `first`.
    pub(crate) fn read(
        section: &mut Section<'_>,
        format: Option<Format>,
        first: Option<Inherited>,
    ) -> (Option<Self>, Inherited) {
        let s = section;
        let layout = read_inherited(s, "layout", "\"vraid-5\"", first.map(|one| one.layout), |v| {
            value::choice(v, &InPlaceLayout::WORDS)
        });
        let spindles = s.required("spindles", "20", value::positive_spindles);
        let sets = read_sets(s, layout, spindles);
        let chunk = first.map(|one| one.chunk);
        let chunk = read_inherited(s, "chunk", "\"128 KiB\"", chunk, value::positive_bytes);
        let segment = first.map(|one| one.segment);
        let segment = read_inherited(s, "segment", "\"2 MiB\"", segment, value::positive_bytes);
        let protection_level = read_protection(s, layout, first);
        match layout {
            Some(InPlaceLayout::Vraid5) => {
                check_vraid(s, spindles, sets.as_deref(), protection_level)
            }
            Some(layout) => check_striped(s, layout, spindles, sets.as_deref(), protection_level),
            None => {}
        }
        if let (Some(chunk), Some(segment)) = (chunk, segment) {
            check_chunk(s, chunk, segment, format);
        }
        let inherited = Inherited { layout, chunk, segment, protection_level };
        let read = || {
            Some(Self {
                layout: layout?,
                spindles: spindles?,
                redundancy_sets: sets?,
                chunk_bytes: chunk?,
                segment_bytes: segment?,
                protection_level: protection_level?,
            })
        };
        (read(), inherited)
    }

    /// Reads every `[[array.in_place.group]]`; an array may have none.
    pub(crate) fn read_further(
        section: &mut Section<'_>,
        format: Option<Format>,
        first: Inherited,
    ) -> Option<Vec<Self>> {
        let sections = further_sections(section, "disk groups", "an array")?;
        let number = sections.len();
        let mut groups = Vec::new();
        for mut section in sections {
            refuse_others_keys(&mut section);
            let (group, _) = Self::read(&mut section, format, Some(first));
            section.finish();
            groups.push(group);
        }
        groups.into_iter().collect::<Option<_>>().filter(|_| number < MOST_GROUPS)
    }
}

/// Notes a problem for each key that only a parity group of a write-anywhere array has, or only the array as a whole.
fn refuse_others_keys(section: &mut Section<'_>) {
    let shared = "leave it out here, and give it in [array.in_place]";
    for (key, message, help) in [
        (
            "data_spindles",
            "parity rotates over all spindles of a disk group",
            "give `spindles`, which counts all of them",
        ),
        (
            "parity",
            "a disk group has a layout",
            "give layout = \"vraid-5\", \"raid-5\" or \"raid-0\"",
        ),
        (
            "at",
            "the disk groups of an array in place are there from the start",
            "leave it out: only a write-anywhere array takes further groups during a run",
        ),
        ("write_cache", "all disk groups share the write cache", shared),
        ("format", "all disk groups have the array's format", shared),
        ("destage_low_percent", "all disk groups share the write cache", shared),
        ("destages_per_spindle", "is that of every spindle of the array", shared),
        ("full_stripe_destage", "all disk groups destage alike", shared),
        (READ_AHEAD, "is that of every LUN of the array", shared),
        (READ_CACHE, "all disk groups have equal shares of it", shared),
    ] {
        if section.gives(key) {
            section.get(key);
            section.problem(key, message, help);
        }
    }
}

/// Reads the redundancy sets. Only VRAID-5 needs them; RAID-5 and RAID-0 have one set of all spindles unless the text
/// itself gives another, for those of a controller are VRAID-5's.
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

/// Reads the protection level. For RAID-5 and RAID-0 it is none unless the text itself gives another.
fn read_protection(
    section: &mut Section<'_>,
    layout: Option<InPlaceLayout>,
    first: Option<Inherited>,
) -> Option<ProtectionLevel> {
    let key = "protection_level";
    if layout.is_some_and(|layout| !layout.has_sets()) && !section.gives(key) {
        section.get(key);
        return Some(ProtectionLevel::None);
    }
    let of_first = first.map(|first| match first.layout {
        // It has no reserve that another layout could follow.
        Some(layout) if !layout.has_sets() => Some(ProtectionLevel::Single),
        _ => first.protection_level,
    });
    read_inherited(section, key, "\"single\"", of_first, |v| value::choice(v, &PROTECTION_WORDS))
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

/// Checks a group of RAID-5 or RAID-0.
fn check_striped(
    section: &Section<'_>,
    layout: InPlaceLayout,
    spindles: Option<u16>,
    sets: Option<&[u16]>,
    level: Option<ProtectionLevel>,
) {
    let limits = match layout {
        InPlaceLayout::Raid0 => RAID0_SPINDLES,
        _ => RAID5_SPINDLES,
    };
    let title = layout.title();
    if let Some(spindles) = spindles
        && !limits.contains(&spindles)
    {
        let amount = if spindles > *limits.end() { "many" } else { "few" };
        section.problem(
            "spindles",
            format!("{spindles} spindles are too {amount} for {title}"),
            format!("give {} to {}", limits.start(), limits.end()),
        );
    }
    if let (Some(spindles), Some(sets)) = (spindles, sets)
        && *sets != [spindles]
    {
        section.problem(
            "redundancy_sets",
            format!("{title} has one redundancy set, of all spindles"),
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
            format!("{title} has no distributed reserve"),
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
    use strewn_raid::{Raid0Group, Raid5Group};

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

    #[test]
    fn raid0_has_the_spindles_that_its_group_takes() {
        for spindles in 0..=70 {
            let group = Raid0Group::new(spindles, SECTOR_BYTES, SECTOR_BYTES);
            assert_eq!(group.is_ok(), RAID0_SPINDLES.contains(&spindles), "{spindles}");
        }
    }
}
