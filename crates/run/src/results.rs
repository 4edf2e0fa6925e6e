//! Converts the measurements of a simulation to results.

use std::collections::BTreeMap;

use strewn_array::{Counters, FailedSpindle, LunLayoutMeasures};
use strewn_results::{
    AccessMix, ArrayResults, Cache, Checks, ConsistencyPoints, ControllerFigures, CoresFigures,
    DataLoss, FittedSetting, FreeSpace, GroupFigures, HostFigures, HostLoad, HostProcessor,
    HostReadHits, Housekeeping, L2arcFigures, MachineFigures, OperationFigures, OverheadArray,
    OverheadConfiguration, OverheadError, OverheadRow, PageCacheFigures, Parameter, ParityGroup,
    Phase, PoolFigures, Published, ReadAhead, ReallocationScan, Redundancy, Relocated, Relocation,
    ResponseTime, Results, SIGNIFICANT_DIGITS, SegmentLayout, Setting, Snapshots, SpindleCommands,
    SpindleFailure, Spindles, StripeDestages, TrimFigures, Utilization, VolumeFigures, Workload,
    WorkloadFigures, rounded,
};
use strewn_scenario::{
    Array, ArrayParameter, FittedRows, Origin, ProtectionLevel, Scenario, SettingValue,
};
use strewn_sim::{DirectionMeasures, GroupSegment, Segment, TimeIn, WorkloadMeasures};

use crate::array_run::ArrayRun;
use crate::client_raid;
use crate::gateway;
use crate::machine_events;
use strewn_results::seconds;
use strewn_scenario::build;
use strewn_scenario::build::machine;

const NS_PER_MS: f64 = 1e6;
const MIB: f64 = (1 << 20) as f64;
const GIB: f64 = (1 << 30) as f64;
/// Blocks of 4 KiB in a GiB.
const BLOCKS_PER_GIB: f64 = (1 << 18) as f64;

/// Returns the results of one array. `origins` are those of the scenario's settings.
pub(crate) fn of_array(
    scenario: &Scenario,
    origins: &BTreeMap<String, Origin>,
    array: &Array,
    done: &ArrayRun,
) -> ArrayResults {
    let bought = scenario.overhead.as_ref().and_then(|overhead| {
        overhead.configurations.iter().find(|one| one.array == array.name && one.used_by_results)
    });
    let kind = &array.layout;
    let own = kind.spindles_by_purpose();
    // Both arrays of a pair.
    let arrays = machine::parts(array).len() as u32;
    let (data, parity) = (own.data * arrays, own.parity * arrays);
    let mut end_ns = done.warm_up.as_ref().map_or(0, |warm_up| warm_up.length_ns);
    let starting = done.segments.iter().map(|segment| {
        let start_ns = end_ns;
        end_ns += segment.length_ns;
        (start_ns, segment)
    });
    // The purchased configuration may include more spares than the array has.
    let at_hand = own.spares * arrays;
    let (spare, root) = bought.map_or((at_hand, 0), |one| (one.spare.max(at_hand), one.root));
    ArrayResults {
        name: array.name.clone(),
        layout: kind.layout(),
        outstanding: array.outstanding,
        lun_bytes: Some(array.lun_bytes()),
        load: None,
        spindles: Spindles { data, parity, spare, root, purchased: data + parity + spare + root },
        parity_groups: parity_groups(array),
        phases: phases(scenario, array),
        parameters: parameters(origins, array),
        warm_up: done
            .warm_up
            .as_ref()
            .map(|warm_up| Box::new(of_segment(scenario, array, 0, warm_up))),
        segments: starting
            .map(|(start_ns, segment)| of_segment(scenario, array, start_ns, segment))
            .collect(),
        ended: done.host_is_done,
        failures: done.failures.iter().map(of_failure).collect(),
        data_loss: done.data_loss.as_ref().map(|lost| DataLoss {
            at_seconds: seconds(lost.at_ns),
            spindles: lost.spindles.iter().map(|spindle| spindle.0).collect(),
            stripes: lost.stripes,
            stripes_in_all: lost.stripes_in_all,
            lun_bytes: lost.lun_bytes,
        }),
    }
}

