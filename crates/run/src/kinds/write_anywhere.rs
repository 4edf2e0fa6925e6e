//! Write-anywhere arrays.

use std::any::Any;

use strewn_alloc::{AllocationShape, MapPicture, REGION_BLOCKS};
use strewn_array::write_anywhere::{
    OtherData, POINTERS, RelocationConfig, VolumeConfig, WriteAnywhere, WriteAnywhereConfig,
};
use strewn_array::{Counters, LogSize, Payload, Rebuild};
use strewn_base::BLOCK_BYTES;
use strewn_raid::ParityGroup as Group;
use strewn_results::words::{fixed, grouped};
use strewn_results::{ArrayMap, CapacityRule, LayoutKind, ParityGroup};
use strewn_scenario::{Array, Scenario, VolumeLuns, WriteAnywhere as Settings};
use strewn_sim::Simulated;
use strewn_volume::VirtualSpace;

use super::{Kind, KindSpindles, SetUp};
use crate::build::{self, BuildError};
use crate::machine::SetUpError;
use crate::mapped::{Mapped, map_of_groups};
use crate::random_streams::stream_matches;
use crate::scaled_run::{MATTERS, ScaledRun, percent};
use crate::seconds::seconds;

impl Kind for Settings {
    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError> {
        super::simulate::<strewn_write_anywhere::Loop>(set_up, |scenario, array| {
            build_array(self, scenario, array)
        })
    }

    fn memory_bytes(&self, scenario: &Scenario, array: &Array) -> u64 {
        let file_blocks = scenario.file_bytes(array) / BLOCK_BYTES;
        let volume_blocks = array.stored_lun_bytes() / BLOCK_BYTES;
        let data_spindles: u64 =
            self.groups().iter().map(|group| u64::from(group.data_spindles)).sum();
        let aggregate_blocks = data_spindles * self.right_sized_bytes / BLOCK_BYTES;
        // Block map and regions; dirty, rewritten and resident bits; the free map; delayed frees; buffers with
        // the queues of their uses.
        file_blocks * 6
            + file_blocks * 3 / 8
            + aggregate_blocks / 8
            + (volume_blocks as f64 * self.delayed_free_percent / 100.0 * 8.0) as u64
            + self.buffer_cache_bytes / BLOCK_BYTES * 128
            + snapshot_bytes(scenario, array, aggregate_blocks)
    }

    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped> {
        array.downcast_ref().map(|array: &WriteAnywhere<()>| array as _)
    }

    fn layout(&self) -> LayoutKind {
        LayoutKind::WriteAnywhere
    }

    fn spindles(&self) -> KindSpindles {
        let groups = Settings::groups(self);
        KindSpindles {
            data: groups.iter().map(|group| u32::from(group.data_spindles)).sum(),
            parity: groups.iter().map(|group| u32::from(group.parity.spindles())).sum(),
            spares: self.spares.into(),
        }
    }

    fn groups(&self) -> Vec<ParityGroup> {
        let groups = Settings::groups(self).into_iter();
        let groups = groups.map(|group| ParityGroup {
            first_spindle: group.first_spindle,
            data: group.data_spindles,
            parity: group.parity.spindles(),
            added_at_seconds: seconds(group.from_ns),
        });
        groups.collect()
    }

    fn relocates(&self) -> bool {
        self.relocation != RelocationConfig::NONE
    }

    fn capacity(&self) -> CapacityRule {
        CapacityRule::WriteAnywhere {
            right_sized_bytes: self.right_sized_bytes,
            reserve_percent: self.reserve_percent,
        }
    }

    fn read_ahead_bytes(&self) -> u64 {
        self.read_ahead_bytes
    }

    fn out_of_proportion(&self, run: &ScaledRun<'_>) -> Vec<String> {
        consistency_points(self, run).into_iter().collect()
    }
}

/// Builds one array of a scenario.
fn build_array(
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
    let lun_blocks = array.stored_lun_bytes().div_ceil(BLOCK_BYTES);
    (lun_blocks as f64 * layout.delayed_free_percent / 100.0) as u64
}

