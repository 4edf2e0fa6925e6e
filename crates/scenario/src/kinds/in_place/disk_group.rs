//! The disk groups of an in-place array: each has spindles, a layout and a reserve of its own.

use std::ops::RangeInclusive;

use strewn_array::Format;
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::{ProtectionLevel, VraidConfig};

use crate::fields::{
    Field, Fields, Section, Table, Text, Words, choice, list_of, size, spindles, table,
};
use crate::kinds::MOST_GROUPS;
use crate::quantity::Bytes;

/// A disk group of an in-place array. LUNs lie in one group each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InPlaceLayout {
    /// VRAID-5: stripes of four data chunks and one of parity, distributed over the spindles of a redundancy set.
    #[default]
    Vraid5,
    /// RAID-5: stripes over all spindles, with rotating parity.
    Raid5,
    /// RAID-0: chunks over all spindles, without parity.
    Raid0,
}

impl Words for ProtectionLevel {
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("single", Self::Single), ("double", Self::Double)];
}

impl Words for InPlaceLayout {
    const WORDS: &'static [(&'static str, Self)] =
        &[("vraid-5", Self::Vraid5), ("raid-5", Self::Raid5), ("raid-0", Self::Raid0)];
}

/// The longest segment that a VRAID layout can count, in bytes. RAID-5 has the same limit, so that the two can be
/// compared at every size.
const LARGEST_SEGMENT_BYTES: u64 = 2 << 30;

/// The spindles that a RAID-5 group can have.
const RAID5_SPINDLES: RangeInclusive<u16> = 3..=64;

/// The spindles that a RAID-0 group can have.
const RAID0_SPINDLES: RangeInclusive<u16> = 1..=64;

impl InPlaceLayout {
    /// Returns its word in a scenario's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.word()
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

    /// Goes over the layout of the first group, whose keys are those of `[array.in_place]`.
    pub(crate) fn layout_of_first(&mut self, f: &mut Fields<'_>) {
        f.value(
            choice::<InPlaceLayout>(
                "layout",
                "The layout: vraid-5, stripes of four data chunks and one of parity, distributed over the spindles of a \
                 redundancy set; raid-5, stripes over all spindles with rotating parity; or raid-0, chunks over all \
                 spindles without parity.",
            )
            .default("\"vraid-5\"", "published: the EVA4400's")
            .page(11, "Layout")
            .more(WITHOUT_VRAID),
            &mut self.layout,
        );
    }

    /// Goes over the other keys of the first group.
    pub(crate) fn fields_of_first(&mut self, f: &mut Fields<'_>) {
        f.value(
            spindles(
                "spindles",
                "Spindles of the first disk group: 3 to 64 with raid-5, 1 to 64 with raid-0. Required unless the \
                 controller has it.",
            )
            .required_unless("20")
            .page(12, "Spindles")
            .in_unit("spindles")
            .about(
                "All spindles of the disk group: 5 or more with vraid-5, 3 to 64 with raid-5, 1 to 64 with raid-0.",
            ),
            &mut self.spindles,
        );
        self.sets(
            f,
            "Spindles of each redundancy set; they sum to the spindles. Required with vraid-5 unless the controller has \
             it. With raid-5 and raid-0, one set of all spindles, which need not be given.",
        );
        let published = "published: field descriptions of the EVA's data layout";
        let chunk = size("chunk", "Contiguous bytes on one spindle.").positive();
        f.value(chunk.default("\"128 KiB\"", published), &mut self.chunk_bytes);
        let segment = size(
            "segment",
            "The unit in which space is allocated to the LUN. With raid-5, the unit of a rebuild.",
        );
        f.value(segment.positive().default("\"2 MiB\"", published), &mut self.segment_bytes);
        let level = choice::<ProtectionLevel>(
            "protection_level",
            "Number of failures for which space is reserved. With raid-5 and raid-0, which have no reserve, it is none, \
             also by default.",
        );
        self.protection(f, level.default("\"single\"", "published: HP's default"));
    }

