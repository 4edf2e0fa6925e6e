//! Why a configuration is invalid.

use strewn_raid::VraidConfig;

use super::layout_name::LayoutName;
use super::size::Size;
use crate::format::{MAXIMUM_CONFIGURATION_BYTES, MAXIMUM_MEMBERS};

/// Smallest half of a log: the largest piece of a host's write must fit.
pub(super) const LEAST_LOG_HALF_BYTES: u64 = 1 << 20;

/// Smallest cache.
pub(super) const LEAST_CACHE_BYTES: u64 = 1 << 20;

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
