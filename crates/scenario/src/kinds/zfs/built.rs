//! ZFS pools, built.

use strewn_alloc::MapPicture;
use strewn_results::ArrayMap;
use strewn_zfs::{PipelineCosts, Vdev, VolumeConfig, ZfsArray, ZfsConfig};

use super::{PlacedVdev, SyncWrites, Zfs};
use crate::array::Array;
use crate::build::{self, BuildError, Mapped};
use crate::fields::Words;
use crate::quantity::Bytes;
use crate::scenario::Scenario;

/// A vdev of a scenario that is scaled down has no room for metaslabs.
#[derive(Debug, thiserror::Error)]
#[error(
    "drives of {} are too small for metaslabs: the pool's {class} vdev from spindle {first_spindle} on has {}, divided by \
     {scale_down}; labels and boot blocks, which are not scaled down, take {} of a drive, and a vdev needs two metaslabs",
    Bytes(*.drive_bytes).approximately(),
    Bytes(*.drive_bytes * u64::from(*.scale_down)).approximately(),
    Bytes(strewn_zfs::LABEL_START_BYTES + strewn_zfs::LABEL_END_BYTES).approximately()
)]
struct TooSmall {
    drive_bytes: u64,
    scale_down: u32,
    class: &'static str,
    first_spindle: u16,
}

/// Returns an error for the first vdev that is too small.
fn check_metaslabs(placed: &[PlacedVdev], vdevs: &[Vdev]) -> Result<(), BuildError> {
    let mut both = placed.iter().zip(vdevs);
    let Some((placed, vdev)) = both.find(|(_, vdev)| !vdev.has_metaslabs()) else {
        return Ok(());
    };
    Err(BuildError::of_kind(TooSmall {
        drive_bytes: vdev.drive_bytes,
        scale_down: vdev.scale_down,
        class: placed.class.word(),
        first_spindle: placed.first_spindle,
    }))
}

/// Builds one array of a scenario.
pub(super) fn array(zfs: &Zfs, scenario: &Scenario, array: &Array) -> Result<ZfsArray, BuildError> {
    let drive_bytes = build::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
    let luns = build::luns(array);
    let block_bytes = zfs.block_bytes() as u32;
    let volumes = luns.iter().map(|lun| VolumeConfig {
        filled_bytes: scenario.file_bytes_of(array, lun),
        stored_bytes: zfs.stored_bytes() as u32,
        clone_of: zfs.origin_of(&luns, lun),
        ..VolumeConfig::new(lun.bytes, block_bytes)
    });
    let mut volumes: Vec<VolumeConfig> = volumes.collect();
    for clone in volumes.clone() {
        if let Some(origin) = clone.clone_of {
            let origin = &mut volumes[usize::from(origin)];
            origin.filled_bytes = origin.filled_bytes.max(clone.filled_bytes);
        }
    }
    let placed = zfs.placed_vdevs();
    let vdev = |placed: &PlacedVdev| placed.vdev(zfs, drive_bytes, scenario.spindle_stretch);
    let vdevs: Vec<Vdev> = placed.iter().map(vdev).collect();
    check_metaslabs(&placed, &vdevs)?;
    let classes = match zfs.further_vdevs.is_empty() {
        true => Vec::new(),
        false => placed.iter().map(|vdev| vdev.class).collect(),
    };
    let config = ZfsConfig {
        version: zfs.version,
        vdevs,
        classes,
        late_vdevs: placed.iter().filter(|vdev| vdev.from_ns > 0).count(),
        special_small_bytes: zfs.special_small_bytes,
        volumes,
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
        indirect_from_bytes: zfs.indirect_from_bytes(),
        pipeline: PipelineCosts {
            issue_ns: zfs.block_issue_ns,
            completion_ns: zfs.block_completion_ns,
            read_ns: zfs.block_read_ns,
        },
        reserves: zfs.reserves(),
        scan: zfs.scan(),
        waves: zfs.throttle_waves,
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
