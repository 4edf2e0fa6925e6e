//! Accounts for an array's loss of IOPS. Where nothing was lost, nothing is explained.
//!
//! On average, 1 / IOPS seconds pass between two answered operations. The limit of the array spends that time, and the
//! account says on what: a processor on operations and spindle commands, each at a cost that the scenario gives;
//! spindles on commands, each at the measured mean service time. The rest is idle time. Between the first segment and
//! the last that are alike, the differences of these parts add up to the difference of the whole, because they are
//! parts of it.
//!
//! A difference of time is converted to one of IOPS by the same factor for every part, the product of both IOPS:
//! `1/a - 1/b = (b - a) / (a b)`. No part therefore depends on the order of the calculation, with one exception. If
//! spindles are the limit, more commands and longer service multiply: commands are counted first, at the first
//! segment's service time.
//!
//! The account cannot say what would have happened had one thing stayed the same: with fewer commands the queue would
//! have been shorter, and so on. `docs/report.md` has the formulas.

use crate::analysis::busiest::{Busiest, busiest, busiest_spindles};
use crate::analysis::like::{LikePair, like_pairs};
use crate::analysis::obstacle::obstacle;
use crate::data::array::ArrayResults;
use crate::data::loss::{Cause, Limit, Loss, LossPart, Unaccounted};
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::results::Results;
use crate::data::segment::Segment;

/// Microseconds of the limit's time per host operation, by cause.
type Spent = Vec<(Cause, f64)>;

/// Returns the accounts of every array that has one: one for each kind of phase, and one in a run without phases
/// ([`loss()`]).
#[must_use]
pub fn losses(results: &Results) -> Vec<Loss> {
    results.arrays.iter().flat_map(|array| losses_of(results, array)).collect()
}

/// Returns the accounts of one array, in the order of its kinds of phases.
pub(crate) fn losses_of(results: &Results, array: &ArrayResults) -> Vec<Loss> {
    let pairs = like_pairs(results.workload.as_ref(), array);
    pairs.iter().filter_map(|pair| loss_between(results, array, pair)).collect()
}

/// Returns the account of an array, between the two segments of its first kind of phase that are furthest apart
/// ([`like_pairs`]). None if no two segments are alike, or if the
/// results lack what an account needs: commands by kind, and a limit whose use of time is known. It is not known for a
/// real controller, nor for the device of a real log.
#[must_use]
pub fn loss(results: &Results, array: &ArrayResults) -> Option<Loss> {
    losses_of(results, array).into_iter().next()
}

/// Returns the losses that have no account because of what lay between hosts and arrays.
pub fn unaccounted(results: &Results) -> Vec<Unaccounted> {
    let of_array = |array| {
        let pairs = like_pairs(results.workload.as_ref(), array);
        pairs.iter().filter_map(|pair| unaccounted_between(array, pair)).collect::<Vec<_>>()
    };
    results.arrays.iter().flat_map(of_array).collect()
}

/// Returns the loss of an array between two segments, if it has no account because of what lay in front of the array.
pub fn unaccounted_between(array: &ArrayResults, pair: &LikePair<'_>) -> Option<Unaccounted> {
    let LikePair { workloads, first, last } = *pair;
    let why = obstacle(first, last)?;
    let loss = Unaccounted {
        array: array.name.clone(),
        workloads: workloads.to_vec(),
        from_segment: first.index,
        to_segment: last.index,
        from_iops: first.iops,
        to_iops: last.iops,
        why,
    };
    loss.is_notable().then_some(loss)
}

/// Returns the account of an array between two segments.
pub fn loss_between(results: &Results, array: &ArrayResults, pair: &LikePair<'_>) -> Option<Loss> {
    let LikePair { workloads, first, last } = *pair;
    if first.index == last.index || first.iops <= 0.0 || last.iops <= 0.0 {
        return None;
    }
    if obstacle(first, last).is_some() {
        return None;
    }
    let limit = match busiest(results, first) {
        Busiest::Controller => Limit::Controller,
        Busiest::Spindles => Limit::Spindles,
        Busiest::Log => return None,
    };
    let (from, to) = match limit {
        Limit::Controller => both_of_controller(array, first, last)?,
        Limit::Spindles => of_spindles(array, first, last, results.real_spindles.is_some())?,
    };
    let account = account_of(array, limit, (first, &from), (last, &to));
    Some(Loss { workloads: workloads.to_vec(), ..account })
}

