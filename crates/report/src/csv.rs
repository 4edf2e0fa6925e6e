//! Segments as comma-separated values, for spreadsheets and plotting tools.
//!
//! RFC 4180: lines end in CR LF, the first line names the columns, and a field that contains a
//! comma, a quote or a line break is quoted. Column names end in the unit. A measurement that an
//! array does not have is an empty field.

use std::io::Write;
use strewn_results::{
    ArrayResults, ClientRaidFigures, FigureBand, MachineFigures, Relocated, Relocation, Results,
    ResultsError, Segment,
};

/// A column: its name, and its value in a row.
type Column = (&'static str, fn(&ArrayResults, &Segment) -> String);

/// The columns, in the order of the fields of `results.json`.
const COLUMNS: &[Column] = &[
    ("array", |array, _| array.name.clone()),
    ("layout", |array, _| array.layout.as_str().to_owned()),
    ("outstanding_ops", |array, _| array.outstanding.to_string()),
    ("segment", |_, segment| segment.index.to_string()),
    ("length_s", |_, segment| segment.seconds.to_string()),
    ("host_ops", |_, segment| segment.ops.to_string()),
    ("host_ops_per_s", |_, segment| segment.iops.to_string()),
    ("throughput_mib_per_s", |_, segment| segment.mib_per_s.to_string()),
    ("response_mean_ms", |_, segment| segment.response_ms.mean.to_string()),
    ("response_p50_ms", |_, segment| segment.response_ms.p50.to_string()),
    ("response_p95_ms", |_, segment| segment.response_ms.p95.to_string()),
    ("response_p99_ms", |_, segment| segment.response_ms.p99.to_string()),
    ("response_max_ms", |_, segment| segment.response_ms.max.to_string()),
    ("controller_utilization_0_to_1", |_, segment| segment.utilization.controller.to_string()),
    ("spindle_utilization_0_to_1", |_, segment| segment.utilization.spindles.to_string()),
    ("parity_spindle_utilization_0_to_1", |_, segment| {
        optional(segment.utilization.parity_spindles)
    }),
    ("spindle_reads", |_, segment| segment.spindle_commands.read.to_string()),
    ("spindle_writes", |_, segment| segment.spindle_commands.write.to_string()),
    ("data_reads", |_, segment| segment.spindle_commands.data_reads.to_string()),
    ("edge_reads", |_, segment| segment.spindle_commands.edge_reads.to_string()),
    ("metadata_reads", |_, segment| segment.spindle_commands.metadata_reads.to_string()),
    ("parity_update_reads", |_, segment| segment.spindle_commands.parity_update_reads.to_string()),
    ("parity_writes", |_, segment| segment.spindle_commands.parity_writes.to_string()),
    ("spindle_reads_per_host_op", |_, segment| {
        segment.spindle_commands.reads_per_host_op.to_string()
    }),
    ("spindle_queue_depth_mean", |_, segment| {
        segment.spindle_commands.mean_queue_depth.to_string()
    }),
    ("spindle_service_mean_ms", |_, segment| segment.spindle_commands.mean_service_ms.to_string()),
    ("cache_hit_percent", |_, segment| segment.cache.hit_percent.to_string()),
    ("host_read_hit_percent", |_, segment| {
        optional(segment.cache.host_reads.and_then(|reads| reads.hit_percent))
    }),
    ("stalled_writes", |_, segment| segment.cache.stalled_writes.to_string()),
    ("layout_score_0_to_1", |_, segment| segment.layout.score.to_string()),
    ("extents_per_gib", |_, segment| segment.layout.extents_per_gib.to_string()),
    ("span_percent", |_, segment| segment.layout.span_percent.to_string()),
    ("rewritten_percent", |_, segment| optional(segment.layout.rewritten_percent)),
    ("free_space_score_0_to_1", |_, segment| optional(segment.free_space.map(|space| space.score))),
    ("largest_free_run_blocks", |_, segment| {
        optional(segment.free_space.map(|space| space.largest_run_blocks))
    }),
    ("consistency_points", |_, segment| {
        optional(segment.consistency_points.map(|points| points.count))
    }),
    ("back_to_back_consistency_points", |_, segment| {
        optional(segment.consistency_points.map(|points| points.back_to_back))
    }),
    ("blocks_per_consistency_point", |_, segment| {
        optional(segment.consistency_points.map(|points| points.blocks_per_cp))
    }),
    ("full_stripe_percent", |_, segment| {
        optional(segment.consistency_points.and_then(|points| points.full_stripe_percent))
    }),
    ("littles_law_error_percent", |_, segment| {
        segment.checks.littles_law_error_percent.to_string()
    }),
    ("utilization_law_error_percent", |_, segment| {
        segment.checks.utilization_law_error_percent.to_string()
    }),
];

/// Further columns at the end, in the results of a run in which a spindle failed.
const FAILURE_COLUMNS: &[Column] = &[
    ("lost_spindles", |_, segment| {
        segment.redundancy.map_or(0, |now| now.lost_spindles).to_string()
    }),
    ("rebuilt_percent", |_, segment| optional(segment.redundancy.map(|now| now.rebuilt_percent))),
    ("degraded_reads", |_, segment| {
        segment.redundancy.map_or(0, |now| now.degraded_reads).to_string()
    }),
    ("recovery_reads", |_, segment| {
        segment.redundancy.map_or(0, |now| now.recovery_reads).to_string()
    }),
    ("rebuild_reads", |_, segment| {
        segment.redundancy.map_or(0, |now| now.rebuild_reads).to_string()
    }),
    ("rebuild_writes", |_, segment| {
        segment.redundancy.map_or(0, |now| now.rebuild_writes).to_string()
    }),
];

/// Further columns at the end, in the results of a run with snapshots.
const SNAPSHOT_COLUMNS: &[Column] = &[
    ("snapshots_kept", |_, segment| optional(segment.snapshots.map(|now| now.kept))),
    ("snapshots_taken", |_, segment| optional(segment.snapshots.map(|now| now.taken))),
    ("snapshots_refused", |_, segment| optional(segment.snapshots.map(|now| now.refused))),
    ("snapshot_held_blocks", |_, segment| optional(segment.snapshots.map(|now| now.held_blocks))),
    ("snapshot_freed_blocks", |_, segment| optional(segment.snapshots.map(|now| now.freed_blocks))),
    ("aggregate_used_percent", |_, segment| {
        optional(segment.snapshots.map(|now| now.aggregate_used_percent))
    }),
];

/// Further columns at the end, in the results of a run in which arrays read ahead.
const READ_AHEAD_COLUMNS: &[Column] = &[
    ("read_ahead_blocks", |_, segment| optional(segment.cache.read_ahead.map(|now| now.blocks))),
    ("read_ahead_used_blocks", |_, segment| optional(segment.cache.read_ahead.map(|now| now.used))),
    ("read_ahead_dropped_blocks", |_, segment| {
        optional(segment.cache.read_ahead.map(|now| now.dropped))
    }),
];

/// Further columns at the end, in the results of a run with relocation.
const RELOCATION_COLUMNS: &[Column] = &[
    ("read_reallocation_blocks", |_, segment| {
        of_relocation(segment, |now| now.after_reads, |cause| cause.blocks)
    }),
    ("read_reallocation_reads", |_, segment| {
        of_relocation(segment, |now| now.after_reads, |cause| cause.reads)
    }),
    ("reallocation_scan_blocks", |_, segment| {
        of_relocation(segment, |now| now.by_scans, |cause| cause.blocks)
    }),
    ("reallocation_scan_reads", |_, segment| {
        of_relocation(segment, |now| now.by_scans, |cause| cause.reads)
    }),
    ("cleaning_blocks", |_, segment| {
        of_relocation(segment, |now| now.by_cleaning, |cause| cause.blocks)
    }),
    ("cleaning_reads", |_, segment| {
        of_relocation(segment, |now| now.by_cleaning, |cause| cause.reads)
    }),
    ("reallocation_scan_passed_percent", |_, segment| {
        let scan = segment.relocation.and_then(|now| now.scan);
        optional(scan.map(|scan| scan.passed_percent))
    }),
];

/// A further column at the end, in the results of a run with phases.
const PHASE_COLUMNS: &[Column] =
    &[("phase", |_, segment| segment.phase.clone().unwrap_or_default())];

/// Further columns at the end, in the results of a run in which something lay between hosts and arrays.
const MACHINE_COLUMNS: &[Column] = &[
    ("time_in_host_ms", |_, segment| of_machine(segment, |now| now.time_in_ms.host)),
    ("time_in_wire_ms", |_, segment| of_machine(segment, |now| now.time_in_ms.wire)),
    ("time_in_front_end_ms", |_, segment| of_machine(segment, |now| now.time_in_ms.front_end)),
    ("time_in_controller_ms", |_, segment| of_machine(segment, |now| now.time_in_ms.controller)),
    ("time_in_spindles_ms", |_, segment| of_machine(segment, |now| now.time_in_ms.spindles)),
    ("time_in_outage_ms", |_, segment| of_machine(segment, |now| now.time_in_ms.outage)),
    ("requests_lost", |_, segment| of_machine(segment, |now| now.lost)),
    ("host_cores_busy", |_, segment| of_machine(segment, |now| now.host_cores)),
    ("busiest_link_utilization_0_to_1", |_, segment| {
        let machine = segment.machine.as_deref();
        optional(machine.and_then(|now| now.busiest_link()).map(|link| link.utilization))
    }),
    ("router_utilization_0_to_1", |_, segment| {
        optional(segment.machine.as_ref().and_then(|now| now.router_utilization))
    }),
];

/// Further columns at the end, in the results of a run in which hosts had page caches.
const PAGE_CACHE_COLUMNS: &[Column] = &[
    ("page_cache_hit_percent", |_, segment| {
        optional(segment.page_cache.and_then(|now| now.hit_percent))
    }),
    ("page_cache_read_mib_per_s", |_, segment| {
        optional(segment.page_cache.map(|now| now.filled_mib_per_s))
    }),
    ("page_cache_written_mib_per_s", |_, segment| {
        optional(segment.page_cache.map(|now| now.written_mib_per_s))
    }),
    ("page_cache_write_request_kib", |_, segment| {
        optional(segment.page_cache.and_then(|now| now.write_request_kib))
    }),
    ("page_cache_throttled_ms", |_, segment| {
        optional(segment.page_cache.map(|now| now.throttled_ms))
    }),
    ("page_cache_dirty_mib", |_, segment| optional(segment.page_cache.map(|now| now.dirty_mib))),
];

/// Further columns at the end, in the results of a run in which clients computed parity.
const CLIENT_RAID_COLUMNS: &[Column] = &[
    ("client_reads_per_op", |_, segment| of_clients(segment, |now| now.reads_per_op)),
    ("client_parity_update_reads_per_op", |_, segment| {
        of_clients(segment, |now| now.update_reads_per_op)
    }),
    ("client_writes_per_op", |_, segment| of_clients(segment, |now| now.writes_per_op)),
    ("client_read_mib_per_s", |_, segment| of_clients(segment, |now| now.read_mib_per_s)),
    ("client_parity_update_read_mib_per_s", |_, segment| {
        of_clients(segment, |now| now.update_read_mib_per_s)
    }),
    ("client_written_mib_per_s", |_, segment| of_clients(segment, |now| now.written_mib_per_s)),
    ("client_parity_written_mib_per_s", |_, segment| {
        of_clients(segment, |now| now.parity_mib_per_s)
    }),
    ("client_full_stripe_percent", |_, segment| {
        optional(segment.client_raid.and_then(|now| now.full_stripe_percent))
    }),
    ("client_reconstructed_mib_per_s", |_, segment| {
        of_clients(segment, |now| now.reconstructed_mib_per_s)
    }),
    ("client_stripe_wait_ms", |_, segment| of_clients(segment, |now| now.stripe_wait_ms)),
    ("client_parity_cores_busy", |_, segment| of_clients(segment, |now| now.parity_cores)),
];

/// Further columns at the end, in the results of a run with bands.
const BAND_COLUMNS: &[Column] = &[
    ("host_ops_per_s_low", |_, segment| of_band(segment, |band| Some(band.low))),
    ("host_ops_per_s_high", |_, segment| of_band(segment, |band| Some(band.high))),
    ("band_seeds_percent", |_, segment| of_band(segment, |band| band.seeds_percent)),
    ("band_fitted_rows_percent_down", |_, segment| {
        of_band(segment, |band| band.fitted_rows_percent_down)
    }),
    ("band_fitted_rows_percent_up", |_, segment| {
        of_band(segment, |band| band.fitted_rows_percent_up)
    }),
    ("band_unknowns_percent_down", |_, segment| {
        of_band(segment, |band| band.unknowns_percent_down)
    }),
    ("band_unknowns_percent_up", |_, segment| of_band(segment, |band| band.unknowns_percent_up)),
    ("response_mean_low_ms", |_, segment| {
        optional(segment.band.as_ref().and_then(|band| Some(band.response_ms?.low)))
    }),
    ("response_mean_high_ms", |_, segment| {
        optional(segment.band.as_ref().and_then(|band| Some(band.response_ms?.high)))
    }),
];

/// Further columns at the end, in the results of a run in which an array in place destaged stripes together.
const STRIPE_DESTAGE_COLUMNS: &[Column] = &[
    ("full_stripe_destages", |_, segment| optional(segment.stripe_destages.map(|now| now.full))),
    ("reconstruct_destages", |_, segment| {
        optional(segment.stripe_destages.map(|now| now.reconstructed))
    }),
];

/// Further columns at the end, in the results of a run whose controllers' other work is counted.
const HOUSEKEEPING_COLUMNS: &[Column] = &[
    ("allocated_blocks", |_, segment| {
        optional(segment.housekeeping.map(|now| now.allocated_blocks))
    }),
    ("freed_blocks", |_, segment| optional(segment.housekeeping.map(|now| now.freed_blocks))),
    ("changed_metadata_blocks", |_, segment| {
        optional(segment.housekeeping.map(|now| now.changed_metadata_blocks))
    }),
    ("parity_xor_kib", |_, segment| optional(segment.housekeeping.map(|now| now.parity_kib))),
    ("reads_through_holes", |_, segment| {
        optional(segment.housekeeping.map(|now| now.reads_through_holes))
    }),
    ("hole_blocks", |_, segment| optional(segment.housekeeping.map(|now| now.hole_blocks))),
    ("reclaimed_regions", |_, segment| {
        optional(segment.housekeeping.map(|now| now.reclaimed_regions))
    }),
    ("map_scan_reads", |_, segment| optional(segment.housekeeping.map(|now| now.map_scan_reads))),
    ("map_scan_hits", |_, segment| optional(segment.housekeeping.map(|now| now.map_scan_hits))),
    ("checkpoint_ms", |_, segment| optional(segment.housekeeping.map(|now| now.checkpoint_ms))),
];

/// Writes one row per array and segment, after a row of column names.
///
/// # Errors
///
/// [`ResultsError::Write`] if `writer` fails.
pub fn write_segments_csv(results: &Results, mut writer: impl Write) -> Result<(), ResultsError> {
    let names = columns(results).map(|(name, _)| (*name).to_owned()).collect();
    let segments = results.arrays.iter().flat_map(|array| {
        let segments = array.segments.iter();
        segments
            .map(move |segment| columns(results).map(|(_, value)| value(array, segment)).collect())
    });
    let text = csv_text(std::iter::once(names).chain(segments));
    writer.write_all(&text)?;
    Ok(writer.flush()?)
}

/// Formats rows, all with the same number of fields, as CSV.
pub(crate) fn csv_text(rows: impl Iterator<Item = Vec<String>>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut csv =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(&mut text);
    for row in rows {
        let written = csv.write_record(&row);
        // Only a row of another length or a failing destination could cause an error; memory
        // accepts everything.
        debug_assert!(written.is_ok(), "{written:?}");
    }
    drop(csv);
    text
}

fn columns(results: &Results) -> impl Iterator<Item = &'static Column> {
    let any_failure = results.arrays.iter().any(|array| !array.failures.is_empty());
    let of_failures = if any_failure { FAILURE_COLUMNS } else { &[] };
    let if_any = |has: fn(&Segment) -> bool, columns: &'static [Column]| {
        let mut segments = results.arrays.iter().flat_map(|array| &array.segments);
        if segments.any(has) { columns } else { &[] }
    };
    let of_snapshots = if_any(|segment| segment.snapshots.is_some(), SNAPSHOT_COLUMNS);
    let of_machine = if_any(|segment| segment.machine.is_some(), MACHINE_COLUMNS);
    let of_page_cache = if_any(|segment| segment.page_cache.is_some(), PAGE_CACHE_COLUMNS);
    let of_clients = if_any(|segment| segment.client_raid.is_some(), CLIENT_RAID_COLUMNS);
    let of_destages = if_any(|segment| segment.stripe_destages.is_some(), STRIPE_DESTAGE_COLUMNS);
    let of_read_ahead = if_any(|segment| segment.cache.read_ahead.is_some(), READ_AHEAD_COLUMNS);
    let of_relocation = if_any(|segment| segment.relocation.is_some(), RELOCATION_COLUMNS);
    let any_phase = results.arrays.iter().any(|array| !array.phases.is_empty());
    let of_phases = if any_phase { PHASE_COLUMNS } else { &[] };
    let of_housekeeping = if_any(|segment| segment.housekeeping.is_some(), HOUSEKEEPING_COLUMNS);
    let of_bands = if_any(|segment| segment.band.is_some(), BAND_COLUMNS);
    COLUMNS
        .iter()
        .chain(of_failures)
        .chain(of_snapshots)
        .chain(of_machine)
        .chain(of_page_cache)
        .chain(of_clients)
        .chain(of_read_ahead)
        .chain(of_phases)
        .chain(of_relocation)
        .chain(of_destages)
        .chain(of_bands)
        .chain(of_housekeeping)
}

