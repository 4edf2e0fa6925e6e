//! Whether a run that was to go on until something was known came that far.

use super::age::written_percent;
use crate::data::array::ArrayResults;
use crate::data::finding::{Finding, Severity};
use crate::data::number::rounded;
use crate::data::results::Results;
use crate::data::trend::{LEAST_SEGMENTS, is_steady};

pub(super) fn find(results: &Results) -> Vec<Finding> {
    let goal = results.settings.get("until").map(ToString::to_string);
    let of_array = |array| of_array(results, array, goal.as_deref()?);
    results.arrays.iter().filter_map(of_array).collect()
}

fn of_array(results: &Results, array: &ArrayResults, goal: &str) -> Option<Finding> {
    let percent = goal.strip_prefix("rewritten ").and_then(|goal| goal.strip_suffix(" %"));
    let far = match percent.and_then(|percent| percent.parse::<f64>().ok()) {
        Some(percent) => {
            let written = written_percent(results, array)?;
            // What was measured is rounded.
            if written >= 0.999 * percent {
                return None;
            }
            format!("hosts have written {} % of the file", rounded(written, 3))
        }
        None => {
            let iops: Vec<f64> = array.segments.iter().map(|segment| segment.iops).collect();
            if is_steady(&iops) {
                return None;
            }
            match iops.len() {
                ..LEAST_SEGMENTS => format!("it takes {LEAST_SEGMENTS} to tell a trend"),
                _ => "its IOPS still have a trend".to_owned(),
            }
        }
    };
    let (ending, remedy) = match (array.ended, results.partial) {
        (true, _) => ("in which its load ended", ""),
        (false, true) => ("when it was stopped", ""),
        (false, false) => ("the most that it was to run", " Give more segments."),
    };
    let text = format!(
        "{}: not {goal} after {} segments, {ending}: {far}.{remedy}",
        array.name,
        array.segments.len()
    );
    Some(Finding::of(&array.name, "goal_missed", Severity::Caution, text))
}