/// Returns the account of a difference of IOPS, from what was spent in one segment to what was in another, which is of
/// `array`.
fn account_of(
    array: &ArrayResults,
    limit: Limit,
    (first, from): (&Segment, &Spent),
    (last, to): (&Segment, &Spent),
) -> Loss {
    let per_us = -first.iops * last.iops / 1e6;
    let parts = from.iter().zip(to).map(|((cause, from_us), (_, to_us))| LossPart {
        cause: *cause,
        from_us_per_op: rounded(*from_us, SIGNIFICANT_DIGITS),
        to_us_per_op: rounded(*to_us, SIGNIFICANT_DIGITS),
        // Avoids a negative zero.
        iops: rounded(per_us * (to_us - from_us), SIGNIFICANT_DIGITS) + 0.0,
    });
    Loss {
        array: array.name.clone(),
        workloads: Vec::new(),
        limit,
        from_segment: first.index,
        to_segment: last.index,
        from_iops: first.iops,
        to_iops: last.iops,
        parts: parts.collect(),
    }
}

/// Returns why a slower array delivers less than a faster one: the account of a loss from the one to the other, by the
/// time of what limits the slower one. None if the results lack what an account needs, or if something lies between
/// hosts and arrays.
pub(crate) fn between_arrays(
    results: &Results,
    (fast, faster): (&ArrayResults, &Segment),
    (slow, slower): (&ArrayResults, &Segment),
) -> Option<Loss> {
    if faster.iops <= 0.0 || slower.iops <= 0.0 || obstacle(faster, slower).is_some() {
        return None;
    }
    let (limit, from, to) = match busiest(results, slower) {
        Busiest::Controller => {
            let time = ProcessorTime::of(fast, faster)?;
            let from = of_controller(fast, faster, Some(time))?;
            (Limit::Controller, from, of_controller(slow, slower, Some(time))?)
        }
        Busiest::Spindles => {
            let command = Command::of(fast, faster)?;
            let from = of_spindles_of(fast, faster, command)?;
            (Limit::Spindles, from, of_spindles_of(slow, slower, command)?)
        }
        Busiest::Log => return None,
    };
    Some(account_of(slow, limit, (faster, &from), (slower, &to)))
}

/// What a command costs the spindles of an array.
#[derive(Clone, Copy)]
struct Command {
    service_us: f64,
    spindles: f64,
}

impl Command {
    fn of(array: &ArrayResults, segment: &Segment) -> Option<Self> {
        let spindles = f64::from(array.spindles.data + array.spindles.parity);
        let service_us = segment.spindle_commands.mean_service_ms * 1e3;
        (spindles > 0.0).then_some(Self { service_us, spindles })
    }
}

/// Returns what the spindles of an array spend between two operations: its commands at the cost of another array's,
/// then what they cost more because each takes longer, and because there are fewer spindles.
fn of_spindles_of(array: &ArrayResults, segment: &Segment, other: Command) -> Option<Spent> {
    let own = Command::of(array, segment)?;
    let mut spent = commands_per_op(segment)?;
    let count: f64 = spent.iter().map(|(_, count)| count).sum();
    for (_, figure) in &mut spent {
        *figure *= other.service_us / other.spindles;
    }
    let longer_us = count * (own.service_us - other.service_us) / other.spindles;
    let fewer_us = count * own.service_us * (1.0 / own.spindles - 1.0 / other.spindles);
    spent.push((Cause::ServiceTime, longer_us));
    spent.push((Cause::SpindleCount, fewer_us));
    let all_us = 1e6 / segment.iops;
    let parity = f64::from(array.spindles.parity) / own.spindles;
    let idle = segment.utilization.parity_spindles.map_or(0.0, |busy| (1.0 - busy) * parity);
    spent.push((Cause::ParityWaiting, all_us * idle));
    let known_us = spent.iter().map(|(_, us)| us).sum::<f64>();
    spent.push((Cause::Waiting, all_us - known_us));
    Some(spent)
}