/// Returns the parity groups or disk groups of an array that has several.
fn parity_groups(array: &Array) -> Vec<ParityGroup> {
    let groups = array.layout.groups();
    if groups.len() > 1 { groups } else { Vec::new() }
}

/// Returns the phases of a scenario, each with the operations that it has outstanding on this array.
fn phases(scenario: &Scenario, array: &Array) -> Vec<Phase> {
    let mut next_segment = 1;
    let phases = scenario.phases.iter().map(|phase| {
        let first_segment = next_segment;
        next_segment += phase.segments;
        let running = || scenario.workloads.iter().filter(|workload| phase.runs(workload));
        let here = running().filter(|workload| workload.runs_on(&array.name));
        let named = |workload: &strewn_scenario::Workload| workload.named.clone();
        Phase {
            name: phase.name.clone(),
            first_segment,
            segments: phase.segments,
            workloads: running().filter_map(named).map(|named| named.name).collect(),
            outstanding: here.filter_map(named).map(|named| named.all_outstanding()).sum(),
        }
    });
    phases.collect()
}

/// Returns every setting of a scenario as it was run.
pub(crate) fn settings(scenario: &Scenario) -> BTreeMap<String, Setting> {
    let setting = |(name, value)| {
        let value = match value {
            SettingValue::Flag(flag) => Setting::Flag(flag),
            SettingValue::Count(count) => Setting::Count(count),
            SettingValue::Number(number) => Setting::Number(number),
            SettingValue::Text(text) => Setting::Text(text),
            list @ SettingValue::List(_) => Setting::Text(list.to_string()),
        };
        (name, value)
    };
    scenario.settings().into_iter().map(setting).collect()
}

/// Describes the load: the scenario's own workload, or the file under load of another.
pub(crate) fn load(scenario: &Scenario, is_own: bool) -> HostLoad {
    load_of(scenario, scenario.arrays.first(), is_own)
}

/// Describes the load of each array whose files are others than those of the first.
pub(crate) fn set_loads(results: &mut Results, scenario: &Scenario, is_own: bool) {
    for (array, of) in scenario.arrays.iter().zip(&mut results.arrays) {
        let own = Some(load_of(scenario, Some(array), is_own));
        of.load = own.filter(|own| results.load.as_ref() != Some(own));
    }
}

fn load_of(scenario: &Scenario, array: Option<&Array>, is_own: bool) -> HostLoad {
    let only = scenario.workloads.first().filter(|_| scenario.workloads.len() == 1);
    let own = only.and_then(|only| only.specification().ok()).filter(|_| is_own);
    let file_bytes = array.map_or(0, |array| scenario.file_bytes(array));
    let written = array.map(|array| scenario.written_file_bytes(array));
    HostLoad {
        file_bytes,
        written_file_bytes: written.filter(|written| is_own && *written != file_bytes),
        accesses: own.map(|own| {
            let random = own
                .lines()
                .iter()
                .map(|line| u32::from(line.percent_of_accesses) * u32::from(line.random_percent));
            AccessMix {
                specification: own.name().to_owned(),
                mean_bytes: rounded(own.mean_bytes(), SIGNIFICANT_DIGITS),
                read_percent: rounded(100.0 * own.read_fraction(), SIGNIFICANT_DIGITS),
                random_percent: f64::from(random.sum::<u32>()) / 100.0,
            }
        }),
    }
}

fn of_failure(failure: &FailedSpindle) -> SpindleFailure {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let took = failure.rebuild_began_ns.zip(failure.rebuilt_ns);
    SpindleFailure {
        spindle: failure.spindle.0,
        at_seconds: seconds(failure.at_ns),
        rebuild_began_at_seconds: failure.rebuild_began_ns.map(seconds),
        rebuilt_at_seconds: failure.rebuilt_ns.map(seconds),
        rebuild_seconds: took.map(|(began_ns, ended_ns)| seconds(ended_ns - began_ns)),
        rebuilt_percent: failure.rebuilt * 100.0,
    }
    .rounded(SIGNIFICANT_DIGITS)
}

