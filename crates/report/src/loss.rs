//! Where an array's loss of IOPS came from, by accounting. Where nothing was lost, nothing is explained.
//!
//! Between two operations answered there pass, on average, 1 / IOPS seconds. Whatever limits the array spends that time
//! on something, and what it spends it on is counted: a processor on operations and spindle commands, each at a cost that
//! the scenario gives; spindles on commands, each at the mean service time that was measured; and what is left it was
//! idle. Taken in the first segment and in the last, the differences of these parts add up to the difference of the
//! whole, because they are parts of it.
//!
//! A difference of time is turned into one of IOPS by the same factor for every part, the product of both IOPS:
//! `1/a - 1/b = (b - a) / (a b)`. So no part depends on the order in which they are looked at. One does where spindles
//! are the limit: more commands and longer service multiply, and commands are taken first, at the first segment's
//! service time.
//!
//! What this cannot say is what would have been had one thing stayed as it was: with fewer commands the queue would
//! have been shorter, and so on. `docs/report.md` has the formulas.

use crate::results::{ArrayResults, Results, SIGNIFICANT_DIGITS, Segment, rounded};
use crate::table::{Columns, fixed, signed};
use serde::{Deserialize, Serialize};

/// What an array's IOPS are limited by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The controller's processor.
    Controller,
    /// The spindles that work, parity spindles among them.
    Spindles,
}

impl Limit {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Spindles => "spindles",
        }
    }
}

/// What time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Spindle reads of what host reads asked for: one request that became several.
    FanOut,
    /// Spindle reads of blocks that host writes cover in part.
    EdgeReads,
    /// Spindle reads of indirect blocks, bitmaps and container maps.
    MetadataReads,
    /// Spindle reads for updates of parity.
    ParityReads,
    /// Spindle writes of data and metadata: of consistency points or destages.
    Writes,
    /// Spindle writes of parity.
    ParityWrites,
    /// Spindle commands instead of lost blocks' and for rebuilds.
    Recovery,
    /// What the processor does for each host operation, commands aside; a constant.
    HostOperations,
    /// What the processor does for each KiB; what is left of its time when all else is taken off.
    DataMoved,
    /// Seek, rotation and transfer of a spindle command: where spindles are the limit what they took longer, where the
    /// controller is what it waited for them because they took longer.
    ServiceTime,
    /// I/O of real spindles that no command of the array's is: checksum blocks, superblocks, flushes.
    OtherIo,
    /// Spindles that hold nothing but parity were idle while others are the limit.
    ParityWaiting,
    /// The limit itself was idle, waiting for others.
    Waiting,
}

impl Cause {
    /// What it is, for a reader; `limit` is what the account is of.
    #[must_use]
    pub const fn words(self, limit: Limit) -> &'static str {
        match (self, limit) {
            (Self::FanOut, _) => "fan-out of host reads",
            (Self::EdgeReads, _) => "reads of blocks written in part",
            (Self::MetadataReads, _) => "metadata reads",
            (Self::ParityReads, _) => "parity reads",
            (Self::Writes, _) => "writes of data and metadata",
            (Self::ParityWrites, _) => "parity writes",
            (Self::Recovery, _) => "recovery and rebuild",
            (Self::HostOperations, _) => "host operations",
            (Self::DataMoved, _) => "data moved, and rounding",
            (Self::ServiceTime, Limit::Controller) => "waiting for longer seeks and service",
            (Self::ServiceTime, Limit::Spindles) => "change of a command's service time",
            (Self::OtherIo, _) => "checksum blocks, superblocks, flushes",
            (Self::ParityWaiting, _) => "parity spindles idle",
            (Self::Waiting, Limit::Controller) => "controller waiting for spindles",
            (Self::Waiting, Limit::Spindles) => "data spindles idle",
        }
    }
}

/// What one cause took away between two segments, or gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossPart {
    /// The cause.
    pub cause: Cause,
    /// Time of the limit for it in the first segment, microseconds per host operation.
    pub from_us_per_op: f64,
    /// And in the last; [`Cause::ServiceTime`] is a difference: `from_us_per_op` is 0 by definition.
    pub to_us_per_op: f64,
    /// What that changed the IOPS by; negative where it took away.
    pub iops: f64,
}

