//! The layouts of arrays.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::in_place::{LunLayout, Raid5Layout};
use strewn_raid::{LayoutError, Parity, VraidConfig, VraidLayout};

use super::error::ConfigurationError;
use super::layout_name::LayoutName;

impl FromStr for LayoutName {
    type Err = ConfigurationError;

    fn from_str(name: &str) -> Result<Self, ConfigurationError> {
        let named = Self::ALL.into_iter().find(|layout| layout.as_str() == name);
        named.ok_or_else(|| ConfigurationError::UnknownLayout(name.to_owned()))
    }
}

/// A layout with its sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayLayout {
    /// Copy on write: `strewn_array::write_anywhere`.
    WriteAnywhere(WriteAnywhereLayout),
    /// Update in place: `strewn_array::in_place`.
    InPlace(InPlaceLayout),
}

/// The sizes of a write-anywhere array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteAnywhereLayout {
    /// One or two parity spindles.
    #[serde(with = "parity_name")]
    pub parity: Parity,
    /// Spindles without parity.
    pub data_spindles: u16,
    /// Number of blocks in the volume with the LUN. The numbering of metadata blocks depends on it, so it never
    /// changes.
    pub volume_blocks: u64,
    /// Allocation policy: where the next blocks go.
    #[serde(with = "policy_name")]
    pub policy: PolicyName,
    /// Stripes in an allocation area.
    pub area_stripes: u64,
    /// Stripes written to RAID at once.
    pub tetris_stripes: u64,
    /// Consecutive blocks written to one spindle before the next has its turn.
    pub chunk_blocks: u64,
    /// Tetrises in flight to the spindles.
    pub tetrises_in_flight: u32,
    /// Longest time between the starts of consistency points, in milliseconds.
    #[serde(rename = "checkpoint_interval_ms")]
    pub consistency_point_interval_ms: u64,
    /// Largest fraction of the cache for blocks that were used more than once, in percent.
    pub protected_percent: u8,
    /// Dirty fraction of the cache above which a consistency point begins, in percent.
    pub dirty_limit_percent: u8,
    /// Blocks freed by the volume whose frees may be held back from the aggregate.
    pub delayed_free_blocks: u64,
    /// Parity groups added since the array was created, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_groups: Vec<AddedGroup>,
}

/// A parity group added to a write-anywhere array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedGroup {
    /// One or two parity spindles.
    #[serde(with = "parity_name")]
    pub parity: Parity,
    /// Spindles without parity.
    pub data_spindles: u16,
    /// Blocks of each spindle that hold data or parity: whole rows of 64.
    pub blocks_per_spindle: u64,
}

impl WriteAnywhereLayout {
    /// Returns its sizes of allocation area, tetris and chunk.
    #[must_use]
    pub fn shape(&self) -> AllocationShape {
        AllocationShape {
            area_stripes: self.area_stripes,
            tetris_stripes: self.tetris_stripes,
            chunk_blocks: self.chunk_blocks,
        }
    }
}

/// The sizes of an in-place array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InPlaceLayout {
    /// How stripes are laid out in the redundancy sets.
    #[serde(default, skip_serializing_if = "Stripes::are_dealt")]
    pub stripes: Stripes,
    /// Spindles in each redundancy set, 5 to 16, numbered set by set; one set of all spindles if stripes span all.
    pub redundancy_sets: Vec<u16>,
    /// Size of a stripe on one spindle, in bytes.
    pub chunk_bytes: u64,
    /// Size of a segment, in bytes; a segment lies on one spindle.
    pub segment_bytes: u64,
    /// Dirty fraction of the write cache below which nothing is written back, in percent.
    pub destage_low_percent: u8,
    /// Extents in flight to the spindles, per spindle.
    pub destages_per_spindle: u32,
}

/// How the stripes of an in-place array are laid out in its redundancy sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stripes {
    /// Four chunks of data and one of parity, distributed over the spindles of a set: VRAID-5.
    #[default]
    Dealt,
    /// A chunk on each spindle of a single set: RAID-5.
    OverAll,
}

impl Stripes {
    // serde requires this signature.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn are_dealt(&self) -> bool {
        *self == Self::Dealt
    }
}

impl InPlaceLayout {
    /// Returns the name of the layout.
    #[must_use]
    pub fn name(&self) -> LayoutName {
        match self.stripes {
            Stripes::Dealt => LayoutName::Vraid5,
            Stripes::OverAll => LayoutName::Raid5,
        }
    }

    /// Returns the number of spindles; saturates at 65535.
    #[must_use]
    pub fn spindles(&self) -> u16 {
        self.redundancy_sets.iter().fold(0, |sum, set| sum.saturating_add(*set))
    }

    /// Returns the layout of a LUN on spindles of `spindle_bytes`.
    ///
    /// # Errors
    /// If the layout is invalid.
    pub fn lun_layout(&self, spindle_bytes: u64) -> Result<LunLayout, ConfigurationError> {
        let layout = self.name();
        let too_small = ConfigurationError::SpindlesTooSmall { layout, spindle_bytes };
        match self.stripes {
            Stripes::Dealt => {
                let vraid = VraidConfig {
                    redundancy_sets: self.redundancy_sets.clone(),
                    chunk_bytes: self.chunk_bytes,
                    segment_bytes: self.segment_bytes,
                };
                VraidLayout::new(vraid, spindle_bytes).map(LunLayout::from).map_err(|error| {
                    match error {
                        LayoutError::SpindleBelowSegments { .. } => too_small,
                        error => ConfigurationError::Impossible(error.to_string()),
                    }
                })
            }
            Stripes::OverAll => {
                let spindles = self.spindles();
                let (chunk, segment) = (self.chunk_bytes, self.segment_bytes);
                let made = Raid5Layout::new(spindles, chunk, segment, spindle_bytes);
                made.map(LunLayout::from).map_err(|error| match error {
                    LayoutError::SpindleBelowChunk { .. } => too_small,
                    LayoutError::Raid5Spindles { .. } => {
                        ConfigurationError::SpindleCount { layout, spindles }
                    }
                    error => ConfigurationError::Impossible(error.to_string()),
                })
            }
        }
    }
}

mod parity_name {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use strewn_raid::Parity;

    use super::LayoutName;

    // serde requires this signature.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(
        parity: &Parity,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match parity {
            Parity::None => {
                return Err(serde::ser::Error::custom("a live array has parity, not RAID-0"));
            }
            Parity::Raid4 => LayoutName::Raid4.as_str(),
            Parity::RaidDp => LayoutName::RaidDp.as_str(),
        })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Parity, D::Error> {
        let name = String::deserialize(deserializer)?;
        let layout = name.parse().ok().and_then(LayoutName::parity);
        layout.ok_or_else(|| D::Error::custom(format!("there is no parity '{name}'")))
    }
}

mod policy_name {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use strewn_alloc::PolicyName;

    // serde requires this signature.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(
        policy: &PolicyName,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(policy.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PolicyName, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(D::Error::custom)
    }
}
