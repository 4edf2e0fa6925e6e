//! Where the sectors of an in-place array lie: its disk groups and the LUNs in them, what is lost of them, and which
//! stripes are locked.

mod bad_blocks;
pub(crate) mod blocks;
mod config;
mod group;
mod groups;
mod layout;
mod losses;
mod segments;
#[cfg(test)]
mod tests;

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::driver::{GroupMeasures, LayoutMeasures, LunLayoutMeasures};
use crate::error::ArrayConfigError;
use crate::first_spindles::FirstSpindles;
use crate::lun_id::LunId;

pub use bad_blocks::BadBlocks;
pub use config::{DiskGroupConfig, InPlaceConfig, LunConfig};
pub(crate) use group::DiskGroup;
pub(crate) use groups::Groups;
pub use layout::{LunLayout, Raid0Layout, Raid5Layout};
pub(crate) use losses::{Losses, Rebuilding};

/// Where the sectors of an array lie.
pub(crate) struct Space {
    pub(crate) config: InPlaceConfig,
    pub(crate) luns: Vec<PlacedLun>,
    pub(crate) first_spindles: FirstSpindles,
    pub(crate) groups: Groups<DiskGroup>,
    /// What became of the bad blocks so far.
    pub(crate) bad_blocks: BadBlocks,
}

/// Where a LUN is.
pub(crate) struct PlacedLun {
    pub(crate) group: GroupIndex,
    /// Its sectors, numbered through in the group.
    pub(crate) sectors: Range<u64>,
}

/// Sectors of one spindle of a disk group.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) struct Run {
    pub(crate) spindle: SpindleIndex,
    pub(crate) first_sector: u64,
    pub(crate) sectors: u32,
}

impl Space {
    /// # Errors
    /// If a size is zero or the LUNs do not fit the layout.
    pub(crate) fn new(config: InPlaceConfig, carries_data: bool) -> Result<Self, ArrayConfigError> {
        let count = config.groups.len();
        let has_blocks = carries_data || config.format.is_durable();
        if !(1..=InPlaceConfig::MOST_GROUPS).contains(&count) {
            return Err(ArrayConfigError::DiskGroupCount { groups: count });
        }
        if let Some(lun) = config.luns.iter().find(|lun| lun.group.index() >= count) {
            return Err(ArrayConfigError::NoSuchGroup { group: lun.group, groups: count });
        }
        if config.luns.is_empty() {
            return Err(ArrayConfigError::NoLun);
        }
        for (index, group) in (0..).map(GroupIndex).zip(&config.groups) {
            let layout_sectors = group.layout.lun_capacity_sectors();
            let lun_sectors = config.end_sector(index);
            if lun_sectors > layout_sectors {
                return Err(ArrayConfigError::LunTooLarge { lun_sectors, layout_sectors });
            }
            if group.destages_in_flight == 0 {
                return Err(ArrayConfigError::Zero("the number of destages in flight"));
            }
            let chunk_bytes = group.layout.unit_sectors() * SECTOR_BYTES;
            if has_blocks && !chunk_bytes.is_multiple_of(BLOCK_SECTORS * SECTOR_BYTES) {
                return Err(ArrayConfigError::ChunkOfParts { chunk_bytes });
            }
        }
        let nonzero = [
            (config.luns.iter().map(|lun| lun.sectors).min().unwrap_or(0), "a LUN"),
            (config.luns.iter().map(|lun| lun.file_sectors).min().unwrap_or(0), "a file"),
            (config.spindle_sectors, "a spindle"),
            (config.write_cache_sectors, "the write cache"),
        ];
        if let Some((_, what)) = nonzero.iter().find(|(size, _)| *size == 0) {
            return Err(ArrayConfigError::Zero(what));
        }
        let of_parts = config.luns.iter().find(|lun| !lun.sectors.is_multiple_of(BLOCK_SECTORS));
        if let (true, Some(lun)) = (config.format.is_durable(), of_parts) {
            return Err(ArrayConfigError::LunOfParts { lun_sectors: lun.sectors });
        }
        let numbered = (0..).map(GroupIndex).zip(&config.groups);
        let groups = numbered.map(|(index, group)| DiskGroup::new(group, config.end_sector(index)));
        let Some(groups) = Groups::new(groups) else {
            return Err(ArrayConfigError::DiskGroupCount { groups: count });
        };
        let luns = config.lun_sectors().into_iter().zip(&config.luns);
        Ok(Self {
            luns: luns.map(|(sectors, lun)| PlacedLun { group: lun.group, sectors }).collect(),
            first_spindles: config.first_spindles(),
            groups,
            bad_blocks: BadBlocks::default(),
            config,
        })
    }

    #[inline(always)]
    pub(crate) fn lun(&self, lun: LunId) -> &PlacedLun {
        &self.luns[usize::from(lun.0)]
    }

    /// Whether anything of a disk group is lost or has been found bad.
    #[inline(always)]
    pub(crate) fn is_degraded(&self, group: GroupIndex) -> bool {
        self.groups[group].losses.is_some()
    }

    pub(crate) fn layout(&self) -> LayoutMeasures {
        let luns = self.luns.iter().zip(&self.config.luns).map(|(placed, lun)| {
            let (group, first_sector) = (&self.groups[lun.group], placed.sectors.start);
            let file =
                group.file_layout(first_sector, lun.file_sectors, self.config.spindle_sectors);
            LunLayoutMeasures { file, rewritten: None }
        });
        LayoutMeasures { luns: luns.collect(), ..LayoutMeasures::nothing() }
    }

    /// The disk groups, if there are several.
    pub(crate) fn measure_groups(&self) -> Vec<GroupMeasures> {
        let groups = (0..).map(GroupIndex).zip(&self.config.groups);
        let measured = groups.map(|(index, group)| {
            let first = self.first_spindles.in_array(index, SpindleIndex(0)).0;
            let capacity_sectors = group.layout.lun_capacity_sectors();
            let luns = self.config.luns.iter().filter(|lun| lun.group == index);
            let lun_sectors: u64 = luns.map(|lun| lun.sectors).sum();
            GroupMeasures {
                spindles: first..first + group.layout.spindles(),
                blocks: capacity_sectors / BLOCK_SECTORS,
                free_blocks: Some((capacity_sectors - lun_sectors) / BLOCK_SECTORS),
            }
        });
        measured.filter(|_| self.config.groups.len() > 1).collect()
    }
}

strewn_base::saved_state! {
    impl for Space {
        parts: groups;
        values: bad_blocks;
        built: config, luns, first_spindles;
    }
}
