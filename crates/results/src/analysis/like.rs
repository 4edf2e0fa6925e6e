//! Which segments may be compared: those in which the array was asked for the same and was itself the limit.
//!
//! IOPS of unlike segments differ because the host did something else, which says nothing about the array. Two segments
//! are alike if
//!
//! - both ran their full length: a trace or job that ends may leave a shorter one;
//! - the array was the limit in both: a closed loop that kept its operations outstanding. A host that issues by the
//!   clock, or pauses, sets the IOPS itself;
//! - the host did the same in both: as many operations outstanding, the same share of reads, reads and writes of the
//!   same mean size, the same jobs with the same share of the operations.
//!
//! In a run with phases, segments are alike only if their phases have the same workloads, each of which does the same
//! in every phase.
//!
//! A plain closed loop of one access specification is alike in all segments by construction. `docs/report.md` has the
//! rule.

use crate::data::array::ArrayResults;
use crate::data::segment::Segment;
use crate::data::workload::{OperationFigures, Workload, WorkloadFigures};

/// A segment shorter than the first by more than this share did not run its full length.
const LENGTH_TOLERANCE: f64 = 0.01;
/// A host with fewer operations outstanding than this share of what it may have was the limit for part of the time.
const LEAST_SATURATION: f64 = 0.95;
/// Operations outstanding, and sizes, within this share are the same.
const SAME: f64 = 0.05;
/// Shares of operations within this are the same, beyond what chance explains.
const SAME_SHARE: f64 = 0.02;
/// Standard deviations of a drawn share that chance explains.
const DEVIATIONS: f64 = 3.0;

/// Two segments of an array that may be compared.
#[derive(Clone, Debug)]
pub struct LikePair<'a> {
    /// The workloads of the phases that both are in; none in a run without phases.
    pub workloads: &'a [String],
    /// The earlier one.
    pub first: &'a Segment,
    /// The later one, or the same.
    pub last: &'a Segment,
}

/// Returns, for each kind of phase in the order of the run, the two segments of an array that are furthest apart among
/// those that may be compared; the earlier if there are several. They are one segment if no two are alike. A kind has
/// no pair if the array was the limit in none of its segments. A run without phases is of one kind.
#[must_use]
pub fn like_pairs<'a>(workload: Option<&Workload>, array: &'a ArrayResults) -> Vec<LikePair<'a>> {
    let pair = |(first, last): (usize, usize)| {
        let (first, last) = (&array.segments[first], &array.segments[last]);
        LikePair { workloads: array.kind_of(first), first, last }
    };
    like_positions(workload, array).into_iter().map(pair).collect()
}

/// Returns the workloads of each kind of phase of these arrays, in the order of the run. A run without phases has one
/// kind, without workloads.
#[must_use]
pub fn like_kinds(arrays: &[ArrayResults]) -> Vec<&[String]> {
    let mut kinds: Vec<&[String]> = Vec::new();
    for phase in arrays.iter().flat_map(|array| &array.phases) {
        if !kinds.contains(&phase.workloads.as_slice()) {
            kinds.push(&phase.workloads);
        }
    }
    if kinds.is_empty() { vec![&[]] } else { kinds }
}

/// Returns the same as [`like_pairs`] by position among the array's segments.
pub fn like_positions(workload: Option<&Workload>, array: &ArrayResults) -> Vec<(usize, usize)> {
    let kinds = like_kinds(std::slice::from_ref(array));
    kinds.into_iter().filter_map(|kind| like_positions_of(workload, array, kind)).collect()
}

/// Returns the pair of one kind of phase.
fn like_positions_of(
    workload: Option<&Workload>,
    array: &ArrayResults,
    kind: &[String],
) -> Option<(usize, usize)> {
    let segments = &array.segments;
    let usable = |position: usize| {
        array.kind_of(&segments[position]) == kind
            && is_measure_of_array(workload, array, &segments[position])
    };
    let candidates: Vec<usize> = (0..segments.len()).filter(|at| usable(*at)).collect();
    let mut found: Option<(usize, usize)> = None;
    for (number, first) in candidates.iter().copied().enumerate() {
        let apart = found.map_or(0, |(first, last)| last - first);
        let farther = candidates[number..].iter().rev().copied();
        let mut farther = farther.take_while(|last| found.is_none() || last - first > apart);
        if let Some(last) = farther.find(|last| {
            *last == first || do_the_same(workload, &segments[first], &segments[*last])
        }) {
            found = Some((first, last));
        }
    }
    found
}

