//! What each volume had when each segment ended.

use crate::columns::{Columns, Figure, SegmentRow};
use strewn_results::{ArrayResults, Results, VolumeFigures};

/// A volume in a segment, with its position.
pub(crate) struct VolumeRow<'a> {
    segment: SegmentRow<'a>,
    position: usize,
    now: &'a VolumeFigures,
}

/// Returns what each volume had when each segment ended. Empty if the scenario describes none.
#[must_use]
pub fn volumes_table(results: &Results, array: &ArrayResults) -> String {
    volume_columns().render_any(&volume_rows(results, array))
}

pub(crate) fn volume_rows<'a>(results: &'a Results, array: &'a ArrayResults) -> Vec<VolumeRow<'a>> {
    let volumes = |segment: SegmentRow<'a>| {
        let volumes = segment.segment.volumes.iter().enumerate();
        volumes.map(move |(position, now)| VolumeRow { segment, position, now })
    };
    SegmentRow::with_warm_up(results, array).flat_map(volumes).collect()
}

pub(crate) fn volume_columns<'a>() -> Columns<'a, VolumeRow<'a>> {
    let at = |row: &VolumeRow<'_>, figure: Figure, field: &str| {
        figure.at(row.segment.path(&format!("volumes/{}/{field}", row.position)))
    };
    Columns::new()
        .number("segment", |row: &VolumeRow<'_>| row.segment.segment.index.to_string())
        .words("volume", |row| row.now.name.clone())
        .number(("used\nGiB", "blocks of its LUNs"), move |row| {
            at(row, Figure::blocks(row.now.used_blocks), "used_blocks")
        })
        .number(("reserved\nbeside it\nGiB", "free blocks kept for it"), move |row| {
            at(row, Figure::blocks(row.now.reserved_blocks), "reserved_blocks")
        })
        .number(("snap-\nshots", "snapshots kept"), move |row| {
            at(row, Figure::count(row.now.snapshots.into()), "snapshots")
        })
        .number(("held by\nthem\nGiB", "blocks that only they hold"), move |row| {
            at(row, Figure::blocks(row.now.held_blocks), "held_blocks")
        })
}