/// Returns the lost spindles at the end of a segment and the work of their rebuilds, or `None` as long as none has
/// failed.
fn redundancy(segment: &Segment) -> Option<Redundancy> {
    let (failures, counters) = (&segment.failures, &segment.counters);
    let rebuilt: f64 = failures.iter().map(|failure| failure.rebuilt).sum();
    (!failures.is_empty()).then(|| Redundancy {
        lost_spindles: failures.iter().filter(|failure| failure.is_open()).count() as u32,
        rebuilt_percent: 100.0 * rebuilt / failures.len() as f64,
        degraded_reads: counters.degraded_reads,
        recovery_reads: counters.recovery_reads,
        rebuild_reads: counters.rebuild_reads,
        rebuild_writes: counters.rebuild_writes,
    })
}

/// Returns what a controller did besides serving hosts, or `None` if its scenario asks for none of it.
fn housekeeping(counters: &Counters) -> Option<Housekeeping> {
    let done = Housekeeping {
        allocated_blocks: counters.allocated_blocks,
        freed_blocks: counters.freed_blocks,
        changed_metadata_blocks: counters.changed_metadata_blocks,
        parity_kib: counters.parity_sectors / 2,
        reads_through_holes: counters.aggregated_reads,
        hole_blocks: counters.gap_blocks,
        reclaimed_regions: counters.paced_regions,
        map_scan_reads: counters.map_scan_reads,
        map_scan_hits: counters.map_scan_hits,
        checkpoint_ms: 0,
    };
    let checkpoint_ms = counters.consistency_point_ns / 1_000_000;
    (done != Housekeeping::default()).then_some(Housekeeping { checkpoint_ms, ..done })
}

/// Returns what snapshots held at the end of a segment, or `None` in an array without snapshots.
fn snapshots(segment: &Segment) -> Option<Snapshots> {
    let (now, counters) = (segment.snapshots?, &segment.counters);
    Some(Snapshots {
        kept: now.kept,
        taken: counters.snapshots_taken,
        refused: counters.snapshots_refused,
        held_blocks: now.blocks,
        freed_blocks: counters.snapshot_blocks_freed,
        aggregate_used_percent: 100.0 * now.used,
    })
}

/// Returns what was relocated in a segment, in an array that relocates anything.
fn relocation(array: &Array, segment: &Segment) -> Option<Relocation> {
    let counters = &segment.counters;
    let of_scans = Relocated::new(counters.scan_blocks, counters.scan_reads);
    array.layout.relocates().then(|| Relocation {
        after_reads: Relocated::new(
            counters.read_reallocation_blocks,
            counters.read_reallocation_reads,
        ),
        by_scans: of_scans.filter(|_| !array.layout.sends()),
        sent: of_scans.filter(|_| array.layout.sends()),
        by_cleaning: Relocated::new(counters.cleaning_blocks, counters.cleaning_reads),
        scan: segment.scan.map(|scan| ReallocationScan {
            begun: scan.begun,
            passed_percent: 100.0 * scan.passed,
            ended_at_seconds: scan.ended_ns.map(|at_ns| at_ns as f64 / 1e9),
        }),
    })
}

/// Returns what the volumes had at the end of a segment, if the scenario describes some.
fn volumes(array: &Array, segment: &Segment) -> Vec<VolumeFigures> {
    if array.volumes.is_empty() {
        return Vec::new();
    }
    let parts = array.luns_by_volume();
    let figures = parts.iter().zip(&segment.volumes).map(|(part, now)| VolumeFigures {
        name: part.name.unwrap_or_default().to_owned(),
        used_blocks: now.blocks,
        reserved_blocks: now.claimed,
        snapshots: now.snapshots,
        held_blocks: now.held,
    });
    figures.collect()
}

/// Returns the host's figures of reads and writes, if it measured them apart.
fn host(segment: &Segment) -> Option<HostFigures> {
    let [reads, writes] = &**segment.by_direction.as_ref()?;
    Some(HostFigures {
        mean_outstanding: segment.mean_outstanding,
        reads: of_direction(reads),
        writes: of_direction(writes),
        littles_law_unexplained_percent: segment.laws.littles_law_unexplained * 100.0,
        utilization_law_unexplained_percent: segment.laws.utilization_law_unexplained * 100.0,
    })
}

