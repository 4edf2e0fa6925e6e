//! Translates a configuration to the arrays of `strewn-array`.

use strewn_alloc::Chunks;
use strewn_array::in_place::{DiskGroupConfig, InPlaceConfig, LunConfig};
use strewn_array::write_anywhere::{CacheStart, VolumeConfig, WriteAnywhereConfig};
use strewn_array::{Format, ProcessorCosts};
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};
use strewn_raid::ParityGroup;

use super::{
    AddedGroup, ArrayLayout, Configuration, ConfigurationError, InPlaceLayout, WriteAnywhereLayout,
};
use crate::device::BLOCK_BYTES;

/// The configuration of a controller of either kind.
#[derive(Debug, Clone)]
pub enum ArrayConfig {
    /// Copy on write.
    WriteAnywhere(WriteAnywhereConfig),
    /// Update in place.
    InPlace(InPlaceConfig),
}

impl Configuration {
    /// Returns the configuration of the array's controller. Its simulated processor costs are zero: the real
    /// processor's time counts.
    ///
    /// # Errors
    /// If the configuration is invalid: see [`Configuration::check`].
    pub fn array(&self) -> Result<ArrayConfig, ConfigurationError> {
        self.check()?;
        match &self.layout {
            ArrayLayout::WriteAnywhere(layout) => {
                self.write_anywhere(layout).map(ArrayConfig::WriteAnywhere)
            }
            ArrayLayout::InPlace(layout) => self.in_place(layout).map(ArrayConfig::InPlace),
        }
    }

    /// Returns the number of blocks in the cache.
    #[must_use]
    pub fn cache_blocks(&self) -> u32 {
        u32::try_from(self.cache_bytes / BLOCK_BYTES as u64).unwrap_or(u32::MAX)
    }

    pub(super) fn write_anywhere(
        &self,
        layout: &WriteAnywhereLayout,
    ) -> Result<WriteAnywhereConfig, ConfigurationError> {
        let cache_blocks = self.cache_blocks();
        let of_cache = |percent: u8| {
            // The result is a fraction of a 32-bit number.
            ((u64::from(cache_blocks) * u64::from(percent) / 100) as u32).max(1)
        };
        let groups = self.parity_groups(layout)?;
        let lun_blocks = u32::try_from(self.lun_blocks)
            .map_err(|_| ConfigurationError::LunTooLargeAtAll { lun_bytes: self.lun_bytes() })?;
        Ok(WriteAnywhereConfig {
            groups_at_start: groups.len(),
            groups,
            shape: layout.shape(),
            policy: layout.policy,
            other_data: None,
            volumes: vec![VolumeConfig::of_one_lun(layout.volume_blocks, lun_blocks)],
            format: Format::Durable,
            log: self.log_layout().size(),
            consistency_point_interval_ns: layout
                .consistency_point_interval_ms
                .saturating_mul(1_000_000),
            cache_blocks,
            protected_blocks: of_cache(layout.protected_percent),
            dirty_limit_blocks: of_cache(layout.dirty_limit_percent),
            tetrises_in_flight: layout.tetrises_in_flight,
            delayed_free_blocks: layout.delayed_free_blocks,
            cache_start: CacheStart::Empty,
            chunks: Chunks::Aligned,
            processor: ProcessorCosts::default(),
        })
    }

    /// Returns the parity groups of a write-anywhere array.
    pub(super) fn parity_groups(
        &self,
        layout: &WriteAnywhereLayout,
    ) -> Result<Vec<ParityGroup>, ConfigurationError> {
        let first = AddedGroup {
            parity: layout.parity,
            data_spindles: layout.data_spindles,
            blocks_per_spindle: self.blocks_per_spindle,
        };
        let group = |one: &AddedGroup| {
            ParityGroup::new(one.parity, one.data_spindles, one.blocks_per_spindle)
                .map_err(|error| ConfigurationError::Impossible(error.to_string()))
        };
        [first].iter().chain(&layout.added_groups).map(group).collect()
    }

    fn in_place(&self, layout: &InPlaceLayout) -> Result<InPlaceConfig, ConfigurationError> {
        let spindle_bytes = self.blocks_per_spindle * BLOCK_BYTES as u64;
        let write_cache_sectors = self.cache_bytes / SECTOR_BYTES;
        let lun_sectors = self.lun_blocks * BLOCK_SECTORS;
        Ok(InPlaceConfig {
            groups: vec![DiskGroupConfig::new(
                layout.lun_layout(spindle_bytes)?,
                layout.destages_per_spindle.saturating_mul(u32::from(self.spindles())).max(1),
            )],
            luns: vec![LunConfig::whole(lun_sectors)],
            spindle_sectors: self.blocks_per_spindle * BLOCK_SECTORS,
            write_cache_sectors,
            destage_low_sectors: write_cache_sectors * u64::from(layout.destage_low_percent) / 100,
            format: Format::Durable,
            log: Some(self.log_layout().size()),
            processor: ProcessorCosts::default(),
        })
    }
}
