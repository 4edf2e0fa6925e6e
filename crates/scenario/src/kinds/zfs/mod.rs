//! ZFS pools: top-level vdevs that blocks of volumes are spread over, and transaction groups.

mod built;
mod further_vdev;
mod l2arc;
mod room;
mod scaling;
mod scan;
mod shape;
mod volume_clone;

use std::any::Any;

use strewn_results::{CapacityRule, LayoutKind, ParityGroup};
use strewn_sim::Simulated;
use strewn_zfs::{
    AllocationClass, ResilverKind, ScanKind, Vdev, Version, VolumeScanConfig, Waves, ZfsArray,
};

use crate::array::Array;
use crate::build::{Mapped, SetUpError};
use crate::fields::{
    Around, Fields, Multiple, Scales, Section, Table, Text, Words, choice, cost, flag, percent,
    size, spindles, table, time, whole,
};
use crate::kinds::{self, Kind, KindSpindles, Part, ScaledRun, SetUp};
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::scenario::Scenario;
use crate::snapshots::SnapshotSchedule;
use crate::volume::Volume;
pub use l2arc::L2arc;
pub use scan::VolumeScan;
pub use shape::{Protection, VdevShape};
pub use volume_clone::VolumeClone;

pub use further_vdev::{FurtherVdev, PlacedVdev};

/// A ZFS pool with a volume for each LUN.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Zfs {
    /// The version of OpenZFS.
    pub version: Version,
    /// What each top-level vdev consists of.
    pub shape: VdevShape,
    /// Top-level vdevs.
    pub vdevs: u16,
    /// Binary logarithm of the bytes in a sector.
    pub ashift: u64,
    /// Bytes of a volume's block.
    pub volblocksize_bytes: u64,
    /// Bytes of a record, if each LUN is a file of a dataset.
    pub recordsize_bytes: Option<u64>,
    /// What is left of a block after compression, in percent.
    pub compressed_percent: f64,
    /// Memory for the ARC, in bytes.
    pub arc_bytes: u64,
    /// The L2ARC.
    pub l2arc: Option<L2arc>,
    /// Dirty data at which writes stop, in bytes.
    pub dirty_limit_bytes: u64,
    /// The longest time that a transaction group stays open, in nanoseconds.
    pub txg_interval_ns: u64,
    /// Writes of a top-level vdev under way with the allocation throttle; 0 without it.
    pub throttle_slots: u64,
    /// In which waves blocks are placed under the throttle.
    pub throttle_waves: Waves,
    /// The most that a stream of reads is read ahead, in bytes.
    pub prefetch_bytes: u64,
    /// Spares.
    pub spares: u16,
    /// How mirrors are resilvered.
    pub resilver: ResilverKind,
    /// When a write is answered.
    pub sync: SyncWrites,
    /// Whether drives use their own caches; `None` if writes are not synchronous.
    pub drive_cache: Option<bool>,
    /// Time of a thread to issue a block of a transaction group, in nanoseconds.
    pub block_issue_ns: u64,
    /// Time of a thread to complete it, in nanoseconds.
    pub block_completion_ns: u64,
    /// Time of a thread to ask for a block that is read, in nanoseconds.
    pub block_read_ns: u64,
    /// Whether volumes reserve nothing.
    pub is_sparse: bool,
    /// Whether what would be trimmed is counted.
    pub autotrim: bool,
    /// Snapshots of all volumes together.
    pub snapshots: Option<SnapshotSchedule>,
    /// What rewrites all volumes.
    pub rewrite: Option<VolumeScan>,
    /// What sends all volumes away.
    pub send: Option<VolumeScan>,
    /// Data blocks of at most so many bytes go to special vdevs; 0 for none.
    pub special_small_bytes: u64,
    /// LUNs that begin as clones of others.
    pub clones: Vec<VolumeClone>,
    /// The other top-level vdevs, in the order in which the pool gets them. [`placed_vdevs`](Self::placed_vdevs) has
    /// all.
    pub further_vdevs: Vec<FurtherVdev>,
}

/// When a write is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncWrites {
    /// From memory.
    #[default]
    Disabled,
    /// When the intent log has it.
    Always,
}

impl Words for SyncWrites {
    const WORDS: &'static [(&'static str, Self)] =
        &[("disabled", Self::Disabled), ("always", Self::Always)];
}

