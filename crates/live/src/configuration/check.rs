//! Checks that a configuration is valid.

use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_base::SECTOR_BYTES;
use strewn_raid::{Parity, VraidConfig};
use strewn_volume::VirtualSpace;

use super::{
    ArrayLayout, Configuration, InPlaceLayout, LayoutName, Size, SpindleGroup, WriteAnywhereLayout,
};
use crate::device::BLOCK_BYTES;
use crate::format::{MAXIMUM_CONFIGURATION_BYTES, MAXIMUM_MEMBERS, ROW_DATA_BLOCKS};

/// Smallest half of a log: the largest piece of a host's write must fit.
const LEAST_LOG_HALF_BYTES: u64 = 1 << 20;

/// Smallest cache.
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// Why a configuration is invalid. The message states the value, and [`remedy`](Self::remedy) the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// The text is not a configuration.
    #[error("the configuration cannot be read: {0}")]
    Text(String),
    #[error(
        "the configuration takes {0} bytes of a label, which has {MAXIMUM_CONFIGURATION_BYTES}"
    )]
    /// The text does not fit in a label.
    TooLong(usize),
    /// No layout has this name.
    #[error("there is no layout '{0}': give raid-dp, raid-4, vraid-5 or raid-5")]
    UnknownLayout(String),
    /// There are too few spindles, or too many.
    #[error("a {layout} array cannot have {spindles} spindles")]
    SpindleCount {
        /// Layout that was asked for.
        layout: LayoutName,
        /// Number of spindles, including parity.
        spindles: u16,
    },
    /// There are too many parity groups.
    #[error("more than {most} parity groups")]
    TooManyGroups {
        /// Most parity groups of an array.
        most: usize,
    },
    /// An added parity group has too many spindles for the log.
    #[error(
        "a parity group of {spindles} spindles: the log of this array has room for writes to {most} at once"
    )]
    GroupTooWide {
        /// Its spindles, including parity.
        spindles: u16,
        /// Most spindles of a group that the log has room for.
        most: u16,
    },
    /// All groups together have too many spindles.
    #[error("{spindles} spindles in all parity groups together")]
    TooManySpindles {
        /// Spindles of all groups.
        spindles: u16,
    },
    /// The spindles are too small for any LUN.
    #[error("spindles of {} are too small for a {layout} array", Size(*.spindle_bytes))]
    SpindlesTooSmall {
        /// Layout that was asked for.
        layout: LayoutName,
        /// Size of the smallest spindle's device, in bytes.
        spindle_bytes: u64,
    },
    /// The LUN is empty.
    #[error("a LUN of 0 B")]
    NoLun,
    /// The LUN does not fit the spindles.
    #[error("a LUN of {} does not fit on these spindles", Size(*.lun_bytes))]
    LunTooLarge {
        /// Layout that was asked for.
        layout: LayoutName,
        /// Size of the LUN, in bytes.
        lun_bytes: u64,
        /// Size of the largest LUN that fits, in bytes, or 0 if unknown.
        largest_bytes: u64,
    },
    /// The LUN is too large for any array.
    #[error(
        "a LUN of {}: a write-anywhere array has at most 8 TiB of LUNs, with what is held back for them",
        Size(*.lun_bytes)
    )]
    LunTooLargeAtAll {
        /// Size of the LUN, in bytes.
        lun_bytes: u64,
    },
    /// The log is too small.
    #[error("half a log of {}", Size(*.log_half_bytes))]
    LogTooSmall {
        /// Size of a half, in bytes.
        log_half_bytes: u64,
    },
    /// The cache is too small or too large.
    #[error("a cache of {}", Size(*.cache_bytes))]
    Cache {
        /// Size of the cache, in bytes.
        cache_bytes: u64,
    },
    /// `strewn-array` rejects the sizes.
    #[error("{0}")]
    Impossible(String),
}

impl ConfigurationError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Text(_) => "use the Strewn that made the array".to_owned(),
            Self::TooLong(_) => "use fewer redundancy sets, or fewer parity groups".to_owned(),
            Self::UnknownLayout(_) => "give one of those".to_owned(),
            Self::SpindleCount { layout: LayoutName::Vraid5, .. } => {
                format!("give {} to {MAXIMUM_MEMBERS} spindles", VraidConfig::LEAST_SET)
            }
            Self::SpindleCount { layout: LayoutName::Raid5, .. } => {
                format!(
                    "give 2 to {} data spindles; 1 more makes room for parity",
                    MAXIMUM_MEMBERS - 1
                )
            }
            Self::SpindleCount { layout, .. } => match layout.parity() {
                Some(parity) => format!(
                    "give 1 to {} data spindles; {} more hold parity",
                    parity.most_spindles() - parity.spindles(),
                    parity.spindles()
                ),
                None => "give more".to_owned(),
            },
            Self::TooManyGroups { .. } => "an array takes no more: create another array".to_owned(),
            Self::GroupTooWide { most, .. } => {
                format!("give it {most} spindles or fewer, and add several groups")
            }
            Self::TooManySpindles { .. } => {
                format!("an array takes {MAXIMUM_MEMBERS}: add fewer, or create another array")
            }
            Self::SpindlesTooSmall { .. } => {
                "give larger spindles, or a smaller log or cache".to_owned()
            }
            Self::NoLun => "give it 1 MiB or more".to_owned(),
            Self::LunTooLarge { largest_bytes: 0, .. } => {
                "give a smaller LUN or larger spindles".to_owned()
            }
            Self::LunTooLarge { largest_bytes, .. } => format!(
                "the largest that fits has {}: beside it there must be room for metadata and for what is written \
                 before what it replaces is free, more with a larger log or cache; or give more or larger spindles",
                Size(*largest_bytes)
            ),
            Self::LunTooLargeAtAll { .. } => "give a LUN of 7 TiB or less".to_owned(),
            Self::LogTooSmall { .. } => {
                format!("give each half {} or more", Size(LEAST_LOG_HALF_BYTES))
            }
            Self::Cache { .. } => {
                format!("give it {} to 16 TiB", Size(LEAST_CACHE_BYTES))
            }
            Self::Impossible(_) => "change what the message names".to_owned(),
        }
    }
}

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
