//! The write-anywhere layout: parity groups, a log in NVRAM, and consistency points.

mod background;
mod built;
mod group;
mod relocation;
mod room;
mod scaling;

use std::any::Any;

use strewn_alloc::{Chunks, PolicyName};
use strewn_array::Format;
use strewn_array::write_anywhere::{BackgroundWork, CacheStart, RelocationConfig};
use strewn_base::BLOCK_BYTES;
use strewn_raid::Parity;
use strewn_results::{CapacityRule, LayoutKind, ParityGroup, seconds};
use strewn_sim::Simulated;

use crate::array::Array;
use crate::build::{Mapped, SetUpError};
use crate::fields::{
    Around, Fields, Scales, Section, Table, Text, UnlessZero, Words, choice, count, percent, size,
    spindles, table, time,
};
use crate::format;
use crate::kinds::{self, Kind, KindSpindles, MOST_GROUPS, Part, ScaledRun, SetUp, check_size};
use crate::lun::Lun;
use crate::machine::Pair;
use crate::quantity::{Bytes, Nanoseconds};
use crate::read_ahead;
use crate::scenario::Scenario;
use crate::setting_value::SettingValue;
use crate::snapshots::SnapshotSchedule;
use crate::volume::Volume;

pub use group::{FurtherGroup, PlacedGroup};
use group::{check_group, check_total};

/// A copy-on-write layout over one or more parity groups.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// What it does beside its hosts.
    pub background: BackgroundWork,
    /// The most that a sequential stream of reads is read ahead of its host, in bytes; 0 for no read-ahead.
    pub read_ahead_bytes: u64,
    /// What it relocates.
    pub relocation: RelocationConfig,
}

/// Most blocks of a gap that a read goes on through: a command has 128, and reads one on either side.
const MOST_READ_THROUGH: u64 = 126;

/// Stripes of the largest tetris; an allocation area is a multiple of it.
const MOST_TETRIS_STRIPES: u64 = 64;

/// Other data, which no host reads or writes: it is scattered over the space that the file leaves free.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OtherData {
    /// How full the file and the other data make the aggregate, in percent of its size at the start less the reserve.
    pub full_percent: f64,
    /// Its contiguous blocks on a spindle.
    pub run_blocks: u32,
}

impl Words for Chunks {
    const WORDS: &'static [(&'static str, Self)] =
        &[("aligned", Self::Aligned), ("packed", Self::Packed)];
}

impl Words for CacheStart {
    const WORDS: &'static [(&'static str, Self)] =
        &[("metadata", Self::Metadata), ("empty", Self::Empty)];
}

impl Words for PolicyName {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self::EmptiestArea); 4];
        let mut index = 0;
        while index < words.len() {
            words[index] = (Self::ALL[index].as_str(), Self::ALL[index]);
            index += 1;
        }
        words
    };
}

impl Words for Parity {
    const WORDS: &'static [(&'static str, Self)] =
        &[("raid-dp", Self::RaidDp), ("raid-4", Self::Raid4)];
}

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
}

