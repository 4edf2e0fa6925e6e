//! Response times that follow from IOPS, and so are no second prediction.

use crate::data::comparison::{Metric, PublishedComparison};
use crate::data::finding::{Finding, Severity};

use crate::data::results::Results;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    results.arrays.iter().filter_map(|array| {
        let compared = |metric: Metric| {
            results.published.iter().any(|one: &PublishedComparison| {
                one.array == array.name && one.metric == metric
            })
        };
        let is_fixed = array.outstanding > 0 && results.workload.is_none() && array.phases.is_empty();
        (is_fixed && compared(Metric::Iops) && compared(Metric::ResponseMs)).then(|| {
            let text = format!(
                "{}: {} operations are outstanding all the time, so the mean response time follows from IOPS (Little's law). \
                 The two are one prediction, and MiB/s is IOPS times the mean size.",
                array.name, array.outstanding
            );
            Finding::of(&array.name, "littles_law", Severity::Note, text)
                .with([("outstanding", f64::from(array.outstanding))])
        })
    }).collect()
}