fn of_direction(measures: &DirectionMeasures) -> OperationFigures {
    let DirectionMeasures { answered, response_sum_ns, p95_ns, most_ns, .. } = measures;
    OperationFigures {
        ops: answered.count,
        mib: mib(answered.sectors),
        mean_ms: match answered.count {
            0 => 0.0,
            ops => *response_sum_ns as f64 / ops as f64 / NS_PER_MS,
        },
        p95_ms: milliseconds(*p95_ns),
        max_ms: milliseconds(*most_ns),
    }
}

fn of_workload(workload: &WorkloadMeasures, length_ns: u64) -> WorkloadFigures {
    let [reads, writes] = &*workload.by_direction;
    let both = [reads.answered, writes.answered];
    let per_second = |amount: f64| amount * 1e9 / length_ns.max(1) as f64;
    WorkloadFigures {
        name: workload.name.to_string(),
        iops: per_second(both.iter().map(|answered| answered.count).sum::<u64>() as f64),
        mib_per_s: per_second(both.iter().map(|answered| mib(answered.sectors)).sum()),
        response_ms: response_times(&workload.response),
        reads: of_direction(reads),
        writes: of_direction(writes),
        layout: None,
    }
}

fn response_times(response: &strewn_sim::Response) -> ResponseTime {
    ResponseTime {
        mean: response.mean_ns / NS_PER_MS,
        p50: milliseconds(response.p50_ns),
        p95: milliseconds(response.p95_ns),
        p99: milliseconds(response.p99_ns),
        max: milliseconds(response.max_ns),
    }
}

fn mib(sectors: u64) -> f64 {
    (sectors * strewn_base::SECTOR_BYTES) as f64 / MIB
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_MS
}

/// The settings that are declared as fitted to published rows, with their values, and those that are not fitted marked.
/// In a run that is scaled down the rows tell nothing of that.
pub(crate) fn fitted_settings(
    scenario: &Scenario,
    published: Option<&Published>,
    arrays: &[ArrayResults],
    is_scaled: bool,
) -> Vec<FittedSetting> {
    let published = published.filter(|_| !is_scaled);
    let of_fitted = |fitted: &FittedRows| {
        let values = scenario.fitted_values(&fitted.parameter).ok()?;
        let (_, value) = values.first()?;
        Some(FittedSetting {
            parameter: fitted.parameter.clone(),
            value: value.to_string(),
            rows: fitted.rows.clone(),
            off_percent: published
                .and_then(|published| strewn_results::off_percent(published, arrays, &fitted.rows)),
        })
    };
    scenario.fitted.iter().filter_map(of_fitted).collect()
}

/// Returns every parameter of the array, and where it comes from.
fn parameters(origins: &BTreeMap<String, Origin>, array: &Array) -> Vec<Parameter> {
    let all = array.parameters().into_iter();
    all.filter(|one| one.value != 0.0 || !one.is_optional)
        .map(|ArrayParameter { name, unit, value, .. }| {
            let to_segments =
                array.fitted.as_ref().filter(|fitted| fitted.parameters.contains(&name));
            let origin = origins.get(&format!("array.{}.{name}", array.name));
            let origin = origin.unwrap_or(&Origin::Default);
            Parameter {
                name,
                unit: unit.to_string(),
                // Not rounded: this was set, not measured.
                value,
                fitted: *origin == Origin::Fitted,
                fitted_to_segments: to_segments
                    .map(|fitted| fitted.segments.clone())
                    .unwrap_or_default(),
                source: origin.to_string(),
            }
        })
        .collect()
}

/// Returns where the settings come from that the scenario does not give.
pub(crate) fn setting_sources(
    scenario: &Scenario,
    origins: &BTreeMap<String, Origin>,
) -> BTreeMap<String, String> {
    let named = scenario.settings().into_iter();
    named
        .filter_map(|(name, _)| {
            let origin = origins.get(&name).filter(|origin| **origin != Origin::Scenario)?;
            Some((name, origin.to_string()))
        })
        .collect()
}