/// Returns spindle commands per host operation by cause; none if the results do not tell them apart.
fn commands_per_op(segment: &Segment) -> Option<Spent> {
    let commands = &segment.spindle_commands;
    let asked_for = commands.data_reads
        + commands.edge_reads
        + commands.metadata_reads
        + commands.parity_update_reads;
    if segment.ops == 0 || (asked_for == 0 && commands.read > 0) {
        return None;
    }
    let rebuild_writes = segment.redundancy.map_or(0, |now| now.rebuild_writes);
    // Reads of lost blocks are counted as requested, but were not sent.
    let recovery_reads = commands.read as f64 - asked_for as f64;
    let own_writes = commands.write as f64 - commands.parity_writes as f64 - rebuild_writes as f64;
    let counts = [
        (Cause::FanOut, commands.data_reads as f64),
        (Cause::EdgeReads, commands.edge_reads as f64),
        (Cause::MetadataReads, commands.metadata_reads as f64),
        (Cause::ParityReads, commands.parity_update_reads as f64),
        (Cause::Writes, own_writes),
        (Cause::ParityWrites, commands.parity_writes as f64),
        (Cause::Recovery, recovery_reads + rebuild_writes as f64),
    ];
    Some(counts.map(|(cause, count)| (cause, count / segment.ops as f64)).to_vec())
}

/// What operations and commands cost the controllers of an array, in microseconds of the time between two operations.
#[derive(Clone, Copy)]
struct ProcessorTime {
    operation_us: f64,
    command_us: f64,
}

impl ProcessorTime {
    fn of(array: &ArrayResults, segment: &Segment) -> Option<Self> {
        let cost_us = |name: &str| {
            let parameter = array.parameters.iter().find(|parameter| parameter.name == name)?;
            let us = match parameter.unit.as_str() {
                "ns" => 1e-3,
                "us" => 1.0,
                "ms" => 1e3,
                _ => return None,
            };
            Some(parameter.value * us)
        };
        let (_, controllers) = mean_controller(segment);
        Some(Self {
            operation_us: cost_us("processor.host_operation")? / controllers,
            command_us: cost_us("processor.spindle_command")? / controllers,
        })
    }
}

/// Returns what the controllers of an array spend between two operations. Its commands cost what `other` says, and then
/// what they cost more here, if it is another array's.
fn of_controller(
    array: &ArrayResults,
    segment: &Segment,
    other: Option<ProcessorTime>,
) -> Option<Spent> {
    let own = ProcessorTime::of(array, segment)?;
    let mut spent = commands_per_op(segment)?;
    let count: f64 = spent.iter().map(|(_, count)| count).sum();
    let command_us = other.unwrap_or(own).command_us;
    for (_, figure) in &mut spent {
        *figure *= command_us;
    }
    if other.is_some() {
        spent.push((Cause::CommandCost, count * (own.command_us - command_us)));
    }
    let all_us = 1e6 / segment.iops;
    let busy_us = all_us * mean_controller(segment).0;
    let known_us = own.operation_us + spent.iter().map(|(_, us)| us).sum::<f64>();
    spent.push((Cause::HostOperations, own.operation_us));
    spent.push((Cause::DataMoved, busy_us - known_us));
    spent.push((Cause::Waiting, all_us - busy_us));
    Some(spent)
}