impl Table for WriteAnywhere {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            format::field(
                "The on-disk format: modelled, that of the array of its time; or durable, \
                 Strewn's own, as a live array has it: a directory and superblocks, and \
                 parity that is never computed from what a free block held before.",
            ),
            &mut self.format,
        );
        f.value(
            choice::<Parity>("parity", "The group's parity scheme.")
                .default("\"raid-dp\"", "published: the FAS2050's")
                .page(3, "Parity"),
            &mut self.parity,
        );
        f.value(
            spindles(
                "data_spindles",
                "Spindles that hold data; parity spindles are additional. Required unless the \
                 controller has it.",
            )
            .required_unless("18")
            .page(4, "Data spindles")
            .in_unit("spindles")
            .about("Spindles that hold data; those of parity come on top."),
            &mut self.data_spindles,
        );
        f.value(
            size(
                "right_sized",
                "Usable part of each spindle. Required unless the controller has it.",
            )
            .positive()
            .required_unless("\"136000 MiB\""),
            &mut self.right_sized_bytes,
        );
        f.value(
            percent("reserve_percent", "The file system's reserve, in percent of the group.")
                .default("10.0", "published: library.netapp.com ECMP12454815")
                .page(6, "File system's reserve")
                .in_unit("%"),
            &mut self.reserve_percent,
        );
        f.value(
            choice::<PolicyName>(
                "policy",
                "The policy that chooses the next allocation area to fill.",
            )
            .default("\"emptiest-area\"", "published for later releases (ICPP 2018)")
            .page(2, "Allocation policy")
            .more(POLICIES),
            &mut self.policy,
        );
        f.value(
            count("area_stripes", "Stripes in an allocation area.")
                .multiple_of(MOST_TETRIS_STRIPES)
                .default("4096", "recalled"),
            &mut self.area_stripes,
        );
        f.value(
            count("tetris_stripes", "Stripes in a tetris, which is written as a unit.")
                .power_of_two(MOST_TETRIS_STRIPES)
                .default("64", "recalled; the unit is published (US 7,200,715)"),
            &mut self.tetris_stripes,
        );
        f.value(
            count(
                "chunk_blocks",
                "Consecutive blocks on one spindle before the next spindle's turn; at most a tetris.",
            )
            .power_of_two(MOST_TETRIS_STRIPES)
            .default("64", "published by a field engineer, 128 KiB by another"),
            &mut self.chunk_blocks,
        );
        f.value(
            count("tetrises_in_flight", "Tetrises of a consistency point in flight at once.")
                .chosen("2")
                .fit(10),
            &mut self.tetrises_in_flight,
        );
        f.value(
            size("log_half", "Size of half the NVRAM log. A full half starts a consistency point.")
                .positive()
                .default(
                    "\"64 MiB\"",
                    "inferred: 256 MB of NVRAM, of which each half is a quarter in a pair",
                )
                .scales(Scales::Root, "log half of {}"),
            &mut self.log_half_bytes,
        );
        f.value(
            size("log_record_header", "Log space that a write takes in addition to its data.")
                .default("\"160 B\"", "recalled: 100 to 200"),
            &mut self.log_record_header_bytes,
        );
        f.value(
            time(
                "checkpoint_interval",
                "Longest time between the starts of two consistency points.",
            )
            .positive()
            .default("\"10 s\"", "published: IBM N series hardware guide")
            .fit(11)
            .scales(Scales::Root, "checkpoint interval of {}")
            .page(10, "Consistency point at least every"),
            &mut self.checkpoint_interval_ns,
        );
        f.value(
            size("buffer_cache", "Memory for blocks read or written.")
                .positive()
                .default("\"1.3 GiB\"", "inferred: 2 GB less NVRAM and the system")
                .fit(12)
                .scales(Scales::Whole, "buffer cache of {}")
                .page(9, "Buffer cache"),
            &mut self.buffer_cache_bytes,
        );
        f.value(
            percent(
                "protected_percent",
                "Part of the buffer cache reserved for blocks used more than once, in percent.",
            )
            .chosen("50.0")
            .fit(13),
            &mut self.protected_percent,
        );
        f.value(
            percent(
                "dirty_limit_percent",
                "A consistency point starts when this percentage of the buffer cache is dirty.",
            )
            .chosen("30.0")
            .fit(14),
            &mut self.dirty_limit_percent,
        );
        f.value(
            percent(
                "delayed_free_percent",
                "Freed blocks that may wait to be reclaimed, in percent of the LUN's blocks.",
            )
            .default("1.0", "recalled from Edwards et al., USENIX 2008")
            .fit(15),
            &mut self.delayed_free_percent,
        );
        f.value(
            choice::<CacheStart>("cache_start", "What the buffer cache holds at the start.")
                .default("\"metadata\"", "inferred from \"after full reallocation\""),
            &mut self.cache_start,
        );
        f.value(
            choice::<Chunks>(
                "chunks",
                "Where chunks begin: aligned, a freshly laid-out file and each large consistency \
                 point begin with a whole chunk, so that chunks are in step with the blocks they \
                 hold; or packed, with the part of a chunk that the last one left.",
            )
            .default("\"aligned\"", "published: US 7,930,475"),
            &mut self.chunks,
        );
        f.value(
            spindles(
                "spares",
                "Hot spares onto which failed spindles are rebuilt; none unless given.",
            )
            .or_zero()
            .default("0", "none"),
            &mut self.spares,
        );
        f.value(
            read_ahead::read_ahead(
                "chosen: two chunks, the least that has one on its way while another is consumed",
            )
            .fit(19),
            &mut self.read_ahead_bytes,
        );
        let parity = self.parity;
        f.tables_like(
            table(
                "group",
                "Parity groups besides the first, in the order in which the aggregate gets them.",
            )
            .each("A further parity group.")
            .at_most_tables(MOST_GROUPS - 1)
            .owner("parity group {n + 1} of {}"),
            &mut self.further_groups,
            &|| FurtherGroup { parity, data_spindles: 0, at_ns: None },
        );
        f.table(
            table("other_data", "Other data that shares the aggregate and never changes."),
            &mut self.other_data,
        );
        f.table(
            SnapshotSchedule::field(
                "Snapshots of all volumes that have no schedule of their own. None without \
                 the table.",
            ),
            &mut self.snapshots,
        );
        f.value(
            count(
                "read_through_blocks",
                "Most blocks between two runs of one host read on one spindle that are read with \
                 them, to save a command, and dropped; 0 for none.",
            )
            .within(0..=MOST_READ_THROUGH)
            .refusing(refuse_gap)
            .default("0", "off: sourced as a mechanism, not in its figures")
            .unless_default(),
            &mut self.read_through_blocks,
        );
        f.value(
            time(
                "reclaim_interval",
                "How long a scan takes that reclaims freed blocks, region by region; the \
                 next follows at once. Without it, they are reclaimed only above \
                 delayed_free_percent.",
            )
            .positive()
            .scales(Scales::Whole, "interval of reclamation of {}"),
            &mut UnlessZero(&mut self.background.reclaim_interval_ns),
        );
        f.table(
            table(
                "background_scan",
                "A scan that reads the map files over and over. None without the table.",
            ),
            &mut self.background.scan,
        );
        self.relocation.fields(f);
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        if s.are_right(&["parity", "data_spindles"]) {
            check_group(s, self.parity, self.data_spindles);
        }
        if s.are_right(&["data_spindles", "group", "right_sized"]) {
            check_total(s, self.data_spindles, &self.further_groups, self.right_sized_bytes);
        }
        if s.are_right(&["right_sized", "area_stripes"])
            && u64::from(self.area_stripes) * BLOCK_BYTES > self.right_sized_bytes
        {
            s.problem(
                "area_stripes",
                "an allocation area is longer than a spindle",
                format!("give at most {} stripes", self.right_sized_bytes / BLOCK_BYTES),
            );
        }
        if s.is_right("buffer_cache") && self.buffer_cache_bytes < BLOCK_BYTES {
            s.problem(
                "buffer_cache",
                "does not hold one block",
                format!("give at least {}", Bytes(BLOCK_BYTES)),
            );
        }
        let (chunk, tetris) = (self.chunk_blocks, self.tetris_stripes);
        if s.are_right(&["chunk_blocks", "tetris_stripes"]) && chunk > tetris {
            s.problem(
                "chunk_blocks",
                format!("a chunk of {chunk} blocks is longer than a tetris of {tetris} stripes"),
                format!("give at most {tetris} blocks, or a longer tetris"),
            );
        }
        format::check_log(s, self.log_half_bytes, self.log_record_header_bytes);
        FurtherGroup::check_all(s, &self.further_groups);
    }
}