/// Says that settings are the scenario's if they are declared as fitted to rows, and the run found that they are not.
pub(crate) fn mark_unfitted(results: &mut Results, scenario: &Scenario) {
    let unfitted = results.fitted_settings.iter().filter(|setting| setting.off_percent.is_some());
    let names = unfitted.filter_map(|setting| scenario.fitted_values(&setting.parameter).ok());
    for (name, _) in names.flatten() {
        results.setting_sources.remove(&name);
        for array in &mut results.arrays {
            let own = array.parameters.iter_mut();
            let own = own.filter(|own| name == format!("array.{}.{}", array.name, own.name));
            for parameter in own {
                parameter.fitted = false;
                parameter.source = Origin::Scenario.to_string();
            }
        }
    }
}

fn of_group(group: &GroupSegment, length_ns: u64) -> GroupFigures {
    let (data, parity) = (&group.data_spindles, &group.parity_spindles);
    GroupFigures {
        spindles: (data.spindles > 0).then(|| data.utilization(length_ns)),
        parity_spindles: (parity.spindles > 0).then(|| parity.utilization(length_ns)),
        reads: group.reads,
        writes: group.writes,
        free_percent: group
            .free_blocks
            .map(|free| 100.0 * free as f64 / group.blocks.max(1) as f64),
    }
}

/// Returns the measurements of a segment that begins at `start_ns` of the run.
fn of_segment(
    scenario: &Scenario,
    array: &Array,
    start_ns: u64,
    segment: &Segment,
) -> strewn_results::Segment {
    let seconds = segment.length_ns as f64 / 1e9;
    let (data, parity) = (&segment.data_spindles, &segment.parity_spindles);
    let commands = data.commands + parity.commands;
    let service_ns = data.service_ns + parity.service_ns;
    let (counters, layout) = (&segment.counters, segment.layout.of_all_luns());
    let reads = counters.spindle_reads();
    let phase = scenario.phase_of(segment.index);
    // Without phases every workload runs in every segment.
    let runs = |name: &str| phase.is_none_or(|phase| phase.workloads.iter().any(|one| one == name));
    strewn_results::Segment {
        index: segment.index,
        phase: phase.map(|phase| phase.name.clone()),
        seconds,
        ops: segment.operations,
        refused: (segment.refused > 0).then_some(segment.refused),
        iops: segment.operations as f64 / seconds,
        mib_per_s: segment.bytes as f64 / MIB / seconds,
        response_ms: response_times(&segment.response),
        utilization: Utilization {
            controller: share(segment.processor_busy_ns, segment.length_ns),
            spindles: data.utilization(segment.length_ns),
            parity_spindles: (parity.spindles > 0).then(|| parity.utilization(segment.length_ns)),
        },
        spindle_commands: SpindleCommands {
            read: reads,
            write: counters.spindle_writes(),
            data_reads: counters.data_reads,
            edge_reads: counters.edge_reads,
            metadata_reads: counters.metadata_reads,
            parity_update_reads: counters.parity_update_reads,
            parity_writes: counters.parity_writes,
            reads_per_host_op: share(reads, segment.operations),
            mean_queue_depth: data.mean_queue_depth(segment.length_ns),
            mean_service_ms: share(service_ns, commands) / NS_PER_MS,
        },
        cache: Cache {
            hit_percent: 100.0 * share(counters.cache_hits, counters.cache_lookups),
            host_reads: Some(HostReadHits {
                blocks: counters.host_read_blocks,
                hit_percent: (counters.host_read_blocks > 0)
                    .then(|| 100.0 * share(counters.host_read_hits, counters.host_read_blocks)),
            }),
            stalled_writes: counters.stalled_writes,
            read_ahead: read_ahead(counters),
        },
        layout: match rewritten_where_written(scenario, array, segment) {
            None => of_layout(&layout),
            rewritten => of_layout(&LunLayoutMeasures { rewritten, ..layout }),
        },
        free_space: segment.layout.free_space.map(|free_space| FreeSpace {
            score: free_space.score,
            largest_run_blocks: free_space.largest_run_blocks,
            frag_percent: segment.layout.frag_percent.map(f64::from),
        }),
        // Only a write-anywhere array has consistency points.
        consistency_points: segment.layout.free_space.map(|_| ConsistencyPoints {
            count: counters.consistency_points,
            back_to_back: counters.back_to_back_consistency_points,
            blocks_per_cp: share(counters.consistency_point_blocks, counters.consistency_points),
            full_stripe_percent: (counters.stripes_written > 0)
                .then(|| 100.0 * share(counters.full_stripes, counters.stripes_written)),
        }),
        stripe_destages: stripe_destages(counters),
        checks: Checks {
            littles_law_error_percent: segment.laws.littles_law_error * 100.0,
            utilization_law_error_percent: segment.laws.utilization_law_error * 100.0,
        },
        groups: segment.groups.iter().map(|group| of_group(group, segment.length_ns)).collect(),
        redundancy: redundancy(segment),
        housekeeping: housekeeping(&segment.counters),
        snapshots: snapshots(segment),
        relocation: relocation(array, segment),
        pool: pool(segment),
        volumes: volumes(array, segment),
        machine: of_machine(scenario, array, start_ns, segment),
        page_cache: page_cache(segment),
        gateway: gateway::figures(segment),
        client_raid: client_raid::figures(segment),
        host: host(segment),
        band: None,
        by_workload: segment
            .by_workload
            .iter()
            .filter(|workload| runs(&workload.name))
            .map(|workload| WorkloadFigures {
                layout: layout_of(scenario, array, segment, &workload.name),
                ..of_workload(workload, segment.length_ns)
            })
            .collect(),
    }
    .rounded(SIGNIFICANT_DIGITS)
}

