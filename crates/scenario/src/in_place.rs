//! The in-place layouts: VRAID-5 over redundancy sets, RAID-5 or RAID-0, behind a write-back cache.

use strewn_base::BLOCK_BYTES;

use crate::disk_group::DiskGroup;
use crate::format::{Format, LogSize};
use crate::quantity::Bytes;
use crate::read_ahead;
use crate::section::Section;
use crate::snapshots::SnapshotSchedule;
use crate::value;

/// A layout that overwrites a block where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct InPlace {
    /// The disk groups in the order of their spindles: one at least.
    pub groups: Vec<DiskGroup>,
    /// The on-disk format.
    pub format: Format,
    /// The write cache, in bytes. The disk groups share it.
    pub write_cache_bytes: u64,
    /// One half of the log, in bytes. Only [`Format::Durable`] has a log: otherwise the write cache, which is mirrored,
    /// protects what is acknowledged.
    pub log_half_bytes: u64,
    /// Space in the log that a write takes beside its data, in bytes.
    pub log_record_header_bytes: u64,
    /// How much of the write cache must be dirty before destaging starts, in percent.
    pub destage_low_percent: f64,
    /// Extents being destaged at once in a disk group, per spindle of it. Stripes count as several.
    pub destages_per_spindle: f64,
    /// Whether stripes that are dirty as a whole, or nearly so, are destaged together.
    pub full_stripe_destage: bool,
    /// The most that a sequential stream of reads is read ahead of its host, in bytes; 0 for no read-ahead.
    pub read_ahead_bytes: u64,
    /// Memory for what hosts have read, in bytes; 0 for none. The disk groups have equal shares of it.
    pub read_cache_bytes: u64,
}

impl InPlace {
    /// Returns the number of its spindles.
    #[must_use]
    pub fn spindles(&self) -> u16 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.spindles))
    }

    /// Returns the disk groups, each with the array's number of its first spindle.
    pub fn placed_groups(&self) -> impl Iterator<Item = (u16, &DiskGroup)> {
        self.groups.iter().scan(0u16, |next, group| {
            let first = *next;
            *next = next.saturating_add(group.spindles);
            Some((first, group))
        })
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
        let format = Format::read(s);
        let (first, inherited) = DiskGroup::read(s, format, None);
        let further = DiskGroup::read_further(s, format, inherited);
        let write_cache = s.required("write_cache", "\"512 MiB\"", value::positive_bytes);
        let log = read_log(s, format);
        let destage_low = s.required("destage_low_percent", "10.0", value::percent);
        SnapshotSchedule::refuse(s);
        let destages = s.required("destages_per_spindle", "4.0", value::positive_number);
        let full_stripes = s.required("full_stripe_destage", "true", value::flag);
        let (read_ahead, read_cache) = (read_ahead::read_ahead(s), read_ahead::read_cache(s));
        section.finish();
        let log = log?;
        let mut groups = vec![first?];
        groups.extend(further?);
        Some(Self {
            groups,
            format: format?,
            write_cache_bytes: write_cache?,
            log_half_bytes: log.half_bytes,
            log_record_header_bytes: log.record_header_bytes,
            destage_low_percent: destage_low?,
            destages_per_spindle: destages?,
            full_stripe_destage: full_stripes?,
            read_ahead_bytes: read_ahead?,
            read_cache_bytes: read_cache?,
        })
    }
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
