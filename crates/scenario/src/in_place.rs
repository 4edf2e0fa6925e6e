//! The in-place layout: VRAID over redundancy sets, behind a write-back cache.

use strewn_base::SECTOR_BYTES;
use strewn_raid::{ProtectionLevel, VraidConfig};

use crate::quantity::Bytes;
use crate::section::Section;
use crate::value;

/// A layout that overwrites a block where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct InPlace {
    /// How data is distributed and protected.
    pub layout: Vraid,
    /// Spindles of the disk group.
    pub spindles: u16,
    /// Spindles in each redundancy set (RSS); they sum to `spindles`.
    pub redundancy_sets: Vec<u16>,
    /// Bytes that go to one spindle before the next spindle has its turn.
    pub chunk_bytes: u64,
    /// One spindle's part of an RStore (PSEG), in bytes: whole chunks.
    pub segment_bytes: u64,
    /// Capacity reserved for rebuilds.
    pub protection_level: ProtectionLevel,
    /// The write cache, in bytes.
    pub write_cache_bytes: u64,
    /// How much of the write cache must be dirty before destaging starts, in percent.
    pub destage_low_percent: f64,
    /// Extents being destaged at once, per spindle of the group.
    pub destages_per_spindle: f64,
}

/// How a virtual disk is distributed over an RSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vraid {
    /// Stripes of four data chunks and one of parity.
    Vraid5,
}

/// The words for a protection level.
pub(crate) const PROTECTION_WORDS: [(&str, ProtectionLevel); 3] = [
    ("none", ProtectionLevel::None),
    ("single", ProtectionLevel::Single),
    ("double", ProtectionLevel::Double),
];

/// The longest segment that a VRAID layout can count, in bytes.
const LARGEST_SEGMENT_BYTES: u64 = 2 << 30;

impl Vraid {
    const WORDS: [(&'static str, Self); 1] = [("vraid-5", Self::Vraid5)];
}

impl InPlace {
    /// Returns the usable bytes of a group of drives of `drive_bytes`, and how that figure comes
    /// about.
    pub(crate) fn usable(&self, drive_bytes: u64) -> (u64, String) {
        let level = self.protection_level;
        let usable = match self.layout {
            Vraid::Vraid5 => level.vraid5_usable_bytes(self.spindles, drive_bytes),
        };
        let drive = Bytes(drive_bytes).approximately();
        let how = format!(
            "4/5 of {} drives of {drive}, {} more being reserved by protection level {level}",
            self.spindles.saturating_sub(level.reserved_drives()),
            level.reserved_drives(),
        );
        (usable, how)
    }

    /// Reads `[array.in_place]`.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Self> {
        let s = &mut section;
        let layout = s.required("layout", "\"vraid-5\"", |v| value::choice(v, &Vraid::WORDS));
        let spindles = s.required("spindles", "20", value::positive_spindles);
        let sets = s.list("redundancy_sets", "[10, 10]", value::positive_spindles);
        let sets: Option<Vec<u16>> =
            sets.map(|sets| sets.into_iter().map(toml::Spanned::into_inner).collect());
        let chunk = s.required("chunk", "\"128 KiB\"", value::positive_bytes);
        let segment = s.required("segment", "\"2 MiB\"", value::positive_bytes);
        let protection_level =
            s.required("protection_level", "\"single\"", |v| value::choice(v, &PROTECTION_WORDS));
        let write_cache = s.required("write_cache", "\"512 MiB\"", value::positive_bytes);
        let destage_low = s.required("destage_low_percent", "10.0", value::percent);
        let destages = s.required("destages_per_spindle", "4.0", value::positive_number);

        if let (Some(spindles), Some(sets)) = (spindles, &sets) {
            check_sets(s, spindles, sets);
        }
        if let (Some(spindles), Some(level)) = (spindles, protection_level) {
            check_protection(s, spindles, level);
        }
        if let (Some(chunk), Some(segment)) = (chunk, segment) {
            check_chunk(s, chunk, segment);
        }
        section.finish();
        Some(Self {
            layout: layout?,
            spindles: spindles?,
            redundancy_sets: sets?,
            chunk_bytes: chunk?,
            segment_bytes: segment?,
            protection_level: protection_level?,
            write_cache_bytes: write_cache?,
            destage_low_percent: destage_low?,
            destages_per_spindle: destages?,
        })
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
/// sectors.
fn check_chunk(section: &Section<'_>, chunk: u64, segment: u64) {
    if !chunk.is_power_of_two() || chunk < SECTOR_BYTES {
        section.problem(
            "chunk",
            format!("a chunk cannot be {}", Bytes(chunk)),
            format!("give a power of two of at least {}", Bytes(SECTOR_BYTES)),
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