/// Returns a part of a whole; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the stripes that were destaged together, if there were any.
fn stripe_destages(counters: &Counters) -> Option<StripeDestages> {
    let (full, reconstructed) = (counters.full_stripe_destages, counters.reconstruct_destages);
    (full + reconstructed > 0).then_some(StripeDestages { full, reconstructed })
}

/// Returns what only a ZFS pool does, if it did any of it.
fn pool(segment: &Segment) -> Option<PoolFigures> {
    let (counters, layout) = (&segment.counters, &segment.layout.pool);
    let seconds = segment.length_ns.max(1) as f64 / 1e9;
    let l2arc = layout.has_l2arc.then(|| L2arcFigures {
        lookups: counters.l2arc_lookups,
        hit_percent: (counters.l2arc_lookups > 0)
            .then(|| 100.0 * share(counters.l2arc_hits, counters.l2arc_lookups)),
        written_mib_per_s: counters.l2arc_written_bytes as f64 / MIB / seconds,
        held_gib: layout.l2arc_bytes as f64 / GIB,
        header_mib: layout.l2arc_header_bytes as f64 / MIB,
    });
    let trimmed = TrimFigures {
        ranges: counters.trimmed_ranges,
        gib: counters.trimmed_bytes as f64 / GIB,
        skipped_gib: counters.trim_skipped_bytes as f64 / GIB,
    };
    let now = PoolFigures {
        spilled_metadata_blocks: counters.spilled_metadata_blocks,
        spilled_data_blocks: counters.spilled_data_blocks,
        spilled_in_all_blocks: layout.spilled_blocks,
        l2arc,
        trimmed: (trimmed != TrimFigures::default()).then_some(trimmed),
    };
    (now != PoolFigures::default()).then_some(now)
}

/// Returns what an array read ahead.
fn read_ahead(counters: &Counters) -> Option<ReadAhead> {
    let now = ReadAhead {
        blocks: counters.read_ahead_blocks,
        used: counters.read_ahead_used,
        dropped: counters.read_ahead_dropped,
    };
    (now != ReadAhead::default()).then_some(now)
}

