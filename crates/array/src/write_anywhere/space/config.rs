//! The configuration of a write-anywhere array.

use strewn_alloc::{AllocationShape, Chunks, PolicyName, REGION_BLOCKS};
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::{ParityGroup, SpindleIndex};
use strewn_volume::VirtualSpace;

use crate::first_spindles::FirstSpindles;
use crate::format::Format;
use crate::log::LogSize;
use crate::processor::ProcessorCosts;

use super::groups::PlacedGroup;
use super::keys::BlockKeys;

/// A write-anywhere controller: an aggregate of parity groups, with volumes, with LUNs.
#[derive(Debug, Clone)]
pub struct WriteAnywhereConfig {
    /// All parity groups that the aggregate will ever have, in the order of their spindles: one to
    /// [`MOST_GROUPS`](Self::MOST_GROUPS), of any sizes and kinds of parity.
    pub groups: Vec<ParityGroup>,
    /// How many of them it has from the start, at least one. [`Growable::add_group`](crate::Growable::add_group) adds
    /// the next.
    pub groups_at_start: usize,
    /// Sizes of allocation area, tetris and chunk.
    pub shape: AllocationShape,
    /// Decides which allocation area is written next.
    pub policy: PolicyName,
    /// Other data in the aggregate, besides the LUNs and their metadata.
    pub other_data: Option<OtherData>,
    /// The volumes. Their LUNs are numbered through, from the first volume's first LUN on.
    pub volumes: Vec<VolumeConfig>,
    /// The on-disk format.
    pub format: Format,
    /// The NVRAM log, whose halves bound how much is dirty.
    pub log: LogSize,
    /// The longest time between the beginnings of two consistency points, in nanoseconds.
    pub consistency_point_interval_ns: u64,
    /// The buffer cache, in blocks.
    pub cache_blocks: u32,
    /// Most blocks of the cache's protected segment, which holds blocks used more than once.
    pub protected_blocks: u32,
    /// A consistency point begins when more blocks than this are dirty.
    pub dirty_limit_blocks: u32,
    /// Tetrises in flight at once.
    pub tetrises_in_flight: u32,
    /// Most blocks freed by the volume whose free in the aggregate is delayed.
    pub delayed_free_blocks: u64,
    /// The buffer cache's initial contents.
    pub cache_start: CacheStart,
    /// Whether the chunks of large consistency points are in step with the blocks that they write.
    pub chunks: Chunks,
    /// The controller's processor.
    pub processor: ProcessorCosts,
}

/// A flexible volume and its LUNs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeConfig {
    /// Blocks of the volume: numbers for its LUNs' blocks, their metadata and delayed frees.
    pub blocks: u64,
    /// For each LUN, the number of blocks that hosts work on, counted from its first.
    pub luns: Vec<u32>,
    /// The number of each LUN's file; empty if the LUNs of all volumes are numbered through, from 1.
    pub files: Vec<u32>,
    /// Blocks that its LUNs may have together, and are sure to find room for; `None` if those that there are may and
    /// will.
    pub reservation_blocks: Option<u64>,
    /// Whether it was made from a snapshot of another volume, and shares blocks with it.
    pub is_clone: bool,
    /// For each LUN, the number of blocks that a new array lays out, counted from its first; empty if it lays out all.
    pub laid_out: Vec<u32>,
}

impl VolumeConfig {
    /// A volume of so many blocks with LUNs of these.
    #[must_use]
    pub fn new(blocks: u64, luns: Vec<u32>) -> Self {
        let (files, laid_out) = (Vec::new(), Vec::new());
        Self { blocks, luns, files, reservation_blocks: None, is_clone: false, laid_out }
    }

    /// A volume of so many blocks with one LUN.
    #[must_use]
    pub fn of_one_lun(blocks: u64, lun_blocks: u32) -> Self {
        Self::new(blocks, vec![lun_blocks])
    }

    /// Whether it reserves nothing, so that its LUNs may be larger than what there is.
    #[must_use]
    pub fn is_thin(&self) -> bool {
        self.reservation_blocks == Some(0)
    }

