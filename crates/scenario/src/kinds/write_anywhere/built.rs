//! Write-anywhere arrays, built.

use strewn_alloc::{AllocationShape, MapPicture};
use strewn_array::write_anywhere::{OtherData, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{LogSize, Payload, Rebuild};
use strewn_base::BLOCK_BYTES;
use strewn_raid::ParityGroup as Group;
use strewn_results::ArrayMap;
use strewn_volume::VirtualSpace;

use super::WriteAnywhere as Settings;
use crate::array::Array;
use crate::build::{self, BuildError, Mapped, map_of_groups, stream_matches};
use crate::scenario::Scenario;
use crate::volume::VolumeLuns;

/// Builds one array of a scenario.
pub(super) fn array(
    layout: &Settings,
    scenario: &Scenario,
    array: &Array,
) -> Result<WriteAnywhere<()>, BuildError> {
    let processor = build::processor_costs(&array.processor);
    let steps_in_flight = array.rebuild_steps_in_flight;
    let cache_blocks = cache_blocks(layout);
    let percent_of_cache =
        |percent: f64| ((f64::from(cache_blocks) * percent / 100.0) as u32).max(1);
    let placed = layout.groups();
    let blocks_per_spindle =
        layout.right_sized_bytes / BLOCK_BYTES / u64::from(scenario.spindle_stretch);
    let groups = placed
        .iter()
        .map(|one| Group::new(one.parity, one.data_spindles, blocks_per_spindle))
        .collect::<Result<Vec<_>, _>>()?;
    let groups_at_start = placed.iter().filter(|group| group.from_ns == 0).count();
    let at_start = groups.iter().take(groups_at_start);
    let blocks_at_start: u64 = at_start.map(Group::total_blocks).sum();
    let usable = blocks_at_start as f64 * (1.0 - layout.reserve_percent / 100.0);
    let volumes = volumes(scenario, array, layout, &groups)?;
    let built = strewn_write_anywhere::array(WriteAnywhereConfig {
        groups,
        groups_at_start,
        shape: AllocationShape {
            area_stripes: layout.area_stripes.into(),
            tetris_stripes: layout.tetris_stripes.into(),
            chunk_blocks: layout.chunk_blocks.into(),
        },
        policy: layout.policy,
        other_data: layout.other_data.map(|other| OtherData {
            full_to_blocks: (usable * other.full_percent / 100.0) as u64,
            run_blocks: other.run_blocks,
            seed: scenario.seed,
        }),
        volumes,
        format: layout.format,
        log: LogSize {
            half_bytes: layout.log_half_bytes,
            record_header_bytes: layout.log_record_header_bytes,
        },
        consistency_point_interval_ns: layout.checkpoint_interval_ns,
        cache_blocks,
        protected_blocks: percent_of_cache(layout.protected_percent),
        dirty_limit_blocks: percent_of_cache(layout.dirty_limit_percent),
        tetrises_in_flight: layout.tetrises_in_flight,
        delayed_free_blocks: delayed_free_blocks(array, layout),
        cache_start: layout.cache_start,
        chunks: layout.chunks,
        processor,
    })?;
    let spares = layout.spares;
    let built = built
        .with_rebuild(Rebuild { spares, steps_in_flight })
        .with_read_gap_aggregation(layout.read_through_blocks)
        .with_background(layout.background)
        .with_relocation(layout.relocation);
    let mut built = built;
    built.set_read_ahead(layout.read_ahead_bytes);
    built.set_stream_matches(stream_matches(scenario, array));
    built.set_reserve(layout.reserve_percent);
    Ok(built)
}

/// Returns the volumes of a write-anywhere array: those that its LUNs name, in the order of the first LUN of each.
fn volumes(
    scenario: &Scenario,
    array: &Array,
    layout: &Settings,
    groups: &[Group],
) -> Result<Vec<VolumeConfig>, BuildError> {
    let by_volume = array.luns_by_volume();
    let aggregate_blocks: u64 = groups.iter().map(Group::total_blocks).sum();
    let most_blocks = VirtualSpace::MOST_BLOCKS / by_volume.len().max(1) as u64;
    let in_blocks = |bytes: u64| {
        u32::try_from(bytes.div_ceil(BLOCK_BYTES)).map_err(|_| BuildError::FileTooLarge(bytes))
    };
    let of_volume = |volume: VolumeLuns<'_>| {
        let luns = || volume.luns.iter();
        let files: Vec<u32> = luns()
            .map(|lun| in_blocks(scenario.file_bytes_of(array, lun)))
            .collect::<Result<_, _>>()?;
        let laid_out: Vec<u32> = luns()
            .map(|lun| in_blocks(scenario.laid_out_bytes_of(array, lun)))
            .collect::<Result<_, _>>()?;
        let lun_blocks: u64 = luns().map(|lun| lun.bytes.div_ceil(BLOCK_BYTES)).sum();
        // Each snapshot, and one that is being deleted, may hold all files as they were. Files that are small beside
        // their LUNs leave that much in the volume.
        let images = array.snapshots_of(&volume).map_or(0, |schedule| u64::from(schedule.keep) + 2);
        let file_blocks: u64 = files.iter().map(|blocks| u64::from(*blocks)).sum();
        let held = (file_blocks * images).min(aggregate_blocks);
        let volume_for = |blocks| {
            let delayed_free_blocks = delayed_free_blocks(array, layout);
            WriteAnywhereConfig::volume_blocks_for(
                blocks,
                delayed_free_blocks,
                cache_blocks(layout),
            )
        };
        // LUNs of a thin volume may be larger than the aggregate. It never has more blocks than that.
        let own = match volume.is_thin() {
            true => volume_for(lun_blocks.min(aggregate_blocks)).min(most_blocks),
            false => volume_for(lun_blocks),
        };
        Ok(VolumeConfig {
            // Without a description there is no other claim to the space, and no need to count.
            reservation_blocks: (!array.volumes.is_empty())
                .then(|| volume.reserved_bytes().div_ceil(BLOCK_BYTES)),
            laid_out,
            ..VolumeConfig::new(own.max(volume_for(held).min(most_blocks)), files)
        })
    };
    by_volume.into_iter().map(of_volume).collect()
}

