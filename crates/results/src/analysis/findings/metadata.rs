//! Pools whose indirect blocks do not fit their ARC.

use crate::data::array::{ArrayResults, LayoutKind};
use crate::data::finding::{Finding, Severity};
use crate::data::number::fixed;
use crate::data::results::Results;

/// Fewer reads of metadata for each operation are no limit; chosen.
const LEAST_READS: f64 = 0.1;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    results.arrays.iter().filter_map(|array| of_array(results, array)).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Option<Finding> {
    let last = array.rated_segments().last().filter(|last| last.ops > 0)?;
    let reads = last.spindle_commands.metadata_reads as f64 / last.ops as f64;
    if array.layout != LayoutKind::POOL || reads < LEAST_READS {
        return None;
    }
    let setting = |key: &str| results.settings.get(&format!("array.{}.zfs.{key}", array.name));
    let arc = setting("arc").map_or_else(String::new, |arc| format!(" of {arc}"));
    let (key, block) = match setting("recordsize") {
        Some(block) => ("recordsize", Some(block)),
        None => ("volblocksize", setting("volblocksize")),
    };
    let block = block.map_or_else(String::new, |block| format!(" ({block} now)"));
    let text = format!(
        "{}: its indirect blocks do not fit the ARC{arc}: {} metadata reads an operation, of {} commands. A larger arc or a \
         larger {key}{block} leaves fewer: each block takes 128 bytes of indirect blocks.",
        array.name,
        fixed(reads, 2),
        fixed(last.commands_per_host_op(), 2)
    );
    let finding = Finding::of(&array.name, "metadata_reads", Severity::Note, text);
    Some(finding.in_segment(last.index).with([("metadata_reads_per_op", reads)]))
}