    /// Blocks of its LUNs that are sure to find room.
    pub(crate) fn reservation(&self) -> u64 {
        self.reservation_blocks.unwrap_or(self.lun_blocks())
    }

    fn lun_blocks(&self) -> u64 {
        self.luns.iter().map(|blocks| u64::from(*blocks)).sum()
    }

    /// The blocks of LUN number `lun`, of its own, that are laid out.
    pub(crate) fn laid_out_of(&self, lun: usize) -> u32 {
        let blocks = self.luns[lun];
        self.laid_out.get(lun).map_or(blocks, |laid_out| blocks.min(*laid_out))
    }
}

/// Data that no host reads or writes, scattered over the blocks that the LUNs leave free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherData {
    /// Blocks in use with it, including the LUNs and their metadata.
    pub full_to_blocks: u64,
    /// Consecutive blocks on a spindle: a power of two, at most 64.
    pub run_blocks: u32,
    /// The seed that places it.
    pub seed: u64,
}

/// A buffer cache's initial contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheStart {
    /// Nothing.
    Empty,
    /// The metadata that laying out the file has just changed, which a cache that protects blocks used more than once
    /// keeps; no data.
    #[default]
    Metadata,
}

impl WriteAnywhereConfig {
    /// An aggregate of all of these groups from the start, with these volumes, behind this log and cache. Half of the
    /// cache is protected, and a consistency point begins every 10 s, or when 30 % of the cache is dirty; a hundredth
    /// of the LUNs' blocks may be freed and not reclaimed yet.
    #[must_use]
    pub fn new(
        groups: Vec<ParityGroup>,
        volumes: Vec<VolumeConfig>,
        log: LogSize,
        cache_blocks: u32,
    ) -> Self {
        let lun_blocks: u64 = volumes.iter().map(VolumeConfig::lun_blocks).sum();
        Self {
            groups_at_start: groups.len(),
            groups,
            shape: AllocationShape::default(),
            policy: PolicyName::default(),
            other_data: None,
            volumes,
            format: Format::default(),
            log,
            consistency_point_interval_ns: 10_000_000_000,
            cache_blocks,
            protected_blocks: cache_blocks / 2,
            dirty_limit_blocks: (u64::from(cache_blocks) * 3 / 10) as u32,
            tetrises_in_flight: 2,
            delayed_free_blocks: lun_blocks / 100,
            cache_start: CacheStart::default(),
            chunks: Chunks::default(),
            processor: ProcessorCosts::default(),
        }
    }

    /// Most parity groups of an aggregate.
    pub const MOST_GROUPS: usize = FirstSpindles::MOST;

    /// Both copies of the superblock. They are in use, though no root leads to them.
    pub const SUPERBLOCK_BLOCKS: u64 = 2;

    /// Blocks of a volume in which a LUN of `lun_blocks` can be overwritten indefinitely. Besides the LUN, it holds the
    /// LUN's metadata, the delayed frees, and two generations of dirty blocks, which the buffer cache bounds.
    #[must_use]
    pub fn volume_blocks_for(lun_blocks: u64, delayed_free_blocks: u64, cache_blocks: u32) -> u64 {
        // Of metadata an indirect block to 510 blocks is most; a hundredth is five times that.
        let metadata_blocks = lun_blocks / 100 + 2 * REGION_BLOCKS;
        lun_blocks + metadata_blocks + delayed_free_blocks + 2 * u64::from(cache_blocks)
    }

    /// The parity group of an array that has a single one.
    ///
    /// # Panics
    /// If there are several, or none.
    #[must_use]
    pub fn single_group(&self) -> &ParityGroup {
        assert_eq!(self.groups.len(), 1, "the array has one parity group");
        &self.groups[0]
    }

    /// All parity groups, with their spindles and VBNs.
    #[must_use]
    pub fn placed_groups(&self) -> Vec<PlacedGroup> {
        PlacedGroup::all(&self.groups)
    }