impl Words for Version {
    const WORDS: &'static [(&'static str, Self)] = &[("2.2", Self::V2_2), ("2.3", Self::V2_3)];
}

impl Words for ResilverKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("healing", Self::Healing), ("sequential", Self::Sequential)];
}

impl Words for Waves {
    const WORDS: &'static [(&'static str, Self)] = &[("long", Self::Long), ("short", Self::Short)];
}

/// Most drives of a pool here.
const MOST_DRIVES_IN_ALL: u32 = 1_024;

/// What is copied into the intent log (`zvol_immediate_write_sz`, `zfs_immediate_write_sz`), in bytes.
const IMMEDIATE_WRITE_BYTES: u64 = 32 << 10;

/// Most tables of clones; chosen. A scenario has as many workloads, each on a LUN of its own.
const MOST_CLONES: usize = 64;

/// Most tables of further vdevs; chosen.
const MOST_FURTHER: usize = 16;

impl Zfs {
    /// One of the first top-level vdevs, of drives with so many bytes after they are scaled down.
    #[must_use]
    pub fn vdev(&self, drive_bytes: u64, scale_down: u32) -> Vdev {
        self.shape.vdev(self.ashift as u8, drive_bytes, scale_down)
    }

    /// Bytes of a block: that of a volume, or a record of a file.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.recordsize_bytes.unwrap_or(self.volblocksize_bytes)
    }

    /// The key that has it.
    fn block_key(&self) -> &'static str {
        if self.recordsize_bytes.is_some() { "recordsize" } else { "volblocksize" }
    }

    /// What goes through the volumes beside the load.
    fn scan(&self) -> Option<VolumeScanConfig> {
        let rewrite = self.rewrite.map(|scan| scan.config(ScanKind::Rewrite));
        rewrite.or(self.send.map(|scan| scan.config(ScanKind::Send)))
    }

    /// Synchronous writes from which the intent log refers to blocks instead of copying them (`zvol_log_write` and
    /// `zfs_log_write` of 2.3); `None` for none.
    fn indirect_from_bytes(&self) -> Option<u64> {
        match self.recordsize_bytes {
            Some(_) => Some(IMMEDIATE_WRITE_BYTES),
            None => Some(self.volblocksize_bytes).filter(|bytes| *bytes > IMMEDIATE_WRITE_BYTES),
        }
        .filter(|_| self.sync == SyncWrites::Always)
    }

    /// Bytes that a volume's block takes after compression: whole sectors of 512 bytes.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        let block = self.block_bytes();
        let bytes = (block as f64 * self.compressed_percent / 100.0).ceil() as u64;
        bytes.next_multiple_of(1 << self.ashift).clamp(512, block.max(512))
    }
}

