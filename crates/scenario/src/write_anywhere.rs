//! The write-anywhere layout: parity groups, a log in NVRAM, and consistency points.

use strewn_alloc::{Chunks, PolicyName};
use strewn_base::BLOCK_BYTES;
use strewn_raid::Parity;

use crate::background::BackgroundScan;
use crate::format::{Format, LogSize};
use crate::group::{FurtherGroup, check_group, check_total};
use crate::quantity::Bytes;
use crate::read_ahead;
use crate::relocation::Relocation;
use crate::section::Section;
use crate::snapshots::SnapshotSchedule;
use crate::value;

/// A copy-on-write layout over one or more parity groups.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteAnywhere {
    /// The on-disk format.
    pub format: Format,
    /// How the first parity group is protected.
    pub parity: Parity,
    /// Spindles of the first group that hold data; parity spindles are beside them.
    pub data_spindles: u16,
    /// The other parity groups, in the order in which the aggregate gets them. [`groups`](Self::groups) has all.
    pub further_groups: Vec<FurtherGroup>,
    /// The part of a drive that holds blocks, in bytes.
    pub right_sized_bytes: u64,
    /// The file system's own reserve of the aggregate's blocks, in percent.
    pub reserve_percent: f64,
    /// Where the next blocks are written.
    pub policy: PolicyName,
    /// Other data in the aggregate, if there is any.
    pub other_data: Option<OtherData>,
    /// Stripes in an allocation area.
    pub area_stripes: u32,
    /// Stripes sent to RAID at once. An allocation area is a multiple of them.
    pub tetris_stripes: u32,
    /// Blocks that go to one spindle before the next spindle has its turn; at most a tetris.
    pub chunk_blocks: u32,
    /// Tetrises of a consistency point in flight at once.
    pub tetrises_in_flight: u32,
    /// One half of the NVRAM log, in bytes: a full half starts a consistency point.
    pub log_half_bytes: u64,
    /// Space in the log that a write takes beside its data, in bytes.
    pub log_record_header_bytes: u64,
    /// The longest time between the starts of two consistency points, in nanoseconds.
    pub checkpoint_interval_ns: u64,
    /// The buffer cache, in bytes.
    pub buffer_cache_bytes: u64,
    /// Part of the buffer cache reserved for blocks used more than once, in percent.
    pub protected_percent: f64,
    /// Part of the buffer cache that may be dirty before a consistency point starts, in percent.
    pub dirty_limit_percent: f64,
    /// Freed blocks, in percent of the volume, above which they are reclaimed.
    pub delayed_free_percent: f64,
    /// What the buffer cache holds at the start.
    pub cache_start: CacheStart,
    /// Where the chunks of large consistency points, and of the freshly laid-out file, begin.
    pub chunks: Chunks,
    /// Spare spindles, each of which replaces one that fails.
    pub spares: u16,
    /// Snapshots of the volume, if it has any.
    pub snapshots: Option<SnapshotSchedule>,
    /// Most blocks of a hole that a host read goes on through; 0 for none.
    pub read_through_blocks: u32,
    /// How long a scan takes that reclaims freed blocks region by region; `None` if they are reclaimed only above
    /// `delayed_free_percent`.
    pub reclaim_interval_ns: Option<u64>,
    /// A scan that reads map files, if there is one.
    pub background_scan: Option<BackgroundScan>,
    /// The most that a sequential stream of reads is read ahead of its host, in bytes; 0 for no read-ahead.
    pub read_ahead_bytes: u64,
    /// What it relocates.
    pub relocation: Relocation,
}

/// The key of the holes that reads go on through.
pub(crate) const READ_THROUGH: &str = "read_through_blocks";

/// Most blocks of such a hole: a command has 128, and reads one on either side.
const MOST_READ_THROUGH: u32 = 126;

/// The key of the time that a scan for freed blocks takes.
pub(crate) const RECLAIM_INTERVAL: &str = "reclaim_interval";

/// Stripes of the largest tetris; an allocation area is a multiple of it.
const MOST_TETRIS_STRIPES: u32 = 64;

/// Other data, which no host reads or writes: it is scattered over the space that the file leaves free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherData {
    /// How full the file and the other data make the aggregate, in percent of its size at the start less the reserve.
    pub full_percent: f64,
    /// Its contiguous blocks on a spindle.
    pub run_blocks: u32,
}

/// The contents of a buffer cache at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheStart {
    /// Nothing.
    Empty,
    /// All metadata of the file, and no data: the state after the file has been laid out in full.
    Metadata,
}

/// The words for where chunks begin.
pub(crate) const CHUNKS_WORDS: [(&str, Chunks); 2] =
    [("aligned", Chunks::Aligned), ("packed", Chunks::Packed)];

/// The words for the contents of a buffer cache at the start.
pub(crate) const CACHE_START_WORDS: [(&str, CacheStart); 2] =
    [("metadata", CacheStart::Metadata), ("empty", CacheStart::Empty)];

