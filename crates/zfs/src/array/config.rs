//! What an array with a ZFS pool consists of.

use strewn_array::ProcessorCosts;

use super::volume_scan::VolumeScanConfig;
use crate::allocation_class::AllocationClass;
use crate::arc::L2arcOptions;
use crate::fragmentation::Version;
use crate::order::Waves;
use crate::vdev::Vdev;

/// The L2ARC of a pool, and its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L2arcConfig {
    /// What the device gets.
    pub options: L2arcOptions,
    /// From one write to the next, unless lists are busy (`l2arc_feed_secs`), in nanoseconds.
    pub feed_interval_ns: u64,
    /// What any command takes beside its transfer, in nanoseconds.
    pub latency_ns: u64,
    /// Bytes that it reads in a second.
    pub read_bytes_per_s: u64,
    /// Bytes that it writes in a second.
    pub write_bytes_per_s: u64,
}

impl L2arcConfig {
    /// A device of so many bytes as OpenZFS feeds it by default, with sectors of 4 KiB. It takes so many nanoseconds
    /// for any command, and reads and writes so many bytes in a second.
    #[must_use]
    pub fn new(bytes: u64, latency_ns: u64, bytes_per_s: u64) -> Self {
        Self {
            options: L2arcOptions::new(bytes),
            feed_interval_ns: 1_000_000_000,
            latency_ns,
            read_bytes_per_s: bytes_per_s,
            write_bytes_per_s: bytes_per_s,
        }
    }
}

/// A ZFS pool behind a controller.
#[derive(Debug, Clone, PartialEq)]
pub struct ZfsConfig {
    /// The version of OpenZFS that is modelled.
    pub version: Version,
    /// Top-level vdevs. Spindles are numbered in their order.
    pub vdevs: Vec<Vdev>,
    /// The class of each vdev; those behind the last that is given are normal. The first is always normal. An array
    /// with any of them measures each vdev by itself ([`strewn_array::Growable::groups`]).
    pub classes: Vec<AllocationClass>,
    /// The last so many vdevs are added during the run ([`strewn_array::Growable::add_group`]).
    pub late_vdevs: usize,
    /// Data blocks of at most so many bytes on disk go to the special class (`special_small_blocks`); 0 for none.
    pub special_small_bytes: u64,
    /// Whether freed space is trimmed (`autotrim`), which is counted and costs nothing.
    pub autotrim: bool,
    /// The volumes, one for each LUN.
    pub volumes: Vec<VolumeConfig>,
    /// Memory for the ARC, in bytes.
    pub arc_bytes: u64,
    /// The L2ARC, if there is one.
    pub l2arc: Option<L2arcConfig>,
    /// Dirty data at which writes stop (`zfs_dirty_data_max`), in bytes.
    pub dirty_limit_bytes: u64,
    /// The longest time that a transaction group stays open (`zfs_txg_timeout`), in nanoseconds.
    pub txg_interval_ns: u64,
    /// Writes of a top-level vdev that the allocation throttle lets be under way; `None` without a throttle.
    pub throttle_slots: Option<u32>,
    /// The most that a stream of reads is read ahead of its host (`zfetch_max_distance`), in bytes; 0 for nothing.
    pub prefetch_bytes: u64,
    /// Spares, each of which replaces a failed drive.
    pub spares: u16,
    /// How mirrors are resilvered; RAID-Z always heals.
    pub resilver: ResilverKind,
    /// Whether a write is answered only when the intent log has it (`sync=always`), or from memory.
    pub is_synchronous: bool,
    /// Without a log vdev, a synchronous write of at least so many bytes has its blocks written in place at once, and
    /// the intent log only refers to them (`WR_INDIRECT`); `None` if it always copies.
    pub indirect_from_bytes: Option<u64>,
    /// What each block costs the threads that it passes.
    pub pipeline: PipelineCosts,
    /// Whether volumes reserve the room to overwrite all of their blocks (`refreservation`, as `zfs create -V` sets it
    /// without `-s`), so that a snapshot that would take it is refused.
    pub reserves: bool,
    /// A scan of all volumes beside the load.
    pub scan: Option<VolumeScanConfig>,
    /// In which waves blocks are placed under the throttle.
    pub waves: Waves,
    /// Seed of what timing decides in a real pool: the order of allocations under the throttle.
    pub seed: u64,
    /// What work costs the processor.
    pub processor: ProcessorCosts,
}