    /// Whether all data is there without these spindles, by their numbers in the array.
    #[must_use]
    pub fn survives(&self, lost: &[SpindleIndex]) -> bool {
        self.placed_groups().iter().all(|placed| {
            let ours = lost.iter().filter(|spindle| placed.spindles().contains(&spindle.0));
            ours.count() <= usize::from(placed.group.parity().spindles())
        })
    }

    /// The same array when it had only the first `count` of its parity groups.
    #[must_use]
    pub fn with_first_groups(&self, count: usize) -> Self {
        let groups: Vec<_> = self.groups.iter().take(count.max(1)).copied().collect();
        Self { groups_at_start: groups.len(), groups, ..self.clone() }
    }

    /// Data blocks of all parity groups.
    #[must_use]
    pub fn total_blocks(&self) -> u64 {
        self.groups.iter().map(ParityGroup::total_blocks).sum()
    }

    /// Data blocks of the parity groups that the aggregate has from the start.
    #[must_use]
    pub fn blocks_at_start(&self) -> u64 {
        self.groups.iter().take(self.groups_at_start).map(ParityGroup::total_blocks).sum()
    }

    /// The block numbering, which covers all parity groups. Only the durable format has a directory.
    #[must_use]
    pub fn block_keys(&self) -> BlockKeys {
        let volumes = self.volumes.iter().map(|volume| {
            let regions = VirtualSpace::regions_of(volume.blocks);
            (
                u32::try_from(regions).unwrap_or(u32::MAX),
                volume.luns.as_slice(),
                volume.files.as_slice(),
            )
        });
        let keys = BlockKeys::new(volumes, self.total_blocks());
        if self.format.is_durable() { keys.with_directory() } else { keys }
    }

    /// About how much memory the array's maps take, in bytes.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        let (of_key, of_vbn) = if self.format.is_durable() { (16, 4) } else { (6, 0) };
        of_key * u64::from(self.block_keys().end()) + of_vbn * self.total_blocks()
    }

    /// Blocks of all LUNs together.
    #[must_use]
    pub fn lun_blocks(&self) -> u64 {
        self.volumes.iter().map(VolumeConfig::lun_blocks).sum()
    }

    /// Blocks that the volumes are sure to find room for.
    fn reservation_blocks(&self) -> u64 {
        self.volumes.iter().map(VolumeConfig::reservation).sum()
    }

    /// Blocks that an aggregate needs for its LUNs to be overwritten indefinitely: both superblocks, every
    /// block once, the blocks that a consistency point rewrites, and the delayed frees.
    ///
    /// A consistency point rewrites the blocks that one half of the log has made dirty, and the metadata that changes
    /// with them. Twice the cache, which is more in most arrays, is required as well: fuller aggregates are slow.
    #[must_use]
    pub fn needed_blocks(&self) -> u64 {
        let metadata = u64::from(self.block_keys().metadata_blocks());
        let written_anew = self.most_dirty_blocks() + metadata;
        Self::SUPERBLOCK_BLOCKS
            + self.reservation_blocks()
            + metadata
            + written_anew.max(2 * u64::from(self.cache_blocks))
            + self.delayed_free_blocks
    }

    /// Blocks of the largest write: its record fits half of the log, and both its ends may lie within a block.
    pub(crate) fn largest_write_blocks(&self) -> u64 {
        (self.log.half_bytes.div_ceil(BLOCK_BYTES) + 2).min(self.lun_blocks())
    }

    /// Most blocks of the LUNs that one half of the log can make dirty, and so the most that are dirty when a
    /// consistency point begins. While the previous one is in progress, the cache is no bound.
    #[must_use]
    pub fn most_dirty_blocks(&self) -> u64 {
        // Two sectors on both sides of a block's end make most of a record: two blocks. Where a header takes more than
        // the blocks between, it is a record without end.
        let pair_bytes = (self.log.record_header_bytes + 2 * SECTOR_BYTES) / 2;
        let bytes_per_block = pair_bytes.clamp(1, BLOCK_BYTES);
        self.log.half_bytes.div_ceil(bytes_per_block).min(self.lun_blocks())
    }
}
