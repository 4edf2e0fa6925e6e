//! All segments of every array, in tables.

use crate::columns::{Columns, SegmentRow, declared, starving_note};
use crate::html::block::Block;
use crate::recorded_table::{RECORDED_HEADING, recorded_columns, recorded_rows};
use crate::segments_table::segment_columns;
use crate::volumes_table::{volume_columns, volume_rows};
use crate::workloads_table::{workload_columns, workload_rows};
use strewn_results::{ArrayResults, Group, Results, Table};

pub(super) fn segments(results: &Results) -> Vec<Block> {
    let tables = |array: &ArrayResults| segment_tables(results, array);
    let mut blocks: Vec<Block> = results.arrays.iter().flat_map(tables).collect();
    for array in &results.arrays {
        let name = &array.name;
        let caption = format!("{name}: by workload");
        let rows = workload_rows(results, array);
        blocks.extend(workload_columns(&rows).block(caption, &rows));
        let rows =
            SegmentRow::with_warm_up(results, array).filter(|row| row.segment.snapshots.is_some());
        let columns = Columns::new().all(declared!["segment"]).of_group(Group::Snapshots);
        let caption = format!("{name}: what its snapshots held");
        blocks.extend(columns.block(caption, &rows.collect::<Vec<_>>()));
        let caption = format!("{name}: its volumes, in blocks of 4 KiB");
        blocks.extend(volume_columns().block(caption, &volume_rows(results, array)));
    }
    let recorded = recorded_rows(results);
    blocks.extend(recorded_columns(results).block(RECORDED_HEADING, &recorded));
    if !blocks.is_empty() {
        let all = "Everything that was measured is in segments.csv and results.json.";
        blocks.push(Block::note(all));
    }
    blocks
}

/// Returns two tables by segment, each of which fits a page: the host's measurements of an array, and the array's own.
fn segment_tables(results: &Results, array: &ArrayResults) -> Vec<Block> {
    let what = match &results.real_spindles {
        Some(_) => format!("{}, {}", array.layout.as_str(), array.working_spindles()),
        None => {
            format!("{}, {} spindles to buy", array.layout.as_str(), array.spindles.purchased)
        }
    };
    let load = array.outstanding_words();
    let starves = results.drives_starve(array);
    let of_segments = [array.warm_up_note(), array.short_segment_note()];
    let notes = of_segments.into_iter().flatten().chain(starves.then(|| starving_note(array)));
    let note = notes.map(|note| format!(". {note}")).collect::<String>();
    let rows: Vec<SegmentRow<'_>> = SegmentRow::with_warm_up(results, array).collect();
    let tables = [
        (Table::Host, format!("{}: {what}, {load}: what the host saw{note}", array.name)),
        (Table::Array, format!("{}: what the array did", array.name)),
    ];
    let block = |(table, caption): &(Table, String)| {
        segment_columns(results, array, Some(*table)).block(caption, &rows)
    };
    tables.iter().filter_map(block).collect()
}