/// Returns the mean utilization of the controllers, and their number. They work side by side, so each cost takes its
/// share of the time between two operations.
fn mean_controller(segment: &Segment) -> (f64, f64) {
    let machine = segment.machine.as_ref();
    match machine.map(|machine| machine.controllers.as_slice()).unwrap_or_default() {
        [] | [_] => (segment.utilization.controller, 1.0),
        several => {
            let number = several.len() as f64;
            (several.iter().map(|one| one.utilization).sum::<f64>() / number, number)
        }
    }
}

/// Returns the controller's account of both segments. The added wait for slower spindles is a cause of its own.
fn both_of_controller(
    array: &ArrayResults,
    first: &Segment,
    last: &Segment,
) -> Option<(Spent, Spent)> {
    let (mut from, mut to) =
        (of_controller(array, first, None)?, of_controller(array, last, None)?);
    let ((_, waited_us), (_, waits_us)) = (from.last()?, to.last_mut()?);
    let longer_us = (*waits_us - waited_us).max(0.0) * share_of_longer_service(first, last);
    *waits_us -= longer_us;
    from.push((Cause::ServiceTime, 0.0));
    to.push((Cause::ServiceTime, longer_us));
    Some((from, to))
}

/// Returns the share, 0 to 1, of the controller's wait for spindles in the last segment that is due to commands taking
/// longer than in the first. At the first segment's service time the busiest spindles would be busy for less of the
/// time between two operations. Only as far as even that exceeds the controller's busy time does the controller wait
/// because of the number of commands.
fn share_of_longer_service(first: &Segment, last: &Segment) -> f64 {
    let (before_ms, now_ms) =
        (first.spindle_commands.mean_service_ms, last.spindle_commands.mean_service_ms);
    let (spindles, controller) = (busiest_spindles(last), last.utilization.controller);
    if now_ms <= before_ms || spindles <= controller {
        return 0.0;
    }
    let at_first = spindles * before_ms / now_ms;
    1.0 - ((at_first - controller) / (spindles - controller)).clamp(0.0, 1.0)
}

fn of_spindles(
    array: &ArrayResults,
    first: &Segment,
    last: &Segment,
    are_real: bool,
) -> Option<(Spent, Spent)> {
    // Segments with different numbers of spindles have no account in common.
    let groups = |segment: &Segment| {
        segment.groups.iter().filter(|group| group.free_percent.is_some()).count()
    };
    if groups(first) != array.parity_groups.len() || groups(last) != array.parity_groups.len() {
        return None;
    }
    let (data, parity) = (f64::from(array.spindles.data), f64::from(array.spindles.parity));
    let spindles = data + parity;
    if spindles == 0.0 {
        return None;
    }
    // Spindles work side by side, so each command takes its time divided by their number from the time between two
    // operations.
    let service_us = |segment: &Segment| segment.spindle_commands.mean_service_ms * 1e3 / spindles;
    let (first_us, last_us) = (service_us(first), service_us(last));
    let (mut from, mut to) = (commands_per_op(first)?, commands_per_op(last)?);
    let longer_us = to.iter().map(|(_, count)| count).sum::<f64>() * (last_us - first_us);
    for (_, figure) in from.iter_mut().chain(&mut to) {
        *figure *= first_us;
    }
    from.push((Cause::ServiceTime, 0.0));
    to.push((Cause::ServiceTime, longer_us));
    for (spent, segment) in [(&mut from, first), (&mut to, last)] {
        let all_us = 1e6 / segment.iops;
        if are_real {
            // A real device is busy with more than commands; a simulated one is not.
            let busy = data * segment.utilization.spindles
                + parity * segment.utilization.parity_spindles.unwrap_or_default();
            let known_us = spent.iter().map(|(_, us)| us).sum::<f64>();
            spent.push((Cause::OtherIo, all_us * busy / spindles - known_us));
        }
        if let Some(busy) = segment.utilization.parity_spindles {
            spent.push((Cause::ParityWaiting, all_us * (1.0 - busy) * parity / spindles));
        }
        let known_us = spent.iter().map(|(_, us)| us).sum::<f64>();
        spent.push((Cause::Waiting, all_us - known_us));
    }
    Some((from, to))
}
