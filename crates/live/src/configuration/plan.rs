//! Completes a user's specification to a configuration.

use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_raid::VraidConfig;

use super::{
    ArrayLayout, Configuration, ConfigurationError, InPlaceLayout, LayoutName, Stripes,
    WriteAnywhereLayout,
};
use crate::device::BLOCK_BYTES;
use crate::format::data_blocks;

const MEBIBYTE: u64 = 1 << 20;

/// The user's specification of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArraySpec {
    /// RAID level, which also decides whether the array writes anywhere or in place.
    pub layout: LayoutName,
    /// Spindles without parity, or their equivalent for RAID-5; all spindles for VRAID-5.
    pub data_spindles: u16,
    /// Size of the smallest spindle's device, in bytes.
    pub spindle_bytes: u64,
    /// Size of the LUN in bytes, rounded up to whole blocks.
    pub lun_bytes: u64,
    /// Size of one half of the NVRAM log, in bytes. Default: a sixteenth of the LUN, 1 MiB to 64 MiB.
    pub log_half_bytes: Option<u64>,
    /// Size of the cache, in bytes. Default: a quarter of the LUN, 4 MiB to 512 MiB.
    pub cache_bytes: Option<u64>,
}

impl ArraySpec {
    /// Returns the number of spindles, including parity.
    #[must_use]
    pub fn spindles(&self) -> u16 {
        self.data_spindles.saturating_add(self.layout.parity_spindles())
    }

    /// Returns the complete, checked configuration.
    ///
    /// # Errors
    /// If the specification is invalid. If the LUN is too large, the error states the largest that fits.
    pub fn plan(&self) -> Result<Configuration, ConfigurationError> {
        let configuration = self.of_lun(self.lun_bytes)?;
        match configuration.check() {
            Err(ConfigurationError::LunTooLarge { lun_bytes, layout, .. }) => {
                let largest_bytes = self.largest_lun_bytes();
                if largest_bytes == 0 {
                    let spindle_bytes = self.spindle_bytes;
                    return Err(ConfigurationError::SpindlesTooSmall { layout, spindle_bytes });
                }
                Err(ConfigurationError::LunTooLarge { lun_bytes, largest_bytes, layout })
            }
            // The check counts whole rows; the user knows the device's size.
            Err(ConfigurationError::SpindlesTooSmall { layout, .. }) => {
                let spindle_bytes = self.spindle_bytes;
                Err(ConfigurationError::SpindlesTooSmall { layout, spindle_bytes })
            }
            checked => checked.map(|()| configuration),
        }
    }

    /// Returns the size of the largest LUN that fits, in bytes, rounded down to MiB; 0 if none does.
    #[must_use]
    pub fn largest_lun_bytes(&self) -> u64 {
        let fits = |mebibytes: u64| {
            self.of_lun(mebibytes * MEBIBYTE)
                .is_ok_and(|configuration| configuration.check().is_ok())
        };
        let raw = (self.spindle_bytes / MEBIBYTE).saturating_mul(u64::from(self.spindles()));
        let (mut below, mut above) = (0, raw + 1);
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if fits(middle) { below = middle } else { above = middle }
        }
        below * MEBIBYTE
    }

    /// Returns the configuration for a LUN of `lun_bytes`, without checking it.
    fn of_lun(&self, lun_bytes: u64) -> Result<Configuration, ConfigurationError> {
        let block = BLOCK_BYTES as u64;
        let lun_blocks = lun_bytes.div_ceil(block);
        let log_half_bytes = self.log_half_bytes.unwrap_or_else(|| {
            (lun_bytes / 16).next_multiple_of(MEBIBYTE).clamp(MEBIBYTE, 64 * MEBIBYTE)
        });
        let cache_bytes = self.cache_bytes.unwrap_or_else(|| {
            (lun_bytes / 4).next_multiple_of(MEBIBYTE).clamp(4 * MEBIBYTE, 512 * MEBIBYTE)
        });
        let cache_blocks = u32::try_from(cache_bytes / block).unwrap_or(u32::MAX);
        let layout = match self.layout.parity() {
            Some(parity) => {
                let AllocationShape { area_stripes, tetris_stripes, chunk_blocks } =
                    AllocationShape::default();
                let delayed_free_blocks = lun_blocks / 100;
                // A half of the log dirties fewer than two blocks for each 4 KiB of it.
                let log_blocks = u32::try_from(2 * (log_half_bytes / block)).unwrap_or(u32::MAX);
                ArrayLayout::WriteAnywhere(WriteAnywhereLayout {
                    parity,
                    data_spindles: self.data_spindles,
                    volume_blocks: WriteAnywhereConfig::volume_blocks_for(
                        lun_blocks,
                        delayed_free_blocks,
                        cache_blocks.max(log_blocks),
                    ),
                    policy: PolicyName::default(),
                    area_stripes,
                    tetris_stripes,
                    chunk_blocks,
                    tetrises_in_flight: 2,
                    consistency_point_interval_ms: 10_000,
                    protected_percent: 50,
                    dirty_limit_percent: 30,
                    delayed_free_blocks,
                    added_groups: Vec::new(),
                })
            }
            None => {
                let (layout, spindles) = (self.layout, self.spindles());
                let (stripes, vraid) = match layout {
                    LayoutName::Raid5 => (Stripes::OverAll, VraidConfig::new(vec![spindles])),
                    _ => {
                        let dealt = VraidConfig::for_spindles(spindles);
                        let error = ConfigurationError::SpindleCount { layout, spindles };
                        (Stripes::Dealt, dealt.map_err(|_| error)?)
                    }
                };
                ArrayLayout::InPlace(InPlaceLayout {
                    stripes,
                    redundancy_sets: vraid.redundancy_sets,
                    chunk_bytes: vraid.chunk_bytes,
                    segment_bytes: vraid.segment_bytes,
                    destage_low_percent: 10,
                    destages_per_spindle: 8,
                })
            }
        };
        Ok(Configuration {
            lun_blocks,
            blocks_per_spindle: data_blocks(self.spindle_bytes / block),
            log_half_bytes,
            cache_bytes,
            layout,
        })
    }
}