/// Returns the table column by column: names, and the entry of each row.
#[cfg(feature = "parquet")]
pub(crate) fn segment_columns(results: &Results) -> Vec<(&'static str, Vec<String>)> {
    let rows = || {
        results
            .arrays
            .iter()
            .flat_map(|array| array.segments.iter().map(move |segment| (array, segment)))
    };
    columns(results)
        .map(|(name, value)| {
            (*name, rows().map(|(array, segment)| value(array, segment)).collect())
        })
        .collect()
}

/// Returns a part of the band of a segment's IOPS; nothing if it has none.
fn of_band(segment: &Segment, part: fn(&FigureBand) -> Option<f64>) -> String {
    optional(segment.band.as_ref().and_then(|band| part(&band.iops)))
}

/// Returns a figure of what was relocated for one cause; nothing in an array that relocates nothing.
fn of_relocation(
    segment: &Segment,
    cause: fn(&Relocation) -> Option<Relocated>,
    figure: fn(&Relocated) -> u64,
) -> String {
    let moved = |now: &Relocation| cause(now).as_ref().map_or(0, figure);
    optional(segment.relocation.as_ref().map(moved))
}

/// Returns a figure of what lay between hosts and array; nothing if nothing did.
fn of_machine<T: ToString>(segment: &Segment, figure: fn(&MachineFigures) -> T) -> String {
    optional(segment.machine.as_deref().map(figure))
}

/// Returns a figure of clients that compute parity; nothing if there are none.
fn of_clients(segment: &Segment, figure: fn(&ClientRaidFigures) -> f64) -> String {
    optional(segment.client_raid.as_ref().map(figure))
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
