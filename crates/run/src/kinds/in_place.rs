//! Arrays that update in place.

use std::any::Any;

use strewn_alloc::{GroupIndex, MapPicture};
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid0Layout, Raid5Layout,
};
use strewn_array::{LogSize, Payload, Rebuild};
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::{ProtectionLevel, VraidConfig, VraidLayout};
use strewn_results::{ArrayMap, CapacityRule, DiskGroupCapacity, LayoutKind, ParityGroup, rounded};
use strewn_scenario::{Array, DiskGroup, InPlace as Settings, InPlaceLayout, Scenario};
use strewn_sim::{Segment, Simulated};

use super::{Kind, KindSpindles, SetUp};
use crate::build::{self, BuildError};
use crate::machine::SetUpError;
use crate::mapped::Mapped;
use crate::random_streams::stream_matches;
use crate::scaled_run::{MATTERS, ScaledRun, percent};

/// Fewer segments of a file than this to a spindle, and the load of the spindles is uneven: measured, IOPS of random
/// reads were 4 % lower with four, and 26 % with two.
const FEW_SEGMENTS: f64 = 4.0;

impl Kind for Settings {
    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError> {
        super::simulate::<strewn_in_place::Loop>(set_up, |scenario, array| {
            build_array(self, scenario, array)
        })
    }

    fn memory_bytes(&self, scenario: &Scenario, array: &Array) -> u64 {
        // Dirty and in-flight bits of every sector that the file covers; buffers of the read cache.
        scenario.file_bytes(array) / SECTOR_BYTES / 4 + self.read_cache_bytes / BLOCK_BYTES * 128
    }

    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped> {
        array.downcast_ref().map(|array: &InPlace<()>| array as _)
    }

    fn layout(&self) -> LayoutKind {
        LayoutKind::InPlace
    }

    fn spindles(&self) -> KindSpindles {
        // Its parity, and its reserve, are on all of them.
        KindSpindles { data: Settings::spindles(self).into(), parity: 0, spares: 0 }
    }

    fn groups(&self) -> Vec<ParityGroup> {
        let groups = self.placed_groups().map(|(first_spindle, group)| ParityGroup {
            first_spindle,
            data: group.spindles,
            parity: 0,
            added_at_seconds: 0.0,
        });
        groups.collect()
    }

    fn capacity(&self) -> CapacityRule {
        let groups = self.groups.iter().map(|group| match group.layout {
            InPlaceLayout::Vraid5 => DiskGroupCapacity::Vraid5 { spindles: group.spindles },
            InPlaceLayout::Raid5 => DiskGroupCapacity::Raid5 { spindles: group.spindles },
            InPlaceLayout::Raid0 => DiskGroupCapacity::Raid0 { spindles: group.spindles },
        });
        CapacityRule::InPlace(groups.collect())
    }

    fn protection_level(&self) -> Option<ProtectionLevel> {
        let with_sets = self.groups.iter().find(|group| group.layout == InPlaceLayout::Vraid5);
        with_sets.map(|group| group.protection_level)
    }

    fn read_ahead_bytes(&self) -> u64 {
        self.read_ahead_bytes
    }

    fn out_of_proportion(&self, run: &ScaledRun<'_>) -> Vec<String> {
        write_cache(self, run).into_iter().chain(vraid(self, run)).collect()
    }
}

/// Builds one array of a scenario.
fn build_array(
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
    fn empty_map(&self, scenario: &Scenario, array: &Array) -> ArrayMap {
        let bytes = build::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
        ArrayMap::new(&array.name, bytes / BLOCK_BYTES, None)
    }

    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        self.map_picture(map.columns, map.blocks_per_spindle, files)
    }
}

/// What an in-place array's write cache holds of the file, and how long it takes to fill.
fn write_cache(layout: &Settings, run: &ScaledRun<'_>) -> Option<String> {
    let (blocks, _) = run.random_writes()?;
    let more = f64::from(run.by) / run.root();
    let share = layout.write_cache_bytes as f64 / (blocks * BLOCK_BYTES as f64);
    // In proportion to what the cache holds of the file, and less of that as long as it is not full.
    let here = run.overwritten_in_cache(&run.done.segments);
    let full = here * (share / more).min(1.0) / share.min(1.0);
    if here - full >= MATTERS {
        let what = format!(
            "the write cache holds {} of the file here, {} at full scale: it is {}, and more is overwritten in it",
            percent(share),
            percent(share / more),
            run.not_divided()
        );
        return Some(run.sentence(&what, &run.commands()));
    }
    if !run.scenario.phases.is_empty() {
        // Then it fills when a phase writes enough, at any scale.
        return None;
    }
    let is_full = |segment: &Segment| segment.counters.stalled_writes > 0;
    let when = match run.done.segments.iter().find(|segment| is_full(segment)) {
        Some(segment) if segment.index > 1 => {
            format!("not full before segment {}", segment.index)
        }
        Some(_) => return None,
        None => {
            // Random writes find as much of the file dirty as is.
            let last = run.done.segments.last().map_or(&[][..], std::slice::from_ref);
            let dirty = run.overwritten_in_cache(last) / share;
            let low = layout.destage_low_percent / 100.0;
            if (dirty - low) * more < 1.0 - low {
                return None;
            }
            "never full".to_owned()
        }
    };
    let what = format!(
        "the write cache is {}, so it takes {} times as much of the run to fill as at full scale, and here it is \
         {when}",
        run.not_divided(),
        rounded(more, 2)
    );
    Some(run.sentence(&what, &run.commands()))
}

/// A file in so few segments of VRAID that the spindles do not have equal parts of it.
fn vraid(layout: &Settings, run: &ScaledRun<'_>) -> Option<String> {
    let of_group = |(number, group): (u16, &DiskGroup)| {
        let luns = run.array.luns.iter().filter(|lun| lun.group == number);
        let bytes: u64 = luns.map(|lun| run.file_bytes(lun, |_| true)).sum();
        // The parity of four segments of data is in a fifth.
        let rstores = bytes as f64 / (4 * group.segment_bytes) as f64;
        let for_each = 5.0 * rstores.ceil() / f64::from(group.spindles);
        let is_few = bytes > 0 && for_each < FEW_SEGMENTS;
        let full = for_each * f64::from(run.by);
        (group.layout == InPlaceLayout::Vraid5 && is_few && full >= FEW_SEGMENTS).then(|| {
            let what = format!(
                "a spindle has {} segments of the file here, {} at full scale: segments keep their size, and the \
                 spindles have unequal parts of the load",
                rounded(for_each, 2),
                rounded(full, 2)
            );
            run.sentence(&what, &run.with_iops("response times"))
        })
    };
    (1..).zip(&layout.groups).find_map(of_group)
}
