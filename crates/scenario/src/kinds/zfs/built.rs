//! ZFS pools, built.

use strewn_alloc::MapPicture;
use strewn_results::ArrayMap;
use strewn_zfs::{PipelineCosts, VolumeConfig, ZfsArray, ZfsConfig};

use super::{PlacedVdev, SyncWrites, Zfs};
use crate::array::Array;
use crate::build::{self, BuildError, Mapped};
use crate::scenario::Scenario;

/// Builds one array of a scenario.
pub(super) fn array(zfs: &Zfs, scenario: &Scenario, array: &Array) -> Result<ZfsArray, BuildError> {
    let drive_bytes = build::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
    let volumes = build::luns(array).into_iter().map(|lun| VolumeConfig {
        bytes: lun.bytes,
        filled_bytes: scenario.file_bytes_of(array, lun),
        block_bytes: zfs.block_bytes() as u32,
        stored_bytes: zfs.stored_bytes() as u32,
    });
    let placed = zfs.placed_vdevs();
    let vdev = |placed: &PlacedVdev| placed.vdev(zfs, drive_bytes, scenario.spindle_stretch);
    let classes = match zfs.further_vdevs.is_empty() {
        true => Vec::new(),
        false => placed.iter().map(|vdev| vdev.class).collect(),
    };
    let config = ZfsConfig {
        version: zfs.version,
        vdevs: placed.iter().map(vdev).collect(),
        classes,
        late_vdevs: placed.iter().filter(|vdev| vdev.from_ns > 0).count(),
        special_small_bytes: zfs.special_small_bytes,
        volumes: volumes.collect(),
        arc_bytes: zfs.arc_bytes,
        l2arc: zfs.l2arc.map(|l2arc| l2arc.config(zfs, scenario.spindle_stretch)),
        autotrim: zfs.autotrim,
        dirty_limit_bytes: zfs.dirty_limit_bytes,
        txg_interval_ns: zfs.txg_interval_ns,
        throttle_slots: (zfs.throttle_slots > 0).then_some(zfs.throttle_slots as u32),
        prefetch_bytes: zfs.prefetch_bytes,
        spares: zfs.spares,
        resilver: zfs.resilver,
        is_synchronous: zfs.sync == SyncWrites::Always,
        pipeline: PipelineCosts {
            issue_ns: zfs.block_issue_ns,
            completion_ns: zfs.block_completion_ns,
        },
        reserves: zfs.reserves(),
        scan: zfs.scan(),
        seed: scenario.seed,
        processor: build::processor_costs(&array.processor),
    };
    strewn_zfs::array(config).map_err(BuildError::of_kind)
}

impl Mapped for ZfsArray {
    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        self.map_picture(map.columns, map.blocks_per_spindle, files)
    }
}