    /// Goes over the redundancy sets. Only VRAID-5 needs them; RAID-5 and RAID-0 have one set of all spindles unless
    /// the text itself gives another, for those of a controller are VRAID-5's.
    fn sets(&mut self, f: &mut Fields<'_>, help: &'static str) {
        let field = list_of(spindles("redundancy_sets", help)).required_unless("[10, 10]");
        let has_sets = self.layout.has_sets() && f.is_right("layout");
        if has_sets || f.is_given(field.key) {
            f.value(field, &mut self.redundancy_sets);
        } else {
            f.passes_over(field.key);
            self.redundancy_sets = vec![self.spindles];
        }
    }

    /// Goes over the protection level. For RAID-5 and RAID-0 it is none unless the text itself gives another.
    fn protection(&mut self, f: &mut Fields<'_>, field: Field) {
        if self.layout.has_sets() || f.is_given(field.key) {
            f.value(field, &mut self.protection_level);
        } else {
            f.passes_over(field.key);
            self.protection_level = ProtectionLevel::None;
        }
    }

    /// Goes over every `[[array.in_place.group]]`. Each takes from the first group what it does not give.
    pub(crate) fn further(f: &mut Fields<'_>, first: &Self, further: &mut Vec<Self>) {
        let field = table(
            "group",
            "Further disk groups. The keys of the table itself describe the first. LUNs name theirs by number.",
        );
        let new = || Self {
            spindles: 0,
            redundancy_sets: Vec::new(),
            // RAID-5 and RAID-0 have no reserve that another layout could follow.
            protection_level: match first.layout.has_sets() {
                true => first.protection_level,
                false => ProtectionLevel::Single,
            },
            ..first.clone()
        };
        let field = field.each("A disk group besides the first.").at_most_tables(MOST_GROUPS - 1);
        f.tables_like(field, further, &new);
    }

    /// Checks the keys of a group against each other. `format` is the array's, if it is known.
    pub(crate) fn check_keys(&self, s: &Section<'_>, format: Option<Format>) {
        let spindles = s.is_right("spindles").then_some(self.spindles);
        let sets = s.is_right("redundancy_sets").then_some(self.redundancy_sets.as_slice());
        let level = s.is_right("protection_level").then_some(self.protection_level);
        match self.layout {
            _ if !s.is_right("layout") => {}
            InPlaceLayout::Vraid5 => check_vraid(s, spindles, sets, level),
            layout => check_striped(s, layout, spindles, sets, level),
        }
        if s.are_right(&["chunk", "segment"]) {
            check_chunk(s, self.chunk_bytes, self.segment_bytes, format);
        }
    }
}

/// What the page says of another layout.
const WITHOUT_VRAID: &str =
    "Without vraid-5, redundancy sets, the protection level, and what [overhead] says of it go.";

/// A group besides the first.
impl Table for DiskGroup {
    fn fields(&mut self, f: &mut Fields<'_>) {
        refuse_others_keys(f);
        f.value(
            choice::<InPlaceLayout>("layout", "The layout; that of the first group unless given.")
                .inherited(),
            &mut self.layout,
        );
        f.value(
            spindles("spindles", "Its spindles: 3 to 64 with raid-5, 1 to 64 with raid-0.")
                .required("20"),
            &mut self.spindles,
        );
        self.sets(
            f,
            "Spindles of each redundancy set; they sum to the spindles. Required with vraid-5. With raid-5 and raid-0, \
             one set of all spindles, which need not be given.",
        );
        let chunk = size(
            "chunk",
            "Contiguous bytes on one spindle; those of the first group unless given.",
        );
        f.value(chunk.positive().inherited(), &mut self.chunk_bytes);
        let segment = size(
            "segment",
            "The unit in which space is allocated to its LUNs; that of the first group unless given. With raid-5, the \
             unit of a rebuild.",
        );
        f.value(segment.positive().inherited(), &mut self.segment_bytes);
        let level = choice::<ProtectionLevel>(
            "protection_level",
            "Number of failures for which space is reserved; that of the first group unless given, and none with raid-5 \
             and raid-0.",
        );
        self.protection(f, level.inherited());
    }
}

/// Refuses each key that only a parity group of a write-anywhere array has, or only the array as a whole.
fn refuse_others_keys(f: &mut Fields<'_>) {
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
        ("read_ahead", "is that of every LUN of the array", shared),
        ("read_cache", "all disk groups have equal shares of it", shared),
    ] {
        if f.reads() && f.is_given(key) {
            f.refuses(key, message, help);
        }
    }
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