/// The words for the allocation policy.
const POLICY_WORDS: [(&str, PolicyName); 4] = {
    let mut words = [("", PolicyName::EmptiestArea); 4];
    let mut index = 0;
    while index < words.len() {
        words[index] = (PolicyName::ALL[index].as_str(), PolicyName::ALL[index]);
        index += 1;
    }
    words
};

/// The words for a group's parity.
pub(crate) const PARITY_WORDS: [(&str, Parity); 2] =
    [("raid-dp", Parity::RaidDp), ("raid-4", Parity::Raid4)];

impl WriteAnywhere {
    /// Returns the bytes usable at the start, which are the blocks of the data spindles less the reserve, and how that
    /// figure comes about, in words.
    pub(crate) fn usable(&self) -> (u64, String) {
        let data_spindles = self.data_spindles_at_start();
        let raw = u128::from(data_spindles) * u128::from(self.right_sized_bytes);
        let usable = raw as f64 * (1.0 - self.reserve_percent / 100.0);
        let right_sized = Bytes(self.right_sized_bytes);
        let how = format!(
            "{data_spindles} data spindles of {right_sized}, less the reserve of {} %",
            self.reserve_percent
        );
        (usable as u64, how)
    }

    /// Returns how full the aggregate may be, in percent of its usable bytes, with so many bytes left over.
    pub(crate) fn full_percent_beside(&self, left_bytes: f64) -> f64 {
        let data_spindles = u64::from(self.data_spindles_at_start());
        let raw = data_spindles.saturating_mul(self.right_sized_bytes) as f64;
        100.0 * (raw - left_bytes) / self.usable().0 as f64
    }

    /// Reads `[array.write_anywhere]` for drives of `drive_bytes` in a run of `length_ns`, if they are known.
    pub(crate) fn read(
        mut section: Section<'_>,
        drive_bytes: Option<u64>,
        length_ns: Option<u64>,
    ) -> Option<Self> {
        let s = &mut section;
        let format = Format::read(s);
        let parity = s.required("parity", "\"raid-dp\"", |v| value::choice(v, &PARITY_WORDS));
        let data_spindles = s.required("data_spindles", "18", value::positive_spindles);
        let further_groups = FurtherGroup::read_all(s, parity, length_ns);
        let right_sized = s.required("right_sized", "\"136000 MiB\"", value::positive_bytes);
        let reserve = s.required("reserve_percent", "10.0", value::percent);
        let policy = s.required("policy", "\"emptiest-area\"", |v| value::choice(v, &POLICY_WORDS));
        let other_data_is_given = s.has("other_data");
        let other_data = s.section("other_data").and_then(OtherData::read);
        let area_stripes = s.required("area_stripes", "4096", value::positive_count);
        let tetris_stripes = s.required("tetris_stripes", "64", value::positive_count);
        let chunk_blocks = s.required("chunk_blocks", "64", value::positive_count);
        let in_flight = s.required("tetrises_in_flight", "2", value::positive_count);
        let log = LogSize::read(s);
        let interval = s.required("checkpoint_interval", "\"10 s\"", value::positive_nanoseconds);
        let buffer_cache = s.required("buffer_cache", "\"1.3 GiB\"", value::positive_bytes);
        let protected = s.required("protected_percent", "50.0", value::percent);
        let dirty_limit = s.required("dirty_limit_percent", "30.0", value::percent);
        let delayed_free = s.required("delayed_free_percent", "1.0", value::percent);
        let cache_start =
            s.required("cache_start", "\"metadata\"", |v| value::choice(v, &CACHE_START_WORDS));
        let chunks = s.required("chunks", "\"aligned\"", |v| value::choice(v, &CHUNKS_WORDS));
        let spares = s.optional_or("spares", 0, value::spares);
        let read_ahead = read_ahead::read_ahead(s);
        let snapshots_are_given = s.has(SnapshotSchedule::KEY);
        let snapshots = s.section(SnapshotSchedule::KEY);
        let snapshots = snapshots.and_then(|one| SnapshotSchedule::read(one, length_ns));
        let relocation = Relocation::read(s, length_ns);

        let read_through = s.optional_or(READ_THROUGH, 0, value::count);
        if let Some(blocks) = read_through.filter(|blocks| *blocks > MOST_READ_THROUGH) {
            s.problem(
                READ_THROUGH,
                format!("holes of {blocks} blocks do not fit one command"),
                format!("give at most {MOST_READ_THROUGH}, or 0 to read through none"),
            );
        }
        let reclaim_interval_is_given = s.has(RECLAIM_INTERVAL);
        let reclaim_interval = s.optional(RECLAIM_INTERVAL, value::positive_nanoseconds);
        let scan_is_given = s.has(BackgroundScan::KEY);
        let scan = s.section(BackgroundScan::KEY).and_then(BackgroundScan::read);

        if let (Some(parity), Some(data_spindles)) = (parity, data_spindles) {
            check_group(s, parity, data_spindles);
        }
        if let (Some(data_spindles), Some(further_groups), Some(right_sized)) =
            (data_spindles, &further_groups, right_sized)
        {
            check_total(s, data_spindles, further_groups, right_sized);
        }
        if let (Some(right_sized), Some(drive)) = (right_sized, drive_bytes) {
            check_right_sized(s, right_sized, drive);
        }
        if let (Some(area), Some(tetris)) = (area_stripes, tetris_stripes) {
            check_tetris(s, area, tetris);
        }
        if let (Some(right_sized), Some(area)) = (right_sized, area_stripes)
            && u64::from(area) * BLOCK_BYTES > right_sized
        {
            s.problem(
                "area_stripes",
                "an allocation area is longer than a spindle",
                format!("give at most {} stripes", right_sized / BLOCK_BYTES),
            );
        }
        if let Some(buffer_cache) = buffer_cache
            && buffer_cache < BLOCK_BYTES
        {
            s.problem(
                "buffer_cache",
                "does not hold one block",
                format!("give at least {}", Bytes(BLOCK_BYTES)),
            );
        }
        if let Some(chunk) = chunk_blocks
            && !chunk.is_power_of_two()
        {
            s.problem(
                "chunk_blocks",
                format!("a chunk of {chunk} blocks is not a power of two"),
                format!("{} blocks would do", chunk.next_power_of_two() / 2),
            );
        } else if let (Some(chunk), Some(tetris)) = (chunk_blocks, tetris_stripes)
            && chunk > tetris
        {
            s.problem(
                "chunk_blocks",
                format!("a chunk of {chunk} blocks is longer than a tetris of {tetris} stripes"),
                format!("give at most {tetris} blocks, or a longer tetris"),
            );
        }
        section.finish();
        let log = log?;
        Some(Self {
            format: format?,
            parity: parity?,
            data_spindles: data_spindles?,
            further_groups: further_groups?,
            right_sized_bytes: right_sized?,
            reserve_percent: reserve?,
            policy: policy?,
            other_data: if other_data_is_given { Some(other_data?) } else { None },
            area_stripes: area_stripes?,
            tetris_stripes: tetris_stripes?,
            chunk_blocks: chunk_blocks?,
            tetrises_in_flight: in_flight?,
            log_half_bytes: log.half_bytes,
            log_record_header_bytes: log.record_header_bytes,
            checkpoint_interval_ns: interval?,
            buffer_cache_bytes: buffer_cache?,
            protected_percent: protected?,
            dirty_limit_percent: dirty_limit?,
            delayed_free_percent: delayed_free?,
            cache_start: cache_start?,
            chunks: chunks?,
            spares: spares?,
            snapshots: if snapshots_are_given { Some(snapshots?) } else { None },
            read_through_blocks: read_through?,
            reclaim_interval_ns: if reclaim_interval_is_given {
                Some(reclaim_interval?)
            } else {
                None
            },
            background_scan: if scan_is_given { Some(scan?) } else { None },
            read_ahead_bytes: read_ahead?,
            relocation: relocation?,
        })
    }
}

