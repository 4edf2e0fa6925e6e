//! Checks that a configuration is valid.

use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_base::SECTOR_BYTES;
use strewn_raid::Parity;
use strewn_volume::VirtualSpace;

use super::error::{ConfigurationError, LEAST_CACHE_BYTES, LEAST_LOG_HALF_BYTES};
use super::{ArrayLayout, Configuration, InPlaceLayout, Size, SpindleGroup, WriteAnywhereLayout};
use crate::device::BLOCK_BYTES;
use crate::format::{MAXIMUM_MEMBERS, ROW_DATA_BLOCKS};

impl Configuration {
    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), ConfigurationError> {
        let (layout, spindles) = (self.layout_name(), self.group_of(0).spindles.end);
        if self.lun_blocks == 0 {
            return Err(ConfigurationError::NoLun);
        }
        if usize::from(spindles) > MAXIMUM_MEMBERS {
            return Err(ConfigurationError::SpindleCount { layout, spindles });
        }
        if self.log_half_bytes < LEAST_LOG_HALF_BYTES {
            let log_half_bytes = self.log_half_bytes;
            return Err(ConfigurationError::LogTooSmall { log_half_bytes });
        }
        let most_cache_bytes = u64::from(u32::MAX) * BLOCK_BYTES as u64;
        if !(LEAST_CACHE_BYTES..=most_cache_bytes).contains(&self.cache_bytes) {
            return Err(ConfigurationError::Cache { cache_bytes: self.cache_bytes });
        }
        if !self.blocks_per_spindle.is_multiple_of(ROW_DATA_BLOCKS) {
            return Err(not_of_rows(self.blocks_per_spindle));
        }
        if self.blocks_per_spindle == 0 {
            return Err(ConfigurationError::SpindlesTooSmall { layout, spindle_bytes: 0 });
        }
        match &self.layout {
            ArrayLayout::WriteAnywhere(layout) => self.check_write_anywhere(layout),
            ArrayLayout::InPlace(layout) => self.check_in_place(layout),
        }
    }

    fn check_write_anywhere(&self, sizes: &WriteAnywhereLayout) -> Result<(), ConfigurationError> {
        let layout = self.layout_name();
        self.check_groups()?;
        let percents = [sizes.protected_percent, sizes.dirty_limit_percent];
        if percents.iter().any(|percent| *percent > 100) {
            return Err(ConfigurationError::Impossible("a share of more than 100 %".to_owned()));
        }
        let nonzero = [
            (sizes.consistency_point_interval_ms, "the interval of consistency points"),
            (sizes.tetrises_in_flight.into(), "the number of tetrises in flight"),
        ];
        if let Some((_, what)) = nonzero.iter().find(|(size, _)| *size == 0) {
            return Err(ConfigurationError::Impossible(format!("{what} is 0")));
        }
        let lun_bytes = self.lun_bytes();
        let array = self.write_anywhere(sizes)?;
        let aggregate_blocks = array.total_blocks();
        // Block keys and places are 32-bit numbers; half of them are for the blocks of volumes.
        let volumes = array.volumes.iter().map(|volume| volume.blocks);
        if array.block_keys().end() == u32::MAX || VirtualSpace::new(volumes).is_err() {
            return Err(ConfigurationError::LunTooLargeAtAll { lun_bytes });
        }
        if aggregate_blocks >= u64::from(u32::MAX) {
            return Err(ConfigurationError::Impossible(format!(
                "{} of data spindles: a write-anywhere array takes less than 16 TiB",
                Size(aggregate_blocks.saturating_mul(BLOCK_BYTES as u64))
            )));
        }
        // What has been reserved since is not known here: volumes may have been created in the room of added groups.
        if array.with_first_groups(1).needed_blocks() > array.groups[0].total_blocks() {
            return Err(ConfigurationError::LunTooLarge { layout, lun_bytes, largest_bytes: 0 });
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<(), ConfigurationError> {
        let groups = self.groups();
        let most = WriteAnywhereConfig::MOST_GROUPS;
        if groups.len() > most {
            return Err(ConfigurationError::TooManyGroups { most });
        }
        for SpindleGroup { layout, spindles, blocks_per_spindle } in &groups {
            let layout = *layout;
            let (parity, spindles) = (layout.parity_spindles(), spindles.len() as u16);
            let most = layout.parity().map_or(0, Parity::most_spindles);
            if spindles <= parity || spindles > most {
                return Err(ConfigurationError::SpindleCount { layout, spindles });
            }
            if *blocks_per_spindle == 0 {
                return Err(ConfigurationError::SpindlesTooSmall { layout, spindle_bytes: 0 });
            }
            if !blocks_per_spindle.is_multiple_of(ROW_DATA_BLOCKS) {
                return Err(not_of_rows(*blocks_per_spindle));
            }
            let most = self.log_layout().most_spindles_of_group();
            if spindles > most {
                return Err(ConfigurationError::GroupTooWide { spindles, most });
            }
        }
        let spindles = self.spindles();
        match usize::from(spindles) > MAXIMUM_MEMBERS {
            true => Err(ConfigurationError::TooManySpindles { spindles }),
            false => Ok(()),
        }
    }

    fn check_in_place(&self, sizes: &InPlaceLayout) -> Result<(), ConfigurationError> {
        let layout = self.layout_name();
        if sizes.destage_low_percent > 100 {
            return Err(ConfigurationError::Impossible("a share of more than 100 %".to_owned()));
        }
        let spindle_bytes = self.blocks_per_spindle.saturating_mul(BLOCK_BYTES as u64);
        let largest_sectors = sizes.lun_layout(spindle_bytes)?.lun_capacity_sectors();
        let (lun_bytes, largest_bytes) = (self.lun_bytes(), largest_sectors * SECTOR_BYTES);
        if lun_bytes / SECTOR_BYTES > largest_sectors {
            return Err(ConfigurationError::LunTooLarge { layout, lun_bytes, largest_bytes });
        }
        Ok(())
    }
}

fn not_of_rows(blocks: u64) -> ConfigurationError {
    ConfigurationError::Impossible(format!(
        "spindles of {blocks} blocks: they are of whole rows of {ROW_DATA_BLOCKS}"
    ))
}
