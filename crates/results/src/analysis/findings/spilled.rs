//! Special vdevs that are full.

use crate::data::array::ArrayResults;
use crate::data::finding::{Finding, Severity};
use crate::data::number::grouped;
use crate::data::pool::PoolFigures;
use crate::data::results::Results;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    results.arrays.iter().filter_map(of_array).collect()
}

fn of_array(array: &ArrayResults) -> Option<Finding> {
    let pools: Vec<(u32, PoolFigures)> = array
        .segments
        .iter()
        .filter_map(|segment| Some((segment.index, segment.pool?)))
        .filter(|(_, pool)| pool.has_spilled())
        .collect();
    let ((first, at_first), (_, at_last)) = (pools.first()?, pools.last()?);
    let metadata: u64 = pools.iter().map(|(_, pool)| pool.spilled_metadata_blocks).sum();
    let data: u64 = pools.iter().map(|(_, pool)| pool.spilled_data_blocks).sum();
    let before = at_first.spilled_in_all_blocks
        - at_first.spilled_metadata_blocks
        - at_first.spilled_data_blocks;
    let count = |blocks: u64| grouped(blocks as f64, false);
    let mut what = Vec::new();
    if metadata > 0 {
        what.push(format!("{} blocks of metadata", count(metadata)));
    }
    if data > 0 {
        what.push(format!(
            "{} of data, of which at most three quarters may be on special vdevs",
            count(data)
        ));
    }
    if before > 0 {
        what.push(format!("{} while the volumes were filled", count(before)));
    }
    let begin = if before > 0 { String::new() } else { format!(", from segment {first} on") };
    let text = format!(
        "{}: blocks meant for its special vdevs went to normal ones{begin}: {}. As in the real system, they stay there \
         until they are rewritten, and are read from there: it takes larger special vdevs, or a smaller \
         special_small_blocks.",
        array.name,
        what.join(", and "),
    );
    let finding = Finding::of(&array.name, "special_spilled", Severity::Caution, text);
    Some(finding.in_segment(*first).with([
        ("metadata_blocks", metadata as f64),
        ("data_blocks", data as f64),
        ("in_all_blocks", at_last.spilled_in_all_blocks as f64),
    ]))
}