impl Table for Zfs {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            choice::<Version>("version", "The version of OpenZFS: FRAG's table differs.")
                .default("\"2.3\"", "the one that the model is held against"),
            &mut self.version,
        );
        self.shape.fields(f);
        f.value(
            spindles(
                "vdevs",
                "The first top-level vdevs, all alike; [[array.zfs.vdev]] has others.",
            )
            .chosen("1")
            .page(5, "Vdevs"),
            &mut self.vdevs,
        );
        f.value(
            whole("ashift", "Binary logarithm of the bytes in a sector: 12 for 4 KiB.")
                .within(9..=16)
                .default("12", "drives of today have sectors of 4 KiB"),
            &mut self.ashift,
        );
        f.value(
            size("volblocksize", "Bytes of a volume's block, a power of two.")
                .sized(512..=1 << 20, Multiple::Byte)
                .default("\"16 KiB\"", "OpenZFS 2.2 and later")
                .listed(self.recordsize_bytes.is_none())
                .page(6, "volblocksize"),
            &mut self.volblocksize_bytes,
        );
        f.value(
            size(
                "recordsize",
                "Bytes of a record, a power of two, in place of volblocksize: each LUN is then a file of a dataset. \
                 OpenZFS's own is 128 KiB.",
            )
            .sized(512..=1 << 20, Multiple::Byte),
            &mut self.recordsize_bytes,
        );
        f.value(
            percent(
                "compressed_percent",
                "What compression leaves of a block of data. Rounded up to whole sectors.",
            )
            .chosen("100.0"),
            &mut self.compressed_percent,
        );
        f.value(
            size("arc", "Memory for the ARC, which holds data, indirect blocks and dirty blocks.")
                .positive()
                .chosen("\"16 GiB\"")
                .scales(Scales::Whole, "ARC of {}")
                .page(7, "ARC"),
            &mut self.arc_bytes,
        );
        f.value(
            size(
                "dirty_limit",
                "Dirty data at which writes stop (zfs_dirty_data_max). A transaction group is written when a fifth of it \
                 is dirty; above 60 %, writes are delayed.",
            )
            .positive()
            .default("\"4 GiB\"", "a tenth of memory, at most 4 GiB")
            .scales(Scales::Root, "dirty limit of {}"),
            &mut self.dirty_limit_bytes,
        );
        f.value(
            time("txg_interval", "The longest time that a transaction group stays open.")
                .positive()
                .default("\"5 s\"", "zfs_txg_timeout")
                .scales(Scales::Root, "transaction groups of {}"),
            &mut self.txg_interval_ns,
        );
        f.value(
            whole(
                "throttle_slots",
                "Writes of a top-level vdev that the allocation throttle lets be under way. Blocks are placed in the \
                 order of their numbers, in runs of random length up to this; 0 without the throttle, in the order in \
                 which hosts wrote them.",
            )
            .at_most(1_000)
            .default("32", "zfs_vdev_def_queue_depth"),
            &mut self.throttle_slots,
        );
        f.value(
            choice::<Waves>(
                "throttle_waves",
                "How the throttle scrambles the order of blocks: in long waves, as on drives that follow a stream of \
                 writes without loss; or in short ones, as on drives that take 50 us or more for each command.",
            )
            .default("\"long\"", "measured; see docs/zfs.md"),
            &mut self.throttle_waves,
        );
        f.value(
            size(
                "prefetch",
                "The most that a stream of reads is read ahead of its host; 0 B for none.",
            )
            .default("\"64 MiB\"", "zfetch_max_distance")
            .scales(Scales::Root, "read-ahead of {}"),
            &mut self.prefetch_bytes,
        );
        f.value(
            spindles(
                "spares",
                "Hot spares onto which failed drives are resilvered; without one, the pool stays degraded.",
            )
            .or_zero()
            .chosen("0"),
            &mut self.spares,
        );
        f.value(
            choice::<ResilverKind>(
                "resilver",
                "How mirrors are resilvered, and dRAID onto spares: healing, block by block; or sequential, by ranges \
                 of allocated space, with a scrub after it (zpool replace -s). Onto distributed spares it is always \
                 sequential.",
            )
            .default("\"healing\"", "the only way for RAID-Z"),
            &mut self.resilver,
        );
        f.value(
            choice::<SyncWrites>(
                "sync",
                "When a write is answered: disabled, from memory, as asynchronous writes of a pool with sync=standard; or \
                 always, when the intent log has it, on log vdevs if there are any, otherwise on the other drives.",
            )
            .chosen("\"disabled\"")
            .page(8, "Synchronous writes"),
            &mut self.sync,
        );
        f.value(
            flag(
                "drive_cache",
                "Whether drives use their own caches, if their profiles describe one: a write that follows the one before \
                 on the medium takes the time of its sectors alone. Not with \
                 sync = \"always\": a log block is flushed before it counts.",
            )
            .default("true, with sync = \"disabled\"", "zpool create turns it on, or leaves it on"),
            &mut self.drive_cache,
        );
        f.value(
            cost(
                "block_issue",
                "Time of a thread for each block of a transaction group before drives' queues have it: allocation, \
                 parity, queueing. Blocks come one by one then, and fewer are joined. With several threads, give a part.",
            )
            .default("\"0 ns\"", "blocks come as fast as throttle_slots lets them"),
            &mut self.block_issue_ns,
        );
        f.value(
            cost(
                "block_completion",
                "Time of a thread for each block of a transaction group after its drives are done, before another may \
                 follow it.",
            )
            .default("\"0 ns\"", "as block_issue"),
            &mut self.block_completion_ns,
        );
        f.value(
            cost(
                "block_read",
                "Time of a thread for each block that is read for a host, or ahead of it, before drives' queues have it.",
            )
            .default("\"0 ns\"", "reads are queued at once"),
            &mut self.block_read_ns,
        );
        f.value(
            flag(
                "sparse",
                "Whether volumes reserve no room (zfs create -s), so that snapshots may fill the pool, and writes then \
                 fail. Otherwise, a snapshot is refused that would leave no room to overwrite the volumes. Files of a \
                 dataset reserve nothing.",
            )
            .default("false", "`zfs create -V` sets refreservation")
            .unless_default(),
            &mut self.is_sparse,
        );
        f.value(
            flag(
                "autotrim",
                "Whether freed space is trimmed (autotrim=on): ranges and bytes of drives are counted, and take no time.",
            )
            .default("false", "`zpool create` leaves it off")
            .unless_default(),
            &mut self.autotrim,
        );
        f.table(
            table(
                "l2arc",
                "A cache device, which holds blocks that are about to leave the ARC. It is none of the array's spindles. \
                 None without the table.",
            ),
            &mut self.l2arc,
        );
        f.table(
            SnapshotSchedule::field("Snapshots of all volumes together. None without the table."),
            &mut self.snapshots,
        );
        f.table(
            table(
                "rewrite",
                "A rewrite of all volumes, block by block, beside the load, as zfs rewrite of OpenZFS 2.4 does it with \
                 files. None without the table.",
            ),
            &mut self.rewrite,
        );
        f.table(
            table(
                "send",
                "Reading of all volumes beside the load, as zfs send does. The pool that receives them is not simulated: \
                 run a fresh one. None without the table.",
            ),
            &mut self.send,
        );
        f.value(
            size(
                "special_small_blocks",
                "Data blocks of at most this size after compression go to special vdevs, as long as these are less \
                 than 75 % full; 0 B for none. A power of two. For volumes this is so from OpenZFS 2.4 on; before, \
                 only blocks of files went there.",
            )
            .chosen("\"0 B\""),
            &mut self.special_small_bytes,
        );
        f.tables(
            table("clone", "")
                .each("A LUN that begins as a clone of another.")
                .at_most_tables(MOST_CLONES)
                .owner("clone table {n} of {}"),
            &mut self.clones,
        );
        let redundancy = self.shape.redundancy;
        f.tables_like(
            table(
                "vdev",
                "Top-level vdevs besides the first: of another size or redundancy, for metadata or the intent log, \
                 or added during the run. In the order in which the pool gets them.",
            )
            .each("Further top-level vdevs, all alike.")
            .at_most_tables(MOST_FURTHER)
            .owner("vdev table {n} of {}"),
            &mut self.further_vdevs,
            &|| FurtherVdev {
                class: AllocationClass::Normal,
                shape: VdevShape { redundancy, ..VdevShape::default() },
                vdevs: 1,
                at_ns: None,
            },
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        self.shape.check(s);
        let drives = u32::from(self.shape.drives) * u32::from(self.vdevs);
        if s.are_right(&["drives", "vdevs"]) && drives > MOST_DRIVES_IN_ALL {
            s.problem(
                "vdevs",
                format!("{drives} drives are too many"),
                format!("a pool has at most {MOST_DRIVES_IN_ALL} here: give fewer vdevs"),
            );
        }
        self.check_blocks(s);
        if self.rewrite.is_some() && self.send.is_some() {
            s.problem(
                "send",
                "a pool is rewritten or sent here, not both".to_owned(),
                "the real system does both at once: give one of the tables, and another array for the other".to_owned(),
            );
        }
        if s.are_right(&["redundancy", "resilver"])
            && self.shape.redundancy.is_raid_z()
            && self.resilver == ResilverKind::Sequential
        {
            s.problem(
                "resilver",
                "RAID-Z cannot be rebuilt sequentially".to_owned(),
                "without its block a range does not tell data from parity: leave the key out"
                    .to_owned(),
            );
        }
        let small = self.special_small_bytes;
        if s.is_right("special_small_blocks") && small > 0 && !small.is_power_of_two() {
            s.problem(
                "special_small_blocks",
                format!("{} is no power of two", Bytes(small)),
                format!(
                    "`zfs set` takes powers of two from 512 B to 1 MiB: give {}",
                    Bytes(small.next_power_of_two())
                ),
            );
        }
        let has_special =
            self.further_vdevs.iter().any(|vdevs| vdevs.class == AllocationClass::Special);
        if s.are_right(&["special_small_blocks", "vdev"]) && small > 0 && !has_special {
            s.problem(
                "special_small_blocks",
                "there is no special vdev".to_owned(),
                "the real system ignores it then: give an [[array.zfs.vdev]] with class = \"special\", or leave the \
                 key out"
                    .to_owned(),
            );
        }
        if s.are_right(&["drives", "vdevs", "vdev"]) {
            self.check_further(s);
        }
        if s.are_right(&["sync", "drive_cache"])
            && self.sync == SyncWrites::Always
            && self.drive_cache == Some(true)
        {
            s.problem(
                "drive_cache",
                "a log block would count before it is on the medium".to_owned(),
                "the real system flushes caches after each, which takes the time that they save: leave the key out"
                    .to_owned(),
            );
        }
        if s.are_right(&["arc", "dirty_limit"]) && self.arc_bytes < self.dirty_limit_bytes {
            s.problem(
                "arc",
                format!(
                    "{} is less than dirty_limit, {}",
                    Bytes(self.arc_bytes),
                    Bytes(self.dirty_limit_bytes)
                ),
                "dirty blocks are in the ARC: give more, or a lower dirty_limit".to_owned(),
            );
        }
    }
}