impl OtherData {
    /// Reads `[array.write_anywhere.other_data]`.
    fn read(mut section: Section<'_>) -> Option<Self> {
        let s = &mut section;
        let full = s.required("full_percent", "80.0", value::percent);
        let run = s.required("run_blocks", "8", value::positive_count);
        if let Some(run) = run
            && (!run.is_power_of_two() || run > MOST_TETRIS_STRIPES)
        {
            s.problem(
                "run_blocks",
                format!("runs of {run} blocks: it takes a power of two, at most 64"),
                format!("{} blocks would do", (run.next_power_of_two() / 2).clamp(1, 64)),
            );
        }
        section.finish();
        Some(Self { full_percent: full?, run_blocks: run? })
    }
}

fn check_right_sized(section: &Section<'_>, right_sized: u64, drive: u64) {
    if right_sized > drive {
        let drive = Bytes(drive >> 30 << 30);
        section.problem(
            "right_sized",
            format!("{} is more than the whole drive", Bytes(right_sized)),
            format!("the drive has {drive}: give less"),
        );
    }
}

fn check_tetris(section: &Section<'_>, area: u32, tetris: u32) {
    if !tetris.is_power_of_two() || tetris > MOST_TETRIS_STRIPES {
        section.problem(
            "tetris_stripes",
            format!("a tetris of {tetris} stripes: it takes a power of two, at most 64"),
            format!("{} stripes would do", (tetris.next_power_of_two() / 2).clamp(1, 64)),
        );
    }
    if !area.is_multiple_of(MOST_TETRIS_STRIPES) {
        section.problem(
            "area_stripes",
            format!("an allocation area of {area} stripes is not a multiple of 64"),
            format!("{} stripes would do", area.next_multiple_of(MOST_TETRIS_STRIPES)),
        );
    }
}