/// What the page says of the policies.
const POLICIES: &str = "emptiest-area: the one with most free blocks; sequential-sweep: the next one that is as empty as the \
                        average; first-fit: the lowest with a free block; near-neighbours: the block behind the one before it \
                        in the file, if that is free. While an aggregate is nearly empty, the first two are one.";

impl Table for OtherData {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            percent(
                "full_percent",
                "How full the aggregate becomes, file and metadata included, in percent of \
                 its usable capacity.",
            )
            .required("80.0")
            .page(5, "How full, with other data")
            .in_unit("%")
            .more(WITHOUT_OTHER_DATA),
            &mut self.full_percent,
        );
        f.value(
            count("run_blocks", "Length of its contiguous runs, in blocks.")
                .power_of_two(MOST_TETRIS_STRIPES)
                .required("8"),
            &mut self.run_blocks,
        );
    }
}

/// What the page says of an aggregate without other data.
const WITHOUT_OTHER_DATA: &str = "Left empty, there is none: the file lies alone, and writes go on into space that was never used, \
                                  which is not the low end of this. Other data is scattered at random.";

fn refuse_gap(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(blocks) = value else { return None };
    (*blocks > MOST_READ_THROUGH).then(|| {
        (
            format!("holes of {blocks} blocks do not fit one command"),
            format!("give at most {MOST_READ_THROUGH}, or 0 to read through none"),
        )
    })
}

impl Kind for WriteAnywhere {
    fn table(&self) -> (&'static str, &'static str) {
        ("write_anywhere", "A copy-on-write layout over one or more parity groups.")
    }

    fn most_fitted(&self) -> usize {
        2
    }