impl Zfs {
    fn check_blocks(&self, s: &Section<'_>) {
        let (key, bytes) = (self.block_key(), self.block_bytes());
        if !s.are_right(&["volblocksize", "recordsize"]) {
            return;
        }
        if self.recordsize_bytes.is_some() && s.peek("volblocksize").is_some() {
            s.problem(
                key,
                "volblocksize is there too".to_owned(),
                "a LUN is a volume or a file: give one of the two".to_owned(),
            );
        }
        if !bytes.is_power_of_two() {
            let of_real = match self.recordsize_bytes {
                Some(_) => "`zfs create` says \"'recordsize' must be power of 2 from 512B to 16M\"",
                None => "`zfs create` takes powers of two",
            };
            s.problem(
                key,
                format!("{} is no power of two", Bytes(bytes)),
                format!("{of_real}: give {}", Bytes(bytes.next_power_of_two())),
            );
        } else if s.is_right("ashift") && bytes < 1 << self.ashift {
            let sector = Bytes(1 << self.ashift);
            s.problem(
                key,
                format!("a block of {} is smaller than a sector of {sector}", Bytes(bytes)),
                format!(
                    "the real system pads each to a sector, which wastes the rest: give at least {sector}, or a smaller \
                     ashift"
                ),
            );
        }
    }
}

