//! How an array is configured: stored in its label as TOML, and translated for `strewn-array`.
//!
//! [`ArraySpec::plan`] completes the user's specification. The result is stored, so that later defaults do not change
//! existing arrays. Sizes are in blocks of 4 KiB or in bytes.

mod arrays;
mod check;
mod error;
mod layout;
mod layout_name;
mod plan;
mod size;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use strewn_raid::Parity;

pub use arrays::ArrayConfig;
pub use error::ConfigurationError;
pub use layout::{AddedGroup, ArrayLayout, InPlaceLayout, Stripes, WriteAnywhereLayout};
pub use layout_name::LayoutName;
pub use plan::ArraySpec;
pub(crate) use size::Size;

use crate::device::BLOCK_BYTES;
use crate::format::{LogLayout, MAXIMUM_CONFIGURATION_BYTES, device_blocks_for};
use crate::toml_text;

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
        let configuration: Self = toml_text::read(text).map_err(ConfigurationError::Text)?;
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

    /// Returns the name of its layout: of a write-anywhere array, that of its first parity group.
    ///
    /// # Panics
    /// If the layout is one without parity, which [`to_toml`](Self::to_toml) refuses.
    #[must_use]
    pub fn layout_name(&self) -> LayoutName {
        match &self.layout {
            ArrayLayout::WriteAnywhere(layout) => name_of_parity(layout.parity),
            ArrayLayout::InPlace(layout) => layout.name(),
        }
    }

    /// Returns the number of spindles, including parity, of all groups; saturates at 65535.
    #[must_use]
    pub fn spindles(&self) -> u16 {
        self.groups().last().map_or(0, |group| group.spindles.end)
    }

    /// Returns the groups of spindles that have parity of their own: one, and those that were added since.
    #[must_use]
    pub fn groups(&self) -> Vec<SpindleGroup> {
        let (first, added): (u16, &[AddedGroup]) = match &self.layout {
            ArrayLayout::WriteAnywhere(layout) => (
                layout.data_spindles.saturating_add(layout.parity.spindles()),
                &layout.added_groups,
            ),
            ArrayLayout::InPlace(layout) => (layout.spindles(), &[]),
        };
        let blocks_per_spindle = self.blocks_per_spindle;
        let layout = self.layout_name();
        let mut groups = vec![SpindleGroup { layout, spindles: 0..first, blocks_per_spindle }];
        let mut end = first;
        for added in added {
            let AddedGroup { parity, data_spindles, blocks_per_spindle } = *added;
            let spindles = end..end.saturating_add(data_spindles.saturating_add(parity.spindles()));
            end = spindles.end;
            let layout = name_of_parity(parity);
            groups.push(SpindleGroup { layout, spindles, blocks_per_spindle });
        }
        groups
    }

    /// Returns the group of the spindle at `position`: the last one if there is no such spindle.
    #[must_use]
    pub fn group_of(&self, position: u16) -> SpindleGroup {
        let mut groups = self.groups();
        let at = groups.iter().position(|group| group.spindles.contains(&position));
        groups.swap_remove(at.unwrap_or(groups.len() - 1))
    }

    /// Returns whether the array has all data without the spindles at these positions.
    #[must_use]
    pub fn survives(&self, lost: &[u16]) -> bool {
        self.groups().iter().all(|group| group.survives(lost))
    }

    /// Returns the size of the LUN, in bytes.
    #[must_use]
    pub fn lun_bytes(&self) -> u64 {
        self.lun_blocks.saturating_mul(BLOCK_BYTES as u64)
    }

    /// Returns the layout of the log device, which was made for the spindles that the array was created with.
    #[must_use]
    pub fn log_layout(&self) -> LogLayout {
        LogLayout::new(self.log_half_bytes, self.group_of(0).spindles.end)
    }

    /// Returns the fewest blocks of the device of the spindle at `position`, including both copies of the label.
    #[must_use]
    pub fn device_blocks_of(&self, position: u16) -> u64 {
        self.group_of(position).device_blocks()
    }
}

/// Spindles with parity of their own: a parity group, or all spindles of an in-place array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpindleGroup {
    /// RAID level of these spindles.
    pub layout: LayoutName,
    /// The positions of its spindles.
    pub spindles: Range<u16>,
    /// Blocks of each spindle that hold data or parity.
    pub blocks_per_spindle: u64,
}

impl SpindleGroup {
    /// Returns how many spindles may be lost at a time.
    #[must_use]
    pub fn redundancy(&self) -> u16 {
        self.layout.redundancy()
    }

    /// Returns whether it has all data without the spindles at these positions, of any group.
    #[must_use]
    pub fn survives(&self, lost: &[u16]) -> bool {
        let ours = lost.iter().filter(|position| self.spindles.contains(position));
        ours.count() <= usize::from(self.redundancy())
    }

    /// Returns the fewest blocks of a spindle's device, including both copies of the label.
    #[must_use]
    pub fn device_blocks(&self) -> u64 {
        device_blocks_for(self.blocks_per_spindle)
    }

    /// Returns the smallest size of a spindle's device, in bytes.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.device_blocks() * BLOCK_BYTES as u64
    }
}

/// Returns the name of the layout with this parity.
fn name_of_parity(parity: Parity) -> LayoutName {
    match parity {
        Parity::None => panic!("a live array has parity"),
        Parity::Raid4 => LayoutName::Raid4,
        Parity::RaidDp => LayoutName::RaidDp,
    }
}

#[cfg(test)]
mod tests;