    fn stand_in(&self) -> Option<&'static str> {
        Some("fas2050")
    }

    fn refusal(&self, part: Part) -> Option<(&'static str, &'static str)> {
        match part {
            Part::DiskGroups => Some((
                "only an array in place has disk groups",
                "leave the key out: the LUNs of a write-anywhere array lie on all of its parity groups",
            )),
            Part::Blades => Some((
                "a blade is simulated as an array that updates in place",
                "give [array.in_place]",
            )),
            Part::Volumes
            | Part::VolumeOfLun
            | Part::LaidOut
            | Part::Pair
            | Part::RebuildSteps
            | Part::ConsistencyPoints => None,
        }
    }

    fn spindle_words(&self) -> String {
        match &self.groups()[..] {
            [only] => format!(", those from {} on for parity", only.data_spindles),
            several => format!(" in {} parity groups", several.len()),
        }
    }

    fn groups_added_ns(&self) -> Vec<u64> {
        self.further_groups.iter().filter_map(|group| group.at_ns).collect()
    }

    fn check_presence(&self, section: &Section<'_>, spindle: u16, at_ns: u64) {
        let groups = self.groups();
        let Some(position) = groups.iter().position(|group| spindle < group.end()) else { return };
        if groups[position].from_ns <= at_ns {
            return;
        }
        let from = Nanoseconds(groups[position].from_ns);
        let later = groups.iter().find(|group| group.from_ns > at_ns);
        section.problem(
            "spindle",
            format!(
                "spindle {spindle} is not there yet: parity group {} is added at {from}",
                position + 1
            ),
            format!(
                "give a time from {from} on, or a spindle below {}",
                later.map_or(0, |group| group.first_spindle)
            ),
        );
    }

    fn check_drive(&self, section: &Section<'_>, drive_bytes: u64) {
        if section.is_right("right_sized") {
            check_right_sized(section, self.right_sized_bytes, drive_bytes);
        }
    }

    fn check_room(&self, section: &Section<'_>, luns: &[Lun], volumes: &[Volume], _: u64) {
        if volumes.is_empty() {
            let all: Vec<&Lun> = luns.iter().collect();
            check_size(section, &all, self.usable(), "the array", "a larger array: it");
            return;
        }
        let mut volumes = volumes.to_vec();
        if section.has(Pair::KEY) {
            let is_named =
                |volume: &Volume| luns.iter().any(|lun| lun.volume.as_ref() == Some(&volume.name));
            volumes.retain(is_named);
        }
        Volume::check_all(section, &volumes, luns, self.usable());
    }

    fn check_laid_out(&self, root: &Section<'_>, array: &Array, of: &dyn Fn(&Lun) -> u64) {
        WriteAnywhere::check_laid_out(self, root, array, of);
    }

    fn warnings(&self, array: &Array, file_bytes_of: &dyn Fn(&Lun) -> u64) -> Vec<String> {
        self.room_warnings(array, file_bytes_of)
    }

    fn shares(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("reserve_percent", self.reserve_percent),
            ("protected_percent", self.protected_percent),
            ("dirty_limit_percent", self.dirty_limit_percent),
        ]
    }

    fn snapshots(&self) -> Option<SnapshotSchedule> {
        self.snapshots
    }

    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError> {
        kinds::simulate::<strewn_write_anywhere::Loop>(set_up, |scenario, array| {
            built::array(self, scenario, array)
        })
    }

    fn memory_bytes(&self, scenario: &Scenario, array: &Array) -> u64 {
        built::memory_bytes(self, scenario, array)
    }

    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped> {
        array
            .downcast_ref()
            .map(|array: &strewn_array::write_anywhere::WriteAnywhere<()>| array as _)
    }

    fn layout(&self) -> LayoutKind {
        LayoutKind::WRITE_ANYWHERE
    }

    fn spindles_by_purpose(&self) -> KindSpindles {
        let groups = Self::groups(self);
        KindSpindles {
            data: groups.iter().map(|group| u32::from(group.data_spindles)).sum(),
            parity: groups.iter().map(|group| u32::from(group.parity.spindles())).sum(),
            spares: self.spares.into(),
        }
    }

    fn groups(&self) -> Vec<ParityGroup> {
        let groups = Self::groups(self).into_iter();
        let groups = groups.map(|group| ParityGroup {
            first_spindle: group.first_spindle,
            data: group.data_spindles,
            parity: group.parity.spindles(),
            added_at_seconds: seconds(group.from_ns),
            class: None,
        });
        groups.collect()
    }

    fn relocates(&self) -> bool {
        self.relocation != RelocationConfig::NONE
    }

    fn capacity(&self) -> CapacityRule {
        CapacityRule::WriteAnywhere {
            right_sized_bytes: self.right_sized_bytes,
            reserve_percent: self.reserve_percent,
        }
    }

    fn read_ahead_bytes(&self) -> u64 {
        self.read_ahead_bytes
    }

    fn out_of_proportion(&self, run: &ScaledRun<'_>) -> Vec<String> {
        scaling::consistency_points(self, run).into_iter().collect()
    }
}

fn check_right_sized(section: &Section<'_>, right_sized: u64, drive: u64) {
    if right_sized > drive {
        let drive = Bytes(drive).rounded_down();
        section.problem(
            "right_sized",
            format!("{} is more than the whole drive", Bytes(right_sized)),
            format!("the drive has {drive}: give less"),
        );
    }
}
