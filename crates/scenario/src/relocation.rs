//! Relocation in a write-anywhere array: read reallocation, reallocation scans, and the cleaning of free space.

use crate::quantity::Nanoseconds;
use crate::section::Section;
use crate::value;

/// What an array relocates, and how hard it works on it. By default it relocates nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relocation {
    /// Whether blocks that a host reads in order are relocated if they lie scattered.
    pub read_reallocation: bool,
    /// Reads in flight for relocation, of all spindles together.
    pub reads_in_flight: u32,
    /// The reallocation scan, if there is one.
    pub scan: Option<ReallocationScan>,
    /// Most blocks that the cleaning of free space moves for each consistency point, if free space is cleaned.
    pub cleaned_blocks: Option<u32>,
}

/// A scan that goes through all LUNs and relocates what lies scattered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReallocationScan {
    /// When it begins, in nanoseconds from the start of the run.
    pub begins_ns: u64,
    /// Time from one scan's beginning to the next, in nanoseconds; none if there is one scan.
    pub every_ns: Option<u64>,
    /// Most bytes that it relocates in a second.
    pub bytes_per_s: u64,
    /// Blocks that are judged and relocated together.
    pub stretch_blocks: u32,
    /// Pieces of a stretch, as a multiple of those that new blocks form, above which it is relocated.
    pub threshold: f64,
}

/// The least time from one scan to the next, in nanoseconds.
const LEAST_EVERY_NS: u64 = 1_000_000_000;

/// Fewest and most blocks of a stretch.
const STRETCH_BLOCKS: std::ops::RangeInclusive<u32> = 16..=512;

impl Relocation {
    pub(crate) const READ_KEY: &str = "read_reallocation";
    pub(crate) const IN_FLIGHT_KEY: &str = "relocation_reads_in_flight";
    pub(crate) const SCAN_KEY: &str = "reallocation_scan";
    pub(crate) const SCAN_KEYS: [&str; 5] =
        ["begins", "every", "per_second", "stretch_blocks", "threshold"];
    pub(crate) const CLEANING_KEY: &str = "cleaning";
    pub(crate) const CLEANED_KEY: &str = "blocks_per_checkpoint";

    /// Nothing is relocated.
    pub const NONE: Self =
        Self { read_reallocation: false, reads_in_flight: 8, scan: None, cleaned_blocks: None };

    /// Reads the keys of `[array.write_anywhere]`. `length_ns` is the length of the run, if it is known.
    pub(crate) fn read(s: &mut Section<'_>, length_ns: Option<u64>) -> Option<Self> {
        let read_reallocation = s.optional_or(Self::READ_KEY, false, value::flag);
        let in_flight = Self::NONE.reads_in_flight;
        let reads_in_flight = s.optional_or(Self::IN_FLIGHT_KEY, in_flight, value::positive_count);
        let has_scan = s.has(Self::SCAN_KEY);
        let scan = s.section(Self::SCAN_KEY);
        let scan = scan.and_then(|scan| ReallocationScan::read(scan, length_ns));
        let is_cleaning = s.has(Self::CLEANING_KEY);
        let cleaned_blocks = s.section(Self::CLEANING_KEY).and_then(|mut cleaning| {
            let blocks = cleaning.required(Self::CLEANED_KEY, "8192", value::positive_count);
            cleaning.finish();
            blocks
        });
        Some(Self {
            read_reallocation: read_reallocation?,
            reads_in_flight: reads_in_flight?,
            scan: if has_scan { Some(scan?) } else { None },
            cleaned_blocks: if is_cleaning { Some(cleaned_blocks?) } else { None },
        })
    }
}

impl ReallocationScan {
    /// Reads `[array.write_anywhere.reallocation_scan]`.
    fn read(mut section: Section<'_>, length_ns: Option<u64>) -> Option<Self> {
        let s = &mut section;
        let [begins_key, every_key, rate_key, stretch_key, threshold_key] = Relocation::SCAN_KEYS;
        let begins_ns = s.required(begins_key, "\"2 h\"", value::nanoseconds);
        let recurs = s.has(every_key);
        let every_ns = s.optional(every_key, value::positive_nanoseconds);
        if let Some(every_ns) = every_ns.filter(|every_ns| *every_ns < LEAST_EVERY_NS) {
            s.problem(
                every_key,
                format!("a scan every {}", Nanoseconds(every_ns)),
                format!("give at least {}", Nanoseconds(LEAST_EVERY_NS)),
            );
        }
        let bytes_per_s = s.optional_or(rate_key, 20 << 20, value::positive_bytes);
        let stretch_blocks = s.optional_or(stretch_key, 512, value::positive_count);
        let threshold = s.optional_or(threshold_key, 4.0, value::number);
        if let (Some(begins_ns), Some(length_ns)) = (begins_ns, length_ns)
            && begins_ns >= length_ns
        {
            let (begins, length) = (Nanoseconds(begins_ns), Nanoseconds(length_ns));
            s.problem(
                begins_key,
                format!("is {begins}, and the run ends at {length}"),
                format!("give less than {length}, or more segments, or leave the table out"),
            );
        }
        if let Some(stretch) = stretch_blocks
            && !STRETCH_BLOCKS.contains(&stretch)
        {
            let (least, most) = (STRETCH_BLOCKS.start(), STRETCH_BLOCKS.end());
            s.problem(
                stretch_key,
                format!("a stretch of {stretch} blocks: it takes {least} to {most}"),
                format!("{} blocks would do", stretch.clamp(*least, *most)),
            );
        }
        section.finish();
        Some(Self {
            begins_ns: begins_ns?,
            every_ns: if recurs { Some(every_ns?) } else { None },
            bytes_per_s: bytes_per_s?,
            stretch_blocks: stretch_blocks?,
            threshold: threshold?,
        })
    }
}