/// Returns what the page cache of an array's hosts did.
fn page_cache(segment: &Segment) -> Option<PageCacheFigures> {
    let measured = segment.page_cache.as_ref()?;
    let mib_per_s = |bytes: u64| bytes as f64 / MIB * 1e9 / segment.length_ns.max(1) as f64;
    Some(PageCacheFigures {
        hit_percent: (measured.pages_read > 0)
            .then(|| 100.0 * share(measured.pages_hit, measured.pages_read)),
        filled_mib_per_s: mib_per_s(measured.bytes_filled),
        written_mib_per_s: mib_per_s(measured.bytes_written),
        write_request_kib: (measured.write_requests > 0)
            .then(|| share(measured.bytes_written, measured.write_requests) / 1024.0),
        throttled_ms: share(measured.throttled_ns, segment.operations) / NS_PER_MS,
        dirty_mib: measured.bytes_dirty as f64 / MIB,
    })
}

/// Returns what lay between hosts and an array.
fn of_machine(
    scenario: &Scenario,
    array: &Array,
    start_ns: u64,
    segment: &Segment,
) -> Option<Box<MachineFigures>> {
    let measured = segment.machine.as_ref()?;
    let end_ns = start_ns + segment.length_ns;
    let (events, out_of_service) = machine_events::between(scenario, array, start_ns, end_ns);
    let length_ns = segment.length_ns.max(1) as f64;
    let busy = |busy_ns: u64| busy_ns as f64 / length_ns;
    let mib_per_s = |bytes: u64| bytes as f64 / MIB * 1e9 / length_ns;
    // Requests of one operation overlap, and some began before the segment. Those of a page cache are not an
    // operation's, and clients' operations also wait for stripes.
    let are_summed =
        segment.page_cache.is_some() || segment.client_raid.is_some() || segment.remote.is_some();
    let part_ms = |part_ns: u64| match measured.time_in.total_ns() {
        0 => 0.0,
        _ if are_summed => share(part_ns, segment.operations) / NS_PER_MS,
        all_ns => part_ns as f64 / all_ns as f64 * segment.response.mean_ns / NS_PER_MS,
    };
    let TimeIn { host_ns, wire_ns, front_end_ns, controller_ns, spindle_ns, outage_ns } =
        measured.time_in;
    let controllers = measured.controllers.iter().map(|one| ControllerFigures {
        utilization: busy(one.processor_busy_ns),
        cores: one.cores.as_ref().map(|cores| CoresFigures {
            busy: busy(cores.busy_ns),
            network: busy(cores.network_ns),
            serial_domains: cores.serial_domains_ns.iter().copied().map(busy).collect(),
        }),
        copied_mib_per_s: array.pair.is_some().then(|| mib_per_s(one.copied_bytes)),
    });
    let names = machine::link_names(scenario, array);
    let mut links = gateway::link_figures(scenario, array, segment);
    links.extend(machine::link_figures(names, &measured.links, segment.length_ns));
    let hosts =
        scenario.hosts_of(&array.name).into_iter().zip(&measured.hosts_busy_ns).map(
            |(host, &busy_ns)| HostProcessor { name: host.name.clone(), cores: busy(busy_ns) },
        );
    Some(Box::new(MachineFigures {
        time_in_ms: strewn_results::TimeIn {
            host: part_ms(host_ns),
            wire: part_ms(wire_ns),
            front_end: part_ms(front_end_ns),
            controller: part_ms(controller_ns),
            spindles: part_ms(spindle_ns),
            outage: part_ms(outage_ns),
        },
        controllers: controllers.collect(),
        links,
        router_utilization: measured.routers_busy_ns.first().map(|&busy_ns| busy(busy_ns)),
        host_cores: busy(measured.hosts_busy_ns.iter().sum()),
        hosts: hosts.collect(),
        lost: measured.lost,
        events,
        out_of_service,
    }))
}

/// Returns the layout of the LUN that the named workload works on; `None` if the host's workloads are not the
/// scenario's.
fn layout_of(
    scenario: &Scenario,
    array: &Array,
    segment: &Segment,
    workload: &str,
) -> Option<SegmentLayout> {
    let named = scenario.workloads.iter().filter_map(|workload| workload.named.as_ref());
    let named = named.into_iter().find(|named| named.name == workload)?;
    // As the arrays of a machine have them, one after another.
    let parts = machine::parts(array);
    let mut luns = parts.iter().flat_map(build::luns);
    let lun = luns.position(|lun| lun.name.as_ref() == Some(&named.lun))?;
    segment.layout.luns.get(lun).map(of_layout)
}

