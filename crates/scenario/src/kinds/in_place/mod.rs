//! The in-place layouts: VRAID-5 over redundancy sets, RAID-5 or RAID-0, behind a write-back cache.

mod built;
mod disk_group;
mod scaling;

use std::any::Any;

use strewn_array::Format;
use strewn_base::BLOCK_BYTES;
use strewn_base::SECTOR_BYTES;
use strewn_raid::ProtectionLevel;
use strewn_results::{CapacityRule, DiskGroupCapacity, LayoutKind, ParityGroup};
use strewn_sim::Simulated;

use crate::array::Array;
use crate::build::{Mapped, SetUpError};
use crate::fields::{Around, Fields, Scales, Section, Table, Text, flag, number, percent, size};
use crate::format;
use crate::kinds::{self, Kind, KindSpindles, Part, ScaledRun, SetUp, check_size};
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::read_ahead;
use crate::scenario::Scenario;
use crate::setting_value::SettingValue;
use crate::volume::Volume;

pub use disk_group::{DiskGroup, InPlaceLayout};

/// A layout that overwrites a block where it is.
#[derive(Debug, Clone, Default, PartialEq)]
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
}

impl Table for InPlace {
    fn fields(&mut self, f: &mut Fields<'_>) {
        if self.groups.is_empty() {
            self.groups.push(DiskGroup::default());
        }
        let mut further = self.groups.split_off(1);
        let first = &mut self.groups[0];
        first.layout_of_first(f);
        f.value(
            format::field(
                "The on-disk format: modelled, that of the array of its time, whose write cache is mirrored; or durable, \
                 Strewn's own, as a live array has it: whole 4 KiB blocks with checksums, and a log. The durable format \
                 takes a LUN and chunks of whole 4 KiB blocks.",
            ),
            &mut self.format,
        );
        first.fields_of_first(f);
        f.value(
            size("write_cache", "Memory for writes not yet destaged to the spindles.")
                .positive()
                .refusing(refuse_less_than_a_sector)
                .chosen("\"512 MiB\"")
                .fit(10)
                .scales(Scales::Root, "write cache of {}")
                .page(13, "Write cache"),
            &mut self.write_cache_bytes,
        );
        self.log(f);
        f.value(
            percent(
                "destage_low_percent",
                "Destaging pauses when no more than this percentage of the write cache is dirty.",
            )
            .chosen("10.0")
            .fit(11),
            &mut self.destage_low_percent,
        );
        f.refuses(
            "snapshots",
            "an array that updates in place takes no snapshots here",
            "give them to an array with [array.write_anywhere]: a snapshot of a layout in place copies blocks before they \
             are overwritten, which is not simulated",
        );
        f.value(
            number("destages_per_spindle", "Destages in flight at once, per spindle.")
                .positive()
                .chosen("8.0")
                .fit(12),
            &mut self.destages_per_spindle,
        );
        f.value(
            flag(
                "full_stripe_destage",
                "Whether a stripe that is dirty as a whole is written without reading, in one command with those that \
                 follow it on each spindle, and a stripe that is dirty for the most part is completed by reading the \
                 rest. Otherwise every dirty extent is destaged by itself.",
            )
            .chosen("true"),
            &mut self.full_stripe_destage,
        );
        f.value(
            read_ahead::read_ahead("inferred: a stripe of four chunks, as HP's MSA 2000").fit(13),
            &mut self.read_ahead_bytes,
        );
        f.value(
            read_ahead::read_cache()
                .fit(14)
                .scales(Scales::Whole, "read cache of {}")
                .page(14, "Read cache"),
            &mut self.read_cache_bytes,
        );
        DiskGroup::further(f, &self.groups[0], &mut further);
        self.groups.extend(further);
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        let format = s.is_right("format").then_some(self.format);
        let tables = std::iter::once(s).chain(s.inner("group"));
        for (group, table) in self.groups.iter().zip(tables) {
            group.check_keys(table, format);
        }
        kinds::check_count(s, self.groups.len() - 1, "disk groups", "an array");
        if self.format.is_durable() {
            format::check_log(s, self.log_half_bytes, self.log_record_header_bytes);
        }
    }
}