impl Kind for Zfs {
    fn table(&self) -> (&'static str, &'static str) {
        ("zfs", "A ZFS pool, with a volume for each LUN.")
    }

    fn layout(&self) -> LayoutKind {
        LayoutKind::of("zfs")
    }

    fn noun(&self) -> String {
        "a ZFS".to_owned()
    }

    fn refusal(&self, part: Part) -> Option<(&'static str, &'static str)> {
        match part {
            Part::Volumes | Part::VolumeOfLun => {
                Some(("each LUN of a ZFS pool is a volume of its own", "leave it out"))
            }
            Part::LaidOut => Some((
                "a ZFS pool is filled with the whole file before the run",
                "leave the key out",
            )),
            Part::DiskGroups => {
                Some(("a ZFS pool has no disk groups: LUNs lie on all vdevs", "leave the key out"))
            }
            Part::Pair => {
                Some(("a ZFS pool is simulated behind one controller", "leave the table out"))
            }
            Part::Blades => {
                Some(("a blade is an array that updates in place", "give [array.in_place]"))
            }
            Part::RebuildSteps => Some((
                "a ZFS pool has no such setting",
                "resilvers and rebuilds of a pool have their own limits, which are not settings here: leave the key out",
            )),
            Part::ConsistencyPoints => None,
        }
    }

    fn spindle_words(&self) -> String {
        let what = self.shape.words();
        let further: u32 = self.further_vdevs.iter().map(|vdevs| u32::from(vdevs.vdevs)).sum();
        match further {
            0 => format!(" in {} {what}", self.vdevs),
            1 => format!(" in {} {what}, and a further vdev", self.vdevs),
            several => format!(" in {} {what}, and {several} further vdevs", self.vdevs),
        }
    }