/// Returns the share of the blocks that have moved on the LUNs that workloads write to; none if these are all LUNs, or
/// none of them.
fn rewritten_where_written(scenario: &Scenario, array: &Array, segment: &Segment) -> Option<f64> {
    // As the arrays of a machine have them, one after another.
    let parts = machine::parts(array);
    let luns = parts.iter().flat_map(build::luns).zip(&segment.layout.luns);
    let (written, idle): (Vec<_>, Vec<_>) =
        luns.partition(|(lun, _)| scenario.writes_to(array, lun));
    let blocks: f64 = written.iter().map(|(_, layout)| layout.file.blocks as f64).sum();
    if idle.is_empty() || blocks == 0.0 {
        return None;
    }
    let moved = |layout: &LunLayoutMeasures| Some(layout.rewritten? * layout.file.blocks as f64);
    let moved = written.iter().map(|(_, layout)| moved(layout)).sum::<Option<f64>>()?;
    Some(moved / blocks)
}

fn of_layout(layout: &LunLayoutMeasures) -> SegmentLayout {
    SegmentLayout {
        score: layout.file.score,
        extents_per_gib: layout.file.extents as f64 * BLOCKS_PER_GIB
            / layout.file.blocks.max(1) as f64,
        span_percent: layout.file.span * 100.0,
        rewritten_percent: layout.rewritten.map(|share| share * 100.0),
    }
}

/// Returns the purchases for each array with segments that measure it, by configuration of the scenario.
pub(crate) fn overhead(
    scenario: &Scenario,
    workload: Option<&Workload>,
    arrays: &[ArrayResults],
) -> Result<Vec<OverheadRow>, OverheadError> {
    let Some(overhead) = &scenario.overhead else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for kind in strewn_results::like_kinds(arrays) {
        let of_kind = overhead_of(scenario, overhead, arrays, &|results| {
            let pairs = strewn_results::like_pairs(workload, results);
            let pair = pairs.into_iter().find(|pair| pair.workloads == kind)?;
            Some((pair.first.iops, pair.last.iops))
        })?;
        rows.extend(of_kind.into_iter().map(|row| OverheadRow { workloads: kind.to_vec(), ..row }));
    }
    Ok(rows)
}

/// Returns the protection level of an array; none if it has no redundancy sets.
fn own_level(scenario: &Scenario, array: &str) -> Option<ProtectionLevel> {
    scenario.array(array)?.layout.protection_level()
}

/// Returns the purchases for each array of which `first_and_last` gives the IOPS.
fn overhead_of(
    scenario: &Scenario,
    overhead: &strewn_scenario::Overhead,
    arrays: &[ArrayResults],
    first_and_last: &dyn Fn(&ArrayResults) -> Option<(f64, f64)>,
) -> Result<Vec<OverheadRow>, OverheadError> {
    let described: Vec<OverheadArray> = scenario
        .arrays
        .iter()
        .zip(arrays)
        .filter_map(|(array, results)| {
            let (iops_fresh, iops_end) = first_and_last(results)?;
            Some(OverheadArray {
                name: array.name.clone(),
                layout: array.layout.layout(),
                data_spindles: results.spindles.data,
                parity_spindles: results.spindles.parity,
                iops_fresh,
                iops_end,
                capacity_per_spindle_bytes: build::capacity_bytes(array),
                capacity: array.layout.capacity(),
            })
        })
        .collect();
    let configurations: Vec<OverheadConfiguration> = overhead
        .configurations
        .iter()
        .filter(|one| described.iter().any(|array| array.name == one.array))
        .map(|one| OverheadConfiguration {
            array: one.array.clone(),
            name: one.name.clone(),
            source: one.source.clone(),
            spare: one.spare,
            root: one.root,
            protection_level: one.protection_level.or_else(|| own_level(scenario, &one.array)),
            used_by_results: one.used_by_results,
        })
        .collect();
    strewn_results::overhead(&described, &configurations, overhead.usd_per_spindle)
}
