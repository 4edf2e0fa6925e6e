//! How an array is configured: stored in its label as TOML, and translated for `strewn-array`.
//!
//! [`ArraySpec::plan`] completes the user's specification. The result is stored, so that later defaults do not change
//! existing arrays. Sizes are in blocks of 4 KiB or in bytes.

mod arrays;
mod check;
mod layout;
mod plan;
mod size;

use serde::{Deserialize, Serialize};

pub use arrays::ArrayConfig;
pub use check::ConfigurationError;
pub use layout::{
    ArrayLayout, InPlaceLayout, LayoutName, Stripes, UnknownLayout, WriteAnywhereLayout,
};
pub use plan::ArraySpec;
pub(crate) use size::Size;

use crate::device::BLOCK_BYTES;
use crate::format::{LogLayout, MAXIMUM_CONFIGURATION_BYTES, device_blocks_for};

/// The configuration of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Size of the LUN, in blocks.
    pub lun_blocks: u64,
    /// Blocks of each spindle that hold data or parity: whole rows of 64.
    pub blocks_per_spindle: u64,
    /// Size of one half of the NVRAM log, in accounted bytes.
    pub log_half_bytes: u64,
    /// Size of the buffer cache (write-anywhere) or the write cache (in place), in bytes.
    pub cache_bytes: u64,
    /// The layout, with its sizes.
    pub layout: ArrayLayout,
}

impl Configuration {
    /// Parses and checks the text in a label.
    ///
    /// # Errors
    /// If it is not TOML, has unknown keys, or is invalid.
    pub fn from_toml(text: &str) -> Result<Self, ConfigurationError> {
        let configuration: Self = toml::from_str(text)
            .map_err(|error| ConfigurationError::Text(error.message().to_owned()))?;
        configuration.check()?;
        Ok(configuration)
    }

    /// Returns the text for a label.
    ///
    /// # Errors
    /// If the text does not fit in a label.
    pub fn to_toml(&self) -> Result<String, ConfigurationError> {
        let text =
            toml::to_string(self).map_err(|error| ConfigurationError::Text(error.to_string()))?;
        if text.len() > MAXIMUM_CONFIGURATION_BYTES {
            return Err(ConfigurationError::TooLong(text.len()));
        }
        Ok(text)
    }

    /// Returns the name of its layout.
    ///
    /// # Panics
    /// If the layout is one without parity, which [`to_toml`](Self::to_toml) refuses.
    #[must_use]
    pub fn layout_name(&self) -> LayoutName {
        match &self.layout {
            ArrayLayout::WriteAnywhere(layout) => match layout.parity {
                strewn_raid::Parity::None => panic!("a live array has parity"),
                strewn_raid::Parity::Raid4 => LayoutName::Raid4,
                strewn_raid::Parity::RaidDp => LayoutName::RaidDp,
            },
            ArrayLayout::InPlace(layout) => layout.name(),
        }
    }

    /// Returns the number of spindles, including parity; saturates at 65535.
    #[must_use]
    pub fn spindles(&self) -> u16 {
        match &self.layout {
            ArrayLayout::WriteAnywhere(layout) => {
                layout.data_spindles.saturating_add(layout.parity.spindles())
            }
            ArrayLayout::InPlace(layout) => layout.spindles(),
        }
    }

    /// Returns how many spindles may be lost at a time.
    #[must_use]
    pub fn redundancy(&self) -> u16 {
        self.layout_name().redundancy()
    }

    /// Returns the size of the LUN, in bytes.
    #[must_use]
    pub fn lun_bytes(&self) -> u64 {
        self.lun_blocks.saturating_mul(BLOCK_BYTES as u64)
    }

    /// Returns the layout of the log device.
    #[must_use]
    pub fn log_layout(&self) -> LogLayout {
        LogLayout::new(self.log_half_bytes, self.spindles())
    }

    /// Returns the fewest blocks of a spindle's device, including both copies of the label.
    #[must_use]
    pub fn spindle_device_blocks(&self) -> u64 {
        device_blocks_for(self.blocks_per_spindle)
    }
}

#[cfg(test)]
mod tests;