/// Where the difference between the IOPS of an array's first and last segment came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Name of the array.
    pub array: String,
    /// What was busiest in the first segment, and the account is of.
    pub limit: Limit,
    /// The first segment.
    pub from_segment: u32,
    /// The last segment.
    pub to_segment: u32,
    /// Host operations per second in the first segment.
    pub from_iops: f64,
    /// Host operations per second in the last segment.
    pub to_iops: f64,
    /// The parts; their `iops` add up to the difference.
    pub parts: Vec<LossPart>,
}

/// Microseconds of the limit per host operation, by cause.
type Spent = Vec<(Cause, f64)>;

/// The account of every array that has one ([`loss()`]).
#[must_use]
pub fn losses(results: &Results) -> Vec<Loss> {
    results.arrays.iter().filter_map(|array| loss(results, array)).collect()
}

/// The account of one of the arrays; none with fewer than two segments, or if the results lack what it is made from: they do
/// not tell commands apart by kind, or what was busiest is a real controller or the device of a real log, of which it is
/// not known what they spend their time on.
#[must_use]
pub fn loss(results: &Results, array: &ArrayResults) -> Option<Loss> {
    let (first, last) = (array.segments.first()?, array.segments.last()?);
    if first.index == last.index || first.iops <= 0.0 || last.iops <= 0.0 {
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
    let per_us = -first.iops * last.iops / 1e6;
    let parts = from.iter().zip(&to).map(|((cause, from_us), (_, to_us))| LossPart {
        cause: *cause,
        from_us_per_op: rounded(*from_us, SIGNIFICANT_DIGITS),
        to_us_per_op: rounded(*to_us, SIGNIFICANT_DIGITS),
        // No negative zero.
        iops: rounded(per_us * (to_us - from_us), SIGNIFICANT_DIGITS) + 0.0,
    });
    Some(Loss {
        array: array.name.clone(),
        limit,
        from_segment: first.index,
        to_segment: last.index,
        from_iops: first.iops,
        to_iops: last.iops,
        parts: parts.collect(),
    })
}

/// What was busy for most of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busiest {
    Controller,
    Spindles,
    Log,
}

impl Busiest {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Spindles => "spindles",
            Self::Log => "log\u{2019}s device",
        }
    }
}

/// A device of a log counts as what was busiest only where it was so by more than this: several I/Os are under way at a real
/// device, so that one that is busy nearly always may take more.
const CLEARLY: f64 = 0.05;

pub(crate) fn busiest(results: &Results, segment: &Segment) -> Busiest {
    let (controller, spindles) = (segment.utilization.controller, busiest_spindles(segment));
    let log = results.real_spindles.as_ref().and_then(|real| real.log_of(segment.index));
    if log.is_some_and(|(_, log)| log.utilization > controller.max(spindles) + CLEARLY) {
        Busiest::Log
    } else if controller >= spindles {
        Busiest::Controller
    } else {
        Busiest::Spindles
    }
}

fn busiest_spindles(segment: &Segment) -> f64 {
    let utilization = &segment.utilization;
    utilization.spindles.max(utilization.parity_spindles.unwrap_or_default())
}

/// Spindle commands per host operation by cause; none if the results do not tell them apart.
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
    // Reads that found their blocks lost are counted as asked for, and were not sent.
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

fn of_controller(array: &ArrayResults, segment: &Segment) -> Option<Spent> {
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
    let operation_us = cost_us("processor.host_operation")?;
    let command_us = cost_us("processor.spindle_command")?;
    let mut spent = commands_per_op(segment)?;
    for (_, figure) in &mut spent {
        *figure *= command_us;
    }
    let all_us = 1e6 / segment.iops;
    let busy_us = all_us * segment.utilization.controller;
    let known_us = operation_us + spent.iter().map(|(_, us)| us).sum::<f64>();
    spent.push((Cause::HostOperations, operation_us));
    spent.push((Cause::DataMoved, busy_us - known_us));
    spent.push((Cause::Waiting, all_us - busy_us));
    Some(spent)
}

