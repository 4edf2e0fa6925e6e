//! What limits each array.

use super::rate::{Rated, rated};
use crate::analysis::busiest::{Busiest, busiest, busiest_spindles};
use crate::analysis::like::like_pairs;
use crate::data::array::{ArrayResults, LayoutKind};
use crate::data::finding::{Finding, Severity};
use crate::data::number::fixed;
use crate::data::results::Results;
use crate::data::segment::{GroupFigures, Segment};

/// A component that is busy for less of the time limits nothing by itself.
const BUSY: f64 = 0.9;
/// Two components that are as busy within this are the limit alike.
const ALIKE: f64 = 0.03;

pub(super) fn find(results: &Results) -> Vec<Finding> {
    // What lies between hosts and arrays may be the limit, and has tables of its own.
    let is_alone = |array: &&ArrayResults| {
        array.segments.iter().all(|one| one.machine.is_none() && one.client_raid.is_none())
    };
    let arrays = results.arrays.iter().filter(is_alone);
    arrays.filter_map(|array| of_array(results, array)).collect()
}

fn of_array(results: &Results, array: &ArrayResults) -> Option<Finding> {
    let last = array.rated_segments().last()?;
    let (controller, spindles) = (last.utilization.controller, busiest_spindles(last));
    let is_loaded = !like_pairs(results.workload.as_ref(), array).is_empty();
    let busy = |share: f64| fixed(100.0 * share, 0);
    let commands = fixed(last.commands_per_host_op(), 2);
    let name = &array.name;
    let is_idle = controller.max(spindles) < BUSY;
    // The mean over all spindles hides one group among idle ones.
    let group = busiest_group(array, last).filter(|(_, busy)| is_idle && *busy >= BUSY);
    let text = match (busiest(results, last), group, rated(results, array)) {
        _ if controller.min(spindles) >= BUSY && (controller - spindles).abs() < ALIKE => format!(
            "{name}: its controller and its spindles are the limit alike ({} and {} % busy), with {commands} commands an \
             operation of {} ms each.",
            busy(controller),
            busy(spindles),
            fixed(last.spindle_commands.mean_service_ms, 1)
        ),
        (Busiest::Controller, ..) if controller >= BUSY => format!(
            "{name}: its controller is the limit ({} % busy; spindles {} %), with {commands} spindle commands an \
             operation.",
            busy(controller),
            busy(spindles)
        ),
        (Busiest::Spindles, ..) if spindles >= BUSY => format!(
            "{name}: its spindles are the limit ({} % busy; controller {} %), with {commands} commands an operation of \
             {} ms each.",
            busy(spindles),
            busy(controller),
            fixed(last.spindle_commands.mean_service_ms, 1)
        ),
        (Busiest::Log, ..) => return None,
        (.., Rated::None) if is_always_syncing(array, last) => format!(
            "{name}: its transaction groups are the limit: one or another is being written all the time, and writes wait \
             for it, with controller and spindles busy for {} and {} %; more outstanding would not give more IOPS.",
            busy(controller),
            busy(spindles)
        ),
        (_, Some((group, of_group)), _) => format!(
            "{name}: {group} is the limit ({} % busy; all spindles {} % in the mean, controller {} %), with {commands} \
             commands an operation of {} ms each.",
            busy(of_group),
            busy(spindles),
            busy(controller),
            fixed(last.spindle_commands.mean_service_ms, 1)
        ),
        (.., Rated::All) => format!(
            "{name}: nothing of it is the limit, controller and spindles are busy for {} and {} % of the time: hosts are \
             held to their rates, and reach them.",
            busy(controller),
            busy(spindles)
        ),
        (.., Rated::Some { rated, others }) => format!(
            "{name}: what {} has outstanding is the limit: controller and spindles are busy for {} and {} % of the time, \
             and more outstanding would give more IOPS; {}.",
            others.join(", "),
            busy(controller),
            busy(spindles),
            match rated.as_slice() {
                [only] => format!("{only} is held to its rate, and reaches it"),
                several =>
                    format!("{} are held to their rates, and reach them", several.join(", ")),
            }
        ),
        _ if is_replayed_by_its_times(results) => format!(
            "{name}: nothing of it is the limit, controller and spindles are busy for {} and {} % of the time: operations \
             arrive at the times of the trace.",
            busy(controller),
            busy(spindles)
        ),
        _ if !is_loaded => format!(
            "{name}: neither controller nor spindles are the limit, busy for {} and {} % of the time: what hosts ask for at \
             a time is.",
            busy(controller),
            busy(spindles)
        ),
        _ => format!(
            "{name}: the operations outstanding are the limit: controller and spindles are busy for {} and {} % of the \
             time, and more outstanding would give more IOPS.",
            busy(controller),
            busy(spindles)
        ),
    };
    let finding = Finding::of(name, "limit", Severity::Note, text);
    Some(finding.in_segment(last.index).with(figures(last)))
}

/// Whether a pool is never done with what hosts have written, so that they are held to what it writes.
fn is_always_syncing(array: &ArrayResults, segment: &Segment) -> bool {
    let ms = segment.housekeeping.map_or(0, |done| done.checkpoint_ms);
    let writes_wait =
        segment.host.as_ref().is_some_and(|host| host.writes.mean_ms > host.reads.mean_ms);
    array.layout == LayoutKind::POOL && ms as f64 >= 1e3 * BUSY * segment.seconds && writes_wait
}

/// Returns the group or vdev whose spindles are busiest, and for which part of the time.
fn busiest_group(array: &ArrayResults, segment: &Segment) -> Option<(String, f64)> {
    let busy = |figures: &GroupFigures| {
        figures.spindles.unwrap_or_default().max(figures.parity_spindles.unwrap_or_default())
    };
    let groups = (1..).zip(&array.parity_groups).zip(&segment.groups);
    let all = groups.map(|((number, group), figures)| (group.words(number), busy(figures)));
    all.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Whether the operations are those of a trace, at its times: no answer brings the next one on.
fn is_replayed_by_its_times(results: &Results) -> bool {
    let trace = results.workload.as_ref().and_then(|workload| workload.trace.as_ref());
    trace.is_some_and(|trace| trace.replay == "open")
}

fn figures(segment: &Segment) -> [(&'static str, f64); 3] {
    [
        ("controller_busy", segment.utilization.controller),
        ("spindles_busy", busiest_spindles(segment)),
        ("commands_per_op", segment.commands_per_host_op()),
    ]
}
