//! Describes an array of real spindles and its load as a scenario.

use strewn_alloc::Chunks;
use strewn_base::BLOCK_BYTES;
use strewn_live::configuration::{
    ArrayLayout as LiveLayout, Configuration, InPlaceLayout as LiveInPlaceLayout, Stripes,
    WriteAnywhereLayout,
};
use strewn_live::format::LogLayout;
use strewn_raid::ProtectionLevel;
use strewn_scenario::{
    AccessSpecificationChoice, Array, BackgroundWork, CacheStart, DiskGroup, Format, FurtherGroup,
    InPlace, InPlaceLayout, Lun, Processor, RelocationConfig, Scenario, SpindleChoice, Workload,
    WriteAnywhere,
};
use strewn_spindle::Scheduler;

use super::LiveError;

/// The load of an array.
#[derive(Debug, Clone)]
pub struct LivePlan {
    /// Operations outstanding.
    pub outstanding: u32,
    /// Length of the file under load, in the lowest addresses of the LUN; `None` for the whole LUN.
    pub file_bytes: Option<u64>,
    /// The mix of operations.
    pub accesses: AccessSpecificationChoice,
    /// Offsets of random operations are multiples of this, in bytes.
    pub alignment_bytes: u32,
    /// Number of segments, each measured on its own.
    pub segments: u32,
    /// Length of a segment, in nanoseconds.
    pub segment_ns: u64,
    /// Seed of the host's random choices.
    pub seed: u64,
}

/// Stands where a scenario names a drive profile; no profile has this name.
const NO_PROFILE: &str = "a real spindle";

pub(super) fn of(
    configuration: &Configuration,
    name: &str,
    plan: &LivePlan,
) -> Result<Scenario, LiveError> {
    let lun_bytes = configuration.lun_bytes();
    let file_bytes = plan.file_bytes.unwrap_or(lun_bytes);
    if file_bytes > lun_bytes {
        return Err(LiveError::FileTooLong { file_bytes, lun_bytes });
    }
    let workload = Workload {
        named: None,
        access_specification: plan.accesses.clone(),
        alignment_bytes: plan.alignment_bytes,
        file_bytes,
        offset_bytes: 0,
        total_bytes: None,
    };
    // What else is wrong with it is said where its accesses are produced.
    let longest = workload.specification().map_or(0, |accesses| accesses.largest_bytes().into());
    if longest > file_bytes {
        return Err(LiveError::AccessTooLong { access_bytes: longest, file_bytes });
    }
    let layout = match &configuration.layout {
        LiveLayout::WriteAnywhere(layout) => write_anywhere(configuration, layout).into(),
        LiveLayout::InPlace(layout) => in_place(configuration, layout).into(),
    };
    let array = Array {
        name: name.to_owned(),
        outstanding: plan.outstanding,
        luns: vec![Lun {
            name: None,
            bytes: lun_bytes,
            volume: None,
            laid_out_bytes: None,
            group: 1,
            controller: 1,
        }],
        volumes: vec![],
        spindle: SpindleChoice::Shipped(NO_PROFILE.to_owned()),
        commands_per_spindle: 1,
        scheduler: Scheduler::Fcfs,
        processor: Processor {
            host_operation_ns: 0.0,
            spindle_command_ns: 0.0,
            per_kib_ns: 0.0,
            write_back_percent: 0,
            cores: 1,
            serial_domains: Vec::new(),
            allocated_block_ns: 0.0,
            freed_block_ns: 0.0,
            metadata_block_ns: 0.0,
            parity_per_kib_ns: 0.0,
            interrupt_ns: 0.0,
        },
        fitted: None,
        layout,
        failures: Vec::new(),
        rebuild_steps_in_flight: 1,
        front_end: None,
        pair: None,
        page_cache: None,
        client_raid: None,
        gateway: None,
    };
    Ok(Scenario {
        until: None,
        warm_up_ns: None,
        name: name.to_owned(),
        title: format!("{name}, on real spindles"),
        seed: plan.seed,
        segments: plan.segments,
        segment_ns: plan.segment_ns,
        spindle_stretch: 1,
        published: None,
        workloads: vec![workload],
        phases: Vec::new(),
        hosts: Vec::new(),
        links: Vec::new(),
        arrays: vec![array],
        overhead: None,
        unknowns: Vec::new(),
        fitted: Vec::new(),
        // What its numbers come from is the label.
        text: "".into(),
    })
}

fn write_anywhere(configuration: &Configuration, layout: &WriteAnywhereLayout) -> WriteAnywhere {
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    WriteAnywhere {
        format: Format::Durable,
        parity: layout.parity,
        data_spindles: layout.data_spindles,
        further_groups: layout
            .added_groups
            .iter()
            .map(|added| FurtherGroup {
                parity: added.parity,
                data_spindles: added.data_spindles,
                at_ns: None,
            })
            .collect(),
        right_sized_bytes: configuration.blocks_per_spindle * BLOCK_BYTES,
        reserve_percent: 0.0,
        policy: layout.policy,
        other_data: None,
        area_stripes: short(layout.area_stripes),
        tetris_stripes: short(layout.tetris_stripes),
        chunk_blocks: short(layout.chunk_blocks),
        tetrises_in_flight: layout.tetrises_in_flight,
        log_half_bytes: configuration.log_half_bytes,
        log_record_header_bytes: LogLayout::ACCOUNTED_RECORD_BYTES,
        checkpoint_interval_ns: layout.consistency_point_interval_ms.saturating_mul(1_000_000),
        buffer_cache_bytes: configuration.cache_bytes,
        protected_percent: layout.protected_percent.into(),
        dirty_limit_percent: layout.dirty_limit_percent.into(),
        delayed_free_percent: 100.0 * layout.delayed_free_blocks as f64
            / configuration.lun_blocks.max(1) as f64,
        cache_start: CacheStart::Empty,
        chunks: Chunks::Aligned,
        spares: 0,
        snapshots: None,
        read_through_blocks: 0,
        background: BackgroundWork::default(),
        read_ahead_bytes: 0,
        relocation: RelocationConfig::NONE,
    }
}

fn in_place(configuration: &Configuration, layout: &LiveInPlaceLayout) -> InPlace {
    InPlace {
        groups: vec![DiskGroup {
            layout: match layout.stripes {
                Stripes::Dealt => InPlaceLayout::Vraid5,
                Stripes::OverAll => InPlaceLayout::Raid5,
            },
            spindles: configuration.spindles(),
            redundancy_sets: layout.redundancy_sets.clone(),
            chunk_bytes: layout.chunk_bytes,
            segment_bytes: layout.segment_bytes,
            protection_level: ProtectionLevel::None,
        }],
        format: Format::Durable,
        write_cache_bytes: configuration.cache_bytes,
        log_half_bytes: configuration.log_half_bytes,
        log_record_header_bytes: LogLayout::ACCOUNTED_RECORD_BYTES,
        destage_low_percent: layout.destage_low_percent.into(),
        destages_per_spindle: layout.destages_per_spindle.into(),
        full_stripe_destage: true,
        read_ahead_bytes: 0,
        read_cache_bytes: 0,
    }
}