impl ZfsConfig {
    /// A pool of OpenZFS 2.3 with these vdevs, all normal and there from the start, these volumes, and so much memory
    /// for the ARC. Everything else is as OpenZFS has it by default on a machine with at least 40 GiB of memory.
    #[must_use]
    pub fn new(vdevs: Vec<Vdev>, volumes: Vec<VolumeConfig>, arc_bytes: u64) -> Self {
        Self {
            version: Version::V2_3,
            vdevs,
            classes: Vec::new(),
            late_vdevs: 0,
            special_small_bytes: 0,
            autotrim: false,
            volumes,
            arc_bytes,
            l2arc: None,
            dirty_limit_bytes: 4 << 30,
            txg_interval_ns: 5_000_000_000,
            throttle_slots: Some(32),
            prefetch_bytes: 64 << 20,
            spares: 0,
            resilver: ResilverKind::default(),
            is_synchronous: false,
            indirect_from_bytes: None,
            pipeline: PipelineCosts::default(),
            reserves: false,
            scan: None,
            waves: Waves::default(),
            seed: 0,
            processor: ProcessorCosts::default(),
        }
    }

    /// The class of a vdev.
    pub(super) fn class_of(&self, vdev: usize) -> AllocationClass {
        self.classes.get(vdev).copied().unwrap_or_default()
    }
}

/// Time of a thread for each block that is read or that a transaction group writes. A pool has one thread of each kind
/// here, as OpenZFS has in user space on two cores; with more threads, each block costs them a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PipelineCosts {
    /// Allocation, parity and queueing of a block, before drives' queues have it (`z_wr_iss`), in nanoseconds. 0 queues
    /// blocks as fast as the throttle lets them.
    pub issue_ns: u64,
    /// Completion of a block, after its last drive is done and before another may follow (`z_wr_int`), in nanoseconds.
    pub completion_ns: u64,
    /// Asking drives for a block that a host, or its read-ahead, reads, in nanoseconds.
    pub read_ns: u64,
}

/// How the blocks of a failed drive get onto its replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResilverKind {
    /// Block by block, as the tree of blocks leads to them (`dsl_scan.c`).
    #[default]
    Healing,
    /// Range by range of allocated space, whatever blocks are there (`vdev_rebuild.c`, `zpool replace -s`).
    Sequential,
}

/// A volume of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeConfig {
    /// Bytes of the LUN.
    pub bytes: u64,
    /// Bytes at its start that are written before the run, in order.
    pub filled_bytes: u64,
    /// Bytes of a block (`volblocksize`), a power of two of at least 512.
    pub block_bytes: u32,
    /// Bytes of a block after compression.
    pub stored_bytes: u32,
    /// The number of the volume whose clone it is, which is none itself and has the same size. It has that volume's
    /// blocks, and none of `filled_bytes`.
    pub clone_of: Option<u8>,
}

impl VolumeConfig {
    /// An empty volume in blocks of so many bytes, which are not compressed.
    #[must_use]
    pub const fn new(bytes: u64, block_bytes: u32) -> Self {
        Self { bytes, filled_bytes: 0, block_bytes, stored_bytes: block_bytes, clone_of: None }
    }

    /// The same, but all of it is written before the run.
    #[must_use]
    pub const fn filled(bytes: u64, block_bytes: u32) -> Self {
        Self { filled_bytes: bytes, ..Self::new(bytes, block_bytes) }
    }
}