impl InPlace {
    /// Goes over the log, which a text must not give to an array without one.
    fn log(&mut self, f: &mut Fields<'_>) {
        let has_log = self.format.is_durable();
        let half = size(
            "log_half",
            "Size of half the log, which protects what is acknowledged. Only with the durable format.",
        );
        let half = half.positive().default("\"64 MiB\"", "that of the write-anywhere array");
        let half = half.scales(Scales::Root, "log half of {}");
        let header = size(
            "log_record_header",
            "Log space that a write takes in addition to its data. Only with the durable format.",
        );
        let header = header.default("\"4160 B\"", "a live array's record header and padding");
        let slots = [(half, &mut self.log_half_bytes), (header, &mut self.log_record_header_bytes)];
        for (field, bytes) in slots {
            if f.reads() && !has_log && f.is_right("format") && f.is_given(field.key) {
                f.refuses(
                    field.key,
                    "the modelled format has no log: the write cache is mirrored, and protects what is acknowledged",
                    "leave it out, or give format = \"durable\"",
                );
            } else {
                f.value(field.listed(has_log), bytes);
            }
        }
    }
}

impl Kind for InPlace {
    fn table(&self) -> (&'static str, &'static str) {
        ("in_place", "A layout that overwrites blocks in place.")
    }

    fn stand_in(&self) -> Option<&'static str> {
        Some("eva4400")
    }

    fn refusal(&self, part: Part) -> Option<(&'static str, &'static str)> {
        match part {
            Part::Volumes => Some((
                "an array in place has no volumes",
                "leave [[array.volume]] out: each LUN has chunks of its own",
            )),
            Part::VolumeOfLun => Some((
                "an array in place has no volumes",
                "leave the key out: each LUN has chunks of its own",
            )),
            Part::LaidOut => Some((
                "an array in place lays out nothing: each block has a fixed place",
                "leave the key out",
            )),
            Part::Pair => Some((
                "an array that updates in place is simulated behind one controller",
                "leave the table out: its write cache is mirrored in any case, and costs nothing",
            )),
            Part::ConsistencyPoints => Some((
                "an array that updates in place has no consistency points",
                "leave it out: parity_per_kib and interrupt are what such an array may have",
            )),
            Part::DiskGroups | Part::Blades | Part::RebuildSteps => None,
        }
    }

    fn spindle_words(&self) -> String {
        match self.groups.len() {
            1 => String::new(),
            several => format!(" in {several} disk groups"),
        }
    }

    fn check_room(&self, section: &Section<'_>, luns: &[Lun], _: &[Volume], drive_bytes: u64) {
        if !all_groups_exist(section, luns, self.groups.len()) {
            return;
        }
        let fits = (1..).zip(&self.groups).map(|(number, group)| {
            let here: Vec<&Lun> = luns.iter().filter(|lun| lun.group == number).collect();
            let (place, larger) = match self.groups.len() {
                1 => ("the array".to_owned(), "a larger array: it"),
                _ => (format!("disk group {number}"), "another or a larger disk group: this one"),
            };
            check_size(section, &here, group.usable(drive_bytes), &place, larger)
        });
        // Each group that is too small is a problem of its own.
        if fits.fold(true, |all, one| all & one) {
            let problem = luns.iter().find_map(|lun| self.lun_format_problem(lun.bytes));
            if let Some((message, help)) = problem {
                section.problem("lun", message, help);
            }
        }
    }

    fn warnings(&self, array: &Array, _: &dyn Fn(&Lun) -> u64) -> Vec<String> {
        let groups = (1..).take(self.groups.len());
        let idle = groups.filter(|number| !array.luns.iter().any(|lun| lun.group == *number));
        let sentence = |number| {
            format!(
                "array[{}].in_place has no LUN in disk group {number}, whose spindles are then idle: is group = {number} \
                 of an [[array.lun]] meant?",
                array.name
            )
        };
        idle.map(sentence).collect()
    }

    fn shares(&self) -> Vec<(&'static str, f64)> {
        vec![("destage_low_percent", self.destage_low_percent)]
    }

    fn without_protection_level(&self) -> Option<String> {
        let has_sets = self.groups.iter().any(|group| group.layout.has_sets());
        self.groups.first().filter(|_| !has_sets).map(|group| group.layout.title().to_owned())
    }

    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError> {
        kinds::simulate::<strewn_in_place::Loop>(set_up, |scenario, array| {
            built::array(self, scenario, array)
        })
    }

    fn memory_bytes(&self, scenario: &Scenario, array: &Array) -> u64 {
        // Dirty and in-flight bits of every sector that the file covers; states of blocks in the read cache, and
        // the uses of its buffers.
        let file_bytes = scenario.file_bytes(array);
        let reads_ahead = self.read_ahead_bytes > 0 || self.read_cache_bytes > 0;
        file_bytes / SECTOR_BYTES / 4
            + u64::from(reads_ahead) * (file_bytes / BLOCK_BYTES * 2)
            + self.read_cache_bytes / BLOCK_BYTES * 40
    }

    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped> {
        array.downcast_ref().map(|array: &strewn_array::in_place::InPlace<()>| array as _)
    }

    fn layout(&self) -> LayoutKind {
        LayoutKind::IN_PLACE
    }

    fn spindles_by_purpose(&self) -> KindSpindles {
        // Its parity, and its reserve, are on all of them.
        KindSpindles { data: Self::spindles(self).into(), parity: 0, spares: 0 }
    }

    fn groups(&self) -> Vec<ParityGroup> {
        let groups = self.placed_groups().map(|(first_spindle, group)| ParityGroup {
            first_spindle,
            data: group.spindles,
            parity: 0,
            added_at_seconds: 0.0,
            class: None,
        });
        groups.collect()
    }

    fn capacity(&self) -> CapacityRule {
        let groups = self.groups.iter().map(|group| match group.layout {
            InPlaceLayout::Vraid5 => DiskGroupCapacity::Vraid5 { spindles: group.spindles },
            InPlaceLayout::Raid5 => DiskGroupCapacity::Raid5 { spindles: group.spindles },
            InPlaceLayout::Raid0 => DiskGroupCapacity::Raid0 { spindles: group.spindles },
        });
        CapacityRule::InPlace(groups.collect())
    }

    fn protection_level(&self) -> Option<ProtectionLevel> {
        let with_sets = self.groups.iter().find(|group| group.layout == InPlaceLayout::Vraid5);
        with_sets.map(|group| group.protection_level)
    }

    fn read_ahead_bytes(&self) -> u64 {
        self.read_ahead_bytes
    }

    fn out_of_proportion(&self, run: &ScaledRun<'_>) -> Vec<String> {
        scaling::write_cache(self, run).into_iter().chain(scaling::vraid(self, run)).collect()
    }
}

/// Notes a problem for each LUN in a disk group that does not exist. Returns whether there is none.
fn all_groups_exist(section: &Section<'_>, luns: &[Lun], groups: usize) -> bool {
    let mut all = true;
    for lun in luns.iter().filter(|lun| usize::from(lun.group) > groups) {
        all = false;
        let name = lun.name.as_deref().unwrap_or_default();
        let (is, help) = match groups {
            1 => ("a single disk group".to_owned(), String::new()),
            several => (
                format!("{several} disk groups"),
                format!("give 1 to {several}, the first being [array.in_place] itself; or "),
            ),
        };
        section.problem_within(
            &format!("lun[{name}]"),
            "group",
            format!("there is no disk group {}: the array has {is}", lun.group),
            format!("{help}add [[array.in_place.group]] and its keys for each further group"),
        );
    }
    all
}

fn refuse_less_than_a_sector(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(bytes) = *value else { return None };
    (bytes < SECTOR_BYTES)
        .then(|| (format!("is {}", Bytes(bytes)), format!("give at least {}", Bytes(SECTOR_BYTES))))
}
