//! Workloads that stay below the rate that they are limited to.

use crate::data::array::ArrayResults;
use crate::data::finding::{Finding, Severity};
use crate::data::number::{fixed, grouped};
use crate::data::results::Results;
use crate::data::segment::Segment;
use crate::data::workload::{OperationFigures, RateLimit};

/// A rate that is missed by less is met.
const MET: f64 = 0.98;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    results.arrays.iter().flat_map(|array| of_array(results, array)).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Vec<Finding> {
    let missed = missed_rates(results, array);
    let finding = |Missed { workload, limit, segment, did, most }| {
        let figure = |value: f64| {
            if value < 100.0 { fixed(value, 1) } else { grouped(value.round(), false) }
        };
        let text = format!(
            "{}: {workload} does {} {} in segment {segment}, and its rate allows {}: each operation waits for an answer to \
             one of those outstanding.",
            array.name,
            figure(did),
            limit.unit_words(),
            figure(most)
        );
        let finding = Finding::of(&array.name, "rate_missed", Severity::Caution, text);
        finding.in_segment(segment).with([("reached", did), ("allowed", most)])
    };
    missed.into_iter().map(finding).collect()
}

/// A rate that a workload did not reach, in the segment in which it did least.
struct Missed<'r> {
    workload: &'r str,
    limit: RateLimit,
    segment: u32,
    did: f64,
    most: f64,
}

/// Which workloads of an array are limited to rates that all of these meet.
pub(super) enum Rated {
    /// None, or one misses its rate.
    None,
    /// All that are at work in the last segment.
    All,
    /// These, and others at work there are not limited.
    Some { rated: Vec<String>, others: Vec<String> },
}

/// Returns which workloads of an array are limited to rates, and meet them.
pub(super) fn rated(results: &Results, array: &ArrayResults) -> Rated {
    let Some(last) = array.rated_segments().last() else { return Rated::None };
    let (rated, others): (Vec<_>, Vec<_>) = Did::all(results, last)
        .into_iter()
        .map(|did| did.workload.to_owned())
        .partition(|workload| !results.rate_limits(workload).is_empty());
    match (rated.is_empty() || !missed_rates(results, array).is_empty(), others.is_empty()) {
        (true, _) => Rated::None,
        (false, true) => Rated::All,
        (false, false) => Rated::Some { rated, others },
    }
}

/// A segment that ended early says nothing of rates.
fn missed_rates<'r>(results: &'r Results, array: &'r ArrayResults) -> Vec<Missed<'r>> {
    let did = array.rated_segments().iter().flat_map(|segment| Did::all(results, segment));
    let did: Vec<Did<'_>> = did.collect();
    let mut names: Vec<&str> = did.iter().map(|did| did.workload).collect();
    names.sort_unstable();
    names.dedup();
    let missed = |workload: &'r str, limit: RateLimit| {
        let own = did.iter().filter(|did| did.workload == workload);
        let all = own.filter_map(|did| {
            let [most, reached] = limit.beside([&did.reads, &did.writes], did.seconds)?;
            Some(Missed { workload, limit, segment: did.segment, did: reached, most })
        });
        let least = all.min_by(|one, other| one.did.total_cmp(&other.did))?;
        (least.did < MET * least.most).then_some(least)
    };
    let of_name = |name: &'r str| {
        let limits = results.rate_limits(name);
        limits.into_iter().filter_map(move |limit| missed(name, limit)).collect::<Vec<_>>()
    };
    names.into_iter().flat_map(of_name).collect()
}

/// What a workload did in a segment.
struct Did<'r> {
    workload: &'r str,
    segment: u32,
    seconds: f64,
    reads: OperationFigures,
    writes: OperationFigures,
}

impl<'r> Did<'r> {
    /// Returns what each workload did that did anything; an only one did what the hosts did.
    fn all(results: &'r Results, one: &'r Segment) -> Vec<Self> {
        let (segment, seconds) = (one.index, one.seconds);
        let did =
            |workload: &'r str, reads, writes| Self { workload, segment, seconds, reads, writes };
        let at_work = one.by_workload.iter().filter(|it| it.ops() > 0);
        let each = at_work.map(|it| did(&it.name, it.reads, it.writes));
        let only = results.workload.as_ref().and_then(|replaced| replaced.workers.first());
        let only = only.filter(|_| one.by_workload.is_empty()).zip(one.host);
        let only = only.map(|(worker, host)| did(&worker.specification, host.reads, host.writes));
        each.chain(only).collect()
    }
}