fn cache_blocks(layout: &Settings) -> u32 {
    (layout.buffer_cache_bytes / BLOCK_BYTES) as u32
}

fn delayed_free_blocks(array: &Array, layout: &Settings) -> u64 {
    let lun_blocks = layout.stored_bytes(array).div_ceil(BLOCK_BYTES);
    (lun_blocks as f64 * layout.delayed_free_percent / 100.0) as u64
}

/// Returns the memory that an array needs, in bytes.
pub(super) fn memory_bytes(layout: &Settings, scenario: &Scenario, array: &Array) -> u64 {
    let file_blocks = scenario.file_bytes(array) / BLOCK_BYTES;
    let volume_blocks = layout.stored_bytes(array) / BLOCK_BYTES;
    let data_spindles: u64 =
        layout.groups().iter().map(|group| u64::from(group.data_spindles)).sum();
    let aggregate_blocks = data_spindles * layout.right_sized_bytes / BLOCK_BYTES;
    // Block map, regions and states in the cache; dirty and rewritten bits; the free map; delayed frees; the uses of
    // buffers.
    file_blocks * 8
        + file_blocks / 4
        + aggregate_blocks / 8
        + (volume_blocks as f64 * layout.delayed_free_percent / 100.0 * 8.0) as u64
        + layout.buffer_cache_bytes / BLOCK_BYTES * 40
        + snapshot_bytes(scenario, array, aggregate_blocks)
}

/// Returns the memory that snapshots need, and the count of what volumes may claim, in bytes.
fn snapshot_bytes(scenario: &Scenario, array: &Array, aggregate_blocks: u64) -> u64 {
    let volumes = array.luns_by_volume();
    // An entry of eight bytes for each block that snapshots hold, at most the whole file for each of them and for one
    // being deleted, in lists that grow by doubling.
    let held = volumes.iter().filter_map(|volume| {
        let schedule = array.snapshots_of(volume)?;
        let taken = scenario.length_ns() / schedule.every_ns.max(1);
        let images = (u64::from(schedule.keep) + 1).min(taken);
        let files = volume.luns.iter().map(|lun| scenario.file_bytes_of(array, lun) / BLOCK_BYTES);
        Some(images.saturating_mul(files.sum()))
    });
    match held.reduce(u64::saturating_add) {
        None if !volumes.iter().any(VolumeLuns::is_thin) => 0,
        // Births of all blocks.
        held => {
            scenario.file_bytes(array) / BLOCK_BYTES * 2
                + held.unwrap_or_default().min(aggregate_blocks) * 16
        }
    }
}

impl<P: Payload> Mapped for WriteAnywhere<P> {
    fn empty_map(&self, _scenario: &Scenario, array: &Array) -> ArrayMap {
        let groups = self.parity_groups();
        let longest = groups.iter().map(Group::blocks_per_spindle).max().unwrap_or(0);
        let is_parity = |spindle| strewn_array::Array::is_parity(self, spindle);
        let spindles = groups.iter().map(Group::spindles).sum();
        map_of_groups(&array.name, longest, groups.len() > 1, spindles, is_parity)
    }

    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        self.map_picture(map.columns, map.blocks_per_spindle, files)
    }
}