/// The controller's account of both segments, with what it came to wait for slower spindles apart.
fn both_of_controller(
    array: &ArrayResults,
    first: &Segment,
    last: &Segment,
) -> Option<(Spent, Spent)> {
    let (mut from, mut to) = (of_controller(array, first)?, of_controller(array, last)?);
    let ((_, waited_us), (_, waits_us)) = (from.last()?, to.last_mut()?);
    let longer_us = (*waits_us - waited_us).max(0.0) * share_of_longer_service(first, last);
    *waits_us -= longer_us;
    from.push((Cause::ServiceTime, 0.0));
    to.push((Cause::ServiceTime, longer_us));
    Some((from, to))
}

/// Of the time that the controller waits for spindles in the last segment, the share that it waits because a command takes
/// longer than in the first, 0 to 1. At the first segment's service time the busiest spindles would be busy for less of the
/// time between two operations: only as far as that is more than the controller is busy, it is the number of commands that
/// it waits for.
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
    let (data, parity) = (f64::from(array.spindles.data), f64::from(array.spindles.parity));
    let spindles = data + parity;
    if spindles == 0.0 {
        return None;
    }
    // Side by side, so that each takes its share of a command's time from what passes between two operations.
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
            // Commands are not all that a device is busy with; in a simulation they are.
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

impl LossPart {
    /// What stands in the place of the first segment's time where there is none: the part is a difference.
    pub(crate) fn in_place_of_first(&self) -> Option<&'static str> {
        (self.cause == Cause::ServiceTime).then_some("-")
    }
}

impl Loss {
    /// The difference, percent of the first segment's IOPS; negative if there was a loss.
    #[must_use]
    pub fn percent(&self) -> f64 {
        100.0 * (self.to_iops - self.from_iops) / self.from_iops
    }

    /// Whether there is something to explain: IOPS that fell by one percent or more.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.percent() <= -1.0
    }

    /// The parts that changed the IOPS by a ten-thousandth of the first segment's or more.
    pub fn notable_parts(&self) -> impl Iterator<Item = &LossPart> {
        self.parts.iter().filter(|part| part.iops.abs() >= self.from_iops * 1e-4)
    }

    /// The difference in a sentence, and what the account is of if there is something to explain.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { array, limit, from_segment, to_segment, .. } = self;
        let account = match self.is_notable() {
            true => format!(", by how the time of the {} was spent", limit.as_str()),
            false => String::new(),
        };
        format!(
            "{array}, segment {from_segment} to {to_segment}: {} to {} IOPS ({} %){account}.",
            fixed(self.from_iops, 0),
            fixed(self.to_iops, 0),
            signed(self.percent(), 1),
        )
    }
}

/// Where losses came from, an array below the other; arrays that lost less than one percent, or gained, have a line alone.
/// Empty if no array has an account.
#[must_use]
pub fn loss_table(results: &Results) -> String {
    let mut text = String::new();
    for loss in losses(results) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&loss.sentence());
        text.push('\n');
        if loss.is_notable() {
            let limit = loss.limit;
            let parts: Vec<LossPart> = loss.notable_parts().copied().collect();
            let whole_iops = loss.to_iops - loss.from_iops;
            text.push('\n');
            text.push_str(
                &Columns::<LossPart>::new()
                    .words("cause", move |part| part.cause.words(limit).to_owned())
                    .number("us per op\nat first", |part| {
                        part.in_place_of_first()
                            .map_or_else(|| fixed(part.from_us_per_op, 2), str::to_owned)
                    })
                    .number("\nin the end", |part| fixed(part.to_us_per_op, 2))
                    .number("IOPS", |part| signed(part.iops, 0))
                    .number("% of the\ndifference", move |part| {
                        fixed(100.0 * part.iops / whole_iops, 1)
                    })
                    .render(&parts),
            );
        }
    }
    text
}
