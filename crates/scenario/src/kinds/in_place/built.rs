//! In-place arrays, built.

use strewn_alloc::{GroupIndex, MapPicture};
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid0Layout, Raid5Layout,
};
use strewn_array::{LogSize, Payload, Rebuild};
use strewn_base::SECTOR_BYTES;
use strewn_raid::{VraidConfig, VraidLayout};
use strewn_results::ArrayMap;

use super::{DiskGroup, InPlace as Settings, InPlaceLayout};
use crate::array::Array;
use crate::build::{self, BuildError, Mapped, stream_matches};
use crate::scenario::Scenario;

/// Builds one array of a scenario.
pub(super) fn array(
    layout: &Settings,
    scenario: &Scenario,
    array: &Array,
) -> Result<InPlace<()>, BuildError> {
    let processor = build::processor_costs(&array.processor);
    let steps_in_flight = array.rebuild_steps_in_flight;
    let spindle_sectors =
        build::drive(&array.spindle)?.capacity_sectors() / u64::from(scenario.spindle_stretch);
    let write_cache_sectors = layout.write_cache_bytes / SECTOR_BYTES;
    let full_stripes = layout.full_stripe_destage;
    let disk_group = |group: &DiskGroup| {
        let in_flight = layout.destages_per_spindle * f64::from(group.spindles);
        let layout = lun_layout(group, spindle_sectors * SECTOR_BYTES)?;
        // The array reserves two drives' capacity per failure.
        let spares = group.protection_level.reserved_drives() / 2;
        let config = DiskGroupConfig::new(layout, (in_flight.round() as u32).max(1));
        let rebuild = Rebuild { spares, steps_in_flight };
        Ok::<_, BuildError>(config.with_rebuild(rebuild).with_full_stripes(full_stripes))
    };
    let built = strewn_in_place::array(InPlaceConfig {
        groups: layout.groups.iter().map(disk_group).collect::<Result<_, _>>()?,
        luns: array
            .luns
            .iter()
            .map(|lun| LunConfig {
                group: GroupIndex(lun.group.saturating_sub(1)),
                sectors: lun.bytes / SECTOR_BYTES,
                file_sectors: scenario.file_bytes_of(array, lun) / SECTOR_BYTES,
            })
            .collect(),
        spindle_sectors,
        write_cache_sectors,
        destage_low_sectors: (write_cache_sectors as f64 * layout.destage_low_percent / 100.0)
            as u64,
        format: layout.format,
        // The cache of the modelled array is mirrored, and protects what is acknowledged.
        log: layout.format.is_durable().then_some(LogSize {
            half_bytes: layout.log_half_bytes,
            record_header_bytes: layout.log_record_header_bytes,
        }),
        processor,
    })?;
    let mut built = built;
    built.set_read_cache(layout.read_ahead_bytes, layout.read_cache_bytes);
    built.set_stream_matches(stream_matches(scenario, array));
    Ok(built)
}

/// Returns the layout of a disk group's LUNs on spindles of `spindle_bytes`.
fn lun_layout(group: &DiskGroup, spindle_bytes: u64) -> Result<LunLayout, BuildError> {
    let (chunk_bytes, segment_bytes) = (group.chunk_bytes, group.segment_bytes);
    Ok(match group.layout {
        InPlaceLayout::Vraid5 => {
            let redundancy_sets = group.redundancy_sets.clone();
            let config = VraidConfig { redundancy_sets, chunk_bytes, segment_bytes };
            VraidLayout::new(config, spindle_bytes)?.into()
        }
        InPlaceLayout::Raid5 => {
            Raid5Layout::new(group.spindles, chunk_bytes, segment_bytes, spindle_bytes)?.into()
        }
        InPlaceLayout::Raid0 => {
            Raid0Layout::new(group.spindles, chunk_bytes, segment_bytes, spindle_bytes)?.into()
        }
    })
}

impl<P: Payload> Mapped for InPlace<P> {
    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        self.map_picture(map.columns, map.blocks_per_spindle, files)
    }
}