/// Returns the memory that snapshots need, and the count of what volumes may claim, in bytes.
fn snapshot_bytes(scenario: &Scenario, array: &Array, aggregate_blocks: u64) -> u64 {
    let length_ns = u64::from(scenario.segments).saturating_mul(scenario.segment_ns);
    let volumes = array.luns_by_volume();
    // An entry of eight bytes for each block that snapshots hold, at most the whole file for each of them and for one
    // being deleted, in lists that grow by doubling.
    let held = volumes.iter().filter_map(|volume| {
        let schedule = array.snapshots_of(volume)?;
        let taken = length_ns / schedule.every_ns.max(1);
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

/// What a consistency point places of the file, where it is not as at full scale.
fn consistency_points(layout: &Settings, run: &ScaledRun<'_>) -> Option<String> {
    let (by, root) = (f64::from(run.by), run.root());
    let points = run.sum(|counters| counters.consistency_points);
    let data = run.sum(|counters| counters.consistency_point_data_blocks) / points.max(1.0);
    if data < 1.0 {
        return None;
    }
    // The cache is divided by more than the log, so its dirty limit may come first here.
    let limit = layout.buffer_cache_bytes as f64 * layout.dirty_limit_percent / 100.0;
    let about = if data * BLOCK_BYTES as f64 > 0.9 * limit { "at least" } else { "about" };
    let (mut differs, mut shares) = (Vec::new(), [String::new(), String::new()]);
    if let Some((blocks, of_access)) = run.random_writes() {
        // Of so many blocks written at random, some were written twice.
        let written = -blocks * (-(data / blocks).min(0.999)).ln_1p();
        let here = placed_for_each(written, blocks, of_access);
        let full = placed_for_each(written * root, blocks * by, of_access);
        if (here / full - 1.0).abs() >= MATTERS {
            let fewer = fixed(100.0 * (1.0 - here / full), 0);
            differs.push(format!("blocks placed for each block written ({fewer} % fewer)"));
            let of_file = [(data / blocks, " of the file"), (data * root / blocks / by, "")];
            shares = of_file.map(|(share, of)| format!(" ({}{of})", percent(share)));
        }
    }
    let spindles: u64 = layout.groups().iter().map(|one| u64::from(one.data_spindles)).sum();
    let tetrises = data / (spindles * u64::from(layout.tetris_stripes)) as f64;
    let whole = run.sum(|counters| counters.full_stripes);
    let stripes = run.sum(|counters| counters.stripes_written);
    // Of a consistency point, at most a tetris' worth of stripes is not whole because it ends. If more are not,
    // holes take their share of these too, and it would not be less at full scale.
    let not_whole = 1.0 - whole / stripes.max(1.0);
    let at_end = not_whole.min(1.0 / tetrises);
    let had_no_holes = if at_end < not_whole { (1.0 - not_whole) / (1.0 - at_end) } else { 1.0 };
    if at_end * (1.0 - 1.0 / root) * had_no_holes >= MATTERS {
        differs.push("stripes written whole".to_owned());
    }
    if differs.is_empty() {
        return None;
    }
    let own = |counters: &Counters| {
        counters.spindle_writes() + counters.metadata_reads + counters.parity_update_reads
    };
    let all = run.sum(|counters| counters.spindle_writes() + counters.spindle_reads());
    if run.sum(own) >= MATTERS * all {
        differs.push(run.commands());
    }
    let what = format!(
        "a consistency point places {} blocks of data here{}, {about} {} at full scale{}: logs and intervals are {}",
        grouped(data, false),
        shares[0],
        grouped(data * root, false),
        shares[1],
        run.not_divided()
    );
    Some(run.sentence(&what, &differs.join(", ")))
}

/// Returns how many blocks a consistency point places for each of `written` blocks, written at random places of a file
/// of `blocks` blocks, in accesses of `of_access` blocks: the data, the indirect blocks above, and the blocks of two
/// bitmaps where the data were. The blocks of an access share these. Of n blocks, k random accesses find
/// n (1 - exp(-k / n)).
fn placed_for_each(written: f64, blocks: f64, of_access: f64) -> f64 {
    let found = |of: f64, accesses: f64| -of * (-accesses / of).exp_m1();
    let accesses = written / of_access;
    let data = found(blocks, written);
    let indirect = found(blocks / f64::from(POINTERS), accesses);
    let bitmaps = 2.0 * found(blocks / REGION_BLOCKS as f64, accesses);
    (data + indirect + bitmaps) / written
}