/// Returns whether the IOPS of a segment measure the array, and not its host or the end of the run.
pub fn is_measure_of_array(
    workload: Option<&Workload>,
    array: &ArrayResults,
    segment: &Segment,
) -> bool {
    // The last segment may be longer than the others: it lasts until the last operation is answered.
    let full = array.segments.first().map_or(0.0, |segment| segment.seconds);
    segment.ops > 0
        && segment.seconds >= full * (1.0 - LENGTH_TOLERANCE)
        && is_saturated(workload, array, segment)
}

/// Returns whether the host kept all its operations outstanding.
fn is_saturated(workload: Option<&Workload>, array: &ArrayResults, segment: &Segment) -> bool {
    if array.outstanding == 0 {
        return false;
    }
    // A plain closed loop has nothing else to do.
    let Some(host) = &segment.host else { return true };
    let depth = depth(workload, array, segment);
    host.mean_outstanding >= LEAST_SATURATION * f64::from(depth)
}

/// Returns the operations that the host could have outstanding in a segment.
fn depth(workload: Option<&Workload>, array: &ArrayResults, segment: &Segment) -> u32 {
    if let Some(phase) = array.phase_of(segment) {
        return phase.outstanding;
    }
    let Some(workload) = workload else { return array.outstanding };
    if let Some(deepest) = workload.queue_depths.iter().max().filter(|deepest| **deepest > 0) {
        let of_segment = workload.queue_depths.get((segment.index as usize).saturating_sub(1));
        let of_segment = of_segment.or(workload.queue_depths.last()).copied().unwrap_or_default();
        return (u64::from(array.outstanding) * u64::from(of_segment) / u64::from(*deepest)) as u32;
    }
    // Jobs that follow each other are not outstanding together.
    let at_work = segment.by_workload.iter().filter(|job| job.ops() > 0);
    let of_jobs: Option<u32> = at_work
        .map(|job| {
            let mut own = workload.workers.iter().filter(|worker| worker.specification == job.name);
            own.try_fold(0_u32, |sum, worker| Some(sum.saturating_add(worker.outstanding?)))
        })
        .try_fold(0_u32, |sum, depth| Some(sum.saturating_add(depth?)));
    of_jobs.filter(|depth| *depth > 0).unwrap_or(array.outstanding)
}

/// Returns whether the host did the same in two segments of an array that are of one kind.
fn do_the_same(workload: Option<&Workload>, one: &Segment, other: &Segment) -> bool {
    // The same workloads, of which each has as many operations outstanding. What an earlier phase left outstanding is
    // not theirs.
    if one.phase.is_some() && other.phase.is_some() {
        return true;
    }
    let outstanding = |of: &Segment| of.host.map(|host| host.mean_outstanding);
    let same_depth = match outstanding(one).zip(outstanding(other)) {
        Some((one, other)) => same(one, other),
        None => true,
    };
    same_depth && have_same_mix(workload, one, other)
}

/// Returns whether two segments, perhaps of two arrays, had the same mix of operations. The scenario's own accesses are
/// the same throughout.
pub fn have_same_mix(workload: Option<&Workload>, one: &Segment, other: &Segment) -> bool {
    if workload.is_none() {
        return true;
    }
    let (Some(of_one), Some(of_other)) = (&one.host, &other.host) else {
        return one.host.is_none() && other.host.is_none();
    };
    let jobs = |of: &Segment, name: &str| {
        let found = of.by_workload.iter().find(|job| job.name == name);
        found.map_or(0, WorkloadFigures::ops)
    };
    let mut names = one.by_workload.iter().chain(&other.by_workload).map(|job| &job.name);
    same_share((of_one.reads.ops, of_one.ops()), (of_other.reads.ops, of_other.ops()))
        && same_size(&of_one.reads, &of_other.reads)
        && same_size(&of_one.writes, &of_other.writes)
        && names.all(|name| {
            same_share((jobs(one, name), of_one.ops()), (jobs(other, name), of_other.ops()))
        })
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= SAME * one.max(other)
}

/// Returns whether operations of one kind have the same mean size, or there are none to speak of: shares are compared
/// elsewhere.
fn same_size(one: &OperationFigures, other: &OperationFigures) -> bool {
    let mean_mib = |figures: &OperationFigures| figures.mib / figures.ops as f64;
    one.ops == 0 || other.ops == 0 || same(mean_mib(one), mean_mib(other))
}

/// Returns whether two shares, each a part of a whole, are the same but for chance.
fn same_share(one: (u64, u64), other: (u64, u64)) -> bool {
    let [(part, whole), (other_part, other_whole)] =
        [one, other].map(|(part, whole)| (part as f64, whole.max(1) as f64));
    let pooled = (part + other_part) / (whole + other_whole);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / whole + 1.0 / other_whole)).sqrt();
    (part / whole - other_part / other_whole).abs() <= SAME_SHARE + DEVIATIONS * deviation
}