    fn groups_added_ns(&self) -> Vec<u64> {
        let late = self.placed_vdevs().into_iter().map(|vdev| vdev.from_ns);
        late.filter(|from_ns| *from_ns > 0).collect()
    }

    fn check_presence(&self, section: &Section<'_>, spindle: u16, at_ns: u64) {
        self.check_vdev_presence(section, spindle, at_ns);
    }

    fn spindles_by_purpose(&self) -> KindSpindles {
        let vdevs = self.placed_vdevs();
        let (mut data, mut parity) = (0, 0);
        for (of_data, of_parity) in vdevs.iter().map(PlacedVdev::data_and_parity) {
            data += u32::from(of_data);
            parity += u32::from(of_parity);
        }
        KindSpindles { data, parity, spares: self.spares.into() }
    }

    fn check_drive(&self, section: &Section<'_>, drive_bytes: u64) {
        if self.shape.is_possible()
            && section.are_right(&["redundancy", "drives", "draid_data", "draid_spares", "ashift"])
        {
            self.check_metaslabs(section, drive_bytes);
            self.check_further_drives(section, drive_bytes);
        }
    }

    fn drive_cache(&self) -> bool {
        self.drive_cache.unwrap_or(self.sync == SyncWrites::Disabled)
    }

    fn check_room(&self, section: &Section<'_>, luns: &[Lun], _: &[Volume], drive_bytes: u64) {
        // What cannot be is a problem already.
        if !self.shape.is_possible() {
            return;
        }
        let usable = self.usable(drive_bytes);
        self.check_clones(section, luns, usable.0);
        // A clone takes room as it is written, and reserves none.
        let luns: Vec<&Lun> = luns.iter().filter(|lun| !self.is_clone(lun)).collect();
        kinds::check_size(section, &luns, usable, "the pool", "a larger pool: it");
    }

    fn warnings(&self, array: &Array, file: &dyn Fn(&Lun) -> u64) -> Vec<String> {
        let special = self.special_warnings(array);
        let blocks = self.padding_warning(array).into_iter().chain(self.compression_warning(array));
        let others = self.snapshot_warning(array, file).into_iter().chain(self.log_warning(array));
        blocks.chain(others).chain(special).collect()
    }

    fn without_protection_level(&self) -> Option<String> {
        Some(self.shape.redundancy.noun())
    }

    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError> {
        kinds::simulate::<strewn_zfs::Loop>(set_up, |scenario, array| {
            built::array(self, scenario, array)
        })
    }

    fn memory_bytes(&self, scenario: &Scenario, array: &Array) -> u64 {
        // Twelve bytes and four bits for each block, free segments of a pool that is aged, and the ARC's entries with
        // as many ghosts.
        let blocks = scenario.file_bytes(array) / self.block_bytes();
        // What a new drive lacks, as it is sorted.
        let spares = self.spares.saturating_add(self.shape.spares().saturating_mul(self.vdevs));
        let failures = array.failures.len().min(usize::from(spares)) as u64;
        let listed = blocks * failures * 17;
        // Eight bytes for each block that snapshots hold: at most what the volumes leave of the pool.
        let held = match self.snapshots {
            Some(schedule) => {
                blocks.saturating_mul(schedule.keep.into()).min(self.most_held(array)) * 8
            }
            None => 0,
        };
        let cached = self.l2arc.map_or(0, |l2arc| l2arc.memory_bytes(self.block_bytes()));
        listed
            + held
            + cached
            + blocks * 13
            + blocks * 24
            + self.arc_bytes / self.block_bytes() * 2 * 40
    }

    fn snapshots(&self) -> Option<SnapshotSchedule> {
        self.snapshots
    }

    fn relocates(&self) -> bool {
        self.scan().is_some()
    }

    fn sends(&self) -> bool {
        self.send.is_some()
    }

    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped> {
        array.downcast_ref().map(|array: &ZfsArray| array as _)
    }

    fn groups(&self) -> Vec<ParityGroup> {
        self.placed_vdevs().iter().map(PlacedVdev::group).collect()
    }

    fn capacity(&self) -> CapacityRule {
        room::capacity(self)
    }

    fn read_ahead_bytes(&self) -> u64 {
        self.prefetch_bytes
    }

    fn out_of_proportion(&self, run: &ScaledRun<'_>) -> Vec<String> {
        scaling::transaction_groups(self, run).into_iter().collect()
    }
}
