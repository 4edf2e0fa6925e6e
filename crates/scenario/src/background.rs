//! What a write-anywhere array does beside its hosts.

use crate::quantity::Nanoseconds;
use crate::section::Section;
use crate::value;

/// A scan that reads the map files of an array over and over, at a set rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundScan {
    /// Map blocks that it looks at in a second.
    pub blocks_per_second: u32,
    /// When it begins, in nanoseconds of the run.
    pub begins_ns: u64,
    /// When it ends; `None` if it goes on to the end of the run.
    pub ends_ns: Option<u64>,
}

impl BackgroundScan {
    /// The key of the table.
    pub(crate) const KEY: &str = "background_scan";
    /// The keys in it.
    pub(crate) const KEYS: [&str; 3] = ["blocks_per_second", "begins", "ends"];
    /// Most blocks in a second. A scan has eight reads out at most; at a rate that no drive can follow, all eight may
    /// wait at one of them, whose scheduler then finds something nearer than a host's command for as long as the scan
    /// goes on.
    const MOST_PER_SECOND: u32 = 10_000;

    /// Reads `[array.write_anywhere.background_scan]`.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Self> {
        let s = &mut section;
        let [blocks_key, begins_key, ends_key] = Self::KEYS;
        let blocks = s.required(blocks_key, "100", value::positive_count);
        let begins_ns = s.optional_or(begins_key, 0, value::nanoseconds);
        let ends_are_given = s.has(ends_key);
        let ends_ns = s.optional(ends_key, value::positive_nanoseconds);
        if let Some(blocks) = blocks.filter(|blocks| *blocks > Self::MOST_PER_SECOND) {
            s.problem(
                blocks_key,
                format!("is {blocks}"),
                format!("give at most {}", Self::MOST_PER_SECOND),
            );
        }
        if let (Some(begins_ns), Some(ends_ns)) = (begins_ns, ends_ns)
            && ends_ns <= begins_ns
        {
            s.problem(
                ends_key,
                format!("the scan begins at {} and ends no later", Nanoseconds(begins_ns)),
                "give a later time, or leave the key out for a scan that never ends",
            );
        }
        section.finish();
        Some(Self {
            blocks_per_second: blocks?,
            begins_ns: begins_ns?,
            ends_ns: if ends_are_given { Some(ends_ns?) } else { None },
        })
    }
}
